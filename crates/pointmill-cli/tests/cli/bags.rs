//! MCAP bags as inputs: a sequence of clouds.

use crate::{counts, names, run};
use pointmill_io::read_npy;
use std::fs;
use std::path::Path;

/// A bag of other programs, as `drive.mcap` in a folder.
fn write_drive(folder: &Path, name: &str) -> Vec<u8> {
    let bag = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags").join(name);
    let bytes = fs::read(bag).unwrap();
    fs::write(folder.join("drive.mcap"), &bytes).unwrap();
    bytes
}

#[test]
fn info_lists_topics_and_layouts() {
    let folder = tempfile::tempdir().unwrap();
    write_drive(folder.path(), "ouster_zstd.mcap");
    let told = run(folder.path(), "info drive.mcap").expect(0);
    let wanted = "format     mcap\n\
        topic      /notes  std_msgs/msg/String, 3 messages in 0.200 s\n\
        topic      /points  sensor_msgs/msg/PointCloud2, 3 messages in 0.200 s\n\
        \x20 first    4 x 8 points of 48 bytes in `lidar`\n\
        \x20 columns  9: x f32, y f32, z f32, intensity f32, t u32, reflectivity u16, ring u16, ambient u16, range u32\n\
        \x20 times    `t` in ns (by the span), from the stamp\n";
    assert_eq!(told.out, wanted);
    let told = run(folder.path(), "info drive.mcap --json").expect(0);
    let frame = told.data("frame").remove(0);
    assert_eq!((&frame["format"], frame.get("points")), (&"mcap".into(), None));
    let topic = &frame["topics"][1];
    assert_eq!((&topic["name"], &topic["messages"]), (&"/points".into(), &3.into()));
    assert_eq!(topic["first_ns"], 1_700_000_000_005_000_000u64);
    assert_eq!(
        topic["layout"]["times"],
        serde_json::json!({"name": "t", "unit": "ns", "unit_source": "span", "origin": "stamp"})
    );
    assert_eq!(frame["topics"][0]["layout"], serde_json::Value::Null);
}

#[test]
fn convert_writes_a_file_for_each_cloud() {
    let folder = tempfile::tempdir().unwrap();
    write_drive(folder.path(), "velodyne_lz4.mcap");
    let told = run(folder.path(), "convert drive.mcap --to npy --out clouds --resume --json").expect(0);
    let inputs: Vec<_> = told.data("frame").iter().map(|f| f["input"].as_str().unwrap().to_owned()).collect();
    assert_eq!(inputs, ["drive.mcap#000000", "drive.mcap#000001", "drive.mcap#000002"]);
    let clouds = folder.path().join("clouds");
    assert_eq!(names(&clouds), ["drive_000000.npy", "drive_000001.npy", "drive_000002.npy"]);
    assert_eq!(read_npy(clouds.join("drive_000002.npy")).unwrap().shape(), [37, 6]);
    let again = run(folder.path(), "convert drive.mcap --to npy --out clouds --resume --json").expect(0);
    assert_eq!(counts(&again), [3, 0, 3, 0]);
}

#[test]
fn operators_take_each_cloud() {
    let folder = tempfile::tempdir().unwrap();
    write_drive(folder.path(), "hesai_none.mcap");
    let told = run(folder.path(), "voxelize drive.mcap --out v --json").expect(0);
    assert_eq!(counts(&told), [3, 3, 0, 0]);
    assert_eq!(names(&folder.path().join("v")), ["drive_000000.npz", "drive_000001.npz", "drive_000002.npz"]);
}

#[test]
fn topics_are_named_and_a_cut_bag_gives_what_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = write_drive(folder.path(), "xyzirc_plain.mcap");
    fs::write(folder.path().join("drive.mcap"), &bytes[..bytes.len() - 20]).unwrap();
    let told = run(folder.path(), "convert drive.mcap --to ply --out c --topic /points --json").expect(3);
    assert_eq!(counts(&told), [4, 3, 0, 1]);
    let error = told.data("error").remove(0);
    assert_eq!((&error["class"], &error["input"]), (&"Truncated".into(), &"drive.mcap".into()));
    let told = run(folder.path(), "info drive.mcap").expect(0);
    assert!(told.err.contains("the bag was cut"), "{}", told.err);
}

#[test]
fn flags_that_say_what_a_data_set_says() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.bin"), [0; 160]).unwrap();
    for args in ["--dataset kitti --columns 4", "--dataset kitti --format bin", "--dataset nuscenes"] {
        run(folder.path(), &format!("info a.bin {args}")).expect(0);
    }
}

#[test]
fn a_scan_of_an_e57_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/e57/posed.e57");
    fs::copy(file, folder.path().join("a.e57")).unwrap();
    for (args, points) in [("", 100), ("--scan-number 1", 40), ("--scan 1", 40), ("--scan=0", 60)] {
        for command in ["info", "voxelize", "ndt build"] {
            let told = run(folder.path(), &format!("{command} a.e57 --json {args}")).expect(0);
            assert_eq!(told.data("frame")[0]["points"], points, "{command} {args}");
        }
    }
    // Where --scan is the scan to align, only the longer name is the number.
    run(folder.path(), "ndt build a.e57 --min-points 1 --out map.npz").expect(0);
    run(folder.path(), "ndt align --map map.npz --scan a.e57 --scan-number 1 --max-iterations 1 --json");
}

