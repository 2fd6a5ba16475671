//! Bags of ROS 1 made by hand, so that they can lie.

use bzip2::write::BzEncoder;
use lz4_flex::frame::FrameEncoder;
use std::io::Write;

pub(crate) const MAGIC: &[u8] = b"#ROSBAG V2.0\n";

/// Bytes of the header with its record. Short, so that damage finds something else.
pub(crate) const HEADER: usize = 128;

/// Bytes with their number in front.
pub(crate) fn sized(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat()
}

pub(crate) fn fields(fields: &[(&str, &[u8])]) -> Vec<u8> {
    fields.iter().flat_map(|(name, value)| sized(&[name.as_bytes(), b"=", value].concat())).collect()
}

pub(crate) fn record(op: u8, others: &[(&str, &[u8])], data: &[u8]) -> Vec<u8> {
    [sized(&fields(&[others, &[("op", &[op])]].concat())), sized(data)].concat()
}

/// The header of a bag. Writers make it 4096 bytes long.
pub(crate) fn header(length: usize, index: u64, connections: u32, chunks: u32) -> Vec<u8> {
    let numbers = (index.to_le_bytes(), connections.to_le_bytes(), chunks.to_le_bytes());
    let of = |data: &[u8]| {
        record(3, &[("index_pos", &numbers.0), ("conn_count", &numbers.1), ("chunk_count", &numbers.2)], data)
    };
    of(&vec![b' '; length - of(b"").len()])
}

pub(crate) fn connection(id: u32, topic: &str, kind: &str) -> Vec<u8> {
    let data = fields(&[("topic", topic.as_bytes()), ("type", kind.as_bytes()), ("md5sum", b"*")]);
    record(7, &[("conn", &id.to_le_bytes()), ("topic", topic.as_bytes())], &data)
}

fn time(ns: u64) -> [u8; 8] {
    let mut time = [0; 8];
    time[..4].copy_from_slice(&((ns / 1_000_000_000) as u32).to_le_bytes());
    time[4..].copy_from_slice(&((ns % 1_000_000_000) as u32).to_le_bytes());
    time
}

pub(crate) fn message(id: u32, ns: u64, data: &[u8]) -> Vec<u8> {
    record(2, &[("conn", &id.to_le_bytes()), ("time", &time(ns))], data)
}

pub(crate) fn pack(compression: &str, records: &[u8]) -> Vec<u8> {
    match compression {
        "bz2" => {
            let mut encoder = BzEncoder::new(vec![], bzip2::Compression::best());
            encoder.write_all(records).unwrap();
            encoder.finish().unwrap()
        }
        "lz4" => {
            let mut encoder = FrameEncoder::new(vec![]);
            encoder.write_all(records).unwrap();
            encoder.finish().unwrap()
        }
        _ => records.to_vec(),
    }
}

/// A chunk that claims to unpack to `size` bytes.
pub(crate) fn chunk_of(compression: &str, size: u32, data: &[u8]) -> Vec<u8> {
    record(5, &[("compression", compression.as_bytes()), ("size", &size.to_le_bytes())], data)
}

pub(crate) fn chunk(compression: &str, records: &[u8]) -> Vec<u8> {
    chunk_of(compression, records.len() as u32, &pack(compression, records))
}

/// The index of a connection's messages in the chunk in front: times and places.
pub(crate) fn index(id: u32, entries: &[(u64, u32)]) -> Vec<u8> {
    let data: Vec<u8> = entries.iter().flat_map(|(ns, at)| [&time(*ns)[..], &at.to_le_bytes()].concat()).collect();
    let count = (entries.len() as u32).to_le_bytes();
    record(4, &[("ver", &1u32.to_le_bytes()), ("conn", &id.to_le_bytes()), ("count", &count)], &data)
}

/// What the end of a bag says of a chunk.
pub(crate) fn chunk_info(at: u64, counts: &[(u32, u32)]) -> Vec<u8> {
    let data: Vec<u8> = counts.iter().flat_map(|(id, n)| [id.to_le_bytes(), n.to_le_bytes()].concat()).collect();
    let (one, count) = (1u32.to_le_bytes(), (counts.len() as u32).to_le_bytes());
    let head: [(&str, &[u8]); 5] = [
        ("ver", &one),
        ("chunk_pos", &at.to_le_bytes()),
        ("start_time", &[0; 8]),
        ("end_time", &[0; 8]),
        ("count", &count),
    ];
    record(6, &head, &data)
}

