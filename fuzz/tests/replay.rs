//! Every target takes its seeds, what fuzzing has found, and the fixtures of its format, within bounds of time and memory.

use pointmill_fuzz::targets::{ALL, Target};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// As libFuzzer is told in `fuzz/run`.
const LONGEST: Duration = Duration::from_secs(20);
const MOST_MEMORY: u64 = 256 << 20;

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    files.sort();
    files
}

#[test]
fn every_target_takes_its_seeds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, target) in ALL {
        let format = match name.trim_start_matches("read_") {
            "mcap" | "rosbag" | "sqlite" => "bags",
            format => format,
        };
        let folders = [format!("seeds/{name}"), format!("corpus/{name}"), format!("../fixtures/{format}")];
        let inputs: Vec<_> = folders.iter().flat_map(|folder| files(&root.join(folder))).collect();
        for input in &inputs {
            let bytes = std::fs::read(input).expect("a seed");
            let begun = Instant::now();
            let used = allocation_counter::measure(|| target(&bytes));
            assert!(begun.elapsed() < LONGEST, "{}: {:?}", input.display(), begun.elapsed());
            assert!(used.bytes_max < MOST_MEMORY, "{}: {} bytes", input.display(), used.bytes_max);
        }
        println!("{name}: {} files", inputs.len());
        assert!(!inputs.is_empty(), "{name}: no seed");
    }
}

/// The next of a row of numbers.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    (*state >> 33) as usize
}

fn bytes(state: &mut u64, len: usize) -> Vec<u8> {
    (0..len).map(|_| next(state) as u8).collect()
}

/// Runs a target on changes of its seeds; keeps an input that fails.
fn change_seeds(name: &str, target: Target, seeds: &[Vec<u8>], end: Instant) {
    let (mut state, mut runs, mut slowest, mut most) = (1, 0, Duration::ZERO, 0);
    while Instant::now() < end {
        let mut input = seeds[next(&mut state) % seeds.len()].clone();
        for _ in 0..next(&mut state) % 8 {
            let (at, len) = (next(&mut state) % input.len().max(1), next(&mut state) % 64);
            match next(&mut state) % 4 {
                0 => input.truncate(at),
                1 => drop(input.splice(at.min(input.len()).., bytes(&mut state, 4 * len))),
                _ if input.is_empty() => input = bytes(&mut state, len),
                2 => input[at] = next(&mut state) as u8,
                _ => input[at] = next(&mut state) as u8 % 32,
            }
        }
        let begun = Instant::now();
        let mut used = None;
        let done = catch_unwind(std::panic::AssertUnwindSafe(|| {
            used = Some(allocation_counter::measure(|| target(&input)));
        }));
        let took = begun.elapsed();
        most = most.max(used.map_or(0, |used| used.bytes_max));
        slowest = slowest.max(took);
        runs += 1;
        if done.is_err() || took > LONGEST || most > MOST_MEMORY {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("artifacts/{name}-{runs}"));
            std::fs::create_dir_all(path.parent().expect("a folder"))
                .and_then(|()| std::fs::write(&path, &input))
                .expect("a file");
            panic!("{}: {took:?}, {most} bytes", path.display());
        }
    }
    println!("{name}: {runs} inputs, at most {slowest:?} and {most} bytes");
}

/// Where libFuzzer cannot be built: `POINTMILL_FUZZ=op_boxes,60` runs a target for a minute on changes of its seeds. A
/// target of an operator without seeds gets twelve of random bytes.
#[test]
#[ignore = "runs as long as it is told"]
fn changes_of_seeds_are_taken() {
    let told = std::env::var("POINTMILL_FUZZ").expect("POINTMILL_FUZZ=TARGET,SECONDS");
    let (name, seconds) = told.split_once(',').expect("TARGET,SECONDS");
    let &(name, target) = ALL.iter().find(|(one, _)| *one == name).expect("a target");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    if !folder.exists() {
        std::fs::create_dir_all(&folder).expect("a folder");
        for k in 0..12u8 {
            let seed = [vec![k], bytes(&mut (u64::from(k) + 7), 600)].concat();
            std::fs::write(folder.join(format!("seed_{k}")), seed).expect("a file");
        }
    }
    let seeds: Vec<_> = files(&folder).iter().map(|path| std::fs::read(path).expect("a seed")).collect();
    change_seeds(name, target, &seeds, Instant::now() + Duration::from_secs(seconds.parse().expect("seconds")));
}
