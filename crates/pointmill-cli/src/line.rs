//! A JSON line: always one line, and an error if memory is short.

use crate::failure::Failure;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, ErrorKind, Write};

/// The line of a type and its data, with the newline.
pub(crate) fn of(kind: &'static str, data: &impl Serialize) -> Result<Vec<u8>, Failure> {
    #[derive(Serialize)]
    struct Line<'a, T> {
        r#type: &'static str,
        data: &'a T,
    }
    let mut line = Growing(Vec::new());
    let written = Line { r#type: kind, data }.serialize(&mut Serializer::with_formatter(&mut line, OneLine));
    let written = written.map_err(io::Error::from).and_then(|()| line.write_all(b"\n"));
    match written {
        Ok(()) => Ok(line.0),
        Err(e) if e.kind() == ErrorKind::OutOfMemory => Err(Failure::OutOfMemory(format!(
            "json: expected memory for more than {} bytes, got a refusal",
            line.0.len()
        ))),
        Err(e) => Err(Failure::Io(format!("json: {e}"))),
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

/// Writes characters that are not plain text as `\uXXXX`: the same string for a parser, and no character that controls a terminal or ends a line.
struct OneLine;

impl Formatter for OneLine {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut plain = 0;
        for (at, c) in fragment.char_indices() {
            if pointmill_io::is_plain(c) {
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
#[path = "../tests/unit/line.rs"]
mod tests;
