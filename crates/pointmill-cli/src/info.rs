//! `pointmill info`: format, columns, bounds and number of points of files.

use crate::batch::prelude::*;
use crate::flags::{BatchArgs, ReadArgs};
use crate::inputs::{is_bag, open_bag};
use crate::text::tidy;
use clap::Args;
use pointmill_data::{DataError, is_ndt_map, read_ndt_map_within};
use pointmill_io::bag::{Bag, TimeOrigin};
use pointmill_io::{Format, IoError, Limits, Place, Poses, ReadOptions, Scan, Warning, escape, find_poses};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// `pointmill info`
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Files, folders, patterns in quotes such as 'sweeps/*.bin', or - for the standard input; raw
    /// rows there need --format
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// Print all that is known of each file, also of several. Without it several files have a row
    /// each: format, points, extent along x, y, z, times of points, columns
    #[arg(short, long)]
    long: bool,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// `begin` of `info`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {}

/// `frame` of `info`: a file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the file; `poses` for one of poses.
    format: &'static str,
    #[serde(flatten)]
    cloud: Option<Cloud>,
    /// The topics of a bag, by name; only where the file is a bag.
    #[serde(skip_serializing_if = "Option::is_none")]
    topics: Option<Vec<Topic>>,
    /// What is known of a file of poses; only where the file is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    poses: Option<PoseFile>,
    /// What is known of an NDT map; only where the file is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    map: Option<MapFile>,
}

/// An NDT map, as `pointmill ndt build` writes it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MapFile {
    /// The number of its cells.
    cells: usize,
    /// The edge of a cell in metres.
    resolution: f64,
    /// What the lattice of cells is relative to, in metres.
    origin: [f64; 3],
    /// The points of all its cells.
    points: u64,
    /// The smallest box around the means of its cells, in metres; null without cells.
    bounds: Option<Bounds>,
}

/// A file of poses.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PoseFile {
    /// The number of poses.
    count: usize,
    /// How they stand in the file: `kitti`, `tum`, `matrix`, `euroc` or `argoverse2`.
    kind: &'static str,
    /// The times of the first and the last pose in seconds; null without times.
    times: Option<[f64; 2]>,
}

/// A topic of a bag.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Topic {
    /// The name of the topic.
    name: String,
    /// The type of its messages.
    r#type: String,
    /// The number of its messages.
    messages: u64,
    /// When its first message was recorded, in nanoseconds since 1970.
    first_ns: u64,
    /// When its last message was recorded, in nanoseconds since 1970.
    last_ns: u64,
    /// How its clouds lie in their messages, as the first says; null for other topics.
    layout: Option<Layout>,
}

/// The layout of a cloud in a message.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Layout {
    /// The frame that x, y, z are in.
    frame: String,
    /// Rows of an organized cloud, else 1.
    height: u32,
    /// Points of a row.
    width: u32,
    /// Bytes of a point.
    point_step: u32,
    /// The fields, in order.
    columns: Vec<Column>,
    /// The field with the times of points; null without one.
    times: Option<TimesField>,
    /// What is odd about the first message.
    #[serde(skip)]
    warnings: Vec<String>,
}

/// The field with the times of points.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TimesField {
    /// The name of the field.
    name: String,
    /// Its unit: `s`, `ms`, `us` or `ns`.
    unit: &'static str,
    /// What decides the unit: `name`, the name of the column; `format`, the format of the file; `type`, the
    /// name and the type of the column; `epoch`, values of 18 digits or more; or `span`, how long the points
    /// take.
    unit_source: &'static str,
    /// What it counts from: `stamp`, the stamp of the cloud, or `epoch`, the start of 1970.
    origin: &'static str,
}

/// What is known of a cloud; absent where the file is a bag.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Cloud {
    /// The number of points.
    points: usize,
    /// The columns, in order.
    columns: Vec<Column>,
    /// The smallest box around the finite points, in metres; null if there are none.
    bounds: Option<Bounds>,
    /// Points with a NaN or an infinity in x, y or z.
    nonfinite: usize,
    /// What coordinates are relative to in results: x, y, z in metres, as `--local-origin` says.
    /// Bounds are global.
    origin: [f64; 3],
    /// The column with the times of points; null without one.
    times: Option<CloudTimes>,
    /// The data set of `--dataset`; null without.
    dataset: Option<&'static str>,
}

/// The times of the points of a cloud.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CloudTimes {
    /// The name of the column.
    name: String,
    /// Its unit: `s`, `ms`, `us` or `ns`.
    unit: &'static str,
    /// What decides the unit: `name`, the name of the column; `format`, the format of the file; `type`, the
    /// name and the type of the column; `epoch`, values of 18 digits or more; or `span`, how long the points
    /// take.
    unit_source: &'static str,
    /// The earliest time in seconds, as the file counts.
    start: f64,
    /// Seconds from the earliest to the latest time.
    span: f64,
}

