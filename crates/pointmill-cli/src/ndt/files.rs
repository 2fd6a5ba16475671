//! Output files: a grid and moments of all inputs, or folders with files for each input.

use super::args::BuildArgs;
use crate::batch::Ledger;
use crate::failure::Failure;
use crate::inputs::{Source, may_be_many};
use crate::interrupt::undivided;
use crate::outputs::{Outputs, has_extension, is_folder, plan_file};
use crate::text::shown;
use pointmill::Error;
use pointmill::ndt::{NdtBuilder, NdtGrid, NdtMoments};
use pointmill_io::{Detail, IoError, Limits, Place, read_ndt_moments_within, write_ndt_map, write_ndt_moments};
use std::path::{Path, PathBuf};

/// The extension of files of moments.
const MOMENTS: &str = "arrow";

/// Whether a file has the name of moments.
pub(super) fn is_moments(path: &Path) -> bool {
    has_extension(path, MOMENTS)
}

/// Reads moments within the limits.
pub(super) fn read_moments(path: &Path, limits: &Limits) -> Result<NdtMoments, IoError> {
    let table = read_ndt_moments_within(path, limits)?;
    NdtMoments::from_table(&table).map_err(|e| match e {
        Error::Argument { argument, expected, got } => {
            IoError::BadValue(Detail::new(path, argument.as_str(), expected, got))
        }
        e => IoError::BadValue(Detail::new(path, "cells", "moments", e.to_string())),
    })
}

/// The files of `build`, decided before any work.
#[derive(Debug)]
pub(super) enum Targets {
    /// The files of the grid of all inputs.
    One(Files),
    /// A grid for each input: the folders, and the files in them.
    Tiles { folders: Files, grids: Option<Outputs>, moments: Option<Outputs> },
}

/// A grid's file and the file of its sums, as far as they are asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    /// Whether they are of a folder of many, where symbolic links are replaced and not followed.
    pub(super) of_folder: bool,
    pub(super) grid: Option<PathBuf>,
    pub(super) moments: Option<PathBuf>,
}

/// Whether the flags ask for a grid for each input.
pub(super) fn tiles(args: &BuildArgs) -> Result<bool, Failure> {
    let many = may_be_many(&args.inputs);
    let folder = |path: &Option<PathBuf>, extension: &str| {
        path.as_deref().map(|path| is_folder(path) || many && !has_extension(path, extension))
    };
    let folders = [folder(&args.out, "npz"), folder(&args.moments, MOMENTS)];
    match (folders, &args.moments) {
        ([Some(grids), Some(moments)], Some(path)) if grids != moments => {
            let (expected, out) = if grids { ("a folder", "one") } else { ("a file", "a file") };
            Err(Failure::Usage(format!("--moments {}: expected {expected}, since --out is {out}", path.display())))
        }
        ([grids, moments], _) => Ok(grids.or(moments).unwrap_or(false)),
    }
}

impl Targets {
    /// Decides where everything goes, and makes folders.
    pub(super) fn plan(args: &BuildArgs, tiles: bool, sources: &[Source]) -> Result<Self, Failure> {
        let files = Files { of_folder: tiles, grid: args.out.clone(), moments: args.moments.clone() };
        if tiles {
            let folder = |flag, path: &Option<PathBuf>, extension| {
                path.as_deref().map(|path| Outputs::folder(flag, path, extension, sources)).transpose()
            };
            let grids = folder("--out", &files.grid, "npz")?;
            let moments = folder("--moments", &files.moments, MOMENTS)?;
            return Ok(Self::Tiles { folders: files, grids, moments });
        }
        let inputs =
            sources.iter().filter_map(|s| if let Source::File(path) = s { Some(path.as_path()) } else { None });
        files.check(&inputs.collect::<Vec<_>>())?;
        Ok(Self::One(files))
    }

    /// The files of input `i` alone; none where all inputs become one grid.
    pub(super) fn of(&self, i: usize) -> Option<Files> {
        match self {
            Self::One(_) => None,
            Self::Tiles { grids, moments, .. } => {
                let file = |outputs: &Option<Outputs>| outputs.as_ref().and_then(|o| o.of(i)).map(Path::to_path_buf);
                Some(Files { of_folder: true, grid: file(grids), moments: file(moments) })
            }
        }
    }

    /// The manifest and the locks of the folders that the files of tiles go to.
    pub(super) fn ledger(&self, parameters: &str, resume: bool) -> Result<Option<Ledger>, Failure> {
        let outputs = match self {
            Self::One(_) => vec![],
            Self::Tiles { grids, moments, .. } => grids.iter().chain(moments).collect(),
        };
        Ledger::of(&outputs, parameters, resume)
    }

    /// What was asked for: files or folders.
    pub(super) const fn asked(&self) -> &Files {
        match self {
            Self::One(files) | Self::Tiles { folders: files, .. } => files,
        }
    }
}

impl Files {
    /// Checks names, before any work.
    pub(super) fn check(&self, inputs: &[&Path]) -> Result<(), Failure> {
        if let Some(grid) = &self.grid {
            plan_file("--out", grid, &["npz"], inputs)?;
        }
        if let Some(moments) = &self.moments {
            plan_file("--moments", moments, &[MOMENTS], inputs)?;
        }
        Ok(())
    }

    /// Whether nothing is asked for.
    pub(super) const fn is_empty(&self) -> bool {
        self.grid.is_none() && self.moments.is_none()
    }

    /// Writes what is asked for.
    pub(super) fn write(&self, builder: &mut NdtBuilder, grid: &NdtGrid) -> Result<(), Failure> {
        if let Some(path) = &self.grid {
            let cells = grid.read()?;
            undivided(|| write_ndt_map(self.place(path), &cells, grid.lattice()))?;
        }
        if let Some(path) = &self.moments {
            let table = builder.moments()?.table()?;
            undivided(|| write_ndt_moments(self.place(path), &table))?;
        }
        Ok(())
    }

    fn place<'a>(&self, path: &'a Path) -> Place<'a> {
        Place { path, follow_links: !self.of_folder }
    }

    /// The names of grid and moments.
    pub(super) fn names(&self) -> [Option<String>; 2] {
        [&self.grid, &self.moments].map(|path| path.as_deref().map(shown))
    }
}
