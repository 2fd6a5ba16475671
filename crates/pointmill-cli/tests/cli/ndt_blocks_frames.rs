//! Maps by blocks: which blocks a scan needs, the origin that all workers share, sweeps of a sensor
//! that moves.

use crate::ndt_blocks::{blocks, rows, setup};
use crate::{Run, names, run};
use pointmill::Pose;
use pointmill_data::{find_inputs, read_ndt_moments};
use pointmill_io::bag::Bag;
use pointmill_io::{
    ArrayView, Limits, NamedPoints, PoseFormat, PoseOptions, Poses, ReadOptions, read, read_npz, read_poses, write,
    write_npy, write_poses,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const ORIGIN: [f64; 3] = [515_000.0, 4_918_000.0, -1000.0];

/// `n` tiles in UTM, 700 m apart, so that they are in several square kilometres.
fn survey(folder: &Path, n: usize) {
    fs::create_dir_all(folder.join("utm")).unwrap();
    for tile in 0..n {
        let mut points = Vec::new();
        for i in 0..900 {
            let (a, b) = (0.5 * f64::from(i % 30), 0.5 * f64::from(i / 30));
            let z = -2.0 + 0.05 * f64::from((7 * i + 13 * tile as i32) % 11);
            points.extend([515_368.37 + 700.0 * tile as f64 + a, 4_918_340.11 - 450.0 * tile as f64 + b, z]);
        }
        write_npy(folder.join(format!("utm/{tile}.npy")), &ArrayView::f64(&[900, 3], &points)).unwrap();
    }
}

/// Fails unless a map by blocks, merged to one, has the bytes of a map of one plain build.
#[track_caller]
fn assert_is(at: &Path, map: &str, plain: &str) {
    run(at, &format!("ndt merge {map}/*.arrow --out all.npz --moments all.arrow")).expect(0);
    for name in ["npz", "arrow"] {
        let [all, plain] = ["all", plain].map(|stem| fs::read(at.join(format!("{stem}.{name}"))).unwrap());
        assert!(all == plain, "{name}");
    }
}

#[test]
fn all_inputs_share_the_origin_whatever_their_order_and_their_process() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    survey(at, 4);
    let build = "--resolution 2 --blocks 64 --json";
    run(at, "ndt build utm --resolution 2 --out plain.npz --moments plain.arrow").expect(0);
    let told = run(at, &format!("ndt build utm {build} --out whole")).expect(0);
    assert_eq!(told.data("begin")[0]["origin"], serde_json::json!(ORIGIN));
    let wanted = blocks(&at.join("whole"));
    assert!(wanted.len() > 9 && wanted.contains_key("5_5.npz"), "{:?}", wanted.keys());
    assert_is(at, "whole", "plain");
    // Other orders and numbers of workers; a process for each input.
    let shuffled = "utm/3.npy utm/1.npy utm/0.npy utm/2.npy";
    run(at, &format!("ndt build {shuffled} {build} --jobs 2 --out shuffled")).expect(0);
    assert!(blocks(&at.join("shuffled")) == wanted);
    for tile in [2, 0, 3, 1] {
        let args =
            format!("ndt build utm/{tile}.npy {build} --no-merge --local-origin 515000,4918000,-1000 --out array");
        run(at, &args).expect(0);
    }
    run(at, "ndt merge array").expect(0);
    assert!(blocks(&at.join("array")) == wanted);
    // Later inputs take the origin of the map, and those that are done are kept.
    let told = run(at, &format!("ndt build {shuffled} {build} --resume --out whole")).expect(0);
    assert!(told.data("summary")[0]["kept"] == 4 && blocks(&at.join("whole")) == wanted, "{}", told.out);
    for (origin, found) in [("none", "[0.0,0.0,0.0]"), ("515000,4918000,0", "[515000.0,4918000.0,0.0]")] {
        let told = run(at, &format!("ndt build utm {build} --local-origin {origin} --out whole")).expect(2);
        let wanted = format!("map.json: origin: expected {found}, got [515000.0,4918000.0,-1000.0]");
        assert!(told.err.contains(&wanted), "{}", told.err);
    }
    let told = run(at, &format!("ndt build utm/2.npy {build} --no-merge --out new")).expect(2);
    let wanted = "--no-merge: expected the same origin for all runs of the map, got one that the inputs decide; \
                  needs --local-origin 516000,4917000,-1000";
    assert!(told.err.contains(wanted) && !at.join("new").exists(), "{}", told.err);
    // A part about another origin does not merge.
    run(at, "ndt build utm/0.npy --resolution 2 --blocks 64 --local-origin none --out zero").expect(3);
    run(at, "ndt build utm/0.npy --resolution 2 --blocks 64 --local-origin 515000,4918000,0 --out other").expect(0);
    let of = |map: &str| {
        let blocks = at.join(map).join("blocks").join("5_5");
        blocks.join(&names(&blocks)[0])
    };
    fs::copy(of("other"), of("whole")).unwrap();
    let told = run(at, "ndt merge whole").expect(3);
    let wanted = "origin: expected [515000.0, 4918000.0, -1000.0], got [515000.0, 4918000.0, 0.0]";
    assert!(told.err.contains("whole/blocks/5_5/") && told.err.contains(wanted), "{}", told.err);
}

