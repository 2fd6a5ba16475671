//! From a file to sums. Everything that the file claims is checked before the crate that decodes it may believe it: it takes memory for and cuts slices by such numbers.

use super::columns::KEYS;
use super::columns::{self, NAMES};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type};
use arrow_buffer::Buffer;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, Footer, MessageHeader, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::DataType;
use pointmill_core::LocalOrigin;
use pointmill_core::ndt::{Moments, NdtLattice, NdtMomentsTable, NdtTableError};
use pointmill_io::Limits;
use pointmill_io::files::excerpt;
use pointmill_io::{Destination, Place};
use pointmill_io::{Detail, IoError};
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

const MAGIC: &[u8] = b"ARROW1";
/// The magic, padded to the first multiple of eight; and after the footer its length and the magic again.
const HEAD: usize = 8;
const TAIL: usize = 4 + MAGIC.len();
/// The longest footer, enough for 40,000 batches, and the longest description of a batch, which has some 800 bytes.
const MAX_FOOTER: usize = 1 << 20;
const MAX_MESSAGE: usize = 1 << 16;
/// Bytes that a column may be padded by.
const PADDING: u64 = 64;

/// Reads the sums of an Arrow IPC file, as [`write_ndt_moments`](crate::write_ndt_moments) makes it.
///
/// Files of other programs are read too, if they have these columns and this metadata, in one record batch or several; compressed ones are not.
///
/// # Limits
/// Memory is taken for the file's bytes and once more for its rows, 96 bytes for each of 88 in the file; a claim never makes it more, and
/// [`Limits::default`] no more than 16 GiB. Both ends of the file are looked at before the rest is read.
///
/// # Errors
/// Any class of [`IoError`] about files: what is no such file, ends early, has another column, a null, cells out of order or out of the lattice, or sums that no points have.
pub fn read_ndt_moments(from: impl Destination) -> Result<NdtMomentsTable, IoError> {
    read_ndt_moments_within(from, &Limits::default())
}

/// Reads the sums of an Arrow IPC file as [`read_ndt_moments`] does, within limits of the caller's; of them [`Limits::max_memory`] counts:
/// for the file's bytes, which are not read if they are more, and for its rows.
///
/// # Errors
/// As [`read_ndt_moments`].
///
/// ```
/// use pointmill_core::ndt::NdtLattice;
/// use pointmill_core::ndt::NdtMomentsTable;
/// use pointmill_data::{read_ndt_moments_within, write_ndt_moments};
/// use pointmill_io::Limits;
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-within.arrow", std::process::id()));
/// let table = NdtMomentsTable { lattice: NdtLattice::new(2.0)?, points: 0, non_finite: 0, cells: vec![] };
/// write_ndt_moments(&path, &table)?;
/// let limits = Limits { max_memory: Some(100), ..Limits::default() };
/// assert_eq!(read_ndt_moments_within(&path, &limits).unwrap_err().class(), "LimitExceeded");
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_ndt_moments_within(from: impl Destination, limits: &Limits) -> Result<NdtMomentsTable, IoError> {
    let path = from.path();
    let (mut file, length) = pointmill_io::files::open_at(Place::of(&from))?;
    let Some(length) = length else {
        let found = "an empty file, or a stream";
        return Err(IoError::Truncated(Detail::new(path, "length", "an Arrow IPC file", found)));
    };
    let told = |(class, Wrong { field, wanted, found }): Failure| class(Detail::new(path, field, wanted, found));
    // Whether it can be such a file at all is seen at its ends, before the rest is read.
    check_ends(&mut file, length).map_err(IoError::io(path, "read"))?.map_err(told)?;
    let most = limits.max_memory.unwrap_or(u64::MAX);
    if length > most {
        return Err(told(above(most, length)));
    }
    let mut bytes = Vec::new();
    let taken = usize::try_from(length).ok().and_then(|n| bytes.try_reserve_exact(n).ok());
    if taken.is_none() {
        let wanted = format!("memory for {length} bytes");
        return Err(IoError::OutOfMemory(Detail::new(path, "length", wanted, "none")));
    }
    file.take(length).read_to_end(&mut bytes).map_err(IoError::io(path, "read"))?;
    parse(Buffer::from_vec(bytes), most).map_err(told)
}

