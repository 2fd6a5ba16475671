//! Folders of inputs and of outputs that others may write into: what is no file of a cloud, links,
//! and how many clouds there are.

use crate::{MANIFEST, counts, names, run, write_boxes, write_cloud};
use serde_json::json;
use std::fs;
use std::path::Path;

/// Commands that make a file of each input of the folder `in`, which goes to a folder that is not
/// there.
pub(crate) const COMMANDS: [&str; 5] = [
    "voxelize in --out NEW",
    "ndt build in --out NEW --min-points 3",
    "convert in --to ply --out NEW",
    "roi-pool --inside crop --points in --boxes b.npy --out NEW",
    "icp in t.bin --metric point-to-point --out NEW",
];

pub(crate) fn fresh(folder: &Path, clouds: usize) {
    for left in ["in", "NEW"] {
        fs::remove_dir_all(folder.join(left)).ok();
    }
    write_boxes(folder);
    write_cloud(folder, "t.bin", 300);
    fs::create_dir(folder.join("in")).unwrap();
    (0..clouds).for_each(|i| drop(write_cloud(folder, &format!("in/{i}.bin"), 300)));
}

/// What an unattended run is told must not depend on what the folder holds today.
#[test]
fn a_folder_of_outputs_may_be_new_whatever_the_inputs_are() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for clouds in [2, 1, 0] {
        for template in COMMANDS {
            fresh(at, clouds);
            for template in [template.to_owned(), template.replacen(" in", " in/*.bin", 1)] {
                fs::remove_dir_all(at.join("NEW")).ok();
                let told = run(at, &format!("{template} --json"));
                let told = told.expect(if clouds == 0 { 3 } else { 0 });
                assert_eq!(counts(&told), [clouds.max(1) as u64, clouds as u64, 0, u64::from(clouds == 0)]);
                if clouds > 0 {
                    assert_eq!(names(&at.join("NEW")).len(), clouds, "{template}");
                } else {
                    assert!(!at.join("NEW").exists(), "{template}");
                    assert_eq!(told.data("error")[0]["class"], "MissingField", "{template}");
                }
            }
        }
    }
    // What is not there is told before any work.
    fs::remove_dir_all(at.join("in")).unwrap();
    for template in &COMMANDS[..3] {
        let told = run(at, &format!("{template} --json")).expect(2);
        assert!(told.err.contains(": in: no such file or folder"), "{template}: {}", told.err);
    }
    // One file is still one answer.
    run(at, "voxelize t.bin --out NEWER").expect(2);
    run(at, "ndt build t.bin --out NEWER").expect(2);
    assert!(!at.join("NEWER").exists());
}

#[cfg(unix)]
pub(crate) mod unix {
    use super::*;
    use crate::command;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// The command, ended if it takes long: what waits for ever shall not hold up the tests.
    pub(crate) fn run_soon(folder: &Path, args: &str) -> crate::Run {
        let mut child = command(folder, args).spawn().unwrap();
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > Duration::from_secs(60) {
                child.kill().unwrap();
                panic!("{args}: no end");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        crate::finished(child.wait_with_output().unwrap())
    }

    pub(crate) fn fifo(path: &Path) {
        assert!(Command::new("mkfifo").arg(path).stdin(Stdio::null()).status().unwrap().success());
    }

    #[test]
    fn what_is_no_file_in_a_folder_of_inputs_is_an_input_that_failed() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = folder.path();
        for template in COMMANDS.into_iter().chain(["info in"]) {
            fresh(at, 2);
            fifo(&at.join("in/a.bin"));
            symlink("/dev/zero", at.join("in/b.bin")).unwrap();
            let secret = write_cloud(other.path(), "secret.bin", 300);
            symlink(secret, at.join("in/c.bin")).unwrap();
            symlink("0.bin", at.join("in/d.bin")).unwrap();
            for template in [template.replacen(" in", " in/*.bin", 1), template.to_owned()] {
                fs::remove_dir_all(at.join("NEW")).ok();
                let told = run_soon(at, &format!("{template} --json")).expect(3);
                assert_eq!(counts(&told), [6, 3, 0, 3], "{template}");
                let files: Vec<_> = told.data("error").iter().map(|e| e["file"].clone()).collect();
                assert_eq!(files[..3], ["in/a.bin", "in/b.bin", "in/c.bin"], "{template}");
                assert!(told.err.contains("in/a.bin: file: expected a regular file, or a link to one in in"));
            }
        }
    }

