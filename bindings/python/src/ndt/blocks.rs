//! Maps by blocks as a class.

use super::grid::NdtGrid;
use super::store::MapPlace;
use super::{NAMES, SHORT, like_array};
use crate::cloud::{Cloud, own_stream};
use crate::ending::detached;
use crate::errors::{OrRaise, data, file, value};
use crate::interrupt::Effort;
use crate::keywords::Keywords;
use crate::pickle::{self, MadeAgain};
use crate::poses::{self, matrix, numbers};
use crate::shared::Shared;
use pointmill::ndt::{NdtBuilder, NdtGrid as Grid, NdtMoments as Moments, NdtParams, NdtReport};
use pointmill::{Device, Rows};
use pointmill_data::maps::BLOCK;
use pointmill_data::{BlockMap, BlockRow, BlockSettings, DataError};
use pointmill_io::Limits;
use pointmill_slam::localize::{LocalizerMap, LocalizerParams};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// A map by blocks in a folder: squares of the plane with files of their own, which any number of
/// processes may add to at the same time.
///
/// Every file's name and bytes depend on its input alone, so work may be repeated, shuffled and
/// killed. After all inputs are added, each block is merged; the blocks together are the cells of
/// one map of all inputs, bit by bit. The command ``pointmill ndt build --blocks`` makes such
/// folders too.
///
/// Parameters
/// ----------
/// path : str or path
///     The folder. Without ``resolution`` it must hold a map.
/// resolution : float, optional
///     Edge of a cell in metres. The folder is made if there is none; a map of other settings, or made by another version of pointmill, is a ``ValueError``.
/// block : float
///     Edge of a block in metres, rounded to whole cells.
/// covariance, min_points, eigen_ratio
///     As of :class:`Grid`.
/// origin : 3 floats, optional
///     The point in metres that cells and blocks are counted from, such as ``[515000, 4918000, 0]`` for survey coordinates. All inputs share it, and it is subtracted from them in float64; poses and places stay global.
/// device : str
///     The device that sums points: ``"cpu"``, ``"cuda:0"``, ...
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> import numpy as np
/// >>> from pointmill import ndt
/// >>> folder = os.path.join(tempfile.mkdtemp(), "map")
/// >>> blocks = ndt.BlockMap(folder, resolution=2.0, block=128.0)
/// >>> tile = np.array([[0.25 + 0.5 * (i % 3), 0.25 + 0.5 * (i // 3), 0.5] for i in range(9)])
/// >>> blocks.add("west", tile)["blocks"]
/// ['0_0']
/// >>> east = np.eye(4)
/// >>> east[0, 3] = 128.0
/// >>> blocks.add("east", tile, pose=east)["blocks"]
/// ['1_0']
/// >>> [blocks.merge(block)["voxels"] for block in blocks.blocks]
/// [1, 1]
/// >>> [row["input"] for row in blocks.finish()]
/// ['east', 'west']
/// >>> ndt.BlockMap(folder).grid().mean.tolist()
/// [[0.75, 0.75, 0.5], [128.75, 0.75, 0.5]]
#[pyclass(frozen, weakref, name = "BlockMap", module = "pointmill.ndt")]
pub(crate) struct NdtBlockMap(SummedMap);

/// A map by blocks, and what sums its inputs.
#[derive(Clone)]
pub(crate) struct SummedMap {
    pub(crate) blocks: BlockMap,
    device: Device,
    /// Made with the first input, and kept for all.
    builder: Shared<Option<NdtBuilder>>,
}

impl SummedMap {
    /// The moments of the points that `add` adds.
    pub(crate) fn sum<E: From<pointmill::Error>>(
        &self,
        add: impl FnOnce(&mut NdtBuilder) -> Result<(), E>,
    ) -> Result<Moments, E> {
        let mut builder = self.builder.lock();
        let builder = match &mut *builder {
            Some(builder) => builder,
            none => none.insert(self.blocks.builder(&self.device)?),
        };
        builder.clear()?;
        add(builder)?;
        Ok(builder.moments()?)
    }
}

/// A row for Python.
#[derive(IntoPyObject)]
pub(crate) struct Row {
    input: String,
    points: u64,
    blocks: Vec<String>,
    error: Option<String>,
}

impl Row {
    /// The row of an input that failed.
    pub(crate) const fn failed(input: String, error: String) -> Self {
        Self { input, points: 0, blocks: Vec::new(), error: Some(error) }
    }
}

impl From<BlockRow> for Row {
    fn from(BlockRow { input, points, blocks, error, .. }: BlockRow) -> Self {
        Self { input, points, blocks, error }
    }
}

/// A merged block for Python.
#[derive(IntoPyObject)]
struct Merged {
    points: u64,
    cells: usize,
    voxels: usize,
}

/// The block of a name such as ``"3_-1"``.
fn block_of(name: &str) -> PyResult<[i32; 2]> {
    BlockMap::block_of(name).ok_or_else(|| value("block", "a name such as \"3_-1\"", format_args!("{name:?}")))
}

