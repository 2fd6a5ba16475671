//! `--visualize OUT.html` of every command, and `evaluate --plot OUT.html`.

use crate::run;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The scene of a page, which needs neither a server nor a network.
fn scene(path: &Path) -> Value {
    let html = fs::read_to_string(path).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n") && !html.contains("://"));
    let start = html.split_once(r#"<script id="scene" type="application/json">"#).unwrap().1;
    serde_json::from_str(start.split_once("</script>").unwrap().0).unwrap()
}

/// The names of the layers, without repeats, and the number of frames.
fn contents(scene: &Value) -> (String, usize) {
    let mut names: Vec<_> = scene["layers"].as_array().unwrap().iter().map(|l| l["name"].as_str().unwrap()).collect();
    names.dedup();
    (names.join(" "), scene["frames"].as_array().unwrap().len())
}

#[test]
fn every_command_writes_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "synth --sweeps 3 --format ply --out d --poses truth.txt").expect(0);
    fs::write(at.join("still.txt"), "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n").unwrap();
    let map = "ndt build d/sweep_000.ply --out map.npz --resolution 2";
    for (args, layers, frames) in [
        ("voxelize d --visualize", "range rings voxels points voxels points voxels points", 3),
        ("roi-pool --visualize", "points points in boxes boxes boxes of close-ups close-up A close-up B close-up C", 0),
        (&format!("{map} --visualize"), "points cells", 0),
        ("ndt score --map map.npz --scan d/sweep_001.ply --pose still.txt --visualize", "cells scan", 0),
        (
            "ndt align --map map.npz --scan d/sweep_001.ply --guess still.txt --visualize",
            "cells before after close-up",
            2,
        ),
        (
            "icp d/sweep_001.ply d/sweep_000.ply --max-distance 1 --max-iterations 2 --visualize",
            "aligned source target source",
            3,
        ),
        ("odometry d --out poses.txt --visualize", "map sweeps trajectory sensor", 3),
        ("evaluate poses.txt truth.txt --plot", "truth estimate", 3),
    ] {
        let path = at.join("page.html");
        let done = run(at, &format!("{args} page.html"));
        assert!([0, 6].contains(&done.code), "{args}: {}{}", done.out, done.err);
        assert_eq!(contents(&scene(&path)), (layers.into(), frames), "{args}");
        let first = fs::read(&path).unwrap();
        let words = args.replace("d/", "");
        let told = String::from_utf8_lossy(&first);
        let line = told.split_once("<p id=\"command\">").and_then(|(_, rest)| rest.split_once("</p>")).unwrap().0;
        assert!(line.starts_with("pointmill ") && line.contains(&words) && line.contains("page.html"), "{line}");
        run(at, &format!("{args} page.html"));
        assert!(first == fs::read(&path).unwrap(), "{args}");
    }
}

/// A sweep that cannot be read has a frame without points, so that frames and poses agree.
#[test]
fn a_sweep_that_fails_has_a_frame() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "synth --sweeps 2 --format ply --out d").expect(0);
    fs::remove_file(at.join("d/poses.txt")).unwrap();
    fs::write(at.join("d/sweep_000a.ply"), "ply\n</script><img src=x>").unwrap();
    run(at, "odometry d --visualize page.html").expect(3);
    let scene = scene(&at.join("page.html"));
    assert_eq!(contents(&scene), ("map sweeps trajectory sensor".into(), 3));
    let layers = scene["layers"].as_array().unwrap();
    let counts: Vec<_> =
        layers.iter().filter(|l| l["name"] == "sweeps").map(|l| l["count"].as_u64().unwrap()).collect();
    assert!(counts[0] > 5000 && counts[1] == 0 && counts[2] > 5000, "{counts:?}");
    // Pages are given away: they have names of files, and no folders.
    assert_eq!(scene["frames"][1], "sweep_000a.ply");
}
