//! A point of formats 6 to 10, without the fields that formats after 6 add: the 30 bytes and their
//! meaning.

use crate::bytes::{u16_at, u32_at, u64_at};

/// Size of a point in bytes.
pub(super) const SIZE: usize = 30;

/// The fields of a point, as they are coded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) z: i32,
    pub(super) intensity: u16,
    /// The number of the return, and the number of returns of the pulse; 0 to 15.
    pub(super) number: u8,
    pub(super) returns: u8,
    /// The four flags of the classification, the mirror's direction and the edge of a flight line,
    /// from the lowest bit on.
    pub(super) flags: u8,
    /// The channel of the scanner, 0 to 3.
    pub(super) channel: u8,
    pub(super) classification: u8,
    pub(super) user: u8,
    pub(super) angle: i16,
    pub(super) source: u16,
    /// The bits of the GPS time.
    pub(super) time: i64,
}

impl Point {
    /// Parses `SIZE` bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let (returns, flags) = (bytes[14], bytes[15]);
        Self {
            x: u32_at(bytes, 0) as i32,
            y: u32_at(bytes, 4) as i32,
            z: u32_at(bytes, 8) as i32,
            intensity: u16_at(bytes, 12),
            number: returns & 0x0f,
            returns: returns >> 4,
            flags: flags & 0x0f | flags >> 2 & 0x30,
            channel: flags >> 4 & 3,
            classification: bytes[16],
            user: bytes[17],
            angle: u16_at(bytes, 18) as i16,
            source: u16_at(bytes, 20),
            time: u64_at(bytes, 22) as i64,
        }
    }

    /// Writes the point into `SIZE` bytes.
    pub(super) fn put(&self, bytes: &mut [u8]) {
        bytes[0..4].copy_from_slice(&self.x.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.y.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.z.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.intensity.to_le_bytes());
        bytes[14] = self.number | self.returns << 4;
        bytes[15] = self.flags & 0x0f | self.channel << 4 | (self.flags & 0x30) << 2;
        bytes[16] = self.classification;
        bytes[17] = self.user;
        bytes[18..20].copy_from_slice(&self.angle.to_le_bytes());
        bytes[20..22].copy_from_slice(&self.source.to_le_bytes());
        bytes[22..SIZE].copy_from_slice(&self.time.to_le_bytes());
    }

    /// Whether the point is the first return of its pulse, and whether it is the last.
    pub(super) fn ends(&self) -> (bool, bool) {
        (self.number == 1, self.number >= self.returns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_is_kept() {
        for bit in 0..8 * SIZE {
            let mut bytes = [0; SIZE];
            bytes[bit / 8] = 1 << (bit % 8);
            let (point, mut back) = (Point::from_bytes(&bytes), [0; SIZE]);
            assert_ne!(point, Point::default(), "bit {bit}");
            point.put(&mut back);
            assert_eq!(back, bytes, "bit {bit}");
        }
    }
}
