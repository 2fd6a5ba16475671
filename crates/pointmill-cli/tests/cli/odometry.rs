//! `odometry`: drives from files, the same bytes again and again, and sweeps that cannot be used.

use crate::{Run, command, counts, finished, names, run};
use pointmill::PointCloud;
use pointmill_data::find_inputs;
use pointmill_io::bag::Bag;
use pointmill_io::{
    Dtype, Limits, NamedPoints, PoseFormat, PoseOptions, ReadOptions, WideColumn, WriteOptions, read, read_poses,
    write, write_bin, write_ply,
};
use pointmill_synth::{Drive, DriveParams, Scene};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A drive of a coarse sensor, distorted by its motion.
fn drive(scene: Scene, sweeps: usize) -> Drive {
    let small =
        DriveParams { beams: 32, azimuth_steps: 500, seed: 5, motion_compensated: false, ..DriveParams::default() };
    Drive::new(DriveParams { scene, sweeps, ..small })
}

/// Writes the sweeps as `d/000.ply` and so on.
fn write_drive(folder: &Path, scene: Scene, sweeps: usize) -> Drive {
    let drive = drive(scene, sweeps);
    fs::create_dir(folder.join("d")).unwrap();
    for i in 0..sweeps {
        write_sweep(&folder.join(format!("d/{i:03}.ply")), &drive.sweep(i), "time");
    }
    drive
}

fn write_sweep(path: &Path, sweep: &PointCloud, times: &str) {
    write_ply(path, &NamedPoints::new(sweep.points(), &["x", "y", "z", "intensity", "ring", times])).unwrap();
}

/// The frames without what differs from run to run.
fn frames(told: &Run) -> Vec<Value> {
    let mut frames = told.data("frame");
    for frame in &mut frames {
        let fields = frame.as_object_mut().unwrap();
        fields.retain(|name, _| name != "ms" && !name.ends_with("_ms"));
    }
    frames
}

#[test]
fn a_drive_becomes_a_trajectory() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let drive = write_drive(at, Scene::Loop, 8);
    let told = run(at, "odometry d --out poses.txt --map-out map.ply --visualize drive.png --json").expect(0);
    assert_eq!(counts(&told), [8, 8, 0, 0]);
    assert!(told.err.contains("times of points: column time in s; sweeps are deskewed"), "{}", told.err);
    let frames = told.data("frame");
    let statuses: Vec<_> = frames.iter().map(|frame| frame["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["started", "tracked", "tracked", "tracked", "tracked", "tracked", "tracked", "tracked"]);
    assert!(frames.iter().all(|frame| frame["times"] == "relative" && frame["map_points"].as_u64().unwrap() > 1000));
    assert_eq!((&frames[0]["rank"], &frames[5]["rank"]), (&Value::Null, &json!(6)));
    assert!(frames[5]["covariance"][0][0].as_f64().unwrap() > 0.0);

    // A map of LAS has the same points.
    for map in ["map.las", "map.laz"] {
        run(at, &format!("odometry d --map-out {map}")).expect(0);
        let of = |name: &str| read(at.join(name), &Default::default()).unwrap().xyz();
        let (wanted, found) = (of("map.ply"), of(map));
        assert_eq!(found.len(), wanted.len());
        let off = |(a, b): (&[f64; 3], &[f64; 3])| (0..3).map(|axis| (a[axis] - b[axis]).abs()).fold(0.0, f64::max);
        assert!(found.iter().zip(&wanted).map(off).fold(0.0, f64::max) < 1e-6);
    }

    // The file is what the frames say, and where the sensor was.
    let poses =
        read_poses(at.join("poses.txt"), &PoseOptions { format: Some(PoseFormat::Kitti), ..Default::default() });
    let poses = poses.unwrap().poses;
    for (pose, frame) in poses.iter().zip(&frames) {
        let rows: Vec<f64> = serde_json::from_value(frame["world_from_sensor"].clone()).unwrap();
        assert_eq!(pose.matrix().as_flattened(), rows);
    }
    let place = |i: usize| pointmill::Pose::from_matrix(&drive.world_from_sensor_at(0.1 * i as f64 + 0.05)).unwrap();
    for (i, pose) in poses.iter().enumerate() {
        let off = place(0).inverse().compose(&place(i)).inverse().compose(pose).translation();
        assert!(off.iter().all(|x| x.abs() < 0.1), "{i}: {off:?}");
    }
    let summary = told.data("summary").remove(0);
    assert_eq!(summary["statuses"]["tracked"], 7);
    assert_eq!(summary["times"], json!({ "column": "time", "unit": "s" }));
    assert!((summary["length"].as_f64().unwrap() - 7.0).abs() < 0.2, "{summary}");
    let map = read(at.join("map.ply"), &ReadOptions::default()).unwrap();
    assert_eq!((map.cloud.len() as u64, map.is_f64()), (summary["map_points"].as_u64().unwrap(), true));
    assert_eq!(fs::read(at.join("drive.png")).unwrap()[..4], *b"\x89PNG");

    // With times, and for people.
    let told = run(at, "odometry d --out tum.txt --format-poses tum --deskew off").expect(0);
    let tum = read_poses(at.join("tum.txt"), &PoseOptions { format: Some(PoseFormat::Tum), ..Default::default() });
    let steps: Vec<f64> = tum.unwrap().times.unwrap().windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.iter().all(|step| (step - 0.0998).abs() < 1e-6), "{steps:?}");
    let wanted = ["8 sweeps, 7.", "1 started, 7 tracked", "poses: tum.txt", "sha256: "];
    assert!(wanted.iter().all(|text| told.out.contains(text)), "{}", told.out);
    assert!(told.err.contains("times of points: column time in s; deskew is off"), "{}", told.err);
}

