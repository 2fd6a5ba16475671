//! What the command says: its help, and why it refuses. A snapshot holds each text; CONTRIBUTING.md
//! says how to accept a change of one.

use crate::{run, write_cloud};
use pointmill_io::{ArrayView, write_npy, write_npz};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files with one mistake each, or none; all are text.
const TEXTS: [(&str, &str); 33] = [
    ("drive.bag", "#ROSBAG V2.0\n"),
    ("drive.db3", "SQLite format 3\0"),
    ("ego.csv", "timestamp_ns,qw,qx,qy,qz,tx_m,ty_m,tz_m\n1,1,0,0,0,0,0,0\n"),
    ("bad.npy", "text"),
    ("bad.npz", "text"),
    ("x/1.npz", "points"),
    ("p/2.ply", ""),
    ("drive/sweep_001.bin", ""),
    ("scan.csv", "x,y,z\n1,2,3\n"),
    ("euroc.csv", "1403636580838555648,0,0,0,1,0,0,0\n"),
    ("pose.txt", "0 0 0 0 0 0\n"),
    ("sensors.txt", "/points 0 0 0 0 0 0\n"),
    ("guess.ply", "0 0 0 0 0 0\n"),
    ("guess.arrow", "0 0 0 0 0 0\n"),
    ("two.txt", "0 0 0 0 0 0\n0 0 0 0 0 0\n"),
    ("bow.txt", "0 0\n2 2\n2 0\n0 2\n"),
    ("three.txt", "1 2 3"),
    ("mirror.txt", "1 0 0 0 0 1 0 0 0 0 -1 0 0 0 0 1"),
    ("inf.txt", "inf 0 0 0 0 0"),
    ("nothing.txt", "# nothing\n"),
    ("nan.txt", "1 0 0 0 0 1 0 0 0 0 1 nan\n"),
    ("skew.txt", "1 1 0 0 0 1 0 0 0 0 1 0\n"),
    ("few.txt", "1 0 0 0 0 1 0 0 0 0 1\n"),
    ("back.txt", "1 0 0 0 0 0 0 1\n0 0 0 0 0 0 0 1\n"),
    ("one.txt", "1 0 0 0 0 1 0 0 0 0 1 0\n"),
    ("tum.txt", "0 0 0 0 0 0 0 1\n1 1 0 0 0 0 0 1\n"),
    ("label.txt", crate::LABEL),
    ("label/1.txt", crate::LABEL),
    ("label/2.txt", ""),
    ("found/1.txt", crate::LABEL),
    ("nearer.txt", "CAR 0 0 0 600 170 680 230 1.6 1.7 3.2 0.8 1.7 20 0.5 -0.9"),
    ("farther.txt", "Car 0 0 0 600 170 680 230 1.6 1.7 3.2 0.8 1.7 30 0.5 0.9"),
    ("late.txt", "100 0 0 0 0 0 0 1\n"),
];

