//! `evaluate`, and the true poses that `synth` writes.

use crate::{names, run};
use pointmill::Pose;
use pointmill_io::{PoseFormat, PoseOptions, Poses, ReadOptions, read, read_poses, write_poses};
use pointmill_synth::{Drive, DriveParams, Scene};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A straight way in steps of 1 m; the estimate is longer by one percent, and moved.
fn write_ways(folder: &Path) {
    let way = |step: f64, y: f64| (0..200).map(|i| Pose::from_translation([step * f64::from(i), y, 0.0])).collect();
    let (estimate, truth): (Vec<Pose>, Vec<Pose>) = (way(1.01, 5.0), way(1.0, 0.0));
    let times = |offset: f64| Some((0..200).map(|i| 0.1 * f64::from(i) + offset).collect());
    for (name, poses, offset) in [("estimate", &estimate, 0.001), ("truth", &truth, 0.0)] {
        write_poses(folder.join(format!("{name}.txt")), &poses.clone().into(), PoseFormat::Kitti).unwrap();
        let timed = Poses { poses: poses.clone(), times: times(offset), ..Poses::default() };
        write_poses(folder.join(format!("{name}.tum")), &timed, PoseFormat::Tum).unwrap();
    }
}

#[test]
fn errors_are_those_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_ways(at);
    for extension in ["txt", "tum"] {
        let told = run(at, &format!("evaluate estimate.{extension} truth.{extension} --json")).expect(0);
        let frames = told.data("frame");
        assert_eq!((frames.len(), &frames[7]["estimate"], &frames[7]["truth"]), (200, &json!(7), &json!(7)));
        assert_eq!(frames[7]["time"].is_null(), extension == "txt");
        let summary = told.data("summary").remove(0);
        let number = |path: &str| summary.pointer(path).and_then(Value::as_f64).unwrap();
        assert!((number("/absolute/translation/min") - 5.0).abs() < 1e-9, "{summary}");
        assert!((number("/length") - 199.0).abs() < 1e-9);
        assert!((number("/relative/0/errors/translation/mean") - 0.01).abs() < 1e-9);
        // A segment ends behind its length.
        assert!((number("/drift/translation") - 0.0101).abs() < 1e-9, "{summary}");
    }
    // A scale and a motion take all of it away.
    let told = run(at, "evaluate estimate.txt truth.txt --align sim3 --format kitti --plot p.svg --json").expect(0);
    let summary = told.data("summary").remove(0);
    assert!(summary["absolute"]["translation"]["max"].as_f64().unwrap() < 1e-9, "{summary}");
    assert!((summary["alignment"]["scale"].as_f64().unwrap() - 1.0 / 1.01).abs() < 1e-9);
    assert!(fs::read_to_string(at.join("p.svg")).unwrap().starts_with("<svg"));
    let told = run(at, "evaluate estimate.txt truth.txt --align se3 --plot p.png").expect(0);
    for wanted in
        ["200 poses, 199.000 m", "absolute, m", "over 1 frame, m", "over 10 m, m", "drift", "100 m", "plot: p.png"]
    {
        assert!(told.out.contains(wanted), "{wanted}: {}", told.out);
    }
    assert_eq!(fs::read(at.join("p.png")).unwrap()[..4], *b"\x89PNG");
}

#[test]
fn bad_files_are_named_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_ways(at);
    fs::write(at.join("bad.txt"), "text").unwrap();
    for (args, index) in [("bad.txt truth.txt", 0), ("estimate.txt bad.txt", 1)] {
        let run = run(at, &format!("evaluate {args} --json")).expect(3);
        let error = run.data("error").remove(0);
        assert_eq!((&error["index"], &error["file"]), (&json!(index), &json!("bad.txt")), "{args}");
        assert!(run.data("summary").is_empty());
    }
}

#[test]
fn synth_writes_drives_with_their_truth() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let params =
        DriveParams { scene: Scene::Tunnel, seed: 3, sweeps: 2, motion_compensated: false, ..Default::default() };
    let drive = Drive::new(params);
    let told = run(at, "synth --scene tunnel --seed 3 --sweeps 2 --distort --out d --poses truth.txt --json").expect(0);
    assert_eq!(told.data("summary")[0]["poses"], "truth.txt");
    assert_eq!(names(&at.join("d")), ["sweep_000.ply", "sweep_001.ply"]);
    let sweep = read(at.join("d/sweep_001.ply"), &ReadOptions::default()).unwrap();
    assert_eq!(sweep.cloud, drive.sweep(1));
    let times = sweep.times().unwrap();
    assert_eq!((times.name.as_str(), times.unit.as_str()), ("time", "s"));
    let truth = read_poses(at.join("truth.txt"), &PoseOptions::default()).unwrap().poses;
    let middle = (1.0 + 0.5 * 1999.0 / 2000.0) / 10.0;
    assert_eq!(truth[1], Pose::from_matrix(&drive.world_from_sensor_at(middle)).unwrap());
    // Without distortion a pose belongs to the start of its sweep.
    run(at, "synth --scene loop --sweeps 1 --out e --poses loop.txt").expect(0);
    let drive = Drive::new(DriveParams { scene: Scene::Loop, sweeps: 1, ..Default::default() });
    assert_eq!(names(&at.join("e")), ["sweep_000.bin"]);
    let truth = read_poses(at.join("loop.txt"), &PoseOptions::default()).unwrap().poses;
    assert_eq!(truth, [Pose::from_matrix(&drive.world_from_sensor(0)).unwrap()]);
}

