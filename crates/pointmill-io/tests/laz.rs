//! Whole files of compressed points: chunks of every size, and codes that no writer makes.
#![cfg(feature = "laz")]
mod common;

use common::points::{RECORDS, records};
use common::random::Random;
use laz::compressors::IntegerCompressorBuilder;
use laz::encoders::ArithmeticEncoder;
use laz::las::v2::LasPoint0Compressor;
use laz::laszip::{ChunkTable, ChunkTableEntry};
use laz::models::{ArithmeticModel, ArithmeticModelBuilder};
use laz::record::{FieldCompressor, RecordCompressor, SequentialPointRecordCompressor};
use laz::{LasZipCompressor, LazVlr, LazVlrBuilder};
use pointmill_io::{Format, IoError, Limits, ReadOptions, Scan, Warning, read_from};
use std::io::{Cursor, Write};
use std::time::{Duration, Instant};

fn read(bytes: &[u8]) -> Result<Scan, IoError> {
    let limits = Limits { max_decoded_bytes: Some(1 << 30), ..Limits::default() };
    read_from(bytes, "a.laz", &ReadOptions { format: Some(Format::Las), limits, ..ReadOptions::default() })
}

/// A fixture's bytes before its points, which are to be `points`.
fn head(format: u8, extension: &str, points: u64) -> Vec<u8> {
    let minor = [2, 2, 2, 2, 3, 3, 4, 4, 4, 4, 4][usize::from(format)];
    let path = format!("{}/../../fixtures/las/1.{minor}_format{format}.{extension}", env!("CARGO_MANIFEST_DIR"));
    let mut head = std::fs::read(path).unwrap();
    head.truncate(u32::from_le_bytes(head[96..100].try_into().unwrap()) as usize);
    if minor < 4 {
        head[107..111].copy_from_slice(&(points as u32).to_le_bytes());
    } else {
        head[107..111].fill(0);
        // No extended records.
        head[235..247].fill(0);
        head[247..255].copy_from_slice(&points.to_le_bytes());
    }
    head
}

/// Where the record about compression is.
fn packing(head: &[u8]) -> usize {
    head.windows(14).position(|w| w == b"laszip encoded").unwrap() - 2 + 54
}

/// A file of these chunks: points, and the bytes that are said to be them.
fn laz(format: u8, chunks: &[(u64, &[u8])]) -> Vec<u8> {
    let mut bytes = head(format, "laz", chunks.iter().map(|(points, _)| points).sum());
    let (start, mut table) = (packing(&bytes), ChunkTable::with_capacity(chunks.len()));
    bytes[start + 12..start + 16].fill(0xff);
    let size: usize = chunks.iter().map(|(_, chunk)| chunk.len()).sum();
    bytes.extend(((bytes.len() + 8 + size) as u64).to_le_bytes());
    for &(point_count, chunk) in chunks {
        bytes.extend(chunk);
        table.push(ChunkTableEntry { point_count, byte_count: chunk.len() as u64 });
    }
    let vlr = LazVlrBuilder::default().with_point_format(format, 0).unwrap().with_variable_chunk_size().build();
    table.write_to(&mut bytes, &vlr).unwrap();
    bytes
}

/// A compressed file with chunks of so many points; of different numbers, if there are several.
fn packed(format: u8, chunks: &[usize], records: &[u8]) -> Vec<u8> {
    let size = RECORDS[usize::from(format)];
    let points = (records.len() / size) as u64;
    let mut bytes = head(format, "laz", points);
    let start = packing(&bytes);
    let fixed = if let [one] = chunks { *one as u32 } else { u32::MAX };
    bytes[start + 12..start + 16].copy_from_slice(&fixed.to_le_bytes());
    let vlr = LazVlr::read_from(&bytes[start..]).unwrap();
    let mut out = Cursor::new(vec![]);
    out.write_all(&bytes).unwrap();
    let mut compressor = LasZipCompressor::new(out, vlr).unwrap();
    let mut left = records;
    for chunk in chunks.iter().cycle() {
        let end = (chunk * size).min(left.len());
        compressor.compress_many(&left[..end]).unwrap();
        left = &left[end..];
        if left.is_empty() {
            break;
        }
        if fixed == u32::MAX {
            compressor.finish_current_chunk().unwrap();
        }
    }
    compressor.done().unwrap();
    compressor.into_inner().into_inner()
}

