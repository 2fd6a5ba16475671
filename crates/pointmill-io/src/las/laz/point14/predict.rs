//! Predictions of values: medians of the last values, separate for each position of a point among
//! the returns of its pulse.

/// The kind of a return by the number of returns of the pulse (row) and the number of the return
/// (column). Up to 3 returns, valid pairs have different kinds; with more returns, the kind depends
/// on whether the return is the last. Pairs that should not occur have kinds as the format defines
/// them.
const KINDS: [&[u8; 16]; 16] = [
    b"0123453445555555",
    b"1013333333333333",
    b"2124444444433333",
    b"3345444444444444",
    b"4344544444444444",
    b"5344454444444444",
    b"3344445444444444",
    b"4344444544444444",
    b"4344444454444444",
    b"5344444445444444",
    b"5344444444544444",
    b"5334444444455444",
    b"5334444444455544",
    b"5334444444445554",
    b"5334444444444555",
    b"5334444444444455",
];

/// The number of kinds.
pub(super) const RETURN_KINDS: usize = 6;
/// The number of levels.
pub(super) const LEVELS: usize = 8;

/// The kind of a return, below `RETURN_KINDS`. Both numbers are below 16.
pub(super) fn kind(returns: u8, number: u8) -> usize {
    usize::from(KINDS[usize::from(returns)][usize::from(number)] - b'0')
}

/// The number of returns after a return, below `LEVELS`.
pub(super) fn level(returns: u8, number: u8) -> usize {
    usize::from(returns.abs_diff(number)).min(LEVELS - 1)
}

/// A running median of five values. New values drop the highest and the lowest value in turn, so
/// the median moves by at most one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Median {
    /// In ascending order.
    values: [i32; 5],
    /// Whether the next value drops the highest.
    drop_highest: bool,
}

impl Median {
    pub(super) fn new() -> Self {
        Self { values: [0; 5], drop_highest: true }
    }

    pub(super) fn get(&self) -> i32 {
        self.values[2]
    }

    pub(super) fn add(&mut self, value: i32) {
        let (median, values) = (self.get(), &mut self.values);
        if self.drop_highest {
            let mut at = 4;
            while at > 0 && value < values[at - 1] {
                values[at] = values[at - 1];
                at -= 1;
            }
            values[at] = value;
            self.drop_highest = value < median;
        } else {
            let mut at = 0;
            while at < 4 && values[at + 1] < value {
                values[at] = values[at + 1];
                at += 1;
            }
            values[at] = value;
            self.drop_highest = value <= median;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_follows_its_values() {
        let mut median = Median::new();
        let after: Vec<_> = [5, 7, -3, 7, 7, 7, -9, -9, -9, -9, i32::MIN, i32::MAX]
            .map(|value| {
                median.add(value);
                assert!(median.values.is_sorted());
                median.get()
            })
            .to_vec();
        assert_eq!(after, [0, 0, 0, 0, 5, 7, 7, 5, -9, -9, -9, -9]);
    }

    #[test]
    fn kinds_and_levels_are_in_their_range() {
        let pairs = || (0..16).flat_map(|n| (0..16).map(move |r| (n, r)));
        assert!(pairs().all(|(n, r)| kind(n, r) < RETURN_KINDS && level(n, r) < LEVELS));
        // The only return; first and last of two; the three of three; the last of more.
        let valid = [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 1), (4, 4), (15, 15)];
        assert_eq!(valid.map(|(n, r)| kind(n, r)), [0, 1, 2, 3, 4, 5, 3, 5, 5]);
        assert_eq!(valid.map(|(n, r)| level(n, r)), [0, 1, 0, 2, 1, 0, 3, 0, 0]);
    }
}
