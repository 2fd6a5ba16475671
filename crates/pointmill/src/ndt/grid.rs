//! A grid on its device: looking up, scoring, aligning.

use super::align::{Task, about};
use super::cells::each_array;
use super::determined::is_determined;
use super::near::Near;
use super::sample;
use super::{NdtAlignParams, NdtCells, NdtFit, NdtNeighbours, NdtRegistration, NdtReport, cpu, gpu};
use crate::device::{Device, Stream};
use crate::registration::check_pose;
use crate::rows::check_origin;
use crate::{Argument, Error, Pose, Result, Rows, ensure, memory, par};
use pointmill_core::eigen::eigen;
use pointmill_core::names;
use pointmill_core::ndt::{NdtAlignment, NdtLattice, in_lattice, key_of, state};
use pointmill_core::rigid::{add, subtract};
use rayon::prelude::*;
use std::sync::OnceLock;

/// Neighbourhoods of a cell. The name of each is its number of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Neighbourhood {
    /// The cell itself.
    One,
    /// The cell and the six that share a face with it.
    Seven,
    /// The cell and all that share a face, an edge or a corner with it.
    TwentySeven,
}

names!(Neighbourhood { One = "1", Seven = "7", TwentySeven = "27" });

/// Cells of normal distributions on a device, with an index of them: a map to match scans against.
///
/// **Large coordinates**: a grid [about an origin](super::NdtBuilder::about) has its cells and
/// means about it. Scans, points and poses come and go as they are, in the frame of the map,
/// without the origin subtracted. A scan about an origin of its own is aligned about that one, so
/// that its coordinates are small.
///
/// **Order**: rows by (z, y, x) of the cell. **Determinism**: all answers have the same bits on
/// every device, for any number of threads and in every run.
///
/// ```
/// use pointmill::ndt::{NdtAlignParams, NdtParams, ndt_grid};
/// use pointmill::{Device, Pose, Rows};
///
/// // A corner of a room: a floor and two walls, a point every ten centimetres.
/// let mut points = Vec::new();
/// for i in 0..60 {
///     for j in 0..60 {
///         let (a, b) = (i as f32 * 0.1 + 0.05, j as f32 * 0.1 + 0.05);
///         points.extend([a, b, 0.0, /**/ 0.0, a, b, /**/ a, 0.0, b]);
///     }
/// }
/// let grid = ndt_grid(Rows::f32(&points, 3)?, 1.0, &NdtParams::default(), &Device::auto())?;
///
/// // A scan of it, with a guess that is 25 cm and 2 degrees off.
/// let scan: Vec<f32> = points.chunks_exact(3).step_by(7).flatten().copied().collect();
/// let guess = Pose::from_xyzrpy([0.2, -0.15, 0.1, 0.0, 0.0, 0.03])?;
/// let found = &grid.align(Rows::f32(&scan, 3)?, &[guess], &NdtAlignParams::default())?[0];
/// assert!(found.converged());
/// assert!(found.target_from_source.xyzrpy().iter().all(|x| x.abs() < 0.02));
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct NdtGrid {
    pub(super) stream: Stream,
    pub(super) lattice: NdtLattice,
    pub(super) report: NdtReport,
    pub(super) place: Place,
    /// The cells of a device on the host, once an alignment was looked at.
    pub(super) beside: OnceLock<Box<cpu::Grid>>,
}

#[derive(Debug)]
pub(super) enum Place {
    Host(Box<cpu::Grid>),
    Device(Box<gpu::Grid>),
}

impl NdtGrid {
    pub(super) fn on_host(stream: &Stream, lattice: NdtLattice, cells: NdtCells) -> Result<Self> {
        let report = cells.report;
        let place = Place::Host(Box::new(cpu::Grid::new(lattice, cells)?));
        Ok(Self { stream: stream.clone(), lattice, report, place, beside: OnceLock::new() })
    }

