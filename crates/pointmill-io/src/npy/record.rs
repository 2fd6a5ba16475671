//! Structured types of numpy: elements with named fields.

use super::dtype::{bytes_of_other, from_descr};
use super::text::Text;
use crate::error::{IoError, excerpt};
use crate::fault::{bail, fault};
use crate::records::{LONGEST_NAME, MAX_RECORD};
use crate::source::Source;
use crate::warning::Warning;
use pointmill_core::array::{Dtype, num_values};

/// The most numbers of an element.
const MOST: usize = 2048;

/// The fields of an element.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) fields: Vec<Field>,
    /// The bytes of an element.
    pub(crate) bytes: usize,
    /// Fields that are left out.
    pub(crate) warnings: Vec<Warning>,
}

/// A field: a number or several.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) big_endian: bool,
    pub(crate) count: usize,
    /// Where in the element it starts.
    pub(crate) at: usize,
}

impl Record {
    /// Reads `[('x', '<f4'), ('normal', '<f4', (3,)), ('', '|V4')]`. Fields without a name are
    /// padding; those of text, dates and the like are left out with a warning.
    pub(super) fn read(text: &mut Text<'_>, source: &Source<'_>) -> Result<Self, IoError> {
        let mut record = Self { fields: vec![], bytes: 0, warnings: vec![] };
        text.expect(source, b'[', "descr")?;
        while !text.eat(b']') {
            text.expect(source, b'(', "descr")?;
            // A name, or a title and a name.
            let titled = text.eat(b'(');
            let mut name = text.quoted(source, "descr")?;
            if titled {
                text.expect(source, b',', "descr")?;
                name = text.quoted(source, "descr")?;
                text.expect(source, b')', "descr")?;
            }
            text.expect(source, b',', "descr")?;
            if text.eat(b'[') {
                let name = excerpt(name);
                bail!(source, UnsupportedFormat, "descr", "fields of numbers", "{name}, which has fields of its own");
            }
            let kind = text.quoted(source, "descr")?;
            let shape = if text.eat(b',') { text.shape_or_none(source)? } else { vec![] };
            text.eat(b',');
            text.expect(source, b')', "descr")?;
            record.add(source, name, kind, &shape)?;
            if !text.eat(b',') {
                text.expect(source, b']', "descr")?;
                break;
            }
        }
        if record.bytes == 0 {
            bail!(source, UnsupportedFormat, "descr", "fields of numbers", "a structure without bytes");
        }
        Ok(record)
    }

    fn add(&mut self, source: &Source<'_>, name: &[u8], kind: &[u8], shape: &[usize]) -> Result<(), IoError> {
        let unknown = || fault!(source, UnsupportedFormat, "descr", "types of a fixed number of bytes", excerpt(kind));
        let kind = str::from_utf8(kind).map_err(|_| unknown())?;
        let known = from_descr(kind);
        let each = known.map(|(dtype, _)| dtype.bytes()).or_else(|| bytes_of_other(kind)).ok_or_else(unknown)?;
        let count = num_values(shape);
        let end = count.and_then(|count| count.checked_mul(each)).and_then(|bytes| bytes.checked_add(self.bytes));
        let (Some(count), Some(end)) = (count, end.filter(|&end| end <= MAX_RECORD)) else {
            bail!(source, LimitExceeded, "descr", "at most {MAX_RECORD} bytes an element", "more");
        };
        let at = std::mem::replace(&mut self.bytes, end);
        let name = String::from_utf8_lossy(name);
        let is_name = name.len() <= LONGEST_NAME && !name.chars().any(char::is_control);
        match known {
            _ if name.is_empty() || count == 0 => {}
            Some((dtype, big_endian)) if is_name => {
                let numbers: usize = self.fields.iter().map(|field| field.count).sum();
                if numbers + count > MOST {
                    bail!(source, LimitExceeded, "descr", "at most {MOST} numbers an element", "more");
                }
                // Booleans are a byte each.
                let dtype = if dtype == Dtype::Bool { Dtype::U8 } else { dtype };
                self.fields.push(Field { name: name.into_owned(), dtype, big_endian, count, at });
            }
            _ => Warning::left_out(&mut self.warnings, name, format!("of type {kind}")),
        }
        Ok(())
    }
}
