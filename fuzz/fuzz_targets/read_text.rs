#![no_main]
use pointmill_io::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pointmill_fuzz::reader(bytes, Format::Xyz, None));
