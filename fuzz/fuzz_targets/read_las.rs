#![no_main]
//! LAS; what is compressed is for `read_laz`.
use pointmill_io::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if !pointmill_fuzz::is_laz(bytes) {
        pointmill_fuzz::reader(bytes, Format::Las, None);
    }
});