    /// A grid of cells that were made before, such as those of a file; of their values, `coords`,
    /// `mean` and `inverse` are what searches, scores and alignments use.
    ///
    /// # Errors
    /// A lattice about an origin that is not finite; arrays of different lengths, cells that do not
    /// ascend by (z, y, x) or are outside of the lattice, means outside of their cells, inverses
    /// that are not positive definite.
    pub fn from_cells(cells: NdtCells, lattice: NdtLattice, stream: &Stream) -> Result<Self> {
        check_origin(lattice.origin())?;
        check_cells(&cells, &lattice)?;
        if stream.device().is_cpu() {
            return Self::on_host(stream, lattice, cells);
        }
        let report = cells.report;
        let grid = gpu::Grid::upload(stream, &cells)?;
        let place = Place::Device(Box::new(grid));
        Ok(Self { stream: stream.clone(), lattice, report, place, beside: OnceLock::new() })
    }

    /// The device of the cells.
    pub fn device(&self) -> Device {
        self.stream.device()
    }

    /// The lattice of the cells.
    pub const fn lattice(&self) -> &NdtLattice {
        &self.lattice
    }

    /// What became of points and cells.
    pub const fn report(&self) -> &NdtReport {
        &self.report
    }

    /// The number of rows, V. A grid may be empty; its report says why.
    pub const fn len(&self) -> usize {
        self.report.voxels
    }

    /// Whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cells on the host.
    ///
    /// # Errors
    /// Whatever the device's work ran into.
    pub fn read(&self) -> Result<NdtCells> {
        match &self.place {
            Place::Host(grid) => super::cells::copied(&grid.cells),
            Place::Device(grid) => grid.read(self.report),
        }
    }

    /// The row of each cell (x, y, z), or -1.
    ///
    /// # Errors
    /// Out of memory, or whatever the device's work ran into.
    pub fn lookup(&self, cells: &[[i32; 3]]) -> Result<Vec<i32>> {
        match &self.place {
            Place::Host(grid) => memory::collect(cells.iter().map(|cell| grid.lookup(*cell))),
            Place::Device(grid) => grid.lookup(&self.lattice, cells),
        }
    }

