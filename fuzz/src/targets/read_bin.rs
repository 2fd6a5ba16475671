//! Raw rows: the first byte says how many columns.
use pointmill_io::Format;

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let Some((&columns, bytes)) = bytes.split_first() else { return };
    crate::reader(bytes, Format::Bin, Some(3 + usize::from(columns % 16)));
}
