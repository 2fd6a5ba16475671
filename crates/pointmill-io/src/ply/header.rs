//! The header of a PLY file: lines of text with the elements, their number of rows, and the
//! properties of each.

use crate::error::{IoError, excerpt};
use crate::fault::bail;
use crate::field::XYZ;
use crate::records::{MAX_RECORD, bad_line, name, whole_number};
use crate::window::Window;
use pointmill_core::array::Dtype;

/// Maximum number of elements. Meshes have two or three.
const MAX_ELEMENTS: usize = 64;
/// Maximum number of properties of all elements together.
const MAX_PROPERTIES: usize = 2048;
const _: () = assert!(8 * MAX_PROPERTIES <= MAX_RECORD);

/// The encoding of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Encoding {
    Ascii,
    Binary { big_endian: bool },
}

/// The values of a header.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) encoding: Encoding,
    pub(super) elements: Vec<Element>,
}

/// An element: rows of one kind.
#[derive(Debug, PartialEq)]
pub(super) struct Element {
    pub(super) name: String,
    /// The number of rows that the header declares. It has not been checked yet.
    pub(super) count: u64,
    pub(super) properties: Vec<Property>,
}

/// A property: a value of a row, or a list of values.
#[derive(Debug, PartialEq)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    /// The type of the length, if the property is a list.
    pub(super) list: Option<Dtype>,
    /// Whether the type is not known, so that the property is left out. Only text has such ones.
    pub(super) unknown: bool,
}

impl Element {
    /// The minimum size of a binary row in bytes: the size with empty lists.
    pub(super) fn least_bytes(&self) -> u64 {
        self.properties.iter().map(|p| p.list.unwrap_or(p.dtype).bytes() as u64).sum()
    }

    pub(super) fn has_lists(&self) -> bool {
        self.properties.iter().any(|p| p.list.is_some())
    }
}

impl Header {
    /// Reads a header. The window is then at the data.
    pub(super) fn read(window: &mut Window<'_, '_>) -> Result<Self, IoError> {
        let Some(first) = window.header_line()? else {
            bail!(window, Truncated, "header", "`ply`", "an empty file");
        };
        if window.at(&first).trim_ascii_end() != b"ply" {
            bail!(window, BadHeader, "line 1", "`ply`", excerpt(window.at(&first)));
        }
        let mut encoding = None;
        let mut elements: Vec<Element> = vec![];
        let (mut properties, mut unknown) = (0, None);
        loop {
            let Some(line) = window.header_line()? else {
                bail!(window, Truncated, "header", "`end_header`", "the end of the file");
            };
            let text = window.at(&line);
            let words: Vec<&[u8]> = text.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).take(6).collect();
            match words[..] {
                // Comments may be any text in any encoding.
                [b"comment" | b"obj_info", ..] => {}
                [b"end_header"] => break,
                [b"format", kind, version] if encoding.is_none() => {
                    encoding = Some(format(window, kind, version)?);
                }
                [b"element", called, count] => {
                    let element = element(window, called, count)?;
                    if elements.iter().any(|e| e.name == element.name) {
                        return Err(bad_line(window, "elements that differ", text));
                    }
                    if elements.len() == MAX_ELEMENTS {
                        bail!(window, LimitExceeded, "elements", "at most {MAX_ELEMENTS}", "more");
                    }
                    elements.push(element);
                }
                [b"property", ..] => {
                    let property = match words[1..] {
                        [b"list", length, dtype, called] => {
                            let length = r#type(window, length)?;
                            if matches!(length, Dtype::F32 | Dtype::F64) {
                                return Err(bad_line(window, "a list's length of an integer type", text));
                            }
                            let dtype = r#type(window, dtype)?;
                            Property { name: name(window, called)?, dtype, list: Some(length), unknown: false }
                        }
                        [dtype, called] => {
                            let dtype = r#type(window, dtype);
                            let (is_unknown, kind) = (dtype.is_err(), *dtype.as_ref().unwrap_or(&Dtype::F64));
                            unknown = unknown.or(dtype.err());
                            Property { name: name(window, called)?, dtype: kind, list: None, unknown: is_unknown }
                        }
                        _ => {
                            return Err(bad_line(
                                window,
                                "`property TYPE NAME` or `property list TYPE TYPE NAME`",
                                text,
                            ));
                        }
                    };
                    properties += 1;
                    if properties > MAX_PROPERTIES {
                        bail!(window, LimitExceeded, "properties", "at most {MAX_PROPERTIES}", "more");
                    }
                    let Some(element) = elements.last_mut() else {
                        return Err(bad_line(window, "`element` before its properties", text));
                    };
                    element.properties.push(property);
                }
                _ => {
                    let wanted = "`format` (once), `comment`, `obj_info`, `element`, `property` or `end_header`";
                    return Err(bad_line(window, wanted, text));
                }
            }
        }
        let Some(encoding) = encoding else {
            bail!(window, MissingField, "header", "`format`", "none");
        };
        // In binary nobody knows how many bytes such a value has.
        let vertex = elements.iter().flat_map(|element| &element.properties);
        let is_needed = vertex.filter(|p| p.unknown).any(|p| XYZ.iter().any(|axis| p.name.eq_ignore_ascii_case(axis)));
        match unknown {
            Some(error) if encoding != Encoding::Ascii || is_needed => Err(error),
            _ => Ok(Self { encoding, elements }),
        }
    }
}

