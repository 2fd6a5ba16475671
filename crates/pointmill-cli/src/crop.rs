//! `pointmill crop`: the points of clouds in a part of space.

use crate::batch::InputIssue;
use crate::batch::prelude::*;
use crate::clouds::{CloudArgs, Clouds, Kept, Plan};
use crate::flags::{BatchArgs, ResumeArgs, parse_box, parse_distance};
use clap::Args;
use pointmill_io::{Polygon, Region, Scan};
use serde::Serialize;
use std::path::PathBuf;

/// The name of the command.
const COMMAND: &str = "crop";

/// `pointmill crop`
#[derive(Debug, Args)]
pub(crate) struct CropArgs {
    /// Keep the points with X0 <= x <= X1, and the same for y and z, in metres. -inf and inf leave a
    /// side open
    #[arg(long = "box", value_name = "X0,Y0,Z0,X1,Y1,Z1", allow_hyphen_values = true, value_parser = parse_box)]
    sides: Option<[f64; 6]>,
    /// Keep the points inside a polygon of x and y, at any z. A text file with x and y of a corner
    /// in each line
    #[arg(long, value_name = "FILE")]
    polygon: Option<PathBuf>,
    /// Keep the points at this distance from the origin of their coordinates or farther, in metres:
    /// the sensor, in a sweep
    #[arg(long, value_name = "METRES", allow_negative_numbers = true, value_parser = parse_distance)]
    min_range: Option<f64>,
    /// Keep the points at this distance or nearer
    #[arg(long, value_name = "METRES", allow_negative_numbers = true, value_parser = parse_distance)]
    max_range: Option<f64>,
    /// Keep the points outside instead
    #[arg(long)]
    invert: bool,
    #[command(flatten)]
    clouds: CloudArgs,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    resume: ResumeArgs,
}

/// `frame` of `crop`: a file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the input.
    format: &'static str,
    /// Points of the input.
    points: usize,
    /// Points of the result.
    kept: usize,
    /// The names of the columns, in order.
    columns: Vec<String>,
    /// The names of columns that are not written.
    #[serde(skip)]
    left_out: Vec<String>,
}

struct Crop {
    region: Region,
    clouds: Clouds,
    /// Where zero of the region is.
    zero: [f64; 3],
}

impl CropArgs {
    /// The part of space that the flags give.
    fn region(&self) -> Result<Region, Failure> {
        if self.sides.is_none() && self.polygon.is_none() && self.min_range.or(self.max_range).is_none() {
            let message = "give one or more of --box, --polygon, --min-range and --max-range";
            return Err(Failure::Usage(format!("crop: {message}")));
        }
        let (min, max) = (self.min_range.unwrap_or(0.0), self.max_range.unwrap_or(f64::INFINITY));
        if min > max {
            let message = format!("expected {min} or more, the value of --min-range, got {max}");
            return Err(Failure::Usage(format!("--max-range: {message}")));
        }
        let distance = self.min_range.or(self.max_range).map(|_| [min, max]);
        let polygon = self.polygon.as_ref().map(Polygon::read).transpose();
        let polygon = polygon.map_err(|e| Failure::Usage(format!("--polygon: {e}")))?;
        Ok(Region { bounds: self.sides, polygon, distance, invert: self.invert })
    }
}

/// Runs the command.
pub(crate) fn run(args: &CropArgs, printer: &mut Printer) -> Result<(), Failure> {
    let region = args.region()?;
    let Plan { sources, clouds, resume_log } =
        args.clouds.plan(&format!("{COMMAND} {region:?}"), args.resume.resume)?;
    let ([x, y, z], [u, v, w]) = (clouds.inputs.origin(), clouds.inputs.shift());
    let (out, origin) = (Some(args.clouds.out.as_path()), Some([x, y, z]));
    let picture = args.clouds.see.visualize.as_deref();
    let job = Job { resume_log, out, picture, origin, ..Job::new(COMMAND, &sources, args.batch) };
    job.begin(clouds.begin(), printer)?;
    job.run(&Crop { region, clouds, zero: [x - u, y - v, z - w] }, printer)
}

/// What to do about a cloud of which nothing is kept.
fn nothing_left(scan: &Scan) -> String {
    let Some(([x, y, z], [u, v, w])) =
        scan.iter_xyz().filter(|p| p.iter().all(|v| v.is_finite())).fold(None::<([f64; 3], [f64; 3])>, |bounds, p| {
            let (min, max) = bounds.unwrap_or((p, p));
            Some(([0, 1, 2].map(|k| min[k].min(p[k])), [0, 1, 2].map(|k| max[k].max(p[k]))))
        })
    else {
        return "no point is left, since no point is finite".into();
    };
    format!("no point is left; the points are in x {x}..{u}, y {y}..{v}, z {z}..{w} m")
}

impl Command for Crop {
    type Worker = ();
    type Row = Row;
    type Totals = Kept;
    const ON_DEVICE: bool = false;

    fn worker(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn one(&self, (): &mut (), index: usize, source: &Source) -> Result<Frame<Row>, InputError> {
        let (scan, read_ms) = self.clouds.read(source)?;
        let refused = |e| InputError::from(InputIssue::new("OutOfMemory", &source.name(), e));
        let left = scan.crop(&self.region, self.zero).map_err(refused)?;
        let written = self.clouds.write(index, &left, &scan)?;
        let (points, kept) = (scan.cloud.len(), left.cloud.len());
        let mut notes = Notes::of(&written.warnings);
        if kept == 0 && points > 0 {
            notes.warnings.push(nothing_left(&scan));
        }
        let (columns, left_out) = (written.columns, written.left_out);
        let of = Row { format: source.format(&scan), points, kept, columns, left_out };
        let frame = Frame::read(index, source.name(), read_ms, notes, of);
        Ok(Frame { write_ms: Some(written.ms), out: Some(written.out), ..frame })
    }

    fn add(&self, totals: &mut Kept, frame: &mut Frame<Row>) -> Result<(), Failure> {
        let Row { points, kept, columns, left_out, .. } = &mut frame.of;
        totals.add([*points, *kept], columns, std::mem::take(left_out));
        Ok(())
    }

    fn cells(&self, Frame { of, .. }: &Frame<Row>) -> Vec<Cell> {
        vec![("points", grouped(of.points)), ("kept", grouped(of.kept))]
    }

    fn lines(&self, summary: &Summary<Kept>) -> Vec<String> {
        summary.of.lines(summary.counts.done, "", &self.clouds)
    }
}
