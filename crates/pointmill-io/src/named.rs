//! Clouds with names, to be written as PLY and PCD.

use crate::error::{Detail, IoError};
use crate::field::{Field, XYZ};
use crate::records::LONGEST_NAME;
use pointmill_core::array::Dtype;
use pointmill_core::{PointCloud, Points};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

/// Points with the names and types of their columns, as [`write_ply`](crate::write_ply) and [`write_pcd`](crate::write_pcd)
/// take them; a [`Scan`](crate::Scan), a [`PointCloud`] and [`Points`] become some by `From`.
///
/// The first three columns are x, y, z in metres. They are written as `f32`, or as `f64` if [`NamedPoints::xyz_f64`] has them. Any other
/// column is written as an integer of its type if that has at most 32 bits and holds every value of the column, else as `f32`.
///
/// ```
/// use pointmill_core::Points;
/// use pointmill_io::{NamedPoints, ReadOptions, read, write_ply};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-named.ply", std::process::id()));
/// let cloud = NamedPoints::new(Points::new(&[1.0, 2.0, 3.0, 0.5], 4)?, &["x", "y", "z", "intensity"]);
/// write_ply(&path, &cloud)?;
/// let scan = read(&path, &ReadOptions::default())?;
/// assert_eq!((scan.cloud.data(), &*scan.fields[3].name), (&[1.0, 2.0, 3.0, 0.5][..], "intensity"));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPoints<'a> {
    /// The points.
    pub points: Points<'a>,
    /// A name and a type for each column.
    pub fields: Cow<'a, [Field]>,
    /// x, y, z of every point, `[N, 3]` row-major, where `f32` loses some of it.
    pub xyz_f64: Option<&'a [f64]>,
    /// What x, y, z of `points` are about, in metres; `xyz_f64` is about zero. Formats that can hold a remark name it unless it is zero.
    pub origin: [f64; 3],
}

impl<'a> NamedPoints<'a> {
    /// Points with a name for each column, all of them `f32`. Names that do not fit are an error when a file is written.
    pub fn new(points: Points<'a>, names: &[&str]) -> Self {
        let fields = names.iter().map(|&name| Field { name: name.into(), dtype: Dtype::F32 });
        Self { points, fields: fields.collect(), xyz_f64: None, origin: [0.0; 3] }
    }

    /// Checks that the parts go together, and that the names can stand in a header.
    pub(crate) fn check(&self, path: &Path) -> Result<(), IoError> {
        let wrong = |field: &str, wanted: String, found: String| {
            Err(IoError::InvalidArgument(Detail::new(path, field, wanted, found)))
        };
        let columns = self.points.columns();
        if self.fields.len() != columns {
            return wrong("fields", format!("{columns}, one for each column"), self.fields.len().to_string());
        }
        if !self.fields.iter().zip(["x", "y", "z"]).all(|(field, axis)| field.name == axis) {
            let found: Vec<_> = self.fields[..3].iter().map(|f| &*f.name).collect();
            return wrong("fields", "x, y, z first".into(), found.join(", "));
        }
        let mut names = BTreeSet::new();
        for Field { name, .. } in self.fields.iter() {
            let sound = !name.is_empty() && name.len() <= LONGEST_NAME;
            if !sound || name.chars().any(|c| c.is_control() || c.is_ascii_whitespace()) || !names.insert(name) {
                let wanted = "names that differ, of 1 to 256 bytes without blanks or control characters";
                return wrong("fields", wanted.into(), format!("`{name}`"));
            }
        }
        match self.xyz_f64 {
            Some(xyz) if xyz.len() != 3 * self.points.len() => {
                wrong("xyz_f64", format!("{} values", 3 * self.points.len()), xyz.len().to_string())
            }
            _ => Ok(()),
        }
    }

    /// A remark for the header that names the origin; `None` where it is zero.
    pub(crate) fn remark(&self) -> Option<String> {
        let [x, y, z] = self.origin;
        let what = if self.xyz_f64.is_some() { "coordinates are global" } else { "coordinates are about it" };
        (self.origin != [0.0; 3]).then(|| format!("origin {x} {y} {z}; {what}"))
    }

    /// The type that each column is written as.
    pub(crate) fn dtypes(&self) -> Vec<Dtype> {
        let typed = |(j, field): (usize, &Field)| match field.dtype {
            _ if j < 3 && self.xyz_f64.is_some() => Dtype::F64,
            dtype if j >= 3 && self.all_in(j, dtype) => dtype,
            _ => Dtype::F32,
        };
        self.fields.iter().enumerate().map(typed).collect()
    }

