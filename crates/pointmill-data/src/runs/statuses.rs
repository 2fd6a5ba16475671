//! How many inputs of a run have each status.

use pointmill_slam::localize::FixStatus;
use pointmill_slam::odometry::SweepStatus;
use serde::Serialize;

/// How many sweeps have each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepStatuses {
    /// The first sweep with enough points.
    pub started: usize,
    /// Aligned and added to the map.
    pub tracked: usize,
    /// Aligned, but the surfaces do not determine all directions.
    pub degenerate: usize,
    /// Aligned, but the last step was not short.
    pub not_converged: usize,
    /// The same points as the sweep before.
    pub repeated: usize,
    /// Too few points.
    pub too_few_points: usize,
    /// The map explains too little.
    pub lost: usize,
    /// Found again in the map.
    pub recovered: usize,
    /// The map explains as much at another place.
    pub ambiguous: usize,
}

impl SweepStatuses {
    /// Counts a sweep.
    pub(super) fn count(&mut self, status: SweepStatus) {
        let count = match status {
            SweepStatus::Started => &mut self.started,
            SweepStatus::Tracked => &mut self.tracked,
            SweepStatus::Degenerate => &mut self.degenerate,
            SweepStatus::NotConverged => &mut self.not_converged,
            SweepStatus::Repeated => &mut self.repeated,
            SweepStatus::TooFewPoints => &mut self.too_few_points,
            SweepStatus::Recovered => &mut self.recovered,
            SweepStatus::Ambiguous => &mut self.ambiguous,
            _ => &mut self.lost,
        };
        *count += 1;
    }
}

/// The statuses that sweeps have: `1 started, 9 tracked`.
impl std::fmt::Display for SweepStatuses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { started, tracked, degenerate, not_converged, repeated, too_few_points, lost, recovered, ambiguous } =
            *self;
        let all = [started, tracked, degenerate, not_converged, repeated, too_few_points, lost, recovered, ambiguous];
        f.write_str(&listed(SweepStatus::NAMES, &all))
    }
}

/// How many scans have each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FixStatuses {
    /// Aligned near the prediction.
    pub tracked: usize,
    /// Found by a search.
    pub found: usize,
    /// Without a fix; the pose is the prediction.
    pub rejected: usize,
    /// Without a fix, and searched for.
    pub lost: usize,
}

impl FixStatuses {
    /// Counts a scan.
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
    pub const fn fixes(&self) -> usize {
        self.tracked + self.found
    }
}

/// The statuses that scans have: `1 found, 9 tracked`.
impl std::fmt::Display for FixStatuses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&listed(FixStatus::NAMES, &[self.tracked, self.found, self.rejected, self.lost]))
    }
}

/// The names that are counted, each behind its number.
fn listed(names: &[&str], counts: &[usize]) -> String {
    let named = names.iter().zip(counts).filter(|(_, n)| **n > 0);
    named.map(|(name, n)| format!("{n} {name}")).collect::<Vec<_>>().join(", ")
}
