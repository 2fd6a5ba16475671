//! Points that are written part by part, so that memory need not hold all.

use crate::error::IoError;
use crate::field::Field;
use crate::named_points::{Column, Long, NamedPoints, Needs};
use crate::survey::Survey;
use pointmill_core::array::Dtype;
use std::io::{self, Write};
use std::path::Path;

/// What takes a part and the number of points before it; whether more are wanted.
pub(crate) type Take<'a> = &'a mut dyn FnMut(usize, &NamedPoints<'_>) -> Result<bool, IoError>;

/// What takes a row of a part, with the columns of the part.
pub(crate) type TakeRow<'a> = &'a mut dyn FnMut(&NamedPoints<'_>, &[Column<'_>], usize) -> io::Result<()>;

/// Points of one file in parts with the same columns.
pub(crate) trait Parts {
    /// The columns.
    fn fields(&self) -> &[Field];
    /// The number of all points.
    fn points(&self) -> usize;
    /// What holds for all points.
    fn survey(&self) -> Option<&Survey>;
    /// A remark for the header.
    fn remark(&self) -> Option<String>;
    /// Checks that names and values go together.
    fn check(&self, path: &Path) -> Result<(), IoError>;
    /// Takes all parts in order.
    fn each(&self, take: Take<'_>) -> Result<(), IoError>;
}

impl Parts for NamedPoints<'_> {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn points(&self) -> usize {
        self.points.len()
    }

    fn survey(&self) -> Option<&Survey> {
        self.survey.as_deref()
    }

    fn remark(&self) -> Option<String> {
        NamedPoints::remark(self)
    }

    fn check(&self, path: &Path) -> Result<(), IoError> {
        NamedPoints::check(self, path)
    }

    fn each(&self, take: Take<'_>) -> Result<(), IoError> {
        take(0, self).map(drop)
    }
}

/// The types that the columns of all parts are written as.
pub(crate) fn dtypes(parts: &dyn Parts, long: Long) -> Result<Vec<Dtype>, IoError> {
    let mut all: Option<Vec<Needs>> = None;
    parts.each(&mut |_, part| {
        let needs = part.needs();
        all = Some(match all.take() {
            Some(all) => all.into_iter().zip(needs).map(|(a, b)| a.and(b)).collect(),
            None => needs,
        });
        Ok(true)
    })?;
    let needs = all.unwrap_or_else(|| vec![Needs::NONE; parts.fields().len()]);
    Ok(parts
        .fields()
        .iter()
        .zip(needs)
        .enumerate()
        .map(|(j, (field, needs))| needs.dtype(j, field.dtype, long))
        .collect())
}

/// Gives every row of all parts to `take`, with the columns of its part.
pub(crate) fn each_row(parts: &dyn Parts, dtypes: &[Dtype], take: TakeRow<'_>) -> io::Result<()> {
    // An error of the file that is written is told as such, one of the parts as its own.
    let mut written = Ok(());
    let read = parts.each(&mut |_, part| {
        let columns = part.as_columns(dtypes);
        written = (0..part.points.len()).try_for_each(|i| take(part, &columns, i));
        Ok(written.is_ok())
    });
    written.and(read.map_err(io::Error::other))
}

/// Writes all rows in little-endian order.
pub(crate) fn write_rows(parts: &dyn Parts, dtypes: &[Dtype], out: &mut dyn Write) -> io::Result<()> {
    let mut record = Vec::with_capacity(8 * dtypes.len());
    each_row(parts, dtypes, &mut |part, columns, i| {
        record.clear();
        columns.iter().enumerate().for_each(|(j, column)| part.value(i, j, column, &mut record));
        out.write_all(&record)
    })
}
