//! Numbers and texts one after the other: ROS messages in the wire formats of ROS 1 and ROS 2, and
//! the content of records, which lies as ROS 1 lays it.

use crate::error::{Detail, IoError, excerpt};
use crate::fault::{Context, bail, fault};
use std::path::Path;

/// How a message lies in its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// CDR with its encapsulation header of four bytes, as ROS 2 writes it, in either byte order.
    Cdr,
    /// The format of ROS 1: little-endian, nothing aligned.
    Ros1,
}

/// The longest text of a message, in bytes.
const LONGEST_TEXT: usize = 1024;

/// Bytes that are read from the first to the last.
pub(super) struct Wire<'p, 'a> {
    path: &'p Path,
    /// What is left behind the encapsulation header and what was read.
    bytes: &'a [u8],
    /// Bytes read, from which CDR aligns its numbers.
    at: usize,
    pub(super) encoding: Encoding,
    pub(super) big_endian: bool,
}

impl Context for Wire<'_, '_> {
    fn detail(&self, field: &str, wanted: impl Into<String>, found: impl Into<String>) -> Box<Detail> {
        Detail::new(self.path, field, wanted, found)
    }
}

impl<'p, 'a> Wire<'p, 'a> {
    pub(super) fn new(path: &'p Path, bytes: &'a [u8], encoding: Encoding) -> Result<Self, IoError> {
        let mut wire = Self { path, bytes, at: 0, encoding, big_endian: false };
        if encoding == Encoding::Cdr {
            let header = wire.bytes("encapsulation", 4)?;
            wire.big_endian = match header[..2] {
                [0, 0] => true,
                [0, 1] => false,
                _ => {
                    let wanted = "plain CDR, 0x0000 (big endian) or 0x0001 (little endian)";
                    let found = format!("{:#06x}", u16::from_be_bytes([header[0], header[1]]));
                    bail!(wire, UnsupportedFormat, "encapsulation", wanted, found);
                }
            };
            wire.at = 0;
        }
        Ok(wire)
    }

