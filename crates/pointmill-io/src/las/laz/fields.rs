//! The decoders of the fields of a point: decoders of the crate `laz`, and own decoders where those
//! of the crate recurse without end or return wrong values.

use super::gps::GpsTime2;
use super::packing::{Layout, Packing};
use super::point14::Point14;
use super::version1::{Colour1, Extra1};
use laz::record::{LayeredPointRecordDecompressor, RecordDecompressor, SequentialPointRecordDecompressor};
use laz::{LasZipError, LazItem, LazItemType};
use std::io::Cursor;

/// The bytes of a chunk, as its decoder reads them.
type Bytes<'b> = Cursor<&'b [u8]>;

/// Creates the decoder of a chunk.
pub(super) fn decoder<'b>(
    packing: &Packing,
    bytes: &'b [u8],
) -> Result<Box<dyn RecordDecompressor<Bytes<'b>> + 'b>, LasZipError> {
    let bytes = Cursor::new(bytes);
    Ok(match packing.layout {
        Layout::Layers => Box::new(layers(&packing.items, bytes)?),
        Layout::Whole | Layout::Points => Box::new(points(&packing.items, bytes)?),
    })
}

fn points<'b>(
    items: &[LazItem],
    bytes: Bytes<'b>,
) -> Result<SequentialPointRecordDecompressor<'b, Bytes<'b>>, LasZipError> {
    let mut decoder = SequentialPointRecordDecompressor::new(bytes);
    for item in items {
        match (item.item_type(), item.version()) {
            (LazItemType::RGB12, 1) => decoder.add_field_decompressor(Colour1::new()),
            (LazItemType::Byte(count), 1) => decoder.add_field_decompressor(Extra1::new(count)),
            (LazItemType::GpsTime, 2) => decoder.add_field_decompressor(GpsTime2::new()),
            _ => decoder.set_fields_from(&vec![*item])?,
        }
    }
    Ok(decoder)
}

fn layers<'b>(
    items: &[LazItem],
    bytes: Bytes<'b>,
) -> Result<LayeredPointRecordDecompressor<'b, Bytes<'b>>, LasZipError> {
    let mut decoder = LayeredPointRecordDecompressor::new(bytes);
    for item in items {
        match (item.item_type(), item.version()) {
            (LazItemType::Point14, version @ 3..=4) => decoder.add_field_decompressor(Point14::new(version)),
            _ => decoder.set_fields_from(&vec![*item])?,
        }
    }
    Ok(decoder)
}
