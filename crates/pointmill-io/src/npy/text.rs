//! Literals of Python in the text of a header: strings, words, shapes, brackets.

use crate::error::{IoError, excerpt};
use crate::fault::{bail, fault};
use crate::source::Source;

/// The most axes that numpy has.
pub(crate) const MAX_AXES: usize = 64;

/// The text of a header and how far it is read.
pub(super) struct Text<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Text<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Whether `byte` comes next, behind blanks.
    pub(super) fn is_next(&mut self, byte: u8) -> bool {
        self.blanks();
        self.bytes.get(self.at) == Some(&byte)
    }

    /// Steps over blanks to the end.
    pub(super) fn end(&mut self, source: &Source<'_>) -> Result<(), IoError> {
        self.blanks();
        if self.at < self.bytes.len() { Err(self.bad(source, "header", "its end")) } else { Ok(()) }
    }

    pub(super) fn boolean(&mut self, source: &Source<'_>) -> Result<bool, IoError> {
        self.blanks();
        for (word, value) in [("True", true), ("False", false)] {
            if self.bytes[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.bad(source, "fortran_order", "True or False"))
    }

    pub(super) fn shape(&mut self, source: &Source<'_>) -> Result<Vec<usize>, IoError> {
        let mut shape = Vec::new();
        self.expect(source, b'(', "shape")?;
        while !self.eat(b')') {
            let digits = self.bytes[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
            let number = str::from_utf8(&self.bytes[self.at..self.at + digits]).ok().and_then(|d| d.parse().ok());
            // Files of Python 2 have an L behind a long number.
            shape.push(number.ok_or_else(|| self.bad(source, "shape", "lengths from 0 to 2^64 - 1"))?);
            self.at += digits;
            self.eat(b'L');
            if !self.eat(b',') {
                self.expect(source, b')', "shape")?;
                break;
            }
        }
        if shape.len() > MAX_AXES {
            let [wanted, found] = [MAX_AXES, shape.len()].map(|n| format!("{n} axes"));
            bail!(source, LimitExceeded, "shape", "at most {wanted}", found);
        }
        Ok(shape)
    }

    /// The shape of a field: one number, or several in brackets.
    pub(super) fn shape_or_none(&mut self, source: &Source<'_>) -> Result<Vec<usize>, IoError> {
        if self.is_next(b'(') {
            return self.shape(source);
        }
        if self.is_next(b')') {
            return Ok(vec![]);
        }
        let digits = self.bytes[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let number = str::from_utf8(&self.bytes[self.at..self.at + digits]).ok().and_then(|d| d.parse().ok());
        self.at += digits;
        number.map(|n| vec![n]).ok_or_else(|| self.bad(source, "descr", "a shape"))
    }

    /// The inside of a string literal. One with an escape is none of ours.
    pub(super) fn quoted(&mut self, source: &Source<'_>, field: &str) -> Result<&'a [u8], IoError> {
        self.blanks();
        let rest = &self.bytes[self.at..];
        let inside = match rest {
            [quote @ (b'\'' | b'"'), inside @ ..] => {
                inside.iter().position(|b| b == quote).map(|end| &inside[..end]).filter(|text| !text.contains(&b'\\'))
            }
            _ => None,
        };
        let inside = inside.ok_or_else(|| self.bad(source, field, "a string"))?;
        self.at += inside.len() + 2;
        Ok(inside)
    }

    fn blanks(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Steps over `byte` and the blanks around it, if it comes next.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let there = self.is_next(byte);
        if there {
            self.at += 1;
            self.blanks();
        }
        there
    }

    pub(super) fn expect(&mut self, source: &Source<'_>, byte: u8, field: &str) -> Result<(), IoError> {
        if self.eat(byte) { Ok(()) } else { Err(self.bad(source, field, &format!("`{}`", byte as char))) }
    }

    fn bad(&self, source: &Source<'_>, field: &str, wanted: &str) -> IoError {
        fault!(source, BadHeader, field, wanted, excerpt(&self.bytes[self.at..]))
    }
}
