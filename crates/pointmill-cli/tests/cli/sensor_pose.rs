//! `--sensor-pose` and `--format-poses csv`: poses of the vehicle, and what is known of each pose.

use crate::{Run, run};
use pointmill::Pose;
use pointmill_io::{
    NamedPoints, PoseFormat, PoseOptions, Poses, ReadOptions, read, read_poses, write_ply, write_poses,
};
use pointmill_synth::{Drive, DriveParams, Scene};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Where the sensor is on the vehicle, as the flag has it.
const FLAG: &str = "--sensor-pose=0.9,-0.4,1.6,0.03,-0.05,1.2";

fn sensor() -> Pose {
    Pose::from_urdf([0.9, -0.4, 1.6, 0.03, -0.05, 1.2]).unwrap()
}

fn write_drive(at: &Path) -> Drive {
    let drive = Drive::new(DriveParams {
        beams: 32,
        azimuth_steps: 500,
        seed: 5,
        scene: Scene::Loop,
        sweeps: 8,
        ..DriveParams::default()
    });
    fs::create_dir(at.join("d")).unwrap();
    for i in 0..8 {
        let sweep = drive.sweep(i);
        let named = NamedPoints::new(sweep.points(), &["x", "y", "z", "intensity", "ring", "time"]);
        write_ply(at.join(format!("d/{i:03}.ply")), &named).unwrap();
    }
    drive
}

fn poses_of(path: &Path) -> Poses {
    read_poses(path, &PoseOptions::default()).unwrap()
}

fn matrix_of(frame: &Value, name: &str) -> Pose {
    let rows: Vec<f64> = serde_json::from_value(frame[name].clone()).unwrap();
    let rows: [[f64; 4]; 4] = std::array::from_fn(|i| std::array::from_fn(|j| rows[4 * i + j]));
    Pose::from_matrix(&rows).unwrap()
}

fn assert_near(a: &Pose, b: &Pose, within: f64) {
    let (a, b) = (a.matrix(), b.matrix());
    let off = a.as_flattened().iter().zip(b.as_flattened()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off < within, "{off}: {a:?} {b:?}");
}

/// The cells of a table: a header, and rows by its names.
fn table(path: &Path) -> Vec<Vec<(String, String)>> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let header = lines.next().unwrap();
    lines
        .map(|row| {
            assert_eq!(row.len(), header.len());
            header.iter().cloned().zip(row).collect()
        })
        .collect()
}

fn cell<'a>(row: &'a [(String, String)], name: &str) -> &'a str {
    &row.iter().find(|(column, _)| column == name).unwrap().1
}

fn sha256(told: &Run) -> Value {
    told.data("summary")[0]["poses_sha256"].clone()
}

