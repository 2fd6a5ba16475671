//! Clouds as alignment takes them, with every bit that their file has; and the source at the pose that was found.

use pointmill::{Error, PointCloud, Pose, Rows};
use pointmill_io::{Dtype, Scan, Warning};

/// The points, as the library takes them.
pub(super) fn coordinates(scan: &Scan) -> Result<Rows<'_>, Error> {
    match &scan.xyz_f64 {
        Some(xyz) => Rows::f64(xyz, 3),
        None => Rows::f32(scan.cloud.data(), scan.cloud.columns()),
    }
}

/// x, y, z of each point.
pub(super) fn xyz(scan: &Scan) -> Vec<[f64; 3]> {
    match &scan.xyz_f64 {
        Some(xyz) => xyz.as_chunks().0.to_vec(),
        None => scan.cloud.points().iter_xyz().map(|p| p.map(f64::from)).collect(),
    }
}

/// What is odd about a cloud; that `f32` would lose something of it is not, since nothing is lost.
pub(super) fn warnings<'a>(name: &'a str, scan: &'a Scan) -> impl Iterator<Item = String> + 'a {
    let odd = scan.warnings.iter().filter(|w| !matches!(w, Warning::Cast { .. } | Warning::Rounded { .. }));
    odd.map(move |warning| format!("{}: {warning}", pointmill_io::escape(name)))
}

/// The source in the frame of the target: every point, finite or not, in order, with all of its columns.
///
/// Rows are `f64` if those of either file are. Columns that are called as normals are turned.
pub(super) fn aligned(source: &Scan, target: &Scan, pose: &Pose) -> Result<Scan, Error> {
    let wide = |scan: &Scan| scan.xyz_f64.is_some() || scan.fields[..3].iter().any(|f| f.dtype == Dtype::F64);
    let moved: Vec<f64> = xyz(source).into_iter().flat_map(|p| pose.apply(p)).collect();
    let columns = source.cloud.columns();
    let mut data = source.cloud.data().to_vec();
    let place = |name: &str| source.fields.iter().position(|field| field.name == name);
    let normals = [["nx", "ny", "nz"], ["normal_x", "normal_y", "normal_z"]];
    let normals = normals.map(|names| [place(names[0]), place(names[1]), place(names[2])]);
    for (row, at) in data.chunks_exact_mut(columns).zip(moved.as_chunks::<3>().0) {
        (0..3).for_each(|k| row[k] = at[k] as f32);
        for places in normals {
            if let [Some(x), Some(y), Some(z)] = places {
                let normal = pose.rotate([x, y, z].map(|i| f64::from(row[i])));
                [x, y, z].into_iter().zip(normal).for_each(|(i, v)| row[i] = v as f32);
            }
        }
    }
    let mut scan = source.clone();
    scan.cloud = PointCloud::new(data, columns)?;
    scan.xyz_f64 = (wide(source) || wide(target)).then_some(moved);
    Ok(scan)
}
