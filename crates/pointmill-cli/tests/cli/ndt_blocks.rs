//! Maps by blocks: however the work is cut, repeated or killed, the blocks are one plain map.

use crate::{Run, command, counts, names, run};
use pointmill_io::{ArrayView, PoseFormat, Poses, write_npy, write_poses};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

/// `n` tiles of rough ground in `tiles/`, 20 m apart in their own frames, one with a point that is
/// not finite; and their poses.
pub(crate) fn setup(folder: &Path, n: usize) {
    fs::create_dir_all(folder.join("tiles")).unwrap();
    let mut poses = Vec::new();
    for tile in 0..n {
        let mut points = Vec::new();
        for i in 0..900 {
            let (a, b) = ((i % 30) as f64, (i / 30) as f64);
            points.extend([a + 0.3, b + 0.1 * a.sin(), 0.05 * f64::from((7 * i + 13 * tile as i32) % 11)]);
        }
        points[30] = if tile == 1 { f64::NAN } else { 9.5 };
        write_npy(folder.join(format!("tiles/{tile}.npy")), &ArrayView::f64(&[900, 3], &points)).unwrap();
        let at = [20.0 * tile as f64 - 31.0, -7.5 * tile as f64 + 40_000.0, 0.25, 0.0, 0.0, 0.1 * tile as f64];
        poses.push(pointmill::Pose::from_xyzrpy(at).unwrap());
    }
    write_poses(folder.join("poses.txt"), &Poses::from(poses), PoseFormat::Kitti).unwrap();
}

/// The files of all blocks with their bytes, and the manifest.
pub(crate) fn blocks(map: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = names(map).into_iter().filter(|name| map.join(name).is_file());
    files.map(|name| (name.clone(), fs::read(map.join(name)).unwrap())).collect()
}

/// The rows of the manifest: input and error.
pub(crate) fn rows(map: &Path) -> Vec<(String, Option<String>)> {
    let lines = fs::read_to_string(map.join("manifest.jsonl")).unwrap();
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        (row["input"].as_str().unwrap().to_owned(), row["error"].as_str().map(String::from))
    };
    lines.lines().map(row).collect()
}

const BUILD: &str = "ndt build tiles --poses poses.txt --resolution 2";

/// A map of one run without a fault.
fn whole(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    run(folder, &format!("{BUILD} --blocks 32 --out whole")).expect(0);
    blocks(&folder.join("whole"))
}

#[test]
fn the_blocks_are_one_plain_build() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 6);
    run(at, &format!("{BUILD} --out plain.npz --moments plain.arrow")).expect(0);
    let told = run(at, &format!("{BUILD} --blocks 32 --out whole --jobs 3 --json")).expect(0);
    assert_eq!(counts(&told), [6, 6, 0, 0]);
    let (begin, summary) = (told.data("begin").remove(0), told.data("summary").remove(0));
    assert_eq!((&begin["block"], &summary["points"]), (&32.0.into(), &5400.into()));
    let first = blocks(&at.join("whole"));
    assert!(summary["blocks"] == (first.len() as u64 - 2) / 2 && first.len() > 12, "{:?}", first.keys());
    // Sums, and cells made of them, byte by byte; the points that are not finite are counted once.
    run(at, "ndt merge whole/*.arrow --out all.npz --moments all.arrow").expect(0);
    for name in ["npz", "arrow"] {
        let [all, plain] = ["all", "plain"].map(|stem| fs::read(at.join(format!("{stem}.{name}"))).unwrap());
        assert!(all == plain, "{name}");
    }
    assert_eq!(rows(&at.join("whole")).len(), 6);
    // Without --blocks a folder has blocks of 128 m, and the map is found from elsewhere under the
    // same names.
    run(at, &format!("{BUILD} --out wide")).expect(0);
    assert!(blocks(&at.join("wide")).len() < first.len());
    let again = run(
        &at.join("tiles"),
        "ndt build . --poses ../poses.txt --resolution 2 --blocks 32 --out ../whole --resume --json",
    );
    assert_eq!(counts(&again.expect(0)), [6, 0, 6, 0]);
    assert!(blocks(&at.join("whole")) == first);
}

