//! Nothing is written where nothing was read, and no file that is read is written.

use crate::{command, contents, finished, run, write_cloud};
use std::fs;
use std::path::Path;

/// Commands that write, with `IN` for what they read; each output is named.
const WRITERS: [&str; 13] = [
    "odometry IN --out out/p.txt --map-out out/m.ply --visualize out/v.html",
    "localize --map map.npz IN --out out/p.txt --visualize out/v.html",
    "ndt build IN --out out/m.npz --visualize out/v.html",
    "ndt align --map map.npz --scan IN --out out/p.txt --visualize out/v.html",
    "ndt score --map map.npz --scan IN --pose pose.txt --visualize out/v.html",
    "icp IN a.bin --out out/m.ply --visualize out/v.html --plot out/p.svg",
    "register IN a.bin --out out/m.ply --visualize out/v.html",
    "voxelize IN --out out/m.npz --visualize out/v.html",
    "convert IN --out out/m.ply",
    "crop IN --max-range 5 --out out/m.ply",
    "downsample IN 1 --out out/m.ply",
    "merge IN --out out/m.ply",
    "evaluate IN p.txt --plot out/v.html",
];

/// A folder with results of an earlier run in `out`, and what the commands read beside `IN`.
fn earlier() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["out", "notes"] {
        fs::create_dir(at(name)).unwrap();
    }
    for name in ["p.txt", "m.ply", "m.npz", "v.html", "p.svg"] {
        fs::write(at("out").join(name), "of an earlier run").unwrap();
    }
    fs::write(at("notes/readme.txt"), "no clouds").unwrap();
    fs::write(at("pose.txt"), "0 0 0 0 0 0\n").unwrap();
    fs::write(at("p.txt"), "1 0 0 0 0 1 0 0 0 0 1 0\n").unwrap();
    // Neither is a cloud, whatever it is called.
    fs::write(at("cut.npy"), "text").unwrap();
    fs::write(at("drive.bag"), "#ROSBAG V2.0\n").unwrap();
    write_cloud(folder.path(), "a.bin", 500);
    run(folder.path(), "ndt build a.bin --out map.npz").expect(0);
    folder
}

#[test]
fn nothing_is_written_where_nothing_was_read() {
    let folder = earlier();
    let before = contents(&folder.path().join("out"));
    for writer in WRITERS {
        for input in ["typo/", "typo.bin", "notes", "cut.npy", "drive.bag", "no*.bin"] {
            let args = writer.replace("IN", input);
            let done = finished(command(folder.path(), &args).output().unwrap());
            let codes: &[i32] = if input.starts_with("typo") { &[2] } else { &[2, 3] };
            assert!(codes.contains(&done.code), "{args}: {} instead of {codes:?}: {}", done.code, done.err);
            assert_eq!(contents(&folder.path().join("out")), before, "{args}");
        }
    }
}

/// Outputs that are also read: by a second argument, in a folder, and by another name.
const SAME: [&str; 9] = [
    "crop a.bin --polygon g.xyz --out g.xyz",
    "crop a.bin --polygon gd/a.ply --to ply --out gd",
    "localize --map map.npz a.bin --guess pose.txt --out pose.txt",
    "ndt align --map map.npz --scan a.bin --guess pose.txt --out ./pose.txt",
    "ndt score --map map.npz --scan a.bin --pose pose.html --visualize pose.html",
    "evaluate p.txt truth.html --plot truth.html",
    "ndt build a.bin --poses p.txt --visualize link.html",
    "voxelize a.bin --poses p.npz --out p.npz",
    "icp a.bin b.ply --guess pose.txt --out b.ply",
];

#[test]
fn no_file_that_is_read_is_written() {
    let folder = earlier();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("gd")).unwrap();
    for name in ["g.xyz", "gd/a.ply", "pose.html", "truth.html", "p.npz"] {
        let text = if name.starts_with('g') { "0 0\n1 0\n1 1\n" } else { "0 0 0 0 0 0\n" };
        fs::write(at(name), text).unwrap();
    }
    run(folder.path(), "convert a.bin --out b.ply").expect(0);
    #[cfg(unix)]
    std::os::unix::fs::symlink("p.txt", at("link.html")).unwrap();
    #[cfg(not(unix))]
    fs::hard_link(at("p.txt"), at("link.html")).unwrap();
    let all = |root: &Path| -> Vec<_> { ["", "gd", "out"].iter().map(|folder| files(&root.join(folder))).collect() };
    let before = all(folder.path());
    for args in SAME {
        let done = run(folder.path(), args).expect(2);
        assert!(done.err.contains("is also an input; choose another name"), "{args}: {}", done.err);
        assert!(all(folder.path()) == before, "{args}");
    }
    let done = run(folder.path(), "odometry a.bin --map-out x.html --visualize x.html").expect(2);
    assert!(done.err.contains("is also the file of"), "{}", done.err);
}

/// The files of a folder with their bytes.
fn files(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        paths.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    files.sort();
    files
}

/// The files of a folder that the user has named replace links and FIFOs in it.
#[cfg(unix)]
#[test]
fn files_in_a_folder_of_outputs_replace_links_and_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("d")).unwrap();
    fs::write(at("victim"), "mine").unwrap();
    for name in ["drive.gif", "drive.html", "poses.txt", "map.npz"] {
        std::os::unix::fs::symlink("../victim", at("d").join(name)).unwrap();
    }
    assert!(std::process::Command::new("mkfifo").arg(at("d/truth.txt")).status().unwrap().success());
    run(folder.path(), "demo --out d").expect(0);
    assert_eq!(fs::read(at("victim")).unwrap(), b"mine");
    assert!(fs::read_dir(at("d")).unwrap().all(|entry| entry.unwrap().file_type().unwrap().is_file()));
}
