//! The record that describes how points are compressed.

use crate::bytes::{u16_at, u32_at};
use crate::error::IoError;
use crate::fault::{Within, bail, fault};
use crate::las::header::{Header, least_record};
use crate::las::layout::MAX_EXTRA;
use crate::window::Window;
use laz::{LazItem, LazVlr};

/// No valid codes start with these bytes: the first number is below the length of the first
/// interval, which has this value. A decoder that starts with them would read past the end of its
/// tables.
pub(super) const NO_CODE: [u8; 4] = [0xff; 4];

/// Sizes in bytes: before the items, and of an item.
const HEAD: usize = 34;
const ITEM: usize = 6;

/// Items of a point: the number of the type, and the size in bytes.
const POINT_10: (u16, usize) = (6, 20);
const GPS_TIME: (u16, usize) = (7, 8);
const RGB_12: (u16, usize) = (8, 6);
const WAVE_13: (u16, usize) = (9, 29);
const POINT_14: (u16, usize) = (10, 30);
const RGB_14: (u16, usize) = (11, 6);
const RGB_NIR_14: (u16, usize) = (12, 8);
const WAVE_14: (u16, usize) = (13, 29);
/// The types of extra bytes: for formats up to 5, and for later formats.
const EXTRA: u16 = 0;
const EXTRA_14: u16 = 14;

/// Chunk sizes that mean that each chunk has its own number of points; some writers write 0.
const VARIABLE: [u32; 2] = [u32::MAX, 0];

/// How chunks are laid out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Layout {
    /// Point by point, in one chunk without a table.
    Whole,
    /// Point by point, in chunks.
    Points,
    /// Field by field (in layers), in chunks.
    Layers,
}

/// The contents of the record.
#[derive(Debug)]
pub(super) struct Packing {
    pub(super) layout: Layout,
    /// Number of points of a chunk; `None` if the table has it for each chunk.
    pub(super) chunk: Option<u64>,
    pub(super) items: Vec<LazItem>,
    /// Number of layers of a chunk; 0 for the other layouts.
    pub(super) layers: usize,
    /// Size of a point record in bytes.
    pub(super) record: usize,
}

/// The items of a point of a format: the number of the type, and the size in bytes.
pub(super) fn items(format: u8, record: usize) -> Option<Vec<(u16, usize)>> {
    let mut items = match format {
        0 => vec![POINT_10],
        1 => vec![POINT_10, GPS_TIME],
        2 => vec![POINT_10, RGB_12],
        3 => vec![POINT_10, GPS_TIME, RGB_12],
        4 => vec![POINT_10, GPS_TIME, WAVE_13],
        5 => vec![POINT_10, GPS_TIME, RGB_12, WAVE_13],
        6 => vec![POINT_14],
        7 => vec![POINT_14, RGB_14],
        8 => vec![POINT_14, RGB_NIR_14],
        9 => vec![POINT_14, WAVE_14],
        10 => vec![POINT_14, RGB_NIR_14, WAVE_14],
        _ => return None,
    };
    let extra = record - least_record(format)?;
    if extra > 0 {
        items.push((if format < 6 { EXTRA } else { EXTRA_14 }, extra));
    }
    Some(items)
}

impl Packing {
    /// Whether chunks tell where they end, so that they can be found without their table.
    pub(super) fn is_walkable(&self) -> bool {
        match self.layout {
            Layout::Whole => false,
            Layout::Points => self.chunk.is_some(),
            Layout::Layers => true,
        }
    }

    /// Parses the record and checks that it describes the points of the header.
    pub(super) fn parse(window: &Window<'_, '_>, header: &Header, bytes: &[u8]) -> Result<Self, IoError> {
        let record = Within(window, "record about compression");
        let count = bytes.get(HEAD - 2..HEAD).map(|count| usize::from(u16_at(count, 0)));
        let Some(count) = count.filter(|count| bytes.len() >= HEAD + ITEM * count) else {
            bail!(record, Truncated, "length", "{HEAD} bytes and {ITEM} for each item", ("{} bytes", bytes.len()));
        };
        let (kind, coder) = (u16_at(bytes, 0), u16_at(bytes, 2));
        if coder != 0 {
            bail!(record, UnsupportedFormat, "coder", "0, arithmetic", coder);
        }
        let layout = match (kind, header.format) {
            (1, 0..=5) => Layout::Whole,
            (2, 0..=5) => Layout::Points,
            (3, 6..) => Layout::Layers,
            _ => {
                let wanted = if header.format < 6 { "1 or 2" } else { "3" };
                let wanted = format!("{wanted} for point format {}", header.format);
                bail!(record, UnsupportedFormat, "compressor", wanted, kind);
            }
        };
        let told: Vec<_> = bytes[HEAD..HEAD + ITEM * count].chunks_exact(ITEM).map(item).collect();
        let wanted = items(header.format, header.record).unwrap_or_default();
        let kinds = told.iter().map(|&(kind, size, _)| (kind, size));
        if !kinds.eq(wanted.iter().copied()) {
            let shown: Vec<_> = told.iter().take(8).map(|(kind, size, _)| format!("({kind}, {size})")).collect();
            let pairs: Vec<_> = wanted.iter().map(|(kind, size)| format!("({kind}, {size})")).collect();
            let (format, bytes) = (header.format, header.record);
            let wanted = format!("types and sizes {} for format {format} of {bytes} bytes", pairs.join(" "));
            bail!(record, SizeMismatch, "items", wanted, shown.join(" "));
        }
        let versions = if layout == Layout::Layers { 3..=4 } else { 1..=2 };
        if let Some((kind, _, version)) = told.iter().find(|(_, _, version)| !versions.contains(version)) {
            let wanted = format!("{} or {}", versions.start(), versions.end());
            bail!(record, UnsupportedFormat, "version of item {kind}", wanted, version);
        }
        let extra = wanted.last().map_or(0, |&(kind, size)| if matches!(kind, EXTRA | EXTRA_14) { size } else { 0 });
        if extra > MAX_EXTRA {
            let wanted = format!("at most {MAX_EXTRA}, if they are compressed");
            bail!(window, LimitExceeded, "extra bytes of a point", wanted, extra);
        }
        let chunk = u32_at(bytes, 12);
        let parsed = LazVlr::read_from(bytes).map_err(|e| fault!(record, BadHeader, "items", "known ones", e))?;
        Ok(Self {
            layout,
            chunk: (!VARIABLE.contains(&chunk)).then_some(u64::from(chunk)),
            items: parsed.items().clone(),
            layers: if layout == Layout::Layers { wanted.iter().copied().map(layers).sum() } else { 0 },
            record: header.record,
        })
    }
}

/// An item's type, size and version.
fn item(bytes: &[u8]) -> (u16, usize, u16) {
    (u16_at(bytes, 0), usize::from(u16_at(bytes, 2)), u16_at(bytes, 4))
}

/// Number of layers of an item of formats 6 to 10.
fn layers(item: (u16, usize)) -> usize {
    match item {
        // Channel, returns, x and y; z; classification; flags; intensity; angle; user data; source;
        // time.
        POINT_14 => 9,
        // Colour and infrared.
        RGB_NIR_14 => 2,
        // One for each byte.
        (EXTRA_14, size) => size,
        _ => 1,
    }
}
