//! `merge`: several clouds in one file.

use crate::downsample::{scan, write_survey};
use crate::{run, write_cloud};
use pointmill::Points;
use pointmill_io::{NamedPoints, WriteOptions, write};

#[test]
fn points_of_all_inputs_are_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("in")).unwrap();
    write_survey(&at("in/1.ply"));
    let part = "crop in/1.ply --box 691769,0,0,691771,inf,inf --out in/0.pcd";
    run(folder.path(), part).expect(0);
    for jobs in [1, 4] {
        let told = run(folder.path(), &format!("merge in --jobs {jobs} --out b.ply --json")).expect(0);
        assert_eq!((told.data("frame").len(), &told.data("summary")[0]["points"]), (2, &4.into()));
        let all = scan(&at("b.ply"));
        assert_eq!(all.xyz()[..2], [[691_770.0, 5_335_880.0, 520.0], [691_764.1, 5_335_880.1, 520.1]]);
        assert_eq!(all.wide().next().unwrap().to_vec()[..2], [300_000_009.5, 300_000_000.25]);
    }
    assert_eq!(run(folder.path(), "merge in --frames 1: --out c.ply --json").expect(0).data("frame").len(), 1);
}

#[test]
fn nothing_is_written_without_all_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_survey(&at("a.ply"));
    write_cloud(folder.path(), "b.bin", 9);
    std::fs::write(at("bad.bin"), b"bad").unwrap();
    run(folder.path(), "merge a.ply bad.bin --out c.ply").expect(3);
    let told = run(folder.path(), "merge a.ply b.bin --out c.ply").expect(2);
    assert!(told.err.contains("b.bin: columns: expected the columns of a.ply"), "{}", told.err);
    assert!(told.err.contains("; --common-columns keeps those that all inputs have"), "{}", told.err);
    assert!(!at("c.ply").exists());
    run(folder.path(), "merge a.ply b.bin --common-columns --out c.ply").expect(0);
    let columns = |name: &str| pointmill_io::read(at(name), &Default::default()).unwrap().fields.len();
    assert!((3..columns("a.ply")).contains(&columns("c.ply")), "{} {}", columns("a.ply"), columns("c.ply"));
}

#[test]
fn sweeps_are_joined_by_their_poses() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let cloud = |name: &str, rows: &[f32]| {
        let rows = Points::new(rows, 7).unwrap();
        let named = NamedPoints::new(rows, &["x", "y", "z", "intensity", "nx", "ny", "nz"]);
        write(at(name), named, &WriteOptions::default()).unwrap();
    };
    cloud("0.ply", &[1.0, 2.0, 3.0, 0.5, 1.0, 0.0, 0.0, f32::NAN, 0.0, 0.0, 9.0, 0.0, 0.0, 1.0]);
    cloud("1.ply", &[1.0, 2.0, 3.0, 0.7, 1.0, 0.0, 0.0, 12.25, 8.5, 3.5, 0.9, 0.0, 0.0, 1.0]);
    // A quarter of a turn about z, and far away; then back by 100 km.
    let turned = "0 -1 0 100000.125 1 0 0 0 0 0 1 0\n";
    std::fs::write(at("poses.txt"), format!("{turned}1 0 0 99985.9 0 1 0 -7.5 0 0 1 -0.25\n")).unwrap();
    for jobs in [1, 2] {
        run(folder.path(), &format!("merge 0.ply 1.ply --poses poses.txt --jobs {jobs} --out all.ply")).expect(0);
        let all = scan(&at("all.ply"));
        assert_eq!((all.cloud.len(), all.xyz()[0]), (4, [99_998.125, 1.0, 3.0]));
        assert_eq!(all.cloud.points().row(0)[3..], [0.5, 0.0, 1.0, 0.0]);
        assert_eq!(all.cloud.points().row(2)[3..], [0.7, 1.0, 0.0, 0.0]);
        // The last point is in the voxel of the first one.
        let thin = format!("merge 0.ply 1.ply --poses poses.txt --voxel-size 1 --jobs {jobs} --out thin.ply --json");
        let told = run(folder.path(), &thin).expect(0);
        assert_eq!([&told.data("summary")[0]["points"], &told.data("summary")[0]["points_kept"]], [4, 2]);
        assert_eq!(scan(&at("thin.ply")).xyz(), [0, 2].map(|i| all.xyz()[i]));
    }
    for (poses, wanted) in [
        (turned.to_owned(), "--poses: poses.txt: poses: expected 2, one for each input, got 1"),
        (turned.repeat(3), "--poses: poses.txt: poses: expected 2, one for each input, got 3"),
        (format!("{turned}1.1 0 0 0 0 1 0 0 0 0 1 0\n"), "expected a rigid transform"),
    ] {
        std::fs::write(at("poses.txt"), poses).unwrap();
        let told = run(folder.path(), "merge 0.ply 1.ply --poses poses.txt --out few.ply").expect(2);
        assert!(told.err.contains(wanted), "{}", told.err);
        assert!(!at("few.ply").exists());
    }
}

