//! From a file or a stream to rows: the schema, then batch after batch as they come; of a file also the footer, which lists them again.

use super::buffers::{Buffers, Codec, Found, Packed};
use super::flat::{Broken, Table as Flat};
use super::schema::{self, Column, Kind};
use super::{FEATHER_1, FILE, STREAM};
use crate::error::{IoError, excerpt};
use crate::lanes::Lane;
use crate::limits::Bounds;
use crate::records::{Columns, Entry, Table};
use crate::rows::Rows;
use crate::source::Source;
use crate::threads::on_threads;
use crate::warning::Warning;
use crate::window::Window;

/// The longest description of a schema, a batch or a footer: a name of 256 bytes and metadata of some kilobytes for 1024 columns.
const MAX_MESSAGE: u64 = 4 << 20;

/// What a file may always unpack to, in bytes, and by which factor it may otherwise grow.
const FREE_UNPACKED: u64 = 16 << 20;
const MAX_GROWTH: u64 = 64;

/// The key of the schema's metadata that says what kind of table a file of pointmill has.
const FORMAT: &str = "format";

/// Kinds of messages.
const SCHEMA: u8 = 1;
const DICTIONARY: u8 = 2;
const BATCH: u8 = 3;

/// Reads the rows of a table with x, y and z.
pub(crate) fn read_rows(source: &mut Source<'_>, bounds: &Bounds) -> Result<Rows, IoError> {
    let mut table = None;
    let mut left_out = vec![];
    let mut memory = Memory::default();
    let rest = read(&mut Window::new(source), bounds, |window, columns, batch| {
        if table.is_none() {
            left_out.extend(columns.iter().filter(|c| matches!(c.kind, Kind::Other(_))).map(|c| c.name.clone()));
            table = Some(Table::new(entries(window, bounds, columns)?));
        }
        let (Some(batch), Some(table)) = (batch, &mut table) else { return Ok(()) };
        push(window, bounds, table, batch, &mut memory)
    })?;
    // The schema made it.
    let mut rows = table.map_or(Rows::EMPTY, |table| table.into_rows(rest));
    if !left_out.is_empty() {
        rows.warnings.push(Warning::LeftOut { columns: left_out });
    }
    Ok(rows)
}

/// A column for each one of numbers.
fn entries(window: &Window<'_, '_>, bounds: &Bounds, columns: &[Column]) -> Result<Columns, IoError> {
    let numbers = columns.iter().enumerate().filter_map(|(token, column)| match column.kind {
        Kind::Numbers(dtype) => {
            Some(Entry { name: column.name.clone(), dtype, token, field: 0..dtype.bytes(), within: 0 })
        }
        Kind::Other(_) => None,
    });
    Columns::new(window, bounds, numbers.collect(), 0)
}

/// A batch: rows of the columns.
#[derive(Debug)]
pub(super) struct Batch<'b> {
    pub(super) rows: usize,
    /// Bytes of the values of all columns of numbers.
    bytes: u64,
    columns: &'b [Column],
    /// Rows and nulls of each column.
    nodes: Vec<[i64; 2]>,
    /// For each column the first of its buffers.
    first: Vec<usize>,
    buffers: Buffers<'b>,
}

impl<'b> Batch<'b> {
    /// The bytes of the values of columns of numbers, and a bit for each row whether it has one, or no bits where all have. `memory` is used
    /// again from batch to batch.
    pub(super) fn values<'m>(
        &self,
        window: &Window<'_, '_>,
        columns: &[usize],
        memory: &'m mut Memory,
    ) -> Result<Vec<[&'m [u8]; 2]>, IoError>
    where
        'b: 'm,
    {
        let mut found = Vec::with_capacity(2 * columns.len());
        for &column in columns {
            let Column { name, kind } = &self.columns[column];
            let width = if let Kind::Numbers(dtype) = kind { dtype.bytes() } else { 0 };
            let (first, nulls) = (self.first[column], self.nodes[column][1] != 0);
            found.push(self.buffers.find(window, first + 1, self.rows * width, name)?);
            found.push(if nulls {
                self.buffers.find(window, first, self.rows.div_ceil(8), name)?
            } else {
                Found::Plain(&[])
            });
        }
        memory.unpack(window, found)
    }
}

/// Memory of what is unpacked: for each column its values and its bits.
#[derive(Debug, Default)]
pub(super) struct Memory(Vec<Vec<u8>>);

