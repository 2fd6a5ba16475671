//! Flags of commands that work through inputs, and of those that do so with an operator.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use pointmill::{Device, Error};
use std::path::PathBuf;

/// How inputs are worked through.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Many inputs")]
pub struct BatchArgs {
    /// Stop after the first input that fails. Inputs that are being processed are finished; no
    /// other input is started
    #[arg(long)]
    pub fail_fast: bool,
    /// Number of inputs to process at the same time, 1 to 256. The output keeps the order of the
    /// inputs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
}

impl BatchArgs {
    /// Inputs to work on at a time, never more than there are.
    pub fn workers(self, inputs: usize) -> usize {
        usize::from(self.jobs).min(inputs).max(1)
    }
}

/// Whether finished work is done again.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Many inputs")]
pub struct ResumeArgs {
    /// Skip each input that an earlier run into the same folder has finished, if the input file and
    /// the parameters have not changed. Process the others
    #[arg(long)]
    pub resume: bool,
}

/// `--on-oom`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnOom {
    /// Report the input as failed, and continue with the others
    #[default]
    Fail,
    /// Process the input on the CPU, and print a warning
    Cpu,
}

impl OnOom {
    /// Whether work that ended with this error on a device is done again on the CPU.
    pub fn redoes(self, e: &Error, device: &Device) -> bool {
        self == Self::Cpu && !device.is_cpu() && matches!(e, Error::OutOfMemory { .. })
    }
}

/// Flags of every operator.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Many inputs")]
pub struct WorkArgs {
    /// How many inputs at a time, and what a failure ends.
    #[command(flatten)]
    pub batch: BatchArgs,
    /// Whether earlier runs count.
    #[command(flatten)]
    pub resume: ResumeArgs,
    /// What to do if the GPU has too little memory for an input
    #[arg(long, value_enum, value_name = "WHAT", default_value = "fail")]
    pub on_oom: OnOom,
    /// Process each input a second time on the CPU, check that all results are equal bit for bit
    /// (exit code 6 if not), and compare the times. If the device is the CPU, the second run uses
    /// one thread
    #[arg(long)]
    pub cpu: bool,
    /// Print a line for each input, also for more than 20 inputs, with the times of reading and
    /// writing. This is not the long form of -v
    #[arg(long)]
    pub verbose: bool,
    /// The configuration file.
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// Flags of the configuration file. [`config`](super::config) applies them before the command runs.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigArgs {
    /// Read flags from this TOML file. A flag on the command line overrides the file.
    /// --print-config prints such a file
    #[arg(long, value_name = "FILE.toml")]
    pub config: Option<PathBuf>,
    /// Print the flags in effect as a TOML file for --config, and exit
    #[arg(long)]
    pub print_config: bool,
}

impl WorkArgs {
    /// Refuses flags that do not go with a picture of all inputs, which is drawn in their order.
    pub fn check_picture(&self, draws: bool) -> Result<(), Failure> {
        let flag = match self.batch.jobs {
            _ if !draws => return Ok(()),
            2.. => "--jobs 2 or more",
            _ if self.resume.resume => "--resume",
            _ => return Ok(()),
        };
        let message = format!("cannot be used with {flag}, because the picture shows all inputs in their order");
        Err(Failure::Usage(format!("--visualize: {message}")))
    }
}
