//! Runs `pointmill ndt build` into a map by blocks, and `pointmill ndt merge` of such a map.

use super::args::{BuildArgs, MergeArgs};
use super::files::moments_of;
use super::grid::check;
use super::records::{BuildBegin, BuildRow, CellsRecord, GridTotals, MergeBegin, MergeRow};
use super::report;
use crate::batch::prelude::*;
use pointmill::ndt::{NdtBuilder, NdtMoments, NdtParams, NdtReport};
use pointmill::{Device, Error};
use pointmill_data::poses::Deskew;
use pointmill_data::poses::InputPoses;
use pointmill_data::{BlockMap, BlockSettings, natural_order};
use pointmill_io::{IoError, Limits, LocalOrigin, ReadOptions, Scan};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Edge of a block in metres, unless a flag gives another.
const BLOCK: f64 = 128.0;

/// Every input is split into the blocks of a map.
struct Split<'a> {
    args: &'a BuildArgs,
    params: NdtParams,
    inputs: Inputs,
    /// The name of each input in the map.
    names: Vec<String>,
    poses: Option<InputPoses>,
    map: BlockMap,
    device: Device,
}

/// Runs `ndt build` into a map by blocks.
pub(super) fn build(args: &BuildArgs, out: &Path, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let params = args.cells.params();
    check(args.resolution, &params)?;
    for (flag, given) in [("--moments", args.moments.is_some()), ("--visualize", args.visualize.is_some())] {
        if given {
            return Err(Failure::Usage(format!("{flag}: cannot be used with a map by blocks")));
        }
    }
    let (mut sources, inputs) =
        Inputs::find(&args.inputs, ReadOptions { origin: LocalOrigin::None, ..args.read.options()? })?;
    let inputs = origin_of_map(args, out, &sources, inputs)?;
    let poses = InputPoses::read(args.poses.as_deref(), args.deskew, (&mut sources, &inputs), &stderr::Stderr)?;
    let NdtParams { covariance, min_points, eigen_ratio } = params;
    let settings =
        BlockSettings::new(args.resolution, args.blocks.unwrap_or(BLOCK), covariance, min_points, eigen_ratio)?
            .about(inputs.origin())?;
    refuse_one_input_twice(&sources)?;
    let map = BlockMap::create(out, &settings)?;
    let names =
        sources.iter().map(|source| file_of(source).map_or_else(|| source.name(), |file| map.name_of(file))).collect();
    let device = device::open(device)?;
    let job =
        Job { out: Some(out), origin: Some(inputs.origin()), ..Job::on(&device, "ndt build", &sources, &args.work) };
    let record = CellsRecord { resolution: Some(args.resolution), params };
    let deskew = poses.as_ref().map_or(Deskew::Off, InputPoses::deskew);
    job.begin(BuildBegin { tiles: false, block: Some(settings.block()), deskew, params: record }, printer)?;
    job.run(&Split { args, params, inputs, names, poses, map, device: device.clone() }, printer)
}

/// The inputs about the origin of the map, which all workers share.
///
/// `auto` takes the origin of the map that is there. For a new map it is the one of the input that is first in the natural order of names, so that the order of the inputs does not matter.
fn origin_of_map(args: &BuildArgs, out: &Path, sources: &[Source], inputs: Inputs) -> Result<Inputs, Failure> {
    let is_known = BlockMap::is_one(out);
    let origin = match args.read.local_origin {
        LocalOrigin::Auto if is_known => match BlockMap::open(out)?.settings().origin {
            [0.0, 0.0, 0.0] => LocalOrigin::None,
            origin => LocalOrigin::At(origin),
        },
        origin => origin,
    };
    let mut sorted: Vec<_> = sources.iter().map(|source| (PathBuf::from(source.name()), source)).collect();
    sorted.sort_by(|(a, _), (b, _)| natural_order(a, b));
    let inputs = inputs.about(origin, sorted.into_iter().map(|(_, source)| source));
    tell_origin(&inputs);
    let [x, y, z] = inputs.origin();
    if args.no_merge && !is_known && origin == LocalOrigin::Auto && [x, y, z] != [0.0; 3] {
        let message =
            format!("--no-merge: needs the same origin for all runs of the map, such as --local-origin {x},{y},{z}");
        return Err(Failure::Usage(message));
    }
    Ok(inputs)
}

