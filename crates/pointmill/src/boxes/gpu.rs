//! Overlaps and suppression where kernels run.

use super::candidates::tiles;
use super::input::Boxes;
use super::result::OverlapSizes;
use super::{Candidates, IouKind, IouParams, Kept, NmsParams, OverlapLists, Pairs};
use crate::device::{Buffer, Stream, Uploaded, workspace};
use crate::prim::{Pairs as Sorted, Sorter, passes_for};
use crate::{Argument, Result, ensure};
use pointmill_core::boxes::BoxShape;
use pointmill_kernels::boxes as kernels;
use pointmill_kernels::boxes::{BLOCK, COLUMNS_OF_TILE, Item, NONE};
use pointmill_kernels::prim::Length;
use pointmill_kernels::prim::scan::{self, Scan, ScanArgs, Tiles};
use pointmill_kernels::simt::WARP;
use std::ptr::{null, null_mut};

/// A [`BoxShape`] as numbers.
type Words = [f64; size_of::<BoxShape>() / size_of::<f64>()];

workspace! {
    /// Memory of one array of boxes.
    struct Side(stream) {
        staging: Buffer<u8>,
        shapes: Buffer<Words>,
    }
}

workspace! {
    /// Memory that measuring uses again.
    pub(in crate::boxes) struct PairWorkspace(stream) {
        stream: Stream,
        a: Side,
        b: Side,
        counts: Buffer<u32>,
        starts: Buffer<u32>,
        tiles: Buffer<u32>,
    }
}

impl PairWorkspace {
    /// Queues making both arrays ready.
    fn prepare(&mut self, a: &Boxes<'_>, b: &Boxes<'_>) -> Result<(*const BoxShape, *const BoxShape)> {
        for (boxes, side) in [(a, &mut self.a), (b, &mut self.b)] {
            side.shapes.reserve(boxes.len())?;
            let rows = boxes.staged(&mut side.staging)?;
            let args = kernels::PrepareArgs { rows, shapes: side.shapes.pointer().cast() };
            if rows.n > 0 {
                // SAFETY: there are so many rows, and room for a shape each.
                unsafe { self.stream.launch::<kernels::Prepare>(rows.n.div_ceil(BLOCK), args) }?;
            }
        }
        Ok((self.a.shapes.pointer().cast_const().cast(), self.b.shapes.pointer().cast_const().cast()))
    }

    pub(super) fn iou(
        &mut self,
        a: &Boxes<'_>,
        b: &Boxes<'_>,
        params: IouParams,
        out: &mut Buffer<f32>,
        pairs: usize,
    ) -> Result<()> {
        out.reserve(pairs)?;
        let (n, m) = (a.len() as u32, b.len() as u32);
        let (a, b) = self.prepare(a, b)?;
        let args = kernels::IouArgs { a, b, n, m, kind: params.kind, out: out.pointer() };
        if pairs == 0 {
            return Ok(());
        }
        if params.pairs == Pairs::Aligned {
            // SAFETY: as many shapes in both, and room for a number each.
            return unsafe { self.stream.launch::<kernels::IouOfPairs>(n.div_ceil(BLOCK), args) };
        }
        let tiles = u64::from(n.div_ceil(kernels::TILE)) * u64::from(m.div_ceil(COLUMNS_OF_TILE));
        ensure(tiles < 1 << 31, Argument::B, "fewer than 2^45 pairs", pairs)?;
        // SAFETY: room was made for all pairs.
        unsafe { self.stream.launch::<kernels::Iou>(tiles as u32, args) }
    }

    pub(super) fn overlaps(
        &mut self,
        a: &Boxes<'_>,
        b: &Boxes<'_>,
        kind: IouKind,
        threshold: f32,
        out: &mut OverlapLists,
    ) -> Result<()> {
        let (n, m) = (a.len() as u32, b.len() as u32);
        let (a, b) = self.prepare(a, b)?;
        self.counts.reserve(n as usize)?;
        self.starts.reserve(n as usize + 1)?;
        let scan_blocks = n / scan::TILE + 1;
        self.tiles.reserve(Tiles::words(scan_blocks) as usize)?;
        self.tiles.fill_words(0, Tiles::words(scan_blocks) as usize)?;
        let counting = kernels::OverlapsArgs {
            a,
            b,
            n,
            m,
            kind,
            threshold,
            counts: self.counts.pointer(),
            starts: self.starts.pointer(),
            i: null_mut(),
            j: null_mut(),
            iou: null_mut(),
        };
        let sums = ScanArgs {
            input: self.counts.pointer(),
            output: self.starts.pointer(),
            n: Length::known(n),
            tiles: Tiles { words: self.tiles.pointer() },
        };
        let blocks = n.div_ceil(BLOCK / WARP).clamp(1, self.stream.enough_blocks(8));
        // SAFETY: room was made for a count and a start of each row.
        unsafe {
            self.stream.launch::<kernels::Overlaps>(blocks, counting)?;
            self.stream.launch::<Scan>(scan_blocks, sums)?;
        }
        // Sums are of 30 bits, so the number of pairs is added up here.
        let pairs = self.counts.read(n as usize)?.iter().map(|&count| u64::from(count)).sum::<u64>();
        let most = u64::from(scan::MAX_SUM);
        ensure(pairs < most, Argument::Threshold, "fewer than 2^30 pairs: a higher threshold, or fewer boxes", pairs)?;
        out.reserve(OverlapSizes { pairs: pairs as usize })?;
        if pairs == 0 {
            return Ok(());
        }
        let listing =
            kernels::OverlapsArgs { i: out.i.pointer(), j: out.j.pointer(), iou: out.iou.pointer(), ..counting };
        // SAFETY: room was made for all pairs.
        unsafe { self.stream.launch::<kernels::Overlaps>(blocks, listing) }
    }
}

