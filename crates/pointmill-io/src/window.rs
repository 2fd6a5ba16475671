//! Reads a source through a buffer (the window): lines of text, runs of bytes, or both in turn.

use crate::error::{Detail, IoError};
use crate::fault::{At, Context, bail};
use crate::source::Source;
use std::ops::Range;

/// Size of the window in bytes. It is larger than the longest line and the longest record that a
/// reader accepts.
pub(crate) const WINDOW: usize = 256 << 10;

/// Maximum length of a header line in bytes.
const MAX_HEADER_LINE: usize = 64 << 10;
/// Maximum length of a header in bytes. A header with 2048 names of 256 bytes has half this length.
const MAX_HEADER: usize = 1 << 20;

/// A source that is read in pieces of at most one window.
///
/// Methods that take bytes return a range of the window. [`Window::at`] returns the bytes of the
/// range; the range is valid until the next bytes are taken.
pub(crate) struct Window<'s, 'a> {
    source: &'s mut Source<'a>,
    bytes: Vec<u8>,
    /// The part of the window that has been read but not taken.
    held: Range<usize>,
    /// Number of lines taken.
    lines: u64,
    /// Number of bytes of header lines taken.
    header: usize,
    /// What ends a line: `\n`, or `\r` where [`Window::begin_text`] found that.
    end: u8,
}

/// What some editors put at the start of a text.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether a text begins as one of 16 bits a character does: with a byte order mark, or with two
/// ASCII characters that have a zero beside them.
pub(crate) fn is_utf16(first: &[u8]) -> bool {
    let is_ascii = |b: u8| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    match *first {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [a, 0, b, 0, ..] | [0, a, 0, b, ..] => is_ascii(a) && is_ascii(b),
        _ => false,
    }
}

/// What to do about a text of 16 bits a character.
pub(crate) const UTF16: &str =
    "UTF-16, as PowerShell and Notepad write it; save it as UTF-8, or: iconv -f utf-16 -t utf-8";

impl<'s, 'a> Window<'s, 'a> {
    pub(crate) fn new(source: &'s mut Source<'a>) -> Self {
        Self::of_size(source, WINDOW)
    }

    /// A window for much at a time: of `most` bytes, or as many as the source has, but no smaller
    /// than others.
    pub(crate) fn large(source: &'s mut Source<'a>, most: usize) -> Self {
        let size = source.left().map_or(WINDOW, |left| left.clamp(WINDOW as u64, most as u64) as usize);
        Self::of_size(source, size)
    }

    fn of_size(source: &'s mut Source<'a>, size: usize) -> Self {
        Self { source, bytes: vec![0; size], held: 0..0, lines: 0, header: 0, end: b'\n' }
    }

