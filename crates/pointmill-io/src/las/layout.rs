//! Positions of the values of a point in its record, for each point format.

use super::header::Header;
use crate::field::XYZ;
use crate::records::{Coding, Entry};
use pointmill_core::array::Dtype;

/// Maximum number of extra bytes of a compressed point. Each extra byte has its own models of some
/// kilobytes, which every chunk creates again.
pub(super) const MAX_EXTRA: usize = 512;

/// Size of one step of the scan angle of formats 6 to 10, in degrees.
const ANGLE_STEP: f64 = 0.006;

/// Whether points have wave packets.
pub(super) fn has_waves(format: u8) -> bool {
    matches!(format, 4 | 5 | 9 | 10)
}

/// The columns of a point: x, y, z, then the others. Wave packets are left out.
pub(super) fn columns(header: &Header) -> Vec<Entry> {
    let format = header.format;
    let mut columns = vec![];
    let mut coded = |name: &str, dtype, at, coding| columns.push(Entry { coding, ..Entry::new(name, dtype, 0, at) });
    for (axis, name) in XYZ.iter().enumerate() {
        let (scale, shift) = (header.scale[axis], header.shift[axis]);
        coded(name, Dtype::F64, 4 * axis, Coding::Scaled { is_short: false, scale, shift });
    }
    let old = format < 6;
    coded("intensity", Dtype::U16, 12, Coding::Plain);
    let mut bits = |name, at, lowest, count| coded(name, Dtype::U8, at, Coding::Bits { lowest, count });
    let returns = if old { 3 } else { 4 };
    bits("return_number", 14, 0, returns);
    bits("number_of_returns", 14, returns, returns);
    let flags = if old { 14 } else { 15 };
    bits("scan_direction_flag", flags, 6, 1);
    bits("edge_of_flight_line", flags, 7, 1);
    if old {
        bits("classification", 15, 0, 5);
        bits("classification_flags", 15, 5, 3);
    } else {
        bits("classification", 16, 0, 8);
        bits("classification_flags", 15, 0, 4);
        bits("scanner_channel", 15, 4, 2);
    }
    let mut plain = |name, dtype, at| coded(name, dtype, at, Coding::Plain);
    if old {
        plain("scan_angle", Dtype::I8, 16);
        plain("user_data", Dtype::U8, 17);
        plain("point_source_id", Dtype::U16, 18);
    } else {
        plain("user_data", Dtype::U8, 17);
        coded("scan_angle", Dtype::F32, 18, Coding::Scaled { is_short: true, scale: ANGLE_STEP, shift: 0.0 });
        coded("point_source_id", Dtype::U16, 20, Coding::Plain);
    }
    let mut plain = |name, dtype, at| coded(name, dtype, at, Coding::Plain);
    if let Some(at) = match format {
        1 | 3 | 4 | 5 => Some(20),
        6.. => Some(22),
        _ => None,
    } {
        plain("gps_time", Dtype::F64, at);
    }
    if let Some(at) = match format {
        2 => Some(20),
        3 | 5 => Some(28),
        7 | 8 | 10 => Some(30),
        _ => None,
    } {
        for (i, name) in ["red", "green", "blue"].into_iter().enumerate() {
            plain(name, Dtype::U16, at + 2 * i);
        }
    }
    if matches!(format, 8 | 10) {
        plain("nir", Dtype::U16, 36);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::las::header::least_record;

    #[test]
    fn values_lie_within_the_record_and_do_not_overlap() {
        for format in 0..=10 {
            let record = least_record(format).unwrap();
            let mut bits = vec![0u8; record];
            for column in columns(&Header { format, ..Header::default() }) {
                let at = column.field.start;
                let (length, mask) = match column.coding {
                    Coding::Scaled { is_short, .. } => (if is_short { 2 } else { 4 }, 0xff),
                    Coding::Bits { lowest, count } => (1, (((1u16 << count) - 1) << lowest) as u8),
                    Coding::Plain | Coding::Linear { .. } => (column.dtype.bytes(), 0xff),
                };
                for byte in &mut bits[at..at + length] {
                    assert_eq!(*byte & mask, 0, "format {format}: `{}`", column.name);
                    *byte |= mask;
                }
            }
            // Only wave packets are left out.
            let waves = if has_waves(format) { 29 } else { 0 };
            assert!(bits[..record - waves].iter().all(|byte| *byte == 0xff), "format {format}: {bits:?}");
        }
        assert_eq!(least_record(11), None);
    }
}
