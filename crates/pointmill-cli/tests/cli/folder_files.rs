//! Every file that the program keeps in a folder, with something else in its place. The files are
//! those that a good run leaves.

use crate::folders::unix::{fifo, run_soon};
use crate::folders::{COMMANDS, fresh};
use crate::ndt_blocks::setup;
use crate::run;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Everything in a folder, from it, folders too.
fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![PathBuf::new()];
    while let Some(inner) = left.pop() {
        for entry in fs::read_dir(folder.join(&inner)).unwrap() {
            let path = inner.join(entry.unwrap().file_name());
            if folder.join(&path).is_dir() {
                left.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    fs::remove_dir_all(to).ok();
    fs::create_dir(to).unwrap();
    for path in all(from) {
        if from.join(&path).is_dir() {
            fs::create_dir(to.join(path)).unwrap();
        } else {
            fs::copy(from.join(&path), to.join(path)).unwrap();
        }
    }
}

fn remove(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}

/// Puts a link, a broken link, a pipe and a folder in the place of each file of `out` in turn, and
/// links in the place of each folder, and then runs each of `lines`, which must end, change nothing
/// outside, and name the file if it fails.
fn attack(at: &Path, out: &str, lines: &[String]) {
    let (good, out) = (at.join("good"), at.join(out));
    copy(&out, &good);
    for path in all(&good) {
        let (name, is_folder) = (path.file_name().unwrap().to_str().unwrap(), good.join(&path).is_dir());
        for kind in if is_folder { &["link", "fifo"][..] } else { &["link", "broken", "fifo", "folder"] } {
            for line in lines {
                copy(&good, &out);
                fs::remove_dir_all(at.join("outside")).ok();
                fs::create_dir(at.join("outside")).unwrap();
                let victim = at.join("outside/victim");
                if is_folder {
                    copy(&good.join(&path), &victim);
                } else {
                    fs::copy(good.join(&path), &victim).unwrap();
                }
                let before: Vec<_> =
                    all(&at.join("outside")).into_iter().map(|p| state(&at.join("outside"), p)).collect();
                let place = out.join(&path);
                remove(&place);
                match *kind {
                    "link" => symlink(&victim, &place).unwrap(),
                    "broken" => symlink(at.join("outside/new"), &place).unwrap(),
                    "fifo" => fifo(&place),
                    _ => fs::create_dir(&place).unwrap(),
                }
                let told = run_soon(at, line);
                let what = format!("{kind} for {} before {line}: {} {}", path.display(), told.code, told.err);
                let after: Vec<_> =
                    all(&at.join("outside")).into_iter().map(|p| state(&at.join("outside"), p)).collect();
                assert!(before == after, "{what}");
                assert!([0, 1, 3, 6].contains(&told.code), "{what}");
                assert!([0, 6].contains(&told.code) || told.err.contains(name), "{what}");
                let is_told =
                    ["expected a regular file", "expected a folder"].iter().any(|wanted| told.err.contains(wanted));
                assert!([0, 6].contains(&told.code) || *kind == "folder" || is_told, "{what}");
            }
        }
    }
}

/// A path with its bytes.
fn state(folder: &Path, path: PathBuf) -> (PathBuf, Option<Vec<u8>>) {
    let bytes = fs::read(folder.join(&path)).ok();
    (path, bytes)
}

#[test]
fn nothing_in_the_folder_of_a_map_leads_out_of_it_or_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 2);
    let build = "ndt build tiles --poses poses.txt --resolution 2 --blocks 256 --out map";
    run(at, build).expect(0);
    let poses = fs::read_to_string(at.join("poses.txt")).unwrap();
    fs::write(at.join("pose.txt"), poses.lines().next().unwrap()).unwrap();
    let lines = [
        build,
        &format!("{build} --resume"),
        "ndt merge map",
        "ndt score --map map --scan tiles/0.npy --pose pose.txt",
        "localize --map map tiles/0.npy --guess pose.txt",
    ];
    attack(at, "map", &lines.map(String::from));
}

#[test]
fn nothing_in_a_folder_of_outputs_leads_out_of_it_or_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for template in COMMANDS {
        fresh(at, 1);
        run(at, template).expect(0);
        attack(at, "NEW", &[template.to_owned(), format!("{template} --resume")]);
    }
    run(at, "synth --sweeps 1 --out drive").expect(0);
    attack(at, "drive", &["synth --sweeps 1 --out drive".into()]);
}

/// The settings of a map that say what no map has.
#[test]
fn settings_that_lie_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 1);
    run(at, "ndt build tiles --poses poses.txt --resolution 2 --blocks 256 --out map").expect(0);
    fs::write(at.join("pose.txt"), "1 0 0 0 0 1 0 40000 0 0 1 0\n").unwrap();
    let good = fs::read_to_string(at.join("map/map.json")).unwrap();
    for (from, to, wanted) in [
        ("\"cells\":128", "\"cells\":4294967295", "cells: expected 1 to 2097152 cells along a block, got 4294967295"),
        ("\"cells\":128", "\"cells\":2097153", "cells: expected 1 to 2097152 cells along a block, got 2097153"),
        ("\"cells\":128", "\"cells\":0", "cells: expected 1 to 2097152 cells along a block, got 0"),
        ("\"min_points\":6", "\"min_points\":0", "min_points: expected at least 1, got 0"),
        ("\"eigen_ratio\":0.01", "\"eigen_ratio\":1.0", "eigen_ratio: expected 0 or more, below 1, got 1.0"),
        ("\"resolution\":2.0", "\"resolution\":-2.0", "resolution: expected a finite size > 0 m"),
    ] {
        let lying = good.replace(from, to);
        assert_ne!(lying, good, "{from}");
        fs::write(at.join("map/map.json"), lying).unwrap();
        for line in [
            "ndt score --map map --scan tiles/0.npy --pose pose.txt",
            "ndt merge map",
            "localize --map map tiles/0.npy --guess pose.txt",
        ] {
            let told = run_soon(at, line);
            assert!(
                [1, 3].contains(&told.code) && told.err.contains(&format!("map/map.json: {wanted}")),
                "{line}: {} {}",
                told.code,
                told.err
            );
        }
    }
}