/// More memory than the limit.
fn above(most: u64, found: u64) -> Failure {
    let wanted = format!("at most {most} bytes (the limit `max_memory`, --max-memory)");
    (IoError::LimitExceeded, Wrong::new("memory", wanted, format!("{found} bytes or more")))
}

/// Looks at the first and the last bytes of a file of so many, and leaves it at its start.
fn check_ends(file: &mut (impl Read + Seek), length: u64) -> io::Result<Parsed<()>> {
    let mut first = Vec::new();
    file.by_ref().take(HEAD as u64).read_to_end(&mut first)?;
    let mut last = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL as u64)))?;
    file.by_ref().take(TAIL as u64).read_to_end(&mut last)?;
    file.rewind()?;
    Ok(footer_length(&first, &last, length).map(drop))
}

/// What is wrong: the part, what was wanted there and what was found.
#[derive(Debug)]
struct Wrong {
    field: String,
    wanted: String,
    found: String,
}

impl Wrong {
    fn new(field: impl Into<String>, wanted: impl Into<String>, found: impl ToString) -> Self {
        Self { field: field.into(), wanted: wanted.into(), found: found.to_string() }
    }
}

impl From<NdtTableError> for Wrong {
    fn from(NdtTableError { field, expected, got }: NdtTableError) -> Self {
        Self { field, wanted: expected, found: got }
    }
}

/// A class of errors, and what is wrong.
type Failure = (fn(Box<Detail>) -> IoError, Wrong);
type Parsed<T> = Result<T, Failure>;

fn bad(field: impl Into<String>, wanted: impl Into<String>, found: impl ToString) -> Failure {
    (IoError::BadHeader, Wrong::new(field, wanted, found))
}

fn unsupported(field: impl Into<String>, wanted: impl Into<String>, found: impl ToString) -> Failure {
    (IoError::UnsupportedFormat, Wrong::new(field, wanted, found))
}

fn parse(file: Buffer, most: u64) -> Parsed<NdtMomentsTable> {
    let footer_at = footer_range(&file)?;
    let footer = root_as_footer(&file[footer_at.clone()]).map_err(|e| bad("footer", "a valid table", e))?;
    if !matches!(footer.version(), MetadataVersion::V4 | MetadataVersion::V5) {
        return Err(unsupported("footer: version", "V4 or V5", format!("{:?}", footer.version())));
    }
    let metadata = metadata(&footer)?;
    check_columns(&footer)?;
    if footer.dictionaries().is_some_and(|d| !d.is_empty()) {
        return Err(unsupported("footer: dictionaries", "none", "some"));
    }
    let mut table = header(&metadata)?;
    let blocks =
        footer.recordBatches().map(|blocks| blocks.iter().copied().collect::<Vec<Block>>()).unwrap_or_default();
    let decoder = FileDecoder::new(columns::schema(HashMap::new()), footer.version());
    let mut from = HEAD;
    for (i, block) in blocks.iter().enumerate() {
        let at = block_range(i, block, from..footer_at.start)?;
        from = at.end;
        let bytes = file.slice_with_length(at.start, at.len());
        check_batch(i, &bytes, block.metaDataLength() as usize, footer.version())?;
        let failed = |e: String| bad(format!("batch {i}"), "a valid record batch", e);
        let batch = decoder.read_record_batch(block, &bytes).map_err(|e| failed(e.to_string()))?;
        let batch = batch.ok_or_else(|| failed("none".into()))?;
        let rows_bytes = (table.cells.len() + batch.num_rows()) * size_of::<([i32; 3], Moments)>();
        let taken = (file.len() + rows_bytes) as u64;
        if taken > most {
            return Err(above(most, taken));
        }
        push(&mut table.cells, &batch)?;
    }
    table.check_cells().map_err(|e| (IoError::LimitExceeded as _, e.into()))?;
    table.check_points().map_err(|e| (IoError::SizeMismatch as _, e.into()))?;
    Ok(table)
}