/// The same values in a plain file and in a compressed one.
fn compare(format: u8, chunks: &[usize], records: &[u8]) {
    let points = (records.len() / RECORDS[usize::from(format)]) as u64;
    let found = read(&packed(format, chunks, records)).unwrap();
    let wanted = read(&[&head(format, "las", points)[..], records].concat()).unwrap();
    let bits = |scan: &Scan| scan.cloud.data().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!((found.cloud.len() as u64, &found.fields), (points, &wanted.fields));
    assert!(bits(&found) == bits(&wanted), "format {format}, chunks {chunks:?}");
    assert_eq!(found.xyz_f64, wanted.xyz_f64);
}

#[test]
fn chunks_of_every_size_come_back() {
    let mut random = Random::new(1);
    for format in 0..=10 {
        let records = records(format, 0, 260, 0, &mut random);
        for chunks in [&[1][..], &[2], &[259], &[260], &[50_000], &[1, 2, 100, 1, 1, 7]] {
            // Chunks of different numbers have come with the layers.
            if format >= 6 || chunks.len() == 1 {
                compare(format, chunks, &records);
            }
        }
    }
    for format in [1, 7] {
        compare(format, &[50_000], &records(format, 0, 100_500, 0, &mut random));
    }
}

/// Where each chunk of a file begins and the last one ends.
fn borders(bytes: &[u8]) -> Vec<usize> {
    let vlr = LazVlr::read_from(&bytes[packing(bytes)..]).unwrap();
    let mut source = Cursor::new(bytes);
    let start = u64::from(u32::from_le_bytes(bytes[96..100].try_into().unwrap()));
    source.set_position(start);
    let table = ChunkTable::read_from(source, &vlr).unwrap();
    let mut borders = vec![start as usize + 8];
    borders.extend(table.as_ref().iter().scan(start as usize + 8, |at, chunk| {
        *at += chunk.byte_count as usize;
        Some(*at)
    }));
    borders
}

/// What a salvage reads, as bits, and the warning.
fn salvage(bytes: &[u8]) -> (Vec<u32>, Option<Warning>) {
    let limits = Limits { max_decoded_bytes: Some(1 << 30), ..Limits::default() };
    let options = ReadOptions { format: Some(Format::Las), limits, salvage: true, ..ReadOptions::default() };
    let scan = read_from(bytes, "a.laz", &options).unwrap();
    let warning = scan.warnings.iter().find(|warning| matches!(warning, Warning::Salvaged { .. })).cloned();
    assert!(scan.xyz_f64.is_none_or(|xyz| xyz.len() / 3 == scan.cloud.len()));
    (scan.cloud.data().iter().map(|v| v.to_bits()).collect(), warning)
}

#[test]
fn of_a_cut_file_the_whole_chunks_are_read() {
    let mut random = Random::new(5);
    for format in 0..=10 {
        let size = RECORDS[usize::from(format)];
        let equal = vec![0; 5000 * size];
        for (chunks, records) in [
            (&[100][..], &records(format, 0, 260, 0, &mut random)[..]),
            (&[1], &records(format, 0, 3, 0, &mut random)),
            (&[1, 2, 100, 1, 1, 7], &records(format, 0, 260, 0, &mut random)),
            (&[1000], &equal),
        ] {
            if format < 6 && chunks.len() > 1 {
                continue;
            }
            let bytes = packed(format, chunks, records);
            let (borders, points) = (borders(&bytes), records.len() / size);
            let (whole, none) = salvage(&bytes);
            let columns = whole.len() / points;
            assert!(none.is_none() && read(&bytes).is_ok(), "a file that is whole is the same");
            let near = borders.iter().flat_map(|at| at.saturating_sub(2)..=at + 1).filter(|at| *at >= borders[0]);
            for end in near.chain((borders[0]..bytes.len()).step_by(29)).filter(|end| *end < bytes.len()) {
                let done = borders[1..].iter().filter(|border| **border <= end).count();
                let count = chunks.iter().cycle().take(done).sum::<usize>().min(points);
                let (found, warning) = salvage(&bytes[..end]);
                assert!(found == whole[..count * columns], "format {format}, {chunks:?}: {end}");
                let told = Warning::Salvaged { points: count as u64, declared: Some(points as u64) };
                assert_eq!(warning, Some(told));
                let refused = read(&bytes[..end]).unwrap_err().to_string();
                let named = refused.ends_with("; --salvage reads the whole chunks");
                assert_eq!(named, count > 0, "{refused}");
            }
        }
    }
}

