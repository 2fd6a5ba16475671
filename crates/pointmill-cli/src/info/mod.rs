//! `pointmill info`: format, columns, bounds and number of points of files.

mod bag;
mod bounds;
mod cloud;
mod command;
mod las;
mod map;
pub(crate) mod records;
mod system;
mod tiles;

pub use command::describe;

use crate::batch::prelude::*;
use crate::flags::{BatchArgs, ReadArgs};
use crate::see::SeeArgs;
use clap::Args;
use command::Info;
use records::Begin;
use std::path::PathBuf;

/// `pointmill info`
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Files, folders, patterns in quotes such as 'sweeps/*.bin', or - for the standard input; raw
    /// rows there need --format. A folder with an NDT map by blocks or a map in tiles is one input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// Print all that is known of each file, also of several. Without it several files have a row
    /// each: format, points, extent along x, y, z, times of points, columns
    #[arg(short, long)]
    long: bool,
    #[command(flatten)]
    see: SeeArgs,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// Runs the command.
pub(crate) fn run(args: &InfoArgs, printer: &mut Printer) -> Result<(), Failure> {
    let options = args.read.options()?;
    let (sources, inputs) = Inputs::find_files(&args.inputs, options.clone(), &command::is_one_map)?;
    let see = Some(args.see.plan(&sources)?);
    let picture = args.see.visualize.as_deref();
    let job = Job { every_row: true, picture, ..Job::new("info", &sources, args.batch) };
    job.begin(Begin {}, printer)?;
    job.run(&Info { inputs, options, long: args.long, see }, printer)
}
