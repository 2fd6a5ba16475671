//! The map that scans are matched with: a grid, or one made of moments and clouds.

use super::args::{MapArgs, RESOLUTION};
use super::files::is_moments;
use super::grid::{check, edge, warn_if_empty};
use super::records::CellsRecord;
use crate::batch::InputError;
use crate::failure::Failure;
use crate::inputs::{Inputs, ReadInput, Source, rows, warnings_of_rows};
use crate::outputs::has_extension;
use crate::pose;
use crate::printer::Printer;
use crate::stats::since;
use crate::text::shown;
use crate::{interrupt, stderr};
use pointmill::ndt::{NdtBuilder, NdtGrid, NdtLattice, NdtParams};
use pointmill::{Argument, Device, Pose};
use pointmill_data::{BlockMap, is_ndt_map, read_moments, read_ndt_map_within};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The map as it was asked for.
pub(crate) struct MapRequest<'a> {
    args: &'a MapArgs,
    sources: Vec<Source>,
    inputs: Inputs,
    params: NdtParams,
    lattice: NdtLattice,
    moved: f64,
}

/// The map and the poses, which all scans share.
pub(crate) struct Map {
    pub(crate) grid: Arc<NdtGrid>,
    /// Poses with the names of their files.
    pub(crate) poses: Vec<(String, Pose)>,
    pub(crate) warnings: Vec<String>,
    /// Time to read poses and map, and to make the map.
    pub(crate) ms: f64,
}

impl<'a> MapRequest<'a> {
    /// Checks what can be checked before any work.
    ///
    /// `moved` is how far an alignment may go from its guess, in metres: of a map by blocks only
    /// what is nearer is read.
    pub(crate) fn new(args: &'a MapArgs, moved: f64) -> Result<Self, Failure> {
        let params = args.cells.params();
        let lattice = check(args.resolution.unwrap_or(RESOLUTION), &params)?;
        let options = args.read.options()?;
        let (sources, inputs) = if BlockMap::is_one(&args.map) {
            (vec![Source::File(args.map.clone())], Inputs::find(&[], options)?.1)
        } else {
            Inputs::find(std::slice::from_ref(&args.map), options)?
        };
        Ok(Self { args, sources, inputs, params, lattice, moved })
    }

    /// The parameters of a map that is no grid yet.
    pub(crate) fn params(&self) -> CellsRecord {
        CellsRecord { resolution: self.args.resolution, params: self.params }
    }

    /// Reads poses and map, and makes the grid of the map. Each file that cannot be used is
    /// reported after so many scans, and then no scan is matched.
    pub(crate) fn load(
        &self,
        files: &[PathBuf],
        device: &Device,
        scans: &[Source],
        printer: &mut Printer,
    ) -> Result<Map, Failure> {
        let start = Instant::now();
        let all = scans.len();
        let mut failed = 0;
        let mut refuse = |index: usize, name: &str, input_error: InputError| {
            failed += 1;
            input_error.tell(printer, all + index, name)
        };
        let mut poses = Vec::new();
        for (index, path) in files.iter().enumerate() {
            match pose::read(path) {
                Ok(found) => poses.extend(found.into_iter().map(|pose| (shown(path), pose))),
                Err(e) => refuse(index, &shown(path), e.into())?,
            }
        }
        if files.is_empty() {
            poses.push(("identity".into(), Pose::IDENTITY));
        }
        let mut warnings = Vec::new();
        let near = || self.reach(scans).map(|reach| (poses.iter().map(|(_, pose)| *pose).collect(), reach));
        let grid =
            self.grid(device, near, &mut warnings, &mut |index, name, e| refuse(files.len() + index, name, e))?;
        interrupt::check()?;
        let (Some(grid), 0) = (grid, failed) else {
            return Err(Failure::Inputs { failed, inputs: all + files.len() + self.sources.len() });
        };
        warn_if_empty(&shown(&self.args.map), &grid);
        warnings.iter().for_each(stderr::warning);
        Ok(Map { grid: Arc::new(grid), poses, warnings, ms: since(start) })
    }

    /// The grid, if every part of the map can be used.
    fn grid(
        &self,
        device: &Device,
        near: impl FnOnce() -> Result<(Vec<Pose>, f64), Failure>,
        warnings: &mut Vec<String>,
        refuse: &mut dyn FnMut(usize, &str, InputError) -> Result<(), Failure>,
    ) -> Result<Option<NdtGrid>, Failure> {
        if let [Source::File(path)] = &self.sources[..]
            && (has_extension(path, "npz") || BlockMap::is_one(path))
        {
            match self.ready_made(path, near, device) {
                Ok(None) => {}
                Ok(Some(grid)) => return Ok(Some(grid)),
                Err(input_error) => return refuse(0, &shown(path), input_error).map(|()| None),
            }
        }
        let mut builder = None;
        let mut whole = true;
        for (index, source) in self.sources.iter().enumerate() {
            interrupt::check()?;
            if let Err(input_error) = self.add(&mut builder, source, device, warnings) {
                whole = false;
                refuse(index, &source.name(), input_error)?;
            }
        }
        match builder {
            Some(mut builder) if whole => Ok(Some(builder.finish()?)),
            _ => Ok(None),
        }
    }