impl Memory {
    /// The bytes of all buffers. Those that are compressed are unpacked on all threads.
    fn unpack<'m>(&'m mut self, window: &Window<'_, '_>, found: Vec<Found<'m>>) -> Result<Vec<[&'m [u8]; 2]>, IoError> {
        self.0.resize_with(found.len(), Vec::new);
        let packed = found.iter().zip(&mut self.0).enumerate();
        let packed = packed.filter_map(|(i, (found, out))| match found {
            Found::Packed(packed) => Some((i, packed, out)),
            Found::Plain(_) => None,
        });
        // Of several that fail the first is returned, whichever threads they were on.
        let failed = on_threads(
            packed.collect(),
            || None,
            |failed: &mut Option<_>, (i, packed, out): (_, &Packed<'_>, _)| {
                *failed = packed.unpack(out).err().map(|e| (i, e));
                failed.is_none()
            },
        );
        if let Some((i, e)) = failed.into_iter().flatten().min_by_key(|(i, _)| *i)
            && let Found::Packed(packed) = &found[i]
        {
            return Err(packed.error(window, e));
        }
        let bytes = found.iter().zip(&self.0).map(|(found, out)| match found {
            Found::Plain(bytes) => bytes,
            Found::Packed(_) => &out[..],
        });
        Ok(bytes.collect::<Vec<_>>().as_chunks().0.to_vec())
    }
}

/// Adds the rows of a batch.
fn push(
    window: &Window<'_, '_>,
    bounds: &Bounds,
    table: &mut Table,
    batch: &Batch<'_>,
    memory: &mut Memory,
) -> Result<(), IoError> {
    bounds.check_points(window.source(), (table.len() + batch.rows) as u64)?;
    if let (0, Some(left)) = (table.len(), window.left()) {
        // The other batches may be like the first.
        let share = (window.position() + left) as f64 / window.position().max(1) as f64;
        table.expect(window, (batch.rows as f64 * share) as usize);
    }
    table.make_room(window, batch.rows)?;
    let values = batch.values(window, &table.tokens(), memory)?;
    let first = table.extend(window, batch.rows, |j, entry| Lane {
        bytes: values[j][0],
        at: 0,
        step: entry.dtype.bytes(),
        big_endian: false,
    })?;
    for (j, [_, there]) in values.iter().enumerate().filter(|(_, [_, there])| !there.is_empty()) {
        let absent = (0..batch.rows).filter(|i| there[i / 8] >> (i % 8) & 1 == 0);
        absent.for_each(|i| table.blank(first + i, j));
    }
    Ok(())
}