impl NdtBlockMap {
    pub(crate) const fn device(&self) -> &Device {
        &self.0.device
    }

    pub(crate) const fn summed(&self) -> &SummedMap {
        &self.0
    }

    pub(crate) const fn map(&self) -> &BlockMap {
        &self.0.blocks
    }

    /// The map for a localizer with these parameters, which loads the blocks within their reach.
    pub(crate) fn tiles(&self, params: &LocalizerParams) -> pointmill::Result<LocalizerMap> {
        self.map().localizer_map(params, &Limits::default())
    }
}

#[pymethods]
impl NdtBlockMap {
    #[new]
    #[pyo3(
        signature = (path, *, resolution = None, block = BLOCK, origin = None, device = "cpu", **params),
        text_signature = "(path, *, resolution=None, block=128.0, covariance=\"autoware\", min_points=6, eigen_ratio=0.01, origin=None, device=\"cpu\")"
    )]
    fn new(
        py: Python<'_>,
        path: MapPlace,
        #[pyo3(from_py_with = crate::args::plain)] resolution: Option<f64>,
        #[pyo3(from_py_with = crate::args::plain)] block: f64,
        origin: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = crate::args::plain)] device: &str,
        params: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let device: Device = device.parse().map_err(|error| value("device", "cpu or cuda:N", error))?;
        let NdtParams { covariance, min_points, eigen_ratio } =
            NdtParams::default().with("BlockMap.__new__", params)?;
        let map = match resolution {
            None => detached(py, || BlockMap::open_in(path.0)).map_err(file)?,
            Some(resolution) => {
                Moments::new(resolution).or_raise(NAMES)?;
                let origin = poses::origin(origin, "origin")?.unwrap_or_default();
                let settings = BlockSettings::new(resolution, block, covariance, min_points, eigen_ratio);
                let settings = settings.and_then(|settings| settings.about(origin)).map_err(file)?;
                detached(py, || BlockMap::create_in(path.0, &settings)).map_err(file)?
            }
        };
        map.settings().params().validate().or_raise(NAMES)?;
        Ok(Self(SummedMap { blocks: map, device, builder: Shared::default() }))
    }

    /// Add an input: its sums, split by block, and then its row. What was there under its name is
    /// replaced.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     The name of the input; :meth:`name_of` makes that of a file.
    /// points : Scan, array or list, ``[N, 3]``
    ///     x, y, z in metres; further columns are not used. Of a :class:`~pointmill.Scan` all bits of the file.
    /// pose : array, ``[4, 4]``, optional
    ///     The pose from the frame of the points to the frame of the map. It takes points of the host.
    /// origin : 3 floats, optional
    ///     What is added to each point of float32.
    /// state : str
    ///     What tells a version of the input from another, for :meth:`keeps`; :meth:`state_of` makes that of a file.
    ///
    /// Returns
    /// -------
    /// dict
    ///     ``input``, ``points``, ``blocks`` and ``error``, which is None.
    #[pyo3(signature = (name, points, *, pose = None, origin = None, state = ""))]
    fn add(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = crate::args::plain)] name: &str,
        points: &Bound<'_, PyAny>,
        pose: Option<&Bound<'_, PyAny>>,
        origin: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = crate::args::plain)] state: &str,
    ) -> PyResult<Row> {
        let pose = pose.map(|pose| matrix(pose, "pose")).transpose()?;
        let cloud = Cloud::read(points, "points", origin, "origin")?;
        let map = self.0.clone();
        let effort = Effort::of(cloud.place(), cloud.len(), SHORT).whole();
        let parts = cloud.run(py, effort, NAMES, move |points| {
            let moments = map.sum(|builder| match pose {
                None => builder.add(points),
                Some(pose) => builder.add(Rows::f64(&points.moved(&pose)?, 3)?),
            })?;
            map.blocks.split(&moments)
        })?;
        Ok(detached(py, || self.map().put(name, state, &parts)).map_err(file)?.into())
    }

    /// Note that an input failed, and remove what there was of it.
    fn refuse(&self, py: Python<'_>, name: &str, error: &str) -> PyResult<Row> {
        Ok(detached(py, || self.map().refuse(name, error)).map_err(file)?.into())
    }

    /// Remove an input. Returns the names of the blocks that are to be merged again.
    fn remove(&self, py: Python<'_>, name: &str) -> PyResult<Vec<String>> {
        detached(py, || self.map().remove(name)).map_err(file)
    }

    /// The row of an input that is done, if it was added with the same state and its files are
    /// there; None otherwise.
    fn keeps(&self, py: Python<'_>, name: &str, state: &str) -> PyResult<Option<Row>> {
        Ok(detached(py, || self.map().keeps(name, state)).map_err(file)?.map(Row::from))
    }

    /// Merge the inputs of a block, and write its files.
    ///
    /// Parameters
    /// ----------
    /// block : str
    ///     The name of the block, one of :attr:`blocks`.
    ///
    /// Returns
    /// -------
    /// dict
    ///     ``points``, ``cells`` and ``voxels`` of the block.
    fn merge(&self, py: Python<'_>, block: &str) -> PyResult<Merged> {
        let block = block_of(block)?;
        let merged = || -> Result<_, DataError> {
            self.map().check()?;
            self.map().merge(block, &Limits::default(), &())
        };
        let report = detached(py, merged).map_err(|e| data(e, NAMES))?;
        let NdtReport { points, cells, voxels, .. } = report;
        Ok(Merged { points, cells, voxels })
    }

    /// Check that all files of all inputs are there, and write ``manifest.jsonl``. Returns the rows
    /// of all inputs, in the natural order of their names.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<Row>> {
        let rows = detached(py, || self.map().finish()).map_err(file)?;
        Ok(rows.into_iter().map(Row::from).collect())
    }

    /// The grid of the merged blocks near some places, or of all. Files of other blocks are not
    /// needed. A block that has points but is not merged is a ``ValueError``.
    ///
    /// Parameters
    /// ----------
    /// near : array, ``[P, 2]`` or ``[P, 3]``, optional
    ///     Places in metres, in global coordinates; z is not used.
    /// reach : float
    ///     How far around a place blocks count, along x and y. A scan whose points are within ``r`` metres of its sensor scores the same as with the whole map, if the reach is ``r`` and two edges of a cell.
    /// like : array, optional
    ///     An array of the library and on the device that the grid is to have; of numpy otherwise.
    #[pyo3(signature = (near = None, *, reach = 200.0, like = None))]
    fn grid(
        &self,
        py: Python<'_>,
        near: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = crate::args::plain)] reach: f64,
        like: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<NdtGrid> {
        let (centres, reach) = match near {
            None => (vec![[0.0; 2]], f64::INFINITY),
            Some(near) => {
                let expected = "places of shape [P, 2] or [P, 3]";
                let (values, shape) = numbers::<f64>(near, "near", expected)?;
                match shape[..] {
                    [_, columns @ (2 | 3)] => (values.chunks_exact(columns).map(|p| [p[0], p[1]]).collect(), reach),
                    _ => return Err(value("near", expected, format_args!("shape {shape:?}"))),
                }
            }
        };
        let like = like_array(py, like)?;
        let place = like.place();
        let read = detached(py, || self.map().read(&self.map().near(&centres, reach)?, &Limits::default()));
        let (cells, lattice) = read.map_err(file)?;
        let grid = detached(py, || Grid::from_cells(cells, lattice, &own_stream(place)?));
        NdtGrid::of(grid.or_raise(NAMES)?, &like)
    }

    /// The name of a file in the map: its path from the folder of the map, as
    /// ``pointmill ndt build`` names it.
    fn name_of(&self, path: PathBuf) -> String {
        self.map().name_of(path)
    }

    /// What tells a version of a file from another: its size, its time, and ``how`` it was read.
    /// Empty for what is no file.
    #[staticmethod]
    #[pyo3(signature = (path, how = ""))]
    fn state_of(path: PathBuf, how: &str) -> String {
        BlockMap::state_of(path, how)
    }

    /// The name that the files of an input have, without their ending.
    #[staticmethod]
    fn hash(name: &str) -> String {
        BlockRow::hash(name)
    }

    /// The folder is opened again.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<MadeAgain<'py>> {
        let (SummedMap { blocks, device, .. }, fields) = (&slf.get().0, PyDict::new(slf.py()));
        fields.set_item("path", std::path::absolute(blocks.folder()).unwrap_or_else(|_| blocks.folder().into()))?;
        fields.set_item("device", device.to_string())?;
        pickle::made_again(slf, &fields)
    }

    fn __repr__(&self) -> String {
        let settings = self.map().settings();
        let (folder, edge) = (self.map().folder().display(), settings.block());
        format!("BlockMap({folder}, cells of {} m, blocks of {edge} m)", settings.resolution)
    }

    /// The names of the blocks that have points, by y and x.
    #[getter]
    fn blocks(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let blocks = detached(py, || self.map().blocks()).map_err(file)?;
        Ok(blocks.into_iter().map(BlockMap::name_of_block).collect())
    }

    /// The rows of all inputs, in the natural order of their names.
    #[getter]
    fn rows(&self, py: Python<'_>) -> PyResult<Vec<Row>> {
        Ok(detached(py, || self.map().rows()).map_err(file)?.into_iter().map(Row::from).collect())
    }

    /// Edge of a cell in metres.
    #[getter]
    fn resolution(&self) -> f64 {
        self.map().settings().resolution
    }

    /// Edge of a block in metres.
    #[getter]
    fn block(&self) -> f64 {
        self.map().settings().block()
    }

    /// The point that cells and blocks are counted from, in metres.
    #[getter]
    fn origin(&self) -> (f64, f64, f64) {
        self.map().settings().origin.into()
    }
}