workspace! {
    /// Memory that suppression uses again.
    pub(in crate::boxes) struct NmsWorkspace(stream) {
        stream: Stream,
        boxes: Side,
        scores: Buffer<u8>,
        classes: Buffer<i32>,
        items: Uploaded,
        keys: Buffer<u64>,
        sorted_keys: Buffer<u64>,
        order: Buffer<u32>,
        sorted: Buffer<Words>,
        sorted_classes: Buffer<i32>,
        bits: Buffer<u32>,
        removed: Buffer<u32>,
        chosen: Buffer<u32>,
        sorter: Sorter<u64>,
    }
}

impl NmsWorkspace {
    pub(super) fn run(
        &mut self,
        boxes: &Boxes<'_>,
        candidates: &Candidates<'_>,
        items: &[Item],
        params: &NmsParams,
        out: &mut Kept,
    ) -> Result<()> {
        if out.classes_on_device {
            out.bad_class.fill_words(NONE, 1)?;
        }
        out.non_finite.fill_words(0, 1)?;
        let (n, num_items) = (boxes.len() as u32, items.len() as u32);
        if n == 0 {
            return out.num_kept.fill_words(0, items.len());
        }
        let passes = passes_for(u64::from(num_items - 1) << 32 | u64::from(u32::MAX));
        let words = items.iter().map(|item| item.len as usize * item.len.div_ceil(32) as usize).sum();
        self.reserve(n, passes, words)?;
        self.items.set(
            Argument::RowSplits,
            items.iter().flat_map(|&Item { first, len, tile, bits }| [first, len, tile, bits]),
        )?;
        let items_pointer = self.items.pointer().cast_const().cast();
        let classes = match &candidates.classes {
            Some(classes) => classes.address(&mut self.classes)?,
            None => null(),
        };
        let ready = kernels::CandidatesArgs {
            rows: boxes.staged(&mut self.boxes.staging)?,
            scores: candidates.scores().address(&mut self.scores)?,
            classes,
            least_score: params.score_threshold.unwrap_or(f32::MIN),
            items: items_pointer,
            num_items,
            keys: self.keys.pointer(),
            shapes: self.boxes.shapes.pointer().cast(),
            bad_class: out.bad_class.pointer(),
            non_finite: out.non_finite.pointer(),
        };
        let gathering = kernels::GatherArgs {
            order: self.order.pointer(),
            n,
            shapes: ready.shapes,
            classes,
            sorted: self.sorted.pointer().cast(),
            sorted_classes: self.sorted_classes.pointer(),
        };
        let comparing = kernels::SuppressArgs {
            shapes: gathering.sorted,
            classes: gathering.sorted_classes,
            items: items_pointer,
            num_items,
            metric: params.metric,
            threshold: params.threshold,
            bits: self.bits.pointer(),
        };
        let longest = items.iter().map(|item| item.len).max().unwrap_or(0);
        let rounds = longest.div_ceil(kernels::ROUND).max(1);
        if rounds > 1 {
            let removed = kernels::removed_words(n, num_items) as usize;
            self.removed.reserve(removed)?;
            self.removed.fill_words(0, removed)?;
            self.chosen.reserve(items.len() * WARP as usize)?;
        }
        let keeping = kernels::KeepArgs {
            keys: self.sorted_keys.pointer(),
            order: self.order.pointer(),
            items: items_pointer,
            num_items,
            bits: self.bits.pointer(),
            round: 0,
            rounds,
            removed: self.removed.pointer(),
            chosen: self.chosen.pointer(),
            capacity: out.sizes.capacity as u32,
            rows: out.rows.pointer(),
            num_kept: out.num_kept.pointer(),
        };
        let blocks = n.div_ceil(BLOCK);
        let input = Sorted { keys: self.keys.pointer(), values: null_mut() };
        let output = Sorted { keys: self.sorted_keys.pointer(), values: self.order.pointer() };
        // SAFETY: room was made for all rows and all pairs; what a kernel reads is queued before.
        unsafe {
            self.stream.launch::<kernels::Candidates>(blocks, ready)?;
            self.sorter.enqueue(input, output, Length::known(n), passes)?;
            self.stream.launch::<kernels::Gather>(blocks, gathering)?;
            self.stream.launch::<kernels::Suppress>(items.iter().map(|item| tiles(item.len)).sum(), comparing)?;
            for round in 0..rounds {
                let keeping = kernels::KeepArgs { round, ..keeping };
                self.stream.launch::<kernels::Keep>(num_items, keeping)?;
                if round + 1 < rounds {
                    let places = kernels::spread_places(n, num_items);
                    self.stream.launch::<kernels::Spread>(places * kernels::PARTS, keeping)?;
                }
            }
        }
        Ok(())
    }

    fn reserve(&mut self, n: u32, passes: u32, words: usize) -> Result<()> {
        let rows = n as usize;
        self.boxes.shapes.reserve(rows)?;
        self.keys.reserve(rows)?;
        self.sorted_keys.reserve(rows)?;
        self.order.reserve(rows)?;
        self.sorted.reserve(rows)?;
        self.sorted_classes.reserve(rows)?;
        self.bits.reserve(words)?;
        self.sorter.reserve(n, passes)
    }
}