/// Where the footer is.
fn footer_range(file: &[u8]) -> Parsed<Range<usize>> {
    let tail = file.len().saturating_sub(TAIL);
    let length = footer_length(file, &file[tail..], file.len() as u64)?;
    Ok(tail - length..tail)
}

/// Bytes of the footer of a file of so many, by how it begins and by its last bytes.
fn footer_length(first: &[u8], last: &[u8], length: u64) -> Parsed<usize> {
    if !first.starts_with(MAGIC) {
        return Err(bad("magic", "`ARROW1`", excerpt(&first[..first.len().min(MAGIC.len())])));
    }
    let truncated =
        |wanted: String, found: String| -> Failure { (IoError::Truncated, Wrong::new("end", wanted, found)) };
    if length < (HEAD + TAIL) as u64 || last.len() < TAIL {
        return Err(truncated(format!("at least {} bytes", HEAD + TAIL), format!("{length} bytes")));
    }
    let (footer, magic) = last.split_at(4);
    if magic != MAGIC {
        return Err(truncated("`ARROW1` at the end".into(), excerpt(magic)));
    }
    let footer = i32::from_le_bytes(std::array::from_fn(|i| footer[i]));
    let most = (length - (HEAD + TAIL) as u64).min(MAX_FOOTER as u64);
    match usize::try_from(footer) {
        Ok(n) if n as u64 <= most => Ok(n),
        _ => Err(bad("footer: length", format!("0 to {most} bytes"), footer)),
    }
}

/// The origin of a file that names none.
const ABOUT_ZERO: &str = "0,0,0";

/// The values of our keys.
fn metadata<'a>(footer: &Footer<'a>) -> Parsed<[&'a str; KEYS.len()]> {
    let schema = footer.schema().ok_or_else(|| bad("footer", "a schema", "none"))?;
    let mut values = [None; KEYS.len()];
    for entry in schema.custom_metadata().into_iter().flatten() {
        let (Some(key), Some(value)) = (entry.key(), entry.value()) else { continue };
        if let Some(k) = KEYS.iter().position(|name| *name == key)
            && values[k].replace(value).is_some()
        {
            return Err(bad(format!("metadata `{key}`"), "one value", "two"));
        }
    }
    let mut found = [""; KEYS.len()];
    for k in 0..KEYS.len() {
        let missing = || (IoError::MissingField as _, Wrong::new("metadata", format!("the key `{}`", KEYS[k]), "none"));
        let default = if KEYS[k] == columns::ORIGIN { Some(ABOUT_ZERO) } else { None };
        found[k] = values[k].or(default).ok_or_else(missing)?;
    }
    Ok(found)
}

/// An empty table with what the metadata say.
fn header(metadata: &[&str; KEYS.len()]) -> Parsed<NdtMomentsTable> {
    let field = |k: usize| format!("metadata `{}`", KEYS[k]);
    let text = |k: usize| excerpt(metadata[k].as_bytes());
    for (k, wanted) in [(0, columns::THIS_FORMAT), (1, columns::THIS_VERSION)] {
        if metadata[k] != wanted {
            return Err(unsupported(field(k), format!("`{wanted}`"), text(k)));
        }
    }
    // What parses and is written alike: no signs, no zeros before it.
    let inv = u32::from_str_radix(metadata[2], 16).ok().filter(|bits| format!("{bits:08x}") == metadata[2]);
    let inv = inv.map(f32::from_bits).ok_or_else(|| bad(field(2), "8 lower-case hexadecimal digits", text(2)))?;
    let lattice = NdtLattice::new(1.0 / f64::from(inv)).ok().filter(|lattice| lattice.inv() == inv);
    let lattice = lattice.ok_or_else(|| bad(field(2), "a normal f32 above 0", format!("{inv:e}")))?;
    let unit = format!("{:?}", lattice.unit());
    if metadata[3] != unit {
        return Err(bad(field(3), format!("`{unit}`, as `{}` says", KEYS[2]), text(3)));
    }
    let number = |k: usize| {
        let number = metadata[k].parse::<u64>().ok().filter(|n| n.to_string() == metadata[k]);
        number.ok_or_else(|| bad(field(k), "a number below 2^64", text(k)))
    };
    let origin = match metadata[6].parse() {
        Ok(origin @ LocalOrigin::At(xyz)) if origin.to_string() == metadata[6] => xyz,
        _ => return Err(bad(field(6), "three finite numbers with commas between them", text(6))),
    };
    let lattice = lattice.about(origin);
    Ok(NdtMomentsTable { lattice, points: number(4)?, non_finite: number(5)?, cells: Vec::new() })
}

