//! Compares the own decoders with the compressors of the crate: the unpacked records must equal the
//! records that were packed.

mod equal;
#[path = "../../../../tests/common/points.rs"]
mod points;
#[allow(dead_code)] // Others use all of it.
#[path = "../../../../tests/common/random.rs"]
mod random;
mod version1;

use super::fields::decoder;
use super::packing::{Layout, Packing, items};
use laz::record::{LayeredPointRecordCompressor, RecordCompressor, SequentialPointRecordCompressor};
use laz::{LazItemType, LazVlr};
use version1::BytesCoder;

/// The compression record of a file for points of a format, with all items of one version.
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

/// Packs a chunk with the crate, and with own coders where the crate does not follow the format.
fn packed(packing: &Packing, records: &[u8]) -> Vec<u8> {
    fn pack(mut compressor: impl RecordCompressor<Vec<u8>>, records: &[u8]) -> Vec<u8> {
        compressor.compress_many(records).unwrap();
        compressor.done().unwrap();
        compressor.into_inner()
    }
    if packing.layout == Layout::Layers {
        let mut compressor = LayeredPointRecordCompressor::new(vec![]);
        compressor.set_fields_from(&packing.items).unwrap();
        return pack(compressor, records);
    }
    let mut compressor = SequentialPointRecordCompressor::new(vec![]);
    for item in &packing.items {
        match (item.item_type(), item.version()) {
            (LazItemType::RGB12, 1) => compressor.add_field_compressor(BytesCoder::new(6, true)),
            (LazItemType::Byte(n), 1) => compressor.add_field_compressor(BytesCoder::new(n.into(), false)),
            _ => compressor.set_fields_from(&vec![*item]).unwrap(),
        }
    }
    pack(compressor, records)
}

/// Unpacks `n` points, or as many as can be decoded; then also returns what was wrong with the next
/// point.
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
