//! Which poses belong together.

use super::Trajectory;
use pointmill::internals::memory;
use pointmill::{Argument, Error, Result};

/// Indices of the estimate and of the truth, in their order: by times where both have some, else
/// one to one.
pub(super) fn associate(estimate: &Trajectory, truth: &Trajectory, max_difference: f64) -> Result<Vec<[usize; 2]>> {
    let (Some(estimated), Some(true_times)) = (estimate.times(), truth.times()) else {
        if estimate.len() != truth.len() {
            let expected = "as many poses as the truth, or times in both";
            let got =
                format!("{} and {} poses and no times in both: they cannot be paired", estimate.len(), truth.len());
            return Err(Error::argument(Argument::Estimate, expected, got));
        }
        return memory::collect((0..truth.len()).map(|i| [i, i]));
    };
    // From the shorter one, so that none of its poses is lost.
    let turned = true_times.len() < estimated.len();
    let (few, many) = if turned { (true_times, estimated) } else { (estimated, true_times) };
    let mut pairs = Vec::new();
    for (i, time) in few.iter().enumerate() {
        if let Some(j) = nearest(many, *time).filter(|j| (many[*j] - time).abs() <= max_difference) {
            memory::push(&mut pairs, if turned { [j, i] } else { [i, j] })?;
        }
    }
    if pairs.is_empty() {
        let expected = format!("a time within {max_difference} s of one of the truth");
        return Err(Error::argument(Argument::Estimate, expected, range(estimated, true_times)));
    }
    Ok(pairs)
}

/// The index of the nearest of ascending times, of equally near ones the earlier.
fn nearest(times: &[f64], time: f64) -> Option<usize> {
    let after = times.partition_point(|t| *t <= time);
    let before = after.checked_sub(1);
    match (before, times.get(after)) {
        (Some(before), Some(next)) if next - time >= time - times[before] => Some(before),
        (_, Some(_)) => Some(after),
        (before, None) => before,
    }
}

fn range(estimate: &[f64], truth: &[f64]) -> String {
    let of = |times: &[f64]| match times {
        [] => "none".to_owned(),
        [first, .., last] => format!("{first} to {last}"),
        [only] => only.to_string(),
    };
    format!("{}; of the truth {}", of(estimate), of(truth))
}
