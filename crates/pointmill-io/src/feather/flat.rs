//! `FlatBuffers`, the layout of Arrow's messages: tables whose fields may be absent, each found by
//! an offset. Every offset is checked.

use crate::error::IoError;
use crate::fault::fault;
use crate::window::Window;

/// Bytes that are no such table.
#[derive(Debug)]
pub(super) struct Broken;

impl Broken {
    /// The error for the part of a file that they are.
    pub(super) fn error(self, window: &Window<'_, '_>, field: &str) -> IoError {
        fault!(window, BadHeader, field, "a valid table", "offsets that lead nowhere")
    }
}

/// A table in a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'b> {
    bytes: &'b [u8],
    at: usize,
    /// For each field its distance from the table's start, 0 if it is absent.
    slots: &'b [u8],
}

/// Bytes of an array that are there.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Broken> {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().ok_or(Broken)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<usize, Broken> {
    Ok(u32::from_le_bytes(array(bytes, at)?) as usize)
}

impl<'b> Table<'b> {
    /// The table that a buffer starts with.
    pub(super) fn root(bytes: &'b [u8]) -> Result<Self, Broken> {
        Self::new(bytes, u32_at(bytes, 0)?)
    }

    fn new(bytes: &'b [u8], at: usize) -> Result<Self, Broken> {
        let back = i64::from(i32::from_le_bytes(array(bytes, at)?));
        let slots = usize::try_from(at as i64 - back).map_err(|_| Broken)?;
        let length = usize::from(u16::from_le_bytes(array(bytes, slots)?));
        let slots = bytes.get(slots + 4..slots + length).ok_or(Broken)?;
        Ok(Self { bytes, at, slots })
    }

    /// Where a field is, if it is there.
    fn place(&self, field: usize) -> Option<usize> {
        let slot = self.slots.get(2 * field..2 * field + 2)?;
        let slot = usize::from(u16::from_le_bytes([slot[0], slot[1]]));
        (slot > 0).then_some(self.at + slot)
    }

    pub(super) fn u8(&self, field: usize) -> Result<u8, Broken> {
        self.place(field).map_or(Ok(0), |at| Ok(array::<1>(self.bytes, at)?[0]))
    }

    pub(super) fn i16(&self, field: usize, absent: i16) -> Result<i16, Broken> {
        self.place(field).map_or(Ok(absent), |at| Ok(i16::from_le_bytes(array(self.bytes, at)?)))
    }

    pub(super) fn i32(&self, field: usize, absent: i32) -> Result<i32, Broken> {
        self.place(field).map_or(Ok(absent), |at| Ok(i32::from_le_bytes(array(self.bytes, at)?)))
    }

    pub(super) fn i64(&self, field: usize) -> Result<i64, Broken> {
        self.place(field).map_or(Ok(0), |at| Ok(i64::from_le_bytes(array(self.bytes, at)?)))
    }

    /// Where what a field refers to is.
    fn target(&self, field: usize) -> Result<Option<usize>, Broken> {
        let Some(at) = self.place(field) else { return Ok(None) };
        Ok(Some(at + u32_at(self.bytes, at)?))
    }

    pub(super) fn table(&self, field: usize) -> Result<Option<Self>, Broken> {
        self.target(field)?.map(|at| Self::new(self.bytes, at)).transpose()
    }

    /// The bytes of a vector, of `each` for each element, and where it starts; none if it is
    /// absent.
    fn vector(&self, field: usize, each: usize) -> Result<(usize, &'b [u8]), Broken> {
        let Some(at) = self.target(field)? else { return Ok((0, &[])) };
        let bytes = u32_at(self.bytes, at)?.checked_mul(each).ok_or(Broken)?;
        let rest = self.bytes.get(at + 4..).ok_or(Broken)?;
        Ok((at + 4, rest.get(..bytes).ok_or(Broken)?))
    }

    pub(super) fn text(&self, field: usize) -> Result<&'b [u8], Broken> {
        Ok(self.vector(field, 1)?.1)
    }

    /// The structs of a vector, as numbers of 64 bits.
    pub(super) fn structs<const N: usize>(&self, field: usize) -> Result<Vec<[i64; N]>, Broken> {
        let (_, bytes) = self.vector(field, 8 * N)?;
        let number = |bytes: &[u8], i: usize| i64::from_le_bytes(std::array::from_fn(|k| bytes[8 * i + k]));
        Ok(bytes.chunks_exact(8 * N).map(|bytes| std::array::from_fn(|i| number(bytes, i))).collect())
    }

    pub(super) fn tables(&self, field: usize) -> Result<impl ExactSizeIterator<Item = Result<Self, Broken>>, Broken> {
        let (start, bytes) = self.vector(field, 4)?;
        let whole = self.bytes;
        Ok((0..bytes.len() / 4).map(move |i| {
            let at = start + 4 * i;
            Self::new(whole, at + u32_at(whole, at)?)
        }))
    }
}

/// A field of a table that is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    Absent,
    U8(u8),
    I16(i16),
    I32(i32),
    I64(i64),
    /// What the field refers to comes later, see [`Builder::refer`].
    Later,
}

