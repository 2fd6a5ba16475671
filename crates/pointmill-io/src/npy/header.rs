//! The header of an npy file: a magic number, a version, a length, and a Python dictionary as text.
//!
//! The text is parsed here, strictly and in one pass, and nothing is multiplied unchecked. General
//! parsers of Python literals do not survive hostile headers: a few dozen nested brackets take them
//! exponential time, and an npy crate that multiplies the lengths of the axes as it parses
//! overflows.

use super::dtype::from_descr;
use super::record::Record;
use super::text::Text;
use crate::error::{IoError, excerpt};
use crate::fault::{bail, fault};
use crate::source::Source;
use pointmill_core::array::{Dtype, num_values};

/// The first bytes of every npy file.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The longest header text read. Numpy itself refuses longer ones unless told otherwise.
const MAX_TEXT: usize = 10_000;

/// What a header says, checked as far as it can be without the data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    /// The fields of an element, of an array of structures.
    pub(crate) record: Option<Record>,
    /// The element type; without a meaning where there are fields.
    pub(crate) dtype: Dtype,
    pub(crate) big_endian: bool,
    pub(crate) fortran: bool,
    pub(crate) shape: Vec<usize>,
    /// The product of `shape`; times the size of an element it fits an `i64`.
    pub(crate) count: usize,
}

impl Header {
    /// The bytes of an element.
    pub(crate) fn each(&self) -> usize {
        self.record.as_ref().map_or(self.dtype.bytes(), |record| record.bytes)
    }

    /// The number of bytes of the data.
    pub(crate) fn bytes(&self) -> u64 {
        self.count as u64 * self.each() as u64
    }

    /// Reads a header and leaves the source at the data.
    pub(crate) fn read(source: &mut Source<'_>) -> Result<Self, IoError> {
        let mut start = [0; 8];
        let got = source.fill(&mut start)?;
        if !start[..got].starts_with(&MAGIC[..MAGIC.len().min(got)]) {
            bail!(source, BadHeader, "magic", (excerpt(MAGIC)), excerpt(&start[..got]));
        }
        if got < start.len() {
            let wanted = "8 bytes of magic and version";
            let found = if got == 0 { "an empty file".into() } else { format!("{got} bytes") };
            bail!(source, Truncated, "header", wanted, found);
        }
        let mut length = [0; 4];
        let width = match start[6..] {
            [1, 0] => 2,
            [2 | 3, 0] => 4,
            _ => {
                bail!(source, UnsupportedFormat, "version", "1.0, 2.0 or 3.0", ("{}.{}", start[6], start[7]));
            }
        };
        let got = source.fill(&mut length[..width])?;
        if got < width {
            let [wanted, found] = [width, got].map(|n| format!("{n} bytes"));
            bail!(source, Truncated, "header length", wanted, found);
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_TEXT {
            bail!(source, LimitExceeded, "header length", "at most {MAX_TEXT} bytes", "{length} bytes");
        }
        let mut text = vec![0; length];
        let got = source.fill(&mut text)?;
        if got < length {
            let [wanted, found] = [length, got].map(|n| format!("{n} bytes"));
            bail!(source, Truncated, "header", wanted, found);
        }
        parse(Text::new(&text), source)
    }

    /// The bytes of a header with which the data starts at a multiple of 64, as numpy writes it.
    pub(crate) fn bytes_for(descr: &str, shape: &[usize]) -> Vec<u8> {
        let mut axes: String = shape.iter().map(|n| format!("{n}, ")).collect();
        // A tuple of one keeps its comma.
        axes.truncate(axes.len().saturating_sub(if shape.len() == 1 { 1 } else { 2 }));
        let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({axes}), }}");
        let before = MAGIC.len() + 4;
        let padded = (before + text.len() + 1).next_multiple_of(64);
        text.extend(std::iter::repeat_n(' ', padded - before - text.len() - 1));
        text.push('\n');
        // At most MAX_AXES axes of 20 digits: the length fits version 1.0's two bytes.
        let length = u16::try_from(text.len()).expect("a header of at most 64 axes is short");
        [MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat()
    }
}

