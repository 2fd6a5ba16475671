//! The shared test data when present: files with what must come of them.

use pointmill_io::{IoError, Limits, ReadOptions, Scan, read};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The folder that `POINTMILL_BADINPUT` names, else the one beside the checkout, if it is there.
fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/badinput");
    let found = std::env::var_os("POINTMILL_BADINPUT").map_or(folder, PathBuf::from);
    if !found.is_dir() {
        eprintln!("skipped: no shared test data");
        return None;
    }
    Some(found)
}

/// A case: the file, then the number of points and of those not finite, and whether a warning is
/// due.
const GOOD: [(&str, usize, usize, bool); 6] = [
    ("bin-zero-length", 0, 0, true),
    ("bin-all-nan", 100, 100, true),
    ("bin-1e38", 4, 0, false),
    ("bin-denormal", 4, 0, false),
    ("bin-all-identical", 50_000, 0, false),
    ("bin-inf", 3, 2, true),
];

#[test]
fn raw_files_give_what_they_must() {
    let Some(folder) = shared() else { return };
    let file = |name: &str| folder.join("files").join(format!("{name}.bin"));
    for (name, points, non_finite, warned) in GOOD {
        let scan = read(file(name), &ReadOptions::default()).unwrap();
        let found = (scan.cloud.len(), scan.cloud.points().non_finite(), !scan.warnings.is_empty());
        assert_eq!(found, (points, non_finite, warned), "{name}");
        let bytes: Vec<u8> = scan.cloud.data().iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(bytes, std::fs::read(file(name)).unwrap(), "{name}: values must be kept bit for bit");
    }
    for (name, length) in [("bin-15-bytes", "15 bytes"), ("bin-17-bytes", "17 bytes")] {
        let e = read(file(name), &ReadOptions::default()).unwrap_err();
        assert_eq!(e.class(), "SizeMismatch");
        let message = e.to_string();
        assert!(message.contains("16 bytes") && message.contains(length), "{message}");
    }
}

/// The strings of a value that is one or a list of them.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(one) => vec![one],
        Value::Array(some) => some.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    }
}

/// Checks an answer that is as it should be.
fn check_scan(id: &str, scan: &Scan, wanted: &Value) {
    let points = scan.cloud.points();
    if let Some(n) = wanted["n_points"].as_u64() {
        assert_eq!(points.len() as u64, n, "{id}");
    }
    if let Some(n) = wanted["n_nonfinite"].as_u64() {
        assert_eq!(points.non_finite() as u64, n, "{id}");
    }
    if let Some(digest) = wanted["sha256_xyz_f32"].as_str() {
        let bytes: Vec<u8> = points.iter_xyz().flatten().flat_map(f32::to_le_bytes).collect();
        let found: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(found, digest, "{id}");
    }
    if wanted["warn"] == true {
        assert!(!scan.warnings.is_empty(), "{id}: no warning");
    }
    if let Some(bits) = wanted["rgb_bits_first"].as_str() {
        assert_eq!((&*scan.fields[3].name, format!("{:#010x}", points.row(0)[3].to_bits())), ("rgb", bits.into()));
    }
}

/// Checks an error's class and message.
fn check_error(id: &str, e: &IoError, expect: &Value) {
    let (class, message) = (e.class(), e.to_string());
    assert!(strings(&expect["class"]).contains(&class), "{id}: {class}: {message}");
    let words = strings(&expect["msg"]);
    assert!(words.is_empty() || words.iter().any(|word| message.contains(word)), "{id}: {message}");
    assert!(!message.chars().any(char::is_control) && message.contains(id), "{id}: {message:?}");
}

#[test]
fn files_give_what_they_must() {
    let Some(folder) = shared() else { return };
    let cases: Value = serde_json::from_slice(&std::fs::read(folder.join("cases.json")).unwrap()).unwrap();
    let mut seen = 0;
    for case in cases["cases"].as_array().unwrap() {
        seen += 1;
        let (id, expect) = (case["id"].as_str().unwrap(), &case["expect"]);
        let args = strings(&case["args"]);
        let budget = args.iter().position(|a| *a == "--max-decoded-bytes").map(|at| args[at + 1].parse().unwrap());
        let options =
            ReadOptions { limits: Limits { max_decoded_bytes: budget, ..Limits::default() }, ..ReadOptions::default() };
        let start = std::time::Instant::now();
        let path = folder.join(case["file"].as_str().unwrap());
        let mut answer = None;
        let used = allocation_counter::measure(|| answer = Some(read(&path, &options)));
        let most = case["limits"]["max_rss_mb"].as_u64().unwrap_or(256) << 20;
        assert!(used.bytes_max < most, "{id}: {} bytes of memory", used.bytes_max);
        // Without the feature the valid ones are refused too.
        if case["area"] == "laz" && !cfg!(feature = "laz") {
            let e = answer.unwrap().unwrap_err();
            assert!(e.class() == "UnsupportedFormat" && e.to_string().contains("feature `laz`"), "{id}: {e}");
            continue;
        }
        match (expect["kind"].as_str().unwrap(), answer.unwrap()) {
            ("ok" | "ok_or_error", Ok(scan)) => check_scan(id, &scan, &expect["result"]),
            ("error" | "ok_or_error", Err(e)) => check_error(id, &e, expect),
            ("ok", Err(e)) => panic!("{id}: {e}"),
            (kind, Ok(scan)) => panic!("{id}: expected {kind}, got {} points", scan.cloud.len()),
            (kind, Err(e)) => panic!("{id}: unknown kind {kind}: {e}"),
        }
        assert!(start.elapsed().as_secs_f64() < case["limits"]["max_seconds"].as_f64().unwrap_or(5.0), "{id}");
        if budget.is_some() {
            assert_eq!(read(&path, &ReadOptions::default()).unwrap().cloud.len(), 4 << 20, "{id} without a budget");
        }
    }
    assert!(seen >= 64, "{seen} cases");
}
