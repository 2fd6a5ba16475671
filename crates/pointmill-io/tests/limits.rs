//! What a read may take: limits on points, memory and what is unpacked, for every format, from
//! files and from streams.
mod common;

use common::valid::{Valid, all};
use pointmill_io::{Format, IoError, Limits, ReadOptions, Scan, read, read_from};

/// Reads the bytes as a file and as a stream; both must be read or refused, for the same reason.
fn both(valid: &Valid, limits: Limits) -> Result<Scan, IoError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(&valid.name);
    std::fs::write(&path, &valid.bytes).unwrap();
    let options = ReadOptions { format: Some(valid.format), limits, ..ReadOptions::default() };
    let file = read(&path, &options);
    let stream = read_from(&valid.bytes[..], &valid.name, &options);
    assert_eq!(file.as_ref().err().map(IoError::class), stream.as_ref().err().map(IoError::class), "{}", valid.name);
    file
}

#[test]
fn points_are_limited() {
    for valid in all() {
        let n = both(&valid, Limits::default()).unwrap().cloud.len() as u64;
        let limits = |n| Limits { max_points: Some(n), ..Limits::default() };
        assert_eq!(both(&valid, limits(n)).unwrap().cloud.len() as u64, n);
        let e = both(&valid, limits(n - 1)).unwrap_err();
        let told = e.to_string();
        assert!(e.class() == "LimitExceeded" && told.contains("--max-input-points"), "{}: {told}", valid.name);
    }
}

#[test]
fn memory_is_limited() {
    for valid in all() {
        let scan = both(&valid, Limits::default()).unwrap();
        let limits = |bytes| Limits { max_memory: Some(bytes), ..Limits::default() };
        // What is kept is the least that a read takes; a few times as much is taken on the way, and
        // of a stream a piece at a time. Bzip2 has a block of 3.6 MB.
        let least = if valid.format == Format::Rosbag { 5 << 20 } else { 1 << 20 };
        let kept = 4 * scan.cloud.data().len() + scan.xyz_f64.map_or(0, |xyz| 8 * xyz.len());
        assert_eq!(
            both(&valid, limits((8 * kept + least) as u64)).unwrap().cloud.len(),
            scan.cloud.len(),
            "{}",
            valid.name
        );
        let e = both(&valid, limits(kept as u64 - 1)).unwrap_err();
        let told = e.to_string();
        assert!(e.class() == "LimitExceeded" && told.contains("--max-memory"), "{}: {told}", valid.name);
    }
}

#[test]
fn streams_without_end_are_ended_by_a_limit() {
    struct Endless;
    impl std::io::Read for Endless {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            out.fill(b'0');
            Ok(out.len())
        }
    }
    let limits = Limits { max_memory: Some(8 << 20), ..Limits::default() };
    for &format in Format::ALL {
        let options = ReadOptions { format: Some(format), limits: limits.clone(), ..ReadOptions::default() };
        let used = allocation_counter::measure(|| {
            let e = read_from(Endless, "endless", &options).unwrap_err();
            assert!(["LimitExceeded", "BadHeader", "UnsupportedFormat"].contains(&e.class()), "{format}: {e}");
        });
        assert!(used.bytes_max < 32 << 20, "{format}: {} bytes", used.bytes_max);
    }
}

/// Compressed points that claim more than they are.
#[cfg(feature = "laz")]
mod laz_files {
    use super::*;
    use laz::laszip::{ChunkTable, ChunkTableEntry};
    use laz::{LasZipCompressor, LazVlrBuilder};
    use pointmill_io::Format;
    use std::time::{Duration, Instant};

    /// A LAZ file of a point format without its own points: these chunks, and a table that says
    /// this of them.
    fn file(format: u8, chunk: Option<u32>, points: u64, chunks: &[&[u8]], entries: &[(u64, u64)]) -> Valid {
        let name = if format < 6 { "1.2_format0_one_point.laz" } else { "1.4_format6_one_point.laz" };
        let mut valid = all().into_iter().find(|v| v.name.ends_with(".las") && v.name.contains("one_point")).unwrap();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/las");
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let offset = u32::from_le_bytes(bytes[96..100].try_into().unwrap()) as usize;
        let mut head = bytes[..offset].to_vec();
        if format < 6 {
            head[107..111].copy_from_slice(&(points as u32).to_le_bytes());
        } else {
            head[107..111].fill(0);
            head[247..255].copy_from_slice(&points.to_le_bytes());
            head[243..247].fill(0);
        }
        let at = head.windows(14).position(|w| w == b"laszip encoded").unwrap() - 2 + 54;
        head[at + 12..at + 16].copy_from_slice(&chunk.unwrap_or(u32::MAX).to_le_bytes());
        let vlr = LazVlrBuilder::default().with_point_format(format, 0).unwrap();
        let vlr = if chunk.is_none() { vlr.with_variable_chunk_size() } else { vlr.with_fixed_chunk_size(1) }.build();
        let mut table = ChunkTable::with_capacity(entries.len());
        for &(point_count, byte_count) in entries {
            table.push(ChunkTableEntry { point_count, byte_count });
        }
        let mut packed = vec![];
        table.write_to(&mut packed, &vlr).unwrap();
        let data = chunks.concat();
        let start = (offset + 8 + data.len()) as u64;
        valid.bytes = [&head[..], &start.to_le_bytes(), &data, &packed].concat();
        (valid.name, valid.format) = (name.into(), Format::Las);
        valid
    }