#[test]
fn scans_are_matched_about_the_origin_of_the_blocks_near_their_poses() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    survey(at, 4);
    run(at, "ndt build utm --resolution 2 --out plain.npz").expect(0);
    run(at, "ndt build utm --resolution 2 --blocks 64 --out whole").expect(0);
    let scan: Vec<f64> = (0..300).flat_map(|i| [f64::from(i % 20) * 0.5, f64::from(i / 20) * 0.5, -0.3]).collect();
    write_npy(at.join("scan.npy"), &ArrayView::f64(&[300, 3], &scan)).unwrap();
    fs::write(at.join("pose.txt"), "516075.2 4917899.4 -1.4 0 0 0.02\n").unwrap();
    for flags in ["ndt score --pose pose.txt", "ndt align --max-iterations 10 --guess pose.txt"] {
        let of = |map: &str| run(at, &format!("{flags} --map {map} --scan scan.npy --json"));
        let (plain, near) = (of("plain.npz"), of("whole"));
        assert_eq!(plain.code, near.code, "{}", near.err);
        assert_eq!(plain.data("frame")[0]["poses"], near.data("frame")[0]["poses"], "{flags}");
        let voxels = |told: &Run| told.data("summary")[0]["voxels"].as_u64().unwrap();
        assert!(0 < voxels(&near) && 2 * voxels(&near) < voxels(&plain), "{} {}", voxels(&near), voxels(&plain));
    }
}

#[test]
fn blocks_out_of_reach_are_not_needed_and_one_in_reach_that_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 12);
    run(at, "ndt build tiles --poses poses.txt --resolution 2 --blocks 16 --out map").expect(0);
    let poses = fs::read_to_string(at.join("poses.txt")).unwrap();
    fs::write(at.join("pose.txt"), poses.lines().nth(1).unwrap()).unwrap();
    let score = || run(at, "ndt score --pose pose.txt --map map --scan tiles/1.npy --json");
    let wanted = score().expect(0).data("frame")[0]["poses"].clone();
    // The second tile is at (-11, 39,992) and 43 m wide; blocks have an edge of 16 m.
    let is_far = |name: &str| name.split_once('_').is_some_and(|(x, _)| x.parse::<i32>().is_ok_and(|x| x > 4));
    let merged = names(&at.join("map")).into_iter().filter(|name| name.ends_with(".npz"));
    let (far, near): (Vec<_>, Vec<_>) = merged.partition(|name| is_far(name));
    assert!(far.len() > 3 && near.len() > 3, "{far:?} {near:?}");
    for (i, name) in far.iter().enumerate() {
        let path = at.join("map").join(name);
        if i % 2 == 0 { fs::remove_file(path).unwrap() } else { fs::write(path, "no map").unwrap() }
    }
    assert_eq!(score().expect(0).data("frame")[0]["poses"], wanted);
    // Of a map that was copied without its parts, what is there is the map.
    let kept = fs::read(at.join("map").join(&near[0])).unwrap();
    fs::remove_file(at.join("map").join(&near[0])).unwrap();
    let told = score().expect(3);
    let missing = format!("{}: block: expected the cells of its inputs, got none; merge the block", near[0]);
    assert!(told.err.contains(&missing), "{}", told.err);
    fs::remove_dir_all(at.join("map/blocks")).unwrap();
    score().expect(0);
    fs::write(at.join("map").join(&near[0]), kept).unwrap();
    assert_eq!(score().expect(0).data("frame")[0]["poses"], wanted);
}

