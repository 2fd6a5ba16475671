//! A pose on the way of an alignment.

use crate::caption::grouped;
use pointmill_core::Pose;

/// A pose on the way, and how well the clouds fit there.
///
/// ```
/// use pointmill_view::IcpIteration;
/// use pointmill_core::Pose;
/// let start = IcpIteration { target_from_source: Pose::IDENTITY, stage: 0, pairs: 40_000, rmse: 0.02 };
/// assert_eq!(start.target_from_source.translation(), [0.0; 3]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IcpIteration {
    /// The pose.
    pub target_from_source: Pose,
    /// The stage of a schedule, from 0.
    pub stage: usize,
    /// The number of pairs.
    pub pairs: usize,
    /// Root mean square distance of the pairs in metres.
    pub rmse: f64,
}

impl IcpIteration {
    /// The text, after the stage if there are several.
    pub(crate) fn label(&self, stages: usize) -> String {
        let stage = if stages > 0 { format!(", stage {}", self.stage) } else { String::new() };
        format!("{stage}: {}", self.text())
    }

    fn text(&self) -> String {
        format!("rmse {}, {} pairs", length(self.rmse), grouped(self.pairs))
    }
}

/// Metres with three digits and a unit that fits.
fn length(metres: f64) -> String {
    let (value, unit) = match metres {
        m if m == 0.0 || m >= 1.0 => (m, "m"),
        m if m >= 1e-3 => (m * 1e3, "mm"),
        m => (m * 1e6, "um"),
    };
    let digits = if value >= 100.0 { 0 } else { 2 - usize::from(value >= 10.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::length;

    #[test]
    fn lengths_have_three_digits() {
        let texts = [0.0, 12.345, 0.25, 0.00206, 1.5e-5, 1e-9, f64::NAN].map(length);
        assert_eq!(texts, ["0.00 m", "12.3 m", "250 mm", "2.06 mm", "15.0 um", "0.00 um", "NaN um"]);
    }
}
