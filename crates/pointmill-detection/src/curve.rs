//! Curves of precision over recall.

use crate::memory::{Result, collect};

/// The value at `x` of the line through points whose `xs` ascend, not strictly: of points at one `x`
/// the last counts. Before the first point it is the first value; behind the last `right`.
///
/// The operations and their order are those of numpy's `interp`.
pub(crate) fn interpolate(x: f64, xs: &[f64], ys: &[f64], right: f64) -> f64 {
    let above = xs.partition_point(|&known| known <= x);
    match (above.checked_sub(1), xs.len()) {
        (_, 0) => right,
        (None, _) => ys[0],
        (Some(at), length) if at + 1 == length => {
            if x > xs[at] {
                right
            } else {
                ys[at]
            }
        }
        (Some(at), _) if xs[at] == x => ys[at],
        (Some(at), _) => (ys[at + 1] - ys[at]) / (xs[at + 1] - xs[at]) * (x - xs[at]) + ys[at],
    }
}

/// The recalls at which curves are sampled: 0, 0.01, .. 1.
pub(crate) fn recalls() -> impl Iterator<Item = f64> {
    (0..=100).map(|i| f64::from(i) * 0.01)
}

/// The mean; NaN of nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// For each prediction, in the order of scores, how many so far are true.
pub(crate) fn cumulated(is_true: impl Iterator<Item = bool>) -> Result<Vec<f64>> {
    collect(is_true.scan(0.0, |sum, is_true| {
        *sum += f64::from(u8::from(is_true));
        Some(*sum)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolation_takes_the_last_of_equal_points() {
        let (xs, ys) = ([0.25, 0.5, 0.5, 0.75], [1.0, 0.5, 0.25, 0.75]);
        let at = |x| interpolate(x, &xs, &ys, 0.0);
        assert_eq!([0.0, 0.25, 0.375, 0.5, 0.625, 0.75, 0.9].map(at), [1.0, 1.0, 0.75, 0.25, 0.5, 0.75, 0.0]);
        assert_eq!(interpolate(0.5, &[], &[], 3.0), 3.0);
    }

    #[test]
    fn recalls_end_at_one() {
        assert_eq!(recalls().last(), Some(1.0));
        assert_eq!(recalls().count(), 101);
    }
}
