//! The flags of commands that take many inputs.

use crate::failure::Failure;
use clap::Args;

/// How inputs are worked through.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct BatchArgs {
    /// Begin no further input after one that cannot be used; what is under way is finished
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Inputs that are worked on at a time; what is told keeps their order [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
}

impl BatchArgs {
    /// Checks what does not go together: a picture is drawn of all inputs, in their order.
    pub(crate) fn check(self, resume: bool, draws: bool) -> Result<(), Failure> {
        let flag = match self.jobs {
            _ if !draws => return Ok(()),
            Some(2..) => "--jobs",
            _ if resume => "--resume",
            _ => return Ok(()),
        };
        Err(Failure::Usage(format!("{flag}: expected no --visualize with it, which draws all inputs in their order")))
    }

    /// Inputs that are worked on at a time, never more than there are.
    pub(crate) fn lanes(self, inputs: usize) -> usize {
        usize::from(self.jobs.unwrap_or(1)).min(inputs).max(1)
    }
}

/// Whether what was done before is done again.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ResumeArgs {
    /// Keep what earlier runs into the same folder finished of the same files with the same parameters, and do the rest
    #[arg(long)]
    pub(crate) resume: bool,
}
