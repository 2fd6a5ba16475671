//! Columns of texts, and dictionaries of them.

use super::batch::{Batch, VIEW};
use super::flat::Table as Flat;
use super::schema::{Column, Kind, Layout};
use crate::bytes::{u32_at, u64_at};
use crate::error::{IoError, excerpt};
use crate::fault::bail;
use crate::window::Window;
use std::collections::{BTreeMap, BTreeSet};

/// The dictionaries of a table by their ids.
pub(super) type Dictionaries = BTreeMap<i64, Dictionary>;

/// A dictionary of texts.
#[derive(Debug)]
pub(super) struct Dictionary {
    /// The column of its texts, and the batches of it that came so far.
    values: [Column; 1],
    batches: Vec<Batch>,
    /// How often others took the place of those before.
    replaced: usize,
}

impl Dictionary {
    /// The dictionaries that columns need, without texts.
    pub(super) fn of(columns: &[Column]) -> Dictionaries {
        let of = |Column { name, kind, .. }: &Column| match *kind {
            Kind::Categories { id, texts, .. } => {
                let values = [Column { name: name.clone(), kind: Kind::Text(texts), parts: texts.parts() }];
                Some((id, Self { values, batches: vec![], replaced: 0 }))
            }
            _ => None,
        };
        columns.iter().filter_map(of).collect()
    }

    /// Adds texts behind those before, or in the place of them.
    pub(super) fn add(
        &mut self,
        window: &Window<'_, '_>,
        data: &Flat<'_>,
        (body, i, is_more): (Vec<u8>, usize, bool),
    ) -> Result<(), IoError> {
        if !is_more {
            self.batches.clear();
            self.replaced += 1;
        }
        self.batches.push(Batch::new(window, &self.values, data, body, i)?);
        Ok(())
    }
}

/// Texts by their number.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// The texts, each once.
    pub(crate) names: Vec<String>,
    known: BTreeMap<String, u32>,
    /// The number of each text of the dictionary.
    pub(super) of_dictionary: Vec<u32>,
    /// Which dictionary that is, and how many of its batches were read.
    read: [usize; 2],
}

impl Words {
    /// The number of a text. Memory for a new one is counted.
    pub(super) fn index(&mut self, window: &Window<'_, '_>, text: &str) -> Result<u32, IoError> {
        if let Some(&index) = self.known.get(text) {
            return Ok(index);
        }
        window.source().take(2 * text.len() + 64)?;
        let index = self.names.len() as u32;
        self.names.push(text.to_owned());
        self.known.insert(text.to_owned(), index);
        Ok(index)
    }

    /// Reads what is new of a dictionary.
    pub(super) fn read(&mut self, window: &Window<'_, '_>, dictionary: &Dictionary) -> Result<(), IoError> {
        if self.read[0] != dictionary.replaced {
            self.read = [dictionary.replaced, 0];
            self.of_dictionary.clear();
        }
        for batch in &dictionary.batches[self.read[1]..] {
            if batch.has_nulls(0) {
                let name = &dictionary.values[0].name;
                bail!(window, BadValue, "dictionary of column `{name}`", "a value for each number", "nulls");
            }
            let mut numbers = std::mem::take(&mut self.of_dictionary);
            window.source().reserve(&mut numbers, batch.rows)?;
            each_text(window, batch, &dictionary.values, 0, |text| {
                numbers.push(self.index(window, text)?);
                Ok(())
            })?;
            self.of_dictionary = numbers;
            self.read[1] += 1;
        }
        Ok(())
    }
}

/// Gives the texts of a column, row after row.
pub(super) fn each_text(
    window: &Window<'_, '_>,
    batch: &Batch,
    columns: &[Column],
    at: usize,
    mut give: impl FnMut(&str) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let Column { name, kind: Kind::Text(layout), .. } = &columns[at] else { return Ok(()) };
    if batch.rows == 0 {
        return Ok(());
    }
    let field = format!("column `{name}`");
    let mut text = |i: usize, bytes: &[u8]| match str::from_utf8(bytes) {
        Ok(text) => give(text),
        Err(_) => bail!(window, BadValue, "{field}: row {i}", "text of UTF-8", excerpt(bytes)),
    };
    match *layout {
        Layout::Ends { is_large } => {
            let (mut memory, width) = (vec![], if is_large { 8 } else { 4 });
            let found = batch.find_part(window, at, 1, (batch.rows + 1) * width, name)?;
            found.unpack(&mut memory)?;
            let bytes = found.bytes(&memory);
            let offset = |i: usize| if is_large { u64_at(bytes, 8 * i) } else { u64::from(u32_at(bytes, 4 * i)) };
            let offsets: Vec<u64> = (0..=batch.rows).map(offset).collect();
            if !offsets.is_sorted() {
                bail!(window, BadValue, field, "offsets that ascend", "offsets that do not");
            }
            let last = usize::try_from(offsets[batch.rows]).unwrap_or(usize::MAX);
            let found = batch.find_part(window, at, 2, last, name)?;
            found.unpack(&mut memory)?;
            let bytes = found.bytes(&memory);
            offsets.windows(2).enumerate().try_for_each(|(i, of)| text(i, &bytes[of[0] as usize..of[1] as usize]))
        }
        Layout::Views => {
            let mut memory = vec![];
            let found = batch.find_part(window, at, 1, batch.rows * VIEW, name)?;
            found.unpack(&mut memory)?;
            let views = found.bytes(&memory).as_chunks::<VIEW>().0;
            let number = |view: &[u8; VIEW], k: usize| u32_at(view, k) as usize;
            // For each buffer the end of what is named of it; equal views name the same bytes.
            let mut ends = vec![0; batch.parts(at) - 2];
            let mut named = BTreeSet::new();
            for (i, view) in views.iter().enumerate().filter(|(_, view)| number(view, 0) > VIEW - 4) {
                let [length, buffer, start] = [0, 8, 12].map(|k| number(view, k));
                let Some(end) = ends.get_mut(buffer) else {
                    let wanted = format!("a place in its {} buffers", batch.parts(at) - 2);
                    bail!(window, BadValue, "{field}: row {i}", wanted, "buffer {buffer}");
                };
                *end = (*end).max(start + length);
                if named.insert((buffer, start, length)) {
                    window.source().take(64)?;
                }
            }
            // So that work is bounded by the file.
            let [all, most] = [named.iter().map(|of| of.2).sum::<usize>(), ends.iter().sum()];
            if all > most {
                bail!(window, SizeMismatch, field, "texts with bytes of their own, {most} in all", "{all}");
            }
            let mut buffers = vec![];
            for (k, &end) in ends.iter().enumerate() {
                let (mut memory, found) = (vec![], batch.find_part(window, at, 2 + k, end, name)?);
                found.unpack(&mut memory)?;
                buffers.push((found, memory));
            }
            views.iter().enumerate().try_for_each(|(i, view)| match number(view, 0) {
                short @ 0..=12 => text(i, &view[4..4 + short]),
                length => {
                    let (found, memory) = &buffers[number(view, 8)];
                    text(i, &found.bytes(memory)[number(view, 12)..][..length])
                }
            })
        }
    }
}