/// Where the sensor is `t` seconds after the start.
fn sensor(t: f64) -> Pose {
    let start = Pose::from_xyzrpy([40.0, 300.0, 1.5, 0.0, 0.0, 0.4]).unwrap();
    start.compose(&Pose::exp(&[15.0, 0.2, 0.0, 0.0, 0.01, 0.5].map(|x| x * t)))
}

/// Five sweeps of points that stand still, by a sensor that moves: as it saw them, and where they
/// stand.
fn drive(folder: &Path) -> Vec<[f64; 3]> {
    fs::create_dir_all(folder.join("sweeps")).unwrap();
    let mut world = Vec::new();
    let middle = |sweep: usize| 0.05 + 0.1 * sweep as f64;
    for sweep in 0..5 {
        let (mut rows, mut xyz) = (Vec::new(), Vec::new());
        for i in 0..800u32 {
            let after = 0.1 * f64::from(i) / 799.0;
            let stands =
                [40.0 + f64::from(i * 37 % 40) + 0.25, 300.25 + f64::from(i * 11 % 30), 0.1 + f64::from(i % 5) * 0.2];
            let seen = sensor(0.1 * sweep as f64 + after).inverse().apply(stands);
            xyz.extend(seen);
            rows.extend([seen[0] as f32, seen[1] as f32, seen[2] as f32, after as f32]);
            world.push(stands);
        }
        let points = pointmill::Points::new(&rows, 4).unwrap();
        let mut named = NamedPoints::new(points, &["x", "y", "z", "time"]);
        named.xyz_f64 = Some(&xyz);
        write(folder.join(format!("sweeps/{sweep}.ply")), named, &pointmill_io::WriteOptions::default()).unwrap();
    }
    let poses = |times: Option<Vec<f64>>| Poses {
        poses: (0..5).map(|sweep| sensor(middle(sweep))).collect(),
        times,
        ..Poses::default()
    };
    let times = (0..5).map(|sweep| 3000.0 + middle(sweep)).collect();
    write_poses(folder.join("tum.txt"), &poses(Some(times)), PoseFormat::Tum).unwrap();
    write_poses(folder.join("kitti.txt"), &poses(None), PoseFormat::Kitti).unwrap();
    world
}

/// How far the mean of a cell is from the mean of the points that stand in it, at most, over all
/// cells of more than 20 points.
fn farthest(at: &Path, map: &str, world: &[[f64; 3]]) -> f64 {
    let (cells, lattice) = pointmill_data::read_ndt_map(at.join(map)).unwrap();
    let mut sums = BTreeMap::<[i32; 3], ([f64; 3], f64)>::new();
    for p in world {
        let (sum, n) = sums.entry(p.map(|x| (x / lattice.unit()).floor() as i32)).or_default();
        (0..3).for_each(|k| sum[k] += p[k]);
        *n += 1.0;
    }
    let mut most = 0.0f64;
    for (cell, (sum, n)) in sums.into_iter().filter(|(_, (_, n))| *n > 20.0) {
        let found = cells.coords.iter().position(|other| *other == cell).map_or([f64::INFINITY; 3], |i| cells.mean[i]);
        most = (0..3).fold(most, |most, k| most.max((found[k] - sum[k] / n).abs()));
    }
    most
}