/// What elements are.
enum Descr {
    /// Numbers of a type, and whether their bytes are big-endian.
    One(Dtype, bool),
    Record(Record),
}

/// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order, each once,
/// then blanks.
fn parse(mut text: Text<'_>, source: &Source<'_>) -> Result<Header, IoError> {
    let (mut dtype, mut fortran, mut shape) = (None, None, None);
    text.expect(source, b'{', "header")?;
    while !text.eat(b'}') {
        let key = text.quoted(source, "header key")?;
        text.expect(source, b':', "header")?;
        let again = match key {
            b"descr" => dtype.replace(descr(&mut text, source)?).is_some(),
            b"fortran_order" => fortran.replace(text.boolean(source)?).is_some(),
            b"shape" => shape.replace(text.shape(source)?).is_some(),
            _ => {
                bail!(source, BadHeader, "header key", "descr, fortran_order or shape", excerpt(key));
            }
        };
        if again {
            bail!(source, BadHeader, "header key", "each key once", ("{} again", excerpt(key)));
        }
        if !text.eat(b',') {
            text.expect(source, b'}', "header")?;
            break;
        }
    }
    text.end(source)?;
    let missing = |key| fault!(source, MissingField, "header", "the key `{key}`", "none");
    let (record, (dtype, big_endian)) = match dtype.ok_or_else(|| missing("descr"))? {
        Descr::One(dtype, big_endian) => (None, (dtype, big_endian)),
        Descr::Record(record) => (Some(record), (Dtype::U8, false)),
    };
    let each = record.as_ref().map_or(dtype.bytes(), |record| record.bytes);
    let fortran = fortran.ok_or_else(|| missing("fortran_order"))?;
    let shape = shape.ok_or_else(|| missing("shape"))?;
    let fits = |&n: &usize| n.checked_mul(each).is_some_and(|bytes| i64::try_from(bytes).is_ok());
    let count = num_values(&shape)
        .filter(fits)
        .ok_or_else(|| fault!(source, LimitExceeded, "shape", "less than 2^63 bytes", "{shape:?} of {each} bytes"))?;
    Ok(Header { record, dtype, big_endian, fortran, shape, count })
}