#[test]
fn of_a_damaged_file_the_other_chunks_are_read() {
    let mut random = Random::new(6);
    for format in 0..=10 {
        let size = RECORDS[usize::from(format)];
        for records in [records(format, 0, 260, 0, &mut random), vec![0; 260 * size]] {
            let mut bytes = packed(format, &[100], &records);
            let at = borders(&bytes)[1] + size + if format < 6 { 0 } else { 4 };
            let (whole, _) = salvage(&bytes);
            let columns = whole.len() / 260;
            bytes[at..at + 4].fill(0xff);
            let refused = read(&bytes).unwrap_err().to_string();
            assert!(
                refused.contains("chunk 1") && refused.ends_with("; --salvage reads the whole chunks"),
                "{refused}"
            );
            let (found, warning) = salvage(&bytes);
            assert!(found == [&whole[..100 * columns], &whole[200 * columns..]].concat(), "format {format}");
            assert_eq!(warning, Some(Warning::Salvaged { points: 160, declared: Some(260) }));
        }
    }
}

/// Codes of a time behind a difference of 0, where it is said in the same model that a time stays,
/// and where not.
const FIRST: u32 = 1;
const NEXT_SEQUENCE: u32 = 3;

/// Codes times in a way of its own: each as these codes, the last with this difference.
struct Codes {
    codes: Vec<u32>,
    difference: i32,
    model: ArithmeticModel,
}

impl Codes {
    fn write<W: Write>(&mut self, encoder: &mut ArithmeticEncoder<W>, offset: u32) {
        for &code in &self.codes {
            encoder.encode_symbol(&mut self.model, code - offset).unwrap();
        }
        let mut differences = IntegerCompressorBuilder::new().bits(32).contexts(9).build_initialized();
        differences.compress(encoder, 0, self.difference, 0).unwrap();
    }
}

impl<W: Write> FieldCompressor<W> for Codes {
    fn size_of_field(&self) -> usize {
        8
    }

    fn compress_first(&mut self, dst: &mut W, buf: &[u8]) -> std::io::Result<()> {
        dst.write_all(buf)
    }

    fn compress_with(&mut self, encoder: &mut ArithmeticEncoder<W>, _: &[u8]) -> std::io::Result<()> {
        self.write(encoder, 0);
        Ok(())
    }
}

/// A chunk of two equal points of format 1 or 6, but that the second's time has these codes and a
/// difference of 77.
fn two_points(format: u8, codes: Vec<u32>) -> Vec<u8> {
    let symbols = if format < 6 { 6 } else { 5 };
    let mut codes = Codes { codes, difference: 77, model: ArithmeticModelBuilder::new(symbols).build() };
    let mut point = vec![0; RECORDS[usize::from(format)]];
    if format < 6 {
        let mut compressor = SequentialPointRecordCompressor::new(vec![]);
        compressor.add_field_compressor(LasPoint0Compressor::default());
        compressor.add_field_compressor(codes);
        compressor.compress_next(&point).unwrap();
        compressor.compress_next(&point).unwrap();
        compressor.done().unwrap();
        return compressor.into_inner();
    }
    // One return, the first. That the time changes, x and y are a layer.
    point[14] = 0x11;
    let mut first = ArithmeticEncoder::new(vec![]);
    first.encode_symbol(&mut ArithmeticModelBuilder::new(128).build(), 1 << 4).unwrap();
    for contexts in [2, 22] {
        let mut steps = IntegerCompressorBuilder::new().bits(32).contexts(contexts).build_initialized();
        steps.compress(&mut first, 0, 0, 1).unwrap();
    }
    let mut times = ArithmeticEncoder::new(vec![]);
    codes.write(&mut times, 1);
    first.done().unwrap();
    times.done().unwrap();
    let (first, times) = (first.into_inner(), times.into_inner());
    let mut chunk = [&point[..], &2u32.to_le_bytes()].concat();
    chunk.extend([first.len() as u32, 0, 0, 0, 0, 0, 0, 0, times.len() as u32].map(u32::to_le_bytes).as_flattened());
    [chunk, first, times].concat()
}