#[test]
fn the_motion_within_a_sweep_is_taken_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let world = drive(at);
    let build = "ndt build sweeps --poses tum.txt --resolution 4 --local-origin none";
    run(at, &format!("{build} --deskew on --out plain.npz --moments plain.arrow")).expect(0);
    run(at, &format!("{build} --out skewed.npz")).expect(0);
    let [deskewed, skewed] = ["plain.npz", "skewed.npz"].map(|map| farthest(at, map, &world));
    assert!(deskewed < 1e-3 && skewed > 0.02, "{deskewed} {skewed}");
    run(at, &format!("{build} --deskew auto --blocks 16 --out whole")).expect(0);
    let wanted = blocks(&at.join("whole"));
    assert_is(at, "whole", "plain");
    run(at, &format!("{build} --deskew on --blocks 16 --jobs 2 --out again")).expect(0);
    assert!(blocks(&at.join("again")) == wanted);
    // Sums of skewed sweeps are not kept for deskewed ones.
    run(at, &format!("{build} --blocks 16 --out later")).expect(0);
    assert!(blocks(&at.join("later")) != wanted);
    let told = run(at, &format!("{build} --deskew auto --blocks 16 --resume --json --out later")).expect(0);
    assert_eq!((&told.data("summary")[0]["kept"], &told.data("begin")[0]["deskew"]), (&0.into(), &"auto".into()));
    assert!(blocks(&at.join("later")) == wanted);
}

#[test]
fn sweeps_that_cannot_be_deskewed_are_taken_as_they_are_or_fail() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    drive(at);
    write_npy(at.join("sweeps/9.npy"), &ArrayView::f64(&[1, 3], &[1.0, 2.0, 3.0])).unwrap();
    let six = fs::read_to_string(at.join("tum.txt")).unwrap() + "3001 0 0 0 0 0 0 1\n";
    fs::write(at.join("tum.txt"), six).unwrap();
    let build = "ndt build sweeps --resolution 4 --blocks 16";
    run(at, &format!("{build} --poses tum.txt --deskew auto --out auto")).expect(0);
    run(at, &format!("{build} --poses tum.txt --deskew on --out on")).expect(3);
    let (input, error) = rows(&at.join("on")).pop().unwrap();
    let wanted = "times: expected a column named t, time, timestamp or the like";
    assert!(input == "../sweeps/9.npy" && error.as_ref().unwrap().contains(wanted), "{error:?}");
    fs::remove_file(at.join("sweeps/9.npy")).unwrap();
    let told = run(at, &format!("{build} --poses kitti.txt --deskew auto --out kitti --json")).expect(0);
    assert_eq!(told.data("begin")[0]["deskew"], "off");
    assert!(told.err.contains("kitti.txt: poses without times; sweeps are taken as they are"), "{}", told.err);
    for (flags, wanted) in [
        (
            "--deskew on --poses kitti.txt",
            "--deskew: expected poses with times (TUM) for on, got poses without: kitti.txt",
        ),
        ("--deskew on", "--deskew: expected poses with times, got none; needs --poses"),
    ] {
        let told = run(at, &format!("{build} {flags} --out o")).expect(2);
        assert!(told.err.contains(wanted), "{}", told.err);
    }
}

/// The times of the points count from the stamps.
#[test]
fn clouds_of_a_bag_are_deskewed_by_their_stamps() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let bag = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags/velodyne_lz4.mcap");
    fs::copy(&bag, at.join("drive.mcap")).unwrap();
    let (mut stamps, mut world) = (Vec::new(), Vec::new());
    let at_time = |stamps: &[f64], time: f64| Pose::exp(&[20.0 * (time - stamps[0]), 0.0, 0.0, 0.0, 0.0, 0.0]);
    for cloud in Bag::open(&bag, &Limits::default()).unwrap().clouds(None).unwrap() {
        let cloud = cloud.unwrap();
        stamps.push(cloud.stamp_ns as f64 / 1e9);
        let times = cloud.scan.times().unwrap();
        let zero = if times.start >= 1e9 { times.start } else { stamps[stamps.len() - 1] + times.start };
        for (p, after) in cloud.scan.xyz().into_iter().zip(&times.seconds) {
            world.extend(at_time(&stamps, zero + after).apply(p));
        }
    }
    let poses = stamps.iter().map(|stamp| at_time(&stamps, *stamp)).collect();
    write_poses(at.join("tum.txt"), &Poses { poses, times: Some(stamps.clone()), ..Poses::default() }, PoseFormat::Tum)
        .unwrap();
    let build = "ndt build drive.mcap --poses tum.txt --resolution 0.05";
    run(at, &format!("{build} --deskew on --moments deskewed.arrow")).expect(0);
    run(at, &format!("{build} --moments skewed.arrow")).expect(0);
    write_npy(at.join("world.npy"), &ArrayView::f64(&[world.len() / 3, 3], &world)).unwrap();
    run(at, "ndt build world.npy --resolution 0.05 --moments world.arrow").expect(0);
    let cells = |name: &str| -> BTreeSet<[i32; 3]> {
        read_ndt_moments(at.join(name)).unwrap().cells.into_iter().map(|(cell, _)| cell).collect()
    };
    let wanted = cells("world.arrow");
    let of = |name: &str| cells(name).intersection(&wanted).count();
    let [all, deskewed, skewed] = ["world.arrow", "deskewed.arrow", "skewed.arrow"].map(of);
    assert!(all > 90 && deskewed > all - 3 && skewed < all / 4, "{all} {deskewed} {skewed}");
}