/// A bag with a message in each of two topics of clouds.
fn two_topics() -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
    let record = |op: u8, parts: &[&[u8]]| {
        let content = parts.concat();
        [&[op][..], &(content.len() as u64).to_le_bytes(), &content].concat()
    };
    let (magic, none) = (b"\x89MCAP0\r\n".to_vec(), [0; 4]);
    let channel = |id: u8, topic: &str| record(4, &[&[id, 0, 1, 0], &text(topic), &text("cdr"), &none]);
    let message = |id: u8| record(5, &[&[id, 0], &none, &[0; 16], &none]);
    let schema = record(3, &[&[1, 0], &text("sensor_msgs/msg/PointCloud2"), &text("ros2msg"), &none]);
    let ends = [record(0x0f, &[&none]), record(2, &[&[0; 20]])].concat();
    let records = [channel(1, "/front"), channel(2, "/rear"), message(1), message(2)].concat();
    [magic.clone(), record(1, &[&none, &none]), schema, records, ends, magic].concat()
}

/// A bag that has no answer fails in its turn among others; alone it is an error of usage.
#[test]
fn a_bag_of_two_topics_fails_in_its_turn() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("in")).unwrap();
    fs::write(at.join("in/1.mcap"), two_topics()).unwrap();
    let wanted = "in/1.mcap: topic: expected one of sensor_msgs/PointCloud2 or Livox's CustomMsg, got 2; choose one with --topic: /front, /rear";
    for line in ["voxelize in --out out", "convert in/1.mcap --to ply --out out"] {
        let told = run(at, line).expect(2);
        assert!(told.err.contains(wanted), "{}", told.err);
    }
    [0, 2].iter().for_each(|i| drop(crate::write_cloud(at, &format!("in/{i}.bin"), 100)));
    for line in ["voxelize in --out out", "convert in --to ply --out out", "ndt build in --min-points 3 --out out"] {
        fs::remove_dir_all(at.join("out")).ok();
        let told = run(at, &format!("{line} --json")).expect(3);
        assert!(told.err.contains(wanted), "{}", told.err);
        assert_eq!((counts(&told), names(&at.join("out")).len()), ([3, 2, 0, 1], 2), "{line}");
        assert_eq!(told.data("error")[0]["class"], "InvalidArgument");
    }
}

/// The files that `convert` makes of a bag, by name.
fn converted(folder: &Path, bag: &str) -> Vec<(String, Vec<u8>)> {
    run(folder, &format!("convert {bag} --to npy --out out")).expect(0);
    names_and_bytes(folder)
}

#[test]
fn every_container_gives_the_same_clouds() {
    let folder = tempfile::tempdir().unwrap();
    let bags = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags");
    for (mcap, other) in [
        ("velodyne_none.mcap", "velodyne_none.bag"),
        ("ouster_zstd.mcap", "ouster_bz2.bag"),
        ("hesai_lz4.mcap", "hesai_lz4.bag"),
        ("livox_lz4.mcap", "livox_sqlite.db3"),
        ("ouster_zstd.mcap", "ouster_sqlite.db3"),
    ] {
        let container = other.rsplit_once('.').unwrap().1;
        fs::copy(bags.join(mcap), folder.path().join("drive.mcap")).unwrap();
        fs::copy(bags.join(other), folder.path().join(format!("drive.{container}"))).unwrap();
        let wanted = converted(folder.path(), "drive.mcap");
        assert_eq!(wanted.len(), 3);
        assert_eq!(converted(folder.path(), &format!("drive.{container} --topic /points")), wanted, "{other}");
        assert_eq!(converted(folder.path(), &format!("drive.{container} --frames 1:2")), wanted[1..2], "{other}");
        let told = run(folder.path(), &format!("info drive.{container} --json")).expect(0);
        let frame = told.data("frame").remove(0);
        assert_eq!((&frame["format"], &frame["topics"][1]["messages"]), (&container.into(), &3.into()));
    }
}

/// A bag of two sensors in a folder.
fn copy_joined(folder: &Path, ending: &str) {
    let bag = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags").join(format!("joined.{ending}"));
    fs::copy(bag, folder.join(format!("joined.{ending}"))).unwrap();
}