#[test]
fn bytes_are_equal_for_any_threads_and_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_drive(at, Scene::Street, 8);
    let mut found = Vec::new();
    for threads in ["1", "2", "8"] {
        let mut command = command(at, "odometry d --out poses.txt --map-out map.ply --json");
        let told = finished(command.env("RAYON_NUM_THREADS", threads).output().unwrap()).expect(0);
        let sha256 = told.data("summary")[0]["poses_sha256"].clone();
        let files = ["poses.txt", "map.ply"].map(|name| fs::read(at.join(name)).unwrap());
        found.push((files, sha256, frames(&told)));
    }
    assert!(found[1..].iter().all(|other| *other == found[0]));
    let system = std::process::Command::new("sha256sum").arg(at.join("poses.txt")).output();
    if let Some(line) = system.ok().and_then(|told| String::from_utf8(told.stdout).ok()) {
        assert!(line.starts_with(found[0].1.as_str().unwrap()), "{line}");
    }

    // A run that is killed leaves the file of the run before; the next one begins anew.
    let before = names(at);
    let mut child = command(at, "odometry d --out poses.txt --json").spawn().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    for _ in 0..3 {
        std::io::BufRead::read_line(&mut lines, &mut String::new()).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(names(at) == before && fs::read(at.join("poses.txt")).unwrap() == found[0].0[0]);
    let told = run(at, "odometry d --out poses.txt --json").expect(0);
    assert_eq!((counts(&told), fs::read(at.join("poses.txt")).unwrap()), ([8, 8, 0, 0], found[0].0[0].clone()));
}

/// What is written is whole, and how a run without an end would have begun.
#[cfg(unix)]
#[test]
fn a_run_that_is_interrupted_writes_the_poses_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_drive(at, Scene::Street, 60);
    run(at, "odometry d --out whole.txt --format-poses tum").expect(0);
    let (mut child, out) = crate::end::started(command(at, "odometry d --out poses.txt --format-poses tum --json"), 6);
    crate::end::signal(&child, "INT");
    let rest = std::io::read_to_string(out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    let [poses, whole] = ["poses.txt", "whole.txt"].map(|name| fs::read_to_string(at.join(name)).unwrap());
    let count = poses.lines().count();
    assert!((5..60).contains(&count) && whole.starts_with(&poses) && poses.ends_with('\n'), "{count}");
    let told = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    let wanted =
        format!("poses.txt has the poses of {count} of 60 sweeps; run again for all of them\nerror: interrupted\n");
    assert!(told.ends_with(&wanted), "{told}");
    assert_eq!(names(at), ["d", "poses.txt", "whole.txt"]);
}

