//! Disks, files and memory that fail: a named error, the right exit code, and whatever was finished
//! is whole.
#![cfg(target_os = "linux")]

use crate::{Run, finished, names, run, write_cloud};
use pointmill_io::{ArrayView, write_npy};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Runs a line of the shell in which `$POINTMILL` is the command.
fn shell(folder: &Path, line: &str) -> Run {
    let mut shell = Command::new("sh");
    shell.current_dir(folder).args(["-c", line]).env("POINTMILL", env!("CARGO_BIN_EXE_pointmill"));
    finished(shell.stdin(Stdio::null()).output().unwrap())
}

/// The record of what ended the command.
fn end(told: &Run) -> Value {
    told.data("error").pop().unwrap()
}

fn inputs(folder: &Path) {
    fs::create_dir(folder.join("in")).unwrap();
    for (i, n) in [200, 300, 60_000, 400].into_iter().enumerate() {
        write_cloud(folder, &format!("in/{i}.bin"), n);
    }
}

/// Every file of a folder is an archive that can be read.
fn assert_whole(folder: &Path, wanted: &[&str]) {
    assert_eq!(names(folder), wanted);
    for name in wanted {
        pointmill_io::read_npz(folder.join(name)).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn a_full_device_is_1() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 5);
    for name in ["full.npz", "full.ply"] {
        symlink("/dev/full", folder.path().join(name)).unwrap();
    }
    for args in ["voxelize a.bin --out full.npz --json", "convert a.bin --out full.ply --json"] {
        let told = run(folder.path(), args).expect(1);
        let end = end(&told);
        assert_eq!((&end["class"], &end["exit_code"]), (&json!("Io"), &json!(1)), "{args}");
        assert!(end["file"].as_str().unwrap().starts_with("full."), "{end}");
        assert!(told.err.contains("No space left on device"), "{}", told.err);
    }
}

/// A file system of 600 kB that nobody else sees; `None` where the system lets nobody make one.
fn on_a_small_disk(folder: &Path, line: &str) -> Option<Run> {
    fs::create_dir(folder.join("disk")).unwrap();
    let mount = "mount -t tmpfs -o size=600k none disk";
    let may = Command::new("unshare").current_dir(folder).args(["-rm", "sh", "-c", mount]).output();
    if !may.is_ok_and(|may| may.status.success()) {
        println!("no small disk here: unshare and mount are needed");
        return None;
    }
    Some(shell(folder, &format!("unshare -rm sh -c '{mount} && {line}'")))
}

#[test]
fn a_disk_that_is_full_leaves_what_was_finished() {
    let folder = tempfile::tempdir().unwrap();
    inputs(folder.path());
    // What was left on the disk, which goes away with its process, is copied.
    let line =
        "\"$POINTMILL\" voxelize in --device cpu --jobs 1 --out disk/o --json; code=$?; cp -r disk/o left; exit $code";
    let Some(told) = on_a_small_disk(folder.path(), line) else { return };
    let told = told.expect(1);
    assert!(
        told.err.ends_with("error: disk/o/2.npz: write: No space left on device; free some space and run again\n"),
        "{}",
        told.err
    );
    assert!(told.err.contains("2 of 4 inputs done; run again with --resume\n"), "{}", told.err);
    assert!(!told.err.contains("archive"), "{}", told.err);
    assert_eq!((&end(&told)["class"], &end(&told)["file"]), (&json!("Io"), &json!("disk/o/2.npz")));
    assert_whole(&folder.path().join("left"), &["0.npz", "1.npz"]);
    // With room it goes on from there.
    let told = run(folder.path(), "voxelize in --out left --resume --json").expect(0);
    let summary = told.data("summary").remove(0);
    assert_eq!((&summary["kept"], &summary["done"]), (&json!(2), &json!(2)));
    run(folder.path(), "voxelize in --out whole").expect(0);
    for name in names(&folder.path().join("whole")) {
        let [a, b] = ["whole", "left"].map(|o| fs::read(folder.path().join(o).join(&name)).unwrap());
        assert!(a == b, "{name}");
    }
}

