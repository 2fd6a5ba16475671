//! `pointmill info`: what is in a file.

use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::inputs::load_one;
use crate::printer::Printer;
use crate::records::ErrorRecord;
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

/// A box.
#[derive(Debug, Serialize)]
struct Bounds {
    /// Smallest x, y, z.
    min: [f32; 3],
    /// Largest x, y, z.
    max: [f32; 3],
}

/// Runs the command.
pub(crate) fn run(args: &InfoArgs, printer: &mut Printer) -> Result<(), Failure> {
    let scan = match load_one(&args.input, &args.read.options())? {
        Ok(scan) => scan,
        Err(e) => {
            let (class, message) = (e.class(), e.to_string());
            say::error(&message);
            let input = Some(args.input.clone());
            printer.record("error", &ErrorRecord { index: Some(0), input, class, message, exit_code: None })?;
            return Err(Failure::Inputs { failed: 1, inputs: 1 });
        }
    };
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
            bounds: scan.cloud.bounds().map(|b| Bounds { min: b.min, max: b.max }),
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
        if let Some(Bounds { min, max }) = &self.bounds {
            for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
                lines.push(format!("{name}          {} .. {} m", min[axis], max[axis]));
            }
        }
        lines.push(format!("nonfinite  {}", grouped(self.nonfinite)));
        lines
    }
}