#[test]
fn a_time_changes_its_sequence_once_and_no_more() {
    for format in [1, 6] {
        for (switches, good) in [(0, true), (1, true), (2, false), (3, false)] {
            let mut codes = vec![NEXT_SEQUENCE; switches];
            codes.push(FIRST);
            let chunk = two_points(format, codes);
            match read(&laz(format, &[(2, &chunk)])) {
                Ok(scan) => {
                    let at = scan.fields.iter().position(|field| &*field.name == "gps_time").unwrap();
                    let times: Vec<_> = scan.cloud.data().chunks(scan.fields.len()).map(|row| row[at]).collect();
                    assert!(good && times == [0.0, f64::from_bits(77) as f32], "{switches}: {times:?}");
                }
                Err(e) => {
                    assert!(!good && matches!(e, IoError::Decompress(_)), "format {format}, {switches}: {e}");
                    assert!(e.to_string().contains("changes its sequence twice"), "{e}");
                }
            }
        }
    }
}

#[test]
fn no_codes_take_the_stack() {
    for format in [1, 6] {
        let chunk = two_points(format, vec![NEXT_SEQUENCE; 1_000_000]);
        assert!(chunk.len() < 20_000, "{} bytes", chunk.len());
        let file = laz(format, &[(2, &chunk)]);
        // A call for each code would take some megabytes.
        let thread = std::thread::Builder::new().stack_size(256 << 10);
        let e = thread.spawn(move || read(&file).unwrap_err()).unwrap().join().unwrap();
        assert_eq!(e.class(), "Decompress", "{e}");
    }
}

#[test]
fn codes_outside_their_interval_are_refused() {
    pointmill_io::hush_decoder_panics();
    for format in 0..=10 {
        let mut chunk = vec![0; RECORDS[usize::from(format)]];
        let layers = [9, 10, 11, 10, 12].get(usize::from(format).wrapping_sub(6)).copied().unwrap_or(0);
        if layers > 0 {
            chunk.extend(100u32.to_le_bytes());
            (0..layers).for_each(|_| chunk.extend(1000u32.to_le_bytes()));
        }
        let head = chunk.len();
        for at in 0..layers.max(1) {
            chunk.resize(head, 0);
            chunk.extend(vec![7; 1000 * layers.max(1)]);
            chunk[head + 1000 * at..head + 1000 * (at + 1)].fill(0xff);
            let e = read(&laz(format, &[(100, &chunk)])).unwrap_err();
            assert!(e.class() == "Decompress" && e.to_string().contains("[ff, ff, ff, ff]"), "format {format}: {e}");
        }
    }
}

#[test]
fn garbage_ends_in_time() {
    pointmill_io::hush_decoder_panics();
    let mut random = Random::new(3);
    let start = Instant::now();
    let mut read_at_all = 0;
    for i in 0..200 {
        let format = [1, 3, 6, 10][i % 4];
        let layers = if format < 6 { 0 } else { 9 + if format == 10 { 3 } else { 0 } };
        // Bytes of one value and bytes of many; few points and more than there are codes for.
        let (points, kinds) = ([2, 50, 100_000][i % 3], [1, 2, 256][i % 3]);
        let mut chunk = vec![0; RECORDS[format as usize]];
        let length = 4 + random.below(2000);
        if layers > 0 {
            chunk.extend((points as u32).to_le_bytes());
            (0..layers).for_each(|_| chunk.extend((length as u32).to_le_bytes()));
        }
        let shift = random.below(256);
        chunk.extend((0..length * layers.max(1)).map(|_| (random.below(kinds) + shift) as u8));
        match read(&laz(format, &[(points, &chunk)])) {
            Ok(scan) => read_at_all += usize::from(scan.cloud.len() as u64 == points),
            Err(e) => assert_eq!(e.class(), "Decompress", "{e}"),
        }
    }
    assert!(read_at_all > 0 && start.elapsed() < Duration::from_secs(20), "{read_at_all}, {:?}", start.elapsed());
}
