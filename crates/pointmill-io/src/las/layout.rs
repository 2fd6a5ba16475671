//! Positions of the values of a point in its record, for each point format.

use pointmill_core::array::Dtype;

/// Size in bytes of a record without extra bytes, for each format.
const RECORDS: [usize; 11] = [20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67];

/// Size of one step of the scan angle of formats 6 to 10, in degrees.
const ANGLE_STEP: f64 = 0.006;

/// A value of a point that becomes a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: &'static str,
    /// The type in the file; for coordinates the type after scaling.
    pub(super) dtype: Dtype,
    pub(super) place: Place,
}

/// Where a value is in the record, and how it is decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// A coordinate: an integer that is scaled and shifted. The value is the axis.
    Coordinate(usize),
    /// Bits of a byte: offset of the byte, lowest bit, number of bits.
    Bits(usize, u8, u8),
    /// A number of the type of the column, at this offset.
    Number(usize),
    /// An angle in steps, at this offset.
    Angle(usize),
}

/// The minimum size of a record in bytes. `None` if the format does not exist.
pub(super) fn least_record(format: u8) -> Option<usize> {
    RECORDS.get(usize::from(format)).copied()
}

/// The newest point format that a minor version of LAS 1 may have. All earlier formats are accepted
/// too, because files use some formats before the version that defines them: there are files of
/// version 1.1 with colours.
pub(super) const fn newest_format(minor: u8) -> u8 {
    match minor {
        0..=2 => 3,
        3 => 5,
        _ => 10,
    }
}

/// The columns of a format: x, y, z, then the others in the order of the record. The direction of
/// the scan mirror, the edge of a flight line, wave packets and extra bytes are left out.
pub(super) fn columns(format: u8) -> Vec<Column> {
    use Place::{Angle, Bits, Coordinate, Number};
    let mut columns = vec![];
    let mut add = |name, dtype, place| columns.push(Column { name, dtype, place });
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        add(name, Dtype::F64, Coordinate(axis));
    }
    add("intensity", Dtype::U16, Number(12));
    let old = format < 6;
    let (returns, flags) = if old { (3, Bits(15, 5, 3)) } else { (4, Bits(15, 0, 4)) };
    add("return_number", Dtype::U8, Bits(14, 0, returns));
    add("number_of_returns", Dtype::U8, Bits(14, returns, returns));
    add("classification", Dtype::U8, if old { Bits(15, 0, 5) } else { Number(16) });
    add("classification_flags", Dtype::U8, flags);
    if old {
        add("scan_angle", Dtype::I8, Number(16));
        add("user_data", Dtype::U8, Number(17));
        add("point_source_id", Dtype::U16, Number(18));
    } else {
        add("scanner_channel", Dtype::U8, Bits(15, 4, 2));
        add("user_data", Dtype::U8, Number(17));
        add("scan_angle", Dtype::F32, Angle(18));
        add("point_source_id", Dtype::U16, Number(20));
    }
    if let Some(at) = match format {
        1 | 3 | 4 | 5 => Some(20),
        6.. => Some(22),
        _ => None,
    } {
        add("gps_time", Dtype::F64, Number(at));
    }
    if let Some(at) = match format {
        2 => Some(20),
        3 | 5 => Some(28),
        7 | 8 | 10 => Some(30),
        _ => None,
    } {
        for (i, name) in ["red", "green", "blue"].into_iter().enumerate() {
            add(name, Dtype::U16, Number(at + 2 * i));
        }
    }
    if matches!(format, 8 | 10) {
        add("nir", Dtype::U16, Number(36));
    }
    columns
}

impl Column {
    /// Sets each number to the value of its record, of a column that is not a coordinate. Records
    /// must have the size of the format.
    pub(super) fn fill<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r mut f32)>) {
        macro_rules! each {
            (|$record:ident| $value:expr) => {
                records.for_each(|($record, to)| *to = $value)
            };
        }
        macro_rules! number {
            ($type:ty, $record:ident, $at:expr) => {
                <$type>::from_le_bytes(std::array::from_fn(|i| $record[$at + i]))
            };
        }
        match (self.place, self.dtype) {
            (Place::Bits(at, shift, count), _) => each!(|r| f32::from(r[at] >> shift & ((1 << count) - 1))),
            (Place::Angle(at), _) => each!(|r| (f64::from(number!(i16, r, at)) * ANGLE_STEP) as f32),
            (Place::Number(at), Dtype::I8) => each!(|r| f32::from(r[at] as i8)),
            (Place::Number(at), Dtype::U16) => each!(|r| f32::from(number!(u16, r, at))),
            (Place::Number(_), Dtype::F64) => each!(|r| self.double(r) as f32),
            (Place::Number(at), _) => each!(|r| f32::from(r[at])),
            (Place::Coordinate(axis), _) => each!(|r| number!(i32, r, 4 * axis) as f32),
        }
    }

    /// The value of a column of `f64` that is not a coordinate.
    pub(super) fn double(&self, record: &[u8]) -> f64 {
        let Place::Number(at) = self.place else { return f64::NAN };
        f64::from_le_bytes(std::array::from_fn(|i| record[at + i]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_within_the_record_and_do_not_overlap() {
        for format in 0..=10 {
            let record = least_record(format).unwrap();
            let mut bits = vec![0u8; record];
            for column in columns(format) {
                let (at, length, mask) = match column.place {
                    Place::Coordinate(axis) => (4 * axis, 4, 0xff),
                    Place::Bits(at, shift, count) => (at, 1, (((1u16 << count) - 1) << shift) as u8),
                    Place::Angle(at) => (at, 2, 0xff),
                    Place::Number(at) => (at, column.dtype.bytes(), 0xff),
                };
                for byte in &mut bits[at..at + length] {
                    assert_eq!(*byte & mask, 0, "format {format}: `{}`", column.name);
                    *byte |= mask;
                }
            }
            // Only the two bits of the mirror and wave packets are left out.
            let mirror = if format < 6 { (14, 0xc0) } else { (15, 0xc0) };
            let waves = if matches!(format, 4 | 5 | 9 | 10) { 29 } else { 0 };
            for (at, byte) in bits[..record - waves].iter().enumerate() {
                let left = if at == mirror.0 { mirror.1 } else { 0 };
                assert_eq!(!byte, left, "format {format}: byte {at}");
            }
        }
        assert_eq!(least_record(11), None);
    }
}
