//! Clouds with names, to be written as PLY and PCD.

use crate::error::IoError;
use crate::fault::fault;
use crate::field::{Field, XYZ};
use crate::records::LONGEST_NAME;
use crate::survey::Survey;
use crate::values::whole_range;
use crate::wide_column::WideColumn;
use pointmill_core::array::Dtype;
use pointmill_core::{PointCloud, Points};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Points with the names and types of their columns, as [`write_ply`](crate::write_ply) and
/// [`write_pcd`](crate::write_pcd) take them; a [`Scan`](crate::Scan), a [`PointCloud`] and
/// [`Points`] become some by `From`.
///
/// The first three columns are x, y, z in metres. They are written as `f32`, or as `f64` if
/// [`NamedPoints::xyz_f64`] has them. Any other column is written as an integer of its type if that
/// holds every value of the column and the format has it, else as `f64` if
/// [`NamedPoints::wide`] has it, else as `f32`.
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
    /// The columns behind z of which an `f32` does not hold every value.
    pub wide: Vec<Arc<WideColumn>>,
    /// The decimals of `xyz_f64`, where these are decimal numbers but for the last bit; text has no
    /// more.
    pub decimals: Option<u8>,
    /// What x, y, z of `points` are about, in metres; `xyz_f64` is about zero. Formats that can
    /// hold a remark name it unless it is zero.
    pub origin: [f64; 3],
    /// What the LAS file said that the points come from; LAS files keep it, and a `.prj` beside PLY
    /// and text its system.
    pub survey: Option<Arc<Survey>>,
}

impl<'a> NamedPoints<'a> {
    /// Points with a name for each column, all of them `f32`. Names that do not fit are an error
    /// when a file is written.
    pub fn new(points: Points<'a>, names: &[&str]) -> Self {
        let fields = names.iter().map(|&name| Field { name: name.into(), dtype: Dtype::F32 });
        Self {
            points,
            fields: fields.collect(),
            xyz_f64: None,
            wide: vec![],
            decimals: None,
            origin: [0.0; 3],
            survey: None,
        }
    }

    /// Checks that the parts go together, and that names differ.
    pub(crate) fn check(&self, path: &Path) -> Result<(), IoError> {
        let wrong =
            |field: &str, wanted: String, found: String| Err(fault!(path, InvalidArgument, field, wanted, found));
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
            if name.len() > LONGEST_NAME || !names.insert(name) {
                let wanted = "names that differ, of at most 256 bytes";
                return wrong("fields", wanted.into(), format!("`{name}`"));
            }
        }
        let n = self.points.len();
        if let Some(wide) = self.wide.iter().find(|wide| !(3..columns).contains(&wide.column) || wide.len() != n) {
            let found = format!("{} of column {}", wide.len(), wide.column);
            return wrong("wide", format!("{n} values of a column from 3 to {}", columns - 1), found);
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

    /// How each column is written: as what type, and from which values.
    pub(crate) fn columns(&self, long: Long) -> Vec<Column<'_>> {
        let needs = self.needs().into_iter().zip(self.fields.iter()).enumerate();
        let dtypes: Vec<_> = needs.map(|(j, (needs, field))| needs.dtype(j, field.dtype, long)).collect();
        self.as_columns(&dtypes)
    }