#[test]
fn topics_are_joined_in_every_container() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut all = vec![];
    for ending in ["mcap", "bag", "db3"] {
        copy_joined(at, ending);
        let told =
            run(at, &format!("convert joined.{ending} --to ply --out out --topic /front,/rear --json")).expect(0);
        assert_eq!(counts(&told), [4, 4, 0, 0]);
        let warnings: Vec<_> = told.data("frame").iter().map(|frame| frame["warnings"].to_string()).collect();
        let wanted = "/front is joined with /rear in the frame `base_link`: 4 sweeps; 1 sweep without a cloud of /rear, \
                      0 clouds of it in no sweep; columns that not all have were left out: `ring`";
        assert!(warnings[0].contains(wanted), "{}", warnings[0]);
        assert!(warnings[1..].iter().all(|others| !others.contains("joined")), "{warnings:?}");
        let scan = pointmill_io::read(at.join("out/joined_000000.ply"), &pointmill_io::ReadOptions::default()).unwrap();
        let names: Vec<_> = scan.fields.iter().map(|field| &*field.name).collect();
        assert_eq!(names, ["x", "y", "z", "time_s", "sensor"]);
        assert_eq!(scan.xyz()[..4], [[2.0, 0.0, 2.0], [3.0, 0.5, 2.0], [4.0, 0.0, 2.0], [-2.0, 0.0, 1.0]]);
        let times = scan.times().unwrap();
        assert!(times.start == 0.0 && (times.span() - 0.07).abs() < 1e-8, "{} {}", times.start, times.span());
        all.push(names_and_bytes(at));
    }
    assert!(all[0].len() == 4 && all[1] == all[0] && all[2] == all[0]);
    // Of some frames, the first one tells.
    let told = run(at, "voxelize joined.mcap --topic /front,/rear --frames 2:4 --out v --json").expect(0);
    assert!(told.data("frame")[0]["warnings"].to_string().contains("4 sweeps"));
    assert_eq!(told.data("frame")[0]["input"], "joined.mcap#000002");
    let told = run(at, "voxelize joined.mcap#000001 --topic /front,/rear --out one.npz --json").expect(0);
    assert_eq!(told.data("frame")[0]["points"], 6);
}

/// The files of the folder `out`, which is removed.
fn names_and_bytes(at: &Path) -> Vec<(String, Vec<u8>)> {
    let out = at.join("out");
    let files = names(&out).into_iter().map(|name| (name.clone(), fs::read(out.join(name)).unwrap())).collect();
    fs::remove_dir_all(out).unwrap();
    files
}

#[test]
fn extrinsics_move_topics() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    copy_joined(at, "mcap");
    fs::write(at.join("sensors.txt"), "# NAME X Y Z ROLL PITCH YAW\n/front 10 0 0 0 0 0\nrear 0 0 5 0 0 0\n").unwrap();
    run(at, "convert joined.mcap --to npy --out out --topic /front,/rear --extrinsics sensors.txt").expect(0);
    let cloud = read_npy(at.join("out/joined_000001.npy")).unwrap();
    assert_eq!(cloud.shape(), [6, 5]);
    run(at, "convert joined.mcap --to npy --out one --topic /front --extrinsics sensors.txt").expect(0);
    for (text, wanted) in [
        ("/front 1 0 0 0 0 0\n", "expected a line for /rear, or for its frame `rear`"),
        ("/front 1 0 0 0 0 0\n/rear 0 0 0 0 0\n", "sensors.txt: line 2: expected NAME X Y Z ROLL PITCH YAW"),
        ("/front 1 0 0 0 0 0\nrear 0 0 0 0 0 0\nleft 0 0 0 0 0 0\n", "got `left`"),
    ] {
        fs::write(at.join("sensors.txt"), text).unwrap();
        let line = "convert joined.mcap --to npy --out c --topic /front,/rear --extrinsics sensors.txt";
        let told = run(at, line);
        assert!(told.err.contains(wanted), "{}", told.err);
        assert!(!at.join("c").exists());
    }
    fs::write(at.join("a.bin"), [0; 160]).unwrap();
    fs::write(at.join("sensors.txt"), "/front 1 0 0 0 0 0\n").unwrap();
    let told = run(at, "convert a.bin --to npy --out a.npy --extrinsics sensors.txt").expect(3);
    assert!(told.err.contains("extrinsics: expected a bag of sweeps"), "{}", told.err);
}

/// The same messages give one trajectory, bit for bit.
#[test]
fn every_container_gives_the_same_trajectory() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let sum = |ending: &str| {
        let bag = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags").join(format!("moving.{ending}"));
        fs::copy(bag, at.join(format!("moving.{ending}"))).unwrap();
        run(at, &format!("odometry moving.{ending} --out {ending}.txt --format-poses tum --voxel-size 2")).expect(0);
        let text = fs::read_to_string(at.join(format!("{ending}.txt"))).unwrap();
        let last: Vec<f64> = text.lines().last().unwrap().split(' ').map(|word| word.parse().unwrap()).collect();
        // It moves 0.4 m a sweep, so that the trajectory is none of standing still.
        assert!((last[1] - 1.6).abs() < 0.1 && last[0] == 1_700_000_000.4, "{text}");
        text
    };
    let wanted = sum("mcap");
    assert_eq!((sum("bag"), sum("db3")), (wanted.clone(), wanted));
}