#[test]
fn matching_reads_the_blocks_near_the_poses_and_finds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 12);
    run(at, &format!("{BUILD} --out plain.npz")).expect(0);
    run(at, &format!("{BUILD} --blocks 16 --out whole")).expect(0);
    let poses = fs::read_to_string(at.join("poses.txt")).unwrap();
    fs::write(at.join("pose.txt"), poses.lines().nth(1).unwrap()).unwrap();
    for flags in ["ndt score --pose pose.txt", "ndt align --max-iterations 10 --guess pose.txt"] {
        let of = |map: &str| run(at, &format!("{flags} --map {map} --scan tiles/1.npy --json"));
        let (plain, near) = (of("plain.npz"), of("whole"));
        assert_eq!(plain.code, near.code, "{}", near.err);
        assert_eq!(plain.data("frame")[0]["poses"], near.data("frame")[0]["poses"], "{flags}");
        let voxels = |told: &Run| told.data("summary")[0]["voxels"].as_u64().unwrap();
        assert!(0 < voxels(&near) && 2 * voxels(&near) < voxels(&plain), "{} {}", voxels(&near), voxels(&plain));
    }
}

/// One process for each input, all at the same time, then one for each block: what an array job
/// does.
#[test]
fn an_array_job_makes_the_same_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 5);
    let wanted = whole(at);
    let poses = fs::read_to_string(at.join("poses.txt")).unwrap();
    let all_end = |children: Vec<Child>| {
        for child in children {
            let told = child.wait_with_output().unwrap();
            assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        }
    };
    let tasks = poses.lines().enumerate().map(|(i, pose)| {
        fs::write(at.join(format!("pose{i}.txt")), pose).unwrap();
        let args =
            format!("ndt build tiles/{i}.npy --poses pose{i}.txt --resolution 2 --blocks 32 --no-merge --out map");
        command(at, &args).spawn().unwrap()
    });
    all_end(tasks.collect());
    assert!(!at.join("map/manifest.jsonl").exists() && blocks(&at.join("map")).len() == 1);
    let merges = names(&at.join("map/blocks")).into_iter();
    all_end(merges.map(|block| command(at, &format!("ndt merge map/blocks/{block}")).spawn().unwrap()).collect());
    assert_eq!(blocks(&at.join("map")).len() + 1, wanted.len());
    let told = run(at, "ndt merge map --jobs 2 --json").expect(0);
    assert_eq!(counts(&told)[1] as usize, names(&at.join("map/blocks")).len());
    assert!(blocks(&at.join("map")) == wanted);
}

#[test]
fn runs_that_are_killed_and_resumed_make_the_same_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 6);
    let wanted = whole(at);
    for kill in 0..10 {
        let args = format!("{BUILD} --blocks 32 --out map --resume --jobs {}", 1 + kill % 2);
        let mut child = command(at, &args).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(20 + 25 * kill));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    run(at, &format!("{BUILD} --blocks 32 --out map --resume")).expect(0);
    assert!(blocks(&at.join("map")) == wanted);
    let left = names(&at.join("map")).into_iter().filter(|name| name.ends_with(".tmp")).count();
    assert_eq!(left, 0);
}

#[test]
fn an_input_that_changed_is_replaced_and_parts_without_a_row_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 4);
    let wanted = whole(at);
    // The second tile somewhere else first.
    fs::rename(at.join("tiles/1.npy"), at.join("right.npy")).unwrap();
    let far: Vec<f64> = (0..300).map(|i| 500.0 + 0.1 * f64::from(i)).collect();
    write_npy(at.join("tiles/1.npy"), &ArrayView::f64(&[100, 3], &far)).unwrap();
    run(at, &format!("{BUILD} --blocks 32 --out map")).expect(0);
    assert!(blocks(&at.join("map")) != wanted);
    fs::rename(at.join("right.npy"), at.join("tiles/1.npy")).unwrap();
    let told = run(at, &format!("{BUILD} --blocks 32 --out map --resume --json")).expect(0);
    assert_eq!(counts(&told), [4, 1, 3, 0]);
    assert!(blocks(&at.join("map")) == wanted);
    // A worker was killed before the row: its parts are there, and count once it is done.
    let row = |file: &String| fs::read_to_string(at.join("map/inputs").join(file)).unwrap().contains("tiles/3.npy");
    let row = names(&at.join("map/inputs")).into_iter().find(row).unwrap();
    let text = fs::read(at.join("map/inputs").join(&row)).unwrap();
    fs::remove_file(at.join("map/inputs").join(&row)).unwrap();
    run(at, "ndt merge map").expect(0);
    assert_eq!(rows(&at.join("map")).len(), 3);
    assert!(blocks(&at.join("map")) != wanted);
    fs::write(at.join("map/inputs").join(&row), text).unwrap();
    run(at, "ndt merge map").expect(0);
    assert!(blocks(&at.join("map")) == wanted);
    // A part that a row names and that is gone is an error.
    let part = at.join("map/blocks/-1_1250");
    fs::remove_file(part.join(&names(&part)[0])).unwrap();
    let told = run(at, "ndt merge map").expect(1);
    assert!(told.err.contains("part: expected the file that the row of `../tiles/"), "{}", told.err);
}