#[test]
fn sweeps_that_cannot_be_used_have_the_expected_pose() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let drive = write_drive(at, Scene::Street, 8);
    fs::write(at.join("d/003.ply"), "text").unwrap();
    write_sweep(&at.join("d/005.ply"), &PointCloud::new(vec![], 6).unwrap(), "time");
    let told = run(at, "odometry d --out poses.txt --json").expect(3);
    assert_eq!(counts(&told), [8, 7, 0, 1]);
    let error = told.data("error").remove(0);
    assert_eq!((&error["index"], &error["file"]), (&json!(3), &json!("d/003.ply")));
    let frames = told.data("frame");
    assert_eq!((&frames[4]["index"], &frames[4]["status"]), (&json!(5), &json!("too-few-points")));
    assert_eq!(frames[4]["warnings"][1], "too few points; using the predicted pose");
    assert_eq!((&frames[5]["status"], &frames[6]["status"]), (&json!("tracked"), &json!("tracked")));
    // A line for each sweep, and none is far off.
    let poses = read_poses(at.join("poses.txt"), &PoseOptions::default()).unwrap().poses;
    assert_eq!(poses.len(), 8);
    let place = |i: usize| pointmill::Pose::from_matrix(&drive.world_from_sensor_at(0.1 * i as f64 + 0.05)).unwrap();
    for (i, pose) in poses.iter().enumerate() {
        let off = place(0).inverse().compose(&place(i)).inverse().compose(pose).translation();
        assert!(off.iter().all(|x| x.abs() < 0.15), "{i}: {off:?}");
    }
    let told = run(at, "odometry d --fail-fast --out some.txt").expect(3);
    assert!(told.out.contains("poses: some.txt, partial: 4 of 8 sweeps"), "{}", told.out);
    assert_eq!(fs::read_to_string(at.join("some.txt")).unwrap().lines().count(), 4);
}

#[test]
fn times_are_named_and_never_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let drive = drive(Scene::Street, 3);
    fs::create_dir(at.join("d")).unwrap();
    let sweep = |i: usize, factor: f32| {
        let mut cloud = drive.sweep(i);
        cloud.rows_mut().for_each(|row| row[5] *= factor);
        cloud
    };
    // Without a name nothing is known about times.
    write_bin(at.join("raw.bin"), sweep(0, 1.0).points()).unwrap();
    let told = run(at, "odometry raw.bin --columns 6 --json").expect(0);
    assert!(told.err.contains("no per-point timestamps found: motion compensation (deskew) is off"), "{}", told.err);
    assert!(told.data("summary")[0]["length"].as_f64().unwrap().is_sign_positive());
    let told = run(at, "odometry raw.bin --columns 6 --deskew on --json").expect(3);
    assert_eq!(told.data("error")[0]["class"], "MissingField");
    let names = "times: expected a column named t, time, timestamp or the like";
    assert!(told.err.contains(names), "{}", told.err);
    // Another unit than before is not believed.
    for (i, factor) in [1e6, 1e6, 1e3].into_iter().enumerate() {
        write_sweep(&at.join(format!("d/{i}.ply")), &sweep(i, factor), "Offset_Time");
    }
    let told = run(at, "odometry d --json").expect(0);
    assert!(told.err.contains("times of points: column Offset_Time in us"), "{}", told.err);
    let frames = told.data("frame");
    assert_eq!(frames[2]["times"], "none");
    let warning = frames[2]["warnings"][0].as_str().unwrap();
    assert_eq!(warning, "times: expected Offset_Time in us, as in the first sweep, got Offset_Time in ms; not used");
    // A clock that begins again, and one that begins again within a sweep.
    fs::create_dir(at.join("clock")).unwrap();
    for (i, (start, factor)) in [(20.0, 1.0), (10.0, 1.0), (10.1, 25.0)].into_iter().enumerate() {
        let mut cloud = sweep(i, factor);
        cloud.rows_mut().for_each(|row| row[5] += start);
        write_sweep(&at.join(format!("clock/{i}.ply")), &cloud, "time");
    }
    let frames = run(at, "odometry clock --json").expect(0).data("frame");
    let told = [0, 1, 2].map(|i| (frames[i]["times"].as_str().unwrap(), frames[i]["warnings"][0].as_str()));
    let back = "times: they run back from the sweep before; used within the sweep alone";
    let long = "times: they span more than 2 s; the sweep is taken as it is";
    assert_eq!(told, [("relative", None), ("backwards", Some(back)), ("unusable", Some(long))]);
}