    /// The columns as these types.
    pub(crate) fn as_columns(&self, dtypes: &[Dtype]) -> Vec<Column<'_>> {
        let column = |(j, &dtype)| Column { dtype, wide: self.wide_of(j) };
        dtypes.iter().enumerate().map(column).collect()
    }

    fn wide_of(&self, j: usize) -> Option<&WideColumn> {
        self.wide.iter().find(|wide| wide.column == j && wide.change > 0.0).map(|wide| &**wide)
    }

    /// What each column needs of its type.
    pub(crate) fn needs(&self) -> Vec<Needs> {
        let needs = |(j, field): (usize, &Field)| match self.wide_of(j) {
            _ if j < 3 => Needs { fits: false, wide: self.xyz_f64.is_some(), long: false },
            Some(wide) => {
                let is_whole = matches!(field.dtype, Dtype::I32 | Dtype::U32 | Dtype::I64 | Dtype::U64);
                Needs { fits: is_whole && wide.fits(field.dtype), wide: true, long: wide.change_as_f64() > 0.0 }
            }
            None => Needs { fits: self.all_in(j, field.dtype), wide: false, long: false },
        };
        self.fields.iter().enumerate().map(needs).collect()
    }

    /// Whether a column holds whole numbers of an integer type only.
    fn all_in(&self, j: usize, dtype: Dtype) -> bool {
        let Some((min, max)) = whole_range(dtype) else { return false };
        let range = min as f64..=max as f64;
        let is_below = |v: f32| dtype.bytes() < 8 || f64::from(v) < max as f64;
        let mut column = self.points.data().iter().skip(j).step_by(self.points.columns()).copied();
        // A negative zero is not one of an integer's values either.
        column.all(|v| {
            v.trunc() == v && range.contains(&f64::from(v)) && is_below(v) && v.to_bits() != (-0.0f32).to_bits()
        })
    }

    /// Adds a value in little-endian order, as the type of its column.
    pub(crate) fn value(&self, i: usize, j: usize, column: &Column<'_>, out: &mut Vec<u8>) {
        let v = self.points.row(i)[j];
        // A whole number fits its type, so that the highest bytes say nothing.
        let bytes = column.dtype.bytes();
        match (column.dtype, column.wide, self.xyz_f64) {
            (Dtype::F64, Some(wide), _) => out.extend(wide.double(i).to_le_bytes()),
            (_, Some(wide), _) => out.extend(&wide.whole(i).to_le_bytes()[..bytes]),
            (Dtype::F64, None, Some(xyz)) if j < 3 => out.extend(xyz[3 * i + j].to_le_bytes()),
            (Dtype::F64, None, _) => out.extend(f64::from(v).to_le_bytes()),
            (Dtype::F32, ..) => out.extend(v.to_le_bytes()),
            _ => out.extend(&(v as i64).to_le_bytes()[..bytes]),
        }
    }

    /// Adds a value as the shortest decimal that reads back as the same.
    pub(crate) fn text(&self, i: usize, j: usize, column: &Column<'_>, out: &mut String) {
        // What is written to a string does not fail.
        let _ = match (column.wide, column.dtype, self.xyz_f64) {
            (Some(wide), Dtype::F64, _) => write!(out, "{}", wide.double(i)),
            (Some(wide), ..) => write!(out, "{}", wide.whole(i)),
            (None, Dtype::F64, Some(xyz)) => write!(out, "{}", self.decimal(xyz[3 * i + j])),
            _ => write!(out, "{}", self.points.row(i)[j]),
        };
    }

    /// A coordinate without the noise of the arithmetic that it comes from: the `f64` that is
    /// nearest to its decimal number.
    fn decimal(&self, v: f64) -> f64 {
        let Some(decimals) = self.decimals else { return v };
        let steps = 10_f64.powi(decimals.into());
        let near = (v * steps).round() / steps;
        if (near - v).abs() * steps < 0.01 { near } else { v }
    }
}

/// How a column is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    pub(crate) dtype: Dtype,
    /// Its values, where an `f32` does not hold them.
    pub(crate) wide: Option<&'a WideColumn>,
}

/// What a column needs of the type that it is written as.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs {
    /// Whether the integer type of the column holds all values.
    fits: bool,
    /// Whether an `f32` does not hold all values.
    wide: bool,
    /// Whether an `f64` does not.
    long: bool,
}

impl Needs {
    /// Those of no value.
    pub(crate) const NONE: Self = Self { fits: true, wide: false, long: false };

    /// Those of two parts of a column.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self { fits: self.fits && other.fits, wide: self.wide || other.wide, long: self.long || other.long }
    }

    /// The type that column `j` of another type is written as.
    pub(crate) fn dtype(self, j: usize, of: Dtype, long: Long) -> Dtype {
        match of {
            _ if j < 3 => {
                if self.wide {
                    Dtype::F64
                } else {
                    Dtype::F32
                }
            }
            Dtype::I32 | Dtype::U32 if self.wide && self.fits => of,
            Dtype::I64 | Dtype::U64 if self.wide && self.fits && long.is_for(self.long) => of,
            _ if self.wide => Dtype::F64,
            // Of 64 bits an `f32` holds few numbers.
            _ if self.fits && of.bytes() < 8 => of,
            _ => Dtype::F32,
        }
    }
}

