//! Text as editors and shells of all systems save it, as UTF-8 whose lines end in `\n`.

use std::io::{Chain, Cursor, Read, Result};

/// The bytes that decide how a text is saved.
const HEAD: usize = 4 << 10;
/// Bytes that are converted at a time.
const STEP: usize = 8 << 10;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How a text is saved.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Saved {
    /// As it is wanted.
    Plain,
    /// Its lines end in `\r`.
    Returns,
    /// In units of two bytes; whether the low byte comes first.
    Utf16 { is_little: bool },
}

impl Saved {
    /// How a text with this head is saved, and how many bytes its mark has.
    fn of(head: &[u8]) -> (Self, usize) {
        match head {
            [0xff, 0xfe, ..] => return (Self::Utf16 { is_little: true }, 2),
            [0xfe, 0xff, ..] => return (Self::Utf16 { is_little: false }, 2),
            // Digits and letters without a mark.
            &[a, 0, b, 0, ..] if a != 0 && b != 0 => return (Self::Utf16 { is_little: true }, 0),
            &[0, a, 0, b, ..] if a != 0 && b != 0 => return (Self::Utf16 { is_little: false }, 0),
            _ => {}
        }
        let mark = if head.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let has_returns = memchr::memchr(b'\r', head).is_some() && memchr::memchr(b'\n', head).is_none();
        (if has_returns { Self::Returns } else { Self::Plain }, mark)
    }
}

/// A reader of text, whatever mark, encoding of Unicode and line ends it was saved with.
pub(crate) struct PlainText<R> {
    reader: Chain<Cursor<Vec<u8>>, R>,
    saved: Saved,
    /// What is converted and not yet taken, and from where on.
    ready: Vec<u8>,
    taken: usize,
    /// A byte of a unit, a unit of a pair, and whether the last line end was a `\r`.
    byte: Option<u8>,
    unit: Option<u16>,
    after_return: bool,
}

impl<R: Read> PlainText<R> {
    /// Looks at the head of a text.
    ///
    /// # Errors
    /// Those of the reader.
    pub(crate) fn new(mut reader: R) -> Result<Self> {
        let mut head = vec![];
        reader.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
        let (saved, mark) = Saved::of(&head);
        let mut head = Cursor::new(head);
        head.set_position(mark as u64);
        let reader = head.chain(reader);
        Ok(Self { reader, saved, ready: vec![], taken: 0, byte: None, unit: None, after_return: false })
    }

    /// The bytes that come of a file of this length; `None` where that is not known.
    pub(crate) fn length(&self, of_file: Option<u64>) -> Option<u64> {
        let mark = self.reader.get_ref().0.position();
        of_file.filter(|_| self.saved == Saved::Plain).map(|length| length.saturating_sub(mark))
    }

    fn push(&mut self, found: char) {
        match found {
            '\n' if self.after_return => {}
            '\r' | '\n' => self.ready.push(b'\n'),
            other => self.ready.extend(other.encode_utf8(&mut [0; 4]).bytes()),
        }
        self.after_return = found == '\r';
    }

    fn convert(&mut self, bytes: &[u8], is_little: bool) {
        for &byte in bytes {
            let Some(first) = self.byte.take() else {
                self.byte = Some(byte);
                continue;
            };
            let pair = [first, byte];
            let unit = if is_little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) };
            let high = self.unit.take();
            if high.is_none() && (0xd800..0xdc00).contains(&unit) {
                self.unit = Some(unit);
                continue;
            }
            let units = high.into_iter().chain([unit]);
            for found in char::decode_utf16(units).map(|found| found.unwrap_or(char::REPLACEMENT_CHARACTER)) {
                self.push(found);
            }
        }
    }
}

impl<R: Read> Read for PlainText<R> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        if self.saved == Saved::Plain {
            return self.reader.read(out);
        }
        while self.taken == self.ready.len() {
            self.ready.clear();
            self.taken = 0;
            let mut bytes = [0; STEP];
            let got = self.reader.read(&mut bytes)?;
            match self.saved {
                _ if got == 0 => return Ok(0),
                Saved::Utf16 { is_little } => self.convert(&bytes[..got], is_little),
                _ => {
                    // Bytes stay as they are; only line ends change.
                    for &byte in &bytes[..got] {
                        match byte {
                            b'\n' if self.after_return => {}
                            b'\r' => self.ready.push(b'\n'),
                            other => self.ready.push(other),
                        }
                        self.after_return = byte == b'\r';
                    }
                }
            }
        }
        let length = out.len().min(self.ready.len() - self.taken);
        out[..length].copy_from_slice(&self.ready[self.taken..self.taken + length]);
        self.taken += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> String {
        let mut out = vec![];
        PlainText::new(bytes).unwrap().read_to_end(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_way_to_save_a_text_gives_its_lines() {
        let text = "# \u{e9}\u{1f600}\n1 2\n3 4\n".repeat(3000);
        let units = |order: fn(u16) -> [u8; 2], text: &str| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
        for (what, bytes) in [
            ("plain", text.clone().into_bytes()),
            ("marked", [BYTE_ORDER_MARK, text.as_bytes()].concat()),
            ("returns", text.replace('\n', "\r").into_bytes()),
            ("little", units(u16::to_le_bytes, &format!("\u{feff}{text}"))),
            ("big", units(u16::to_be_bytes, &format!("\u{feff}{}", text.replace('\n', "\r\n")))),
            ("without a mark", units(u16::to_le_bytes, &text)),
        ] {
            assert!(read(&bytes) == text, "{what}");
        }
        assert_eq!([read(b""), read(b"\xef\xbb\xbf"), read(b"1\r\n2")], ["", "", "1\r\n2"]);
    }
}