/// A column.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Column {
    /// The name of the column.
    name: String,
    /// The type of its values in the file.
    r#type: &'static str,
}

/// A box, in the precision of the file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Bounds {
    F32(Corners<f32>),
    F64(Corners<f64>),
}

/// The corners of a box.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Corners<T> {
    /// Smallest x, y, z.
    min: [T; 3],
    /// Largest x, y, z.
    max: [T; 3],
}

impl Bounds {
    fn of(scan: &Scan) -> Option<Self> {
        match scan.bounds_f64() {
            Some((min, max)) => Some(Self::F64(Corners { min, max })),
            None => scan.cloud.bounds().map(|b| Self::F32(Corners { min: b.min, max: b.max })),
        }
    }

    /// Around places; `None` without one.
    fn around(places: &[[f64; 3]]) -> Option<Self> {
        let (&first, rest) = places.split_first()?;
        let corners = rest.iter().fold(Corners { min: first, max: first }, |Corners { min, max }, p| Corners {
            min: std::array::from_fn(|k| min[k].min(p[k])),
            max: std::array::from_fn(|k| max[k].max(p[k])),
        });
        Some(Self::F64(corners))
    }

    /// How long the box is along x, y and z, in metres.
    fn extent(&self) -> String {
        let lengths: [f64; 3] = match self {
            Self::F32(Corners { min, max }) => std::array::from_fn(|k| f64::from(max[k]) - f64::from(min[k])),
            Self::F64(Corners { min, max }) => std::array::from_fn(|k| max[k] - min[k]),
        };
        let digits = if lengths.iter().any(|length| *length >= 10.0) { 1 } else { 3 };
        lengths.map(|length| format!("{length:.digits$}")).join(" x ")
    }

    /// A line for each axis.
    fn lines(&self) -> [String; 3] {
        fn axes<T: std::fmt::Display>(Corners { min, max }: &Corners<T>) -> [String; 3] {
            std::array::from_fn(|axis| format!("{}          {} .. {} m", ["x", "y", "z"][axis], min[axis], max[axis]))
        }
        match self {
            Self::F32(corners) => axes(corners),
            Self::F64(Corners { min, max }) => axes(&Corners { min: min.map(tidy), max: max.map(tidy) }),
        }
    }
}

/// `summary` of `info`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Points of all inputs that were done.
    points: usize,
}

struct Info {
    inputs: Inputs,
    options: ReadOptions,
    long: bool,
}

/// Runs the command.
pub(crate) fn run(args: &InfoArgs, printer: &mut Printer) -> Result<(), Failure> {
    let options = args.read.options()?;
    let (sources, inputs) = Inputs::find_files(&args.inputs, options.clone())?;
    let job = Job { every_row: true, ..Job::new("info", &sources, args.batch) };
    job.begin(Begin {}, printer)?;
    job.run(&Info { inputs, options, long: args.long }, printer)
}

/// What is known of a file, as the command prints it in JSON.
///
/// # Errors
/// A file that cannot be read or is none of the formats.
pub fn describe(path: &Path) -> Result<String, DataError> {
    let options = ReadOptions::default();
    let (_, inputs) = Inputs::find_files(&[path.to_path_buf()], options.clone())?;
    let info = Info { inputs, options, long: false };
    let (row, ..) = info.look(&Source::File(path.to_path_buf()))?;
    Ok(serde_json::to_string(&row).expect("numbers and text are JSON"))
}

