//! The fields of `odometry` in its JSON lines.

use pointmill::pipelines::odometry::{OdometryParams, Step, SweepStatus};
use pointmill_io::{TimeUnit, Times};
use serde::Serialize;

/// `begin` of `odometry`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The parameters in effect.
    pub(super) params: OdometryParams,
}

/// The column of times of a drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TimesOf {
    /// The name of the column.
    pub(super) column: String,
    /// The unit of its values.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) unit: TimeUnit,
}

impl From<&Times> for TimesOf {
    fn from(times: &Times) -> Self {
        Self { column: times.name.clone(), unit: times.unit }
    }
}

/// `frame` of `odometry`: a sweep.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the input, or `synthetic`.
    pub(super) format: String,
    /// What became of the sweep; its time is that of the pose.
    #[serde(flatten)]
    pub(super) step: Step,
    /// Metres since the sweep before.
    pub(super) moved: f64,
}

/// `summary` of `odometry`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Metres along all poses.
    pub(super) length: f64,
    /// How many sweeps have each status.
    pub(super) statuses: Statuses,
    /// The column of times that was found; null if there is none that can be used.
    pub(super) times: Option<TimesOf>,
    /// SHA-256 of the file of poses; null if none was written.
    pub(super) poses_sha256: Option<String>,
    /// The map that was written; null without `--map`.
    pub(super) map: Option<String>,
    /// Points of the map that was written or drawn; null without one.
    pub(super) map_points: Option<usize>,
    /// Why the first sweep that was not tracked was not, for people.
    #[serde(skip)]
    pub(super) untracked: Option<String>,
}

/// How many sweeps have each status.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Statuses {
    /// The first sweep with enough points.
    pub(super) started: usize,
    /// Aligned and added to the map.
    pub(super) tracked: usize,
    /// Aligned, but the surfaces do not determine all directions.
    pub(super) degenerate: usize,
    /// Aligned, but the last step was not short.
    pub(super) not_converged: usize,
    /// The same points as the sweep before.
    pub(super) repeated: usize,
    /// Too few points.
    pub(super) too_few_points: usize,
    /// Too few points have a neighbour in the map.
    pub(super) lost: usize,
}

impl Statuses {
    pub(super) fn count(&mut self, status: SweepStatus) {
        let count = match status {
            SweepStatus::Started => &mut self.started,
            SweepStatus::Tracked => &mut self.tracked,
            SweepStatus::Degenerate => &mut self.degenerate,
            SweepStatus::NotConverged => &mut self.not_converged,
            SweepStatus::Repeated => &mut self.repeated,
            SweepStatus::TooFewPoints => &mut self.too_few_points,
            _ => &mut self.lost,
        };
        *count += 1;
    }

    /// The statuses that sweeps have, for people.
    pub(super) fn lines(&self) -> String {
        let Self { started, tracked, degenerate, not_converged, repeated, too_few_points, lost } = *self;
        let all = [started, tracked, degenerate, not_converged, repeated, too_few_points, lost];
        let named = SweepStatus::NAMES.iter().zip(all).filter(|(_, n)| *n > 0);
        named.map(|(name, n)| format!("{n} {name}")).collect::<Vec<_>>().join(", ")
    }
}