    /// How far from a pose the points of a scan may be, along x and y. A scan that is read once
    /// only may be anywhere, and one that cannot be read fails in its turn.
    fn reach(&self, scans: &[Source]) -> Result<f64, Failure> {
        if self.moved.is_infinite() {
            return Ok(self.moved);
        }
        let mut reach = 0.0f64;
        for scan in scans {
            interrupt::check()?;
            let radius = |scan| self.inputs.read(scan).map_or(0.0, |(scan, _)| scan.radius());
            reach = reach.max(if matches!(scan, Source::Stdin) { f64::INFINITY } else { radius(scan) });
        }
        Ok(reach + self.moved)
    }

    /// The grid of a file or of the blocks near the poses; `None` if the file holds a cloud.
    fn ready_made(
        &self,
        path: &Path,
        near: impl FnOnce() -> Result<(Vec<Pose>, f64), Failure>,
        device: &Device,
    ) -> Result<Option<NdtGrid>, InputError> {
        let limits = self.args.read.limits();
        let (cells, lattice) = if path.is_dir() {
            let map = BlockMap::open(path)?;
            let (poses, reach) = near()?;
            let centres: Vec<_> = poses.iter().map(|pose| [0, 1].map(|axis| pose.translation()[axis])).collect();
            // Cells within an edge of a point count.
            map.read(&map.near(&centres, reach + 2.0 * map.settings().resolution)?, &limits)?
        } else if is_ndt_map(path, &limits)? {
            read_ndt_map_within(pointmill_io::Place::named(path), &limits)?
        } else {
            return Ok(None);
        };
        self.check_flags(path, lattice.unit())?;
        let grid = NdtGrid::from_cells(cells, lattice, &device.stream()?);
        let grid = grid.map_err(|e| InputError::blame("BadValue", e, &shown(path)))?;
        Ok(Some(grid))
    }

    /// Refuses flags that do not go with a map whose cells are built, with edges of `unit` metres.
    fn check_flags(&self, path: &Path, unit: f64) -> Result<(), Failure> {
        if let Some(flag) = self.args.cells.first_given() {
            let message = format!("{flag}: cannot be used with the grid {}, whose cells are built", path.display());
            return Err(Failure::Usage(format!("{message}; give clouds or moments as --map")));
        }
        if self.args.resolution.is_some() && self.lattice.unit() != unit {
            let (asked, found) = (edge(self.lattice.unit()), edge(unit));
            let message =
                format!("--resolution: expected {found}, the edge of the cells of {}, got {asked}", path.display());
            return Err(Failure::Usage(message));
        }
        Ok(())
    }

    /// The map as blocks that are loaded as they are needed, if it is a map by blocks.
    pub(crate) fn blocks(&self) -> Result<Option<BlockMap>, Failure> {
        if !BlockMap::is_one(&self.args.map) {
            return Ok(None);
        }
        let map = BlockMap::open(&self.args.map)?;
        self.check_flags(&self.args.map, map.lattice().unit())?;
        Ok(Some(map))
    }

    /// Adds a part of the map. Without a flag the first part decides the resolution.
    fn add(
        &self,
        builder: &mut Option<NdtBuilder>,
        source: &Source,
        device: &Device,
        warnings: &mut Vec<String>,
    ) -> Result<(), InputError> {
        let name = source.name();
        let start = |resolution: f64, origin: [f64; 3]| {
            let resolution = self.args.resolution.unwrap_or(resolution);
            NdtBuilder::new(&device.stream()?, resolution, &self.params)?.about(origin)
        };
        match source {
            Source::File(path) if is_moments(path) => {
                let moments = read_moments(path, &self.args.read.limits())?;
                let builder = match builder {
                    Some(builder) => builder,
                    None => builder.insert(start(moments.lattice().unit(), moments.lattice().origin())?),
                };
                builder.merge(&moments).map_err(|e| match e {
                    pointmill::Error::Argument { argument: Argument::Resolution | Argument::Origin, .. } => {
                        InputError::Fatal(Failure::Usage(pointmill_io::escape(&format!("{name}: {e}"))))
                    }
                    e => InputError::blame("BadValue", e, &name),
                })
            }
            _ => {
                let ReadInput { scan, .. } = self.inputs.read_for_map(source, self.args.drop_zeros)?;
                warnings
                    .extend(warnings_of_rows(&scan).warnings.into_iter().map(|warning| format!("{name}: {warning}")));
                let builder = match builder {
                    Some(builder) => builder,
                    None => builder.insert(start(RESOLUTION, self.inputs.origin())?),
                };
                builder.add(rows(&scan)?).map_err(|e| InputError::blame("BadValue", e, &name))
            }
        }
    }
}