/// Ground truth of EuRoC is read by its header; without it, its times are no seconds.
#[test]
fn euroc_is_no_tum() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let header = "#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z []\n";
    let (mut rows, mut poses, mut times) = (String::new(), Vec::new(), Vec::new());
    for i in 0..40u32 {
        let pose =
            Pose::from_xyzrpy([f64::from(i), (0.3 * f64::from(i)).sin() * 5.0, 1.0, 0.1, 0.0, 0.05 * f64::from(i)]);
        let pose = pose.unwrap();
        let ([x, y, z], [i_, j, k, w]) = (pose.translation(), pose.quaternion());
        let stamp = 1_403_636_580_838_555_648u64 + 50_000_000 * u64::from(i);
        rows += &format!("{stamp},{x},{y},{z},{w},{i_},{j},{k}\n");
        poses.push(pose);
        times.push(stamp as f64 / 1e9);
    }
    fs::write(at.join("euroc.csv"), format!("{header}{rows}")).unwrap();
    write_poses(at.join("tum.txt"), &Poses { poses, times: Some(times), ..Poses::default() }, PoseFormat::Tum).unwrap();
    let told = run(at, "evaluate tum.txt euroc.csv --json").expect(0);
    let absolute = &told.data("summary")[0]["absolute"];
    let most = |what: &str| absolute[what]["max"].as_f64().unwrap();
    assert!(most("translation") < 1e-9 && most("rotation") < 1e-9, "{absolute}");
}

/// Positions along a straight street say nothing of the turn about it, which is said.
#[test]
fn a_turn_that_is_not_determined_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_ways(at);
    let wanted = "does not determine the rotation about it; it is taken from the orientations of the poses";
    let told = run(at, "evaluate estimate.txt truth.txt --align se3 --json").expect(0);
    assert!(told.err.contains("warning: alignment: positions lie 0.000 m off a line"), "{}", told.err);
    let summary = told.data("summary").remove(0);
    assert!(summary["warnings"][0].as_str().unwrap().contains(wanted), "{summary}");
    let told = run(at, "evaluate estimate.txt truth.txt --json").expect(0);
    assert_eq!((&told.data("summary")[0]["warnings"], told.err.as_str()), (&json!([]), ""));
    // A real straight street, if it is there.
    let street = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/kitti04");
    if street.is_dir() {
        let told = run(at, &format!("odometry {} --out street.txt", street.display()));
        assert!(at.join("street.txt").is_file(), "{}", told.err);
        let truth = street.join("poses.txt");
        let told = run(at, &format!("evaluate street.txt {} --align se3 --json", truth.display())).expect(0);
        let summary = told.data("summary").remove(0);
        let degrees = summary["absolute"]["rotation"]["rmse"].as_f64().unwrap().to_degrees();
        assert!(degrees < 1.0 && told.err.contains(wanted), "{degrees} {}", told.err);
    }
}

/// So many poses, in a file that is quickly written and read.
#[cfg(unix)]
fn many_poses(at: &Path, poses: usize) {
    let lines: String = (0..poses).map(|i| format!("{i} {i} {} 0 0 0 0 1\n", i * i % 97)).collect();
    fs::write(at.join("many.txt"), lines).unwrap();
}

/// An end that is forced while lines are printed has its own line, the last.
#[cfg(unix)]
#[test]
fn a_forced_end_is_the_last_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    many_poses(at, 60_000);
    for k in 0..6 {
        let out = at.join(format!("{k}.jsonl"));
        let mut evaluate = crate::command(at, "evaluate many.txt many.txt --json");
        let mut child = evaluate.stdout(fs::File::create(&out).unwrap()).spawn().unwrap();
        let frames = || fs::read_to_string(&out).unwrap().contains(r#""type":"frame""#);
        while !frames() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // The second signal waits for nothing.
        let id = child.id().to_string();
        let kill = format!("kill -TERM {id}; kill -TERM {id}");
        std::process::Command::new("sh").args(["-c", &kill]).stderr(std::process::Stdio::null()).status().unwrap();
        let code = child.wait().unwrap().code();
        let text = fs::read_to_string(&out).unwrap();
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let wanted = if code == Some(0) { "summary" } else { "error" };
        assert!(matches!(code, Some(0 | 143)) && last["type"] == wanted, "{k}: {code:?} {last}");
    }
}

