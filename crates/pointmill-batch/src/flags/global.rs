//! Flags of every command.

use crate::device;
use clap::{ArgAction, Args};

/// Flags of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
pub struct Global {
    /// Device to use: auto, cpu, cuda (the first GPU) or cuda:N (GPU number N, from 0). auto uses
    /// the first available GPU, or the CPU if there is none or for one input below 64 MiB, and
    /// prints its choice on stderr
    #[arg(long, global = true, value_name = "DEVICE", default_value = "auto", value_parser = device::check_name)]
    pub device: String,
    /// Number of CPU threads that operators and readers use, and of inputs that --jobs auto takes
    /// [default: one for each core]. Results are the same for any number
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print one JSON object per line instead of a table
    #[arg(long, global = true)]
    pub json: bool,
    /// Log to stderr: -v prints steps and times, -vv details
    #[arg(short = 'v', global = true, action = ArgAction::Count)]
    pub logs: u8,
    /// Print nothing but errors: no table, no notes, no progress bar. --json prints its lines all
    /// the same
    #[arg(short, long, global = true)]
    pub quiet: bool,
}