/// Names and types, in this order and no others.
fn check_columns(footer: &Footer<'_>) -> Parsed<()> {
    let schema = footer.schema().ok_or_else(|| bad("footer", "a schema", "none"))?;
    if !schema.endianness().equals_to_target_endianness() {
        return Err(unsupported("schema: byte order", "this machine's", "the other"));
    }
    let fields = schema.fields().ok_or_else(|| bad("schema", "fields", "none"))?;
    for (k, field) in fields.iter().take(NAMES.len()).enumerate() {
        let (name, kind) = (NAMES[k], columns::kind(k));
        let found = field.name().unwrap_or_default();
        if found != name {
            return Err((
                IoError::MissingField,
                Wrong::new(format!("column {k}"), format!("`{name}`"), excerpt(found.as_bytes())),
            ));
        }
        let signed = kind != DataType::UInt32;
        let fits = |int: arrow_ipc::Int<'_>| {
            u64::from(int.bitWidth().unsigned_abs()) == 8 * columns::width(k) && int.is_signed() == signed
        };
        if !field.type_as_int().is_some_and(fits) || field.dictionary().is_some() {
            let found = match field.type_as_int() {
                Some(int) => format!("{}int of {} bits", if int.is_signed() { "" } else { "u" }, int.bitWidth()),
                None => field.type_type().variant_name().unwrap_or("another").into(),
            };
            return Err((IoError::DtypeMismatch, Wrong::new(format!("column `{name}`"), kind.to_string(), found)));
        }
    }
    if fields.len() != NAMES.len() {
        let wanted = format!("{} columns", NAMES.len());
        return Err((IoError::ShapeMismatch, Wrong::new("schema", wanted, format!("{} columns", fields.len()))));
    }
    Ok(())
}

/// Where a block is: after the ones before it, so that none is read twice, and before the footer.
fn block_range(i: usize, block: &Block, within: Range<usize>) -> Parsed<Range<usize>> {
    let parts = [block.offset(), i64::from(block.metaDataLength()), block.bodyLength()].map(usize::try_from);
    if let [Ok(offset), Ok(metadata), Ok(body)] = parts
        && let Some(end) = offset.checked_add(metadata).and_then(|n| n.checked_add(body))
        && offset >= within.start
        && end <= within.end
        && (HEAD..=MAX_MESSAGE).contains(&metadata)
    {
        return Ok(offset..end);
    }
    let wanted =
        format!("within bytes {} to {}, its description {HEAD} to {MAX_MESSAGE} of them", within.start, within.end);
    let found = format!("at {}, {} + {} bytes", block.offset(), block.metaDataLength(), block.bodyLength());
    Err(bad(format!("block {i}"), wanted, found))
}