/// Reads a table: gives the columns once, then the columns and each batch; the number of bytes behind the end of a stream.
pub(super) fn read<'w, 's>(
    window: &mut Window<'w, 's>,
    bounds: &Bounds,
    mut take: impl FnMut(&Window<'w, 's>, &[Column], Option<&Batch<'_>>) -> Result<(), IoError>,
) -> Result<u64, IoError> {
    let length = window.left();
    let is_file = start(window)?;
    let mut unpacked = 0;
    let (mut head, mut body, mut columns, mut blocks) = (vec![], vec![], vec![], vec![]);
    loop {
        let at = window.position();
        if !message(window, &mut head, is_file)? {
            break;
        }
        let field = format!("message at byte {at}");
        let parsed = Message::parse(&head).map_err(|e| e.error(window, &field))?;
        if !(3..=4).contains(&parsed.version) {
            let found = format!("V{}", i32::from(parsed.version) + 1);
            return Err(IoError::UnsupportedFormat(window.detail(&format!("{field}: version"), "V4 or V5", found)));
        }
        let here = window.position();
        let wanted = u64::try_from(parsed.body).map_err(|_| Broken.error(window, &field))?;
        body.clear();
        if window.left().is_some_and(|left| left < wanted) || window.read_into(&mut body, wanted)? < wanted {
            let found = format!("{} bytes", window.left().unwrap_or_default().max(body.len() as u64));
            return Err(IoError::Truncated(window.detail(&format!("{field}: body"), format!("{wanted} bytes"), found)));
        }
        match (parsed.kind, blocks.is_empty() && columns.is_empty()) {
            (SCHEMA, true) => {
                let (read, format) = schema::read(window, &parsed.header, FORMAT)?;
                if let Some(format) = format.filter(|format| format.starts_with(b"pointmill.")) {
                    return Err(IoError::UnsupportedFormat(window.detail("table", "points", excerpt(format))));
                }
                columns = read;
                take(window, &columns, None)?;
            }
            (BATCH, false) => {
                let i = blocks.len();
                blocks.push([at as i64, (here - at) as i64, parsed.body]);
                let places = parsed.header.structs(2).map_err(|e| e.error(window, &field))?;
                let batch = parsed.batch(window, &columns, &body, &places, i)?;
                if batch.buffers.codec.is_some() {
                    unpacked += batch.bytes;
                    // Of a stream what came so far counts.
                    let whole = length.unwrap_or_else(|| window.position());
                    let growth = FREE_UNPACKED.max(whole.saturating_mul(MAX_GROWTH));
                    let detail = |wanted, found| window.detail("data unpacked", wanted, found);
                    bounds.limits.check_decoded(detail, unpacked, growth, "16 MiB or 64 times the file")?;
                }
                take(window, &columns, Some(&batch))?;
            }
            (DICTIONARY, _) => {
                let wanted = "a table without dictionaries";
                return Err(IoError::UnsupportedFormat(window.detail(&field, wanted, "a dictionary")));
            }
            (kind, first) => {
                let wanted = if first { "a schema" } else { "a batch" };
                return Err(IoError::BadHeader(window.detail(&field, wanted, format!("a message of kind {kind}"))));
            }
        }
    }
    if columns.is_empty() && blocks.is_empty() {
        return Err(IoError::MissingField(window.detail("schema", "columns", "none")));
    }
    if is_file {
        footer(window, &blocks)?;
    }
    window.rest()
}

/// Looks at how the bytes start; whether they are a file, whose magic is passed over, or a stream.
fn start(window: &mut Window<'_, '_>) -> Result<bool, IoError> {
    let taken = window.peek(8)?;
    let first = window.at(&taken);
    if first.starts_with(FILE) && first.len() == 8 {
        window.bytes(8)?;
        return Ok(true);
    }
    if first.starts_with(STREAM) {
        return Ok(false);
    }
    let found = if first.is_empty() { "an empty file".into() } else { excerpt(first) };
    let wanted = "`ARROW1` and 2 bytes of padding, or 4 bytes of ff";
    Err(if first.starts_with(FEATHER_1) {
        IoError::UnsupportedFormat(window.detail("version", "Feather 2", "Feather 1"))
    } else if first.len() < 8 {
        IoError::Truncated(window.detail("start", wanted, found))
    } else {
        IoError::BadHeader(window.detail("start", wanted, found))
    })
}

/// Takes the description of the next message; whether there is one. A stream may just end.
fn message(window: &mut Window<'_, '_>, head: &mut Vec<u8>, is_file: bool) -> Result<bool, IoError> {
    head.clear();
    let at = window.position();
    let field = format!("message at byte {at}");
    let taken = window.bytes(8)?;
    let first = window.at(&taken);
    if first.is_empty() && !is_file && at > 0 {
        return Ok(false);
    }
    let Some((marker, length)) = first.split_first_chunk::<4>().filter(|(_, length)| length.len() == 4) else {
        let found = format!("{} bytes", first.len());
        return Err(IoError::Truncated(window.detail(&field, "8 bytes of its marker and length", found)));
    };
    if marker != STREAM {
        return Err(IoError::BadHeader(window.detail(&field, "4 bytes of ff", format!("{marker:02x?}"))));
    }
    let length = u64::from(u32::from_le_bytes(std::array::from_fn(|i| length[i])));
    if length == 0 {
        return Ok(false);
    }
    if length > MAX_MESSAGE {
        let wanted = format!("at most {MAX_MESSAGE} bytes");
        return Err(IoError::LimitExceeded(window.detail(&field, wanted, format!("{length} bytes"))));
    }
    if window.left().is_some_and(|left| left < length) || window.read_into(head, length)? < length {
        let found = format!("{} bytes", window.left().unwrap_or_default().max(head.len() as u64));
        return Err(IoError::Truncated(window.detail(&field, format!("{length} bytes"), found)));
    }
    Ok(true)
}

/// The description of a message.
struct Message<'b> {
    version: i16,
    kind: u8,
    header: Flat<'b>,
    /// Bytes behind it.
    body: i64,
}

impl<'b> Message<'b> {
    fn parse(bytes: &'b [u8]) -> Result<Self, Broken> {
        let root = Flat::root(bytes)?;
        let header = root.table(2)?.ok_or(Broken)?;
        Ok(Self { version: root.i16(0, 0)?, kind: root.u8(1)?, header, body: root.i64(3)? })
    }

