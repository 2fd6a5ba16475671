//! `demo`: a drive from nothing, with the same bytes again and again.

use crate::{contents, names, run};
use std::fs;

#[test]
fn a_demo_needs_nothing_and_repeats_itself() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let told = run(at, "demo").expect(0);
    assert_eq!(told.err, "");
    assert_eq!(names(at), ["pointmill-demo"]);
    let out = at.join("pointmill-demo");
    assert_eq!(names(&out), ["drive.gif", "drive.html", "map.npz", "poses.txt", "truth.txt"]);
    let before = contents(&out);
    assert!(before["drive.gif"].starts_with(b"GIF89a") && before["drive.html"].starts_with(b"<!DOCTYPE html>"));
    assert!(before["drive.gif"].len() < 3 << 20, "{}", before["drive.gif"].len());
    let next = "next, with your own sweeps: pointmill odometry SWEEPS/ --out poses.txt --visualize drive.html\n";
    assert!(told.out.ends_with(next), "{}", told.out);

    // Again, over the same files.
    let again = run(at, "demo --json").expect(0);
    let summary = again.data("summary").remove(0);
    assert!(told.out.contains(summary["poses_sha256"].as_str().unwrap()), "{}\n{summary}", told.out);
    // The page has the command line.
    let mut after = contents(&out);
    let page = String::from_utf8(after.remove("drive.html").unwrap()).unwrap();
    assert_eq!(page.matches(" demo --json").count(), 1);
    after.insert("drive.html".into(), page.replace(" demo --json", " demo").into());
    assert!(after == before);
    assert_eq!((&summary["sweeps"], &summary["statuses"]["tracked"]), (&180.into(), &179.into()));
    let [length, error] = ["length", "max_error"].map(|key| summary[key].as_f64().unwrap());
    assert!((length - 179.0).abs() < 0.1 && error < 0.05, "{summary}");
    for file in summary["files"].as_array().unwrap() {
        assert!(fs::metadata(at.join(file.as_str().unwrap())).unwrap().len() > 0, "{file}");
    }

    // The other commands read what it wrote, and find the same error.
    let evaluated = run(&out, "evaluate poses.txt truth.txt --json").expect(0);
    assert_eq!(evaluated.data("summary")[0]["absolute"]["translation"]["rmse"], summary["rmse"]);
    let map = pointmill_data::read_ndt_map(out.join("map.npz")).unwrap();
    assert_eq!(Some(map.0.len() as u64), summary["cells"].as_u64());
}