/// Memory that the system refuses is an error of this run, and not an abort.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_is_refused_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    many_poses(at, 100_000);
    let mut refused = 0;
    for mib in (40..200).step_by(8) {
        let line =
            format!("ulimit -v {}; exec \"$POINTMILL\" evaluate many.txt many.txt --json | tail -n 1", mib << 10);
        let mut shell = std::process::Command::new("bash");
        let line = format!("set -o pipefail; {line}");
        shell.current_dir(at).args(["-c", &line]).env("POINTMILL", env!("CARGO_BIN_EXE_pointmill"));
        let told = shell.output().unwrap();
        let (code, err) = (told.status.code(), String::from_utf8_lossy(&told.stderr).into_owned());
        // Below the first limits the program itself cannot be loaded.
        assert!(matches!(code, Some(0 | 1 | 3 | 127)), "{mib} MiB: {code:?} {err}");
        refused += usize::from(code == Some(1));
    }
    assert!(refused > 0);
}

/// Boxes are read, matched and drawn in one go, and a signal ends it wherever it is.
#[cfg(unix)]
#[test]
fn a_signal_ends_an_evaluation_at_once() {
    use crate::end::{is_ignored, signal, started};
    use std::time::{Duration, Instant};
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let line = |i: usize, k: usize| {
        let (x, z) = (i % 50 * 6, i / 50 * 3 + 5);
        format!("{k} {i} Car 0 0 0 {} 170 {} 230 1.6 1.7 3.2 {x} 1.7 {z} 0.5 0.{}\n", x * 10, x * 10 + 50, i % 89 + 10)
    };
    let lines: String = (0..400_000).map(|i| line(i % 1000, i / 1000)).collect();
    fs::write(at.join("boxes.txt"), lines).unwrap();
    for (name, code) in [("TERM", 143), ("INT", 130)].into_iter().filter(|(name, _)| *name != "INT" || !is_ignored(2)) {
        let evaluate = "evaluate detections boxes.txt boxes.txt --protocol kitti --visualize page.html --json";
        for after in [0, 100, 300].map(Duration::from_millis) {
            let (child, out) = started(crate::command(at, evaluate), 1);
            std::thread::sleep(after);
            let start = Instant::now();
            signal(&child, name);
            let ended = child.wait_with_output().unwrap();
            assert!(start.elapsed() < Duration::from_millis(500), "{name} {after:?}: {:?}", start.elapsed());
            assert_eq!(ended.status.code(), Some(code), "{name} {after:?}");
            let lines = std::io::read_to_string(out).unwrap();
            let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
            assert_eq!(
                (&last["type"], &last["data"]["exit_code"]),
                (&json!("error"), &json!(code)),
                "{name} {after:?}"
            );
            assert_eq!(names(at), ["boxes.txt"], "{name} {after:?}");
        }
    }
}

/// The gate: nothing worse is 0, an object that is lost or a box that is false is 6 and listed.
#[test]
fn detections_that_became_worse_end_with_6() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let line = |x: f64, score: f64| format!("Car 0 0 0 600 170 680 230 1.6 1.7 3.2 {x} 1.7 20 0.5 {score}\n");
    let (first, second, third) = (line(0.0, 0.9), line(8.0, 0.8), line(-8.0, 0.7));
    for (name, text) in [
        ("truth.txt", first.clone() + &second),
        ("before.txt", first.clone() + &third),
        ("better.txt", first + &second),
        ("worse.txt", second.clone() + &third + &line(16.0, 0.6)),
    ] {
        fs::write(at.join(name), text).unwrap();
    }
    let gate = |name: &str| {
        run(at, &format!("evaluate detections {name} truth.txt --protocol kitti --compare before.txt --json"))
    };
    let told = gate("better.txt").expect(0).data("summary").remove(0);
    assert_eq!((&told["better"], &told["worse"], &told["mean_ap"]), (&json!(2), &json!(0), &json!(1.0)));
    let told = gate("worse.txt").expect(6);
    assert!(told.err.contains("--compare: 2 of the boxes became worse"), "{}", told.err);
    let told = told.data("summary").remove(0);
    let change = |row: u32, before: Value, after: Value, verdict: &str| json!({"class": "Car", "frame": "000000", "row": row, "before": before, "after": after, "verdict": verdict});
    let wanted = [
        change(0, json!("true"), json!("missed"), "worse"),
        change(1, json!("missed"), json!("true"), "better"),
        change(2, Value::Null, json!("false"), "worse"),
    ];
    assert_eq!(told["changes"], json!(wanted));
    assert_eq!(gate("before.txt").expect(0).data("summary")[0]["changes"], json!([]));
}

