//! Decoders of our own against the crate's compressors and the records that these were given.

mod crafted;
mod equal;
#[path = "../../../../tests/common/points.rs"]
mod points;
#[path = "../../../../tests/common/random.rs"]
mod random;

use super::fields::decoder;
use super::packing::{Layout, Packing, items};
use laz::LazVlr;
use laz::record::{LayeredPointRecordCompressor, RecordCompressor, SequentialPointRecordCompressor};

/// What a file says of points of a format, with all items of one version.
fn packing(format: u8, extra: usize, version: u16) -> Packing {
    let record = points::RECORDS[usize::from(format)] + extra;
    let told = items(format, record).unwrap();
    let mut bytes = vec![0; 32];
    bytes.extend((told.len() as u16).to_le_bytes());
    for (kind, size) in told {
        bytes.extend([kind, size as u16, version].map(u16::to_le_bytes).as_flattened());
    }
    let items = LazVlr::read_from(&bytes[..]).unwrap().items().clone();
    let layout = if version < 3 { Layout::Points } else { Layout::Layers };
    Packing { layout, chunk: None, items, layers: 0, record }
}

/// Packs a chunk with the crate.
fn packed(packing: &Packing, records: &[u8]) -> Vec<u8> {
    fn with(mut compressor: impl RecordCompressor<Vec<u8>>, packing: &Packing, records: &[u8]) -> Vec<u8> {
        compressor.set_fields_from(&packing.items).unwrap();
        compressor.compress_many(records).unwrap();
        compressor.done().unwrap();
        compressor.into_inner()
    }
    if packing.layout == Layout::Layers {
        with(LayeredPointRecordCompressor::new(vec![]), packing, records)
    } else {
        with(SequentialPointRecordCompressor::new(vec![]), packing, records)
    }
}

/// Unpacks `n` points, or as many as can be decoded, and says what was wrong with the next.
fn unpacked(packing: &Packing, bytes: &[u8], n: usize) -> (Vec<u8>, Option<std::io::Error>) {
    let mut decoder = decoder(packing, bytes).unwrap();
    let (mut out, mut record) = (vec![], vec![0; packing.record]);
    for _ in 0..n {
        if let Err(e) = decoder.decompress_next(&mut record) {
            return (out, Some(e));
        }
        out.extend(&record);
    }
    (out, None)
}