/// A bag of these records, behind which the index starts: so many connections and chunks.
pub(crate) fn with_index(records: &[u8], end: &[u8], connections: u32, chunks: u32) -> Vec<u8> {
    let at = MAGIC.len() + HEADER + records.len();
    [MAGIC, &header(HEADER, at as u64, connections, chunks), records, end].concat()
}

/// How a bag is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) compression: &'static str,
    /// Messages of a chunk.
    pub(crate) together: usize,
    /// Whether chunks are indexed, and the bag was closed.
    pub(crate) indexed: bool,
}

/// A bag of messages: topic, type, time and bytes. Each topic has a connection.
pub(crate) fn bag(messages: &[(&str, &str, u64, Vec<u8>)], style: Style) -> Vec<u8> {
    let mut known: Vec<(&str, &str)> = vec![];
    let (mut body, mut infos) = (vec![], vec![]);
    for part in messages.chunks(style.together) {
        let (mut records, mut entries) = (vec![], vec![]);
        for (topic, kind, ns, data) in part {
            let id = known.iter().position(|one| one.0 == *topic).unwrap_or_else(|| {
                known.push((topic, kind));
                records.extend(connection(known.len() as u32 - 1, topic, kind));
                known.len() - 1
            });
            entries.push((id as u32, *ns, records.len() as u32));
            records.extend(message(id as u32, *ns, data));
        }
        let at = (MAGIC.len() + HEADER + body.len()) as u64;
        body.extend(chunk(style.compression, &records));
        let mut counts = vec![];
        for id in 0..known.len() as u32 {
            let of: Vec<_> = entries.iter().filter(|one| one.0 == id).map(|one| (one.1, one.2)).collect();
            if !of.is_empty() && style.indexed {
                body.extend(index(id, &of));
                counts.push((id, of.len() as u32));
            }
        }
        infos.extend(chunk_info(at, &counts));
    }
    if !style.indexed {
        return [MAGIC, &header(HEADER, 0, 0, 0), &body].concat();
    }
    let connections: Vec<u8> =
        known.iter().enumerate().flat_map(|(id, (topic, kind))| connection(id as u32, topic, kind)).collect();
    let chunks = messages.len().div_ceil(style.together) as u32;
    with_index(&body, &[connections, infos].concat(), known.len() as u32, chunks)
}

/// Where records of a bag start, and where numbers are that say sizes, places and counts.
pub(crate) fn structure(bytes: &[u8]) -> (Vec<usize>, Vec<(usize, usize)>) {
    let (mut boundaries, mut numbers) = (vec![0], vec![]);
    records(bytes, MAGIC.len(), bytes.len(), &mut boundaries, &mut numbers);
    (boundaries, numbers)
}

fn records(bytes: &[u8], start: usize, end: usize, boundaries: &mut Vec<usize>, numbers: &mut Vec<(usize, usize)>) {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let mut at = start;
    while at + 4 <= end {
        boundaries.push(at);
        numbers.push((at, 4));
        let header_end = at + 4 + word(at);
        let mut field = at + 4;
        let (mut op, mut plain) = (0, false);
        while field + 4 <= header_end {
            let content = &bytes[field + 4..field + 4 + word(field)];
            let equals = content.iter().position(|b| *b == b'=').unwrap();
            let value = field + 5 + equals;
            numbers.push((field, 4));
            let width = content.len() - equals - 1;
            match &content[..equals] {
                b"op" => op = bytes[value],
                b"compression" => plain = &content[equals + 1..] == b"none",
                _ => {}
            }
            if [1, 4, 8].contains(&width) {
                numbers.push((value, width));
            }
            field += 4 + content.len();
        }
        numbers.push((header_end, 4));
        let (data, length) = (header_end + 4, word(header_end));
        boundaries.push(data);
        match op {
            5 if plain => records(bytes, data, data + length, boundaries, numbers),
            5 => numbers.extend((data..(data + length).min(data + 16)).step_by(2).map(|n| (n, 2))),
            2 | 4 | 6 => {
                let front = data..(data + length).min(data + 240);
                numbers.extend(front.step_by(4).filter(|n| n + 4 <= data + length).map(|n| (n, 4)));
            }
            _ => {}
        }
        at = data + length;
    }
    numbers.retain(|(at, width)| at + width <= bytes.len());
}