/// The page has each fate with its number, and says which frames it leaves out.
#[test]
fn detections_are_drawn_by_what_became_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let line = |frame: usize, x: f64| format!("{frame} 0 Car 0 0 0 600 170 680 230 1.6 1.7 3.2 {x} 1.7 20 0.5");
    // Of 301 frames the last two miss nothing: one of them is the one that is left out.
    let truth: String = (0..301).map(|frame| line(frame, 0.0) + "\n").collect();
    fs::write(at.join("truth.txt"), &truth).unwrap();
    let found = format!("{} 0.9\n{} 0.8\n{} 0.7\n", line(299, 0.0), line(300, 0.0), line(0, 9.0));
    fs::write(at.join("found.txt"), found).unwrap();
    let command = "evaluate detections found.txt truth.txt --protocol kitti --visualize";
    let told = run(at, &format!("{command} page.html")).expect(0);
    assert!(told.out.ends_with("picture: page.html\n"), "{}", told.out);
    assert!(
        told.err.contains("shows the worst 300 of 301 frames by missed and sure false boxes; at most"),
        "{}",
        told.err
    );
    let page = fs::read_to_string(at.join("page.html")).unwrap();
    let wanted = [
        "missed: 299",
        "false, sure: 0",
        "hit: 1 shown of 2",
        "truth of hits: 1 shown of 2",
        "false, less sure: 1",
        "not counted: 0",
    ];
    for wanted in
        wanted.into_iter().chain(["000000: 1 missed, 1 false (1 less sure), 0 hit", "000299: 0 missed, 0 false, 1 hit"])
    {
        assert!(page.contains(&format!("\"{wanted}\"")), "{wanted}");
    }
    assert!(page.contains("shows the worst 300 of 301 frames") && !page.contains("000300: "));
    run(at, &format!("{command} page.png")).expect(0);
    assert_eq!(fs::read(at.join("page.png")).unwrap()[..4], *b"\x89PNG");
}

/// Boxes of the camera lie on the points of the LiDAR by KITTI's calibration; what is missing is named.
#[test]
fn clouds_are_behind_the_boxes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for name in ["label", "found", "data/velodyne", "data/calib", "far"] {
        fs::create_dir_all(at.join(name)).unwrap();
    }
    // 20 m ahead of the camera, 2 m right of it.
    let line = "Car 0 0 0 600 170 680 230 1.6 1.7 3.2 2 1.7 20 0.5";
    fs::write(at.join("label/000007.txt"), line).unwrap();
    fs::write(at.join("found/000007.txt"), "Car 0 0 0 600 170 680 230 1.6 1.7 3.2 2 1.7 40 0.5 0.9\n").unwrap();
    let cloud = |x: f32| -> Vec<u8> {
        (0..500_u16).flat_map(|i| [x + f32::from(i % 25) / 10.0, -2.0, -1.0, 0.5]).flat_map(f32::to_le_bytes).collect()
    };
    fs::write(at.join("data/velodyne/000007.bin"), cloud(20.0)).unwrap();
    let command = |folder: &str, out: &str| {
        run(at, &format!("evaluate detections found label --protocol kitti --visualize {out} --points {folder}"))
    };
    for folder in ["data", "data/velodyne"] {
        let told = command(folder, "page.html").expect(2).err;
        assert!(told.contains("--points") && told.contains("KITTI's calibration"), "{told}");
        assert!(told.contains("calib/000007.txt") && !at.join("page.html").exists(), "{told}");
    }
    let calibration = "R0_rect: 1 0 0 0 1 0 0 0 1\nTr_velo_to_cam: 0 -1 0 0 0 0 -1 0 1 0 0 0\n";
    fs::write(at.join("data/calib/000007.txt"), calibration).unwrap();
    for (folder, out) in [("data", "page.html"), ("data/velodyne", "page.png"), ("data", "page.gif")] {
        command(folder, out).expect(0);
    }
    let page = fs::read_to_string(at.join("page.html")).unwrap();
    for wanted in ["\"points\"", "\"count\":500", "000007: 1 missed, 1 false, 0 hit"] {
        assert!(page.contains(wanted), "{wanted}");
    }
    fs::write(at.join("data/velodyne/000007.bin"), cloud(-300.0)).unwrap();
    let told = command("data", "page.html").expect(2).err;
    assert!(
        told.contains("000007.bin: expected points around the boxes of the frame 000007, got none within"),
        "{told}"
    );
    let told = command("far", "page.html").expect(2).err;
    assert!(told.contains("expected a file for each frame") && told.contains("none for the frame 000007"), "{told}");
    assert!(command("label/000007.txt", "page.html").expect(2).err.contains("expected a folder of clouds"));
}
