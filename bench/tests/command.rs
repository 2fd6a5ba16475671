//! The program as a user runs it: arguments, exit codes, and the lines that `README.md` describes.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Exit code, stdout and stderr of a run on the CPU.
fn run(folder: &Path, args: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pointmill-bench"));
    let output = command.current_dir(folder).args(args.split_whitespace()).args(["--device", "cpu"]).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code().expect("an exit code"), out, err)
}

/// The fields and their types of each line in `README.md`, by the heading of its table.
fn described() -> BTreeMap<String, BTreeMap<String, String>> {
    let (mut tables, mut heading) = (BTreeMap::<_, BTreeMap<_, _>>::new(), String::new());
    for line in include_str!("../README.md").lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match (line.strip_prefix("### "), &cells[..]) {
            (Some(title), _) => heading = title.to_owned(),
            (None, ["", field, types, _, ""]) if field.starts_with('`') => {
                let fields = tables.entry(heading.clone()).or_default();
                fields.insert(field.trim_matches('`').to_owned(), (*types).to_owned());
            }
            _ => {}
        }
    }
    tables
}

/// Returns true if a value has one of the types of a cell, such as `number or null`, or is one of
/// its names in backquotes.
fn has_type(value: &Value, types: &str) -> bool {
    types.split(" or ").flat_map(|names| names.split(", ")).any(|name| match name {
        name if name.starts_with('`') => value.as_str() == Some(name.trim_matches('`')),
        "null" => value.is_null(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        _ => panic!("{name} is no type"),
    })
}

#[test]
fn lines_are_those_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let points: Vec<u8> = (0..400u16).flat_map(|i| (f32::from(i) * 0.1).to_le_bytes()).collect();
    std::fs::write(folder.path().join("a.bin"), points).unwrap();
    let tables = described();
    let mut seen = Vec::new();
    for (operator, args) in [("", "voxelize --input a.bin --rounds 1 --json"), ("soak ", "soak --sweeps 12 --json")] {
        let (code, out, err) = run(folder.path(), args);
        assert_eq!(code, 0, "{args}: {err}");
        for line in out.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let heading = format!("{operator}{}", line["type"].as_str().unwrap());
            let fields = tables.get(&heading).unwrap_or_else(|| panic!("{heading} is not described"));
            let data = line["data"].as_object().unwrap();
            assert!(data.keys().eq(fields.keys()), "{heading}: expected {:?}, got {data:?}", fields.keys());
            let odd = data.iter().find(|(field, value)| !has_type(value, &fields[*field]));
            assert!(odd.is_none(), "{heading}: {odd:?} has another type");
            seen.push(heading);
        }
    }
    seen.sort();
    seen.dedup();
    assert!(seen.iter().eq(tables.keys()), "described: {:?}, printed: {seen:?}", tables.keys());
}

#[test]
fn arguments_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.bin"), "").unwrap();
    for (args, expected) in [
        ("roi-pool --points 7", "--points: cannot be used with `bench roi-pool`"),
        ("grid", "possible values: voxelize, roi-pool, boxes, sparse, ndt, icp"),
        ("icp --points 7", "--points: cannot be used with `bench icp`"),
        ("icp --input a.bin", "--input: `bench icp` also needs --target"),
        ("ndt --input a.bin --target a.bin", "--input: cannot be used with `bench ndt`"),
        ("voxelize --input a.bin --target a.bin", "--target: cannot be used with `bench voxelize`"),
        ("ndt --sweeps 3", "--sweeps: can be used with `bench soak` only"),
        ("--rounds 0", "0 is not in 1..=100000"),
    ] {
        let (code, out, err) = run(folder.path(), args);
        assert_eq!((code, out.as_str()), (2, ""), "{args}: {err}");
        assert!(err.contains(expected), "{args}: {err}");
        let (code, out, _) = run(folder.path(), &format!("{args} --json"));
        let line: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((code, &line["type"], &line["data"]["class"]), (2, &"error".into(), &"InvalidArgument".into()));
        assert!(line["data"]["message"].as_str().unwrap().contains(expected), "{args}: {out}");
    }
    let (code, _, err) = run(folder.path(), "voxelize --input b.bin --rounds 1");
    assert!(code == 2 && err.contains("b.bin"), "{code}: {err}");
}
