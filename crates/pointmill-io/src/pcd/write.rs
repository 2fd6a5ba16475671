//! Writes clouds to PCD files.

use crate::error::IoError;
use crate::files::Destination;
use crate::files::write_to;
use crate::format::Format;
use crate::named_points::{Long, NamedPoints};
use crate::names;
use crate::parts::{Parts, dtypes, write_rows};
use pointmill_core::array::Dtype;
use std::io::Write as _;

/// Writes a cloud as a PCD file: version 0.7, binary, all points in one row. The file is written
/// completely or not at all (see
/// [`write_whole`](crate::write_whole)).
///
/// The same points give the same bytes. NaN of `f32` keep their bits, so colours that are packed
/// into an `f32` are preserved. Names are as in
/// [`write_ply`](crate::write_ply); `_`, which means padding, becomes `column3` or the like. Integers of 64 bits become `f64` if that holds them.
///
/// # Errors
/// As [`write_ply`](crate::write_ply).
///
/// ```
/// use pointmill_core::Points;
/// use pointmill_io::{NamedPoints, ReadOptions, read, write_pcd};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}.pcd", std::process::id()));
/// write_pcd(&path, &NamedPoints::new(Points::new(&[1.0, 2.0, 3.0], 3)?, &["x", "y", "z"]))?;
/// assert_eq!(read(&path, &ReadOptions::default())?.cloud.data(), [1.0, 2.0, 3.0]);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_pcd(to: impl Destination, cloud: &NamedPoints<'_>) -> Result<(), IoError> {
    write_parts(&to, cloud)
}

/// Writes points part by part.
pub(crate) fn write_parts(to: &impl Destination, cloud: &dyn Parts) -> Result<(), IoError> {
    cloud.check(to.path())?;
    let (n, columns) = (cloud.points(), dtypes(cloud, Long::WhereNeeded)?);
    let names = names::written(cloud.fields(), Format::Pcd);
    let each = |tell: &dyn Fn(usize) -> String| (0..columns.len()).map(tell).collect::<Vec<_>>().join(" ");
    let remark = cloud.remark().map_or_else(String::new, |remark| format!("# {remark}\n"));
    let header = format!(
        "# .PCD v0.7 - Point Cloud Data file format\n{remark}VERSION 0.7\nFIELDS {}\nSIZE {}\nTYPE {}\nCOUNT {}\n\
         WIDTH {n}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {n}\nDATA binary\n",
        names.join(" "),
        each(&|j| columns[j].bytes().to_string()),
        each(&|j| type_letter(columns[j]).into()),
        each(&|_| "1".into()),
    );
    write_to(to, |out| {
        out.write_all(header.as_bytes())?;
        write_rows(cloud, &columns, out)
    })
}

const fn type_letter(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => "I",
        Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => "U",
        _ => "F",
    }
}