    #[test]
    fn loops_of_links_end() {
        let folder = tempfile::tempdir().unwrap();
        fresh(folder.path(), 1);
        ["l1", "l2"].iter().for_each(|link| symlink(".", folder.path().join("in").join(link)).unwrap());
        let told = run_soon(folder.path(), "info in/**/*.bin --json").expect(0);
        assert_eq!(told.data("frame").iter().map(|f| f["input"].clone()).collect::<Vec<_>>(), ["in/0.bin"]);
    }

    #[test]
    fn a_manifest_that_is_a_link_or_a_pipe_ends_the_run_and_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        fresh(at, 1);
        fs::write(at.join("victim"), "mine").unwrap();
        let manifest = at.canonicalize().unwrap().join("out").join(MANIFEST);
        let make: [&dyn Fn(); 3] = [
            &|| symlink("../victim", &manifest).unwrap(),
            &|| fs::hard_link(at.join("in/0.bin"), &manifest).unwrap(),
            &|| fifo(&manifest),
        ];
        let input = fs::read(at.join("in/0.bin")).unwrap();
        for make in make {
            fs::remove_dir_all(at.join("out")).ok();
            fs::create_dir(at.join("out")).unwrap();
            make();
            for resume in ["", "--resume"] {
                let told = run_soon(at, &format!("voxelize in --out out --json {resume}")).expect(1);
                let end = told.data("error").pop().unwrap();
                assert_eq!((&end["class"], &end["file"]), (&json!("Io"), &json!(manifest)), "{end}");
                assert!(
                    told.err.contains("expected a regular file with one name, of this user or of the folder's"),
                    "{}",
                    told.err
                );
            }
        }
        assert_eq!(
            (fs::read(at.join("victim")).unwrap(), fs::read(at.join("in/0.bin")).unwrap()),
            (b"mine".to_vec(), input)
        );
    }

    #[test]
    fn outputs_of_many_take_the_place_of_links_and_one_that_is_named_follows_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        for (template, name) in COMMANDS.into_iter().zip(["npz", "npz", "ply", "npz", "ply"]) {
            fresh(at, 1);
            fs::create_dir(at.join("NEW")).unwrap();
            fs::write(at.join("victim"), "mine").unwrap();
            let output = at.join(format!("NEW/0.{name}"));
            symlink("../victim", &output).unwrap();
            run(at, template).expect(0);
            assert!(fs::symlink_metadata(&output).unwrap().is_file(), "{template}");
            assert_eq!(fs::read(at.join("victim")).unwrap(), b"mine", "{template}");
        }
        fs::write(at.join("real.npz"), "").unwrap();
        symlink("real.npz", at.join("link.npz")).unwrap();
        run(at, "voxelize t.bin --out link.npz").expect(0);
        assert!(fs::symlink_metadata(at.join("link.npz")).unwrap().is_symlink());
        assert!(fs::metadata(at.join("real.npz")).unwrap().len() > 0);
        fs::create_dir(at.join("s")).unwrap();
        symlink("../victim", at.join("s/poses.txt")).unwrap();
        run(at, "synth --out s --sweeps 1").expect(0);
        assert_eq!(fs::read(at.join("victim")).unwrap(), b"mine");
    }

    #[test]
    fn what_a_killed_run_left_is_removed_by_the_next_into_one_file_too() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        fresh(at, 0);
        for args in [
            "convert t.bin --out c.ply",
            "voxelize t.bin --out v.npz",
            "ndt build t.bin --out n.npz",
            "voxelize t.bin --visualize p.png",
        ] {
            fs::write(at.join(".pointmill-x1y2z3.tmp"), "half").unwrap();
            let told = run(at, args).expect(0);
            assert!(!at.join(".pointmill-x1y2z3.tmp").exists(), "{args}");
            assert!(told.err.contains("removed 1 unfinished file(s) of an earlier run"), "{args}: {}", told.err);
        }
    }

    #[test]
    fn names_that_are_not_utf_8_have_outputs_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        fresh(at, 0);
        let stems = [&b"\xff\xfe"[..], b"\xff\xfd"];
        for stem in stems {
            let name = [stem, b".bin"].concat();
            fs::copy(at.join("t.bin"), at.join("in").join(OsStr::from_bytes(&name))).unwrap();
        }
        let told = run(at, "voxelize in --out NEW --json").expect(0);
        assert_eq!(counts(&told), [2, 2, 0, 0]);
        for stem in stems {
            let name = [stem, b".npz"].concat();
            assert!(at.join("NEW").join(OsStr::from_bytes(&name)).is_file());
        }
    }
}
