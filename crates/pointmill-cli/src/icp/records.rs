//! The fields of `icp` in its JSON lines.

use pointmill::icp::{IcpParams, Registration};
use pointmill::registration::Status;
use serde::Serialize;

/// `begin` of `icp`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The source: a file, a folder or a pattern.
    pub(super) source: String,
    /// The target.
    pub(super) target: String,
    /// The file of the pose to start from; null for the identity.
    pub(super) guess: Option<String>,
    /// The parameters in effect.
    pub(super) params: IcpParams,
}

/// `frame` of `icp`: a source.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The pose and how well it fits.
    #[serde(flatten)]
    pub(super) found: Registration,
    /// Points of the source, those that were left out included.
    pub(super) source_points: usize,
    /// Points of the target, those that were left out included.
    pub(super) target_points: usize,
    /// Why there are no pairs, where that is not the distance.
    #[serde(skip)]
    pub(super) cause: Option<String>,
}

/// `summary` of `icp`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Sources that converged.
    pub(super) converged: usize,
    /// Points of all sources that were done.
    pub(super) points: usize,
    /// Points of the target, those that were left out included.
    pub(super) target_points: usize,
    /// Time to prepare the target. On the CPU these are its index and its normals; a GPU makes them
    /// with the first source.
    pub(super) target_ms: f64,
    /// Time to read target and guess.
    pub(super) target_read_ms: f64,
    /// What is unusual about the target.
    pub(super) target_warnings: Vec<String>,
    /// The plot that was written; null without `--plot`.
    pub(super) plot: Option<String>,
    /// Why the last source ended.
    #[serde(skip)]
    pub(super) status: Option<Status>,
    /// Why it has no pairs, where that is not the distance.
    #[serde(skip)]
    pub(super) cause: Option<String>,
}