    /// The header of a message: its stamp in nanoseconds since 1970, and its frame.
    pub(super) fn header(&mut self) -> Result<(i64, &'a str), IoError> {
        if self.encoding == Encoding::Ros1 {
            self.u32("header.seq")?;
        }
        let (seconds, nanoseconds) = (self.u32("header.stamp")?, self.u32("header.stamp")?);
        // Of ROS 2 the seconds have a sign.
        let seconds = match self.encoding {
            Encoding::Cdr => i64::from(seconds.cast_signed()),
            Encoding::Ros1 => i64::from(seconds),
        };
        Ok((seconds * 1_000_000_000 + i64::from(nanoseconds), self.text("header.frame_id")?))
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    /// The next `count` bytes.
    pub(super) fn bytes(&mut self, field: &str, count: usize) -> Result<&'a [u8], IoError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            bail!(self, Truncated, field, "{count} bytes", ("{} bytes", self.bytes.len()));
        };
        self.bytes = rest;
        self.at += count;
        Ok(taken)
    }

    pub(super) fn u8(&mut self, field: &str) -> Result<u8, IoError> {
        Ok(self.bytes(field, 1)?[0])
    }

    /// A byte that is 0 or 1.
    pub(super) fn bool(&mut self, field: &str) -> Result<bool, IoError> {
        match self.u8(field)? {
            n @ 0..=1 => Ok(n == 1),
            n => Err(fault!(self, BadValue, field, "0 or 1", n)),
        }
    }

    /// A number's bytes, the lowest first.
    fn number<const N: usize>(&mut self, field: &str) -> Result<[u8; N], IoError> {
        if self.encoding == Encoding::Cdr {
            self.bytes(field, self.at.next_multiple_of(N) - self.at)?;
        }
        let mut number = [0; N];
        number.copy_from_slice(self.bytes(field, N)?);
        if self.big_endian {
            number.reverse();
        }
        Ok(number)
    }

    pub(super) fn u16(&mut self, field: &str) -> Result<u16, IoError> {
        self.number(field).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, field: &str) -> Result<u32, IoError> {
        self.number(field).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, field: &str) -> Result<u64, IoError> {
        self.number(field).map(u64::from_le_bytes)
    }

    pub(super) fn f64(&mut self, field: &str) -> Result<f64, IoError> {
        self.number(field).map(f64::from_le_bytes)
    }

    /// A number of bytes and the bytes themselves.
    pub(super) fn sized(&mut self, field: &str) -> Result<&'a [u8], IoError> {
        let count = self.u32(field)?;
        self.bytes(field, usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// A text; CDR ends it with a zero byte.
    pub(super) fn text(&mut self, field: &str) -> Result<&'a str, IoError> {
        let mut bytes = self.sized(field)?;
        if self.encoding == Encoding::Cdr && !bytes.is_empty() {
            bytes = bytes
                .strip_suffix(&[0])
                .ok_or_else(|| fault!(self, BadValue, field, "a text that ends with a zero byte", excerpt(bytes)))?;
        }
        self.text_of(field, bytes)
    }

    /// The text that bytes are.
    pub(super) fn text_of<'b>(&self, field: &str, bytes: &'b [u8]) -> Result<&'b str, IoError> {
        match str::from_utf8(bytes) {
            Ok(text) if text.len() <= LONGEST_TEXT && !text.chars().any(char::is_control) => Ok(text),
            _ => {
                let wanted = format!("at most {LONGEST_TEXT} bytes of UTF-8 without control characters");
                Err(fault!(self, BadValue, field, wanted, excerpt(bytes)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(bytes: &[u8], encoding: Encoding) -> Result<Wire<'static, '_>, IoError> {
        Wire::new(Path::new("m"), bytes, encoding)
    }

    #[test]
    fn cdr_is_aligned_from_behind_its_header_and_ros_1_is_not() {
        let mut cdr = wire(&[0, 1, 0, 0, 7, 0xff, 0xff, 0xff, 2, 0, 0, 0, b'a', 0, 1], Encoding::Cdr).unwrap();
        assert_eq!((cdr.u8("a").unwrap(), cdr.text("b").unwrap(), cdr.bool("c").unwrap()), (7, "a", true));
        assert_eq!(cdr.left(), 0);
        let mut big = wire(&[0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 1, 2], Encoding::Cdr).unwrap();
        assert_eq!((big.u8("a").unwrap(), big.u32("b").unwrap()), (7, 0x102));
        let mut ros = wire(&[7, 1, 0, 0, 0, b'a'], Encoding::Ros1).unwrap();
        assert_eq!((ros.u8("a").unwrap(), ros.text("b").unwrap(), ros.left()), (7, "a", 0));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let e = wire(&[0, 3, 0, 0], Encoding::Cdr).err().unwrap();
        let told = "m: encapsulation: expected plain CDR, 0x0000 (big endian) or 0x0001 (little endian), got 0x0003";
        assert_eq!((e.class(), e.to_string().as_str()), ("UnsupportedFormat", told));
        let text = |bytes: &[u8]| wire(bytes, Encoding::Cdr).unwrap().text("name").unwrap_err().to_string();
        assert_eq!(text(&[0, 1, 0, 0, 9, 0, 0, 0, 1]), "m: name: expected 9 bytes, got 1 bytes");
        assert_eq!(
            text(&[0, 1, 0, 0, 1, 0, 0, 0, b'x']),
            "m: name: expected a text that ends with a zero byte, got `x`"
        );
        assert!(text(&[0, 1, 0, 0, 2, 0, 0, 0, 7, 0]).contains("without control characters"));
        let e = wire(&[0, 1, 0, 0, 2], Encoding::Cdr).unwrap().bool("dense").unwrap_err();
        assert_eq!(e.to_string(), "m: dense: expected 0 or 1, got 2");
    }
}
