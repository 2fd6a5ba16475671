//! Thousands of bad files of each format, made of good ones: an answer or an error that says what
//! is wrong, never a panic, never more memory than the file is worth, never a long time.
//!
//! `POINTMILL_WOUNDS` sets how many files of each format get random damage, `POINTMILL_SEED`
//! another seed.
mod common;

use common::damage::{cuts, extremes, wounded};
use common::ends::many_ends;
use common::random::Random;
use common::valid::{Valid, all};
use pointmill_io::{Format, ReadOptions, read, read_from};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The longest that a file may take. The slowest are compressed points, of which 16 MiB may come
/// out of anything.
const LONGEST: Duration = Duration::from_secs(5);

/// Panics that reached the hook. The decoder of LAZ has some, which are caught and hushed.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// The memory that a read may take at its peak, in bytes: so many, and for each byte of the file.
/// It is what a window, a decoder and the system's own reading take, and by how much the format may
/// grow at most: text 6 bytes a point to 36 and twice that in vectors that grow, LZF 88 times bytes
/// that become floats, deflate 1032 times.
fn most(format: Format, bytes: &[u8]) -> u64 {
    let compressed = format == Format::Las && bytes.get(104).is_some_and(|format| format & 0x80 != 0);
    let (base, each) = match format {
        // What may come out of any file, as rows, and what decoders of many extra bytes are.
        Format::Las if compressed => (160 << 20, 0),
        // The same, and windows of ZSTD.
        Format::Feather | Format::Arrow => (160 << 20, 0),
        Format::Npz => (2 << 20, 10_320),
        // A block of bzip2.
        Format::Rosbag => (8 << 20, 32),
        Format::Pcd => (1 << 20, 1000),
        _ => (1 << 20, 32),
    };
    base + each * bytes.len() as u64
}

/// Reads the bytes as a file and as a stream; whether they could be read.
fn check(folder: &Path, valid: &Valid, bytes: &[u8]) -> bool {
    let path = folder.join(&valid.name);
    let mut out = File::options().write(true).create(true).truncate(false).open(&path).unwrap();
    out.write_all(bytes).and_then(|()| out.set_len(bytes.len() as u64)).unwrap();
    drop(out);
    let options = ReadOptions { format: Some(valid.format), ..ReadOptions::default() };
    let mut readable = [false; 2];
    for (stream, readable) in readable.iter_mut().enumerate() {
        let start = Instant::now();
        let used = allocation_counter::measure(|| {
            let scan = if stream == 0 { read(&path, &options) } else { read_from(bytes, &valid.name, &options) };
            match scan {
                Ok(scan) => {
                    let values = scan.cloud.len() * scan.cloud.columns();
                    assert_eq!(scan.cloud.data().len(), values);
                    assert_eq!(scan.fields.len(), scan.cloud.columns());
                    *readable = true;
                }
                Err(e) => {
                    let told = e.to_string();
                    assert!(told.contains(&valid.name) && !told.chars().any(char::is_control), "{told:?}");
                    assert!(!["Io", "InvalidArgument", "OutOfMemory"].contains(&e.class()), "{told}");
                    assert!(e.offset().is_none_or(|at| at <= bytes.len() as u64), "{told}: {:?}", e.offset());
                }
            }
        });
        let most = most(valid.format, bytes);
        assert!(used.bytes_max < most, "{}: {} bytes of memory, at most {most}", valid.name, used.bytes_max);
        assert!(start.elapsed() < LONGEST, "{}: {:?}", valid.name, start.elapsed());
    }
    readable[0]
}

/// Checks a file; one that fails is kept, to look at.
fn saved(folder: &Path, valid: &Valid, bytes: &[u8]) -> bool {
    let done = std::panic::catch_unwind(|| check(folder, valid, bytes));
    if done.is_err() {
        let kept = std::env::temp_dir().join(format!("pointmill-{}-{}", std::process::id(), valid.name));
        std::fs::write(&kept, bytes).unwrap();
        eprintln!("kept as {}", kept.display());
    }
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn count(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("a whole number"))
}

#[test]
fn bad_files_are_refused_or_read() {
    let ordinary = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        ordinary(info);
    }));
    pointmill_io::hush_decoder_panics();
    let folder = tempfile::tempdir().unwrap();
    let (files, wounds) = (all(), count("POINTMILL_WOUNDS", 3000));
    let mut random = Random::new(count("POINTMILL_SEED", 1));
    let mut table = vec![];
    for &format in Format::ALL {
        let of: Vec<_> = files.iter().filter(|valid| valid.format == format).collect();
        let start = Instant::now();
        let (mut seen, mut read) = (0u64, 0u64);
        for valid in &of {
            assert!(saved(folder.path(), valid, &valid.bytes), "{}: a good file", valid.name);
            for bytes in extremes(valid).chain(cuts(valid)) {
                (seen, read) = (seen + 1, read + u64::from(saved(folder.path(), valid, &bytes)));
            }
            for _ in 0..wounds.div_ceil(of.len() as u64) {
                let other = random.pick(&of);
                let bytes = wounded(valid, other, &mut random);
                (seen, read) = (seen + 1, read + u64::from(saved(folder.path(), valid, &bytes)));
            }
        }
        if seen > 0 {
            table.push(format!("{format}: {seen} files, {read} read, {:.1} s", start.elapsed().as_secs_f64()));
            assert!(seen > read, "{format}: none was refused");
        }
    }
    println!("{}", table.join("\n"));
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "panics that would be seen");
}

/// What a list costs is not paid for each record that says where it is.
#[test]
fn archives_with_many_end_records_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut valid = all().into_iter().find(|valid| valid.format == Format::Npz).unwrap();
    for (length, ends) in [(300, 1), (1 << 16, 8), (1 << 18, 9), (1 << 20, 2979)] {
        valid.bytes = many_ends(length, ends);
        assert!(!saved(folder.path(), &valid, &valid.bytes), "{ends} end records");
    }
}
