//! Boxes and points into lists: the rows of each box, and the kept points of each row.

use crate::roi_pool::scene::BOX_COLUMNS;
use crate::roi_pool::{BoxParams, RoiPoolParams, Scene};
use crate::rows::Feature;
use crate::{ElementType, Result, Rows, bf16, f16, memory, par};
use pointmill_core::OrientedBox;
use pointmill_kernels::roi_pool::Totals;
use rayon::prelude::*;
use std::ops::Range;

/// Points that are tested against a box together, if they come near it at all.
pub(super) const TILE: usize = 128;
/// Points that share one look at whether any of them comes near.
pub(super) const GROUP: usize = 16;

/// What a call leaves for those after it, and memory that calls use again.
#[derive(Debug, Default)]
pub(in crate::roi_pool) struct Workspace {
    points: Coordinates,
    boxes: Vec<OrientedBox>,
    /// Lists of some boxes each, in order.
    chunks: Vec<Chunk>,
    pub(super) located: Located,
    pub(super) transposed: super::transposed::Transposed,
}

/// The non-empty voxels of all boxes and their kept points.
#[derive(Debug, Default)]
pub(super) struct Located {
    /// Non-empty voxels, ascending.
    pub(super) rows: Vec<Row>,
    /// The kept points of all rows.
    pub(super) indices: Vec<i32>,
    /// Where each box's rows start, and their number.
    pub(super) box_rows: Vec<usize>,
    pub(super) totals: Totals,
}

/// A non-empty voxel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Voxel of all boxes' voxels: `box * V + voxel`.
    pub(super) slot: u64,
    /// Where its kept points start.
    pub(super) start: usize,
}

/// The lists of some boxes that follow each other.
#[derive(Debug, Default)]
struct Chunk {
    rows: Vec<Row>,
    indices: Vec<i32>,
    /// Rows of each box.
    box_rows: Vec<usize>,
    inside: u64,
    /// Voxel and index of each point in one box.
    keys: Vec<u64>,
}

impl Located {
    /// The kept points of row `r`.
    pub(super) fn list(&self, r: usize) -> &[i32] {
        let end = self.rows.get(r + 1).map_or(self.indices.len(), |next| next.start);
        &self.indices[self.rows[r].start..end]
    }
}

impl Workspace {
    pub(in crate::roi_pool) fn locate(&mut self, scene: &Scene<'_>, params: &RoiPoolParams) -> Result<()> {
        self.boxes = boxes(&scene.boxes, params.boxes())?;
        self.points.load(&scene.points)?;
        let Self { points, boxes, chunks, located, transposed } = self;
        transposed.forget();
        let sample_points = points_of_boxes(scene)?;
        // Several chunks a thread, because boxes differ in what they hold.
        let per_chunk = boxes.len().div_ceil(par::threads() * 8).max(1);
        let count = boxes.len().div_ceil(per_chunk);
        let most = chunks.len().max(count);
        memory::resize_with(chunks, most, Chunk::default)?;
        chunks[..count].par_iter_mut().with_min_len(par::grain(1)).enumerate().try_for_each(
            |(c, chunk)| -> Result<()> {
                let first = c * per_chunk;
                chunk.clear();
                for b in first..boxes.len().min(first + per_chunk) {
                    par::check();
                    chunk.add(b, &boxes[b], points, sample_points[b].clone(), params)?;
                }
                Ok(())
            },
        )?;
        located.join(&chunks[..count])?;
        located.totals.empty_boxes = boxes.iter().filter(|b| b.is_empty()).count() as u64;
        Ok(())
    }
}

impl Chunk {
    fn clear(&mut self) {
        let Self { rows, indices, box_rows, inside, .. } = self;
        rows.clear();
        indices.clear();
        box_rows.clear();
        *inside = 0;
    }

    /// Appends the rows of one box.
    fn add(
        &mut self,
        b: usize,
        oriented: &OrientedBox,
        points: &Coordinates,
        range: Range<usize>,
        params: &RoiPoolParams,
    ) -> Result<()> {
        let grid = oriented.grid(params.out_size);
        let keys = &mut self.keys;
        keys.clear();
        points.each_inside(oriented, range, |i, p| {
            memory::push(keys, u64::from(grid.id(oriented.voxel(p, &grid))) << 32 | i as u64)
        })?;
        self.inside += keys.len() as u64;
        let kept = params.max_points_per_voxel as usize;
        // Keys are unique, and in point order within a voxel.
        keys.sort_unstable();
        let first_row = self.rows.len();
        if kept > 0 {
            for list in keys.chunk_by(|a, b| a >> 32 == b >> 32) {
                let slot = (b as u64) * params.voxels() as u64 + (list[0] >> 32);
                memory::push(&mut self.rows, Row { slot, start: self.indices.len() })?;
                memory::extend(&mut self.indices, list.iter().take(kept).map(|&key| key as u32 as i32))?;
            }
        }
        memory::push(&mut self.box_rows, self.rows.len() - first_row)
    }
}

