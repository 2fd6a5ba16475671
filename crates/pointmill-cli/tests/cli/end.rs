//! Ends that come early: Ctrl-C, and a reader that has seen enough.

use crate::command;
#[cfg(unix)]
use {
    crate::names,
    std::io::{BufRead, BufReader},
    std::process::{Child, ChildStdout, Command, Stdio},
    std::time::{Duration, Instant},
};

#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let folder = tempfile::tempdir().unwrap();
    for args in [
        "voxelize --json",
        "voxelize",
        "roi-pool --json",
        "roi-pool",
        "completions bash",
        "man",
        "synth --out d --sweeps 1",
    ] {
        let mut child = command(folder.path(), args).spawn().unwrap();
        drop(child.stdout.take());
        let told = child.wait_with_output().unwrap();
        assert_eq!((told.status.code(), told.stderr), (Some(0), vec![]), "{args}");
    }
}

/// Starts the command and waits until it has printed so many lines.
#[cfg(unix)]
pub(crate) fn started(mut command: Command, lines: usize) -> (Child, BufReader<ChildStdout>) {
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    (0..lines).for_each(|_| assert!(out.read_line(&mut String::new()).unwrap() > 0));
    (child, out)
}

#[cfg(unix)]
pub(crate) fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn signals_end_a_run_that_waits_for_input() {
    let folder = tempfile::tempdir().unwrap();
    for (name, code, told) in [("INT", 130, "interrupted"), ("TERM", 143, "terminated"), ("HUP", 129, "terminated")] {
        if name == "HUP" && is_ignored(1) {
            continue;
        }
        let mut waiting = command(folder.path(), "voxelize - --format kitti --out a.npz --json");
        waiting.stdin(Stdio::piped());
        let (mut child, out) = started(waiting, 1);
        // Keeps the pipe open until the end.
        let _stdin = child.stdin.take();
        let start = Instant::now();
        signal(&child, name);
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(code), "{name}");
        assert!(start.elapsed() < Duration::from_secs(2), "{name}: {:?}", start.elapsed());
        assert_eq!(String::from_utf8_lossy(&ended.stderr), format!("error: {told}\n"), "{name}");
        assert!(names(folder.path()).is_empty());
        let last: serde_json::Value = serde_json::from_str(&std::io::read_to_string(out).unwrap()).unwrap();
        assert_eq!(last["type"], "error", "{name}");
        assert_eq!(
            (&last["data"]["class"], &last["data"]["exit_code"]),
            (&"Interrupted".into(), &code.into()),
            "{name}"
        );
    }
}

/// A write that takes longer than a signal waits is left, and the last line says so.
#[cfg(unix)]
#[test]
fn the_last_line_is_the_end_also_amid_a_long_write() {
    use pointmill_io::{ArrayView, write_npy};
    let folder = tempfile::tempdir().unwrap();
    let n = 3_000_000;
    let rows: Vec<f32> = (0..4 * n).map(|i| (i as f32 * 0.618).sin()).collect();
    write_npy(folder.path().join("a.npy"), &ArrayView::f32(&[n, 4], &rows)).unwrap();
    for args in ["convert a.npy --out a.csv --json", "merge a.npy a.npy --out a.csv --json"] {
        let (child, out) = started(command(folder.path(), args), 1);
        // Until the file is being written.
        let is_half = |name: &String| name.starts_with(".pointmill-");
        let start = Instant::now();
        while !names(folder.path()).iter().any(is_half) {
            assert!(start.elapsed() < Duration::from_secs(60), "{args}");
            std::thread::sleep(Duration::from_millis(5));
        }
        signal(&child, "TERM");
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(143), "{args}");
        let lines = std::io::read_to_string(out).unwrap();
        let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!((&last["type"], &last["data"]["exit_code"]), (&"error".into(), &143.into()), "{args}");
        // A write that ends within the second that is waited for is whole.
        let whole = std::fs::read_to_string(folder.path().join("a.csv"));
        assert!(whole.is_err() || whole.is_ok_and(|text| text.lines().count() > n && text.ends_with('\n')), "{args}");
        std::fs::remove_file(folder.path().join("a.csv")).ok();
        assert_eq!(names(folder.path()), ["a.npy"], "{args}");
    }
}

/// Whether these tests ignore a signal, which what they start inherits: hangups under `nohup`,
/// interrupts in the background of a shell.
#[cfg(unix)]
pub(crate) fn is_ignored(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The first signal is the lowest bit.
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask >> (signal - 1) & 1 != 0))
}

/// Who starts a run with `nohup` means it.
#[cfg(target_os = "linux")]
#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let mut quiet = Command::new("sh");
    let line = format!("trap '' HUP; exec {} voxelize - --format kitti --json", env!("CARGO_BIN_EXE_pointmill"));
    quiet.current_dir(folder.path()).args(["-c", &(line + " --device cpu")]);
    quiet.stdin(Stdio::piped()).stdout(Stdio::piped());
    let (mut child, out) = started(quiet, 1);
    signal(&child, "HUP");
    std::thread::sleep(Duration::from_millis(50));
    drop(child.stdin.take());
    let rest = std::io::read_to_string(out).unwrap();
    assert!(child.wait().unwrap().success() && rest.contains("summary"), "{rest}");
}

#[cfg(unix)]
#[test]
fn interrupted_at_work_leaves_whole_files_only() {
    let folder = tempfile::tempdir().unwrap();
    // Drawing makes it slow enough to be in the middle.
    let (mut child, out) = started(command(folder.path(), "voxelize --out o --visualize a.gif --json"), 2);
    signal(&child, "INT");
    let rest = std::io::read_to_string(out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    let message = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert!(message.contains(" of 10 inputs done; run again with --resume\nerror: interrupted\n"), "{message}");
    assert_eq!(names(folder.path()), ["o"]);
    let written = names(&folder.path().join("o"));
    assert!(!written.is_empty() && written.len() < 10, "{written:?}");
    for name in written {
        let arrays = pointmill_io::read_npz(folder.path().join("o").join(name)).unwrap();
        assert_eq!(arrays.len(), 6);
    }
}
