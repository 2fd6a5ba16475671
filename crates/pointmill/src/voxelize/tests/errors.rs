//! What must be refused, and how it is told.

use super::*;
use crate::Aabb;

fn error(params: &VoxelizeParams) -> String {
    voxelize(Points::new(&[0.0; 8], 4).unwrap(), params, &Device::cpu()).unwrap_err().to_string()
}

#[test]
fn parameters_are_named_with_expected_and_got() {
    let good = VoxelizeParams::default();
    let with = |change: fn(&mut VoxelizeParams)| {
        let mut params = good.clone();
        change(&mut params);
        error(&params)
    };
    assert_eq!(with(|p| p.max_voxels = 0), "max_voxels: expected 1 to 1073741823, got 0");
    assert_eq!(with(|p| p.max_points_per_voxel = Some(0)), "max_points_per_voxel: expected 1 or more, got 0");
    assert!(with(|p| p.max_points_per_voxel = Some(1 << 20)).contains("None for all points, got 1048576"));
    assert_eq!(with(|p| p.voxel_size[1] = 0.0), "voxel_size[1]: expected a finite size > 0 m, got 0");
    assert_eq!(with(|p| p.voxel_size[2] = -0.1), "voxel_size[2]: expected a finite size > 0 m, got -0.1");
    assert!(with(|p| p.voxel_size[0] = f32::NAN).starts_with("voxel_size[0]"));
    assert_eq!(with(|p| p.range.max[0] = -54.0), "range[0]: expected finite min < max, got -54..-54");
    assert!(with(|p| p.range.min[2] = f32::NEG_INFINITY).starts_with("range[2]"));
    assert!(with(|p| p.max_points_per_voxel = None).starts_with("outputs.voxels: expected false with dynamic"));
    let many = VoxelizeParams::new([1e-3; 3], Aabb::new([-2000.0; 3], [2000.0; 3]));
    assert_eq!(error(&many), "grid: expected at most 2^63 cells, got 4000000 x 4000000 x 4000000");
}

#[test]
fn points_are_named_with_expected_and_got() {
    for device in [Device::cpu(), Device::twin()] {
        let wide = vec![0.0; 65];
        let e = voxelize(Points::new(&wide, 65).unwrap(), &VoxelizeParams::default(), &device).unwrap_err();
        assert_eq!(e.to_string(), "points: expected 3 to 64 columns, got 65");
        let stream = device.stream().unwrap();
        let buffer = stream.upload(&[0.0f32; 8]).unwrap();
        let mut voxelizer = Voxelizer::new(&stream, &VoxelizeParams::default()).unwrap();
        let mut voxels = voxelizer.output().unwrap();
        let e = Rows::on_device(&buffer, 3, 4).unwrap_err();
        assert_eq!(e.to_string(), "buffer: expected 3 x 4 values, got 8");
        assert!(Rows::on_device(&buffer, usize::MAX, 4).is_err());
        let e = voxelizer.run(Rows::new(&[f16::ONE; 8], 4).unwrap(), &mut voxels).unwrap_err();
        assert_eq!(e.to_string(), "points: expected values of type f32, got f16");
        for splits in [&[][..], &[0], &[1, 2], &[0, 3, 2], &[0, 1]] {
            let points = Points::new(&[0.0; 8], 4).unwrap();
            let e = voxelizer.run_batch(points, splits, &mut voxels).unwrap_err().to_string();
            assert!(e.starts_with("row_splits: expected ascending values from 0 to 2, got "), "{e}");
        }
        // After all that the voxelizer works.
        voxelizer.run(Rows::on_device(&buffer, 2, 4).unwrap(), &mut voxels).unwrap();
        assert_eq!(voxels.num_voxels().unwrap(), 1);
    }
}

#[test]
fn devices_are_not_mixed() {
    let (cpu, twin) = (Device::cpu().stream().unwrap(), Device::twin().stream().unwrap());
    let buffer = twin.upload(&[0.0f32; 4]).unwrap();
    let mut voxelizer = Voxelizer::new(&cpu, &VoxelizeParams::default()).unwrap();
    let mut voxels = voxelizer.output().unwrap();
    let e = voxelizer.run(Rows::on_device(&buffer, 1, 4).unwrap(), &mut voxels).unwrap_err();
    assert_eq!(e.to_string(), "points: expected memory of cpu, got twin");
    let mut foreign = Voxels::new(&twin).unwrap();
    let e = voxelizer.run(Points::new(&[0.0; 4], 4).unwrap(), &mut foreign).unwrap_err();
    assert_eq!(e.to_string(), "voxels: expected a result on cpu, got twin");
}

#[test]
fn scatter_needs_lists_and_matching_rows() {
    let points = [0.0; 12];
    let points = Points::new(&points, 4).unwrap();
    let device = Device::cpu();
    let voxels = voxelize(points, &VoxelizeParams::default(), &device).unwrap();
    let e = scatter(&voxels, points, Reduction::Max).unwrap_err();
    assert_eq!(e.to_string(), "voxels: expected a result with lists (Outputs::lists), got none");
    let params = VoxelizeParams::dynamic([0.2; 3], VoxelizeParams::default().range);
    let voxels = voxelize(points, &params, &device).unwrap();
    let e = scatter(&voxels, Points::new(&[0.0; 3], 3).unwrap(), Reduction::Sum).unwrap_err();
    assert_eq!(e.to_string(), "features: expected 3 rows, got 1");
}

#[test]
fn an_absent_gpu_is_named() {
    let e = Device::cuda(999).unwrap_err().to_string();
    assert!(e.starts_with("device cuda:999: not available: "), "{e}");
}

/// More memory than there is: an error with the bytes, and the voxelizer works on.
#[test]
fn out_of_memory_is_an_error() {
    let Some(gpu) = crate::testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let mut params =
        VoxelizeParams { max_points_per_voxel: Some(1 << 19), max_voxels: 1 << 29, ..VoxelizeParams::default() };
    params.outputs.padded = true;
    let mut voxelizer = Voxelizer::new(&stream, &params).unwrap();
    let mut voxels = voxelizer.output().unwrap();
    let points = [0.0; 12];
    let points = Points::new(&points, 4).unwrap();
    let e = voxelizer.run(points, &mut voxels).unwrap_err();
    assert!(matches!(e, Error::OutOfMemory { bytes: 1_000_000_000_000.., .. }), "{e}");
    let voxels = voxelize(points, &VoxelizeParams::default(), &gpu).unwrap();
    assert_eq!(voxels.num_voxels().unwrap(), 1);
}
