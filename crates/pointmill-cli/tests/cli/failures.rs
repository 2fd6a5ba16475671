//! What goes wrong: the exit code, the message, and what is left behind.

use crate::{command, names, run, write_cloud};
use std::fs;

#[test]
fn arguments_without_sense_are_2_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 5);
    fs::create_dir(folder.path().join("b")).unwrap();
    write_cloud(folder.path(), "b/a.bin", 5);
    for (args, told) in [
        ("voxelize a.bin --voxel-size 0", "voxel_size[0]: expected a finite size > 0 m, got 0"),
        ("voxelize a.bin --voxel-size 0.1,0.2", "expected 1 or 3 numbers separated by commas, got 2"),
        ("voxelize a.bin --voxel-size 0.1,nan,0.2", "voxel_size[1]"),
        ("voxelize a.bin --range 0,0,0,1,1", "expected 6 numbers separated by commas, got 5"),
        ("voxelize a.bin --range 1,0,0,1,1,1", "range[0]: expected finite min < max, got 1..1"),
        ("voxelize a.bin --max-voxels 0", "max_voxels: expected 1 to 1073741823, got 0"),
        ("voxelize a.bin --max-points 0", "max_points_per_voxel: expected 1 or more, got 0"),
        ("voxelize a.bin --max-voxels -3", "--max-voxels"),
        ("voxelize a.bin --dynamic --max-points 3", "--max-points: cannot be used with --dynamic"),
        ("voxelize a.bin --order random", "possible values: first-seen, sorted"),
        ("voxelize a.bin --mean f64", "possible values: f32, f16"),
        ("voxelize a.bin --format doc", "possible values: kitti"),
        ("voxelize a.bin --columns 2", "2 is not in 3..=1024"),
        ("voxelize a.bin --device gpu", "expected auto, cpu, cuda or cuda:N"),
        ("voxelize -", "-: needs --format"),
        ("voxelize - - --format npy", "-: can be used for one input only"),
        ("voxelize a[.bin", "pattern: wanted a valid pattern"),
        ("voxelize a.bin --out a.npy", "expected a name ending in .npz, or a folder"),
        ("voxelize --out a.npz", "expected a folder, since there are 10 inputs"),
        ("voxelize a.bin b/a.bin --out o", "a.bin and b/a.bin would both write o/a.npz"),
        ("voxelize a.bin --visualize a.rrd", "expected a name ending in .png or .gif"),
        ("voxelize a.bin --visualize a.jpg", "expected a name ending in .png or .gif"),
        ("voxelize a.bin --seed 3", "--seed"),
        ("synth --out x.bin --sweeps 2", "expected a folder for more than one sweep"),
        ("synth --out x.bin --format npy", "expected a name that goes with --format"),
        ("synth --out x --sweeps 0", "0 is not in 1..=1000"),
        ("info - --json", "-: needs --format"),
        ("info", "<FILE>"),
        ("nonsense", "unrecognized subcommand"),
    ] {
        let told_by = run(folder.path(), args).expect(2);
        assert!(told_by.err.contains(told), "{args}: {}", told_by.err);
        assert!(told_by.out.is_empty() || args.contains("--json"), "{args}: {}", told_by.out);
        assert_eq!(names(folder.path()), ["a.bin", "b"], "{args}");
    }
}

#[test]
fn an_input_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let points = [1.0, 2.0, 3.0];
    let view = pointmill_io::ArrayView::f32(&[1, 3], &points);
    let path = folder.path().join("a.npz");
    pointmill_io::write_npz(&path, &[("points", view)]).unwrap();
    let before = fs::read(&path).unwrap();
    for out in ["a.npz", ".", "./"] {
        let told = run(folder.path(), &format!("voxelize a.npz --out {out}")).expect(2);
        assert!(told.err.contains("is also an input; choose another name"), "{}", told.err);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_bad_input_among_good_ones_is_3_and_the_rest_is_done() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "1.bin", 10);
    fs::write(folder.path().join("2.bin"), [0; 15]).unwrap();
    write_cloud(folder.path(), "3.bin", 10);
    let told = run(folder.path(), "voxelize . missing*.npy --out out").expect(3);
    assert!(told.err.contains("2.bin: length: wanted a multiple of 16 bytes"), "{}", told.err);
    assert!(told.err.contains("missing*.npy: pattern: wanted a file that matches"), "{}", told.err);
    assert!(told.err.ends_with("error: 2 of 4 input(s) failed\n"), "{}", told.err);
    assert_eq!(names(&folder.path().join("out")), ["1.npz", "3.npz"]);
    assert!(told.out.contains("2 inputs, 20 points"), "{}", told.out);
}

#[test]
fn a_bad_input_alone_is_3() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("a.npy"), "text").unwrap();
    for (args, told) in [
        ("voxelize missing.bin --out m.npz", "missing.bin: no such file"),
        ("voxelize a.npy", "a.npy: "),
        ("voxelize empty", "empty: folder: wanted files ending in"),
        ("voxelize none-*.bin", "pattern: wanted a file that matches"),
        ("info a.npy", "a.npy: "),
        ("info missing.bin", "missing.bin: no such file"),
    ] {
        let told_by = run(folder.path(), args).expect(3);
        assert!(told_by.err.contains(told), "{args}: {}", told_by.err);
        assert_eq!(told_by.out, "", "{args}");
    }
    assert_eq!(names(folder.path()), ["a.npy", "empty"]);
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
fn an_absent_device_is_4() {
    let folder = tempfile::tempdir().unwrap();
    let told = run(folder.path(), "voxelize --device cuda:99 --out o --json").expect(4);
    assert!(told.err.contains("device cuda"), "{}", told.err);
    let error = told.data("error").remove(0);
    assert_eq!((&error["class"], &error["exit_code"]), (&"DeviceUnavailable".into(), &4.into()));
    assert!(names(folder.path()).is_empty());
}

#[test]
fn auto_says_what_it_chose() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 5);
    let told = run(folder.path(), "voxelize a.bin --device auto").expect(0);
    assert!(told.err.starts_with("device: auto chose "), "{}", told.err);
    assert_eq!(run(folder.path(), "voxelize a.bin --device auto -q").expect(0).err, "");
}

#[test]
fn what_cannot_be_written_is_1() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 5);
    for args in [
        "voxelize a.bin --out a.bin/a.npz",
        "voxelize a.bin --out no/a.npz",
        "voxelize a.bin missing.bin --out a.bin",
        "voxelize a.bin missing.bin --out a.bin/o",
        "voxelize a.bin --visualize no/a.png",
        "voxelize a.bin --config no.toml",
        "synth --out a.bin/x --sweeps 1",
        "synth --out no/x.bin",
    ] {
        let told = run(folder.path(), args).expect(1);
        assert!(told.err.starts_with("error: "), "{args}: {}", told.err);
        assert_eq!(told.out, "", "{args}");
        assert_eq!(names(folder.path()), ["a.bin"], "{args}");
    }
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