fn descr(text: &mut Text<'_>, source: &Source<'_>) -> Result<Descr, IoError> {
    if text.is_next(b'[') {
        return Ok(Descr::Record(Record::read(text, source)?));
    }
    let kind = text.quoted(source, "descr")?;
    let dtype = str::from_utf8(kind).ok().and_then(from_descr);
    dtype.map(|(dtype, big_endian)| Descr::One(dtype, big_endian)).ok_or_else(|| {
        fault!(source, UnsupportedFormat, "descr", "a bool, integer or float type such as '<f4'", excerpt(kind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy::MAX_AXES;
    use std::path::Path;

    fn parse(text: &str) -> Result<Header, IoError> {
        let mut bytes = [MAGIC, &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
        bytes.extend([0; 4]);
        Header::read(&mut Source::new(Path::new("a.npy"), &mut &bytes[..], None))
    }

    #[test]
    fn numpys_headers_are_read() {
        let h = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }     \n").unwrap();
        assert_eq!((h.dtype, h.big_endian, h.fortran, h.count), (Dtype::F32, false, false, 12));
        assert_eq!((h.shape.as_slice(), h.bytes()), (&[3, 4][..], 48));
        let h = parse("{\"shape\":(2L,),'descr':\">i8\",'fortran_order':True}").unwrap();
        assert_eq!((h.dtype, h.big_endian, h.fortran, h.shape), (Dtype::I64, true, true, vec![2]));
        assert_eq!(parse("{'descr': '|b1', 'fortran_order': False, 'shape': (), }").unwrap().count, 1);
    }

    #[test]
    fn what_is_written_is_read() {
        for shape in [&[][..], &[5], &[3, 4], &[0, 7], &[usize::MAX >> 4, 1], &[1; MAX_AXES]] {
            let bytes = Header::bytes_for("<f2", shape);
            assert_eq!(bytes.len() % 64, 0);
            let h = Header::read(&mut Source::new(Path::new("a"), &mut &bytes[..], None)).unwrap();
            assert_eq!((h.dtype, h.shape.as_slice()), (Dtype::F16, shape));
        }
        let one = Header::bytes_for("<f4", &[5]);
        assert!(String::from_utf8_lossy(&one).contains("'shape': (5,), }"));
    }

    #[test]
    fn lies_are_refused_by_class() {
        let shape = |s: &str| parse(&format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {s}, }}"));
        for (s, class) in [
            ("(4611686018427387904, 4)", "LimitExceeded"),
            ("(4611686018427387904,)", "LimitExceeded"),
            ("(18446744073709551616,)", "BadHeader"),
            ("(-1, 3)", "BadHeader"),
            ("(3, 4", "BadHeader"),
            ("[3, 4]", "BadHeader"),
            ("3", "BadHeader"),
            ("(1.5,)", "BadHeader"),
            ("(3 4)", "BadHeader"),
        ] {
            assert_eq!(shape(s).unwrap_err().class(), class, "{s}");
        }
        assert_eq!(shape("(0, 18446744073709551615)").unwrap().count, 0);
        let nested = "[".repeat(9000);
        for (text, class) in [
            ("", "BadHeader"),
            ("{}", "MissingField"),
            ("{'descr': '<f4'}", "MissingField"),
            ("{'descr': '<f4', 'descr': '<f4'}", "BadHeader"),
            ("{'descr': '|O'}", "UnsupportedFormat"),
            ("{'descr': '<c8'}", "UnsupportedFormat"),
            ("{'descr': [('x', '<f4')]}", "MissingField"),
            ("{'descr': [('x', '|O')]}", "UnsupportedFormat"),
            ("{'descr': [('x', [('y', '<f4')])]}", "UnsupportedFormat"),
            ("{'descr': [('x', '<f4')", "BadHeader"),
            ("{'descr': [('x', '<f4', (18446744073709551615, 2))]}", "LimitExceeded"),
            ("{'descr': []}", "UnsupportedFormat"),
            ("{'descr': 4}", "BadHeader"),
            ("{'a': 1}", "BadHeader"),
            ("{'fortran_order': 1}", "BadHeader"),
            ("{'descr", "BadHeader"),
            (&nested, "BadHeader"),
        ] {
            let e = parse(text).unwrap_err();
            assert_eq!(e.class(), class, "{e}");
        }
        let e = parse("{'descr': '\x1b[2J'}").unwrap_err();
        assert!(e.to_string().contains(r"`\u{1b}[2J`"), "{e}");
    }

    #[test]
    fn long_and_torn_headers_are_refused() {
        let read = |bytes: &[u8]| Header::read(&mut Source::new(Path::new("a"), &mut &bytes[..], None));
        let e = read(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").unwrap_err();
        assert_eq!(e.to_string(), "a: header length: expected at most 10000 bytes, got 4294967295 bytes");
        for (bytes, class) in [
            (&b""[..], "Truncated"),
            (b"\x93NUM", "Truncated"),
            (b"\x93NUMPX\x01\x00", "BadHeader"),
            (b"hello", "BadHeader"),
            (b"\x93NUMPY\x09\x00", "UnsupportedFormat"),
            (b"\x93NUMPY\x01\x00\x10", "Truncated"),
            (b"\x93NUMPY\x01\x00\x10\x00{'descr", "Truncated"),
        ] {
            assert_eq!(read(bytes).unwrap_err().class(), class, "{bytes:?}");
        }
    }
}
