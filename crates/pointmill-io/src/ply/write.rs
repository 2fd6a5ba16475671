//! Writes clouds to PLY files.

use crate::error::IoError;
use crate::files::Destination;
use crate::files::write_to;
use crate::format::Format;
use crate::named_points::{Long, NamedPoints};
use crate::names;
use crate::parts::{Parts, dtypes, write_rows};
use pointmill_core::array::Dtype;
use std::fmt::Write as _;
use std::io::Write as _;

/// Writes a cloud as a PLY file, binary in little-endian order. The file is written completely or
/// not at all (see
/// [`write_whole`](crate::write_whole)).
///
/// The same points give the same bytes. NaN of `f32` keep their bits; in coordinates written as
/// `f64` they stay NaN. Characters of names that a header cannot hold become `_`. Integers of 64
/// bits become `f64`.
///
/// # Errors
/// The number of names differs from the number of columns; the names do not start with x, y, z; a
/// name is there twice; the system reports an error.
///
/// ```
/// use pointmill_core::Points;
/// use pointmill_io::{NamedPoints, ReadOptions, read, write_ply};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}.ply", std::process::id()));
/// // On a map an f32 would move this point by 0.1 m.
/// let xyz_f64 = [691_764.1, 5_335_880.1, 520.1];
/// let points = xyz_f64.map(|v| v as f32);
/// let cloud = NamedPoints { xyz_f64: Some(&xyz_f64), ..NamedPoints::new(Points::new(&points, 3)?, &["x", "y", "z"]) };
/// write_ply(&path, &cloud)?;
/// let scan = read(&path, &ReadOptions::default())?;
/// assert_eq!((scan.cloud.data(), scan.xyz_f64), (&points[..], Some(xyz_f64.to_vec())));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_ply(to: impl Destination, cloud: &NamedPoints<'_>) -> Result<(), IoError> {
    write_parts(&to, cloud)
}

/// Writes points part by part.
pub(crate) fn write_parts(to: &impl Destination, cloud: &dyn Parts) -> Result<(), IoError> {
    cloud.check(to.path())?;
    let (columns, names) = (dtypes(cloud, Long::Never)?, names::written(cloud.fields(), Format::Ply));
    let remark = cloud.remark().map_or_else(String::new, |remark| format!("comment {remark}\n"));
    let n = cloud.points();
    let mut header = format!("ply\nformat binary_little_endian 1.0\n{remark}element vertex {n}\n");
    for (name, column) in names.iter().zip(&columns) {
        let _ = writeln!(header, "property {} {name}", type_name(*column)); // A string takes everything.
    }
    header += "end_header\n";
    write_to(to, |out| {
        out.write_all(header.as_bytes())?;
        write_rows(cloud, &columns, out)
    })
}

/// The old name of a type, which every reader knows.
const fn type_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::I8 => "char",
        Dtype::U8 => "uchar",
        Dtype::I16 => "short",
        Dtype::U16 => "ushort",
        Dtype::I32 => "int",
        Dtype::U32 => "uint",
        Dtype::F64 => "double",
        _ => "float",
    }
}