    /// Whether a column holds whole numbers of an integer type only.
    fn all_in(&self, j: usize, dtype: Dtype) -> bool {
        let (min, max) = match dtype {
            Dtype::I8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
            Dtype::U8 => (0.0, f64::from(u8::MAX)),
            Dtype::I16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
            Dtype::U16 => (0.0, f64::from(u16::MAX)),
            Dtype::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
            Dtype::U32 => (0.0, f64::from(u32::MAX)),
            _ => return false,
        };
        let mut column = self.points.data().iter().skip(j).step_by(self.points.columns()).copied();
        // A negative zero is not one of an integer's values either.
        column.all(|v| v.trunc() == v && (min..=max).contains(&f64::from(v)) && v.to_bits() != (-0.0f32).to_bits())
    }

    /// Writes the rows in little-endian order.
    pub(crate) fn write_rows(&self, out: &mut dyn Write, dtypes: &[Dtype]) -> io::Result<()> {
        let mut record = Vec::with_capacity(8 * dtypes.len());
        for i in 0..self.points.len() {
            record.clear();
            dtypes.iter().enumerate().for_each(|(j, &dtype)| self.value(i, j, dtype, &mut record));
            out.write_all(&record)?;
        }
        Ok(())
    }

    /// Adds a value in little-endian order, as a type that holds it.
    pub(crate) fn value(&self, i: usize, j: usize, dtype: Dtype, out: &mut Vec<u8>) {
        let v = self.points.row(i)[j];
        match (dtype, self.xyz_f64) {
            (Dtype::F64, Some(xyz)) => out.extend(xyz[3 * i + j].to_le_bytes()),
            (Dtype::I8, _) => out.extend((v as i8).to_le_bytes()),
            (Dtype::U8, _) => out.push(v as u8),
            (Dtype::I16, _) => out.extend((v as i16).to_le_bytes()),
            (Dtype::U16, _) => out.extend((v as u16).to_le_bytes()),
            (Dtype::I32, _) => out.extend((v as i32).to_le_bytes()),
            (Dtype::U32, _) => out.extend((v as u32).to_le_bytes()),
            _ => out.extend(v.to_le_bytes()),
        }
    }
}

/// Columns without names of their own: `x`, `y`, `z`, `column3`, ...
impl<'a> From<Points<'a>> for NamedPoints<'a> {
    fn from(points: Points<'a>) -> Self {
        let fields = Field::of_one_type(XYZ, points.columns(), Dtype::F32);
        Self { points, fields: fields.into(), xyz_f64: None, origin: [0.0; 3] }
    }
}

impl<'a> From<&'a PointCloud> for NamedPoints<'a> {
    fn from(cloud: &'a PointCloud) -> Self {
        Self { origin: cloud.origin(), ..cloud.points().into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_kept_where_they_hold_the_values() {
        let mut fields: Vec<_> = "xyz".chars().map(|c| Field { name: c.into(), dtype: Dtype::F64 }).collect();
        fields.extend(
            [Dtype::U8, Dtype::U8, Dtype::U32, Dtype::I32, Dtype::I64, Dtype::F64, Dtype::I16]
                .map(|dtype| Field { name: dtype.as_str().into(), dtype }),
        );
        let row = [0.0, 0.0, 0.0, 255.0, 256.0, 4_294_967_296.0, -2_147_483_648.0, 1.0, 1.0, -0.0];
        let points = Points::new(&row, 10).unwrap();
        let cloud = NamedPoints { points, fields: fields.into(), xyz_f64: Some(&[1.0; 3]), origin: [0.0; 3] };
        let (f, d) = (Dtype::F32, Dtype::F64);
        assert_eq!(cloud.dtypes(), [d, d, d, Dtype::U8, f, f, Dtype::I32, f, f, f]);
        let mut out = vec![];
        cloud.write_rows(&mut out, &cloud.dtypes()).unwrap();
        assert_eq!((out.len(), out[24], &out[33..37]), (24 + 1 + 8 + 4 + 12, 255, &[0, 0, 0, 0x80][..]));
    }

    #[test]
    fn what_does_not_go_together_is_told() {
        let points = Points::new(&[0.0; 8], 4).unwrap();
        let told = |names: &[&str]| NamedPoints::new(points, names).check("a".as_ref()).unwrap_err().to_string();
        assert_eq!(told(&["x", "y", "z"]), "a: fields: wanted 4, one for each column, found 3");
        assert_eq!(told(&["x", "z", "y", "i"]), "a: fields: wanted x, y, z first, found x, z, y");
        for bad in ["", "z", "a b", "a\n", &"n".repeat(257)] {
            assert!(told(&["x", "y", "z", bad]).starts_with("a: fields: wanted names that differ"), "{bad:?}");
        }
        let cloud = NamedPoints { xyz_f64: Some(&[0.0; 3]), ..NamedPoints::new(points, &["x", "y", "z", "i"]) };
        assert_eq!(cloud.check("a".as_ref()).unwrap_err().to_string(), "a: xyz_f64: wanted 6 values, found 3");
    }
}
