//! Cells as callers give them.

use super::ConvKind::{Inverse, Strided, Submanifold, Transposed};
use super::ConvParams;
use crate::device::{Buffer, Stream};
use crate::{Argument, Error, Ints, Result, ensure, par};
use pointmill_core::sparse::{CellGrid, MAX_CELLS, Window};
use pointmill_kernels::prim::Length;
use rayon::prelude::*;

/// Cells that a thread checks at least.
const CHECKED_BY_A_THREAD: usize = 16_384;
/// The most cells plus one.
const TOO_MANY: usize = 1 << 30;

/// Rows of item, z, y, x: `[V, 4]` of `i32`, on the host or on a device.
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::CellCoords;
/// assert_eq!(CellCoords::from(&[[0, 4, 2, 1], [1, 0, 0, 0]]).len(), 2);
/// let buffer = Device::cpu().stream()?.upload(&[0, 4, 2, 1])?;
/// assert_eq!(CellCoords::on_device(&buffer, 1)?.len(), 1);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CellCoords<'a> {
    values: Ints<'a>,
    /// Where the exact number of rows is.
    exact: Option<&'a Buffer<u32>>,
}

impl<'a> CellCoords<'a> {
    /// The first `len` rows of a buffer.
    ///
    /// # Errors
    /// A buffer that has fewer.
    pub fn on_device(buffer: &'a Buffer<i32>, len: usize) -> Result<Self> {
        let fits = len.checked_mul(4).is_some_and(|values| values <= buffer.len());
        ensure(fits, Argument::Coords, format_args!("{len} x 4 values"), buffer.len())?;
        Ok(Self::of(buffer, len))
    }

    /// The first rows of a buffer that has as many.
    pub(super) fn of(buffer: &'a Buffer<i32>, len: usize) -> Self {
        Self { values: Ints::first(buffer, len * 4), exact: None }
    }

    /// The same, of which only so many rows count as the first word of a buffer says; more than
    /// there are count as all.
    pub const fn counted(self, exact: &'a Buffer<u32>) -> Self {
        Self { exact: Some(exact), ..self }
    }

    /// How many rows there are, or at most.
    pub const fn len(&self) -> usize {
        self.values.len() / 4
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cells in host memory that count.
    pub(super) fn host(&self) -> &'a [[i32; 4]] {
        let cells = self.values.host().unwrap_or_default().as_chunks().0;
        let exact = self.exact.and_then(Buffer::as_slice).and_then(|exact| exact.first());
        &cells[..exact.map_or(cells.len(), |&exact| cells.len().min(exact as usize))]
    }

    /// How many rows count, for kernels.
    pub(super) fn length(&self) -> Length {
        let exact = self.exact.map_or(std::ptr::null(), |exact| exact.pointer().cast_const());
        Length { bound: self.len() as u32, exact }
    }

    pub(super) fn address(&self, staging: &mut Buffer<i32>) -> Result<*const [i32; 4]> {
        Ok(self.values.address(staging)?.cast())
    }

    fn streams(&self) -> [Option<&'a Stream>; 2] {
        [self.values.stream(), self.exact.map(Buffer::stream)]
    }

    fn check(&self, argument: Argument, grid: &CellGrid, stream: &Stream) -> Result<()> {
        ensure(self.len() < TOO_MANY, argument, "fewer than 2^30 cells", self.len())?;
        if let Some(exact) = self.exact {
            stream.check_memory(argument, "a number in memory of", exact.stream())?;
            ensure(!exact.is_empty(), argument, "a number of rows", "an empty buffer")?;
        }
        self.values.check(argument, stream)?;
        let cells = self.host();
        let outside = |cell: &[i32; 4]| grid.id(*cell).is_none();
        let all = cells.par_iter().with_min_len(par::grain(CHECKED_BY_A_THREAD));
        match stream.device().install(|| all.position_first(outside)) {
            None => Ok(()),
            Some(row) => Err(outside_of(argument, grid, format_args!("row {row}: {:?}", cells[row]))),
        }
    }
}

/// The error of a cell outside of its grid.
pub(super) fn outside_of(argument: Argument, grid: &CellGrid, got: impl ToString) -> Error {
    let [z, y, x] = grid.shape;
    let expected = format!("item, z, y, x of 0 or more and below {}, {z}, {y}, {x}", grid.batch);
    Error::argument(argument, expected, got)
}

/// The error of a cell that an earlier row has.
pub(super) fn repeated(row: usize) -> Error {
    Error::argument(Argument::Coords, "each cell once", format_args!("the cell of an earlier row in row {row}"))
}

impl<'a> From<&'a [[i32; 4]]> for CellCoords<'a> {
    fn from(cells: &'a [[i32; 4]]) -> Self {
        Self { values: cells.into(), exact: None }
    }
}

impl<'a, const N: usize> From<&'a [[i32; 4]; N]> for CellCoords<'a> {
    fn from(cells: &'a [[i32; 4]; N]) -> Self {
        cells.as_slice().into()
    }
}