/// Which whole numbers of 64 bits are written as such, and not as `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Long {
    /// None, since the format does not have them.
    Never,
    /// Those that an `f64` does not hold, since few programs read them.
    WhereNeeded,
    Always,
}

impl Long {
    fn is_for(self, needs_long: bool) -> bool {
        self == Self::Always || (self == Self::WhereNeeded && needs_long)
    }
}

/// Columns without names of their own: `x`, `y`, `z`, `column3`, ...
impl<'a> From<Points<'a>> for NamedPoints<'a> {
    fn from(points: Points<'a>) -> Self {
        let fields = Field::of_one_type(XYZ, points.columns(), Dtype::F32);
        Self {
            points,
            fields: fields.into(),
            xyz_f64: None,
            wide: vec![],
            decimals: None,
            origin: [0.0; 3],
            survey: None,
        }
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
        let none = NamedPoints::from(points);
        let mut cloud = NamedPoints { fields: fields.into(), xyz_f64: Some(&[1.0; 3]), ..none };
        let (f, d) = (Dtype::F32, Dtype::F64);
        let dtypes = |cloud: &NamedPoints<'_>, long| cloud.columns(long).iter().map(|c| c.dtype).collect::<Vec<_>>();
        assert_eq!(dtypes(&cloud, Long::Always), [d, d, d, Dtype::U8, f, f, Dtype::I32, f, f, f]);
        let mut out = vec![];
        let types = crate::parts::dtypes(&cloud, Long::Always).unwrap();
        crate::parts::write_rows(&cloud, &types, &mut out).unwrap();
        assert_eq!((out.len(), out[24], &out[33..37]), (24 + 1 + 8 + 4 + 12, 255, &[0, 0, 0, 0x80][..]));
        // In full, as the narrowest type that the format has.
        cloud.wide = [(5, 4_294_967_295.0), (7, 9_007_199_254_740_991.0), (8, 0.1)]
            .map(|(j, v)| WideColumn::new(j, vec![v]).into())
            .to_vec();
        let (u, l) = (Dtype::U32, Dtype::I64);
        assert_eq!(dtypes(&cloud, Long::Always)[5..], [u, Dtype::I32, l, d, f]);
        assert_eq!(dtypes(&cloud, Long::WhereNeeded)[5..], [u, Dtype::I32, d, d, f]);
        cloud.wide[1] = Arc::new(WideColumn::from_values(7, vec![], [i64::MAX].into_iter()));
        assert_eq!(dtypes(&cloud, Long::WhereNeeded)[7], l);
        assert_eq!(dtypes(&cloud, Long::Never)[7], d);
        let mut text = String::new();
        cloud.text(0, 7, &cloud.columns(Long::Always)[7], &mut text);
        assert_eq!(text, "9223372036854775807");
        cloud.fields.to_mut()[4].name = "other".into();
        cloud.wide[1] = Arc::new(WideColumn::from_values(7, vec![], [1i64, 2].into_iter()));
        let told = cloud.check("a".as_ref()).unwrap_err().to_string();
        assert_eq!(told, "a: wide: expected 1 values of a column from 3 to 9, got 2 of column 7");
    }

    #[test]
    fn what_does_not_go_together_is_told() {
        let points = Points::new(&[0.0; 8], 4).unwrap();
        let told = |names: &[&str]| NamedPoints::new(points, names).check("a".as_ref()).unwrap_err().to_string();
        assert_eq!(told(&["x", "y", "z"]), "a: fields: expected 4, one for each column, got 3");
        assert_eq!(told(&["x", "z", "y", "i"]), "a: fields: expected x, y, z first, got x, z, y");
        for bad in ["z", &"n".repeat(257)] {
            assert!(told(&["x", "y", "z", bad]).starts_with("a: fields: expected names that differ"), "{bad:?}");
        }
        let cloud = NamedPoints { xyz_f64: Some(&[0.0; 3]), ..NamedPoints::new(points, &["x", "y", "z", "i"]) };
        assert_eq!(cloud.check("a".as_ref()).unwrap_err().to_string(), "a: xyz_f64: expected 6 values, got 3");
    }
}
