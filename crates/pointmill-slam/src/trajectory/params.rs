//! What is evaluated.

use pointmill::{Argument, Error, Result};
use pointmill_core::names;
use pointmill_core::record::{Field, FieldType, Kind, Value};

/// How the estimate is moved onto the truth before errors are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alignment {
    /// Not at all: both have one world.
    #[default]
    None,
    /// By the rotation and translation that bring the positions closest together.
    Se3,
    /// As [`Alignment::Se3`], and with a scale.
    Sim3,
}

names!(Alignment { None = "none", Se3 = "se3", Sim3 = "sim3" });

/// How far apart the two poses of a relative error are.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Delta {
    /// So many poses.
    Frames(usize),
    /// So many metres along the truth. Of the later poses the one is taken whose distance is
    /// nearest, of equal ones the first; a pair that is off by more than a tenth is left out.
    Metres(f64),
}

/// One number of two, the other is none.
impl FieldType for Delta {
    const KIND: Kind = Kind::Record(&[
        Field {
            name: "frames",
            doc: " Frames between the poses of a pair; none if they are metres apart.",
            kind: Kind::Optional(&Kind::Integer),
        },
        Field {
            name: "metres",
            doc: " Metres between the poses of a pair along the truth; none if they are frames apart.",
            kind: Kind::Optional(&Kind::Float),
        },
    ]);

    fn value(&self) -> Value<'_> {
        Value::Record(match *self {
            Self::Frames(frames) => vec![Value::Integer(frames as u64), Value::None],
            Self::Metres(metres) => vec![Value::None, Value::Float(metres)],
        })
    }
}

/// Parameters of an evaluation; plain values, checked by [`evaluate`](super::evaluate).
///
/// ```
/// use pointmill_slam::trajectory::{Alignment, EvaluationParams};
/// let params = EvaluationParams { alignment: Alignment::Se3, ..EvaluationParams::default() };
/// assert_eq!((params.max_time_difference, params.segment_every), (0.01, 10));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct EvaluationParams {
    /// How the estimate is moved onto the truth first; default not at all.
    pub alignment: Alignment,
    /// Poses that belong together differ by at most these seconds, where both trajectories have
    /// times; default 0.01.
    pub max_time_difference: f64,
    /// What relative errors are taken over; default 1 frame and 10 m.
    pub deltas: Vec<Delta>,
    /// Lengths in metres of the segments of the drift. Empty, the default, takes 100, 200, .. 800
    /// m; on a way of at most 100 m a tenth of these, and so on.
    pub segment_lengths: Vec<f64>,
    /// A segment begins at every so many poses; default 10, as in the KITTI benchmark.
    pub segment_every: usize,
}

impl Default for EvaluationParams {
    fn default() -> Self {
        Self {
            alignment: Alignment::None,
            max_time_difference: 0.01,
            deltas: vec![Delta::Frames(1), Delta::Metres(10.0)],
            segment_lengths: Vec::new(),
            segment_every: 10,
        }
    }
}

impl EvaluationParams {
    /// Checks every parameter.
    ///
    /// # Errors
    /// A difference of times that is not finite or negative; a delta, a length or a number of poses
    /// that is not above zero.
    pub fn validate(&self) -> Result<()> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if !(self.max_time_difference.is_finite() && self.max_time_difference >= 0.0) {
            let got = self.max_time_difference;
            return Err(Error::argument(Argument::MaxTimeDifference, "finite seconds >= 0", got));
        }
        for delta in &self.deltas {
            let ok = match *delta {
                Delta::Frames(n) => n > 0,
                Delta::Metres(metres) => positive(metres),
            };
            if !ok {
                return Err(Error::argument(Argument::Deltas, "above zero", format!("{delta:?}")));
            }
        }
        if let Some(length) = self.segment_lengths.iter().find(|length| !positive(**length)) {
            return Err(Error::argument(Argument::SegmentLengths, "finite metres > 0", length));
        }
        if self.segment_every == 0 {
            return Err(Error::argument(Argument::SegmentEvery, "at least 1", 0));
        }
        Ok(())
    }
}
