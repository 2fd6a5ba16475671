//! Tests of `src/ndt/matching.rs`.

use super::highest;

#[test]
fn the_first_of_the_highest() {
    assert_eq!(highest([None, Some(1.0), Some(3.0), Some(3.0), None].into_iter()), Some(2));
    assert_eq!(highest([None, None].into_iter()), None);
}
