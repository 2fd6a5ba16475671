//! Flags of every command.

use crate::device;
use clap::{ArgAction, Args};

/// Flags of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
pub struct Global {
    /// Device to use: auto, cpu, cuda (the first GPU) or cuda:N (GPU number N, from 0). auto uses
    /// the first available GPU, or the CPU if there is none, and prints its choice on stderr
    #[arg(long, global = true, value_name = "DEVICE", default_value = "auto", value_parser = device::check_name)]
    pub device: String,
    /// Print one JSON object per line instead of a table
    #[arg(long, global = true)]
    pub json: bool,
    /// Log to stderr: -v prints steps and times, -vv details
    #[arg(short = 'v', global = true, action = ArgAction::Count)]
    pub logs: u8,
    /// Print only errors on stderr, and show no progress bar
    #[arg(short, long, global = true)]
    pub quiet: bool,
}