#[test]
fn no_cloud_and_no_input() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // Nothing that is a cloud, and the drive that is built in.
    fs::create_dir(at.join("empty")).unwrap();
    assert_eq!(counts(&run(at, "odometry empty --json").expect(3)), [1, 0, 0, 1]);
    let built_in = run(at, "odometry --json").expect(0);
    assert_eq!(built_in.data("summary")[0]["statuses"]["tracked"], 9);
}

/// The first words of the lines of a file: times, where it has some.
fn times(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

/// Sweeps of a drive in the layout of Argoverse 2, published deskewed, with the poses that such a
/// log has.
fn write_log(at: &Path) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/feather/log");
    let sweeps = at.join("log/sensors/lidar");
    fs::create_dir_all(&sweeps).unwrap();
    fs::copy(fixture.join("city_SE3_egovehicle.feather"), at.join("log/city_SE3_egovehicle.feather")).unwrap();
    let drive = Drive::new(DriveParams { motion_compensated: true, ..*drive(Scene::Street, 3).params() });
    for (i, named) in find_inputs(&[fixture.join("sensors/lidar")]).unwrap().into_iter().enumerate() {
        let mut sweep = drive.sweep(i);
        sweep.rows_mut().for_each(|row| row[5] = (row[5] * 1e9).round());
        let points = NamedPoints::new(sweep.points(), &["x", "y", "z", "intensity", "laser_number", "offset_ns"]);
        write(sweeps.join(named.unwrap().file_name().unwrap()), points, &WriteOptions::default()).unwrap();
    }
}

/// The times of the poses of a log are those in the names of its sweeps, so that its own poses are
/// the truth; its sweeps are not deskewed again.
#[test]
fn a_log_of_argoverse_2_is_compared_with_its_own_poses() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_log(at);
    let told = run(at, "odometry log/sensors/lidar --format-poses tum --out poses.txt --json").expect(0);
    let published =
        "times of points: column offset_ns in ns; sweeps were published deskewed; they are taken as they are";
    assert!(told.err.contains(published), "{}", told.err);
    let stamps = ["315966265.259836", "315966265.359836", "315966265.459836"];
    assert_eq!(times(&at.join("poses.txt")), stamps);
    assert!((told.data("frame")[1]["seconds"].as_f64().unwrap() - 315_966_265.359_836).abs() < 1e-6);
    assert_eq!(told.data("begin")[0]["params"]["deskew"], false);
    let told = run(at, "evaluate poses.txt log/city_SE3_egovehicle.feather --align se3").expect(0);
    assert!(told.out.starts_with("3 pairs of 3 estimated and 5 true poses, "), "{}", told.out);
    // Deskewed all the same, the poses are those of the middles of the sweeps.
    let forced = "odometry log/sensors/lidar --deskew on --format-poses tum --out on.txt --json";
    let told = run(at, forced).expect(0);
    assert!(told.err.contains("sweeps are deskewed") && !told.err.contains("published"), "{}", told.err);
    assert_eq!(told.data("begin")[0]["params"]["deskew"], true);
    let middles = times(&at.join("on.txt"));
    for (middle, stamp) in middles.iter().zip(stamps) {
        let after = middle.parse::<f64>().unwrap() - stamp.parse::<f64>().unwrap();
        assert!((after - 0.05).abs() < 1e-3, "{middle} {stamp}");
    }
    // The name of the data set says the same without a log.
    fs::rename(at.join("log/sensors/lidar"), at.join("sweeps")).unwrap();
    for (named, published) in [("", false), ("--dataset argoverse2", true)] {
        let told = run(at, &format!("odometry sweeps {named}")).expect(0);
        assert_eq!(told.err.contains("published deskewed"), published, "{}", told.err);
    }
}

