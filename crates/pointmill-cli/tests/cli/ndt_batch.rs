//! `ndt score` and `ndt align` of many scans against one map.

use crate::{Run, counts, run};
use pointmill_io::{ArrayView, PoseOptions, read_poses, write_npy};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A corner of a hall, 6 m wide: floor and two walls.
fn hall() -> Vec<f64> {
    let mut points = Vec::new();
    for i in 0..48 {
        for j in 0..48 {
            let (a, b) = (0.125 * f64::from(i) + 0.0625, 0.125 * f64::from(j) + 0.0625);
            let rough = 0.01 * f64::from((7 * i + 13 * j) % 5);
            points.extend([a, b, rough, /**/ rough, a, b, /**/ a, rough, b]);
        }
    }
    points
}

fn write_points(folder: &Path, name: &str, points: &[f64]) {
    write_npy(folder.join(name), &ArrayView::f64(&[points.len() / 3, 3], points)).unwrap();
}

/// A map `map.npz` of the hall, `n` scans of it in `scans/`, each moved a little further, and two
/// poses.
fn setup(folder: &Path, n: usize) {
    let points = hall();
    write_points(folder, "hall.npy", &points);
    run(folder, "ndt build hall.npy --resolution 1 --covariance autoware --out map.npz").expect(0);
    fs::create_dir(folder.join("scans")).unwrap();
    for i in 0..n {
        let few = points.as_chunks::<3>().0.iter().skip(i).step_by(7);
        let scan: Vec<f64> = few.flat_map(|p| [p[0] + 0.02 * i as f64, p[1] - 0.01 * i as f64, p[2]]).collect();
        write_points(folder, &format!("scans/{i}.npy"), &scan);
    }
    fs::write(folder.join("poses.txt"), "0 0 0 0 0 0\n0.05 0 0 0 0 0.01\n").unwrap();
}

/// The commands, each with its flag of poses.
const COMMANDS: [&str; 2] = ["ndt score --map map.npz --pose poses.txt", "ndt align --map map.npz --guess poses.txt"];

/// All frames without what differs from run to run.
fn frames(told: &Run) -> Vec<Value> {
    let mut frames = told.data("frame");
    for frame in &mut frames {
        let fields = frame.as_object_mut().unwrap();
        assert!(fields.remove("ms").is_some() && fields.remove("read_ms").is_some());
    }
    frames
}

#[test]
fn each_scan_is_what_it_is_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 11);
    for command in COMMANDS {
        let told = run(at, &format!("{command} --scan scans --json")).expect(0);
        assert_eq!(counts(&told), [11, 11, 0, 0], "{command}");
        let all = frames(&told);
        for i in [0, 2, 10] {
            assert_eq!(all[i]["input"], format!("scans/{i}.npy"), "{command}");
            let alone = run(at, &format!("{command} --scan scans/{i}.npy --json")).expect(0);
            assert_eq!(all[i]["poses"], alone.data("frame")[0]["poses"], "{command} {i}");
            assert_eq!(all[i]["best"], alone.data("frame")[0]["best"], "{command} {i}");
            assert_eq!(all[i]["points"], alone.data("frame")[0]["points"], "{command} {i}");
        }
        let summary = told.data("summary").remove(0);
        let converged = if command.contains("align") { json!(11) } else { Value::Null };
        assert_eq!((&summary["converged"], &summary["poses"]), (&converged, &json!(2)));
        assert_eq!(told.data("begin")[0]["inputs"], 11);
        // Several at a time, from a pattern.
        let many = run(at, &format!("{command} --scan scans/*.npy --jobs 3 --json")).expect(0);
        assert_eq!(frames(&many), all, "{command}");
        let told = run(at, &format!("{command} --scan scans")).expect(0);
        let lines: Vec<_> = told.out.lines().collect();
        assert_eq!(lines.len(), 13, "{}", told.out);
        assert!(lines[0].starts_with("input") && lines[3].starts_with("scans/2.npy"), "{}", told.out);
        assert!(lines[12].starts_with("11 scans, "), "{}", told.out);
    }
}

