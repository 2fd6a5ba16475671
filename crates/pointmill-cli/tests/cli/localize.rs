//! `localize`: scans in a map with a start, with a region, in another map, and scans that cannot be
//! used.

use crate::{Run, counts, run};
use pointmill::{Points, Pose};
use pointmill_io::{NamedPoints, PoseFormat, PoseOptions, Poses, read_poses, write_bin, write_ply, write_poses};
use pointmill_synth::{Drive, DriveParams, Scene};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn truth(drive: &Drive, i: usize) -> Pose {
    Pose::from_matrix(&drive.world_from_sensor(i)).unwrap()
}

/// Writes a map of the even sweeps as `map/`, and the odd ones as scans in `d/`.
fn write_drive(at: &Path, map: &str, scans: &str, scene: Scene) -> Drive {
    let params = DriveParams { beams: 32, azimuth_steps: 500, seed: 3, scene, sweeps: 12, ..DriveParams::default() };
    let drive = Drive::new(params);
    for folder in [map, scans] {
        fs::create_dir(at.join(folder)).unwrap();
    }
    for i in 0..12 {
        let (sweep, pose) = (drive.sweep(i), truth(&drive, i));
        if i % 2 == 1 {
            let rows: Vec<f32> = (0..sweep.len()).flat_map(|k| sweep.points().row(k)[..4].to_vec()).collect();
            write_bin(at.join(format!("{scans}/{i:02}.bin")), Points::new(&rows, 4).unwrap()).unwrap();
            continue;
        }
        let world: Vec<f32> = (0..sweep.len())
            .flat_map(|k| {
                let row = sweep.points().row(k);
                pose.apply([row[0], row[1], row[2]].map(f64::from)).map(|x| x as f32)
            })
            .collect();
        let points = Points::new(&world, 3).unwrap();
        write_ply(at.join(format!("{map}/{i:02}.ply")), &NamedPoints::new(points, &["x", "y", "z"])).unwrap();
    }
    drive
}

fn statuses(told: &Run) -> Vec<Value> {
    told.data("frame").iter().map(|frame| frame["status"].clone()).collect()
}

fn write_pose(path: &Path, pose: Pose) {
    write_poses(path, &Poses { poses: vec![pose], times: None, ..Poses::default() }, PoseFormat::Kitti).unwrap();
}

#[test]
fn scans_get_their_poses_in_a_map() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let drive = write_drive(at, "map", "d", Scene::Loop);
    run(at, "ndt build map --out map.npz").expect(0);
    write_pose(&at.join("start.txt"), truth(&drive, 1) * Pose::from_translation([0.8, -0.5, 0.0]));

    let told = run(at, "localize --map map.npz d --guess start.txt --out poses.txt --json").expect(0);
    assert_eq!(counts(&told), [6, 6, 0, 0]);
    assert_eq!(statuses(&told), ["tracked"; 6]);
    let read = PoseOptions { format: Some(PoseFormat::Kitti), ..Default::default() };
    let poses = read_poses(at.join("poses.txt"), &read).unwrap().poses;
    assert_eq!(poses.len(), 6);
    for (k, (pose, frame)) in poses.iter().zip(told.data("frame")).enumerate() {
        let off = truth(&drive, 2 * k + 1).inverse().compose(pose).translation();
        assert!(off.iter().all(|x| x.abs() < 0.1), "{k}: {off:?}");
        let rows: Vec<f64> = serde_json::from_value(frame["map_from_sensor"].clone()).unwrap();
        assert_eq!(pose.matrix().as_flattened(), rows);
        assert_eq!((&frame["rejection"], &frame["index"], &frame["candidates"]), (&Value::Null, &json!(k), &json!([])));
        assert!(frame["evidence"]["explained"].as_f64().unwrap() > 0.8 && frame["covariance"][0][0].is_number());
    }
    let summary = told.data("summary").remove(0);
    assert_eq!(summary["statuses"], json!({ "tracked": 6, "found": 0, "rejected": 0, "lost": 0 }));
    // The same bytes again, from the clouds of the map.
    let sha256 = |told: &Run| told.data("summary")[0]["poses_sha256"].clone();
    let again = run(at, "localize --map map d --guess start.txt --out again.txt --json").expect(0);
    assert_eq!(sha256(&again), sha256(&told));

    // The parameters of the library are flags.
    let flags = "--min-explained 1 --max-rejections 2 --search-radius 9 --max-distance 2.5 --min-nvtl 1 --min-confirmed 0.5 \
                 --min-margin 0.3 --max-points 900 --min-range 2 --max-range 60 --scan-voxel-size 0.5";
    let strict = run(at, &format!("localize --map map d --guess start.txt --json {flags}")).expect(6);
    assert_eq!(statuses(&strict)[0], "rejected");
    assert_eq!(strict.data("frame")[0]["rejection"], "unexplained");
    let params = strict.data("begin").remove(0)["params"].clone();
    let given = |names: &[&str]| names.iter().map(|name| params[*name].as_f64().unwrap()).collect::<Vec<_>>();
    let names = ["min_explained", "max_rejections", "search_radius", "max_distance", "min_nvtl", "min_confirmed"];
    assert_eq!(given(&names), [1.0, 2.0, 9.0, 2.5, 1.0, 0.5]);
    let names = ["min_margin", "max_points", "min_range", "max_range", "voxel_size"];
    assert_eq!(given(&names), [0.3, 900.0, 2.0, 60.0, 0.5]);

    // Without a start, and for people.
    let [x, y, _] = truth(&drive, 1).translation();
    let region = format!("{},{},{},{}", x - 4.0, y - 3.0, x + 2.0, y + 5.0);
    let told = run(at, &format!("localize --map map.npz d/01.bin d/03.bin --region {region} --out p.txt"));
    let told = told.expect(0);
    for part in ["1 tracked, 1 found", "poses: p.txt", "sha256: "] {
        assert!(told.out.contains(part), "{part}: {}", told.out);
    }
    assert!(
        read_poses(at.join("p.txt"), &read).unwrap().poses[0]
            .inverse()
            .compose(&poses[0])
            .translation()
            .iter()
            .all(|x| x.abs() < 0.02)
    );
}

