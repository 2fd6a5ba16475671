//! The fields of `register` in its JSON lines.

use pointmill::registration::global::{RegisterParams, Registered, Verdict};
use serde::Serialize;

/// `begin` of `register`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The source: a file, a folder or a pattern.
    pub(super) source: String,
    /// The target.
    pub(super) target: String,
    /// The parameters in effect.
    pub(super) params: RegisterParams,
}

/// `frame` of `register`: a source.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The pose and how sure it is.
    #[serde(flatten)]
    pub(super) found: Registered,
    /// Points of the source, those that were left out included.
    pub(super) source_points: usize,
    /// Points of the target, those that were left out included.
    pub(super) target_points: usize,
}

/// `summary` of `register`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Sources with an answer.
    pub(super) found: usize,
    /// Points of all sources that were done.
    pub(super) points: usize,
    /// Points of the target, those that were left out included.
    pub(super) target_points: usize,
    /// Time to make the target ready: voxels, normals, features and search trees.
    pub(super) target_ms: f64,
    /// Time to read the target.
    pub(super) target_read_ms: f64,
    /// What is unusual about the target.
    pub(super) target_warnings: Vec<String>,
    /// The verdict of the last source.
    #[serde(skip)]
    pub(super) verdict: Option<Verdict>,
}
