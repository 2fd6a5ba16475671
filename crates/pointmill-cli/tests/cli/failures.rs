//! What goes wrong: the exit code, the message, and what is left behind.

use crate::{command, names, run, write_cloud};
use std::fs;

#[test]
fn a_bad_input_among_good_ones_is_3_and_the_rest_is_done() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "1.bin", 10);
    fs::write(folder.path().join("2.bin"), [0; 15]).unwrap();
    write_cloud(folder.path(), "3.bin", 10);
    let told = run(folder.path(), "voxelize . missing*.npy --out out").expect(3);
    assert!(told.err.contains("2.bin: length: expected a multiple of 16 bytes"), "{}", told.err);
    assert!(told.err.contains("missing*.npy: pattern: expected a file that matches"), "{}", told.err);
    assert!(told.err.ends_with("error: 2 of 4 inputs failed\n"), "{}", told.err);
    assert_eq!(names(&folder.path().join("out")), ["1.npz", "3.npz"]);
    assert!(told.out.contains("2 inputs, 20 points"), "{}", told.out);
}

#[test]
fn a_cloud_with_too_many_columns_is_the_inputs_fault() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.bin"), [0; 400]).unwrap();
    let told = run(folder.path(), "voxelize a.bin --columns 100 --json").expect(3);
    assert!(told.err.contains("a.bin: points: expected 3 to 64 columns, got 100"), "{}", told.err);
    assert_eq!(told.data("error")[0]["class"], "ShapeMismatch");
    assert!(told.data("summary")[0]["ms"].is_null());
}

#[test]
fn an_absent_device_is_4_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    ["a", "b", "a.arrow", "m", "s", "p"].iter().for_each(|name| fs::write(folder.path().join(name), "").unwrap());
    for args in [
        "voxelize --out o",
        "roi-pool --out o.npz",
        "icp a b",
        "ndt build --out o/",
        "ndt merge a.arrow",
        "ndt score --map m --scan s --pose p",
        "ndt align --map m --scan s",
    ] {
        let told = run(folder.path(), &format!("{args} --device cuda:99 --json")).expect(4);
        assert!(told.err.contains("device cuda"), "{args}: {}", told.err);
        let error = told.data("error").remove(0);
        assert_eq!((&error["class"], &error["exit_code"]), (&"DeviceUnavailable".into(), &4.into()), "{args}");
        assert_eq!(names(folder.path()), ["a", "a.arrow", "b", "m", "p", "s"], "{args}");
    }
}

#[test]
fn auto_says_what_it_chose() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 5);
    let told = run(folder.path(), "voxelize a.bin --device auto").expect(0);
    assert!(told.err.starts_with("device: auto chose cpu ("), "{}", told.err);
    assert!(told.err.contains(") for one small input"), "{}", told.err);
    write_cloud(folder.path(), "b.bin", 5);
    let told = run(folder.path(), "voxelize a.bin b.bin --device auto").expect(0);
    assert!(told.err.starts_with("device: auto chose ") && !told.err.contains("small"), "{}", told.err);
    assert_eq!(run(folder.path(), "voxelize a.bin --device auto -q").expect(0).err, "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_stdout_is_1() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 5);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let told = command(folder.path(), "voxelize a.bin").stdout(full).output().unwrap();
    assert_eq!(told.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&told.stderr).contains("stdout: write: No space left"));
}

#[test]
fn control_bytes_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    ["a.bin", "b.npy"].iter().for_each(|name| fs::write(folder.path().join(name), "").unwrap());
    for args in [
        "voxelize x\x1b[31m.bin",
        "info x\x1b[31m --json",
        "voxelize --out x\x1b[31m/a.npz a.bin",
        "roi-pool --inside part --boxes b.npy --points x\x1b[31m.bin --json",
        "roi-pool --out x\x1b[31m",
        "ndt build x\x1b[31m.pcd --json",
        "ndt build --moments x\x1b[31m",
        "ndt merge x\x1b[31m.arrow --json",
        "ndt align --map x\x1b[31m.npz --scan x\x1b[31m.pcd --guess x\x1b[31m.txt",
    ] {
        let told = run(folder.path(), args);
        assert!(told.err.contains(r"x\u{1b}[31m"), "{}", told.err);
        assert!(!told.err.contains('\x1b') && !told.out.contains('\x1b'), "{args}");
    }
    for args in ["voxelize --format x\x1b[31m\x07", "voxelize --range x\x1b[31m", "\u{9b}31m"] {
        let told = run(folder.path(), args).expect(2);
        assert!(!told.err.chars().any(|c| c.is_control() && c != '\n'), "{args}: {:?}", told.err);
    }
}
