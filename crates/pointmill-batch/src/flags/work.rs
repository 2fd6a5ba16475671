//! Flags of commands that work through inputs, and of those that do so with an operator.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use pointmill::{Device, Error};
use std::str::FromStr;

/// How inputs are worked through.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Many inputs")]
pub struct BatchArgs {
    /// Stop after the first input that fails. Inputs that are being processed are finished; no
    /// other input is started
    #[arg(long)]
    pub fail_fast: bool,
    /// Number of inputs to process at the same time, 1 to 256, or auto: one for each core, as far as
    /// memory allows. The output keeps the order of the inputs
    #[arg(long, value_name = "N", default_value = "auto")]
    pub jobs: Jobs,
}

/// `--jobs`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jobs {
    /// As many as the machine and the command allow.
    #[default]
    Auto,
    /// At most so many.
    Given(u16),
}

impl FromStr for Jobs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let number = text.parse::<i64>().map_err(|_| "expected a number from 1 to 256, or auto")?;
        let most = u16::try_from(number).ok().filter(|number| (1..=256).contains(number));
        most.map(Self::Given).ok_or_else(|| format!("{number} is not in 1..=256"))
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
    #[arg(long = "compare-cpu", alias = "cpu")]
    pub cpu: bool,
    /// Print a line for each input, also for more than 20 inputs, with the times of reading and
    /// writing. This is not the long form of -v
    #[arg(long)]
    pub verbose: bool,
}

impl WorkArgs {
    /// Refuses flags that do not go with a picture of all inputs, which is drawn in their order.
    pub fn check_picture(&self, draws: bool) -> Result<(), Failure> {
        let flag = match self.batch.jobs {
            _ if !draws => return Ok(()),
            Jobs::Given(2..) => "--jobs 2 or more",
            _ if self.resume.resume => "--resume",
            _ => return Ok(()),
        };
        let message = format!("cannot be used with {flag}, because the picture shows all inputs in their order");
        Err(Failure::Usage(format!("--visualize: {message}")))
    }
}