#[test]
fn a_bad_scan_is_told_and_the_rest_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 4);
    fs::write(at.join("scans/1.npy"), "text").unwrap();
    for command in COMMANDS {
        for jobs in ["", "--jobs 3"] {
            let told = run(at, &format!("{command} --scan scans {jobs} --json")).expect(3);
            let kinds: Vec<_> = told.lines().into_iter().map(|(kind, _)| kind).collect();
            assert_eq!(kinds, ["begin", "frame", "error", "frame", "frame", "summary", "error"], "{command}");
            let error = told.data("error").remove(0);
            assert_eq!((&error["index"], &error["file"]), (&json!(1), &json!("scans/1.npy")), "{command}");
            assert_eq!(counts(&told), [4, 3, 0, 1], "{command}");
        }
        let told = run(at, &format!("{command} --scan scans --fail-fast --json")).expect(3);
        assert_eq!(counts(&told), [4, 1, 0, 1], "{command}");
        assert!(told.err.contains("2 of 4 inputs were not started"), "{}", told.err);
        let told = run(at, &format!("{command} --scan none-* --json")).expect(3);
        assert_eq!(counts(&told), [1, 0, 0, 1], "{command}");
    }
    // Without a map, or with a pose that is none, there is no scan to match.
    fs::write(at.join("bad.txt"), "1 2 3").unwrap();
    fs::write(at.join("none.npz"), "text").unwrap();
    for (args, inputs) in [("--map none.npz --pose poses.txt", 6), ("--map map.npz --pose poses.txt bad.txt", 7)] {
        let told = run(at, &format!("ndt score {args} --scan scans --json")).expect(3);
        assert!(told.data("frame").is_empty() && told.data("summary").is_empty(), "{args}");
        assert!(told.err.ends_with(&format!("error: 1 of {inputs} inputs failed\n")), "{}", told.err);
    }
}

#[test]
fn a_scan_that_does_not_converge_is_6_unless_one_failed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 3);
    // Nowhere near the map.
    write_points(at, "scans/2.npy", &[900.0; 30]);
    let command = "ndt align --map map.npz --scan scans";
    let told = run(at, &format!("{command} --json")).expect(6);
    assert_eq!(counts(&told), [3, 3, 0, 0]);
    let converged: Vec<_> = told.data("frame").iter().map(|f| f["converged"].clone()).collect();
    assert_eq!(converged, [json!(true), json!(true), json!(false)]);
    assert_eq!((&told.data("frame")[2]["best"], &told.data("summary")[0]["converged"]), (&Value::Null, &json!(2)));
    assert!(told.err.ends_with("error: not converged: 1 of 3 scans\n"), "{}", told.err);
    let told = run(at, command).expect(6);
    assert!(told.out.contains("no-pairs") && told.out.contains("3 scans, 2 converged, "), "{}", told.out);
    fs::write(at.join("scans/0.npy"), "text").unwrap();
    let told = run(at, &format!("{command} --json")).expect(3);
    assert_eq!(told.data("summary")[0]["converged"], 1);
}

/// A line for each scan, also for one that cannot be read, so that lines and scans go together.
#[test]
fn aligned_poses_are_written_with_the_stamps_of_their_scans() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 4);
    fs::write(at.join("scans/2.npy"), "text").unwrap();
    fs::write(at.join("guess.txt"), "0 0 0.25 0 0 0\n").unwrap();
    let command = "ndt align --map map.npz --guess guess.txt";
    let told = run(at, &format!("{command} --scan scans --out poses.txt --jobs 2 --json")).expect(3);
    let poses = read_poses(at.join("poses.txt"), &PoseOptions::default()).unwrap().poses;
    let found: Vec<_> = told.data("frame").iter().map(|frame| crate::matrix(&frame["poses"][0])).collect();
    assert_eq!((poses.len(), poses[2].translation()), (4, [0.0, 0.0, 0.25]));
    for (pose, found) in [&poses[0], &poses[1], &poses[3]].into_iter().zip(&found) {
        assert_eq!(pose.matrix().as_flattened(), found);
    }
    assert_eq!(told.data("summary")[0]["out"], "poses.txt");
    let bag = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags/ouster_zstd.mcap");
    fs::copy(bag, at.join("drive.mcap")).unwrap();
    run(at, &format!("{command} --scan drive.mcap --out tum.txt --format-poses tum"));
    let text = fs::read_to_string(at.join("tum.txt")).unwrap();
    let times: Vec<_> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(times, ["1700000000", "1700000000.1", "1700000000.2"]);
}