    /// Checks what a batch says of its rows and buffers.
    fn batch<'c>(
        &self,
        window: &Window<'_, '_>,
        columns: &'c [Column],
        body: &'c [u8],
        places: &'c [[i64; 2]],
        i: usize,
    ) -> Result<Batch<'c>, IoError> {
        let field = |part: &str| format!("batch {i}{part}");
        let broken = |e: Broken| e.error(window, &field(""));
        let rows = self.header.i64(0).map_err(broken)?;
        let nodes: Vec<[i64; 2]> = self.header.structs(1).map_err(broken)?;
        let compression = self.header.table(3).map_err(broken)?;
        let codec = compression.map(|table| Ok((table.u8(0)?, table.u8(1)?))).transpose().map_err(broken)?;
        let codec = match codec {
            None => None,
            Some((0, 0)) => Some(Codec::Lz4),
            Some((1, 0)) => Some(Codec::Zstd),
            Some((codec, _)) => {
                let wanted = "LZ4 or ZSTD of each buffer";
                let found = format!("codec {codec}");
                return Err(IoError::UnsupportedFormat(window.detail(&field(": compression"), wanted, found)));
            }
        };
        let mut first = Vec::with_capacity(columns.len());
        let mut buffers = 0;
        for column in columns {
            first.push(buffers);
            buffers += if let Kind::Other(buffers) = column.kind { buffers } else { 2 };
        }
        if nodes.len() != columns.len() || places.len() != buffers {
            let wanted = format!("{} nodes and {buffers} buffers", columns.len());
            let found = format!("{} and {}", nodes.len(), places.len());
            return Err(IoError::BadHeader(window.detail(&field(""), wanted, found)));
        }
        for ([length, nulls], column) in nodes.iter().zip(columns) {
            if *length != rows || !(0..=rows).contains(nulls) {
                let part = field(&format!(": column `{}`", column.name));
                let found = format!("{length} rows, {nulls} nulls");
                return Err(IoError::SizeMismatch(window.detail(&part, format!("{rows} rows"), found)));
            }
        }
        // Before memory is taken for as many.
        let most = body.len() as u64 * codec.map_or(1, Codec::growth);
        let width = |column: &Column| if let Kind::Numbers(dtype) = column.kind { dtype.bytes() } else { 0 };
        let width = columns.iter().map(width).sum::<usize>() as u64;
        let bytes = u64::try_from(rows).ok().and_then(|rows| rows.checked_mul(width)).filter(|&bytes| bytes <= most);
        let Some(bytes) = bytes else {
            let wanted = format!("at most {most} bytes, which its {} bytes can be", body.len());
            return Err(IoError::SizeMismatch(window.detail(
                &field(""),
                wanted,
                format!("{rows} rows of {width} bytes"),
            )));
        };
        let buffers = Buffers { body, places, codec, batch: i };
        Ok(Batch { rows: rows as usize, bytes, columns, nodes, first, buffers })
    }
}

/// Compares the footer of a file, which ends it, with the batches that were read.
fn footer(window: &mut Window<'_, '_>, blocks: &[[i64; 3]]) -> Result<(), IoError> {
    let mut bytes = vec![];
    let tail = 4 + FILE.len();
    let most = MAX_MESSAGE + 24 * blocks.len() as u64;
    let got = window.read_into(&mut bytes, most)?;
    if got == most {
        let wanted = format!("less than {most} bytes");
        return Err(IoError::LimitExceeded(window.detail("footer", wanted, "more")));
    }
    let Some(length) = bytes.len().checked_sub(tail).filter(|_| bytes.ends_with(FILE)) else {
        let found = excerpt(&bytes[bytes.len().saturating_sub(FILE.len())..]);
        return Err(IoError::Truncated(window.detail("end", "`ARROW1`", found)));
    };
    let told = i32::from_le_bytes(std::array::from_fn(|i| bytes[length + i]));
    if usize::try_from(told).ok() != Some(length) {
        return Err(IoError::SizeMismatch(window.detail("footer", format!("{length} bytes"), told.to_string())));
    }
    let listed = Flat::root(&bytes[..length]).and_then(|footer| {
        let dictionaries = footer.structs::<3>(2)?.len();
        Ok((dictionaries, footer.structs::<3>(3)?))
    });
    let Ok((dictionaries, mut listed)) = listed else {
        return Err(IoError::BadHeader(window.detail("footer", "a valid table", "broken offsets")));
    };
    // The second number has 32 bits and padding.
    listed.iter_mut().for_each(|block| block[1] = i64::from(block[1] as i32));
    if dictionaries > 0 || listed != blocks {
        let wanted = format!("the {} batches before it, in their order", blocks.len());
        let found = format!("{} batches, {dictionaries} dictionaries", listed.len());
        return Err(IoError::SizeMismatch(window.detail("footer", wanted, found)));
    }
    Ok(())
}