    /// A chunk of equal points of a format of `record` bytes, as an honest writer makes it.
    fn equal(format: u8, record: usize, points: u32) -> Vec<u8> {
        let vlr = LazVlrBuilder::default().with_point_format(format, 0).unwrap().with_fixed_chunk_size(points).build();
        let mut compressor = LasZipCompressor::new(std::io::Cursor::new(vec![]), vlr).unwrap();
        let point = vec![0; record];
        (0..points).for_each(|_| compressor.compress_one(&point).unwrap());
        compressor.done().unwrap();
        let bytes = compressor.into_inner().into_inner();
        let end = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        bytes[8..end].to_vec()
    }

    #[test]
    fn what_is_unpacked_is_limited() {
        let n = (16 << 20) / 30;
        let bomb = |n: u32| {
            let chunk = equal(6, 30, n);
            file(6, Some(1 << 30), n.into(), &[&chunk], &[(0, chunk.len() as u64)])
        };
        assert!(bomb(n).bytes.len() < 20_000, "{} bytes", bomb(n).bytes.len());
        let start = Instant::now();
        assert_eq!(both(&bomb(n), Limits::default()).unwrap().cloud.len(), n as usize);
        let e = both(&bomb(n + 1), Limits::default()).unwrap_err();
        assert!(e.class() == "LimitExceeded" && e.to_string().contains("16 MiB or 64 times the file"), "{e}");
        let limits = |bytes| Limits { max_decoded_bytes: Some(bytes), ..Limits::default() };
        assert!(both(&bomb(n + 1), limits(16 << 21)).is_ok());
        let e = both(&bomb(1000), limits(29_999)).unwrap_err();
        assert!(e.to_string().contains("--max-decoded-bytes"), "{e}");
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }

    #[test]
    fn chunks_and_layers_are_checked_before_memory_is_taken() {
        let good = equal(6, 30, 5);
        let length = good.len() as u64;
        let entry = (5, length);
        assert_eq!(both(&file(6, None, 5, &[&good], &[entry]), Limits::default()).unwrap().cloud.len(), 5);
        let with = |at: usize, n: u32| {
            let mut chunk = good.clone();
            chunk[at..at + 4].copy_from_slice(&n.to_le_bytes());
            file(6, None, 5, &[&chunk], &[entry])
        };
        let zeros = [0; 30];
        let many = vec![&zeros[..]; 2000];
        for (file, class, field) in [
            (with(30, 6), "SizeMismatch", "chunk 0: number of points"),
            (with(34, 1000), "Truncated", "chunk 0: layers"),
            (with(34, u32::MAX), "Truncated", "chunk 0: layers"),
            (with(66, u32::MAX), "Truncated", "chunk 0: layers"),
            (file(6, None, 5, &[&good[..69]], &[(5, 69)]), "Truncated", "chunk 0: head"),
            (file(6, None, 5, &[&good], &[(5, length + 1)]), "SizeMismatch", "table of chunks: chunk 0"),
            (file(6, None, 5, &[&good], &[(5, 0)]), "SizeMismatch", "table of chunks: chunk 0"),
            (file(6, None, 5, &[&good], &[(4, length)]), "SizeMismatch", "table of chunks"),
            (file(6, None, 5, &[&good], &[(6, length)]), "SizeMismatch", "table of chunks: chunk 0"),
            (file(6, None, 5, &[&good], &[(0, length)]), "SizeMismatch", "table of chunks: chunk 0"),
            (file(6, None, 5, &[&good], &[(2, 30), (1, 30), (1, 30), (1, 30)]), "SizeMismatch", "number of chunks"),
            (file(6, Some(2), 5, &[&good], &[(0, 35), (0, 35)]), "SizeMismatch", "number of chunks"),
            (file(6, None, 2000, &many, &[(1, 30); 2000]), "LimitExceeded", "number of chunks"),
        ] {
            let used = allocation_counter::measure(|| {
                let e = both(&file, Limits::default()).unwrap_err();
                assert_eq!(e.class(), class, "{e}");
                assert!(e.to_string().contains(field), "{e}");
            });
            assert!(used.bytes_max < 2 << 20, "{field}: {} bytes", used.bytes_max);
        }
    }
}
