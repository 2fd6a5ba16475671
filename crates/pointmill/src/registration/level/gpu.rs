//! The field, and sums over it, where kernels run.

use super::field::{Cubes, WIDE};
use super::params::Yaws;
use super::queue::{Node, Sums};
use super::search::AT_ONCE;
use super::source::Source;
use crate::device::{Buffer, Stream};
use crate::{Result, memory};
use pointmill_core::ndt::LevelCell;
use pointmill_core::trig::sin_cos_f64;
use pointmill_kernels::registration as kernels;
use pointmill_kernels::registration::{BLOCK, LevelBlock, LevelField, PARTS, SIDE, StoredLevelCell, THREADS_OF_BLOCK};

/// Wide blocks that are bounded at a time.
pub(super) const BOUNDS: usize = 1 << 16;
/// Blocks for each multiprocessor that are summed up at a time.
const AHEAD: u32 = 8;

/// Values of the cubes of a box: as those of the host, with 8 bytes behind them.
#[derive(Debug)]
pub(super) struct Field {
    cubes: Cubes,
    values: Buffer<u64>,
    blocks: Buffer<u64>,
    wide: Buffer<u64>,
}

impl Field {
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

    fn stream(&self) -> &Stream {
        self.values.stream()
    }

    fn pointers(&self) -> LevelField {
        LevelField {
            values: self.values.pointer(),
            blocks: self.blocks.pointer(),
            wide: self.wide.pointer().cast_const().cast(),
            size: self.cubes.size.map(|n| n as u32),
        }
    }
}

/// Adds up what a source meets in a field.
#[derive(Debug)]
pub(super) struct Adder<'a> {
    field: &'a Field,
    /// `[yaw, point]`.
    turned: Buffer<[u32; 2]>,
    blocks: Buffer<LevelBlock>,
    bounds: Buffer<u32>,
    sums: Buffer<Sums>,
}

impl<'a> Adder<'a> {
    pub(super) fn new(field: &'a Field, source: &Source, yaws: &Yaws, margin: i32) -> Result<Self> {
        let stream = field.stream();
        let sine_cosine = |yaw: usize| {
            let (sine, cosine) = sin_cos_f64(yaws.of(yaw as u32));
            [sine, cosine]
        };
        let turns: Vec<[f64; 2]> = memory::collect((0..yaws.count).map(sine_cosine))?;
        let (points, turns) = (stream.upload(&source.points)?, stream.upload(&turns)?);
        let turned = stream.alloc(yaws.count * source.len())?;
        let args = kernels::LevelTurnArgs {
            points: points.pointer(),
            n: source.len() as u32,
            yaws: turns.pointer(),
            len: turned.len() as u32,
            step: field.cubes.step,
            margin,
            size: field.cubes.size.map(|n| n as u32),
            turned: turned.pointer(),
        };
        // SAFETY: there is room for all points at all yaws.
        unsafe { stream.launch::<kernels::LevelTurn>(args.len.div_ceil(BLOCK), args) }?;
        Ok(Self { field, turned, blocks: stream.alloc(0)?, bounds: stream.alloc(0)?, sums: stream.alloc(0)? })
    }

    /// Nodes that are summed up at a time: more than are opened at a time.
    pub(super) fn at_once(&self) -> usize {
        AT_ONCE + self.field.stream().enough_blocks(AHEAD) as usize
    }

    /// Writes nodes, and where they begin in the field, or wide blocks in that of blocks.
    fn put(&mut self, source: &Source, nodes: &[Node], in_blocks: bool) -> Result<u32> {
        let cubes = &self.field.cubes;
        let along = cubes.size[0] as i64;
        let block = |node: &Node| {
            let points = source.within(cubes, node.height);
            let (layer, [i, j]) =
                (i64::from(node.height) - i64::from(cubes.low[2]), [node.x, node.y].map(|at| i64::from(at / SIDE)));
            let (of_layer, wide) = (cubes.layer() as i64, in_blocks && node.level == 2);
            // Modulo 2^32.
            let at = match wide {
                true => layer * (of_layer / WIDE as i64) + j * (along / i64::from(SIDE)) + i,
                false => layer * of_layer + (j * along + i) * i64::from(SIDE),
            } as u32;
            let first = node.yaw * source.len() as u32 + points.start as u32;
            LevelBlock { first, points: points.len() as u32, at, of_blocks: u32::from(wide) }
        };
        let blocks: Vec<LevelBlock> = memory::collect(nodes.iter().map(block))?;
        self.blocks.put(&blocks)?;
        Ok(blocks.len() as u32)
    }

    /// The bounds of wide blocks.
    pub(super) fn bounds(&mut self, source: &Source, nodes: &[Node]) -> Result<Vec<u32>> {
        let len = self.put(source, nodes, false)?;
        self.bounds.reserve(nodes.len())?;
        self.bounds.fill_words(0, nodes.len())?;
        let args = kernels::LevelBoundsArgs {
            field: self.field.pointers(),
            turned: self.turned.pointer(),
            blocks: self.blocks.pointer(),
            len,
            bounds: self.bounds.pointer(),
        };
        let stream = self.field.stream();
        // SAFETY: all places of all blocks are in the field, and there is room for each.
        unsafe { stream.launch::<kernels::LevelBounds>((len * PARTS).div_ceil(BLOCK), args) }?;
        self.bounds.read(nodes.len())
    }

    /// Of wide blocks the bounds of their blocks, else the scores of the places of the blocks of
    /// nodes.
    pub(super) fn sums(&mut self, source: &Source, nodes: &[Node]) -> Result<Vec<Sums>> {
        let len = self.put(source, nodes, true)?;
        self.sums.reserve(nodes.len())?;
        self.sums.fill_words(0, nodes.len() * WIDE / 2)?;
        let args = kernels::LevelSumsArgs {
            field: self.field.pointers(),
            turned: self.turned.pointer(),
            blocks: self.blocks.pointer(),
            len,
            sums: self.sums.pointer().cast(),
        };
        let stream = self.field.stream();
        // SAFETY: as above.
        unsafe { stream.launch::<kernels::LevelSums>((len * THREADS_OF_BLOCK).div_ceil(BLOCK), args) }?;
        self.sums.read(nodes.len())
    }
}

#[cfg(test)]
impl Field {
    /// Values of cubes, blocks and wide blocks.
    pub(super) fn read(&self) -> Result<[Vec<u8>; 3]> {
        let of = |words: &Buffer<u64>| -> Result<Vec<u8>> {
            let bytes: Vec<u8> = words.read(words.len())?.iter().flat_map(|word| word.to_le_bytes()).collect();
            Ok(bytes[..self.cubes.len()].to_vec())
        };
        Ok([of(&self.values)?, of(&self.blocks)?, of(&self.wide)?])
    }
}
