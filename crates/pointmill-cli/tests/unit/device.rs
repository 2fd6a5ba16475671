//! Tests of `src/device.rs`.

use super::*;

#[test]
fn names_are_taken_to_the_letter() {
    assert_eq!(parse("cuda"), parse("cuda:0"));
    assert_eq!(parse("cuda:12"), Some(Name::Cuda(12)));
    for bad in ["", "gpu", "CUDA", "cuda:", "cuda:+1", "cuda:-1", "cuda:1 ", "cuda:99999999999999999999999"] {
        assert_eq!(parse(bad), None, "{bad}");
    }
    assert_eq!(check_name("tpu").unwrap_err(), format!("expected {EXPECTED}"));
}
