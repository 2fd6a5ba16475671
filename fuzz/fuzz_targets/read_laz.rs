#![no_main]
//! LAZ. Runs only where it is named: its decoder recurses without an end on crafted times (SECURITY.md), and a run ends there.
use pointmill_io::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if pointmill_fuzz::is_laz(bytes) {
        pointmill_fuzz::reader(bytes, Format::Las, None);
    }
});