    pub(crate) fn source(&self) -> &Source<'a> {
        self.source
    }

    /// The place that errors name, by itself. The source must be a file's.
    pub(crate) fn here(&self) -> At<'a> {
        At { path: self.source.path, offset: self.source.position().map(|_| self.position()) }
    }

    /// The number of the last line taken, from 1.
    pub(crate) fn line_number(&self) -> u64 {
        self.lines
    }

    /// The number of bytes taken.
    pub(crate) fn position(&self) -> u64 {
        self.source.position().unwrap_or_default() - self.held.len() as u64
    }

    /// The number of bytes left, if the length of the source is known.
    pub(crate) fn left(&self) -> Option<u64> {
        self.source.left().map(|left| left.saturating_add(self.held.len() as u64))
    }

    /// The bytes of the range that was taken last.
    pub(crate) fn at(&self, taken: &Range<usize>) -> &[u8] {
        &self.bytes[taken.clone()]
    }

    /// Reads more bytes into a window that is not full. Returns whether there were any.
    fn more(&mut self) -> Result<bool, IoError> {
        self.bytes.copy_within(self.held.clone(), 0);
        self.held = 0..self.held.len();
        let got = self.source.fill(&mut self.bytes[self.held.end..])?;
        self.held.end += got;
        Ok(got > 0)
    }

    /// Begins a text: skips a byte order mark, and finds whether lines end in `\r` alone, as the
    /// first one then does.
    ///
    /// # Errors
    /// A text in UTF-16.
    pub(crate) fn begin_text(&mut self) -> Result<(), IoError> {
        let mark = self.peek(BYTE_ORDER_MARK.len() + 1)?;
        if is_utf16(self.at(&mark)) {
            bail!(self, UnsupportedFormat, "text", "UTF-8", UTF16);
        }
        if self.at(&mark).starts_with(BYTE_ORDER_MARK) {
            self.bytes(BYTE_ORDER_MARK.len())?;
        }
        let shown = self.peek(MAX_HEADER_LINE + 1)?;
        let text = self.at(&shown);
        let first = memchr::memchr2(b'\n', b'\r', text).filter(|&at| text[at] == b'\r');
        if first.is_some_and(|at| text.get(at + 1).is_some_and(|next| *next != b'\n')) {
            self.end = b'\r';
        }
        Ok(())
    }

    /// Whether lines end in `\r` alone.
    pub(crate) fn has_old_line_ends(&self) -> bool {
        self.end == b'\r'
    }

    /// Takes a line, without its line end: `\n`, `\r\n`, or what [`Window::begin_text`] found.
    /// Returns `None` at the end of the source. The last line may lack the line end.
    pub(crate) fn line(&mut self) -> Result<Option<Range<usize>>, IoError> {
        self.line_of(WINDOW - 1)
    }

    /// Returns the lines that are whole in the window, with their ends, without taking them.
    pub(crate) fn whole_lines(&mut self) -> Result<Range<usize>, IoError> {
        if self.held.len() < self.bytes.len() / 2 {
            self.more()?;
        }
        let end = memchr::memrchr(b'\n', &self.bytes[self.held.clone()]).map_or(0, |at| at + 1);
        Ok(self.held.start..self.held.start + end)
    }

    /// Takes what [`Window::whole_lines`] returned, which has so many lines.
    pub(crate) fn take_lines(&mut self, taken: &Range<usize>, lines: u64) {
        self.held.start = taken.end;
        self.lines += lines;
    }

    /// Takes a line of a header; checks the limits of a header.
    pub(crate) fn header_line(&mut self) -> Result<Option<Range<usize>>, IoError> {
        let line = self.line_of(MAX_HEADER_LINE)?;
        self.header += line.as_ref().map_or(0, |line| line.len() + 1);
        if self.header > MAX_HEADER {
            bail!(self, LimitExceeded, "header", "at most {MAX_HEADER} bytes", "more");
        }
        Ok(line)
    }

    fn line_of(&mut self, most: usize) -> Result<Option<Range<usize>>, IoError> {
        let mut seen = 0;
        let (length, end) = loop {
            let held = &self.bytes[self.held.clone()];
            if let Some(at) = memchr::memchr(self.end, &held[seen..]) {
                break (seen + at, 1);
            }
            seen = held.len();
            if seen > most || !self.more()? {
                break (seen, 0);
            }
        };
        if length > most {
            bail!(self, LimitExceeded, ("line {}", self.lines + 1), "at most {most} bytes", "more");
        }
        if length + end == 0 {
            return Ok(None);
        }
        let start = self.held.start;
        self.held.start += length + end;
        self.lines += 1;
        let text = start..start + length;
        let carriage = self.end == b'\n' && self.bytes[text.clone()].ends_with(b"\r");
        Ok(Some(start..text.end - usize::from(carriage)))
    }

    /// Takes `count` bytes, at most [`WINDOW`]. Takes fewer at the end of the source.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<Range<usize>, IoError> {
        while self.held.len() < count && self.more()? {}
        let taken = self.held.start..self.held.start + count.min(self.held.len());
        self.held.start = taken.end;
        Ok(taken)
    }

    /// Skips `count` bytes. Returns how many could be skipped before the end of the source.
    pub(crate) fn skip(&mut self, count: u64) -> Result<u64, IoError> {
        let mut skipped = 0;
        while skipped < count {
            let got = self.bytes((count - skipped).min(WINDOW as u64) as usize)?.len() as u64;
            if got == 0 {
                break;
            }
            skipped += got;
        }
        Ok(skipped)
    }

    /// Returns the next `count` bytes, at most [`WINDOW`], without taking them. Returns fewer at
    /// the end of the source.
    pub(crate) fn peek(&mut self, count: usize) -> Result<Range<usize>, IoError> {
        let shown = self.bytes(count)?;
        self.held.start = shown.start;
        Ok(shown)
    }

    /// Takes `count` bytes and appends them to `out`. Returns how many there were before the end of
    /// the source.
    pub(crate) fn read_into(&mut self, out: &mut Vec<u8>, count: u64) -> Result<u64, IoError> {
        // Memory for bytes that are known to exist is allocated at once.
        let known = self.left().map_or(0, |left| left.min(count));
        self.source.reserve(out, usize::try_from(known).unwrap_or(usize::MAX))?;
        let held = self.bytes((self.held.len() as u64).min(count) as usize)?;
        self.source.reserve(out, held.len())?;
        out.extend_from_slice(self.at(&held));
        // The rest goes past the window.
        Ok(held.len() as u64 + self.source.append(out, count - held.len() as u64)?)
    }

    /// Takes all remaining bytes.
    #[cfg(feature = "laz")]
    pub(crate) fn remainder(&mut self) -> Result<Vec<u8>, IoError> {
        let mut rest = vec![];
        self.read_into(&mut rest, u64::MAX)?;
        Ok(rest)
    }

    /// A lower bound of the number of bytes after the bytes taken; exact if the length of the
    /// source is known.
    pub(crate) fn rest(&mut self) -> Result<u64, IoError> {
        if self.held.is_empty() {
            self.more()?;
        }
        Ok(self.left().unwrap_or(self.held.len() as u64))
    }

    /// As [`Window::rest`], after skipping white space.
    pub(crate) fn rest_of_text(&mut self) -> Result<u64, IoError> {
        loop {
            let held = &self.bytes[self.held.clone()];
            if let Some(blank) = held.iter().position(|b| !b.is_ascii_whitespace()) {
                self.held.start += blank;
                return self.rest();
            }
            self.held.start = self.held.end;
            if !self.more()? {
                return Ok(0);
            }
        }
    }
}

