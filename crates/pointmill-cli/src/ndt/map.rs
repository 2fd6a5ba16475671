//! The map that scans are matched with: a grid, or made of moments and clouds.

use super::args::{MatchArgs, Model, RESOLUTION};
use super::cloud::Cloud;
use super::records::ParamsRecord;
use super::table::edge;
use super::{check, grid_file, moments_file, warn_if_empty};
use crate::batch::{Refused, Trouble};
use crate::failure::Failure;
use crate::inputs::{Inputs, STDIN, Source, load_one, require_format};
use crate::interrupt;
use crate::printer::Printer;
use pointmill::Device;
use pointmill::ndt::{NdtBuilder, NdtGrid, NdtMoments, NdtParams};
use std::path::Path;

/// Map and scan as they are asked for.
pub(super) struct Asked<'a> {
    args: &'a MatchArgs,
    inputs: Inputs,
    model: Model,
    params: NdtParams,
    /// A map without points, which has the lattice.
    nothing: NdtGrid,
}

/// Map and scan.
pub(super) struct Ready {
    pub(super) grid: NdtGrid,
    pub(super) scan: Cloud,
    pub(super) zeros: usize,
    pub(super) warnings: Vec<String>,
}

impl<'a> Asked<'a> {
    /// Checks what can be checked before any work.
    pub(super) fn new(args: &'a MatchArgs) -> Result<Self, Failure> {
        let model = args.covariance.unwrap_or_default();
        let params = args.cells.params(model);
        let nothing = check(args.resolution.unwrap_or(RESOLUTION), &params)?;
        let options = args.read.options();
        if args.map == STDIN && args.scan == STDIN {
            return Err(Failure::Usage("-: expected once, found twice".into()));
        }
        if args.scan == STDIN {
            require_format(&options)?;
        }
        let inputs = Inputs::find(std::slice::from_ref(&args.map), options)?;
        Ok(Self { args, inputs, model, params, nothing })
    }

    /// The parameters of a map that is no grid yet.
    pub(super) fn params(&self) -> ParamsRecord {
        ParamsRecord::new(self.args.resolution, self.model, &self.args.cells)
    }

    /// Reads scan and map, and makes the map's grid; what cannot be used is told, and there is no answer then. So many inputs were read before, and so many of them failed.
    pub(super) fn load(
        &self,
        device: &Device,
        before: usize,
        mut failed: usize,
        printer: &mut Printer,
    ) -> Result<Ready, Failure> {
        let mut warnings = Vec::new();
        let inputs = before + 1 + self.inputs.sources.len();
        let scan = match self.scan(&mut warnings) {
            Ok(scan) => Some(scan),
            Err(Trouble::Input(refused)) => {
                failed += 1;
                refused.tell(printer, before, &self.args.scan)?;
                None
            }
            Err(Trouble::Fatal(failure)) => return Err(failure),
        };
        interrupt::check()?;
        let grid = self.grid(device, &mut warnings, &mut |index, name, refused| {
            failed += 1;
            refused.tell(printer, before + 1 + index, name)
        })?;
        let (Some((scan, zeros)), Some(grid), 0) = (scan, grid, failed) else {
            return Err(Failure::Inputs { failed, inputs });
        };
        warn_if_empty(&self.args.map, &grid);
        Ok(Ready { grid, scan, zeros, warnings })
    }

    /// Reads the map alone and makes its grid, for so many scans that are read later; else as [`Asked::load`].
    pub(super) fn load_map(
        &self,
        device: &Device,
        before: usize,
        mut failed: usize,
        scans: usize,
        printer: &mut Printer,
    ) -> Result<(NdtGrid, Vec<String>), Failure> {
        let mut warnings = Vec::new();
        let grid = self.grid(device, &mut warnings, &mut |index, name, refused| {
            failed += 1;
            refused.tell(printer, before + index, name)
        })?;
        interrupt::check()?;
        let (Some(grid), 0) = (grid, failed) else {
            return Err(Failure::Inputs { failed, inputs: before + self.inputs.sources.len() + scans });
        };
        warn_if_empty(&self.args.map, &grid);
        Ok((grid, warnings))
    }

    fn scan(&self, warnings: &mut Vec<String>) -> Result<(Cloud, usize), Trouble> {
        let read = load_one(&self.args.scan, &self.args.read.options())?;
        let mut read = crate::inputs::Exact::from(read?);
        warnings.extend(read.warnings.drain(..).map(|warning| format!("{}: {warning}", self.args.scan)));
        Ok(Cloud::new(read, self.args.drop_zeros)?)
    }