/// The files that `messages.txt` names.
fn write_files(at: &Path) {
    for folder in ["days/1", "days/2"] {
        fs::create_dir_all(at.join(folder)).unwrap();
    }
    for folder in ["b", "c", "d.ply", "drive", "empty", "f", "found", "in", "label", "p", "x"] {
        fs::create_dir(at.join(folder)).unwrap();
    }
    TEXTS.iter().for_each(|(name, text)| fs::write(at.join(name), text).unwrap());
    fs::write(at.join("wide.bin"), [0; 400]).unwrap();
    ["a.bin", "c/a.bin", "in/0.bin", "in/1.bin"].iter().for_each(|name| drop(write_cloud(at, name, 5)));

    // Boxes, points and features: those that fit together, and some of other shapes and types.
    let zeros = [0.0; 20 * 65];
    let array = |name: &str, shape: &[usize]| {
        let values = &zeros[..shape.iter().product()];
        write_npy(at.join(name), &ArrayView::f32(shape, values)).unwrap();
    };
    for (name, shape) in [("b", [2, 7]), ("p", [20, 4]), ("f", [20, 3])] {
        [".npy", "/1.npy", "/2.npy"].iter().for_each(|end| array(&format!("{name}{end}"), &shape));
    }
    for (name, shape) in [("b6", [2, 6]), ("p2", [5, 2]), ("p65", [20, 65]), ("f8", [8, 2]), ("fc", [20, 0])] {
        array(&format!("{name}.npy"), &shape);
    }
    array("f1.npy", &[20]);
    write_npy(at.join("bi.npy"), &ArrayView::i32(&[1, 7], &[1; 7])).unwrap();
    write_npy(at.join("fi.npy"), &ArrayView::u8(&[20, 1], &[0; 20])).unwrap();
    write_npz(at.join("points.npz"), &[("points", ArrayView::f32(&[1, 3], &[1.0, 2.0, 3.0]))]).unwrap();

    // Two tiles with their poses, and maps of them.
    crate::ndt_blocks::setup(at, 3);
    fs::copy(at.join("tiles/0.npy"), at.join("a.npy")).unwrap();
    for args in [
        "convert a.npy --to ply --out d",
        "ndt build tiles/0.npy --out g.npz --moments g.arrow",
        "ndt build tiles/2.npy --moments h.arrow",
        "ndt build tiles/1.npy --moments fine.arrow --resolution 1",
        "ndt build tiles --poses poses.txt --resolution 2 --out map",
        "ndt build tiles --poses poses.txt --resolution 2 --out old",
        "voxelize tiles/0.npy --range auto --out voxels.npz",
    ] {
        run(at, args).expect(0);
    }
    let settings = fs::read_to_string(at.join("old/map.json")).unwrap();
    fs::write(at.join("old/map.json"), settings.replace("\"pointmill\":\"", "\"pointmill\":\"9")).unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    for (from, to) in [
        ("bags/xyzirc_plain.mcap", "drive.mcap"),
        ("feather/log/city_SE3_egovehicle.feather", "ego.feather"),
        ("e57/posed.e57", "a.e57"),
    ] {
        fs::copy(fixtures.join(from), at.join(to)).unwrap();
    }
}

/// All files and folders below a folder, with length and time of the last change.
fn state(folder: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let (mut found, mut left) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::metadata(&path).unwrap();
            found.push((path.clone(), metadata.len(), metadata.modified().unwrap()));
            if metadata.is_dir() {
                left.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A message without what differs between machines, folders and versions.
fn plain(message: &str, at: &Path) -> String {
    let folder = at.canonicalize().unwrap().display().to_string();
    message.replace(&folder, "[folder]").replace(env!("CARGO_PKG_VERSION"), "[version]")
}

/// Each command has the exit code, changes no file, and prints what the snapshot holds: nothing on
/// stdout but what was merged before.
#[test]
fn refusals() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_files(at);
    let (before, mut wrong) = (state(at), Vec::new());
    let (_, sections) = include_str!("messages.txt").split_once("\n\n# ").unwrap();
    for section in sections.split("\n\n# ") {
        let (name, lines) = section.split_once('\n').unwrap();
        let mut messages = String::new();
        for line in lines.lines() {
            let (code, args) = line.split_once(' ').unwrap();
            let told = run(at, args);
            if told.code.to_string() != code || state(at) != before {
                wrong.push(format!("{line}: {} {}", told.code, told.err));
            }
            writeln!(messages, "$ pointmill {args}\n{}", plain(&(told.out + &told.err), at)).unwrap();
        }
        insta::assert_snapshot!(name.replace(' ', "_"), messages);
    }
    assert!(wrong.is_empty(), "another code, or a file that changed: {wrong:#?}");
}

#[test]
fn help() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "",
        "demo",
        "voxelize",
        "roi-pool",
        "ndt",
        "ndt build",
        "ndt merge",
        "ndt score",
        "ndt align",
        "icp",
        "register",
        "odometry",
        "localize",
        "evaluate",
        "evaluate detections",
        "info",
        "convert",
        "downsample",
        "crop",
        "merge",
        "devices",
        "synth",
        "man",
        "completions",
    ] {
        let told = run(folder.path(), &format!("{name} --help")).expect(0);
        assert_eq!(told.err, "", "{name}");
        insta::assert_snapshot!(format!("help {name}").trim().replace(' ', "_"), told.out);
    }
}