impl Located {
    fn join(&mut self, chunks: &[Chunk]) -> Result<()> {
        let Self { rows, indices, box_rows, totals } = self;
        rows.clear();
        indices.clear();
        box_rows.clear();
        memory::push(box_rows, 0)?;
        let mut inside = 0;
        for chunk in chunks {
            let start = indices.len();
            let mut end = rows.len();
            let ends = chunk.box_rows.iter().map(|n| {
                end += n;
                end
            });
            memory::extend(box_rows, ends)?;
            memory::extend(rows, chunk.rows.iter().map(|row| Row { start: row.start + start, ..*row }))?;
            memory::extend(indices, chunk.indices.iter().copied())?;
            inside += chunk.inside;
        }
        *totals = Totals { rows: rows.len() as u64, kept: indices.len() as u64, inside, ..Totals::default() };
        Ok(())
    }
}

/// The coordinates of points, axis by axis, and the bounds of each tile.
#[derive(Debug, Default)]
pub(super) struct Coordinates {
    axes: [Vec<f32>; 3],
    /// Smallest and largest x, y of the points of each tile that are numbers.
    bounds: Vec<[[f32; 2]; 2]>,
}

impl Coordinates {
    pub(super) fn of(points: &Rows<'_>) -> Result<Self> {
        let mut coordinates = Self::default();
        coordinates.load(points)?;
        Ok(coordinates)
    }

    fn load(&mut self, points: &Rows<'_>) -> Result<()> {
        match points.element() {
            ElementType::F32 => self.load_values::<f32>(points),
            ElementType::F16 => self.load_values::<f16>(points),
            ElementType::Bf16 => self.load_values::<bf16>(points),
        }?;
        let [x, y, _] = &self.axes;
        self.bounds.clear();
        let bounds = x.chunks(TILE).zip(y.chunks(TILE)).map(|(x, y)| {
            let low = |v: &[f32]| v.iter().copied().fold(f32::INFINITY, f32::min);
            let high = |v: &[f32]| v.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            [[low(x), low(y)], [high(x), high(y)]]
        });
        memory::extend(&mut self.bounds, bounds)
    }

    fn load_values<E: Feature>(&mut self, points: &Rows<'_>) -> Result<()> {
        let values = points.host::<E>().expect("values of the CPU");
        for (axis, all) in self.axes.iter_mut().enumerate() {
            all.clear();
            memory::extend(all, values.chunks_exact(points.columns()).map(|p| p[axis].widen()))?;
        }
        Ok(())
    }

    pub(super) fn point(&self, i: usize) -> [f32; 3] {
        [self.axes[0][i], self.axes[1][i], self.axes[2][i]]
    }

    /// Calls `found` with each point of `range` inside the box, in order, until it fails.
    pub(super) fn each_inside(
        &self,
        b: &OrientedBox,
        range: Range<usize>,
        mut found: impl FnMut(usize, [f32; 3]) -> Result<()>,
    ) -> Result<()> {
        let mut start = range.start;
        while start < range.end {
            let tile = start / TILE;
            let end = range.end.min((tile + 1) * TILE);
            let [low, high] = self.bounds[tile];
            if b.reach().may_meet(low, high) {
                self.each_inside_tile(b, start..end, &mut found)?;
            }
            start = end;
        }
        Ok(())
    }

    fn each_inside_tile(
        &self,
        b: &OrientedBox,
        range: Range<usize>,
        found: &mut impl FnMut(usize, [f32; 3]) -> Result<()>,
    ) -> Result<()> {
        let [x, y, _] = &self.axes;
        let (start, reach) = (range.start, b.reach());
        for (g, (xs, ys)) in x[range.clone()].chunks(GROUP).zip(y[range].chunks(GROUP)).enumerate() {
            // Without a branch, so that several points are tested by one instruction.
            let near = xs.iter().zip(ys).fold(false, |any, (&x, &y)| any | reach.may_contain(x, y));
            if near {
                for i in start + g * GROUP..start + g * GROUP + xs.len() {
                    let p = self.point(i);
                    if b.contains(p) {
                        found(i, p)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The points that each box sees.
pub(super) fn points_of_boxes(scene: &Scene<'_>) -> Result<Vec<Range<usize>>> {
    let mut all = Vec::new();
    memory::room(&mut all, scene.num_boxes())?;
    all.extend(scene.samples().enumerate().flat_map(|(s, boxes)| boxes.map(move |_| scene.points_of(s))));
    Ok(all)
}

/// The boxes, ready for tests.
pub(super) fn boxes(boxes: &Rows<'_>, params: BoxParams) -> Result<Vec<OrientedBox>> {
    match boxes.element() {
        ElementType::F32 => boxes_of::<f32>(boxes, params),
        ElementType::F16 => boxes_of::<f16>(boxes, params),
        ElementType::Bf16 => boxes_of::<bf16>(boxes, params),
    }
}

fn boxes_of<E: Feature>(boxes: &Rows<'_>, params: BoxParams) -> Result<Vec<OrientedBox>> {
    let values = boxes.host::<E>().expect("values of the CPU");
    let row = |b: &[E]| std::array::from_fn(|i| b[i].widen());
    memory::collect(values.chunks_exact(BOX_COLUMNS).map(|b| OrientedBox::new(row(b), params.origin, params.margin)))
}
