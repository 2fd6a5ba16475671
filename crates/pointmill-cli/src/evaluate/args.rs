//! What `pointmill evaluate` is given: two trajectories, or `detections` with its own arguments.

use super::command::TrajectoryArgs;
use super::detections::DetectionsArgs;
use crate::examples;
use clap::{Args, Subcommand};

/// `pointmill evaluate`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct EvaluateArgs {
    #[command(subcommand)]
    pub(super) command: Option<EvaluateCommand>,
    #[command(flatten)]
    pub(super) trajectories: Option<TrajectoryArgs>,
}

/// What is evaluated, if not a trajectory.
#[derive(Debug, Subcommand)]
pub(super) enum EvaluateCommand {
    /// Compare 3D boxes with the truth by the protocol of a benchmark: average precisions, errors,
    /// and which boxes became better or worse than those of another run
    #[command(after_help = examples::EVALUATE_DETECTIONS)]
    Detections(DetectionsArgs),
}