/// A folder of sweeps in the layout of Argoverse 2 has the poses of its log, by the times in the
/// names of the sweeps.
#[test]
fn the_poses_of_a_log_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/feather/log");
    let copied = folder.path().join("log");
    fs::create_dir_all(copied.join("sensors/lidar")).unwrap();
    let (sweeps, poses) = (copied.join("sensors/lidar"), copied.join("city_SE3_egovehicle.feather"));
    fs::copy(log.join("city_SE3_egovehicle.feather"), &poses).unwrap();
    let known = read_poses(&poses, &PoseOptions::default()).unwrap();
    let mut moved = Vec::new();
    for (i, entry) in find_inputs(&[log.join("sensors/lidar")]).unwrap().into_iter().enumerate() {
        let path = entry.unwrap();
        fs::copy(&path, sweeps.join(path.file_name().unwrap())).unwrap();
        let scan = read(&path, &ReadOptions::default()).unwrap();
        // The poses between the sweeps have no input.
        moved.extend(scan.xyz_in(&known.poses[2 * i]));
    }
    write_npy(folder.path().join("moved.npy"), &ArrayView::f64(&[moved.len() / 3, 3], &moved)).unwrap();
    let cells = "--resolution 16 --min-points 1 --local-origin none";
    run(folder.path(), &format!("ndt build moved.npy {cells} --out wanted.npz")).expect(0);
    let told = run(folder.path(), &format!("ndt build log/sensors/lidar {cells} --out found.npz")).expect(0);
    assert!(
        told.err.contains("log/city_SE3_egovehicle.feather: poses of the log; each sweep is moved"),
        "{}",
        told.err
    );
    assert!(!told.err.contains("have no input"), "{}", told.err);
    let arrays = |name: &str| read_npz(folder.path().join(name)).unwrap();
    assert_eq!(arrays("found.npz"), arrays("wanted.npz"));
    // As blocks, and by another file of poses with times.
    run(folder.path(), &format!("ndt build log/sensors/lidar {cells} --out blocks/")).expect(0);
    assert!(folder.path().join("blocks/map.json").is_file());
    write_poses(folder.path().join("poses.txt"), &known, PoseFormat::Tum).unwrap();
    let told =
        run(folder.path(), &format!("ndt build log/sensors/lidar {cells} --poses poses.txt --out tum.npz")).expect(0);
    assert!(arrays("tum.npz") == arrays("wanted.npz") && !told.err.contains("poses of the log"), "{}", told.err);
    // Sweeps that are named have no poses unless they are given, and a sweep without a pose at its
    // time fails.
    let alone = "ndt build log/sensors/lidar/315966265259836000.feather";
    let told = run(folder.path(), &format!("{alone} {cells} --out alone.npz")).expect(0);
    assert!(!told.err.contains("poses of the log"), "{}", told.err);
    fs::rename(sweeps.join("315966265259836000.feather"), sweeps.join("315966265299836000.feather")).unwrap();
    let told = run(folder.path(), &format!("ndt build log/sensors/lidar {cells} --out late.npz")).expect(3);
    assert!(told.err.contains("expected a pose within 0.001 s of the stamp 315966265.299836"), "{}", told.err);
}