#[test]
fn what_is_bad_is_a_row_and_the_rest_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 4);
    fs::write(at.join("tiles/1.npy"), "no array").unwrap();
    let poses = fs::read_to_string(at.join("poses.txt")).unwrap();
    // The last input has no pose.
    fs::write(at.join("few.txt"), poses.lines().take(3).collect::<Vec<_>>().join("\n")).unwrap();
    let told = run(at, "ndt build tiles --poses few.txt --out map --json").expect(3);
    assert_eq!(counts(&told), [4, 2, 0, 2]);
    let errors: Vec<_> = rows(&at.join("map")).into_iter().filter_map(|(input, e)| Some((input, e?))).collect();
    assert_eq!(errors[0].0, "../tiles/1.npy");
    let wanted = "few.txt: poses: expected a pose for input 3 (from 0), got 3 poses";
    assert_eq!(errors[1], ("../tiles/3.npy".into(), wanted.into()));
    // A pose has no input.
    fs::write(at.join("many.txt"), format!("{poses}{poses}")).unwrap();
    let told = run(at, "ndt build tiles --poses many.txt --out map --resume --json").expect(3);
    assert_eq!(counts(&told), [5, 3, 0, 2]);
    let errors: Vec<_> = rows(&at.join("map")).into_iter().filter_map(|(_, e)| e).collect();
    assert_eq!(errors[1], "many.txt: poses: expected 4, one for each input, got 8");
}

#[test]
fn clouds_of_a_bag_have_the_poses_of_their_stamps() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let bag = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags/velodyne_lz4.mcap");
    fs::copy(&bag, at.join("drive.mcap")).unwrap();
    let stamps: Vec<f64> = {
        let bag = pointmill_io::bag::Bag::open(&bag, &pointmill_io::Limits::default()).unwrap();
        bag.clouds(None).unwrap().map(|cloud| cloud.unwrap().stamp_ns as f64 / 1e9).collect()
    };
    let lines = |times: &[f64]| {
        times.iter().map(|t| format!("{t:.4} {} 0 0 0 0 0 1\n", 100.0 * (t - stamps[0]))).collect::<String>()
    };
    fs::write(
        at.join("by_number.txt"),
        (0..3).map(|i| format!("{} 0 0 0 0 0\n", 100.0 * (stamps[i] - stamps[0]))).collect::<String>(),
    )
    .unwrap();
    // A pose before, one between, and one for each stamp.
    let [a, b, c] = [stamps[0], stamps[1], stamps[2]];
    fs::write(at.join("tum.txt"), lines(&[a - 1.0, a, (a + b) / 2.0, b, c])).unwrap();
    let build = |poses: &str, out: &str| {
        run(at, &format!("ndt build drive.mcap --poses {poses} --blocks 32 --out {out} --json"))
    };
    build("by_number.txt", "numbered").expect(0);
    let told = build("tum.txt", "stamped").expect(0);
    assert!(told.err.contains("tum.txt: 2 of 5 poses have no input"), "{}", told.err);
    let both = ["numbered", "stamped"].map(|map| blocks(&at.join(map)));
    assert!(both[0] == both[1] && both[0].len() > 4, "{:?}", both[0].keys());
    fs::write(at.join("tum.txt"), lines(&[a, c])).unwrap();
    let told = build("tum.txt", "gap").expect(3);
    assert_eq!(counts(&told), [3, 2, 0, 1]);
    let (input, error) = rows(&at.join("gap")).remove(1);
    assert_eq!(input, "../drive.mcap#000001");
    assert!(error.unwrap().starts_with("tum.txt: poses: expected a pose within 0.001 s of the stamp 1700000000."));
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_ends_the_run_and_a_resumed_one_completes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 6);
    let wanted = whole(at);
    let shell = |line: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.current_dir(at).args(["-c", line]).env("POINTMILL", env!("CARGO_BIN_EXE_pointmill"));
        shell.output().unwrap()
    };
    // A limit on the size of files refuses what a disk without room refuses.
    let told = shell(&format!("ulimit -f 8; \"$POINTMILL\" {BUILD} --device cpu --blocks 32 --out map"));
    assert_eq!(told.status.code(), Some(1), "{}", String::from_utf8_lossy(&told.stderr));
    run(at, &format!("{BUILD} --blocks 32 --out map --resume")).expect(0);
    assert!(blocks(&at.join("map")) == wanted);
}