#[test]
fn odometry_of_the_vehicle() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_drive(at);
    run(at, "odometry d --deskew off --out sensor.txt --map-out sensor.ply --json").expect(0);
    let told = run(at, &format!("odometry d --deskew off --out vehicle.txt --map-out vehicle.ply {FLAG} --json"));
    let told = told.expect(0);
    let csv = run(at, &format!("odometry d --deskew off --out vehicle.csv --format-poses csv {FLAG} --json")).expect(0);
    assert_eq!(matrix_of(&told.data("begin")[0], "sensor_pose"), sensor());

    let (of_sensor, of_vehicle) = (poses_of(&at.join("sensor.txt")).poses, poses_of(&at.join("vehicle.txt")).poses);
    assert_eq!(of_vehicle.len(), 8);
    let frames = told.data("frame");
    for (i, (a, b)) in of_sensor.iter().zip(&of_vehicle).enumerate() {
        assert_near(b, &sensor().compose(a).compose(&sensor().inverse()), 1e-9);
        assert_near(&matrix_of(&frames[i], "world_from_sensor"), &sensor().compose(a), 1e-9);
    }
    let maps = ["sensor.ply", "vehicle.ply"].map(|name| read(at.join(name), &ReadOptions::default()).unwrap());
    let [a, b] = maps.each_ref().map(|map| map.iter_xyz().collect::<Vec<_>>());
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(&b) {
        assert!(sensor().apply(*a).iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9), "{a:?} {b:?}");
    }

    // The table says the same, what became of each, and how sure it is.
    assert_ne!(sha256(&told), sha256(&csv));
    let read = poses_of(&at.join("vehicle.csv"));
    read.poses.iter().zip(&of_vehicle).for_each(|(a, b)| assert_near(a, b, 1e-9));
    let rows = table(&at.join("vehicle.csv"));
    assert_eq!((rows.len(), read.times.unwrap().len()), (8, 8));
    let number = |row: &[(String, String)], name: &str| cell(row, name).parse::<f64>().unwrap();
    for (i, row) in rows.iter().enumerate() {
        assert_eq!((cell(row, "frame_id"), cell(row, "child_frame_id")), ("odom", "base_link"));
        assert_eq!(cell(row, "status"), frames[i]["status"].as_str().unwrap());
        if i == 0 {
            assert!(
                ["linear_x", "angular_z", "covariance_0", "covariance_35"]
                    .iter()
                    .all(|name| cell(row, name).is_empty())
            );
            continue;
        }
        // About ten metres a second along the axis of the vehicle that the sensor does not point along.
        let speed = ["linear_x", "linear_y", "linear_z"].map(|name| number(row, name));
        let moved = frames[i]["moved"].as_f64().unwrap();
        assert!((speed.iter().map(|x| x * x).sum::<f64>().sqrt() * 0.1 - moved).abs() < 0.02 * moved, "{speed:?}");
        let covariance: Vec<f64> = (0..36).map(|k| number(row, &format!("covariance_{k}"))).collect();
        for (a, b) in (0..36).map(|k| (k / 6, k % 6)) {
            assert_eq!(covariance[6 * a + b], covariance[6 * b + a]);
        }
        assert!((0..6).all(|k| covariance[7 * k] > 0.0));
        // A turned world does not change how much a rotation is in doubt.
        let of_sensor: Vec<Vec<f64>> = serde_json::from_value(frames[i]["covariance"].clone()).unwrap();
        let trace = |of: &dyn Fn(usize) -> f64| (3..6).map(of).sum::<f64>();
        let (a, b) = (trace(&|k| covariance[7 * k]), trace(&|k| of_sensor[k][k]));
        assert!((a - b).abs() < 1e-9 * b, "{a} {b}");
    }
}

