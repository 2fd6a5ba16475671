//! Every target takes its seeds, what fuzzing has found, and the fixtures of its format, within bounds of time and memory.

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
    for (name, target) in pointmill_fuzz::targets::ALL {
        let format = name.trim_start_matches("read_");
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
