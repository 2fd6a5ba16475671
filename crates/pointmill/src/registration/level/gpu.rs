//! Sums over the field where kernels run.

use super::device_field::DeviceField;
use super::field::WIDE;
use super::params::Yaws;
use super::queue::{AT_ONCE, Node, Sums};
use super::source::Source;
use crate::device::Buffer;
use crate::{Result, memory};
use pointmill_core::trig::sin_cos_f64;
use pointmill_kernels::registration as kernels;
use pointmill_kernels::registration::{BLOCK, LevelBlock, PARTS, SIDE, THREADS_OF_BLOCK};

/// Wide blocks that are bounded at a time.
pub(super) const BOUNDS: usize = 1 << 16;
/// Blocks for each multiprocessor that are summed up at a time.
const AHEAD: u32 = 8;

/// Adds up what a source meets in a field.
#[derive(Debug)]
pub(super) struct Adder<'a> {
    field: &'a DeviceField,
    /// `[yaw, point]`.
    turned: Buffer<[u32; 2]>,
    blocks: Buffer<LevelBlock>,
    bounds: Buffer<u32>,
    sums: Buffer<Sums>,
}

impl<'a> Adder<'a> {
    pub(super) fn new(field: &'a DeviceField, source: &Source, yaws: &Yaws, margin: i32) -> Result<Self> {
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
