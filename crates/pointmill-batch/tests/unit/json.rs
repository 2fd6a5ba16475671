//! Tests of `src/json.rs`.

use super::*;

#[test]
fn results_differ_in_bits_but_not_in_times() {
    #[derive(Serialize)]
    struct Result {
        score: f64,
        steps: [Step; 1],
    }
    #[derive(Serialize)]
    struct Step {
        pairs: usize,
        solve_ms: f64,
    }
    let result = |score, pairs, solve_ms| Result { score, steps: [Step { pairs, solve_ms }] };
    assert_eq!(differences(&result(0.0, 1, 2.0), &result(0.0, 1, 3.0)), [""; 0]);
    assert_eq!(differences(&result(0.0, 1, 2.0), &result(-0.0, 1, 2.0)), ["score"]);
    assert_eq!(differences(&result(0.1, 1, 2.0), &result(0.1 + f64::EPSILON, 2, 2.0)), ["score", "steps"]);
}
