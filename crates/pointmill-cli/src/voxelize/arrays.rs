//! The arrays of a voxelization as a file, and two results side by side.

use super::records::ReportRecord;
use crate::failure::Failure;
use crate::interrupt::undivided;
use pointmill::voxelize::{MeanArray, VoxelArrays};
use pointmill_io::{ArrayView, Destination, write_npz};

/// Writes the arrays as `.npz`.
pub(super) fn write(to: impl Destination, arrays: &VoxelArrays) -> Result<(), Failure> {
    let (v, m, c) = (arrays.num_voxels, arrays.max_points, arrays.columns);
    let report = serde_json::to_vec(&ReportRecord::from(&arrays.report)).expect("a report is plain numbers");
    let mut members = vec![
        ("coords", ArrayView::i32(&[v, arrays.coord_columns], &arrays.coords)),
        ("num_points", ArrayView::i32(&[v], &arrays.num_points)),
    ];
    if let Some(voxels) = &arrays.voxels {
        members.push(("voxels", ArrayView::f32(&[v, m, c], voxels)));
    }
    match &arrays.mean {
        Some(MeanArray::F32(mean)) => members.push(("mean", ArrayView::f32(&[v, c], mean))),
        Some(MeanArray::F16(mean)) => members.push(("mean", ArrayView::f16_bits(&[v, c], mean))),
        None => {}
    }
    if let Some(rows) = &arrays.point_to_voxel {
        members.push(("point_to_voxel", ArrayView::i32(&[rows.len()], rows)));
    }
    members.push(("report", ArrayView::u8(&[report.len()], &report)));
    Ok(undivided(|| write_npz(to, &members))?)
}

/// The names of the arrays that differ in any bit.
pub(super) fn differences(a: &VoxelArrays, b: &VoxelArrays) -> Vec<String> {
    let same = |a: &Option<Vec<f32>>, b: &Option<Vec<f32>>| match (a, b) {
        (Some(a), Some(b)) => same_bits(a, b),
        (a, b) => a.is_none() && b.is_none(),
    };
    let mean = match (&a.mean, &b.mean) {
        (Some(MeanArray::F32(a)), Some(MeanArray::F32(b))) => same_bits(a, b),
        (a, b) => a == b,
    };
    let shape = |v: &VoxelArrays| (v.num_voxels, v.coord_columns, v.columns, v.max_points);
    let checks = [
        ("shape", shape(a) == shape(b)),
        ("coords", a.coords == b.coords),
        ("num_points", a.num_points == b.num_points),
        ("voxels", same(&a.voxels, &b.voxels)),
        ("mean", mean),
        ("point_to_voxel", a.point_to_voxel == b.point_to_voxel),
        ("lists", a.lists == b.lists),
        ("voxel_splits", a.voxel_splits == b.voxel_splits),
        ("report", a.report == b.report),
    ];
    checks.into_iter().filter(|(_, same)| !same).map(|(name, _)| name.to_owned()).collect()
}

/// Compares bits: as numbers, NaN would differ from itself, and 0 would equal -0.
fn same_bits(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointmill::voxelize::{VoxelizeParams, voxelize};
    use pointmill::{Device, PointCloud};

    #[test]
    fn bits_count_not_values() {
        let cloud = PointCloud::new(vec![0.0, 0.0, 0.0, f32::NAN, 1.0, 0.0, 0.0, 0.0], 4).unwrap();
        let a = voxelize(&cloud, &VoxelizeParams::default(), &Device::cpu()).unwrap().read().unwrap();
        assert_eq!(differences(&a, &a), [""; 0]);
        let mut b = a.clone();
        let Some(MeanArray::F32(mean)) = &mut b.mean else { panic!("f32 means") };
        mean[5] = -mean[5];
        b.voxels.as_mut().unwrap()[3] = 1.0;
        assert_eq!(differences(&a, &b), ["voxels", "mean"]);
        b.voxels = None;
        b.report.out_of_range += 1;
        assert_eq!(differences(&a, &b), ["voxels", "mean", "report"]);
    }
}