/// The file of an input, or the bag with the name of the cloud.
fn file_of(source: &Source) -> Option<PathBuf> {
    match source {
        Source::File(path) => Some(path.clone()),
        Source::Cloud(cloud) => Some(cloud.name()),
        _ => None,
    }
}

/// Inputs that would have one name in the map are an error, before the map is made.
fn refuse_one_input_twice(sources: &[Source]) -> Result<(), Failure> {
    let mut seen = HashMap::new();
    for source in sources {
        let place = file_of(source).and_then(BlockMap::place_of).unwrap_or_else(|| source.name().into());
        if let Some(other) = seen.insert(place, source.name()) {
            let wanted = "expected inputs of different names, got one input twice";
            return Err(Failure::Usage(format!("{other} and {}: {wanted}", source.name())));
        }
    }
    Ok(())
}

impl Split<'_> {
    fn make(&self, device: &Device) -> Result<NdtBuilder, Error> {
        NdtBuilder::new(&device.stream()?, self.args.resolution, &self.params)?.about(self.inputs.origin())
    }

    /// Everything that decides the parts of an input beside the settings of the map.
    fn state(&self, index: usize, source: &Source) -> String {
        let how = format!("{} {:?}", self.args.drop_zeros, self.inputs.options());
        let how = self.poses.as_ref().map_or_else(|| how.clone(), |poses| format!("{how} {}", poses.state(index)));
        match source {
            Source::File(path) => BlockMap::state_of(path, how),
            Source::Cloud(cloud) => BlockMap::state_of(cloud.bag.path(), how),
            Source::Sweep(_) => how,
            Source::Stdin | Source::Street | Source::Nothing(_) => String::new(),
        }
    }

    fn split(
        &self,
        slot: &mut OperatorSlot<NdtBuilder>,
        index: usize,
        source: &Source,
        state: &str,
    ) -> Result<Frame<BuildRow>, InputError> {
        let name = source.name();
        let moved = self.poses.as_ref().map(|poses| |scan: &Scan, stamp| poses.moved(index, &name, scan, stamp));
        let (scan, zeros, read_ms) = self.inputs.read_at(source, self.args.drop_zeros, moved)?;
        let blame = |e| InputError::blame("BadValue", e, &name);
        let called = slot.call(
            &name,
            blame,
            |device| self.make(device),
            |builder| {
                builder.clear()?;
                builder.add(rows(&scan)?)?;
                builder.moments()
            },
        )?;
        let differs =
            |cpu: &Called<'_, _, NdtMoments>| Ok(if cpu.found == called.found { vec![] } else { vec!["moments"] });
        let cpu = called.compare(differs).map_err(blame)?;
        let (points, element) = (scan.cloud.len() + zeros, if scan.xyz_f64.is_some() { "f64" } else { "f32" });
        let of = BuildRow { format: source.format(&scan), element, points, zeros, ..BuildRow::default() };
        let mut frame = called.on(Frame::read(index, name.clone(), read_ms, warnings_of_rows(&scan), of));
        drop(scan);
        let (blocks, ms) = timed(|| -> Result<usize, InputError> {
            let parts = called.found.blocks(self.map.settings().cells).map_err(blame)?;
            let tables = parts.iter().map(|(block, part)| Ok((*block, part.table()?)));
            let parts = tables.collect::<Result<Vec<_>, Error>>().map_err(blame)?;
            let row = undivided(|| self.map.put(&self.names[index], state, &parts)).map_err(Failure::from)?;
            Ok(row.blocks.len())
        })?;
        (frame.write_ms, frame.of.blocks, frame.cpu) = (Some(ms), Some(blocks), cpu);
        Ok(frame)
    }
}

