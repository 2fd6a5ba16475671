//! Inputs into a map by blocks: which inputs, about which origin, with which poses, and what
//! becomes of each. The command, the Python package and its jobs on Ray all build maps by this.

use super::blocks::{BlockMap, BlockRow, BlockSettings};
use crate::inputs::{Frames, Inputs, ReadInput, Source, sort_naturally};
use crate::poses::{Deskew, InputPoses};
use crate::{DataError, Needs, Observer};
use pointmill::Pose;
use pointmill::ndt::{NdtMoments, NdtParams};
use pointmill_io::{IoError, LocalOrigin, ReadOptions, Scan};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use web_time::Instant;

/// Edge of a block in metres, unless a caller gives another.
pub const BLOCK: f64 = 128.0;

/// What a map is built of, and how.
#[derive(Clone, Debug)]
pub struct BuildOptions<'a> {
    /// The folder of the map.
    pub out: &'a Path,
    /// Files, folders and patterns.
    pub inputs: &'a [PathBuf],
    /// Which of the inputs are taken.
    pub frames: Frames,
    /// How inputs are read. The origin is that of the map: `auto` takes the one of the map that is
    /// there, and otherwise that of the input that is first in the natural order of names.
    pub read: ReadOptions,
    /// Whether points at exactly (0, 0, 0) are left out.
    pub drop_zeros: bool,
    /// The file of the poses.
    pub poses: Option<&'a Path>,
    /// Which sweeps are deskewed.
    pub deskew: Deskew,
    /// Edge of a cell in metres.
    pub resolution: f64,
    /// Edge of a block in metres.
    pub block: Option<f64>,
    /// How sums become cells.
    pub params: NdtParams,
    /// Whether other runs add to the map at the same time, and need the same origin.
    pub shared: bool,
}

/// A map by blocks, and how inputs get into it.
#[derive(Debug)]
pub struct Build {
    map: BlockMap,
    inputs: Inputs,
    poses: Option<InputPoses>,
    drop_zeros: bool,
}

/// An input of a map.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// Its number among the inputs, from 0, which may decide its pose.
    pub index: usize,
    /// Its name in the map.
    pub name: &'a str,
    /// Where it is read.
    pub source: &'a Source,
    /// What tells a version of it from another; `None`: the time and the size of its file.
    pub version: Option<&'a str>,
}

/// An input that is in a map.
#[derive(Debug)]
pub struct Added<T> {
    /// Its row.
    pub row: BlockRow,
    /// What its sums came with.
    pub of: T,
    /// Milliseconds to split its sums by block, and to write them.
    pub ms: f64,
}

impl Build {
    /// Finds the inputs, and makes or opens the map. Returns the inputs and the name of each in the
    /// map.
    ///
    /// # Errors
    /// What ends a run before any work: an option that cannot be used, one input twice, a map of
    /// other settings.
    pub fn plan(
        options: &BuildOptions<'_>,
        observer: &dyn Observer,
    ) -> Result<(Self, Vec<Source>, Vec<String>), DataError> {
        let asked = options.read.origin;
        let read = ReadOptions { origin: LocalOrigin::None, ..options.read.clone() };
        let (mut sources, inputs) = Inputs::find_frames(options.inputs, read, &options.frames)?;
        let known = if BlockMap::is_one(options.out) { Some(BlockMap::open(options.out)?) } else { None };
        let inputs = inputs.about(origin_of(known.as_ref(), asked), in_natural_order(&sources));
        inputs.note_origin(observer);
        let [x, y, z] = inputs.origin();
        if options.shared && known.is_none() && asked == LocalOrigin::Auto && [x, y, z] != [0.0; 3] {
            let needs = Needs { option: "local-origin", value: Some(format!("{x},{y},{z}")) };
            let expected = "the same origin for all runs of the map";
            return Err(DataError::without("no-merge", expected, "one that the inputs decide", needs));
        }
        let poses = InputPoses::read(options.poses, options.deskew, (&mut sources, &inputs), observer)?;
        let NdtParams { covariance, min_points, eigen_ratio } = options.params;
        let block = options.block.unwrap_or(BLOCK);
        let settings = BlockSettings::new(options.resolution, block, covariance, min_points, eigen_ratio)?;
        let settings = settings.about(inputs.origin())?;
        refuse_one_input_twice(sources.iter().map(|source| (source.file(), source.name())))?;
        let map = BlockMap::create(options.out, &settings)?;
        let name = |source: &Source| source.file().map_or_else(|| source.name(), |file| map.name_of(file));
        let names = sources.iter().map(name).collect();
        Ok((Self::of(map, inputs, poses, options.drop_zeros), sources, names))
    }

    /// With the pose of the sensor on the vehicle whose poses were given.
    #[must_use]
    pub fn with_sensor_pose(self, sensor: Option<Pose>) -> Self {
        Self { poses: self.poses.map(|poses| poses.with_sensor_pose(sensor)), ..self }
    }

    /// With a map that is there. The inputs are about its origin.
    pub fn of(map: BlockMap, inputs: Inputs, poses: Option<InputPoses>, drop_zeros: bool) -> Self {
        Self { map, inputs, poses, drop_zeros }
    }

