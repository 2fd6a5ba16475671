//! `register`: an answer, none, and what cannot be used.

use crate::run;
use pointmill::Pose;
use pointmill_synth::{Drive, DriveParams};
use serde_json::json;
use std::fs;

/// Two sweeps of the built-in drive; the second is turned by a right angle.
fn write_sweeps(folder: &std::path::Path) {
    let drive = Drive::new(DriveParams::default());
    let turn = Pose::from_xyzrpy([3.0, -2.0, 0.5, 0.0, 0.0, 1.6]).unwrap();
    for (name, sweep, pose) in [("target.ply", 0, Pose::IDENTITY), ("source.ply", 5, turn)] {
        let scan = pointmill_io::Scan::from(drive.sweep(sweep)).transformed(&pose, true);
        pointmill_io::write(folder.join(name), &scan, &pointmill_io::WriteOptions::default()).unwrap();
    }
}

#[test]
fn a_pair_without_a_guess_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_sweeps(at);
    let told = run(at, "register source.ply target.ply --out a.ply --visualize a.gif").expect(0);
    assert!(told.out.contains("found: "), "{}", told.out);
    let told = run(at, "register source.ply target.ply --json").expect(0);
    let frame = &told.data("frame")[0];
    assert_eq!(frame["verdict"], json!("found"), "{frame}");
    // What is left between the aligned source and the target is what ICP leaves.
    let told = run(at, "icp a.ply target.ply --metric gicp --max-distance 0.9 --json").expect(0);
    let pose = &told.data("frame")[0]["target_from_source"];
    for axis in 0..3 {
        assert!(pose[4 * axis + 3].as_f64().unwrap().abs() < 0.05, "{pose}");
    }
    assert!(at.join("a.gif").is_file());
}

#[test]
fn without_an_answer_the_code_is_6_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_sweeps(at);
    fs::write(at.join("few.xyz"), "1 2 3\n4 5 6\n").unwrap();
    let flat: String =
        (0..90_000).map(|i| format!("{} {} 0\n", f64::from(i % 300) * 0.2, f64::from(i / 300) * 0.2)).collect();
    fs::write(at.join("flat.xyz"), flat).unwrap();
    for source in ["few.xyz", "flat.xyz"] {
        let told = run(at, &format!("register {source} target.ply --out b.ply")).expect(6);
        assert!(
            told.err.contains("no answer: too-few-matches; too few distinctive points at this --voxel-size"),
            "{}",
            told.err
        );
        assert!(!at.join("b.ply").exists());
    }
    let told = run(at, "register few.xyz missing.ply").expect(2);
    assert!(told.err.contains("missing.ply"), "{}", told.err);
    for (flags, wanted) in [
        ("--voxel-size 0", "--voxel-size: expected a finite size > 0 m, got 0"),
        ("--voxel-size NaN", "--voxel-size: expected a finite size > 0 m, got NaN"),
        ("--refine best", "invalid value 'best' for '--refine"),
    ] {
        let told = run(at, &format!("register source.ply target.ply {flags}")).expect(2);
        assert!(told.err.contains(wanted), "{}", told.err);
    }
    run(at, "register source.ply target.ply --voxel-size 1000").expect(6);
}