    /// The rows around the cell of each point; none for a point that has no cell.
    ///
    /// **Shapes, order**: see [`NdtNeighbours`].
    ///
    /// # Errors
    /// Points on another device; too many rows; out of memory.
    pub fn neighbours<'a>(&self, points: impl Into<Rows<'a>>, neighbourhood: Neighbourhood) -> Result<NdtNeighbours> {
        let cells = match neighbourhood {
            Neighbourhood::One => 1,
            Neighbourhood::Seven => 7,
            Neighbourhood::TwentySeven => 27,
        };
        self.search(points.into(), Near::Around(cells))
    }

    /// All rows whose mean lies strictly within `radius` metres of each point; none for a point
    /// that is not finite.
    ///
    /// **Shapes, order**: see [`NdtNeighbours`]. However large the radius is, no row is left out.
    ///
    /// # Errors
    /// A radius that is not finite and positive; points on another device; too many rows; out of
    /// memory.
    pub fn radius_search<'a>(&self, points: impl Into<Rows<'a>>, radius: f64) -> Result<NdtNeighbours> {
        ensure(radius.is_finite() && radius > 0.0, Argument::Radius, "a finite radius > 0 m", radius)?;
        self.search(points.into(), Near::Within(radius))
    }

    fn search(&self, points: Rows<'_>, near: Near) -> Result<NdtNeighbours> {
        points.check_points(Argument::Points, &self.stream)?;
        let points = points.relative_to(self.lattice.origin());
        match &self.place {
            Place::Host(grid) => self.device().install(|| grid.search(&points, near, &self.stream)),
            Place::Device(grid) => {
                self.stream.in_order(&[points.stream()], || grid.search(&self.lattice, &points, near))
            }
        }
    }

    /// How well a scan fits at each of some poses. Each point is scored against every cell whose
    /// mean lies within the edge of a cell from it.
    ///
    /// **Units and frames**: the scan in metres, in the frame of the sensor; each pose takes that
    /// frame to the frame of the map. **Order**: as the poses.
    ///
    /// # Errors
    /// A pose that is not rigid; a scan on another device; out of memory.
    pub fn score<'a>(&self, scan: impl Into<Rows<'a>>, poses: &[Pose]) -> Result<Vec<NdtFit>> {
        let scan = scan.into();
        poses.iter().try_for_each(|pose| check_pose(Argument::Pose, pose))?;
        scan.check_points(Argument::Scan, &self.stream)?;
        let (scan, origins) = self.local(scan);
        let poses = memory::collect(poses.iter().map(|pose| about(pose, origins).of_xyzrpy()))?;
        let sums = match &self.place {
            Place::Host(grid) => self.device().install(|| -> Result<_> {
                let sums = memory::collect_parallel(
                    poses.par_iter().with_min_len(par::grain(1)).map(|pose| grid.score(&scan, pose)),
                )?;
                let mut whole = Vec::new();
                memory::room(&mut whole, sums.len())?;
                sums.into_iter().try_for_each(|sums| sums.map(|sums| whole.push(sums)))?;
                Ok(whole)
            })?,
            Place::Device(grid) => {
                self.stream.in_order(&[scan.stream()], || grid.score(&self.lattice, &scan, &poses))?
            }
        };
        memory::collect(sums.into_iter().map(|sums| NdtFit::new(scan.len(), sums)))
    }

    /// The sum of each point's terms at a pose, and the largest term; zeros for a point without a
    /// cell within reach.
    ///
    /// # Errors
    /// As [`NdtGrid::score`].
    pub fn point_scores<'a>(&self, scan: impl Into<Rows<'a>>, pose: &Pose) -> Result<Vec<[f64; 2]>> {
        let scan = scan.into();
        check_pose(Argument::Pose, pose)?;
        scan.check_points(Argument::Scan, &self.stream)?;
        let (scan, origins) = self.local(scan);
        let pose = about(pose, origins).of_xyzrpy();
        match &self.place {
            Place::Host(grid) => self.device().install(|| grid.point_scores(&scan, &pose)),
            Place::Device(grid) => {
                self.stream.in_order(&[scan.stream()], || grid.point_scores(&self.lattice, &scan, &pose))
            }
        }
    }

    /// The pose near each of some guesses at which a scan fits best.
    ///
    /// **Method**: Newton's, damped as Levenberg and Marquardt do, with steps of limited length; no
    /// step makes the fit worse.
    ///
    /// **Units, frames and order**: as [`NdtGrid::score`]. A scan that meets no cell keeps its
    /// guess, with the status [`NoPairs`](crate::registration::Status::NoPairs). **Waiting**: on a
    /// GPU the host waits once for every eight steps.
    ///
    /// # Errors
    /// Parameters out of range; else as [`NdtGrid::score`].
    pub fn align<'a>(
        &self,
        scan: impl Into<Rows<'a>>,
        guesses: &[Pose],
        params: &NdtAlignParams,
    ) -> Result<Vec<NdtRegistration>> {
        params.validate()?;
        let mut task = self.task(scan.into(), guesses, params)?;
        self.run(std::slice::from_mut(&mut task))?;
        self.judge(std::slice::from_mut(&mut task))?;
        task.registrations()
    }

    /// As [`NdtGrid::align`], of many scans in one call, each with its guesses.
    ///
    /// **Order**: as the scans, and for each scan as its guesses. **Determinism**: each result has
    /// the bits that [`NdtGrid::align`] returns for its scan. On the CPU threads share the
    /// alignments. On a GPU each step of all alignments is one launch, and the host waits once for
    /// every eight steps of all; blocks are counted by the largest scan, so that scans of similar
    /// size are the fastest.
    ///
    /// # Errors
    /// Outside: parameters out of range, out of memory, a lost device; then no scan has a result.
    /// Inside, for one scan: a guess that is not rigid, a scan on another device or about an origin
    /// that is refused; the other scans have their results.
    ///
    /// ```
    /// use pointmill::ndt::{NdtAlignParams, NdtParams, ndt_grid};
    /// use pointmill::{Device, Pose, Rows};
    /// // A floor and two walls, and what a sensor sees of them from two places.
    /// let mut room = Vec::new();
    /// for i in 0..60 {
    ///     for j in 0..60 {
    ///         let (a, b) = (i as f32 * 0.1 + 0.05, j as f32 * 0.1 + 0.05);
    ///         room.extend([[a, b, 0.0], [0.0, a, b], [a, 0.0, b]]);
    ///     }
    /// }
    /// let grid = ndt_grid(Rows::f32(room.as_flattened(), 3)?, 1.0, &NdtParams::default(), &Device::auto())?;
    /// let seen = |x: f32| -> Vec<f32> { room.iter().step_by(7).flat_map(|p| [p[0] - x, p[1], p[2]]).collect() };
    /// let (first, second) = (seen(0.1), seen(0.2));
    /// let guesses = [Pose::IDENTITY];
    /// let scans = [(Rows::f32(&first, 3)?, &guesses[..]), (Rows::f32(&second, 3)?, &guesses[..])];
    /// let found = grid.align_many(&scans, &NdtAlignParams::default())?;
    /// for (found, x) in found.into_iter().zip([0.1, 0.2]) {
    ///     assert!((found?[0].target_from_source.translation()[0] - x).abs() < 0.02);
    /// }
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    pub fn align_many(
        &self,
        scans: &[(Rows<'_>, &[Pose])],
        params: &NdtAlignParams,
    ) -> Result<Vec<Result<Vec<NdtRegistration>>>> {
        params.validate()?;
        let mut tasks = Vec::new();
        let mut refused = Vec::new();
        for (scan, guesses) in scans {
            let (task, error) = match self.task(*scan, guesses, params) {
                Ok(task) => (Some(task), None),
                Err(error) => (None, Some(error)),
            };
            memory::push(&mut refused, error)?;
            task.map_or(Ok(()), |task| memory::push(&mut tasks, task))?;
        }
        self.run(&mut tasks)?;
        self.judge(&mut tasks)?;
        let mut tasks = tasks.iter();
        memory::collect(refused.into_iter().map(|error| match error {
            Some(error) => Err(error),
            None => tasks.next().expect("a task of each scan that was not refused").registrations(),
        }))
    }

    /// The checked task of a scan.
    fn task<'a>(&self, scan: Rows<'a>, guesses: &[Pose], params: &NdtAlignParams) -> Result<Task<'a>> {
        guesses.iter().try_for_each(|guess| check_pose(Argument::Guess, guess))?;
        scan.check_points(Argument::Scan, &self.stream)?;
        let (scan, origins) = self.local(scan);
        scan.check_shift()?;
        let sample = sample::runs(&scan)?;
        let pivot = sample::pivot(&sample, [0.0; 3], 0.0)?;
        if pivot == [0.0; 3] {
            return Task::new((scan, sample), origins, guesses, params);
        }
        let about = |p: [f64; 3]| subtract(p, pivot);
        let (scan, sample) = (scan.relative_to(pivot), memory::collect(sample.into_iter().map(about))?);
        Task::new((scan, sample), [add(origins[0], pivot), origins[1]], guesses, params)
    }

    /// Marks the alignments that ended at a pose that scan and map do not determine.
    fn judge(&self, tasks: &mut [Task<'_>]) -> Result<()> {
        let ended = |one: &NdtAlignment| matches!(one.state, state::CONVERGED | state::MAX_ITERATIONS);
        if !tasks.iter().any(|task| task.alignments.iter().any(ended)) {
            return Ok(());
        }
        let map = match &self.place {
            Place::Host(grid) => grid,
            Place::Device(_) => self.beside()?,
        };
        let judged = |Task { scan, sample, alignments, limits, .. }: &mut Task<'_>| {
            for one in alignments.iter_mut().filter(|one| ended(one)) {
                let pose = one.target_from_source();
                // What a part of the scan leaves open, points of all of it decide.
                if !is_determined(map, sample, pose.rigid(), limits)?
                    && !is_determined(map, &sample::spaced(scan)?, pose.rigid(), limits)?
                {
                    one.state = state::SINGULAR;
                }
            }
            Ok(())
        };
        self.device().install(|| tasks.par_iter_mut().with_min_len(par::grain(1)).try_for_each(judged))
    }

    /// The cells of a device on the host.
    fn beside(&self) -> Result<&cpu::Grid> {
        if self.beside.get().is_none() {
            let grid = Box::new(cpu::Grid::new(self.lattice, self.read()?)?);
            self.beside.get_or_init(|| grid);
        }
        Ok(self.beside.get().expect("cells that were read"))
    }

    /// Runs all alignments of tasks to their ends.
    pub(super) fn run(&self, tasks: &mut [Task<'_>]) -> Result<()> {
        match &self.place {
            Place::Host(grid) => self.device().install(|| {
                let grain = par::grain(1);
                tasks.par_iter_mut().with_min_len(grain).try_for_each(|Task { scan, alignments, limits, .. }| {
                    alignments.par_iter_mut().with_min_len(grain).try_for_each(|one| grid.align(scan, one, limits))
                })
            }),
            Place::Device(grid) => {
                let streams: Vec<_> = tasks.iter().map(|task| task.scan.stream()).collect();
                self.stream.in_order(&streams, || grid.align(&self.lattice, tasks))
            }
        }
    }

    /// A scan about its origin, with this origin and the one of the map.
    fn local<'a>(&self, scan: Rows<'a>) -> (Rows<'a>, [[f64; 3]; 2]) {
        let own = scan.origin();
        match self.lattice.origin() {
            // The scan of a map about zero is scored where its points are.
            [0.0, 0.0, 0.0] => (scan, [[0.0; 3]; 2]),
            map => (scan.relative_to(own), [own, map]),
        }
    }
}

