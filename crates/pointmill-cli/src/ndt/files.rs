//! Output files: a grid and moments of all inputs, or folders with files for each input.

use super::args::BuildArgs;
use crate::failure::Failure;
use crate::inputs::{Source, may_be_many};
use crate::interrupt::undivided;
use crate::outputs::{Outputs, has_extension, is_folder, plan_file};
use crate::text::shown;
use pointmill::ndt::{NdtBuilder, NdtGrid};
use pointmill_data::{write_ndt_map, write_ndt_moments};
use std::path::Path;

/// The extension of files of moments.
const MOMENTS: &str = "arrow";

/// Whether a file has the name of moments.
pub(super) fn is_moments(path: &Path) -> bool {
    has_extension(path, MOMENTS)
}

/// The files of grids and of their moments, decided before any work.
#[derive(Debug)]
pub(super) struct Targets {
    /// Whether each input has a grid of its own. Else there is one grid, whose files have the
    /// index 0.
    pub(super) tiles: bool,
    pub(super) grids: Outputs,
    pub(super) moments: Outputs,
}

impl Targets {
    /// The folder of a map by blocks, if the flags ask for one.
    pub(super) fn map_by_blocks(args: &BuildArgs) -> Result<Option<&Path>, Failure> {
        let asked = args.poses.is_some() || args.blocks.is_some() || args.no_merge;
        let folder = args.out.as_deref().filter(|out| asked && (is_folder(out) || !has_extension(out, "npz")));
        let flag = if args.no_merge { "--no-merge" } else { "--blocks" };
        match folder {
            None if args.blocks.is_some() || args.no_merge => {
                Err(Failure::Usage(format!("{flag}: needs --out with a folder, got none")))
            }
            folder => Ok(folder),
        }
    }

    /// Whether the flags ask for a grid for each input.
    pub(super) fn are_tiles(args: &BuildArgs) -> Result<bool, Failure> {
        let many = may_be_many(&args.inputs);
        let folder = |path: Option<&Path>, extension: &str| {
            path.map(|path| is_folder(path) || many && !has_extension(path, extension))
        };
        let folders = [folder(args.out.as_deref(), "npz"), folder(args.moments.as_deref(), MOMENTS)];
        match (folders, &args.moments) {
            ([Some(grids), Some(moments)], Some(path)) if grids != moments => {
                let (expected, out) = if grids { ("a folder", "one") } else { ("a file", "a file") };
                Err(Failure::Usage(format!("--moments {}: expected {expected}, since --out is {out}", path.display())))
            }
            ([grids, moments], _) => Ok(grids.or(moments).unwrap_or(false)),
        }
    }

    /// The files of one grid of all inputs, none of which is an input or one of the files beside
    /// them.
    pub(super) fn one(
        grid: Option<&Path>,
        moments: Option<&Path>,
        sources: &[Source],
        beside: Option<&Path>,
    ) -> Result<Self, Failure> {
        let inputs: Vec<_> = sources.iter().filter_map(Source::path).chain(beside).collect();
        for (flag, path, extension) in [("--out", grid, "npz"), ("--moments", moments, MOMENTS)] {
            path.map(|path| plan_file(flag, path, &[extension], &inputs)).transpose()?;
        }
        Ok(Self { tiles: false, grids: Outputs::one(grid), moments: Outputs::one(moments) })
    }

    /// Files for each input, in folders that are made.
    pub(super) fn tiles(grids: Option<&Path>, moments: Option<&Path>, sources: &[Source]) -> Result<Self, Failure> {
        let folder = |flag, path: Option<&Path>, extension| match path {
            Some(path) => Outputs::folder(flag, path, extension, sources),
            None => Outputs::plan(None, sources),
        };
        Ok(Self { tiles: true, grids: folder("--out", grids, "npz")?, moments: folder("--moments", moments, MOMENTS)? })
    }

    /// Writes a grid and its moments, as far as they are asked for. Returns the names of both.
    pub(super) fn write(
        &self,
        index: usize,
        builder: &mut NdtBuilder,
        grid: &NdtGrid,
    ) -> Result<[Option<String>; 2], Failure> {
        let places = [&self.grids, &self.moments].map(|outputs| outputs.place(index));
        if let Some(place) = places[0] {
            let cells = grid.read()?;
            undivided(|| write_ndt_map(place, &cells, grid.lattice()))?;
        }
        if let Some(place) = places[1] {
            let table = builder.moments()?.table()?;
            undivided(|| write_ndt_moments(place, &table))?;
        }
        Ok(places.map(|place| place.map(|place| shown(place.path))))
    }
}
