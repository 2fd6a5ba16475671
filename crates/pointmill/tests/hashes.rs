//! No table scatters keys by a hash that everybody knows: points could be chosen whose cells meet
//! in one place.
//!
//! Keys are scattered by `pointmill_core::hash` with the secret of the process, or by std's own
//! tables, which have a secret too. A fixed hash anywhere else is what this finds, by its words.
//! Numbers that are no places in a table are named below, each with what it is for.

use std::fs;
use std::path::{Path, PathBuf};

/// What a hash without a secret, or a hasher of one's own, is written with: a multiplication by a
/// constant, the golden ratio, a hasher for std's tables, crates of fast hashes.
const SIGNS: [&str; 10] = [
    "wrapping_mul(0x",
    "wrapping_mul(FACTOR",
    "9e37_79b9",
    "BuildHasher",
    "with_hasher",
    "DefaultHasher",
    "hashbrown",
    "ahash",
    "FxHash",
    "nohash",
];

/// Where they may be, and why.
const KNOWN: [(&str, &str); 14] = [
    ("pointmill-batch/src/batch/resume_log.rs", "a checksum of a text in a file's name"),
    ("pointmill-core/src/hash.rs", "the hash with a secret, whose seed splitmix64 spreads"),
    ("pointmill-core/src/icp/correspondence.rs", "a checksum of pairs"),
    ("pointmill-core/src/odometry/motion.rs", "a checksum of a sweep"),
    ("pointmill-core/src/random.rs", "random numbers, from the seed of the caller"),
    ("pointmill-data/src/maps/blocks/row.rs", "a checksum of a name in a file's name"),
    ("pointmill-io/src/column_guess.rs", "which rows a look at columns takes"),
    ("pointmill-kernels/src/simt/twin/mod.rs", "the order of blocks in a simulated device"),
    ("pointmill-synth/src/hash.rs", "random numbers"),
    ("pointmill/src/ndt/cpu/mod.rs", "a table of std's with the secret of the process"),
    ("pointmill/src/ndt/cpu/sum.rs", "the hasher with the secret of the process"),
    ("pointmill/src/seed.rs", "where the secret comes from"),
    ("pointmill/src/testing.rs", "random numbers of tests"),
    (
        "pointmill/src/voxelize/cpu/keys.rs",
        "a table that counts the steps of all of its searches, and takes the secret after too many",
    ),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_str().unwrap();
        if entry.is_dir() && !["tests", "target"].contains(&name) {
            sources(&entry, found);
        } else if name.ends_with(".rs") && !["tests.rs", "build.rs"].contains(&name) {
            found.push(entry);
        }
    }
}

/// Lines with a sign, before the tests of a file.
fn signs(text: &str) -> impl Iterator<Item = &str> {
    let work = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = work.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.filter(|line| SIGNS.iter().any(|sign| line.contains(sign)))
}

#[test]
fn no_table_has_a_fixed_hash() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if !crates.join("pointmill-kernels").is_dir() {
        return; // Not in the repository.
    }
    let mut files = Vec::new();
    sources(&crates, &mut files);
    sources(&crates.join("../bindings/python/src"), &mut files);
    assert!(files.len() > 300, "{} files", files.len());
    let (mut wrong, mut known) = (Vec::new(), Vec::new());
    for path in files {
        let name = path.strip_prefix(&crates).unwrap().to_str().unwrap().replace('\\', "/");
        let text = fs::read_to_string(&path).unwrap();
        let Some(line) = signs(&text).next() else { continue };
        match KNOWN.iter().find(|(file, _)| *file == name) {
            Some((file, _)) => known.push(*file),
            None => wrong.push(format!("{name}: {}", line.trim())),
        }
    }
    assert!(
        wrong.is_empty(),
        "expected pointmill_core::hash with the seed of the process, got a fixed hash:\n{}",
        wrong.join("\n")
    );
    known.sort_unstable();
    assert_eq!(known, KNOWN.map(|(file, _)| file), "files that need no mention any more");
}

#[test]
fn the_signs_find_a_fixed_hash() {
    let fixed =
        "fn at(&self, key: u64) -> usize {\n    let run = (key / 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;\n}\n";
    assert_eq!(signs(fixed).count(), 1);
    assert_eq!(signs("use std::collections::HashMap;\n// wrapping_mul(0x1)\n").count(), 0);
    assert_eq!(signs(&format!("\n#[cfg(test)]\nmod tests {{\n{fixed}}}")).count(), 0);
}
