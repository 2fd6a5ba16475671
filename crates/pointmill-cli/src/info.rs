//! `pointmill info`: what is in a file.

use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::inputs::load_or_tell;
use crate::printer::Printer;
use crate::say;
use crate::table::grouped;
use pointmill_io::{Scan, escape};
use serde::Serialize;

/// `summary` of `info`.
#[derive(Debug, Serialize)]
struct Info {
    /// The file, or `-`.
    input: String,
    /// The format's name.
    format: &'static str,
    /// The number of points.
    points: usize,
    /// The columns, in order.
    columns: Vec<Column>,
    /// The smallest box around the finite points, in metres; null if there are none.
    bounds: Option<Bounds>,
    /// Points with a NaN or an infinity in x, y or z.
    nonfinite: usize,
    /// What is odd about it.
    warnings: Vec<String>,
}

/// A column.
#[derive(Debug, Serialize)]
struct Column {
    /// Its name.
    name: String,
    /// The type of its values in the file.
    r#type: &'static str,
}

/// A box, of numbers as wide as the file's.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Bounds {
    F32(Corners<f32>),
    F64(Corners<f64>),
}

/// The corners of a box.
#[derive(Debug, Serialize)]
struct Corners<T> {
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

    /// A line for each axis.
    fn told(&self) -> [String; 3] {
        fn lines<T: std::fmt::Display>(Corners { min, max }: &Corners<T>) -> [String; 3] {
            std::array::from_fn(|axis| format!("{}          {} .. {} m", ["x", "y", "z"][axis], min[axis], max[axis]))
        }
        match self {
            Self::F32(corners) => lines(corners),
            Self::F64(corners) => lines(corners),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &InfoArgs, printer: &mut Printer) -> Result<(), Failure> {
    let scan = load_or_tell(&args.input, &args.read.options(), printer)?;
    let info = Info::new(&args.input, &scan);
    info.warnings.iter().for_each(|warning| say::warning(format_args!("{}: {warning}", info.input)));
    printer.record("summary", &info)?;
    info.told().iter().try_for_each(|line| printer.text(line))
}

impl Info {
    fn new(input: &str, scan: &Scan) -> Self {
        let columns = scan.fields.iter().map(|f| Column { name: f.name.clone(), r#type: f.dtype.name() });
        Self {
            input: input.into(),
            format: scan.format.name(),
            points: scan.cloud.len(),
            columns: columns.collect(),
            bounds: Bounds::of(scan),
            nonfinite: scan.cloud.points().nonfinite(),
            warnings: scan.warnings.iter().map(ToString::to_string).collect(),
        }
    }

    /// For people.
    fn told(&self) -> Vec<String> {
        let columns: Vec<_> = self.columns.iter().map(|c| format!("{} {}", escape(&c.name), c.r#type)).collect();
        let mut lines = vec![
            format!("format     {}", self.format),
            format!("points     {}", grouped(self.points)),
            format!("columns    {}: {}", self.columns.len(), columns.join(", ")),
        ];
        lines.extend(self.bounds.iter().flat_map(Bounds::told));
        lines.push(format!("nonfinite  {}", grouped(self.nonfinite)));
        lines
    }
}