impl Command for Split<'_> {
    type Worker = OperatorSlot<NdtBuilder>;
    type Row = BuildRow;
    type Totals = GridTotals;

    fn worker(&self) -> Result<Self::Worker, Failure> {
        OperatorSlot::new(&self.device, &self.args.work, false, |device| self.make(device))
    }

    fn one(&self, slot: &mut Self::Worker, index: usize, source: &Source) -> Result<Frame<BuildRow>, InputError> {
        let (name, state) = (&self.names[index], self.state(index, source));
        if self.args.work.resume.resume && self.map.keeps(name, &state)?.is_some() {
            return Err(InputError::AlreadyDone);
        }
        let done = self.split(slot, index, source, &state);
        if let Err(InputError::Input(refused)) = &done {
            let reasons: Vec<_> = refused.iter().map(ToString::to_string).collect();
            undivided(|| self.map.refuse(name, &reasons.join("; "))).map_err(Failure::from)?;
        }
        done
    }

    fn add(&self, totals: &mut GridTotals, frame: &mut Frame<BuildRow>) -> Result<(), Failure> {
        totals.points += frame.of.points - frame.of.zeros;
        Ok(())
    }

    fn cells(&self, frame: &Frame<BuildRow>) -> Vec<Cell> {
        report::build_cells(&frame.of, false)
    }

    fn finish(&self, totals: &mut GridTotals, _: Vec<Self::Worker>, counts: Counts) -> Result<bool, Failure> {
        totals.resolution = self.map.settings().resolution;
        if let Some(poses) = self.poses.as_ref().filter(|_| counts.kept == 0) {
            poses.warn_of_unused(&stderr::Stderr);
        }
        if self.args.no_merge {
            return Ok(true);
        }
        let blocks = self.map.blocks()?;
        let limits = self.args.read.limits();
        let merge = |block| merge_block(&self.map, block, &limits).map_err(Failure::from);
        let merged = || blocks.iter().map(|block| Ok(merge(*block)?.voxels)).sum();
        let (voxels, ms) = timed(|| -> Result<usize, Failure> { merged() })?;
        self.map.finish()?;
        (totals.voxels, totals.blocks, totals.finish_ms) = (voxels, Some(blocks.len()), Some(ms));
        Ok(true)
    }

    fn lines(&self, summary: &Summary<GridTotals>) -> Vec<String> {
        report::grid_lines(summary)
    }
}

/// Merges the parts of a block, one after the other, and writes its files. A part that cannot be used is to blame itself.
fn merge_block(map: &BlockMap, block: [i32; 2], limits: &Limits) -> Result<NdtReport, InputError> {
    interrupt::check()?;
    let settings = map.settings();
    let params = NdtParams {
        covariance: settings.covariance,
        min_points: settings.min_points,
        eigen_ratio: settings.eigen_ratio,
    };
    let mut sum = NdtMoments::new(settings.resolution)?.about(settings.origin)?;
    let parts = map.parts(block)?;
    for part in &parts {
        let moments = moments_of(part, &map.read_part(part, limits)?)?;
        sum.merge(&moments).map_err(|e| InputError::blame("BadValue", e, &shown(part)))?;
    }
    let blame = |e| InputError::blame("BadValue", e, &shown(&map.block_folder(block)));
    let cells = sum.finish(&params).map_err(blame)?;
    let table = sum.table().map_err(blame)?;
    let written = undivided(|| map.write(block, Some((&table, &cells)).filter(|_| !parts.is_empty())));
    written.map_err(Failure::from)?;
    Ok(cells.report)
}

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

/// Runs `ndt merge` of maps by blocks, or of single blocks of them; `None` where the arguments name files.
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
        let (report, ms) = timed(|| merge_block(&map, block, &self.args.memory.limits()))?;
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
