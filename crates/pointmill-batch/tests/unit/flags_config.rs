//! Tests of `src/flags/config.rs`.

use super::*;

#[test]
fn values_are_typed_as_they_are_written() {
    assert_eq!([typed("true"), typed("7"), typed("0.1")], [true.into(), 7.into(), 0.1.into()]);
    assert_eq!(typed("0.1, 2"), Value::Array(vec![0.1.into(), 2.into()]));
    for word in ["first-seen", "1:2,0:none", "huber:0.5"] {
        assert_eq!(typed(word), Value::String(word.into()));
    }
}