impl Context for Window<'_, '_> {
    fn detail(&self, field: &str, wanted: impl Into<String>, found: impl Into<String>) -> Box<Detail> {
        // The bytes in the window have been read but not taken.
        let position = self.source.position().map(|_| self.position());
        self.source.detail(field, wanted, found).at(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut reader = bytes;
        let mut source = Source::new("w".as_ref(), &mut reader, None);
        let mut window = Window::new(&mut source);
        let mut lines = vec![];
        while let Some(line) = window.line().unwrap() {
            lines.push(String::from_utf8(window.at(&line).to_vec()).unwrap());
        }
        lines
    }

    #[test]
    fn lines_end_in_either_way_and_the_last_in_none() {
        assert_eq!(lines(b"a\r\n\nb c\n\rd\r\r\n"), ["a", "", "b c", "\rd\r"]);
        assert_eq!(lines(b"a\nb"), ["a", "b"]);
        assert_eq!(lines(b""), [""; 0]);
        let long = "x".repeat(WINDOW - 2);
        let two = format!("{long}\r\n{long}");
        assert_eq!(lines(two.as_bytes()), [&*long, &*long]);
    }

    #[test]
    fn lines_and_bytes_follow_each_other() {
        let mut bytes = b"head\n\r\n".to_vec();
        bytes.extend(vec![7; WINDOW]);
        bytes.extend(b" \n 1 ");
        let mut reader = &bytes[..];
        let mut source = Source::new("w".as_ref(), &mut reader, Some(bytes.len() as u64));
        let mut window = Window::new(&mut source);
        window.line().unwrap().unwrap();
        assert_eq!(window.left(), Some(bytes.len() as u64 - 5));
        let two = window.bytes(2).unwrap();
        assert_eq!(window.at(&two), b"\r\n");
        assert_eq!(window.skip(WINDOW as u64 - 1).unwrap(), WINDOW as u64 - 1);
        let seven = window.bytes(1).unwrap();
        assert_eq!(window.at(&seven), [7]);
        assert_eq!(window.rest_of_text().unwrap(), 2);
        assert_eq!(window.skip(9).unwrap(), 2);
        assert_eq!((window.rest().unwrap(), window.bytes(1).unwrap().len(), window.left()), (0, 0, Some(0)));
        assert!(window.line().unwrap().is_none());
    }

    #[test]
    fn lines_without_end_are_refused() {
        for (header, length) in [(true, MAX_HEADER_LINE + 1), (false, WINDOW)] {
            let bytes = vec![b'x'; length];
            let mut reader = &bytes[..];
            let mut source = Source::new("w".as_ref(), &mut reader, None);
            let mut window = Window::new(&mut source);
            let e = if header { window.header_line() } else { window.line() }.unwrap_err();
            let told = format!("w: line 1: expected at most {} bytes, got more", length - 1);
            assert_eq!((e.class(), e.to_string()), ("LimitExceeded", told));
        }
        let mut reader = &vec![b'\n'; MAX_HEADER + 1][..];
        let mut source = Source::new("w".as_ref(), &mut reader, None);
        let mut window = Window::new(&mut source);
        let e = (0..=MAX_HEADER).find_map(|_| window.header_line().err()).unwrap();
        assert_eq!(e.to_string(), format!("w: header: expected at most {MAX_HEADER} bytes, got more"));
    }
}
