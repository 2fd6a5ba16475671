//! Whether rows of raw values are cut at the right number of columns.
//!
//! With the right number, a value and the one a row later are of one column, so their ranks among
//! all values are near. With a wrong one they are of different columns: of two distributions,
//! values of different ones are on average farther apart than values of the same.

use crate::warning::Warning;

/// Numbers of columns that sensors have.
pub(crate) const USUAL_COLUMNS: std::ops::RangeInclusive<usize> = 3..=8;

/// Values that are looked at first, and in all if these look mixed.
const SAMPLES: [usize; 2] = [256, 2048];
/// How much nearer than the rows in hand others must be, after the first look and at the end.
const NEARER: [f64; 2] = [0.92, 0.85];
/// A divisor of the number in hand separates columns as well as this if it does so at all: its
/// multiples do too.
const AS_NEAR: f64 = 1.1;
/// A multiple of the number in hand must be this much nearer: where two lasers fire in turn, every
/// other row is nearer than the next.
const MULTIPLE: f64 = 0.4;
/// Fewer rows than these tell nothing.
const LEAST_ROWS: usize = 256;

/// A warning, if the columns look mixed and another number of them separates them.
pub(crate) fn check(data: &[f32], columns: usize) -> Option<Warning> {
    let fits = |&n: &usize| n != columns && data.len().is_multiple_of(n);
    let others: Vec<usize> = USUAL_COLUMNS.filter(fits).collect();
    if others.is_empty() || data.len() < LEAST_ROWS * columns.max(*USUAL_COLUMNS.end()) {
        return None;
    }
    let [first, last] = SAMPLES;
    better(data, columns, &others, first, NEARER[0])?;
    let likely = better(data, columns, &others, last, NEARER[1])?;
    Some(Warning::MixedColumns { columns, likely })
}

/// The number of columns, of those given, that separates them better.
fn better(data: &[f32], columns: usize, others: &[usize], samples: usize, nearer: f64) -> Option<usize> {
    let ranks = Ranks::of(data, samples, columns.max(*USUAL_COLUMNS.end()));
    let own = ranks.step(data, columns);
    let steps: Vec<_> = others.iter().map(|&n| (n, ranks.step(data, n))).collect();
    let most = |n: usize| match n {
        n if columns.is_multiple_of(n) => AS_NEAR,
        n if n.is_multiple_of(columns) => MULTIPLE,
        _ => nearer,
    };
    let good: Vec<_> = steps.into_iter().filter(|&(n, step)| step < most(n) * own).collect();
    let least = good.iter().map(|&(_, step)| step).reduce(f64::min)?;
    // Multiples of the right number are about as near.
    good.into_iter().find(|&(_, step)| step <= AS_NEAR * least).map(|(n, _)| n)
}

/// Some values, and the order of all of them.
struct Ranks {
    places: Vec<usize>,
    sorted: Vec<f32>,
}

impl Ranks {
    /// Values at places that are the same for the same length.
    fn of(data: &[f32], samples: usize, farthest: usize) -> Self {
        let room = (data.len() - farthest) as u64;
        // Multiples of the golden ratio, which fall into every column alike.
        let place = |k: u64| ((k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % room) as usize;
        let places: Vec<_> = (1..=samples as u64).map(place).collect();
        let mut sorted: Vec<_> = places.iter().map(|&at| data[at]).collect();
        sorted.sort_unstable_by(f32::total_cmp);
        Self { places, sorted }
    }

    /// The rank of a value, twice, from 0 to twice the number of values.
    fn rank(&self, value: f32) -> usize {
        let below = self.sorted.partition_point(|other| other.total_cmp(&value).is_lt());
        below + self.sorted.partition_point(|other| other.total_cmp(&value).is_le())
    }

    /// The mean distance in rank of a value and the one `columns` later.
    fn step(&self, data: &[f32], columns: usize) -> f64 {
        let steps = self.places.iter().map(|&at| self.rank(data[at]).abs_diff(self.rank(data[at + columns])));
        steps.sum::<usize>() as f64
    }
}