fn format(window: &Window<'_, '_>, kind: &[u8], version: &[u8]) -> Result<Encoding, IoError> {
    let encoding = match kind {
        b"ascii" => Encoding::Ascii,
        b"binary_little_endian" => Encoding::Binary { big_endian: false },
        b"binary_big_endian" => Encoding::Binary { big_endian: true },
        _ => return Err(bad_line(window, "`ascii`, `binary_little_endian` or `binary_big_endian`", kind)),
    };
    if version != b"1.0" {
        bail!(window, UnsupportedFormat, "version", "1.0", excerpt(version));
    }
    Ok(encoding)
}

fn element(window: &Window<'_, '_>, called: &[u8], count: &[u8]) -> Result<Element, IoError> {
    let Some(number) = whole_number(count) else {
        return Err(bad_line(window, "a count from 0 to 2^64 - 1", count));
    };
    Ok(Element { name: name(window, called)?, count: number, properties: vec![] })
}

fn r#type(window: &Window<'_, '_>, word: &[u8]) -> Result<Dtype, IoError> {
    Ok(match word {
        b"char" | b"int8" => Dtype::I8,
        b"uchar" | b"uint8" => Dtype::U8,
        b"short" | b"int16" => Dtype::I16,
        b"ushort" | b"uint16" => Dtype::U16,
        b"int" | b"int32" => Dtype::I32,
        b"uint" | b"uint32" => Dtype::U32,
        b"int64" => Dtype::I64,
        b"uint64" => Dtype::U64,
        b"float" | b"float32" => Dtype::F32,
        b"double" | b"float64" => Dtype::F64,
        _ => {
            let wanted = "a type: char, uchar, short, ushort, int, uint, float, double, or int8 to float64";
            return Err(bad_line(window, wanted, word));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    fn read(text: &str) -> Result<Header, String> {
        let mut reader = text.as_bytes();
        let mut source = Source::new("h".as_ref(), &mut reader, None);
        Header::read(&mut Window::new(&mut source)).map_err(|e| format!("{}: {e}", e.class()))
    }

    #[test]
    fn headers_are_understood() {
        let text = "ply\r\ncomment a b\r\nelement v 2\r\nformat ascii 1.0\r\nproperty  list\tuchar int i\r\nproperty float64 x\r\n\
                    element w 0\r\nend_header\r\nrest";
        let header = read(text).unwrap();
        assert_eq!(read(&text.replacen("ply", "ply \t", 1)).unwrap(), header);
        let v = &header.elements[0];
        assert_eq!((header.encoding, header.elements.len(), &*v.name, v.count), (Encoding::Ascii, 2, "v", 2));
        assert_eq!(
            v.properties[0],
            Property { name: "i".into(), dtype: Dtype::I32, list: Some(Dtype::U8), unknown: false }
        );
        assert_eq!(v.properties[1], Property { name: "x".into(), dtype: Dtype::F64, list: None, unknown: false });
        assert_eq!((v.least_bytes(), v.has_lists()), (9, true));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let many = "element e0 0\n".to_owned() + &(1..=64).map(|i| format!("element e{i} 0\n")).collect::<String>();
        let wide = format!("element v 0\n{}", "property int x\n".repeat(2049));
        for (body, told) in [
            ("", "Truncated: h: header: expected `end_header`, got the end of the file"),
            ("format ascii 1.0\nformat ascii 1.0\n", "BadHeader: h: line 3: expected `format` (once)"),
            ("format ascii 2.0\n", "UnsupportedFormat: h: version: expected 1.0, got `2.0`"),
            ("format binary 1.0\n", "BadHeader: h: line 2: expected `ascii`"),
            ("element v -1\n", "BadHeader: h: line 2: expected a count from 0 to 2^64 - 1, got `-1`"),
            ("element v +1\n", "BadHeader: h: line 2: expected a count"),
            ("element v 18446744073709551616\n", "BadHeader: h: line 2: expected a count"),
            ("element v 1\nelement v 1\n", "BadHeader: h: line 3: expected elements that differ, got `element v 1`"),
            ("element v 1 2\n", "BadHeader: h: line 2: expected `format`"),
            ("property int x\n", "BadHeader: h: line 2: expected `element` before its properties"),
            (
                "format ascii 1.0\nelement v 1\nproperty quad x\nend_header\n",
                "BadHeader: h: line 4: expected a type: char",
            ),
            (
                "format binary_big_endian 1.0\nelement v 1\nproperty quad a\nend_header\n",
                "BadHeader: h: line 4: expected a type: char",
            ),
            (
                "element v 1\nproperty list float int x\n",
                "BadHeader: h: line 3: expected a list's length of an integer",
            ),
            ("element v 1\nproperty int\n", "BadHeader: h: line 3: expected `property TYPE NAME`"),
            (
                "element v 1\nproperty int a\x07\n",
                r"BadHeader: h: line 3: expected a name of at most 256 bytes of UTF-8 without control characters, got `a\u{7}`",
            ),
            ("end_header\n", "MissingField: h: header: expected `format`, got none"),
            (&many, "LimitExceeded: h: elements: expected at most 64, got more"),
            (&wide, "LimitExceeded: h: properties: expected at most 2048, got more"),
        ] {
            let e = read(&format!("ply\n{body}")).unwrap_err();
            assert!(e.starts_with(told), "{e}");
        }
        assert_eq!(read("").unwrap_err(), "Truncated: h: header: expected `ply`, got an empty file");
        assert_eq!(read("PLY\n").unwrap_err(), "BadHeader: h: line 1: expected `ply`, got `PLY`");
        assert_eq!(read("ply a\n").unwrap_err(), "BadHeader: h: line 1: expected `ply`, got `ply a`");
    }
}