impl Info {
    /// What is known of an input, the milliseconds that it took, and what is odd.
    fn look(&self, source: &Source) -> Result<(Row, f64, Notes), IoError> {
        if let Source::File(path) = source
            && is_bag(path)
        {
            let ((bag, topics), read_ms) = timed(|| {
                let bag = open_bag(path, &self.options)?;
                let topics = topics(&bag)?;
                Ok::<_, IoError>((bag, topics))
            })?;
            let cut = bag.cut().map(|e| format!("the bag was cut: {e}"));
            let damage = bag.damage().map(|detail| format!("the bag is damaged: {detail}"));
            let salvaged = bag.damage().map(|_| bag.topics().iter().map(|topic| topic.count).sum());
            let layouts = topics.iter().filter_map(|topic| topic.layout.as_ref());
            let odd = layouts.flat_map(|layout| layout.warnings.iter().cloned());
            let warnings = cut.into_iter().chain(damage).chain(odd).collect();
            let of = Row { topics: Some(topics), ..Row::of(bag.format().as_str()) };
            return Ok((of, read_ms, Notes { warnings, salvaged }));
        }
        if let (Source::File(path), None, None) = (source, self.options.format, self.options.dataset) {
            if Format::from_name(path) == Some(Format::Npz) && is_ndt_map(path, &self.options.limits)? {
                let (map, read_ms) = timed(|| MapFile::read(path, &self.options.limits))?;
                let of = Row { map: Some(map), ..Row::of("ndt-map") };
                return Ok((of, read_ms, Notes::default()));
            }
            let (found, read_ms) = timed(|| Ok::<_, IoError>(find_poses(path, &self.options.limits)))?;
            if let Some((format, Poses { poses, times, warnings, .. })) = found {
                let times = times.and_then(|times| Some([*times.first()?, *times.last()?]));
                let poses = Some(PoseFile { count: poses.len(), kind: format.as_str(), times });
                let of = Row { poses, ..Row::of("poses") };
                let warnings = warnings.iter().map(ToString::to_string).collect();
                return Ok((of, read_ms, Notes { warnings, salvaged: None }));
            }
        }
        let (scan, read_ms) = self.inputs.read(source)?;
        let columns = scan.fields.iter().map(|f| Column { name: f.name.clone(), r#type: f.dtype.as_str() }).collect();
        let (points, nonfinite) = (scan.cloud.len(), scan.cloud.points().non_finite());
        let (origin, bounds) = (scan.cloud.origin(), Bounds::of(&scan));
        let times = scan.times().map(|times| CloudTimes {
            span: times.seconds.iter().copied().filter(|s| s.is_finite()).fold(0.0, f64::max),
            name: times.name,
            unit: times.unit.as_str(),
            unit_source: times.unit_source.as_str(),
            start: times.start,
        });
        let dataset = self.options.dataset.map(|dataset| dataset.as_str());
        let cloud = Cloud { points, columns, bounds, nonfinite, origin, times, dataset };
        let of = Row { cloud: Some(cloud), ..Row::of(scan.format.as_str()) };
        Ok((of, read_ms, notes(&scan.warnings)))
    }
}

impl Command for Info {
    type Worker = ();
    type Row = Row;
    type Totals = Totals;
    const ON_DEVICE: bool = false;

    fn worker(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn one(&self, (): &mut (), index: usize, source: &Source) -> Result<Frame<Row>, InputError> {
        let (of, read_ms, notes) = self.look(source)?;
        Ok(Frame::read(index, source.name(), read_ms, notes, of))
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.cloud.as_ref().map_or(0, |cloud| cloud.points);
        Ok(())
    }

    fn cells(&self, frame: &Frame<Row>) -> Vec<Cell> {
        let Row { format, cloud, .. } = &frame.of;
        let of_cloud = |text: fn(&Cloud) -> String| cloud.as_ref().map_or_else(String::new, text);
        let extent = of_cloud(|cloud| cloud.bounds.as_ref().map_or_else(String::new, Bounds::extent));
        let times =
            of_cloud(|cloud| cloud.times.as_ref().map_or_else(String::new, |times| format!("{:.3}", times.span)));
        vec![
            ("format", (*format).into()),
            ("points", of_cloud(|cloud| grouped(cloud.points))),
            // As wide as three lengths of a survey of 100 km; longer ones keep a blank before them.
            ("                extent, m", format!(" {extent}")),
            ("times, s", times),
            // Names begin at the left; the last column may be as long as it is.
            ("columns   ", format!("  {:<10}", frame.of.names())),
        ]
    }

    fn detail(&self, frame: &Frame<Row>, alone: bool) -> Option<Vec<String>> {
        let lines = frame.of.lines();
        if alone {
            return Some(lines);
        }
        if !self.long {
            return None;
        }
        let name = escape(&frame.input);
        Some(std::iter::once(name).chain(lines.iter().map(|line| format!("  {line}"))).collect())
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        if summary.counts.inputs == 1 {
            return Vec::new();
        }
        vec![format!("{}, {} points", counted(summary.counts.done, "input"), grouped(summary.of.points))]
    }
}

impl Row {
    /// A file of a format, of which nothing else is known.
    const fn of(format: &'static str) -> Self {
        Self { format, cloud: None, topics: None, poses: None, map: None }
    }

    /// For people.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("format     {}", self.format)];
        lines.extend(self.cloud.iter().flat_map(Cloud::lines));
        lines.extend(self.topics.iter().flatten().flat_map(Topic::lines));
        lines.extend(self.poses.iter().map(|poses| format!("           a file of poses: {}", poses.line())));
        lines.extend(self.map.iter().flat_map(MapFile::lines));
        lines
    }

    /// The columns of a cloud, the topics of a bag with clouds, or what the poses are.
    fn names(&self) -> String {
        let columns = self.cloud.iter().flat_map(|cloud| cloud.columns.iter().map(|column| escape(&column.name)));
        let clouds = self.topics.iter().flatten().filter(|topic| topic.layout.is_some());
        let topics =
            clouds.map(|topic| format!("{} ({} clouds)", escape(&topic.name), grouped(topic.messages as usize)));
        columns
            .chain(topics)
            .chain(self.poses.iter().map(PoseFile::line))
            .chain(self.map.iter().map(MapFile::line))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl MapFile {
    fn read(path: &Path, limits: &Limits) -> Result<Self, IoError> {
        let (cells, lattice) = read_ndt_map_within(Place::named(path), limits)?;
        let points = cells.counts.iter().map(|&count| u64::from(count)).sum();
        let (cells, bounds) = (cells.mean.len(), Bounds::around(&cells.mean));
        Ok(Self { cells, resolution: lattice.unit(), origin: lattice.origin(), points, bounds })
    }

    fn line(&self) -> String {
        format!("NDT map: {} of {} m", counted(self.cells, "cell"), tidy(self.resolution))
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("           {}, {} points", self.line(), grouped(self.points as usize))];
        lines.extend(self.bounds.iter().flat_map(Bounds::lines));
        let [x, y, z] = self.origin.map(tidy);
        lines.extend((self.origin != [0.0; 3]).then(|| format!("origin     {x}, {y}, {z} m")));
        lines
    }
}

impl PoseFile {
    fn line(&self) -> String {
        let times =
            self.times.map_or_else(String::new, |[first, last]| format!(", {} s to {} s", tidy(first), tidy(last)));
        format!("{}, {}{times}", counted(self.count, "pose"), self.kind.to_uppercase())
    }
}

impl Cloud {
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("points     {}", grouped(self.points)),
            format!("columns    {}: {}", self.columns.len(), listed(&self.columns)),
        ];
        lines.extend(self.bounds.iter().flat_map(Bounds::lines));
        lines.push(format!("nonfinite  {}", grouped(self.nonfinite)));
        let [x, y, z] = self.origin.map(tidy);
        lines.extend((self.origin != [0.0; 3]).then(|| format!("origin     {x}, {y}, {z} m")));
        lines.extend(self.times.iter().map(|times| {
            format!(
                "times      {} in {} (by the {}): {:.6} s from {} s",
                escape(&times.name),
                times.unit,
                times.unit_source,
                times.span,
                tidy(times.start)
            )
        }));
        lines.extend(self.dataset.map(|dataset| format!("data set   {dataset}")));
        lines
    }
}

impl Topic {
    fn lines(&self) -> Vec<String> {
        let seconds = (self.last_ns - self.first_ns) as f64 * 1e-9;
        let (name, kind) = (escape(&self.name), escape(&self.r#type));
        let messages = format!("{} messages in {seconds:.3} s", grouped(self.messages as usize));
        let mut lines = vec![format!("topic      {name}  {kind}, {messages}")];
        if let Some(Layout { frame, height, width, point_step, columns, times, .. }) = &self.layout {
            let frame = escape(frame);
            lines.push(format!("  first    {height} x {width} points of {point_step} bytes in `{frame}`"));
            lines.push(format!("  columns  {}: {}", columns.len(), listed(columns)));
            let line = |t: &TimesField| {
                format!(
                    "  times    `{}` in {} (by the {}), from the {}",
                    escape(&t.name),
                    t.unit,
                    t.unit_source,
                    t.origin
                )
            };
            lines.extend(times.as_ref().map(line));
        }
        lines
    }
}

fn listed(columns: &[Column]) -> String {
    columns.iter().map(|c| format!("{} {}", escape(&c.name), c.r#type)).collect::<Vec<_>>().join(", ")
}

/// What is odd about an input, but for what a cast to `f32` changes: nothing is made of the values.
fn notes(warnings: &[Warning]) -> Notes {
    Notes::of(warnings.iter().filter(|w| !matches!(w, Warning::Cast { .. })))
}

/// The topics of a bag. The layout of clouds is that of the first message.
fn topics(bag: &Bag) -> Result<Vec<Topic>, IoError> {
    let topic = |topic: &pointmill_io::bag::Topic| {
        let layout = if topic.cloud_encoding().is_some() { bag.layout(topic)? } else { None };
        Ok(Topic {
            name: topic.name.clone(),
            r#type: topic.schema_name.clone(),
            messages: topic.count,
            first_ns: topic.first_ns,
            last_ns: topic.last_ns,
            layout: layout.map(|layout| Layout {
                frame: layout.frame,
                height: layout.height,
                width: layout.width,
                point_step: layout.point_step,
                columns: layout
                    .fields
                    .iter()
                    .map(|f| Column { name: f.name.clone(), r#type: f.dtype.as_str() })
                    .collect(),
                warnings: notes(&layout.warnings).warnings,
                times: layout.times.map(|times| TimesField {
                    unit: times.unit.as_str(),
                    unit_source: times.unit_source.as_str(),
                    origin: TimeOrigin::of(&times).as_str(),
                    name: times.name,
                }),
            }),
        })
    };
    bag.topics().iter().map(topic).collect()
}