#[test]
fn maps_and_fixes_of_the_vehicle() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let drive = write_drive(at);
    let truth: Vec<Pose> = (0..8).map(|i| Pose::from_matrix(&drive.world_from_sensor(i)).unwrap()).collect();
    let vehicle: Vec<Pose> = truth.iter().map(|pose| pose.compose(&sensor().inverse())).collect();
    for (name, poses) in [("sensor.txt", &truth), ("vehicle.txt", &vehicle)] {
        write_poses(at.join(name), &Poses { poses: poses.clone(), ..Poses::default() }, PoseFormat::Kitti).unwrap();
    }
    run(at, "ndt build d --poses sensor.txt --out sensor.npz").expect(0);
    run(at, &format!("ndt build d --poses vehicle.txt {FLAG} --out vehicle.npz")).expect(0);
    run(at, &format!("ndt build d --poses vehicle.txt {FLAG} --blocks 64 --out blocks")).expect(0);
    let cells = ["sensor.npz", "vehicle.npz"].map(|map| pointmill_data::read_ndt_map(at.join(map)).unwrap().0);
    assert_eq!(cells[0].coords, cells[1].coords);
    assert!(cells[0].mean.iter().flatten().zip(cells[1].mean.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-4));

    // Joined sweeps are where the sensor was, and a map by tiles is one.
    for (name, poses) in [("a.ply", "sensor.txt".to_owned()), ("b.ply", format!("vehicle.txt {FLAG}"))] {
        run(at, &format!("merge d --poses {poses} --voxel-size 0.5 --out {name}")).expect(0);
    }
    let [a, b] = ["a.ply", "b.ply"].map(|name| read(at.join(name), &ReadOptions::default()).unwrap().xyz());
    assert!(a.len() == b.len() && a.iter().flatten().zip(b.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-3));

    let [x, y, z, roll, pitch, yaw] = vehicle[0].xyzrpy();
    let guess = format!("--guess={},{},{z},{roll},{pitch},{yaw}", x + 0.3, y - 0.2);
    for map in ["vehicle.npz", "blocks"] {
        let told = run(at, &format!("localize --map {map} d {guess} {FLAG} --out fixes.csv --format-poses csv --json"));
        let told = told.expect(0);
        let (fixes, rows) = (poses_of(&at.join("fixes.csv")).poses, table(&at.join("fixes.csv")));
        for (i, frame) in told.data("frame").iter().enumerate() {
            let off = vehicle[i].inverse().compose(&fixes[i]).translation();
            assert!(off.iter().all(|x| x.abs() < 0.1), "{i}: {off:?}");
            let found = matrix_of(frame, "map_from_sensor");
            assert_near(&found, &fixes[i].compose(&sensor()), 1e-9);
            assert_eq!((cell(&rows[i], "frame_id"), cell(&rows[i], "status")), ("map", "tracked"));
            assert!((0..6).all(|k| cell(&rows[i], &format!("covariance_{}", 7 * k)).parse::<f64>().unwrap() > 0.0));
        }
    }
    run(at, "ndt align --map sensor.npz --scan d/003.ply --guess sensor.txt --out at.csv --format-poses csv").expect(0);
    let row = table(&at.join("at.csv")).remove(0);
    assert_eq!((cell(&row, "status"), cell(&row, "child_frame_id")), ("step-below", "sensor"));
}

#[test]
fn poses_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_drive(at);
    for (command, wanted) in [
        ("odometry d --sensor-pose 1,2,3", "expected 6 numbers separated by commas, got 3: X,Y,Z,ROLL"),
        ("odometry d --sensor-pose nan,0,0,0,0,0", "finite"),
        ("ndt build d --sensor-pose 1,2,3,0,0,0 --out m.npz", "--sensor-pose: needs --poses"),
        ("merge d --sensor-pose 1,2,3,0,0,0 --out m.ply", "--sensor-pose: needs --poses"),
        ("odometry d --sensor-pose base_link", "--sensor-pose base_link: expected X,Y,Z"),
        ("odometry d --out poses.csv", "--out poses.csv: expected --format-poses csv"),
        ("odometry d --out poses.txt --format-poses csv", "--out poses.txt: expected a file name ending in .csv"),
    ] {
        let told = run(at, command).expect(2);
        assert!(told.err.contains(wanted), "{command}: {}", told.err);
    }
    assert_eq!(fs::read_dir(at).unwrap().count(), 1);
}

/// The static transforms of a bag say where the sensor is.
#[test]
fn a_frame_of_the_bag_is_the_vehicle() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let identities = Poses { poses: vec![Pose::IDENTITY; 4], ..Poses::default() };
    write_poses(at.join("poses.txt"), &identities, PoseFormat::Kitti).unwrap();
    let bag = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags/joined.mcap");
    fs::copy(bag, at.join("drive.mcap")).unwrap();
    let merge = "merge drive.mcap --topic /front --poses poses.txt --out a.ply --sensor-pose";
    run(at, &format!("{merge} base_link")).expect(0);
    let points = read(at.join("a.ply"), &ReadOptions::default()).unwrap().xyz();
    // The sensor is 1 m before and 2 m above the origin of the vehicle.
    assert_eq!((points.len(), points[0]), (12, [2.0, 0.0, 2.0]));
    let told = run(at, &format!("{merge} odom")).expect(2);
    assert!(told.err.contains("--sensor-pose odom: ") && told.err.contains("`front`"), "{}", told.err);
}
