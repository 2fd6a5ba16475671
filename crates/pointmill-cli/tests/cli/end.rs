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
    for args in
        ["voxelize --json", "voxelize", "roi-pool --json", "roi-pool", "completions bash", "synth --out d --sweeps 1"]
    {
        let mut child = command(folder.path(), args).spawn().unwrap();
        drop(child.stdout.take());
        let told = child.wait_with_output().unwrap();
        assert_eq!((told.status.code(), told.stderr), (Some(0), vec![]), "{args}");
    }
}

/// Starts the command and waits until it has printed so many lines.
#[cfg(unix)]
fn started(mut command: Command, lines: usize) -> (Child, BufReader<ChildStdout>) {
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    (0..lines).for_each(|_| assert!(out.read_line(&mut String::new()).unwrap() > 0));
    (child, out)
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn interrupted_while_waiting_for_input() {
    let folder = tempfile::tempdir().unwrap();
    let mut waiting = command(folder.path(), "voxelize - --format kitti --out a.npz --json");
    waiting.stdin(Stdio::piped());
    let (mut child, _out) = started(waiting, 1);
    // Keeps the pipe open until the end.
    let _stdin = child.stdin.take();
    let start = Instant::now();
    interrupt(&child);
    let told = child.wait_with_output().unwrap();
    assert_eq!(told.status.code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(String::from_utf8_lossy(&told.stderr), "error: interrupted\n");
    assert!(names(folder.path()).is_empty());
}

#[cfg(unix)]
#[test]
fn interrupted_at_work_leaves_whole_files_only() {
    let folder = tempfile::tempdir().unwrap();
    // Drawing makes it slow enough to be in the middle.
    let (mut child, out) = started(command(folder.path(), "voxelize --out o --visualize a.gif --json"), 2);
    interrupt(&child);
    let rest = std::io::read_to_string(out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert_eq!(names(folder.path()), ["o"]);
    let written = names(&folder.path().join("o"));
    assert!(!written.is_empty() && written.len() < 10, "{written:?}");
    for name in written {
        let arrays = pointmill_io::read_npz(folder.path().join("o").join(name)).unwrap();
        assert_eq!(arrays.len(), 6);
    }
}
