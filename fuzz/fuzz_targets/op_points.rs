//! Runs the target of this name under libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pointmill_fuzz::targets::op_points(bytes));
