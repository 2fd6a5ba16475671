//! JSON on one line.

use pointmill_io::is_plain;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, ErrorKind, Write};

/// A value as JSON on one line, with the newline behind it.
///
/// Characters that are not plain text (see [`is_plain`]) are written as `\\uXXXX`: the same string
/// for a parser, and no character that controls a terminal or ends the line.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`] if memory is short, with the number of bytes that there was memory for; a value that is no JSON.
///
/// ```
/// assert_eq!(pointmill_data::json_line(&["a\u{7f}"])?, b"[\"a\\u007f\"]\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn json_line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = Growing(Vec::new());
    let written = value.serialize(&mut Serializer::with_formatter(&mut line, OneLine)).map_err(io::Error::from);
    match written.and_then(|()| line.write_all(b"\n")) {
        Err(e) if e.kind() == ErrorKind::OutOfMemory => {
            let told = format!("the system refused memory for more than {} bytes", line.0.len());
            Err(io::Error::new(ErrorKind::OutOfMemory, told))
        }
        written => written.map(|()| line.0),
    }
}

/// Bytes that grow as long as there is memory.
struct Growing(Vec<u8>);

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len()).map_err(|_| ErrorKind::OutOfMemory)?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes characters that are not plain text as `\uXXXX`.
struct OneLine;

impl Formatter for OneLine {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut plain = 0;
        for (at, c) in fragment.char_indices() {
            if is_plain(c) {
                continue;
            }
            out.write_all(&fragment.as_bytes()[plain..at])?;
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))?;
            plain = at + c.len_utf8();
        }
        out.write_all(&fragment.as_bytes()[plain..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_are_one_line() {
        let name = "a\n\x1b\x7f\u{85}\u{2028}\u{202e}\"\\\u{e9}\u{1f980}";
        let line = String::from_utf8(json_line(&[name]).unwrap()).unwrap();
        assert_eq!(line, "[\"a\\n\\u001b\\u007f\\u0085\\u2028\\u202e\\\"\\\\\u{e9}\u{1f980}\"]\n");
        let back: Vec<String> = serde_json::from_str(&line).unwrap();
        assert_eq!(back, [name]);
    }
}
