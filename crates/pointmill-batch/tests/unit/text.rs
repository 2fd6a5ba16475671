//! Tests of `src/text.rs`.

use super::*;

#[test]
fn numbers_and_names_fit() {
    assert_eq!([999, 1000, 1_234_567].map(grouped), ["999", "1,000", "1,234,567"]);
    assert_eq!([1, 1200].map(|n| counted(n, "input")), ["1 input", "1,200 inputs"]);
    assert_eq!([0.0123, 12.34, 1234.5].map(short), ["0.012", "12.3", "1234"]);
    assert_eq!(titled("a map", [515_000.5, 0.0, -1000.0]), "a map; origin 515000.5, 0, -1000");
    assert_eq!(titled("a map", [0.0, -0.0, 0.0]), "a map");
    assert_eq!(shortened("a\x1b"), r"a\u{1b}");
    let long = "x".repeat(100) + "end";
    assert!(shortened(&long).ends_with("end") && shortened(&long).len() == NAME);
}