/// A buffer that is written from its front to its end.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) bytes: Vec<u8>,
}

impl Builder {
    /// A buffer that refers to its root, which comes next.
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; 4] }
    }

    /// Pads so that what comes `ahead` bytes later starts at a multiple of `to`.
    fn align(&mut self, to: usize, ahead: usize) {
        let end = (self.bytes.len() + ahead).next_multiple_of(to) - ahead;
        self.bytes.resize(end, 0);
    }

    /// Makes the reference at `at` one to what comes next.
    fn refer(&mut self, at: usize) {
        let distance = (self.bytes.len() - at) as u32;
        self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
    }

    /// Adds a table that `from` refers to; where its fields are that refer to something.
    pub(super) fn table(&mut self, from: usize, slots: &[Slot]) -> Vec<usize> {
        let length = 4 + 2 * slots.len();
        // The table starts behind its slots, at a multiple of 8; so do numbers in it, at multiples
        // of their sizes.
        self.align(8, length);
        let start = self.bytes.len() + length;
        let (mut body, mut places, mut later) = (vec![0; 4], vec![], vec![]);
        for slot in slots {
            let value = match slot {
                Slot::Absent => vec![],
                Slot::U8(v) => vec![*v],
                Slot::I16(v) => v.to_le_bytes().to_vec(),
                Slot::I32(v) => v.to_le_bytes().to_vec(),
                Slot::I64(v) => v.to_le_bytes().to_vec(),
                Slot::Later => vec![0; 4],
            };
            if value.is_empty() {
                places.push(0u16);
                continue;
            }
            body.resize(body.len().next_multiple_of(value.len()), 0);
            places.push(body.len() as u16);
            if matches!(slot, Slot::Later) {
                later.push(start + body.len());
            }
            body.extend(value);
        }
        body[..4].copy_from_slice(&(length as i32).to_le_bytes());
        self.bytes.extend((length as u16).to_le_bytes());
        self.bytes.extend((body.len() as u16).to_le_bytes());
        places.iter().for_each(|place| self.bytes.extend(place.to_le_bytes()));
        self.refer(from);
        self.bytes.extend(body);
        later
    }

    /// Adds text that `from` refers to.
    pub(super) fn text(&mut self, from: usize, text: &str) {
        self.align(4, 0);
        self.refer(from);
        self.bytes.extend((text.len() as u32).to_le_bytes());
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
    }

    /// Adds a vector of structs of 64-bit numbers that `from` refers to.
    pub(super) fn structs<const N: usize>(&mut self, from: usize, structs: &[[i64; N]]) {
        self.align(8, 4);
        self.refer(from);
        self.bytes.extend((structs.len() as u32).to_le_bytes());
        structs.as_flattened().iter().for_each(|v| self.bytes.extend(v.to_le_bytes()));
    }

    /// Adds a vector of references that `from` refers to; where they are.
    pub(super) fn references(&mut self, from: usize, count: usize) -> Vec<usize> {
        self.align(4, 0);
        self.refer(from);
        self.bytes.extend((count as u32).to_le_bytes());
        let start = self.bytes.len();
        self.bytes.resize(start + 4 * count, 0);
        (0..count).map(|i| start + 4 * i).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer() -> Vec<u8> {
        let mut builder = Builder::new();
        let later =
            builder.table(0, &[Slot::I16(4), Slot::Absent, Slot::Later, Slot::I64(-7), Slot::U8(9), Slot::Later]);
        builder.text(later[0], "name");
        let references = builder.references(later[1], 2);
        for (from, value) in references.into_iter().zip([5, 6]) {
            let later = builder.table(from, &[Slot::Later, Slot::I32(value)]);
            builder.structs(later[0], &[[1, 2], [3, i64::from(value)]]);
        }
        builder.bytes
    }

    fn read(bytes: &[u8]) -> Result<(), Broken> {
        let root = Table::root(bytes)?;
        assert_eq!((root.i16(0, 0)?, root.i32(1, 3)?, root.i64(3)?, root.u8(4)?), (4, 3, -7, 9));
        assert_eq!((root.text(2)?, root.text(7)?), (&b"name"[..], &b""[..]));
        let tables: Vec<_> = root.tables(5)?.collect::<Result<_, _>>()?;
        for (table, value) in tables.iter().zip([5, 6]) {
            assert_eq!((table.i32(1, 0)?, table.structs(0)?), (value, vec![[1, 2], [3, i64::from(value)]]));
        }
        assert_eq!((tables.len(), root.table(6)?.is_none()), (2, true));
        Ok(())
    }

    #[test]
    fn what_is_written_is_read_and_what_is_cut_is_broken() {
        let bytes = buffer();
        read(&bytes).unwrap();
        for end in 0..bytes.len() - 16 {
            let whole = std::panic::catch_unwind(|| read(&bytes[..end]).is_ok());
            assert!(!whole.unwrap_or(false), "{end}");
        }
        // An offset past the end, before the start, and of the largest number.
        for (at, value) in [(0, 0xffff_fffc_u32), (0, 4000), (0, 0)] {
            let mut bytes = bytes.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            assert!(Table::root(&bytes).is_err() || value == 0);
        }
    }
}