    /// The grid, if every part of the map can be used.
    fn grid(
        &self,
        device: &Device,
        warnings: &mut Vec<String>,
        refuse: &mut dyn FnMut(usize, &str, Refused) -> Result<(), Failure>,
    ) -> Result<Option<NdtGrid>, Failure> {
        if let [Source::File(path)] = &self.inputs.sources[..]
            && path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz"))
        {
            match self.ready_made(path, device) {
                Ok(None) => {}
                Ok(Some(grid)) => return Ok(Some(grid)),
                Err(Trouble::Input(refused)) => {
                    refuse(0, &self.args.map, refused)?;
                    return Ok(None);
                }
                Err(Trouble::Fatal(failure)) => return Err(failure),
            }
        }
        let mut builder = None;
        let mut whole = true;
        for (index, source) in self.inputs.sources.iter().enumerate() {
            interrupt::check()?;
            match self.add(&mut builder, source, device, warnings) {
                Ok(()) => {}
                Err(Trouble::Input(refused)) => {
                    whole = false;
                    refuse(index, &source.name(), refused)?;
                }
                Err(Trouble::Fatal(failure)) => return Err(failure),
            }
        }
        match builder {
            Some(mut builder) if whole => Ok(Some(builder.finish()?)),
            _ => Ok(None),
        }
    }

    /// A grid from its file; `None` if the file holds a cloud.
    fn ready_made(&self, path: &Path, device: &Device) -> Result<Option<NdtGrid>, Trouble> {
        let Some((cells, resolution)) = grid_file::read(path, &self.args.read.limits())? else { return Ok(None) };
        let given = [
            ("--covariance", self.args.covariance.is_some()),
            ("--min-points", self.args.cells.min_points.is_some()),
            ("--eigen-ratio", self.args.cells.eigen_ratio.is_some()),
        ];
        if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
            let told = format!("{flag}: expected clouds or moments, got {}, whose cells are made", path.display());
            return Err(Failure::Usage(told).into());
        }
        let grid = NdtGrid::from_cells(cells, resolution, &device.stream()?);
        let grid = grid.map_err(|e| Trouble::blame("BadValue", e, &path.to_string_lossy()))?;
        if self.args.resolution.is_some() && self.nothing.lattice() != grid.lattice() {
            let (asked, found) = (edge(self.nothing.lattice().unit()), edge(grid.lattice().unit()));
            let told =
                format!("--resolution: expected {found}, the edge of the cells of {}, got {asked}", path.display());
            return Err(Failure::Usage(told).into());
        }
        Ok(Some(grid))
    }

    /// Adds a part of the map; the first one tells the resolution, if no flag does.
    fn add(
        &self,
        builder: &mut Option<NdtBuilder>,
        source: &Source,
        device: &Device,
        warnings: &mut Vec<String>,
    ) -> Result<(), Trouble> {
        let name = source.name();
        let start = |resolution: f64| {
            NdtBuilder::new(&device.stream()?, self.args.resolution.unwrap_or(resolution), &self.params)
        };
        match source {
            Source::File(path) if moments_file::is_named_so(path) => {
                let moments: NdtMoments = moments_file::read(path, &self.args.read.limits())?;
                let builder = match builder {
                    Some(builder) => builder,
                    None => builder.insert(start(moments.lattice().unit())?),
                };
                builder.merge(&moments).map_err(|e| match e {
                    pointmill::Error::Argument { argument: pointmill::Argument::Resolution, .. } => {
                        Trouble::Fatal(Failure::Usage(pointmill_io::escape(&format!("{name}: {e}"))))
                    }
                    e => Trouble::blame("BadValue", e, &name),
                })
            }
            _ => {
                let mut read = self.inputs.load_exact(source)?;
                warnings.extend(read.warnings.drain(..).map(|warning| format!("{name}: {warning}")));
                let (cloud, _) = Cloud::new(read, self.args.drop_zeros)?;
                let builder = match builder {
                    Some(builder) => builder,
                    None => builder.insert(start(RESOLUTION)?),
                };
                builder.add(cloud.view()?).map_err(|e| Trouble::blame("BadValue", e, &name))
            }
        }
    }
}
