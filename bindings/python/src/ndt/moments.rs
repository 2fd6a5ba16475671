//! Sums of cells as a class.

use super::grid::NdtGrid;
use super::{NAMES, SHORT, like_array};
use crate::arrays::Place;
use crate::cloud::{Cloud, own_stream};
use crate::ending::detached;
use crate::errors::{OrRaise, file, value};
use crate::interrupt::Effort;
use crate::keywords::Keywords;
use crate::pickle::{self, Reduced, bytes, field, values};
use crate::poses;
use crate::shared::Shared;
use pointmill::ndt::{Moments as Sums, NdtBuilder, NdtGrid as Grid, NdtMoments as Moments, NdtMomentsTable, NdtParams};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::path::PathBuf;

/// Sums over the points of each cell of a map, in whole numbers: parts of a map that are added up
/// and taken away again without error.
///
/// Equal points give equal sums, bit by bit, in any order, in any number of parts and on any
/// device. Files are those of ``pointmill ndt build --moments``.
///
/// Parameters
/// ----------
/// resolution : float
///     Edge of a cell in metres. The lattice is anchored at zero of the points' frame.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from pointmill import ndt
/// >>> tile = lambda x: np.array([[x + 0.25 + 0.5 * (i % 3), 0.25 + 0.5 * (i // 3), 0.5] for i in range(9)])
/// >>> west, east = ndt.Moments(2.0), ndt.Moments(2.0)
/// >>> west.add(tile(0.0))
/// >>> east.add(tile(2.0))
/// >>> west.merge(east)
/// >>> len(west), west.points
/// (2, 18)
/// >>> west.subtract(east)
/// >>> west.grid().mean.tolist()
/// [[0.75, 0.75, 0.5]]
#[pyclass(frozen, weakref, name = "Moments", module = "pointmill.ndt")]
pub(crate) struct NdtMoments(Shared<Moments>);

#[pymethods]
impl NdtMoments {
    #[new]
    #[pyo3(signature = (resolution, *, origin = None))]
    fn new(resolution: f64, origin: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let origin = poses::origin(origin, "origin")?.unwrap_or_default();
        let moments = Moments::new(resolution).and_then(|moments| moments.about(origin));
        Ok(Self(Shared::new(moments.or_raise(NAMES)?)))
    }

    /// Read the sums that a file holds.
    ///
    /// Parameters
    /// ----------
    /// path : str or path
    ///     An Arrow file (.arrow) of :meth:`save` or of ``pointmill ndt build --moments``.
    #[staticmethod]
    fn load(py: Python<'_>, #[pyo3(from_py_with = crate::args::plain)] path: PathBuf) -> PyResult<Self> {
        let moments = detached(py, || pointmill_data::read_ndt_moments(&path).map(|table| Moments::from_table(&table)));
        Ok(Self(Shared::new(moments.map_err(file)?.or_raise(NAMES)?)))
    }

    /// Write the sums to a file, whole or not at all. Equal sums give equal bytes.
    ///
    /// Parameters
    /// ----------
    /// path : str or path
    ///     The file, by convention named .arrow.
    fn save(&self, py: Python<'_>, #[pyo3(from_py_with = crate::args::plain)] path: PathBuf) -> PyResult<()> {
        let table = self.0.with(py, |moments| moments.table()).or_raise(NAMES)?;
        detached(py, || pointmill_data::write_ndt_moments(pointmill_io::Place::named(&path), &table)).map_err(file)
    }

    /// Add the points of a cloud, on its device. Points that are not finite are left out and
    /// counted.
    ///
    /// Parameters
    /// ----------
    /// points : Scan, array or list, ``[N, 3]``
    ///     x, y, z in metres; further columns are not used.
    /// origin : 3 floats, optional
    ///     What is added to each point of float32. The origin of the sums is subtracted from all points.
    #[pyo3(signature = (points, *, origin = None))]
    fn add(&self, py: Python<'_>, points: &Bound<'_, PyAny>, origin: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let cloud = Cloud::read(points, "points", origin, "origin")?;
        let place = cloud.place();
        let moments = self.0.clone();
        cloud.run(py, Effort::of(place, cloud.len(), SHORT), NAMES, move |points| {
            if place == Place::Cpu {
                return moments.lock().add(points);
            }
            let lattice = *moments.lock().lattice();
            let builder = NdtBuilder::new(&own_stream(place)?, lattice.unit(), &NdtParams::default())?;
            let mut builder = builder.about(lattice.origin())?;
            builder.add(points)?;
            moments.lock().merge(&builder.moments()?)
        })
    }

    /// Add the points of other sums of the same resolution.
    fn merge(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        let other = other.0.with(py, |other| other.clone());
        self.0.with(py, |moments| moments.merge(&other)).or_raise(NAMES)
    }

