//! What methods of a grid share.

use super::NdtGrid;
use crate::arrays::{Array, Place, Value};
use crate::cloud::Cloud;
use crate::errors::OrRaise;
use crate::interrupt::Effort;
use crate::ndt::{NAMES, SHORT};
use pointmill::Result;
use pointmill::ndt::{NdtCells, NdtGrid as Grid};
use pyo3::prelude::*;
use std::sync::{Arc, OnceLock};

impl NdtGrid {
    /// A grid whose arrays are of the library and on the device of an array.
    pub(in crate::ndt) fn of(grid: Grid, like: &Array<'_>) -> PyResult<Self> {
        let (place, backend) = (like.place(), like.backend().keep()?);
        Ok(Self { resolution: grid.lattice().unit(), grid: Arc::new(grid), place, backend, cells: OnceLock::new() })
    }

    /// The grid and its place, for a localizer.
    pub(crate) fn shared(&self) -> (Arc<Grid>, Place) {
        (self.grid.clone(), self.place)
    }

    /// The cells on the host, copied once.
    pub(super) fn cells(&self) -> PyResult<&NdtCells> {
        if let Some(cells) = self.cells.get() {
            return Ok(cells);
        }
        let cells = self.grid.read().or_raise(NAMES)?;
        Ok(self.cells.get_or_init(|| cells))
    }

    /// Values of all rows.
    pub(super) fn rows<T: Value>(
        &self,
        py: Python<'_>,
        columns: &[usize],
        of: impl Fn(&NdtCells) -> Vec<T>,
    ) -> PyResult<Py<PyAny>> {
        let shape: Vec<usize> = std::iter::once(self.grid.len()).chain(columns.iter().copied()).collect();
        Ok(self.backend.bind(py).give_values(of(self.cells()?), &shape)?.unbind())
    }

    /// A scan that lies where the grid does.
    pub(super) fn scan<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        name: &'static str,
        origin: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Cloud<'py>> {
        Cloud::read(object, name, origin, "origin")?.on(self.place, "the grid", name)
    }

    /// Runs `work` with the grid and the scan.
    pub(super) fn run<R: Send + 'static>(
        &self,
        py: Python<'_>,
        scan: &Cloud<'_>,
        work: impl FnOnce(&Grid, pointmill::Rows<'_>) -> Result<R> + Send + 'static,
        times: usize,
    ) -> PyResult<R> {
        let (grid, effort) = (self.grid.clone(), Effort::of(self.place, scan.len().saturating_mul(times), SHORT));
        scan.run(py, effort, NAMES, move |points| work(&grid, points))
    }
}