#[test]
fn what_a_moved_survey_loses_is_told_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_survey(&at("a.ply"));
    run(folder.path(), "convert a.ply --out a.las").expect(0);
    std::fs::write(at("poses.txt"), "1 0 0 -691000 0 1 0 -5335000 0 0 1 0\n").unwrap();
    let told = run(folder.path(), "merge a.las --poses poses.txt --out b.las").expect(0);
    let lost = "a.las: not kept in the file that is written: scale and offset";
    assert_eq!(told.err.matches(lost).count(), 1, "{}", told.err);
    let (before, after) = (scan(&at("a.las")), scan(&at("b.las")));
    assert!((after.xyz()[0][0] - (before.xyz()[0][0] - 691_000.0)).abs() < 1e-6);
    let names = |scan: &pointmill_io::Scan| scan.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&after), names(&before));
    assert_eq!(after.wide().next().unwrap().to_vec(), before.wide().next().unwrap().to_vec());
}

#[test]
fn points_go_by_the_pose_of_their_own_time() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let rows = [5.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.1];
    let sweep = NamedPoints::new(Points::new(&rows, 4).unwrap(), &["x", "y", "z", "time_s"]);
    ["0.ply", "1.ply"].iter().for_each(|name| write(at(name), sweep.clone(), &WriteOptions::default()).unwrap());
    // A metre a sweep of 0.1 s; a pose belongs to the middle of its sweep.
    std::fs::write(at("tum.txt"), "0.05 0 0 0 0 0 0 1\n0.15 1 0 0 0 0 0 1\n").unwrap();
    std::fs::write(at("kitti.txt"), "1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 1 0 1 0 0 0 0 1 0\n").unwrap();
    let xs = |line: &str| {
        run(folder.path(), line).expect(0);
        scan(&at("all.ply")).xyz().iter().map(|p| (p[0] * 1000.0).round() / 1000.0).collect::<Vec<_>>()
    };
    assert_eq!(xs("merge 0.ply 1.ply --poses tum.txt --deskew on --out all.ply"), [4.5, 5.5, 5.5, 6.5]);
    assert_eq!(xs("merge 0.ply 1.ply --poses tum.txt --deskew auto --out all.ply"), [4.5, 5.5, 5.5, 6.5]);
    assert_eq!(xs("merge 0.ply 1.ply --poses tum.txt --out all.ply"), [5.0, 5.0, 6.0, 6.0]);
    assert_eq!(xs("merge 0.ply 1.ply --poses kitti.txt --deskew auto --out all.ply"), [5.0, 5.0, 6.0, 6.0]);
    let told = run(folder.path(), "merge 0.ply 1.ply --poses kitti.txt --deskew on --out no.ply").expect(2);
    assert!(told.err.contains("--deskew: expected poses with times (TUM) for on"), "{}", told.err);
}

#[test]
fn a_map_in_tiles_is_written_and_taken_as_a_map() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let rows: Vec<f32> = (0..4000).flat_map(|i| [i as f32 % 61.0 - 30.0, (i / 61) as f32, 0.01 * i as f32]).collect();
    write(at("a.pcd"), Points::new(&rows, 3).unwrap(), &WriteOptions::default()).unwrap();
    let told = run(folder.path(), "merge a.pcd --tiles 20 --out map/ --json").expect(0);
    let summary = told.data("summary").remove(0);
    assert_eq!([&summary["tiles"], &summary["points_kept"]], [16, 4000]);
    let list = std::fs::read_to_string(at("map/pointcloud_map_metadata.yaml")).unwrap();
    assert!(list.starts_with("x_resolution: 20.0\ny_resolution: 20.0\n-40_0.pcd: [-40, 0]\n"), "{list}");
    assert_eq!(list.lines().count(), 18);
    // Every command takes the folder as its tiles.
    assert_eq!(run(folder.path(), "info map/*.pcd --json").expect(0).data("frame").len(), 16);
    let cells = |map: &str| {
        run(folder.path(), &format!("ndt build {map} --resolution 5 --out {map}.npz --json")).expect(0);
        run(folder.path(), &format!("info {map}.npz --json")).expect(0).data("frame")[0].clone()
    };
    assert_eq!(cells("map")["points"], cells("a.pcd")["points"]);
    // Over nothing that is there, and not with a tile that is gone.
    let told = run(folder.path(), "merge a.pcd --tiles 20 --out map").expect(2);
    assert!(told.err.contains("--out: map: folder: expected one that is new or empty"), "{}", told.err);
    std::fs::remove_file(at("map/0_20.pcd")).unwrap();
    let told = run(folder.path(), "ndt build map --out no.npz").expect(3);
    assert!(told.err.contains("map/0_20.pcd: tile: expected a file, as "), "{}", told.err);
}
