//! Writes clouds to PCD files.

use super::header::PADDING;
use crate::destination::Destination;
use crate::error::{Detail, IoError};
use crate::named::NamedPoints;
use crate::whole::write_to;
use pointmill_core::array::Dtype;
use std::io::Write as _;

/// Writes a cloud as a PCD file: version 0.7, binary, all points in one row. The file is written completely or not at all (see
/// [`write_whole`](crate::write_whole)).
///
/// The same points give the same bytes. NaN of `f32` keep their bits, so colours that are packed into an `f32` are preserved.
///
/// # Errors
/// As [`write_ply`](crate::write_ply); also a column called `_`, because the format uses this name for padding.
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
    let path = to.path();
    cloud.check(path)?;
    if cloud.fields.iter().any(|f| f.name == PADDING) {
        let wanted = "names other than that of padding";
        return Err(IoError::InvalidArgument(Detail::new(path, "fields", wanted, format!("`{PADDING}`"))));
    }
    let (n, dtypes) = (cloud.points.len(), cloud.dtypes());
    let each = |tell: &dyn Fn(usize) -> String| (0..dtypes.len()).map(tell).collect::<Vec<_>>().join(" ");
    let remark = cloud.remark().map_or_else(String::new, |remark| format!("# {remark}\n"));
    let header = format!(
        "# .PCD v0.7 - Point Cloud Data file format\n{remark}VERSION 0.7\nFIELDS {}\nSIZE {}\nTYPE {}\nCOUNT {}\n\
         WIDTH {n}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {n}\nDATA binary\n",
        each(&|j| cloud.fields[j].name.clone()),
        each(&|j| dtypes[j].bytes().to_string()),
        each(&|j| type_letter(dtypes[j]).into()),
        each(&|_| "1".into()),
    );
    write_to(&to, |out| {
        out.write_all(header.as_bytes())?;
        cloud.write_rows(out, &dtypes)
    })
}

const fn type_letter(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::I8 | Dtype::I16 | Dtype::I32 => "I",
        Dtype::U8 | Dtype::U16 | Dtype::U32 => "U",
        _ => "F",
    }
}
