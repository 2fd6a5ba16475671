//! Flags of commands that work through inputs, and of those that do so with an operator.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use pointmill::{Device, Error};
use std::path::PathBuf;

/// How inputs are worked through.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Many inputs")]
pub(crate) struct BatchArgs {
    /// Begin no further input after one that fails. Inputs that are under way are finished
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Inputs to work on at a time. The output keeps the order of the inputs [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
}

impl BatchArgs {
    /// Inputs to work on at a time, never more than there are.
    pub(crate) fn lanes(self, inputs: usize) -> usize {
        usize::from(self.jobs.unwrap_or(1)).min(inputs).max(1)
    }
}

/// Whether finished work is done again.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Many inputs")]
pub(crate) struct ResumeArgs {
    /// Keep what earlier runs into the same folder finished from the same files with the same parameters, and do the rest
    #[arg(long)]
    pub(crate) resume: bool,
}

/// `--on-oom`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOom {
    /// Report that input as failed, and do the others
    #[default]
    Fail,
    /// Process that input on the CPU instead, and print a warning
    Cpu,
}

impl OnOom {
    /// Whether work that ended with this error on a device is done again on the CPU.
    pub(crate) fn redoes(self, e: &Error, device: &Device) -> bool {
        self == Self::Cpu && !device.is_cpu() && matches!(e, Error::OutOfMemory { .. })
    }
}

/// Flags of every operator.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Many inputs")]
pub(crate) struct WorkArgs {
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    /// What to do with an input for which the GPU has too little memory
    #[arg(long, value_enum, value_name = "WHAT", default_value = "fail")]
    pub(crate) on_oom: OnOom,
    /// Run the CPU as well (if the device is the CPU: one thread beside all), check that all results are equal bit for bit, and compare the times
    #[arg(long)]
    pub(crate) cpu: bool,
    /// Print a line for every input, with its times
    #[arg(long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// Flags of the configuration file. [`config`](super::config) applies them before the command runs.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct ConfigArgs {
    /// Take flags from this TOML file; flags on the command line override it
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config: Option<PathBuf>,
    /// Print the flags in effect as such a file, and exit
    #[arg(long)]
    pub(crate) print_config: bool,
}

impl WorkArgs {
    /// Refuses flags that do not go with a picture of all inputs, which is drawn in their order.
    pub(crate) fn check_picture(&self, draws: bool) -> Result<(), Failure> {
        let flag = match self.batch.jobs {
            _ if !draws => return Ok(()),
            Some(2..) => "--jobs",
            _ if self.resume.resume => "--resume",
            _ => return Ok(()),
        };
        Err(Failure::Usage(format!("{flag}: expected no --visualize with it, which draws all inputs in their order")))
    }
}
