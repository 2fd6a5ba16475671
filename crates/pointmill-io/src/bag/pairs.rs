//! Which clouds of two topics belong together, by their stamps.

/// The time from one cloud to the next, in nanoseconds: the median; `None` of clouds of one time.
pub(super) fn period(stamps: &[i64]) -> Option<u64> {
    let mut sorted = stamps.to_vec();
    sorted.sort_unstable();
    let mut steps: Vec<u64> = sorted.windows(2).map(|two| two[1].abs_diff(two[0])).filter(|step| *step > 0).collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied()
}

/// For each of the first clouds the one of the others that is nearest in time, of two the earlier one,
/// if it is within half a period. Each of the others belongs to one at most: the one that it is nearest
/// to, of two the first.
pub(super) fn pairs(first: &[i64], others: &[i64], period: Option<u64>) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..others.len()).collect();
    order.sort_by_key(|&j| (others[j], j));
    let is_near = |far: u64| period.is_none_or(|period| far <= period / 2);
    let nearest = |stamp: i64| {
        let at = order.partition_point(|&j| others[j] < stamp);
        // Of those of one time the first, also before the stamp.
        let before = at.checked_sub(1).map(|at| others[order[at]]);
        let start = before.map_or(0, |time| order.partition_point(|&j| others[j] < time));
        let near = [before.map(|_| start), Some(at)].into_iter().flatten().filter_map(|at| order.get(at).copied());
        near.map(|j| (others[j].abs_diff(stamp), j)).min_by_key(|(far, _)| *far).filter(|(far, _)| is_near(*far))
    };
    let mut owner: Vec<Option<(u64, usize)>> = vec![None; others.len()];
    let found: Vec<_> = first.iter().map(|&stamp| nearest(stamp)).collect();
    for (i, (far, j)) in found.iter().enumerate().filter_map(|(i, near)| near.map(|near| (i, near))) {
        if owner[j].is_none_or(|(nearer, _)| far < nearer) {
            owner[j] = Some((far, i));
        }
    }
    let keeps =
        |(i, near): (usize, Option<(u64, usize)>)| near.map(|(_, j)| j).filter(|&j| owner[j].is_some_and(|o| o.1 == i));
    found.into_iter().enumerate().map(keeps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_period_is_the_median_step() {
        assert_eq!(period(&[100, 200, 300, 1000, 400]), Some(100));
        assert_eq!(period(&[5, 5, 5, 25]), Some(20));
        assert_eq!(period(&[i64::MIN, i64::MAX]), Some(u64::MAX));
        assert_eq!([period(&[]), period(&[7]), period(&[7, 7])], [None; 3]);
    }

    #[test]
    fn clouds_go_together_within_half_a_period() {
        let first = [0, 100, 200, 300];
        // On the border, one too far, none, and two for one.
        assert_eq!(pairs(&first, &[50, 151, 290, 310], Some(100)), [Some(0), None, Some(1), Some(2)]);
        assert_eq!(pairs(&first, &[], Some(100)), [None; 4]);
        assert_eq!(pairs(&[], &[1], Some(100)), []);
        // Of two as near, the earlier one; one for two goes to the nearer.
        assert_eq!(pairs(&[100], &[110, 90], Some(100)), [Some(1)]);
        assert_eq!(pairs(&[0, 10], &[4], None), [Some(0), None]);
        assert_eq!(pairs(&[0, 10], &[5], None), [Some(0), None]);
        assert_eq!(pairs(&[i64::MIN], &[i64::MAX], None), [Some(0)]);
        assert_eq!(pairs(&[3, 3], &[3, 3], None), [Some(0), None]);
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_all_against_all(
            first in prop::collection::vec(-40i64..40, 0..12),
            others in prop::collection::vec(-40i64..40, 0..12),
            period in prop::option::of(0u64..30),
        ) {
            let near = |i: usize| {
                let far = |j: usize| (first[i] - others[j]).unsigned_abs();
                let best = (0..others.len()).min_by_key(|&j| (far(j), others[j], j));
                best.filter(|&j| period.is_none_or(|p| far(j) <= p / 2)).map(|j| (far(j), j))
            };
            let wanted: Vec<Option<usize>> = (0..first.len()).map(|i| {
                let (far, j) = near(i)?;
                let is_owner = (0..first.len()).all(|k| k == i || near(k).is_none_or(|(other, l)| l != j || (far, i) < (other, k)));
                is_owner.then_some(j)
            }).collect();
            prop_assert_eq!(pairs(&first, &others, period), wanted);
        }
    }
}
