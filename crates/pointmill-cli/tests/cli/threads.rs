//! Threads that the system refuses: what was asked for is an error, and what was not is done
//! without.
#![cfg(target_os = "linux")]

use crate::{Run, command, contents, finished, run, write_boxes, write_cloud};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// No address space has room for such a stack, so that the command gets no thread.
const NO_STACK: (&str, &str) = ("RUST_MIN_STACK", "140737488355328");

fn alone(folder: &Path, args: &str) -> Run {
    finished(command(folder, args).env(NO_STACK.0, NO_STACK.1).output().unwrap())
}

/// Work of the CPU is done by the one thread there is, with the same bytes, and a warning says so.
#[test]
fn without_threads_the_work_is_done_by_one() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 20_000);
    write_cloud(folder.path(), "b.bin", 3000);
    write_boxes(folder.path());
    // Points on a curve do not say where a cloud belongs: 6, with threads and without.
    for (work, name, code) in [
        ("voxelize a.bin b.bin", "voxels/", 0),
        ("ndt build a.bin b.bin", "maps/", 0),
        ("roi-pool --inside part --boxes b.npy --points a.bin", "part.npz", 0),
        ("icp b.bin a.bin --max-iterations 3", "moved.ply", 6),
    ] {
        let out = folder.path().join(name);
        let take =
            || if out.is_dir() { contents(&out).into_values().collect() } else { vec![std::fs::read(&out).unwrap()] };
        run(folder.path(), &format!("{work} --out {name}")).expect(code);
        let want = take();
        if out.is_dir() { std::fs::remove_dir_all(&out) } else { std::fs::remove_file(&out) }.unwrap();
        let told = alone(folder.path(), &format!("{work} --out {name}")).expect(code);
        assert!(take() == want, "{work}");
        assert!(told.err.contains("the system refuses threads"), "{work}: {}", told.err);
    }
}

/// Lanes and threads that were asked for are not silently fewer.
#[test]
fn threads_that_were_asked_for_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.bin", "b.bin", "c.bin"] {
        write_cloud(folder.path(), name, 300);
    }
    for (args, told) in [
        ("voxelize a.bin b.bin c.bin --jobs 2 --out v/", "--jobs: expected 2 threads, the system gave 0 of them: "),
        ("info a.bin b.bin c.bin --jobs 3", "--jobs: expected 3 threads, the system gave 0 of them: "),
    ] {
        let refused = alone(folder.path(), &format!("{args} --json")).expect(1);
        let error = refused.data("error").pop().unwrap();
        assert_eq!(error["class"], "Io", "{args}");
        assert!(error["message"].as_str().unwrap().starts_with(told), "{args}: {error}");
        assert!(!refused.err.contains("panicked"), "{args}: {}", refused.err);
    }
    // One thread is the caller's own.
    alone(folder.path(), "voxelize a.bin --compare-cpu").expect(0);
    // Nothing is left.
    assert!(!folder.path().join("v").exists());
    run(folder.path(), "voxelize a.bin b.bin c.bin --jobs 2 --out v/ --resume").expect(0);
}

/// A run that got no thread to listen for signals is ended by them as any program.
#[test]
fn signals_end_a_run_without_threads() {
    let folder = tempfile::tempdir().unwrap();
    for (name, number) in [("INT", 2), ("TERM", 15)] {
        if crate::end::is_ignored(number as u32) {
            continue;
        }
        let mut waiting = command(folder.path(), "voxelize - --format kitti --json");
        let mut child = waiting.env(NO_STACK.0, NO_STACK.1).stdin(Stdio::piped()).spawn().unwrap();
        // It reads by now.
        let mut out = BufReader::new(child.stdout.take().unwrap());
        assert!(out.read_line(&mut String::new()).unwrap() > 0);
        let _stdin = child.stdin.take();
        assert!(Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().signal(), Some(number), "{name}");
    }
}
