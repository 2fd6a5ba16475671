//! Runs `pointmill ndt merge` of a map by blocks. A block is an input.

use super::args::MergeArgs;
use super::records::{CellsRecord, GridTotals, MergeBegin, MergeRow};
use crate::batch::prelude::*;
use pointmill::ndt::NdtReport;
use pointmill_data::BlockMap;
use pointmill_io::IoError;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Blocks of maps are merged, each by itself.
struct Merge<'a> {
    args: &'a MergeArgs,
    /// The maps that were named as a whole.
    whole: Vec<BlockMap>,
    /// The maps of all blocks, each opened once, so that a row is read once for all of its blocks.
    maps: Mutex<HashMap<PathBuf, BlockMap>>,
}

impl Merge<'_> {
    fn map(&self, folder: PathBuf) -> Result<BlockMap, IoError> {
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(map) = maps.get(&folder) {
            return Ok(map.clone());
        }
        let map = BlockMap::open(&folder)?;
        maps.insert(folder, map.clone());
        Ok(map)
    }
}

/// Runs `ndt merge` of maps by blocks, or of single blocks of them; `None` where the arguments name
/// files.
pub(super) fn merge(args: &MergeArgs, printer: &mut Printer) -> Result<Option<()>, Failure> {
    let of_map = |path: &PathBuf| BlockMap::is_one(path) || BlockMap::of_folder(path).is_some();
    if !args.inputs.iter().any(of_map) {
        return Ok(None);
    }
    let other = args.inputs.iter().find(|path| !of_map(path)).map(|path| path.display().to_string());
    let given =
        [("--out", args.out.is_some()), ("--moments", args.moments.is_some()), ("--minus", !args.minus.is_empty())];
    let flag = given.iter().find(|(_, given)| *given).map(|(flag, _)| *flag).or_else(|| args.cells.first_given());
    if let Some(what) = other.or(flag.map(String::from)) {
        return Err(Failure::Usage(format!("{what}: cannot be used with the folder of a map by blocks")));
    }
    let (mut whole, mut sources) = (Vec::new(), Vec::new());
    for path in &args.inputs {
        if BlockMap::of_folder(path).is_some() {
            sources.push(Source::File(path.clone()));
            continue;
        }
        let map = BlockMap::open(path)?;
        map.check()?;
        sources.extend(map.blocks()?.into_iter().map(|block| Source::File(map.block_folder(block))));
        whole.push(map);
    }
    let job = Job { writes: true, ..Job::new("ndt merge", &sources, args.work.batch) };
    let params = args.cells.params();
    job.begin(MergeBegin { minus: 0, params: CellsRecord { resolution: None, params } }, printer)?;
    job.run(&Merge { args, whole, maps: Mutex::default() }, printer).map(Some)
}

impl Command for Merge<'_> {
    type Worker = ();
    type Row = MergeRow;
    type Totals = GridTotals;
    const INPUT: &'static str = "block";
    const ON_DEVICE: bool = false;

    fn worker(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn one(&self, (): &mut (), index: usize, source: &Source) -> Result<Frame<MergeRow>, InputError> {
        let (folder, block) = source.path().and_then(BlockMap::of_folder).expect("checked before");
        let map = self.map(folder)?;
        map.check()?;
        let (report, ms) = timed(|| map.merge(block, &self.args.memory.limits(), &stderr::Stderr))?;
        let NdtReport { points, cells, voxels, .. } = report;
        let of = MergeRow { points, cells, minus: false, voxels: Some(voxels), moments: None };
        Ok(Frame { write_ms: Some(ms), ..Frame::read(index, source.name(), 0.0, Notes::default(), of) })
    }

    fn add(&self, totals: &mut GridTotals, frame: &mut Frame<MergeRow>) -> Result<(), Failure> {
        totals.points += frame.of.points as usize;
        totals.voxels += frame.of.voxels.unwrap_or_default();
        *totals.blocks.get_or_insert(0) += 1;
        Ok(())
    }

    fn cells(&self, frame: &Frame<MergeRow>) -> Vec<Cell> {
        vec![("points", grouped(frame.of.points as usize)), ("cells", grouped(frame.of.cells))]
    }

    fn finish(&self, totals: &mut GridTotals, _: Vec<()>, _: Counts) -> Result<bool, Failure> {
        for map in &self.whole {
            totals.resolution = map.settings().resolution;
            map.finish()?;
        }
        Ok(true)
    }

    fn lines(&self, summary: &Summary<GridTotals>) -> Vec<String> {
        let GridTotals { points, voxels, .. } = summary.of;
        vec![format!(
            "{}, {} points, {} voxels",
            counted(summary.counts.done, "block"),
            grouped(points),
            grouped(voxels)
        )]
    }
}
