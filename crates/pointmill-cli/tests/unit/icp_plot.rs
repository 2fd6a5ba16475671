//! Tests of `src/icp/plot.rs`.

use super::*;

#[test]
fn brute_force_has_a_bound() {
    assert_eq!(stride(40_000, 40_000), 1);
    let every = stride(1_000_000, 2_000_000);
    let pairs = |every: usize| 1_000_000usize.div_ceil(every) * 2_000_000usize.div_ceil(every);
    assert!(pairs(every) <= MOST_PAIRS && pairs(every - 1) > MOST_PAIRS, "{every}");
}
