//! The field where kernels run.

use super::field::Cubes;
use crate::device::{Buffer, Stream};
use crate::{Result, memory};
use pointmill_core::ndt::LevelCell;
use pointmill_kernels::registration as kernels;
use pointmill_kernels::registration::{BLOCK, LevelField, SIDE, StoredLevelCell};

/// Values of the cubes of a box: as those of the host, with 8 bytes behind them.
#[derive(Debug)]
pub(super) struct DeviceField {
    pub(super) cubes: Cubes,
    values: Buffer<u64>,
    blocks: Buffer<u64>,
    wide: Buffer<u64>,
}

impl DeviceField {
    pub(super) fn new(stream: &Stream, cells: &[LevelCell], cubes: Cubes) -> Result<Self> {
        let words = cubes.len().div_ceil(8) + 1;
        let stored: Vec<StoredLevelCell> = memory::collect(cells.iter().map(|cell| StoredLevelCell(*cell)))?;
        let stored = stream.upload(&stored)?;
        let mut values = stream.alloc::<u64>(words)?;
        let [rows, wide, blocks] = [stream.alloc(words)?, stream.alloc(words)?, stream.alloc(words)?];
        values.fill_words(0, 2 * words)?;
        let size = cubes.size.map(|n| n as u32);
        let filling = kernels::FieldFillArgs {
            cells: stored.pointer(),
            step: cubes.step,
            low: cubes.low,
            size,
            values: values.pointer().cast(),
        };
        let (len, along, layer) = (cubes.len() as u32, size[0], cubes.layer() as u32);
        let widen = |from: &Buffer<u64>, to: &Buffer<u64>, (stride, period): (u32, u32), by: u32| {
            let (from, to) = (from.pointer().cast_const().cast(), to.pointer().cast());
            let args = kernels::FieldWidenArgs { from, to, len, period, stride, by };
            // SAFETY: both have so many values.
            unsafe { stream.launch::<kernels::FieldWiden>(len.div_ceil(BLOCK), args) }
        };
        let (x, y) = ((1, along), (along, layer));
        // SAFETY: there is room for all cubes.
        unsafe { stream.launch::<kernels::FieldFill>(cells.len() as u32, filling) }?;
        widen(&values, &rows, x, 1)?;
        widen(&rows, &wide, y, 1)?;
        let (from, to) = (wide.pointer().cast_const().cast(), blocks.pointer().cast());
        let args = kernels::FieldBlocksArgs { from, to, along, len };
        // SAFETY: both have so many values.
        unsafe { stream.launch::<kernels::FieldBlocks>(len.div_ceil(BLOCK), args) }?;
        widen(&wide, &rows, x, SIDE)?;
        widen(&rows, &wide, y, SIDE)?;
        Ok(Self { cubes, values, blocks, wide })
    }

    pub(super) const fn stream(&self) -> &Stream {
        self.values.stream()
    }

    pub(super) fn pointers(&self) -> LevelField {
        LevelField {
            values: self.values.pointer(),
            blocks: self.blocks.pointer(),
            wide: self.wide.pointer().cast_const().cast(),
            size: self.cubes.size.map(|n| n as u32),
        }
    }
}

#[cfg(test)]
impl DeviceField {
    /// Values of cubes, blocks and wide blocks.
    pub(super) fn read(&self) -> Result<[Vec<u8>; 3]> {
        let of = |words: &Buffer<u64>| -> Result<Vec<u8>> {
            let bytes: Vec<u8> = words.read(words.len())?.iter().flat_map(|word| word.to_le_bytes()).collect();
            Ok(bytes[..self.cubes.len()].to_vec())
        };
        Ok([of(&self.values)?, of(&self.blocks)?, of(&self.wide)?])
    }
}
