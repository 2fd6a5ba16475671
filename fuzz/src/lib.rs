//! The targets, and what they share: values from bytes, a reader given a file and a stream, and an operator on all
//! devices.

mod everywhere;
pub mod targets;

pub use everywhere::{Named, everywhere};

use pointmill::Device;
use pointmill_io::{Format, IoError, Limits, NamedPoints, ReadOptions, Scan, read, read_from, write_ply};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Takes values off the front of the fuzzer's bytes; zeros when they are used up.
#[derive(Debug)]
pub struct Draw<'a>(pub &'a [u8]);

impl Draw<'_> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number below `n`, at most 256.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    /// One of some values.
    pub fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// One of some values that an operator takes, now and then one of those that it refuses.
    pub fn usual<T: Clone>(&mut self, usual: &[T], odd: &[T]) -> T {
        match self.byte() {
            kind @ 248.. => odd[usize::from(kind) % odd.len()].clone(),
            kind => usual[usize::from(kind) % usual.len()].clone(),
        }
    }

    /// Edges of a cell, nearly always good ones.
    pub fn sizes(&mut self) -> [f32; 3] {
        std::array::from_fn(|_| {
            let odd = self.value();
            self.usual(&[0.25, 1.0, 3.0], &[odd, odd.abs(), 0.0])
        })
    }

    /// Some of the bytes that are left, for an input of its own.
    pub fn part(&mut self) -> Self {
        let cut = self.0.len() * usize::from(self.byte()) / 256;
        let (own, rest) = self.0.split_at(cut.min(self.0.len()));
        self.0 = rest;
        Self(own)
    }

    /// Whether there is nothing left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A value that is likely to be near others, or one of the odd ones.
    pub fn value(&mut self) -> f32 {
        const ODD: [f32; 8] =
            [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MAX, f32::MIN_POSITIVE, 1e-45, 1e20];
        match self.byte() {
            kind @ 0..8 => ODD[usize::from(kind)],
            8..24 => f32::from_bits(u32::from_le_bytes(std::array::from_fn(|_| self.byte()))),
            kind => self.near(kind),
        }
    }

    /// A value within 33 of 0.
    fn near(&mut self, kind: u8) -> f32 {
        f32::from(kind as i8) * 0.25 + f32::from(self.byte()) / 512.0
    }

    /// Rows most of which are near each other; some are there twice, and few have odd values. Where `positive`, these
    /// columns are nearly always 0 or more.
    pub fn near_rows(&mut self, columns: usize, most: usize, positive: std::ops::Range<usize>) -> Vec<f32> {
        let positive = if self.below(16) == 15 { 0..0 } else { positive };
        let mut values: Vec<f32> = vec![];
        while !self.is_empty() && values.len() < most * columns {
            let begun = values.len();
            match self.byte() {
                0..3 => values.extend((0..columns).map(|_| self.value())),
                3..24 if begun > 0 => {
                    let row = self.below(begun / columns) * columns;
                    values.extend_from_within(row..row + columns);
                }
                _ => values.extend((0..columns).map(|_| {
                    let kind = self.byte();
                    self.near(kind)
                })),
            }
            values[begun..][positive.clone()].iter_mut().for_each(|v| *v = v.abs());
        }
        values
    }

    /// [`Draw::near_rows`] as whole numbers, nearly always of 0 to 32.
    pub fn cells(&mut self, columns: usize, most: usize) -> Vec<i32> {
        self.near_rows(columns, most, 0..columns).iter().map(|&v| v as i32).collect()
    }

    /// Where the items of a batch of so many rows start; some are wrong.
    pub fn splits(&mut self, rows: usize) -> Option<Vec<usize>> {
        let mut splits: Vec<_> = (0..self.below(4)).map(|_| self.below(rows.clamp(1, 256))).collect();
        match self.below(16) {
            15 => return Some(splits),
            0..8 => return None,
            _ => splits.sort_unstable(),
        }
        Some([vec![0], splits, vec![rows]].concat())
    }

    /// As many rows of `columns` values as there are bytes for, at most `most`.
    pub fn rows(&mut self, columns: usize, most: usize) -> Vec<f32> {
        let mut values = vec![];
        while !self.is_empty() && values.len() < most * columns {
            values.extend((0..columns).map(|_| self.value()));
        }
        values
    }
}

/// The CPU with one thread or with three.
pub fn cpu(several: bool) -> &'static Device {
    static CPU: OnceLock<[Device; 2]> = OnceLock::new();
    &CPU.get_or_init(|| [1, 3].map(|n| Device::cpu_with_threads(n).expect("a thread")))[usize::from(several)]
}

/// A file of this thread to give to readers.
pub fn file(extension: &str) -> PathBuf {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static THREAD: usize = THREADS.fetch_add(1, Ordering::Relaxed));
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        if memory.is_dir() { memory } else { std::env::temp_dir() }
    });
    let thread = THREAD.with(|thread| *thread);
    folder.join(format!("pointmill-fuzz-{}-{thread}.{extension}", std::process::id()))
}

/// Limits so low that a run is about the reader and not about clearing memory.
pub fn limits() -> Limits {
    Limits { max_memory: Some(64 << 20), max_decoded_bytes: Some(1 << 20), ..Limits::default() }
}

/// Reads the bytes as a file and as a stream: both must give the same points or both none; what was read is written and read again.
pub fn reader(bytes: &[u8], format: Format, columns: Option<usize>) {
    pointmill_io::hush_decoder_panics();
    let options = ReadOptions { format: Some(format), columns, limits: limits(), ..ReadOptions::default() };
    let path = file("in");
    std::fs::write(&path, bytes).expect("room for a file");
    let file = read(&path, &options);
    let stream = read_from(bytes, "stream", &options);
    for e in [&file, &stream].into_iter().filter_map(|read| read.as_ref().err()) {
        let told = e.to_string();
        assert!(!told.chars().any(char::is_control), "{told:?}");
        assert!(e.offset().is_none_or(|at| at <= bytes.len() as u64), "{told}");
        assert!(!matches!(e, IoError::Io { .. } | IoError::OutOfMemory(_)), "{told}");
    }
    match (file, stream) {
        (Ok(file), Ok(stream)) => {
            assert!(same(&file, &stream) && file.warnings == stream.warnings);
            again(&file);
        }
        (Err(_), Err(_)) => {}
        // What a stream holds is counted too, and a file's length is compared with before anything else.
        (Ok(_), Err(IoError::LimitExceeded(_))) => {}
        (file, stream) => panic!("file {:?}, stream {:?}", file.map(drop), stream.map(drop)),
    }
}

/// Writes a cloud and reads it again.
fn again(scan: &Scan) {
    let path = file("ply");
    if write_ply(&path, &NamedPoints::from(scan)).is_ok() {
        let back = read(&path, &ReadOptions::default()).expect("what was written can be read");
        assert!(bits(&back) == bits(scan) || scan.xyz_f64.is_some(), "other values");
        assert_eq!(back.cloud.len(), scan.cloud.len());
    }
}

fn same(a: &Scan, b: &Scan) -> bool {
    let exact = |scan: &Scan| scan.xyz_f64.as_ref().map(|xyz| xyz.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
    bits(a) == bits(b) && a.fields == b.fields && exact(a) == exact(b)
}

/// The values as bits, of NaN that it is one.
pub fn canonical(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| if v.is_nan() { 0x7fc0_0000 } else { v.to_bits() }).collect()
}

fn bits(scan: &Scan) -> Vec<u32> {
    canonical(scan.cloud.data())
}