#[test]
fn a_limit_on_files_is_an_error_and_no_signal() {
    let folder = tempfile::tempdir().unwrap();
    inputs(folder.path());
    let told = shell(folder.path(), "ulimit -f 1000; \"$POINTMILL\" voxelize in --device cpu --jobs 1 --out o --json")
        .expect(1);
    assert!(told.err.contains("o/2.npz: write: File too large"), "{}", told.err);
    assert_eq!(end(&told)["class"], "Io");
    assert_whole(&folder.path().join("o"), &["0.npz", "1.npz"]);
}

/// A file that cannot be written whole ends every command in one way.
#[test]
fn a_limit_on_files_is_1_in_every_command_that_writes_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let n = 4000;
    let point = |i: usize| [(i % 64) as f32 * 1.7, (i / 64) as f32 * 1.3, (i % 7) as f32 * 0.1, 0.5];
    let rows: Vec<f32> = (0..n).flat_map(point).collect();
    write_npy(at.join("a.npy"), &ArrayView::f32(&[n, 4], &rows)).unwrap();
    let file = "o.npz: write: File too large";
    for (command, wanted) in [
        ("voxelize a.npy --range auto --device cpu --out o.npz", file),
        ("downsample a.npy --voxel-size 0.1 --device cpu --out o.npz", file),
        ("crop a.npy --max-range 1e9 --out o.npz", file),
        ("convert a.npy --out o.npz", file),
        ("merge a.npy a.npy --out o.npz", "write a temporary file: File too large"),
    ] {
        let told = shell(at, &format!("ulimit -f 6; \"$POINTMILL\" {command} --json")).expect(1);
        assert!(told.err.contains(wanted), "{command}: {}", told.err);
        assert_eq!(end(&told)["class"], "Io", "{command}");
        assert!(!at.join("o.npz").exists(), "{command}");
    }
}

#[test]
fn a_target_that_cannot_be_written_is_1_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    inputs(folder.path());
    let told = run(folder.path(), "voxelize in --out /proc/pointmill --json").expect(1);
    assert!(told.err.contains("/proc/pointmill: make the folder"), "{}", told.err);
    assert_eq!(told.data("frame").len(), 0);
    // A folder that is there, on a file system that takes no changes.
    let line =
        "mkdir disk/o && mount -o remount,ro disk && \"$POINTMILL\" voxelize in --device cpu --out disk/o --json";
    let Some(told) = on_a_small_disk(folder.path(), line) else { return };
    let told = told.expect(1);
    assert!(told.err.contains("disk/o/.pointmill.jsonl: open: Read-only file system"), "{}", told.err);
    assert_eq!((told.data("frame").len(), &end(&told)["class"]), (0, &json!("Io")));
}

#[test]
fn permissions_are_told() {
    let folder = tempfile::tempdir().unwrap();
    inputs(folder.path());
    let mode =
        |name: &str, mode| fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    mode("", 0o755);
    fs::create_dir(folder.path().join("o")).unwrap();
    mode("o", 0o555);
    mode("in/1.bin", 0);
    // The system's owner may do everything: then it is somebody else who runs it.
    let who = if File::open(folder.path().join("in/1.bin")).is_ok() {
        "setpriv --reuid 65534 --regid 65534 --clear-groups "
    } else {
        ""
    };
    if !shell(folder.path(), &format!("{who}\"$POINTMILL\" --version")).out.starts_with("pointmill ") {
        println!("nobody else can run this here: setpriv and a path that others may pass are needed");
        return;
    }
    let told = shell(folder.path(), &format!("{who}\"$POINTMILL\" voxelize in --device cpu --json")).expect(3);
    let error = told.data("error").remove(0);
    assert_eq!((&error["class"], &error["file"]), (&json!("Io"), &json!("in/1.bin")));
    assert!(told.err.contains("in/1.bin: open: Permission denied"), "{}", told.err);
    assert_eq!(told.data("frame").len(), 3);
    let told = shell(folder.path(), &format!("{who}\"$POINTMILL\" voxelize in --device cpu --out o --json")).expect(1);
    assert!(told.err.contains("Permission denied"), "{}", told.err);
    mode("o", 0o755);
    assert!(names(&folder.path().join("o")).is_empty());
}

#[test]
fn a_read_that_fails_is_3() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 5);
    // The first page of a process is never there: reading it is an error of the device.
    let told = run(folder.path(), "voxelize /proc/self/mem a.bin --format kitti --json").expect(3);
    let error = told.data("error").remove(0);
    assert_eq!((&error["class"], &error["file"]), (&json!("Io"), &json!("/proc/self/mem")));
    assert!(told.err.contains("/proc/self/mem: read: Input/output error"), "{}", told.err);
    assert_eq!(told.data("frame").len(), 1);
}

