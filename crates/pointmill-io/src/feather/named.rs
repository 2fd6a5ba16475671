//! Tables of which columns of some names are wanted: numbers, whole numbers and texts.

use super::batch::Batch;
use super::read::{expect_points, read};
use super::schema::{Column, Kind};
use crate::bytes::{f64_at, u32_at, u64_at};
use crate::error::{IoError, excerpt};
use crate::fault::bail;
use crate::limits::Bounds;
use crate::window::Window;
use pointmill_core::array::Dtype;
use std::collections::BTreeMap;

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
    pub(crate) names: Vec<String>,
    known: BTreeMap<String, u32>,
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
    let rest = read(window, bounds, expect_points, |window, columns, batches| {
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
                    What::Text => values.push_texts(window, batch, columns, at, &mut memory)?,
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
        | (What::Text, Kind::Text { .. }) => return Ok(Some(at)),
        (What::Numbers, _) => "numbers of f32, f64 or i64",
        (What::Whole, _) => "numbers of i64",
        (What::Text, _) => "texts (utf8 or large utf8), to which pandas' astype(str) casts categories",
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
        memory: &mut Vec<u8>,
    ) -> Result<(), IoError> {
        let Column { name, kind: Kind::Text { is_large } } = &columns[at] else { return Ok(()) };
        if batch.rows == 0 {
            return Ok(());
        }
        let width = if *is_large { 8 } else { 4 };
        let found = batch.find_texts(window, at, 1, (batch.rows + 1) * width, name)?;
        found.unpack(memory)?;
        let bytes = found.bytes(memory);
        let offset = |i: usize| if *is_large { u64_at(bytes, 8 * i) } else { u64::from(u32_at(bytes, 4 * i)) };
        let offsets: Vec<u64> = (0..=batch.rows).map(offset).collect();
        let field = format!("column `{name}`");
        if !offsets.is_sorted() {
            bail!(window, BadValue, field, "offsets that ascend", "offsets that do not");
        }
        let last = usize::try_from(offsets[batch.rows]).unwrap_or(usize::MAX);
        let found = batch.find_texts(window, at, 2, last, name)?;
        found.unpack(memory)?;
        let bytes = found.bytes(memory);
        window.source().reserve(&mut self.texts, batch.rows)?;
        for (i, pair) in offsets.windows(2).enumerate() {
            let text = &bytes[pair[0] as usize..pair[1] as usize];
            let Ok(text) = str::from_utf8(text) else {
                bail!(window, BadValue, "{field}: row {i}", "text of UTF-8", excerpt(text));
            };
            let index = match self.known.get(text) {
                Some(&index) => index,
                None => {
                    window.source().take(2 * text.len() + 64)?;
                    let index = self.names.len() as u32;
                    self.names.push(text.to_owned());
                    self.known.insert(text.to_owned(), index);
                    index
                }
            };
            self.texts.push(index);
        }
        Ok(())
    }
}
