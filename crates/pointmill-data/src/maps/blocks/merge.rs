//! Points into blocks, the parts of a block into its files, and blocks into a localizer.

use super::map::{BlockMap, block_folder, merged};
use super::row::BlockRow;
use crate::maps::cells::write_ndt_map;
use crate::maps::moments::{read_ndt_moments_within, write_ndt_moments};
use crate::{DataError, Observer};
use pointmill::ndt::{NdtBuilder, NdtMoments, NdtReport};
use pointmill::{Argument, Device, Error};
use pointmill_core::ndt::NdtMomentsTable;
use pointmill_io::{Detail, IoError, Limits, Place};
use pointmill_slam::localize::{LocalizerMap, LocalizerParams};
use std::path::Path;

/// The sums of an input in each block that has points of it.
pub type Parts = Vec<([i32; 2], NdtMomentsTable)>;

impl BlockMap {
    /// What sums the points of inputs on a device, about the origin of the map.
    ///
    /// # Errors
    /// As [`NdtBuilder::new`].
    pub fn builder(&self, device: &Device) -> Result<NdtBuilder, Error> {
        let settings = self.settings();
        NdtBuilder::new(&device.stream()?, settings.resolution, &settings.params())?.about(settings.origin)
    }

    /// The sums of an input, split by block, for [`BlockMap::put`].
    ///
    /// # Errors
    /// Memory that is refused.
    pub fn split(&self, moments: &NdtMoments) -> Result<Parts, Error> {
        let parts = moments.blocks(self.settings().cells)?;
        parts.iter().map(|(block, part)| Ok((*block, part.table()?))).collect()
    }

    /// Merges the parts of a block, one after the other, and writes its files; of a block without
    /// parts the files are removed. Parts of inputs without a row are passed over, and what killed
    /// processes left unfinished is removed.
    ///
    /// # Errors
    /// A part that cannot be used, a row that cannot be read; what the system refuses.
    pub fn merge(&self, block: [i32; 2], limits: &Limits, observer: &dyn Observer) -> Result<NdtReport, DataError> {
        if observer.should_stop() {
            return Err(DataError::Stopped);
        }
        let (settings, folder) = (self.settings(), block_folder(block));
        let mut sum = NdtMoments::new(settings.resolution)?.about(settings.origin)?;
        self.store().clear(&folder)?;
        let parts = self.parts(block)?;
        for part in &parts {
            let path = self.path(part);
            let moments = moments_of(&path, &self.sums_in(part, limits)?)?;
            sum.merge(&moments).map_err(DataError::at(&path))?;
        }
        let finished = || Ok((sum.table()?, sum.finish(&settings.params())?));
        let (table, cells) = finished().map_err(DataError::at(&self.path(&folder)))?;
        let files = ["arrow", "npz"].map(|ending| merged(block, ending));
        let write = || -> Result<(), IoError> {
            if parts.is_empty() {
                return files.iter().try_for_each(|file| self.store().remove(file));
            }
            self.store().write(&files[0], &mut |place| write_ndt_moments(place, &table))?;
            self.store().write(&files[1], &mut |place| write_ndt_map(place, &cells, &table.lattice)).map(drop)
        };
        undivided(observer, write).map_err(DataError::Output)?;
        Ok(cells.report)
    }

    /// Merges all blocks, and writes the manifest. Returns the cells and the blocks.
    ///
    /// # Errors
    /// As [`BlockMap::merge`] and [`BlockMap::finish`].
    pub fn merge_all(&self, limits: &Limits, observer: &dyn Observer) -> Result<(usize, usize), DataError> {
        let blocks = self.blocks()?;
        let voxels = blocks.iter().map(|block| Ok(self.merge(*block, limits, observer)?.voxels));
        let voxels = voxels.sum::<Result<usize, DataError>>()?;
        self.finish()?;
        Ok((voxels, blocks.len()))
    }

    /// [`BlockMap::put`] and [`BlockMap::refuse`], which the end of the process waits for.
    pub(crate) fn put_undivided(
        &self,
        observer: &dyn Observer,
        input: &str,
        state: &str,
        parts: &Parts,
    ) -> Result<BlockRow, IoError> {
        undivided(observer, || self.put(input, state, parts))
    }

    pub(crate) fn refuse_undivided(
        &self,
        observer: &dyn Observer,
        input: &str,
        error: &str,
    ) -> Result<BlockRow, IoError> {
        undivided(observer, || self.refuse(input, error))
    }

    /// The map for a localizer with these parameters, which loads the merged blocks within its
    /// reach.
    ///
    /// # Errors
    /// As [`LocalizerMap::tiles`].
    pub fn localizer_map(&self, params: &LocalizerParams, limits: &Limits) -> Result<LocalizerMap, Error> {
        let (map, limits) = (self.clone(), limits.clone());
        let source = move |tile| {
            let sums = map.sums(tile, &limits).map_err(|e| {
                let [x, y] = tile;
                Error::argument(Argument::Map, format!("the sums of tile {x}_{y}"), e)
            })?;
            sums.map(|sums| NdtMoments::from_table(&sums)).transpose()
        };
        let settings = self.settings();
        let reach = params.reach(settings.resolution);
        LocalizerMap::tiles(&self.lattice(), settings.cells, reach, &settings.params(), Box::new(source))
    }
}

/// Reads the moments of a file within the limits.
///
/// # Errors
/// As [`read_ndt_moments_within`]; sums that are no moments.
pub fn read_moments(path: &Path, limits: &Limits) -> Result<NdtMoments, IoError> {
    moments_of(path, &read_ndt_moments_within(Place::named(path), limits)?)
}

/// The moments of a file's sums.
fn moments_of(path: &Path, table: &NdtMomentsTable) -> Result<NdtMoments, IoError> {
    NdtMoments::from_table(table).map_err(|e| match e {
        Error::Argument { argument, expected, got } => {
            IoError::BadValue(Detail::new(path, argument.as_str(), expected, got))
        }
        e => IoError::BadValue(Detail::new(path, "cells", "moments", e.to_string())),
    })
}

/// Runs a write that the end of the process waits for.
fn undivided<T>(observer: &dyn Observer, write: impl FnOnce() -> T) -> T {
    let (mut write, mut done) = (Some(write), None);
    observer.undivided(&mut || done = write.take().map(|write| write()));
    done.expect("an observer runs the write")
}
