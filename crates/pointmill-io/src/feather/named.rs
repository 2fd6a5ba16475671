//! Tables of which columns of some names are wanted: numbers, whole numbers and texts.

use super::batch::Batch;
use super::read::{expect_points, read};
use super::schema::{Column, Kind};
use super::texts::{Dictionaries, Words, each_text};
use crate::bytes::{f64_at, u32_at, u64_at};
use crate::error::IoError;
use crate::fault::bail;
use crate::limits::Bounds;
use crate::window::Window;
use pointmill_core::array::Dtype;

/// A column that is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'n> {
    name: &'n str,
    what: What,
    is_optional: bool,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Numbers,
    Whole,
    Text,
}

impl<'n> Wanted<'n> {
    /// Numbers of `f32`, `f64` or `i64`.
    pub(crate) const fn numbers(name: &'n str) -> Self {
        Self { name, what: What::Numbers, is_optional: false }
    }

    /// Numbers of `i64`.
    pub(crate) const fn whole(name: &'n str) -> Self {
        Self { name, what: What::Whole, is_optional: false }
    }

    /// Texts of UTF-8.
    pub(crate) const fn text(name: &'n str) -> Self {
        Self { name, what: What::Text, is_optional: false }
    }

    /// The same column, which a table need not have.
    pub(crate) const fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }
}

/// The values of a column; of the three kinds one has values.
#[derive(Debug, Default)]
pub(crate) struct Values {
    pub(crate) is_there: bool,
    pub(crate) numbers: Vec<f64>,
    pub(crate) whole: Vec<i64>,
    /// For each row the index of its text in `names`.
    pub(crate) texts: Vec<u32>,
    /// The texts, each once.
    pub(crate) words: Words,
}

/// The columns that are wanted, in that order.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Values>,
}

/// Reads the wanted columns of a table. Others are left out.
pub(crate) fn read_named(
    window: &mut Window<'_, '_>,
    bounds: &Bounds,
    wanted: &[Wanted<'_>],
) -> Result<Named, IoError> {
    let mut named = Named { rows: 0, columns: wanted.iter().map(|_| Values::default()).collect() };
    let mut memory = vec![];
    let rest = read(window, bounds, expect_points, |window, columns, batches, dictionaries| {
        let places = wanted.iter().map(|wanted| find(window, columns, wanted)).collect::<Result<Vec<_>, _>>()?;
        for batch in batches {
            bounds.check_points(window.source(), (named.rows + batch.rows) as u64)?;
            for ((place, wanted), values) in places.iter().zip(wanted).zip(&mut named.columns) {
                let Some(at) = *place else { continue };
                values.is_there = true;
                if batch.has_nulls(at) {
                    bail!(window, BadValue, ("column `{}`", columns[at].name), "a value in each row", "nulls");
                }
                match wanted.what {
                    What::Text => values.push_texts(window, batch, columns, at, dictionaries)?,
                    _ => values.push_numbers(window, batch, columns, at, &mut memory)?,
                }
            }
            named.rows += batch.rows;
        }
        Ok(())
    })?;
    if rest > 0 {
        bail!(window, SizeMismatch, "end", "the end of the table", "{rest} more bytes");
    }
    Ok(named)
}

/// Where a column is, if it is there, of a type that is read.
fn find(window: &Window<'_, '_>, columns: &[Column], wanted: &Wanted<'_>) -> Result<Option<usize>, IoError> {
    let field = format!("column `{}`", wanted.name);
    let Some(at) = columns.iter().position(|column| column.name == wanted.name) else {
        if wanted.is_optional {
            return Ok(None);
        }
        let found: Vec<_> = columns.iter().take(16).map(|column| &*column.name).collect();
        bail!(window, MissingField, field, "this column", ("the columns {}", found.join(", ")));
    };
    if columns.iter().filter(|column| column.name == wanted.name).count() > 1 {
        bail!(window, BadValue, field, "one column of this name", "several");
    }
    let expected = match (wanted.what, columns[at].kind) {
        (What::Numbers, Kind::Numbers(Dtype::F32 | Dtype::F64 | Dtype::I64))
        | (What::Whole, Kind::Numbers(Dtype::I64))
        | (What::Text, Kind::Text(_) | Kind::Categories { .. }) => return Ok(Some(at)),
        (What::Numbers, _) => "numbers of f32, f64 or i64",
        (What::Whole, _) => "numbers of i64",
        (What::Text, _) => "texts, or categories of texts",
    };
    bail!(window, DtypeMismatch, field, expected, "another type")
}

impl Values {
    fn push_numbers(
        &mut self,
        window: &Window<'_, '_>,
        batch: &Batch,
        columns: &[Column],
        at: usize,
        memory: &mut Vec<u8>,
    ) -> Result<(), IoError> {
        let Kind::Numbers(dtype) = columns[at].kind else { return Ok(()) };
        let [found, _] = &batch.find(window, columns, &[at])?[0];
        found.unpack(memory)?;
        let bytes = found.bytes(memory);
        window.source().reserve(&mut self.numbers, batch.rows)?;
        self.numbers.extend((0..batch.rows).map(|i| match dtype {
            Dtype::F32 => f64::from(f32::from_bits(u32_at(bytes, 4 * i))),
            Dtype::F64 => f64_at(bytes, 8 * i),
            _ => u64_at(bytes, 8 * i).cast_signed() as f64,
        }));
        if dtype == Dtype::I64 {
            window.source().reserve(&mut self.whole, batch.rows)?;
            self.whole.extend((0..batch.rows).map(|i| u64_at(bytes, 8 * i).cast_signed()));
        }
        Ok(())
    }

    fn push_texts(
        &mut self,
        window: &Window<'_, '_>,
        batch: &Batch,
        columns: &[Column],
        at: usize,
        dictionaries: &Dictionaries,
    ) -> Result<(), IoError> {
        let column = &columns[at];
        window.source().reserve(&mut self.texts, batch.rows)?;
        let Kind::Categories { dtype, id, .. } = column.kind else {
            let Self { texts, words, .. } = self;
            return each_text(window, batch, columns, at, |text| {
                texts.push(words.index(window, text)?);
                Ok(())
            });
        };
        if let Some(dictionary) = dictionaries.get(&id) {
            self.words.read(window, dictionary)?;
        }
        let mut memory = vec![];
        let found = batch.find_part(window, at, 1, batch.rows * dtype.bytes(), &column.name)?;
        found.unpack(&mut memory)?;
        let bytes = found.bytes(&memory);
        for i in 0..batch.rows {
            let number = whole_at(bytes, dtype, i);
            let index = usize::try_from(number).ok().and_then(|number| self.words.of_dictionary.get(number));
            let Some(&index) = index else {
                let wanted = format!("a number of its {} categories", self.words.of_dictionary.len());
                bail!(window, BadValue, ("column `{}`: row {i}", column.name), wanted, number);
            };
            self.texts.push(index);
        }
        Ok(())
    }
}

/// The whole number of a row; one that is too large for the result becomes negative.
fn whole_at(bytes: &[u8], dtype: Dtype, row: usize) -> i64 {
    let width = dtype.bytes();
    let bits = bytes[row * width..][..width].iter().rev().fold(0, |bits: u64, &byte| bits << 8 | u64::from(byte));
    let is_signed = matches!(dtype, Dtype::I8 | Dtype::I16 | Dtype::I32);
    let shift = if is_signed { 64 - 8 * width } else { 0 };
    (bits << shift).cast_signed() >> shift
}