/// With a real log, if it is there.
#[test]
fn a_real_log_is_compared_with_its_own_poses() {
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/argoverse2/log");
    if !log.is_dir() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let sweeps = log.join("sensors/lidar");
    let told = run(at, &format!("odometry {} --format-poses tum --out poses.txt", sweeps.display())).expect(0);
    assert!(told.err.contains("published deskewed"), "{}", told.err);
    assert_eq!(times(&at.join("poses.txt")), ["315966265.259836", "315966265.360032"]);
    let truth = log.join("city_SE3_egovehicle.feather");
    let told = run(at, &format!("evaluate poses.txt {} --align se3", truth.display())).expect(0);
    assert!(told.out.starts_with("2 pairs of 2 estimated and 2392 true poses, "), "{}", told.out);
}

/// Sweeps under shuffled names, as Apollo `SouthBay` ships them, are taken in the order of their
/// times; with the real ones, if they are there.
#[test]
fn names_that_contradict_times_are_told_and_times_decide() {
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/apollo");
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for name in ["in_order", "shuffled"] {
        fs::create_dir(at.join(name)).unwrap();
    }
    let (n, drive) = (6, drive(Scene::Street, 6));
    for i in 0..n {
        let names = [format!("in_order/{i}"), format!("shuffled/{}", (i * 5 + 2) % n)];
        if real.is_dir() {
            let from = real.join(format!("{i:03}.laz"));
            for name in names {
                fs::copy(&from, at.join(name + ".laz")).unwrap();
            }
            continue;
        }
        let sweep = drive.sweep(i);
        let times: Vec<f64> =
            (0..sweep.len()).map(|k| 1.5e9 + 0.1 * i as f64 + f64::from(sweep.points().row(k)[5])).collect();
        for name in names {
            let mut points = NamedPoints::new(sweep.points(), &["x", "y", "z", "intensity", "ring", "timestamp"]);
            points.fields.to_mut()[5].dtype = Dtype::F64;
            points.wide = vec![WideColumn::new(5, times.clone()).into()];
            write(at.join(name + ".pcd"), points, &WriteOptions::default()).unwrap();
        }
    }
    let poses = |inputs: &str| {
        let told = run(at, &format!("odometry {inputs} --dataset apollo --out poses.txt --format-poses tum")).expect(0);
        (fs::read_to_string(at.join("poses.txt")).unwrap(), told.err)
    };
    let (wanted, told) = poses("in_order");
    assert!(!told.contains("another order") && told.contains("published deskewed"), "{told}");
    let (found, told) = poses("shuffled");
    assert!(found == wanted, "{found}{wanted}");
    let warning = "warning: shuffled: the names of 4 of 6 sweeps give another order than the times of their points; \
                   sweeps are taken in the order of the times\n";
    assert!(told.contains(warning), "{told}");
    // Files that are named stay in the order of the arguments.
    let ending = if real.is_dir() { "laz" } else { "pcd" };
    let (found, told) = poses(&format!("in_order/1.{ending} in_order/0.{ending}"));
    assert!(told.contains("warning: 2 of 2 sweeps are given in another order than the times"), "{told}");
    assert_eq!(found.lines().count(), 2);
}