    /// Take away points that were added before, as the sums of a part of the map.
    fn subtract(&self, py: Python<'_>, part: &Self) -> PyResult<()> {
        let part = part.0.with(py, |part| part.clone());
        self.0.with(py, |moments| moments.subtract(&part)).or_raise(NAMES)
    }

    /// Make the grid of the sums.
    ///
    /// Parameters
    /// ----------
    /// covariance, min_points, eigen_ratio
    ///     As of :class:`Grid`.
    /// like : array, optional
    ///     An array of the library and on the device that the grid is to have; of numpy otherwise.
    ///
    /// Returns
    /// -------
    /// Grid
    #[pyo3(signature = (*, like = None, **params),
        text_signature = "($self, *, covariance=\"autoware\", min_points=6, eigen_ratio=0.01, like=None)")]
    fn grid(
        &self,
        py: Python<'_>,
        like: Option<&Bound<'_, PyAny>>,
        params: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<NdtGrid> {
        let params = NdtParams::default().with("Moments.grid", params)?;
        let like = like_array(py, like)?;
        let (moments, place) = (self.0.clone(), like.place());
        let grid = detached(py, move || {
            let (cells, lattice) = {
                let moments = moments.lock();
                (moments.finish(&params)?, *moments.lattice())
            };
            Grid::from_cells(cells, lattice, &own_stream(place)?)
        });
        NdtGrid::of(grid.or_raise(NAMES)?, &like)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let py = slf.py();
        let table = slf.get().0.with(py, |moments| moments.table()).or_raise(NAMES)?;
        let fields = PyDict::new(py);
        fields.set_item("resolution", table.lattice.unit())?;
        fields.set_item("points", table.points)?;
        fields.set_item("non_finite", table.non_finite)?;
        fields.set_item("origin", table.lattice.origin())?;
        let column = |of: fn(&([i32; 3], Sums)) -> Vec<i64>| -> Vec<i64> { table.cells.iter().flat_map(of).collect() };
        fields.set_item("coords", bytes(py, &table.cells.iter().map(|(cell, _)| *cell).collect::<Vec<_>>()))?;
        fields.set_item("counts", bytes(py, &table.cells.iter().map(|(_, sums)| sums.count).collect::<Vec<_>>()))?;
        fields.set_item("sums", bytes(py, &column(|(_, sums)| sums.sum.to_vec())))?;
        fields.set_item("products", bytes(py, &column(|(_, sums)| sums.products.to_vec())))?;
        pickle::way_back(slf, fields)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        let coords: Vec<[i32; 3]> = values(fields, "coords")?;
        let counts: Vec<u32> = values(fields, "counts")?;
        let sums: Vec<[i64; 3]> = values(fields, "sums")?;
        let products: Vec<[i64; 6]> = values(fields, "products")?;
        for (name, rows) in [("counts", counts.len()), ("sums", sums.len()), ("products", products.len())] {
            if rows != coords.len() {
                return Err(value(name, format_args!("{} rows", coords.len()), rows));
            }
        }
        let sums = counts.into_iter().zip(sums).zip(products);
        let sums = sums.map(|((count, sum), products)| Sums { count, sum, products });
        let moments = Moments::new(field(fields, "resolution")?).or_raise(NAMES)?;
        let table = NdtMomentsTable {
            lattice: moments.lattice().about(field(fields, "origin")?),
            points: field(fields, "points")?,
            non_finite: field(fields, "non_finite")?,
            cells: coords.into_iter().zip(sums).collect(),
        };
        Ok(Self(Shared::new(Moments::from_table(&table).or_raise(NAMES)?)))
    }

    fn __len__(&self) -> usize {
        self.0.lock().len()
    }

    fn __eq__(&self, py: Python<'_>, other: &Self) -> bool {
        let (one, other) = (&self.0, &other.0);
        detached(py, || one.is(other) || *one.lock() == other.lock().clone())
    }

    fn __repr__(&self) -> String {
        let moments = self.0.lock();
        format!("Moments({} points in {} cells of {} m)", moments.points(), moments.len(), moments.lattice().unit())
    }

    /// Edge of a cell in metres.
    #[getter]
    fn resolution(&self) -> f64 {
        self.0.lock().lattice().unit()
    }

    /// ``(x, y, z)``: what cells are relative to, in metres.
    #[getter]
    fn origin(&self) -> (f64, f64, f64) {
        self.0.lock().lattice().origin().into()
    }

    /// The number of points that were added, those that are not finite included.
    #[getter]
    fn points(&self) -> u64 {
        self.0.lock().points()
    }

    /// The number of points with a coordinate that is not finite.
    #[getter]
    fn non_finite(&self) -> u64 {
        self.0.lock().non_finite()
    }
}
