//! The columns of scans: the values of a point in the file, and which column each becomes.

use super::packets::bits;
use crate::error::{IoError, escape};
use crate::fault::{bail, fault};
use crate::field::Field;
use crate::records::LONGEST_NAME;
use crate::values::whole_range;
use e57::{PointCloud, RecordDataType, RecordName, RecordValue};
use pointmill_core::array::Dtype;
use std::path::Path;

/// The most values of a point; files have less than 20.
const MOST: usize = 32;

/// How the points of a scan lie.
#[derive(Debug)]
pub(super) struct Layout {
    /// Where x, y, z are, and the flag that says that they are not valid.
    pub(super) cartesian: Option<([usize; 3], Option<usize>)>,
    /// The same for range, azimuth and elevation.
    pub(super) spherical: Option<([usize; 3], Option<usize>)>,
    /// The other columns: where the value is, the flag that says that it is not valid, and name and
    /// type.
    pub(super) others: Vec<(usize, Option<usize>, Field)>,
    /// The values of a point in the file.
    pub(super) types: Vec<RecordDataType>,
    /// The bits of all points in the file.
    pub(super) bits: u128,
}

impl Layout {
    /// The layout of a scan, checked: names that differ, coordinates, and values that take bytes of
    /// the file.
    pub(super) fn new(path: &Path, scan: &PointCloud, length: u64) -> Result<Self, IoError> {
        let wrong =
            |field: &str, wanted: &str, found: String| fault!(path, BadHeader, "prototype: {field}", wanted, found);
        let records = &scan.prototype;
        if records.len() > MOST {
            bail!(path, LimitExceeded, "prototype", "at most {MOST} values", records.len());
        }
        let each = records.iter().map(|record| bits(&record.data_type) as u64).sum::<u64>();
        if each == 0 && scan.records > 0 {
            return Err(wrong("values", "one that is not constant", "none".into()));
        }
        let bits = u128::from(scan.records) * u128::from(each);
        if bits > u128::from(length) * 8 {
            bail!(path, Truncated, "points", ("{} points of {each} bits", scan.records), "a file of {length} bytes");
        }
        let find = |name: RecordName| records.iter().position(|record| record.name == name);
        let three = |names: [RecordName; 3], flag: RecordName| {
            let [a, b, c] = names.map(find);
            Some(([a?, b?, c?], find(flag)))
        };
        use RecordName as R;
        let cartesian = three([R::CartesianX, R::CartesianY, R::CartesianZ], R::CartesianInvalidState);
        let angles = [R::SphericalRange, R::SphericalAzimuth, R::SphericalElevation];
        let spherical = three(angles, R::SphericalInvalidState);
        if cartesian.is_none() && spherical.is_none() {
            let found: Vec<_> = records.iter().map(|record| name(&record.name).to_owned()).collect();
            let wanted = "cartesianX, Y and Z, or sphericalRange, Azimuth and Elevation";
            bail!(path, MissingField, "prototype", wanted, found.join(", "));
        }
        let mut others: Vec<(usize, Option<usize>, Field)> = vec![];
        for (at, record) in records.iter().enumerate() {
            let flag = match record.name {
                R::Intensity => find(R::IsIntensityInvalid),
                R::ColorRed | R::ColorGreen | R::ColorBlue => find(R::IsColorInvalid),
                R::TimeStamp => find(R::IsTimeStampInvalid),
                R::RowIndex | R::ColumnIndex | R::ReturnCount | R::ReturnIndex | R::Unknown { .. } => None,
                _ => continue,
            };
            let name = name(&record.name);
            if name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
                return Err(wrong("names", "names without control characters", format!("`{}`", escape(name))));
            }
            if ["x", "y", "z"].contains(&name) || others.iter().any(|(_, _, field)| field.name == name) {
                return Err(wrong("names", "names that differ", format!("`{name}` twice")));
            }
            others.push((at, flag, Field { name: name.into(), dtype: dtype(&record.data_type) }));
        }
        let types = records.iter().map(|record| record.data_type.clone()).collect();
        Ok(Self { cartesian, spherical, others, types, bits })
    }

    /// Whether x, y, z are `f32` as the file has them.
    pub(super) fn is_f32(&self) -> bool {
        let single = |at: &usize| matches!(self.types[*at], RecordDataType::Single { .. });
        self.spherical.is_none() && self.cartesian.is_some_and(|(xyz, _)| xyz.iter().all(single))
    }

    /// A value of a point as `f64`, scaled.
    pub(super) fn value(&self, point: &[RecordValue], at: usize) -> f64 {
        match (&point[at], &self.types[at]) {
            (RecordValue::Single(v), _) => f64::from(*v),
            (RecordValue::Double(v), _) => *v,
            (RecordValue::ScaledInteger(v), RecordDataType::ScaledInteger { scale, offset, .. }) => {
                *v as f64 * scale + offset
            }
            (RecordValue::ScaledInteger(v) | RecordValue::Integer(v), _) => *v as f64,
        }
    }
}

/// The smallest type that has every value.
fn dtype(kind: &RecordDataType) -> Dtype {
    let (min, max) = match *kind {
        RecordDataType::Single { .. } => return Dtype::F32,
        RecordDataType::Double { .. } | RecordDataType::ScaledInteger { .. } => return Dtype::F64,
        RecordDataType::Integer { min, max } => (min, max),
    };
    let holds = |dtype: &Dtype| whole_range(*dtype).is_some_and(|(low, high)| low <= min.into() && high >= max.into());
    let types = [Dtype::U8, Dtype::U16, Dtype::U32, Dtype::I8, Dtype::I16, Dtype::I32];
    types.into_iter().find(holds).unwrap_or(Dtype::I64)
}

/// The column of a value: the names that other formats have for it, else the file's.
fn name(name: &RecordName) -> &str {
    match name {
        RecordName::CartesianX => "cartesianX",
        RecordName::CartesianY => "cartesianY",
        RecordName::CartesianZ => "cartesianZ",
        RecordName::SphericalRange => "sphericalRange",
        RecordName::SphericalAzimuth => "sphericalAzimuth",
        RecordName::SphericalElevation => "sphericalElevation",
        RecordName::Intensity => "intensity",
        RecordName::ColorRed => "red",
        RecordName::ColorGreen => "green",
        RecordName::ColorBlue => "blue",
        RecordName::RowIndex => "row",
        RecordName::ColumnIndex => "column",
        RecordName::ReturnCount => "return_count",
        RecordName::ReturnIndex => "return_index",
        RecordName::TimeStamp => "time_stamp",
        RecordName::Unknown { name, .. } => name,
        _ => "flag",
    }
}
