//! Which poses belong together.

use super::Trajectory;
use pointmill::internals::memory;
use pointmill::{Argument, Error, Result};
use std::borrow::Cow;

/// Less than this part of the shorter trajectory with a partner is worth a warning.
const FEW: f64 = 0.9;

/// Indices of the estimate and of the truth, in their order: by times where both have some, else
/// one to one. Adds what is odd to the warnings.
pub(super) fn associate(
    estimate: &Trajectory,
    truth: &Trajectory,
    max_difference: f64,
    warnings: &mut Vec<String>,
) -> Result<Vec<[usize; 2]>> {
    let (Some(estimated), Some(true_times)) = (estimate.times(), truth.times()) else {
        if estimate.len() != truth.len() {
            let expected = "as many poses as the truth, or times in both";
            let which = match (estimate.times(), truth.times()) {
                (Some(_), None) => "the truth has no times",
                (None, Some(_)) => "the estimate has no times",
                _ => "neither has times",
            };
            let way = "use files with a time a line (tum), or leave out poses until both have as many";
            let got = format!("{} and {} poses, and {which}; {way}", estimate.len(), truth.len());
            return Err(Error::argument(Argument::Estimate, expected, got));
        }
        return memory::collect((0..truth.len()).map(|i| [i, i]));
    };
    let estimated = Ascending::of("estimate", estimated, warnings)?;
    let true_times = Ascending::of("truth", true_times, warnings)?;
    // From the shorter one, so that none of its poses is lost.
    let turned = true_times.times.len() < estimated.times.len();
    let (few, many) = if turned { (&true_times, &estimated) } else { (&estimated, &true_times) };
    let mut pairs = Vec::new();
    for (i, time) in few.times.iter().enumerate() {
        if let Some(j) = nearest(&many.times, *time).filter(|j| (many.times[*j] - time).abs() <= max_difference) {
            let (i, j) = (few.index(i), many.index(j));
            memory::push(&mut pairs, if turned { [j, i] } else { [i, j] })?;
        }
    }
    if pairs.is_empty() {
        let expected = format!("a time within {max_difference} s of one of the truth");
        return Err(Error::argument(Argument::Estimate, expected, range(&estimated.times, &true_times.times)));
    }
    let all = few.times.len();
    if (pairs.len() as f64) < FEW * all as f64 {
        let whose = if turned { "the truth" } else { "the estimate" };
        let times = range(&estimated.times, &true_times.times);
        let told = format!("{} of {all} poses of {whose} have a partner within {max_difference} s", pairs.len());
        warnings.push(format!("{told} (max_time_difference); times of the estimate {times}"));
    }
    Ok(pairs)
}

/// Times that ascend, and which pose each is of.
struct Ascending<'a> {
    times: Cow<'a, [f64]>,
    /// The poses, where they are not all in their order.
    order: Vec<usize>,
}

impl<'a> Ascending<'a> {
    /// Sorts times that do not ascend and keeps the first of equal ones; says so.
    fn of(name: &str, times: &'a [f64], warnings: &mut Vec<String>) -> Result<Self> {
        if times.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(Self { times: times.into(), order: vec![] });
        }
        let falls = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
        let mut order = memory::collect(0..times.len())?;
        // Places are never equal, so this is the stable order.
        order.sort_unstable_by(|&a, &b| times[a].total_cmp(&times[b]).then(a.cmp(&b)));
        order.dedup_by(|later, first| times[*later] == times[*first]);
        let equal = times.len() - order.len();
        if falls > 0 {
            let places = if falls == 1 { "place" } else { "places" };
            warnings.push(format!("{name}: times do not ascend at {falls} {places}; poses are taken by time"));
        }
        if equal > 0 {
            let poses = if equal == 1 { "pose has" } else { "poses have" };
            let told = format!("{name}: {equal} {poses} the time of another");
            warnings.push(format!("{told}; the first of each time is taken"));
        }
        let sorted = memory::collect(order.iter().map(|&at| times[at]))?;
        Ok(Self { times: sorted.into(), order })
    }

    /// The pose of a time.
    fn index(&self, at: usize) -> usize {
        self.order.get(at).copied().unwrap_or(at)
    }
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
