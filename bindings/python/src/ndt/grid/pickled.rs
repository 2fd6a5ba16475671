//! Grids in pickles.

use super::NdtGrid;
use crate::arrays::Array;
use crate::cloud::own_stream;
use crate::errors::{OrRaise, value};
use crate::ndt::NAMES;
use crate::pickle::{bytes, field, values};
use pointmill::ndt::{NdtCells, NdtGrid as Grid, NdtLattice, NdtReport};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The report of a pickle.
fn report_of(object: &Bound<'_, PyAny>) -> PyResult<NdtReport> {
    let (whole, size) = (|name| object.getattr(name)?.extract(), |name| object.getattr(name)?.extract());
    let mut report = NdtReport::default();
    (report.points, report.non_finite) = (whole("points")?, whole("non_finite")?);
    (report.cells, report.sparse, report.degenerate) = (size("cells")?, size("sparse")?, size("degenerate")?);
    (report.voxels, report.clamped) = (size("voxels")?, size("clamped")?);
    Ok(report)
}

/// Cells as fields of a pickle and back, by the names of their columns.
macro_rules! columns {
    ($($column:ident),+) => {
        fn put_cells(fields: &Bound<'_, PyDict>, cells: &NdtCells) -> PyResult<()> {
            $(fields.set_item(stringify!($column), bytes(fields.py(), &cells.$column))?;)+
            Ok(())
        }

        fn cells_of(fields: &Bound<'_, PyDict>, report: NdtReport) -> PyResult<NdtCells> {
            Ok(NdtCells { $($column: values(fields, stringify!($column))?,)+ report })
        }
    };
}
columns!(coords, counts, mean_local, mean, covariance, inverse, eigenvalues, normal);

impl NdtGrid {
    pub(super) fn to_fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        fields.set_item("resolution", self.resolution)?;
        fields.set_item("origin", self.grid.lattice().origin())?;
        // An empty array, which says the library and the device.
        fields.set_item("home", self.backend.bind(py).object())?;
        fields.set_item("report", self.report(py)?)?;
        put_cells(&fields, self.cells()?)?;
        Ok(fields)
    }

    pub(super) fn of_fields(fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        let (like, report): (Bound<'_, PyAny>, Bound<'_, PyAny>) = (field(fields, "home")?, field(fields, "report")?);
        let cells = cells_of(fields, report_of(&report)?)?;
        let like = Array::read(&like, "home")?;
        let resolution = field(fields, "resolution")?;
        let lattice = NdtLattice::new(resolution).map_err(|e| value("resolution", "the edge of a cell", e))?;
        let lattice = lattice.about(field(fields, "origin")?);
        let grid = own_stream(like.place()).and_then(|stream| Grid::from_cells(cells, lattice, &stream));
        Ok(Self { resolution, ..Self::of(grid.or_raise(NAMES)?, &like)? })
    }
}