    /// The map.
    pub const fn map(&self) -> &BlockMap {
        &self.map
    }

    /// The inputs.
    pub const fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Whether sweeps are deskewed.
    pub fn deskew(&self) -> Deskew {
        self.poses.as_ref().map_or(Deskew::Off, InputPoses::deskew)
    }

    /// Everything that decides the parts of an input beside the settings of the map; empty for one
    /// that is never kept.
    fn state(&self, item: &Item<'_>) -> String {
        let mut how = format!("{} {:?}", self.drop_zeros, self.inputs.options());
        if let Some(poses) = &self.poses {
            how = format!("{how} {}", poses.state(item.index));
        }
        match (item.version, item.source) {
            (Some(""), _) | (None, Source::Held(..) | Source::Stdin | Source::Street | Source::Nothing(_)) => {
                String::new()
            }
            (Some(version), _) => format!("{version}, {how}"),
            (None, Source::File(path)) => BlockMap::state_of(path, how),
            (None, Source::Cloud(cloud)) => BlockMap::state_of(cloud.bag.path(), how),
            (None, Source::Sweep(_)) => how,
        }
    }

    /// The row of an input that an earlier run has done, from the same file in the same way.
    ///
    /// # Errors
    /// As [`BlockMap::keeps`].
    pub fn kept(&self, item: &Item<'_>) -> Result<Option<BlockRow>, IoError> {
        self.map.keeps(item.name, &self.state(item))
    }

    /// Reads an input and adds it to the map. `sum` makes the moments of the points that were read.
    ///
    /// The input's own error is returned within, once the map has a row with it: `reason` returns
    /// its words, and `None` for an error that ends the run.
    ///
    /// # Errors
    /// What the map refuses, which ends the run.
    pub fn one<T, E: From<DataError>>(
        &self,
        item: &Item<'_>,
        observer: &dyn Observer,
        sum: impl FnOnce(ReadInput) -> Result<(NdtMoments, T), E>,
        reason: impl Fn(&E) -> Option<String>,
    ) -> Result<Result<Added<T>, E>, IoError> {
        // Taken before the input is read, so that one that changes meanwhile is done again.
        let state = self.state(item);
        let done = || -> Result<_, E> {
            let (moments, of) = sum(self.read(item).map_err(DataError::from)?)?;
            let start = Instant::now();
            let parts = self.map.split(&moments).map_err(DataError::at(item.source.name().as_ref()))?;
            Ok((parts, of, start))
        };
        match done() {
            Ok((parts, of, start)) => {
                let row = self.map.put_undivided(observer, item.name, &state, &parts)?;
                Ok(Ok(Added { row, of, ms: start.elapsed().as_secs_f64() * 1e3 }))
            }
            Err(e) => {
                let refuse = |reason: String| self.map.refuse_undivided(observer, item.name, &reason);
                reason(&e).map(refuse).transpose()?;
                Ok(Err(e))
            }
        }
    }

    fn read(&self, item: &Item<'_>) -> Result<ReadInput, IoError> {
        let name = item.source.name();
        let moved = self.poses.as_ref().map(|poses| |scan: &Scan, stamp| poses.moved(item.index, &name, scan, stamp));
        self.inputs.read_at(item.source, self.drop_zeros, moved)
    }

    /// Warns of poses that no input has, after all inputs.
    pub fn warn_of_unused_poses(&self, observer: &dyn Observer) {
        self.poses.iter().for_each(|poses| poses.warn_of_unused(observer));
    }
}

/// The origin of a map: `auto` is that of the map that is there.
fn origin_of(known: Option<&BlockMap>, asked: LocalOrigin) -> LocalOrigin {
    match (known.map(|map| map.settings().origin), asked) {
        (Some([0.0, 0.0, 0.0]), LocalOrigin::Auto) => LocalOrigin::None,
        (Some(origin), LocalOrigin::Auto) => LocalOrigin::At(origin),
        _ => asked,
    }
}

/// Inputs in the natural order of their names, so that what the first decides does not depend on
/// the order in which they were given.
fn in_natural_order(sources: &[Source]) -> Vec<&Source> {
    let mut sorted: Vec<_> = sources.iter().map(|source| (PathBuf::from(source.name()), source)).collect();
    sort_naturally(&mut sorted, |(name, _)| name);
    sorted.into_iter().map(|(_, source)| source).collect()
}

/// Refuses inputs that would have one name in a map, before the map is made: each with its file, if
/// there is one, and with its name to show.
///
/// # Errors
/// The first two of one place.
pub fn refuse_one_input_twice(inputs: impl IntoIterator<Item = (Option<PathBuf>, String)>) -> Result<(), DataError> {
    let mut seen = HashMap::new();
    for (file, second) in inputs {
        let place = file.and_then(BlockMap::place_of).unwrap_or_else(|| PathBuf::from(&second));
        if let Some(first) = seen.insert(place, second.clone()) {
            return Err(DataError::Twice { first, second });
        }
    }
    Ok(())
}