#[test]
fn a_file_with_fewer_bytes_than_its_size_is_truncated() {
    let folder = tempfile::tempdir().unwrap();
    // Such files say 4096 and have a line.
    let path = "/sys/kernel/uevent_seqnum";
    if fs::metadata(path).is_ok_and(|m| m.len() == 4096) {
        let told = run(folder.path(), &format!("info {path} --format kitti --json")).expect(3);
        let error = told.data("error").remove(0);
        assert_eq!((&error["class"], &error["file"]), (&json!("Truncated"), &json!(path)), "{error}");
    }
}

/// A file that shrinks while it is read is whole or an error, and never the end of the process.
#[test]
fn a_file_that_shrinks_while_it_is_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bin");
    let mut short = 0;
    for round in 0..12 {
        File::create(&path).unwrap().set_len(64 << 20).unwrap();
        let reading = crate::command(folder.path(), "info a.bin --json").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(4 + 3 * round));
        File::options().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
        let told = finished(reading.wait_with_output().unwrap());
        if told.code == 0 {
            let points = &told.data("frame")[0]["points"];
            assert!(points == 4 << 20 || points == 1 << 16, "{points}");
            continue;
        }
        let error = told.expect(3).data("error").remove(0);
        assert_eq!(error["class"], "Truncated", "{error}");
        short += 1;
    }
    println!("{short} of 12 files were found to be short");
}

/// Memory that the system refuses is an input that fails, and the rest is done.
#[test]
fn memory_that_is_refused_is_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    write_cloud(folder.path(), "in/a.bin", 10);
    // Three gibibytes that take no room on the disk.
    File::create(folder.path().join("in/b.bin")).unwrap().set_len(3 << 30).unwrap();
    write_cloud(folder.path(), "in/c.bin", 10);
    for command in ["voxelize", "info"] {
        let line = format!("ulimit -v 2000000; \"$POINTMILL\" {command} in --device cpu --max-memory 8G --json");
        let told = shell(folder.path(), &line).expect(3);
        let error = told.data("error").remove(0);
        assert_eq!((&error["class"], &error["index"]), (&json!("OutOfMemory"), &json!(1)), "{error}");
        assert_eq!((told.data("frame").len(), &end(&told)["class"]), (2, &json!("PartialFailure")));
    }
}

/// Memory that the system refuses to a picture is an error, and not the end of the process in the
/// middle of it.
#[test]
fn memory_that_is_refused_to_a_picture_is_told() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 20_000);
    let within = |kib: u64, more: &str| {
        let line = format!("ulimit -v {kib}; exec \"$POINTMILL\" voxelize a.bin --device cpu --json {more}");
        let mut shell = Command::new("sh");
        shell.current_dir(folder.path()).args(["-c", &line]).env("POINTMILL", env!("CARGO_BIN_EXE_pointmill"));
        shell.stdin(Stdio::null()).output().unwrap()
    };
    // The least that the work itself takes, which depends on the machine's cores.
    let (mut few, mut enough) = (30_000u64, 60_000_000);
    while few + 1000 < enough {
        let kib = few.midpoint(enough);
        if within(kib, "").status.success() { enough = kib } else { few = kib }
    }
    let mut refused = 0;
    for kib in (enough + 4000..enough + 150_000).step_by(12_000) {
        let told = within(kib, "--visualize a.png");
        let code = told.status.code().unwrap_or_else(|| panic!("{kib} KiB: {}", String::from_utf8_lossy(&told.stderr)));
        assert!([0, 1, 3].contains(&code), "{kib} KiB: {}", String::from_utf8_lossy(&told.stderr));
        if code > 0 {
            let told = finished(told);
            assert_eq!(told.data("error")[0]["class"], "OutOfMemory", "{kib} KiB: {}", told.err);
            assert_eq!(names(folder.path()), ["a.bin"]);
            refused += u32::from(told.err.contains("picture: the system refused"));
        }
        fs::remove_file(folder.path().join("a.png")).ok();
    }
    assert!(refused > 0);
    assert!(within(enough + 2_000_000, "--visualize a.png").status.success());
}
