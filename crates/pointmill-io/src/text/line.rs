//! The parts of a line, and what stands between them.

use std::ops::Range;

/// What stands between the numbers of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Separator {
    Blanks,
    Byte(u8),
}

impl Separator {
    /// The separator of a line: semicolons, else commas if no two words stand beside each other
    /// without one, else blanks. So a comma within a word stays in it, where it is no number's.
    pub(super) fn of(line: &[u8]) -> Self {
        if line.contains(&b';') {
            return Self::Byte(b';');
        }
        let words = || line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let joined = words().zip(words().skip(1)).all(|(a, b)| a.ends_with(b",") || b.starts_with(b","));
        if line.contains(&b',') && joined { Self::Byte(b',') } else { Self::Blanks }
    }

    /// The separator of a line of names: semicolons, commas or tabs, wherever there is one, else
    /// blanks.
    pub(super) fn of_names(line: &[u8]) -> Self {
        let found = b";,\t".iter().find(|separator| line.contains(separator));
        found.map_or(Self::Blanks, |separator| Self::Byte(*separator))
    }

    /// Where in a line its parts are, without the blanks round them; a separator at the end of a
    /// line separates nothing. `parts` is used again from line to line.
    pub(super) fn split(self, line: &[u8], parts: &mut Vec<Range<usize>>) {
        let Self::Byte(separator) = self else { return crate::records::split(line, parts) };
        parts.clear();
        let mut start = 0;
        loop {
            let length = line[start..].iter().position(|&b| b == separator);
            let end = length.map_or(line.len(), |length| start + length);
            let part = &line[start..end];
            let (before, kept) = (part.len() - part.trim_ascii_start().len(), part.trim_ascii().len());
            if length.is_none() && kept == 0 {
                return;
            }
            parts.push(start + before..start + before + kept);
            if length.is_none() {
                return;
            }
            start = end + 1;
        }
    }
}

/// Adds the empty part behind a separator at the end of a line, where a line of `width` parts lacks
/// one: the last cell is empty.
pub(super) fn complete(line: &[u8], separator: Separator, width: usize, parts: &mut Vec<Range<usize>>) {
    let Separator::Byte(byte) = separator else { return };
    let is_blank = |b: &u8| b.is_ascii_whitespace() && *b != byte;
    let last = line.iter().rposition(|b| !is_blank(b));
    if parts.len() + 1 == width && last.is_some_and(|at| line[at] == byte) {
        parts.push(line.len()..line.len());
    }
}

/// Whether a line has a line end of old editors in it.
pub(super) fn lone_return(line: &[u8]) -> bool {
    memchr::memchr(b'\r', line.trim_ascii_end()).is_some()
}

pub(super) fn is_comment(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b"#") || line.starts_with(b"//")
}

/// A part of a line that has a comma, where commas do not stand between numbers.
pub(super) fn decimal_comma<'l>(line: &'l [u8], separator: Separator, parts: &[Range<usize>]) -> Option<&'l [u8]> {
    let may = separator != Separator::Byte(b',') && line.contains(&b',');
    may.then(|| parts.iter().map(|part| &line[part.clone()]).find(|part| part.contains(&b',')))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &str) -> (Separator, Vec<&str>) {
        let separator = Separator::of(line.as_bytes());
        let mut parts = vec![];
        separator.split(line.as_bytes(), &mut parts);
        (separator, parts.into_iter().map(|part| &line[part]).collect())
    }

    #[test]
    fn separators_are_found_and_decimal_commas_stay_in_their_words() {
        let (comma, semicolon) = (Separator::Byte(b','), Separator::Byte(b';'));
        assert_eq!(parts(" 1 2\t3  "), (Separator::Blanks, vec!["1", "2", "3"]));
        assert_eq!(parts("1,2, 3 ,4"), (comma, vec!["1", "2", "3", "4"]));
        assert_eq!(parts("1;2 ; 3;"), (semicolon, vec!["1", "2", "3"]));
        assert_eq!(parts("1,,3,"), (comma, vec!["1", "", "3"]));
        assert_eq!(parts("1,5;2,5;3,5"), (semicolon, vec!["1,5", "2,5", "3,5"]));
        assert_eq!(parts("1,5 2,5 3,5"), (Separator::Blanks, vec!["1,5", "2,5", "3,5"]));
    }
}
