//! A file or a stream: the schema, then batch after batch as they come; of a file also the footer,
//! which lists them again.

use super::batch::Batch;
use super::flat::{Broken, Table as Flat};
use super::schema::{self, Column, Metadata};
use super::texts::{Dictionaries, Dictionary};
use super::{FEATHER_1, FILE, STREAM};
use crate::error::{IoError, excerpt};
use crate::fault::{bail, fault};
use crate::limits::Bounds;
use crate::window::Window;

/// The longest description of a schema, a batch or a footer: a name of 256 bytes and metadata of
/// some kilobytes for 1024 columns.
const MAX_MESSAGE: u64 = 4 << 20;

/// Kinds of messages.
const SCHEMA: u8 = 1;
const DICTIONARY: u8 = 2;
const BATCH: u8 = 3;

/// Bytes of batches that are given together, at least, unless the table ends.
const TOGETHER: usize = 64 << 20;

/// Reads a table: gives its metadata to `begin`, and to `take` the columns without batches, then
/// with some batches at a time; the number of bytes behind the end of a stream.
pub(super) fn read<'w, 's>(
    window: &mut Window<'w, 's>,
    bounds: &Bounds,
    begin: impl FnOnce(&Window<'w, 's>, &Metadata<'_>) -> Result<(), IoError>,
    mut take: impl FnMut(&Window<'w, 's>, &[Column], &[Batch], &Dictionaries) -> Result<(), IoError>,
) -> Result<u64, IoError> {
    let length = window.left();
    let is_file = start(window)?;
    let mut unpacked = 0u64;
    let (mut head, mut columns, mut blocks, mut words) = (vec![], vec![], vec![], vec![]);
    let (mut batches, mut held, mut dictionaries) = (vec![], 0, Dictionaries::new());
    let mut begin = Some(begin);
    loop {
        let at = window.position();
        if !message(window, &mut head, is_file)? {
            break;
        }
        let field = format!("message at byte {at}");
        let parsed = Message::parse(&head).map_err(|e| e.error(window, &field))?;
        if !(3..=4).contains(&parsed.version) {
            bail!(window, UnsupportedFormat, "{field}: version", "V4 or V5", ("V{}", i32::from(parsed.version) + 1));
        }
        let here = window.position();
        let wanted = u64::try_from(parsed.body).map_err(|_| Broken.error(window, &field))?;
        let mut body = vec![];
        if window.left().is_some_and(|left| left < wanted) || window.read_into(&mut body, wanted)? < wanted {
            let wanted = format!("{wanted} bytes");
            let found = format!("{} bytes", window.left().unwrap_or_default().max(body.len() as u64));
            bail!(window, Truncated, "{field}: body", wanted, found);
        }
        let block = [at as i64, (here - at) as i64, parsed.body];
        match (parsed.kind, blocks.is_empty() && columns.is_empty()) {
            (SCHEMA, true) => {
                let (read, metadata) = schema::read(window, &parsed.header)?;
                begin.take().map_or(Ok(()), |begin| begin(window, &metadata))?;
                columns = read;
                dictionaries = Dictionary::of(&columns);
                take(window, &columns, &[], &dictionaries)?;
            }
            (BATCH, false) => {
                let i = blocks.len();
                blocks.push(block);
                held += body.len();
                let batch = Batch::new(window, &columns, &parsed.header, body, i)?;
                if batch.is_packed() {
                    unpacked = unpacked.saturating_add(batch.unpacked(&columns));
                    // Of a stream what came so far counts.
                    let whole = length.unwrap_or_else(|| window.position());
                    bounds.limits.check_unpacked(window, "data unpacked", unpacked, whole)?;
                }
                batches.push(batch);
                if held >= TOGETHER {
                    take(window, &columns, &std::mem::take(&mut batches), &dictionaries)?;
                    held = 0;
                }
            }
            (DICTIONARY, false) => {
                words.push(block);
                // The batches so far have the words so far.
                if !batches.is_empty() {
                    take(window, &columns, &std::mem::take(&mut batches), &dictionaries)?;
                    held = 0;
                }
                add_words(window, &mut dictionaries, &parsed.header, (body, words.len() - 1), &field)?;
            }
            (kind, first) => {
                let wanted = if first { "a schema" } else { "a batch" };
                bail!(window, BadHeader, field, wanted, "a message of kind {kind}");
            }
        }
    }
    if columns.is_empty() && blocks.is_empty() {
        bail!(window, MissingField, "schema", "columns", "none");
    }
    if !batches.is_empty() {
        take(window, &columns, &batches, &dictionaries)?;
    }
    if is_file {
        footer(window, &blocks, &words)?;
    }
    window.rest()
}

/// Adds texts to the dictionary whose they are, if a column needs it.
fn add_words(
    window: &Window<'_, '_>,
    dictionaries: &mut Dictionaries,
    header: &Flat<'_>,
    (body, i): (Vec<u8>, usize),
    field: &str,
) -> Result<(), IoError> {
    let broken = |e: Broken| e.error(window, field);
    let data = header.table(1).and_then(|data| data.ok_or(Broken)).map_err(broken)?;
    let is_more = header.u8(2).map_err(broken)? != 0;
    let dictionary = dictionaries.get_mut(&header.i64(0).map_err(broken)?);
    dictionary.map_or(Ok(()), |of| of.add(window, &data, (body, i, is_more)))
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
        fault!(window, UnsupportedFormat, "version", "Feather 2", "Feather 1")
    } else if first.len() < 8 {
        fault!(window, Truncated, "start", wanted, found)
    } else {
        fault!(window, BadHeader, "start", wanted, found)
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
        bail!(window, Truncated, field, "8 bytes of its marker and length", ("{} bytes", first.len()));
    };
    if marker != STREAM {
        bail!(window, BadHeader, field, "4 bytes of ff", "{marker:02x?}");
    }
    let length = u64::from(u32::from_le_bytes(std::array::from_fn(|i| length[i])));
    if length == 0 {
        return Ok(false);
    }
    if length > MAX_MESSAGE {
        bail!(window, LimitExceeded, field, "at most {MAX_MESSAGE} bytes", "{length} bytes");
    }
    if window.left().is_some_and(|left| left < length) || window.read_into(head, length)? < length {
        let wanted = format!("{length} bytes");
        let found = format!("{} bytes", window.left().unwrap_or_default().max(head.len() as u64));
        bail!(window, Truncated, field, wanted, found);
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
}

/// Compares the footer of a file, which ends it, with the batches that were read.
fn footer(window: &mut Window<'_, '_>, blocks: &[[i64; 3]], words: &[[i64; 3]]) -> Result<(), IoError> {
    let mut bytes = vec![];
    let tail = 4 + FILE.len();
    let most = MAX_MESSAGE + 24 * (blocks.len() + words.len()) as u64;
    let got = window.read_into(&mut bytes, most)?;
    if got == most {
        bail!(window, LimitExceeded, "footer", "less than {most} bytes", "more");
    }
    let Some(length) = bytes.len().checked_sub(tail).filter(|_| bytes.ends_with(FILE)) else {
        bail!(window, Truncated, "end", "`ARROW1`", excerpt(&bytes[bytes.len().saturating_sub(FILE.len())..]));
    };
    let told = i32::from_le_bytes(std::array::from_fn(|i| bytes[length + i]));
    if usize::try_from(told).ok() != Some(length) {
        bail!(window, SizeMismatch, "footer", "{length} bytes", told);
    }
    let listed = Flat::root(&bytes[..length]).and_then(|footer| Ok([footer.structs::<3>(2)?, footer.structs::<3>(3)?]));
    let Ok(mut listed) = listed else {
        bail!(window, BadHeader, "footer", "a valid table", "broken offsets");
    };
    // The second number has 32 bits and padding.
    listed.iter_mut().flatten().for_each(|block| block[1] = i64::from(block[1] as i32));
    if listed != [words, blocks] {
        let wanted = format!("the {} batches before it, in their order", blocks.len());
        let [words, blocks] = listed.map(|of| of.len());
        bail!(window, SizeMismatch, "footer", wanted, "{blocks} batches, {words} dictionaries");
    }
    Ok(())
}

/// Refuses tables of pointmill that are no points, by the key that says what such a table has.
pub(super) fn expect_points(window: &Window<'_, '_>, metadata: &Metadata<'_>) -> Result<(), IoError> {
    match metadata.iter().find(|(key, value)| *key == b"format" && value.starts_with(b"pointmill.")) {
        Some((_, format)) => Err(fault!(window, UnsupportedFormat, "table", "points", excerpt(format))),
        None => Ok(()),
    }
}
