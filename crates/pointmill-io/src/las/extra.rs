//! The columns of extra bytes, which a record of the file describes.

use crate::bytes::f64_at;
use crate::records::{Coding, Entry};
use crate::survey::Described;
use pointmill_core::array::Dtype;

/// User id and record id of the record about extra bytes, and its bytes for each column.
pub(super) const RECORD: (&[u8], u16) = (b"LASF_Spec", 4);
pub(super) const EACH: usize = 192;
/// Bits of the options: one value stands for none, values have a scale, and an offset.
const HAS_NO_DATA: u8 = 1;
const HAS_SCALE: u8 = 8;
const HAS_OFFSET: u8 = 16;
/// Places of the value of no data, the scale and the offset of the first of three values, and of
/// the description.
const NO_DATA: usize = 40;
const SCALE: usize = 112;
const OFFSET: usize = 136;
const DESCRIPTION: usize = 160;

/// The columns of extra bytes.
#[derive(Debug, Default)]
pub(super) struct Extra {
    pub(super) entries: Vec<Entry>,
    /// What the record says of each.
    pub(super) described: Vec<Described>,
    /// How many bytes of a point are in none.
    pub(super) lost: usize,
}

/// The type that a number stands for.
const TYPES: [Dtype; 10] = [
    Dtype::U8,
    Dtype::I8,
    Dtype::U16,
    Dtype::I16,
    Dtype::U32,
    Dtype::I32,
    Dtype::U64,
    Dtype::I64,
    Dtype::F32,
    Dtype::F64,
];

/// The number of a type.
pub(super) fn number_of(dtype: Dtype) -> Option<u8> {
    (1..).zip(TYPES).find(|(_, known)| *known == dtype).map(|(number, _)| number)
}

/// The columns of the bytes from `from` to `to` of a point, at most so many.
pub(super) fn columns(described: &[u8], from: usize, to: usize, most: usize) -> Extra {
    let (mut columns, mut at) = (Extra::default(), from);
    for (i, told) in described.chunks_exact(EACH).enumerate() {
        let (kind, options) = (told[2], told[3]);
        // A type, or two or three values of it.
        let known = kind.checked_sub(1).and_then(|kind| Some((TYPES.get(usize::from(kind % 10))?, kind / 10 + 1)));
        let (dtype, count) = match known.filter(|(_, count)| *count <= 3) {
            Some((dtype, count)) => (Some(*dtype), usize::from(count)),
            None => (None, usize::from(options)),
        };
        let bytes = count * dtype.map_or(1, Dtype::bytes);
        if bytes > to - at {
            break;
        }
        match dtype.filter(|_| columns.entries.len() + count <= most) {
            Some(dtype) => {
                let name = name(&told[4..36], i);
                let entries = Entry::of_field(&name, dtype, count, 0, at).enumerate();
                for (k, entry) in entries {
                    columns.described.push(Described { column: entry.name.clone(), told: one_of(told, dtype, k) });
                    columns.entries.push(scaled(entry, told, options, k));
                }
            }
            None => columns.lost += bytes,
        }
        at += bytes;
    }
    columns.lost += to - at;
    columns
}

/// What a record of one value says, of value `k` of a record of up to three. The least and the
/// greatest value are left out: other points have others.
fn one_of(told: &[u8], dtype: Dtype, k: usize) -> Vec<u8> {
    let mut one = vec![0; EACH];
    one[2] = number_of(dtype).unwrap_or_default();
    one[3] = told[3] & (HAS_NO_DATA | HAS_SCALE | HAS_OFFSET);
    for at in [NO_DATA, SCALE, OFFSET] {
        one[at..at + 8].copy_from_slice(&told[at + 8 * k..at + 8 * k + 8]);
    }
    one[DESCRIPTION..].copy_from_slice(&told[DESCRIPTION..]);
    one
}

/// How values of a column were stored, if the record that describes it says how.
pub(super) fn coding(told: &[u8]) -> Option<(Dtype, f64, f64)> {
    let dtype = *TYPES.get(usize::from(told.get(2)?.checked_sub(1)?))?;
    match scaled(Entry::new("", dtype, 0, 0), told, *told.get(3)?, 0).coding {
        Coding::Linear { from, scale, shift } => Some((from, scale, shift)),
        _ => Some((dtype, 1.0, 0.0)),
    }
}

/// The column with the scale and the offset of its values, where they have one.
fn scaled(entry: Entry, told: &[u8], options: u8, k: usize) -> Entry {
    let number = |bit: u8, at: usize, none: f64| {
        let v = f64_at(told, at + 8 * k);
        if options & bit != 0 && v.is_finite() { v } else { none }
    };
    let (scale, shift) = (number(HAS_SCALE, SCALE, 1.0), number(HAS_OFFSET, OFFSET, 0.0));
    if (scale, shift) == (1.0, 0.0) || scale == 0.0 {
        return entry;
    }
    Entry { coding: Coding::Linear { from: entry.dtype, scale, shift }, dtype: Dtype::F64, ..entry }
}

/// The name of a column: x, y and z are those of the point itself.
fn name(bytes: &[u8], i: usize) -> String {
    let text = String::from_utf8_lossy(bytes.split(|b| *b == 0).next().unwrap_or_default());
    match text.replace(|c: char| c.is_control(), "_").trim() {
        "" => format!("extra_{i}"),
        name @ ("x" | "y" | "z") => format!("extra_{name}"),
        name => name.into(),
    }
}