/// Checks a record batch's claims about rows and buffers.
fn check_batch(i: usize, bytes: &[u8], metadata: usize, version: MetadataVersion) -> Parsed<()> {
    let field = |part: &str| format!("batch {i}{part}");
    // A marker that old files do not have, and the length.
    let skip = if bytes.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = root_as_message(&bytes[skip..metadata]).map_err(|e| bad(field(""), "a valid message", e))?;
    if message.version() != version {
        return Err(bad(field(": version"), format!("{version:?}"), format!("{:?}", message.version())));
    }
    let batch = message.header_as_record_batch().filter(|_| message.header_type() == MessageHeader::RecordBatch);
    let batch = batch.ok_or_else(|| bad(field(""), "a record batch", format!("{:?}", message.header_type())))?;
    if batch.compression().is_some() {
        return Err(unsupported(field(": compression"), "none", "some"));
    }
    let body = (bytes.len() - metadata) as u64;
    let rows = u64::try_from(batch.length()).ok().filter(|n| n.checked_mul(columns::row()).is_some_and(|n| n <= body));
    let Some(rows) = rows else {
        let wanted = format!("0 to {} rows, as {body} bytes hold", body / columns::row());
        return Err((IoError::Truncated, Wrong::new(field(""), wanted, format!("{} rows", batch.length()))));
    };
    let (Some(nodes), Some(buffers)) = (batch.nodes(), batch.buffers()) else {
        return Err(bad(field(""), "nodes and buffers", "none"));
    };
    let wanted = [NAMES.len(), 2 * NAMES.len()];
    if [nodes.len(), buffers.len()] != wanted || batch.variadicBufferCounts().is_some_and(|counts| !counts.is_empty()) {
        let found = format!("{} and {}", nodes.len(), buffers.len());
        return Err(bad(field(""), format!("{} nodes and {} buffers", wanted[0], wanted[1]), found));
    }
    for k in 0..NAMES.len() {
        let part = |what: &str| field(&format!(", column `{}`{what}", NAMES[k]));
        let node = nodes.get(k);
        if node.length() != batch.length() || node.null_count() != 0 {
            let found = format!("{} rows, {} nulls", node.length(), node.null_count());
            return Err(bad(part(""), format!("{rows} rows, 0 nulls"), found));
        }
        let needed = rows * columns::width(k);
        // Which values are null, though none is; then the values.
        for (buffer, least, most) in [(2 * k, 0, body), (2 * k + 1, needed, needed + PADDING)] {
            let buffer = buffers.get(buffer);
            let [offset, length] = [buffer.offset(), buffer.length()].map(u64::try_from);
            let inside =
                offset.is_ok_and(|offset| length.is_ok_and(|n| offset.checked_add(n).is_some_and(|end| end <= body)));
            if !inside || !length.is_ok_and(|n| (least..=most).contains(&n)) {
                let wanted = format!("{least} to {most} of {body} bytes");
                let found = format!("{} bytes at {}", buffer.length(), buffer.offset());
                return Err(bad(part(": buffer"), wanted, found));
            }
        }
    }
    Ok(())
}

/// Adds the rows of a batch whose columns are checked.
fn push(cells: &mut Vec<([i32; 3], Moments)>, batch: &RecordBatch) -> Parsed<()> {
    if batch.columns().iter().any(|column| column.null_count() > 0) {
        return Err(bad("columns", "no nulls", "some"));
    }
    let int = |k: usize| batch.column(k).as_primitive::<Int32Type>().values();
    let long = |k: usize| batch.column(k).as_primitive::<Int64Type>().values();
    let count = batch.column(3).as_primitive::<UInt32Type>().values();
    let (cell, sum, products) = ([0, 1, 2].map(int), [4, 5, 6].map(long), [7, 8, 9, 10, 11, 12].map(long));
    let refused =
        |_| (IoError::OutOfMemory as _, Wrong::new("rows", format!("memory for {} rows", batch.num_rows()), "none"));
    cells.try_reserve(batch.num_rows()).map_err(refused)?;
    for i in 0..batch.num_rows() {
        let moments = Moments { count: count[i], sum: sum.map(|c| c[i]), products: products.map(|c| c[i]) };
        cells.push((cell.map(|c| c[i]), moments));
    }
    Ok(())
}