/// Whether a matrix is the inverse of a covariance but for rounding, which with an eigenvalue ratio
/// of zero may leave the least eigenvalue below zero.
fn is_inverse(matrix: &[f64; 6], edge: f64) -> bool {
    let [least, _, largest] = eigen(*matrix).values;
    // Terms are powers of e, computed up to 700, and points are scored up to an edge from a mean.
    let lowest = (least - 1e-15 * largest) * edge * edge;
    largest > 0.0 && least >= -1e-12 * largest && lowest > -600.0
}

/// Checks cells that come from outside.
fn check_cells(cells: &NdtCells, lattice: &NdtLattice) -> Result<()> {
    let len = cells.len();
    macro_rules! lengths {
        ($($array:ident: $type:ty,)+) => { [$(cells.$array.len()),+] };
    }
    if let Some(other) = each_array!(lengths).into_iter().find(|other| *other != len) {
        return Err(Error::argument(Argument::Cells, format!("arrays of {len} rows"), format!("one of {other}")));
    }
    let expected = format_args!("a report of {len} voxels");
    ensure(cells.report.voxels == len, Argument::Cells, expected, cells.report.voxels)?;
    if let Some(cell) = cells.coords.iter().find(|cell| !in_lattice(**cell)) {
        return Err(Error::argument(Argument::Cells, "coordinates from -2^20 to below 2^20", format!("{cell:?}")));
    }
    if let Some(pair) = cells.coords.windows(2).find(|pair| key_of(pair[0]) >= key_of(pair[1])) {
        return Err(Error::argument(Argument::Cells, "coordinates that ascend by (z, y, x)", format!("{pair:?}")));
    }
    // Searches look for a mean in its own cell.
    let edge = lattice.unit();
    for (row, cell) in cells.coords.iter().enumerate() {
        let center = lattice.center(*cell);
        let inside = (0..3).all(|i| (cells.mean[row][i] - center[i]).abs() <= edge * 0.500_000_1);
        let expected = "means within their cells, and positive definite inverses";
        let got = format_args!("mean {:?}, inverse {:?} in cell {cell:?}", cells.mean[row], cells.inverse[row]);
        ensure(inside && is_inverse(&cells.inverse[row], edge), Argument::Cells, expected, got)?;
    }
    Ok(())
}
