//! Tests of `src/line.rs`.

use super::*;

#[test]
fn names_come_back_and_are_one_line() {
    let name = "a\n\x1b\x7f\u{85}\u{2028}\u{202e}\"\\\u{e9}\u{1f980}";
    let line = String::from_utf8(of("t", &[name]).unwrap()).unwrap();
    assert_eq!(
        line,
        "{\"type\":\"t\",\"data\":[\"a\\n\\u001b\\u007f\\u0085\\u2028\\u202e\\\"\\\\\u{e9}\u{1f980}\"]}\n"
    );
    let back: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(back["data"][0], name);
}