/// A real road, if it is there: cut off at 30 m its surfaces say as little of the way as those of a
/// tunnel, but what they say holds.
#[test]
fn a_real_road_is_no_tunnel() {
    let road = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/kitti04");
    if !road.is_dir() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for max_range in [30, 40, 60] {
        let line = format!("odometry {} --out poses.txt --max-range {max_range} --json", road.display());
        let told = run(folder.path(), &line).expect(0);
        let summary = told.data("summary").remove(0);
        assert_eq!(summary["statuses"]["tracked"], 24, "{max_range}: {summary}");
        assert!((summary["length"].as_f64().unwrap() - 32.3).abs() < 0.1, "{max_range}: {summary}");
    }
}

/// The poses of a bag have the stamps of its clouds, to the nanosecond, and are found again by
/// `ndt build`.
#[test]
fn poses_of_a_bag_have_its_stamps() {
    for name in ["ouster_zstd", "velodyne_lz4", "hesai_none"] {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let bag = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/bags/{name}.mcap"));
        fs::copy(&bag, at.join("drive.mcap")).unwrap();
        let bag = Bag::open(&bag, &Limits::default()).unwrap();
        let clouds = bag.clouds(None).unwrap();
        let stamps: Vec<_> = clouds.map(|cloud| cloud.unwrap().stamp_ns).collect();
        let text = |ns: i64| {
            let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        run(at, "odometry drive.mcap --min-range 0.01 --deskew off --format-poses tum --out off.txt");
        assert_eq!(times(&at.join("off.txt")), stamps.iter().map(|ns| text(*ns)).collect::<Vec<_>>(), "{name}");
        run(at, "odometry drive.mcap --min-range 0.01 --format-poses tum --out poses.txt");
        for (time, stamp) in times(&at.join("poses.txt")).iter().zip(&stamps) {
            let after = time.parse::<f64>().unwrap() - *stamp as f64 / 1e9;
            assert!(after.abs() < 0.2, "{name}: {after}");
        }
        for poses in ["off", "poses"] {
            let told = run(at, &format!("ndt build drive.mcap --poses {poses}.txt --out {poses}.npz"));
            assert!(told.code == 0, "{name} {poses}: {}", told.err);
        }
    }
}

/// A picture that cannot be written costs the picture alone.
#[cfg(target_os = "linux")]
#[test]
fn poses_and_map_outlive_a_picture_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_drive(at, Scene::Street, 2);
    std::os::unix::fs::symlink("/dev/full", at.join("full.png")).unwrap();
    let told = run(at, "odometry d --out poses.txt --map-out map.ply --visualize full.png").expect(1);
    assert!(told.err.contains("No space left on device"), "{}", told.err);
    assert_eq!(names(at), ["d", "full.png", "map.ply", "poses.txt"]);
    assert_eq!(read_poses(at.join("poses.txt"), &PoseOptions::default()).unwrap().poses.len(), 2);
}

#[test]
fn times_since_1970_deskew_sweeps_that_were_converted() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let drive = drive(Scene::Loop, 3);
    fs::create_dir(at.join("d")).unwrap();
    for i in 0..3 {
        let sweep = drive.sweep(i);
        let stamps = sweep.data().iter().skip(5).step_by(6).map(|&t| 1.7e9 + 0.1 * i as f64 + f64::from(t));
        let stamps: Vec<_> = stamps.collect();
        let mut rows = sweep.data().to_vec();
        rows.iter_mut().skip(5).step_by(6).zip(&stamps).for_each(|(v, &stamp)| *v = stamp as f32);
        let points = pointmill::Points::new(&rows, 6).unwrap();
        let mut named = NamedPoints::new(points, &["x", "y", "z", "intensity", "ring", "timestamp"]);
        named.wide = vec![WideColumn::new(5, stamps).into()];
        write_ply(at.join(format!("d/{i}.ply")), &named).unwrap();
    }
    let told = run(at, "odometry d --out d.txt").expect(0);
    assert!(told.err.contains("column timestamp in s; sweeps are deskewed"), "{}", told.err);
    for to in ["pcd", "feather", "npz"] {
        run(at, &format!("convert d --to {to} --out {to}")).expect(0);
        run(at, &format!("odometry {to} --out {to}.txt")).expect(0);
        assert_eq!(fs::read(at.join(format!("{to}.txt"))).unwrap(), fs::read(at.join("d.txt")).unwrap(), "{to}");
    }
}