/// The input cells of a layer: item, z, y, x, as spconv has them; the number of items; and the cells
/// of an item along z, y, x. Each cell once, in any order.
///
/// ```
/// use pointmill::sparse::SparseCells;
/// let coarse = SparseCells::new(&[[0, 0, 2, 1]], 1, [1, 4, 4]);
/// let fine = coarse.outputs(&[[0, 0, 4, 2], [0, 1, 4, 3]], [2, 8, 8]);
/// # let _ = fine;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SparseCells<'a> {
    coords: CellCoords<'a>,
    batch: u32,
    shape: [u32; 3],
    outputs: Option<(CellCoords<'a>, [u32; 3])>,
}

/// A checked call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    pub(super) inputs: CellCoords<'a>,
    pub(super) input_grid: CellGrid,
    /// The outputs, where they are given.
    pub(super) outputs: Option<CellCoords<'a>>,
    pub(super) output_grid: CellGrid,
    pub(super) window: Window,
    pub(super) offsets: u32,
    pub(super) transposed: bool,
    pub(super) capacity: Option<u32>,
    pub(super) masks: bool,
    pub(super) lists: bool,
    /// No more outputs than this, whatever the inputs.
    pub(super) bound: u32,
}

impl<'a> SparseCells<'a> {
    /// Cells of a batch of grids of this shape.
    pub fn new(coords: impl Into<CellCoords<'a>>, batch: u32, shape: [u32; 3]) -> Self {
        Self { coords: coords.into(), batch, shape, outputs: None }
    }

    /// The same with the outputs of an inverse layer: the cells and the shape that the strided layer
    /// had as inputs.
    pub fn outputs(self, coords: impl Into<CellCoords<'a>>, shape: [u32; 3]) -> Self {
        Self { outputs: Some((coords.into(), shape)), ..self }
    }

    pub(super) fn check(&self, params: &ConvParams, stream: &Stream) -> Result<Job<'a>> {
        let input_grid = grid(self.batch, self.shape, Argument::Shape)?;
        self.coords.check(Argument::Coords, &input_grid, stream)?;
        let given = params.kind == Inverse;
        let [expected, got] =
            if given { ["the cells of the strided layer", "none"] } else { ["none but for an inverse layer", "some"] };
        ensure(given == self.outputs.is_some(), Argument::Outputs, expected, got)?;
        let window = params.window();
        let got = format_args!("{:?}", self.shape);
        let no_cell = |shape: Option<[u32; 3]>, expected: &str| match shape {
            Some(shape) => Ok(shape),
            None => Err(Error::argument(Argument::Shape, expected, got)),
        };
        let (outputs, shape) = match (params.kind, self.outputs) {
            (Inverse, Some((outputs, shape))) => {
                let fits = "as many cells as the kernel spans";
                let Some(coarse) = window.coarse_shape(shape) else {
                    return Err(Error::argument(Argument::Outputs, fits, format_args!("{shape:?}")));
                };
                let expected = format_args!("{coarse:?}, which the layer makes of {shape:?}");
                ensure(coarse == self.shape, Argument::Shape, expected, got)?;
                (Some(outputs), shape)
            }
            (Strided, _) => (None, no_cell(window.coarse_shape(self.shape), "as many cells as the kernel spans")?),
            (Transposed, _) => {
                (None, no_cell(window.fine_shape(self.shape), "outputs of 1 to 2^30 cells along an axis")?)
            }
            (Submanifold | Inverse, _) => (Some(self.coords), self.shape),
        };
        let output_grid = grid(self.batch, shape, Argument::Outputs)?;
        if given && let Some(outputs) = &outputs {
            outputs.check(Argument::Outputs, &output_grid, stream)?;
        }
        let offsets = window.offsets().unwrap_or_default();
        let each = if params.is_transposed() { u64::from(offsets) } else { window.most_coarse() };
        let most = (each * self.coords.len() as u64).min(output_grid.cells().unwrap_or(u64::MAX));
        let bound = if outputs.is_some() { 0 } else { most };
        ensure(bound < TOO_MANY as u64, Argument::Coords, "cells that reach fewer than 2^30 outputs", bound)?;
        Ok(Job {
            inputs: self.coords,
            input_grid,
            outputs,
            output_grid,
            window,
            offsets,
            transposed: params.is_transposed(),
            capacity: params.capacity,
            masks: params.masks,
            lists: params.lists,
            bound: bound as u32,
        })
    }
}

impl<'a> Job<'a> {
    pub(super) fn streams(&self) -> [Option<&'a Stream>; 4] {
        let [a, b] = self.inputs.streams();
        let [c, d] = self.outputs.map_or([None; 2], |outputs| outputs.streams());
        [a, b, c, d]
    }
}

/// A batch of grids that ids can number.
fn grid(batch: u32, shape: [u32; 3], argument: Argument) -> Result<CellGrid> {
    let got = format_args!("{shape:?}");
    ensure(batch > 0 && batch < 1 << 31, Argument::Batch, "1 to 2^31 - 1 items", batch)?;
    let fits = shape.iter().all(|&n| n > 0 && n <= MAX_CELLS);
    ensure(fits, argument, "1 to 2^30 cells along an axis", got)?;
    let grid = CellGrid { batch, shape };
    ensure(grid.cells().is_some(), argument, format_args!("fewer than 2^63 cells in {batch} items"), got)?;
    Ok(grid)
}