#[test]
fn what_is_no_fix_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let drive = write_drive(at, "map", "d", Scene::Loop);
    run(at, "ndt build map --out map.npz").expect(0);
    write_pose(&at.join("start.txt"), truth(&drive, 1));
    write_pose(&at.join("far.txt"), truth(&drive, 1) * Pose::from_translation([400.0, 0.0, 0.0]));
    // A scan that cannot be read in between, and one without points.
    fs::write(at.join("d/04.bin"), [0; 7]).unwrap();
    fs::write(at.join("d/06.bin"), [0; 0]).unwrap();
    let told = run(at, "localize --map map.npz d --guess start.txt --out poses.txt --json").expect(3);
    assert_eq!(counts(&told), [8, 7, 0, 1]);
    let wanted = ["tracked", "tracked", "tracked", "rejected", "tracked", "tracked", "tracked"];
    assert_eq!(statuses(&told), wanted);
    let empty = &told.data("frame")[3];
    assert_eq!((&empty["rejection"], &empty["points"]), (&json!("too-few-points"), &json!(0)));
    assert_eq!(fs::read_to_string(at.join("poses.txt")).unwrap().lines().count(), 8);

    let told = run(at, "localize --map map.npz d/01.bin --guess far.txt --json").expect(6);
    assert_eq!(told.data("frame")[0]["rejection"], "outside-map");
    assert!(told.err.contains("no fix: 1 of 1 scan"), "{}", told.err);
    // The map of another place.
    write_drive(at, "other", "e", Scene::Tunnel);
    let told = run(at, "localize --map other d/01.bin --region -5,-5,5,5 --json").expect(6);
    assert_eq!(statuses(&told), ["lost"]);
}