/// Where no sweep is tracked there is no trajectory, and the first reason is said.
#[test]
fn a_drive_of_which_no_sweep_is_tracked_ends_with_no() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let drive = drive(Scene::Street, 3);
    let write = |folder: &str, change: &dyn Fn(usize, &mut [f32])| {
        fs::create_dir(at.join(folder)).unwrap();
        for i in 0..3 {
            let mut cloud = drive.sweep(i);
            cloud.rows_mut().for_each(|row| change(i, row));
            write_sweep(&at.join(format!("{folder}/{i}.ply")), &cloud, "time");
        }
    };
    let scale = |by: f32| move |_: usize, row: &mut [f32]| row[..3].iter_mut().for_each(|v| *v *= by);
    write("mm", &scale(1000.0));
    write("zeros", &|_, row| {
        let by = if row[4] == 0.0 { 0.0 } else { 1000.0 };
        row[..3].iter_mut().for_each(|v| *v *= by);
    });
    write("km", &scale(0.001));
    write("nan", &scale(f32::NAN));
    // A first sweep, and others 50 m above it.
    write("away", &|i, row| row[2] += if i == 0 { 0.0 } else { 50.0 });
    for (args, told) in [
        ("mm", "3 too-few-points; mm/0.ply: too few points: all points are farther than --max-range 100 m"),
        ("mm --max-range 20", "all points are farther than --max-range 20 m"),
        ("zeros", "are farther than --max-range 100 m, "),
        ("km", "3 too-few-points; km/0.ply: too few points: all points are nearer than --min-range 1 m"),
        ("nan", "3 too-few-points; nan/0.ply: too few points: all points are NaN"),
        (
            "away",
            "1 started, 2 lost; away/1.ply: the map explains too little of it, here and where the sensor was before",
        ),
    ] {
        let ended = run(at, &format!("odometry {args} --out poses.txt --json")).expect(6);
        assert!(ended.err.contains("no sweep was tracked: ") && ended.err.contains(told), "{args}: {}", ended.err);
        assert_eq!((ended.data("error").last().unwrap()["class"].as_str(), counts(&ended)), (Some("No"), [3, 3, 0, 0]));
        assert!(at.join("poses.txt").exists());
    }
    // A sweep alone, and one that comes again, are where they are.
    run(at, "odometry away/0.ply away/0.ply").expect(0);
    run(at, "odometry mm away/0.ply away/1.ply mm").expect(6);
}

/// The correction of KITTI's sensor is that of the reader, in every format.
#[test]
fn sweeps_of_kitti_odometry_are_turned_up() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let cloud = PointCloud::new(vec![50.0, 0.0, 0.0, 0.5, 0.0, 0.0, 2.0, 0.25], 4).unwrap();
    write_bin(at.join("a.bin"), cloud.points()).unwrap();
    write_ply(at.join("a.ply"), &NamedPoints::new(cloud.points(), &["x", "y", "z", "intensity"])).unwrap();
    for name in ["a.bin", "a.ply"] {
        run(at, &format!("convert {name} --dataset kitti-odometry --out {name}.pcd")).expect(0);
        let turned = read(at.join(format!("{name}.pcd")), &ReadOptions::default()).unwrap();
        let (sine, cosine) = (0.205f64.to_radians().sin(), 0.205f64.to_radians().cos());
        let wanted = [(50.0 * cosine) as f32, 0.0, (50.0 * sine) as f32, 0.5, 0.0, 0.0, 2.0, 0.25];
        assert_eq!(turned.cloud.data(), wanted, "{name}");
    }
}
