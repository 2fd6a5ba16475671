#![no_main]
use pointmill_io::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&columns, bytes)) = bytes.split_first() else { return };
    pointmill_fuzz::reader(bytes, Format::Bin, Some(3 + usize::from(columns % 16)));
});
