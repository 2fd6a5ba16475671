//! The fields of `localize` in its JSON lines.

use pointmill::Pose;
use pointmill::pipelines::localize::{Fix, FixStatus, LocalizerParams};
use serde::Serialize;

/// `begin` of `localize`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The map.
    pub(super) map: String,
    /// The pose of `--start`; null without one.
    pub(super) start: Option<Pose>,
    /// The parameters in effect.
    pub(super) params: LocalizerParams,
}

/// `frame` of `localize`: a scan.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the input.
    pub(super) format: String,
    /// What became of the scan.
    #[serde(flatten)]
    pub(super) fix: Fix,
}

/// `summary` of `localize`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Cells of the map; of a map by blocks that is loaded in parts, the most at a time.
    pub(super) map_cells: usize,
    /// Time to read and make the map; of a map that is loaded in parts it belongs to the scans.
    pub(super) map_ms: f64,
    /// What is unusual about the map.
    pub(super) map_warnings: Vec<String>,
    /// How many scans have each status.
    pub(super) statuses: Statuses,
    /// SHA-256 of the file of poses; null if none was written.
    pub(super) poses_sha256: Option<String>,
}

/// How many scans have each status.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Statuses {
    /// Aligned near the prediction.
    pub(super) tracked: usize,
    /// Found by a search.
    pub(super) found: usize,
    /// Without a fix; the pose is the prediction.
    pub(super) rejected: usize,
    /// Without a fix, and searched for.
    pub(super) lost: usize,
}

impl Statuses {
    pub(super) fn count(&mut self, status: FixStatus) {
        let count = match status {
            FixStatus::Tracked => &mut self.tracked,
            FixStatus::Found => &mut self.found,
            FixStatus::Rejected => &mut self.rejected,
            _ => &mut self.lost,
        };
        *count += 1;
    }

    /// Scans that have a fix.
    pub(super) const fn fixes(&self) -> usize {
        self.tracked + self.found
    }

    /// The statuses that scans have, for people.
    pub(super) fn line(&self) -> String {
        let named = FixStatus::NAMES.iter().zip([self.tracked, self.found, self.rejected, self.lost]);
        named.filter(|(_, n)| *n > 0).map(|(name, n)| format!("{n} {name}")).collect::<Vec<_>>().join(", ")
    }
}
