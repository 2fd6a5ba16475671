//! `pointmill convert`: a file's points in another format.

use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::inputs::{STDIN, load_or_tell, require_format};
use crate::interrupt::undivided;
use crate::outputs::plan_file;
use crate::printer::Printer;
use crate::say;
use crate::table::grouped;
use pointmill_io::{
    ArrayView, NamedPoints, Scan, Warning, escape, write_bin, write_npy, write_pcd, write_ply, write_points_npz,
};
use serde::Serialize;
use std::path::Path;

/// The endings of the formats written.
const EXTENSIONS: [&str; 5] = ["npy", "npz", "ply", "pcd", "bin"];

/// `summary` of `convert`.
#[derive(Debug, Serialize)]
struct Summary {
    /// The file, or `-`.
    input: String,
    /// Its format's name.
    format: &'static str,
    /// The file written.
    out: String,
    /// The number of points.
    points: usize,
    /// The names of the columns, in order.
    columns: Vec<String>,
    /// What is odd about the input, or lost.
    warnings: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &ConvertArgs, printer: &mut Printer) -> Result<(), Failure> {
    let (out, options) = (&args.out, args.read.options());
    let input = Path::new(&args.input);
    if args.input == STDIN {
        require_format(&options)?;
    }
    let extension = plan_file(out, &EXTENSIONS, if args.input == STDIN { &[] } else { std::slice::from_ref(&input) })?;
    let scan = load_or_tell(&args.input, &options, printer)?;
    undivided(|| write(out, extension, &scan))?;
    let summary = Summary {
        input: args.input.clone(),
        format: scan.format.name(),
        out: out.to_string_lossy().into_owned(),
        points: scan.cloud.len(),
        columns: scan.fields.iter().map(|f| f.name.clone()).collect(),
        warnings: warnings(&scan, matches!(extension, "npz" | "ply" | "pcd")),
    };
    summary.warnings.iter().for_each(|warning| say::warning(format_args!("{}: {warning}", summary.input)));
    printer.record("summary", &summary)?;
    let names = escape(&summary.columns.join(", "));
    printer.text(&format!("{}  {} points: {names}", escape(&summary.out), grouped(summary.points)))?;
    if extension == "bin" {
        printer.text(&format!("read with --format bin --columns {}", summary.columns.len()))?;
    }
    Ok(())
}

/// Writes a cloud in the format of an ending.
pub(crate) fn write(out: &Path, extension: &str, scan: &Scan) -> Result<(), pointmill_io::IoError> {
    let points = scan.cloud.points();
    match extension {
        "ply" => write_ply(out, &scan.into()),
        "pcd" => write_pcd(out, &scan.into()),
        "npz" => write_points_npz(out, &NamedPoints::from(scan)),
        "npy" => write_npy(out, &ArrayView::f32(&[points.len(), points.columns()], points.data())),
        _ => write_bin(out, points),
    }
}

/// What to tell; where the output has the coordinates as `f64`, their cast is none of it.
fn warnings(scan: &Scan, keeps_f64: bool) -> Vec<String> {
    let lost = |warning: &&Warning| match warning {
        Warning::Rounded { .. } => !keeps_f64,
        Warning::Cast { from } => !keeps_f64 || scan.fields[3..].iter().any(|f| f.dtype == *from),
        _ => true,
    };
    scan.warnings.iter().filter(lost).map(ToString::to_string).collect()
}