#[test]
fn of_a_map_by_blocks_what_is_near_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let drive = write_drive(at, "map", "d", Scene::Loop);
    // A part of the map that is 1 km away, of another place than the first scans.
    fs::copy(at.join("map/10.ply"), at.join("map/far.ply")).unwrap();
    let poses = [vec![Pose::IDENTITY; 6], vec![Pose::from_translation([1000.0, 0.0, 0.0])]].concat();
    write_poses(at.join("at.txt"), &Poses { poses, times: None, ..Poses::default() }, PoseFormat::Kitti).unwrap();
    run(at, "ndt build map --poses at.txt --blocks 32 --out blocks").expect(0);
    run(at, "ndt build map --poses at.txt --out whole.npz").expect(0);
    write_pose(&at.join("start.txt"), truth(&drive, 1) * Pose::from_translation([0.8, -0.5, 0.0]));
    let sha256 = |told: &Run| told.data("summary")[0]["poses_sha256"].clone();
    let cells = |told: &Run| told.data("summary")[0]["map_cells"].as_u64().unwrap();

    let all = run(at, "localize --map whole.npz d --guess start.txt --out poses.txt --json").expect(0);
    let near = run(at, "localize --map blocks d --guess start.txt --out near.txt --json").expect(0);
    assert_eq!(sha256(&near), sha256(&all));
    assert!(cells(&near) < cells(&all) && cells(&near) > 0, "{} of {}", cells(&near), cells(&all));
    let [x, y, _] = truth(&drive, 1).translation();
    let region = format!("--region {},{},{},{}", x - 4.0, y - 3.0, x + 2.0, y + 5.0);
    let all = run(at, &format!("localize --map whole.npz d {region} --out poses.txt --json")).expect(0);
    let near = run(at, &format!("localize --map blocks d {region} --out near.txt --json")).expect(0);
    assert_eq!(sha256(&near), sha256(&all));
    // Without both, all of the map is searched.
    let both = ["whole.npz", "blocks"]
        .map(|map| sha256(&run(at, &format!("localize --map {map} d/01.bin d/03.bin --out p.txt --json")).expect(0)));
    assert_eq!(both[0], both[1]);

    // About an origin.
    run(at, "ndt build map --poses at.txt --local-origin 100,-50,0 --blocks 32 --out about").expect(0);
    run(at, "ndt build map --poses at.txt --local-origin 100,-50,0 --out about.npz").expect(0);
    let both = ["about.npz", "about"]
        .map(|map| sha256(&run(at, &format!("localize --map {map} d --guess start.txt --out p.txt --json")).expect(0)));
    assert_eq!(both[0], both[1]);

    // Files far away are not read, and a file that is near is missed by the scans that need it.
    fs::write(at.join("blocks/31_0.arrow"), "no sums").unwrap();
    let told = run(at, "localize --map blocks d --guess start.txt --out far.txt --json").expect(0);
    assert_eq!(sha256(&told), sha256(&run(at, "localize --map whole.npz d --guess start.txt --out p.txt --json")));
    let block = [x, y].map(|x| (x / 32.0).floor() as i32);
    fs::write(at.join(format!("blocks/{}_{}.arrow", block[0], block[1])), "no sums").unwrap();
    let told = run(at, "localize --map blocks d --guess start.txt --out bad.txt --json").expect(3);
    assert_eq!(counts(&told), [6, 0, 0, 6]);
    let tile = format!("map: expected the sums of tile {}_{}, got ", block[0], block[1]);
    assert!(told.err.contains(&tile), "{}", told.err);
    assert!(!at.join("bad.txt").exists(), "no scan was read");
}

/// A start is no place for the poses, a picture that fails costs no pose, and the times of poses
/// are those in the names of the scans.
#[test]
fn poses_are_written_first_with_stamps_and_not_over_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let drive = write_drive(at, "map", "d", Scene::Loop);
    run(at, "ndt build map --out map.npz").expect(0);
    write_pose(&at.join("start.txt"), truth(&drive, 1));

    let log = at.join("log/sensors/lidar");
    fs::create_dir_all(&log).unwrap();
    for (i, stamp) in [(1, 315_966_265_259_836_001u64), (3, 315_966_265_459_836_000)] {
        let scan = pointmill_io::read(at.join(format!("d/{i:02}.bin")), &pointmill_io::ReadOptions::default()).unwrap();
        pointmill_io::write(log.join(format!("{stamp}.feather")), &scan, &pointmill_io::WriteOptions::default())
            .unwrap();
    }
    let localize = "localize --map map.npz --guess start.txt --format-poses tum";
    let told = run(at, &format!("{localize} log/sensors/lidar --out poses.txt --json")).expect(0);
    let text = fs::read_to_string(at.join("poses.txt")).unwrap();
    let times: Vec<_> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(times, ["315966265.259836001", "315966265.459836"]);
    let read = read_poses(at.join("poses.txt"), &PoseOptions::default()).unwrap();
    let rows: Vec<f64> = serde_json::from_value(told.data("frame")[1]["map_from_sensor"].clone()).unwrap();
    let last = read.poses[1].matrix();
    assert!(last.as_flattened().iter().zip(&rows).all(|(a, b)| (a - b).abs() < 1e-12), "{rows:?}");
    #[cfg(target_os = "linux")]
    {
        std::os::unix::fs::symlink("/dev/full", at.join("full.png")).unwrap();
        run(at, &format!("{localize} d/01.bin d/03.bin --out kept.txt --visualize full.png")).expect(1);
        let kept = read_poses(at.join("kept.txt"), &PoseOptions::default()).unwrap();
        assert_eq!(kept.times.unwrap(), [0.0, 0.1]);
    }
}
