//! Clouds with coordinates of maps: the local origin, through every command.

use crate::{Run, matrix, run};
use pointmill_data::{ResultKind, read_ndt_map, read_result};
use pointmill_io::{ArrayView, ReadOptions, read, read_npy, read_npz, write_npy};
use std::collections::BTreeMap;
use std::path::Path;

const ORIGIN: [f64; 3] = [515_000.0, 4_918_000.0, -1000.0];

/// A floor with a ridge and a wall in UTM, on centimetres as surveys are; the lowest point is at -2
/// m.
fn points() -> Vec<[f64; 3]> {
    let mut points = Vec::new();
    for i in 0..80 {
        for j in 0..60 {
            let (x, y) = (f64::from(i) * 0.25, f64::from(j) * 0.25);
            let z = -2.0 + (x - 8.0).abs() * 0.6 + f64::from((i * 7 + j * 3) % 5) * 0.01;
            points.push([515_368.37 + x, 4_918_340.11 + y, (z * 100.0).round() / 100.0]);
            if i % 3 == 0 {
                points.push([515_368.37 + x, 4_918_347.61 + f64::from(i % 2) * 0.02, f64::from(j) * 0.1]);
            }
        }
    }
    points
}

fn write(folder: &Path, name: &str, points: &[[f64; 3]]) {
    write_npy(folder.join(name), &ArrayView::f64(&[points.len(), 3], points.as_flattened())).unwrap();
}

fn origin(told: &Run) -> [f64; 3] {
    let origin = &told.data("begin")[0]["origin"];
    serde_json::from_value(origin.clone()).unwrap_or_default()
}

/// The mean of the points of each cell, by z, y, x, in `f64`.
fn means(points: &[[f64; 3]], size: f64, first: [f64; 3]) -> BTreeMap<[i64; 3], ([f64; 3], usize)> {
    let mut cells = BTreeMap::new();
    for p in points {
        let cell = [2, 1, 0].map(|k| ((p[k] - first[k]) / size).floor() as i64);
        let (sum, n) = cells.entry(cell).or_insert(([0.0; 3], 0));
        (0..3).for_each(|k| sum[k] += p[k]);
        *n += 1;
    }
    cells.into_iter().map(|(cell, (sum, n))| (cell, (sum.map(|s| s / n as f64), n))).collect()
}

#[test]
fn voxels_are_those_of_f64_less_the_origin() {
    let (folder, points) = (tempfile::tempdir().unwrap(), points());
    write(folder.path(), "a.npy", &points);
    let told = run(
        folder.path(),
        "voxelize a.npy --voxel-size 0.5 --range auto --max-points 200 --order sorted --json --out v.npz",
    )
    .expect(0);
    assert_eq!(origin(&told), ORIGIN);
    assert!(told.err.contains("large coordinates: results are relative to 515000, 4918000, -1000"), "{}", told.err);
    let frame = &told.data("frame")[0];
    let range: [f64; 6] = serde_json::from_value(frame["range"].clone()).unwrap();
    assert_eq!(
        (range[..3].to_vec(), frame["in_range"].as_u64()),
        (vec![368.0, 340.0, 998.0], Some(points.len() as u64))
    );
    let result = read_result(folder.path().join("v.npz"), ResultKind::Voxels).unwrap();
    assert_eq!(result.get("origin").unwrap().as_f64().unwrap(), ORIGIN);
    let local: Vec<[f64; 3]> = points.iter().map(|p| [0, 1, 2].map(|k| f64::from((p[k] - ORIGIN[k]) as f32))).collect();
    let wanted = means(&local, 0.5, [range[0], range[1], range[2]]);
    let coords: Vec<[i64; 3]> = result
        .get("coords")
        .unwrap()
        .as_i32()
        .unwrap()
        .as_chunks()
        .0
        .iter()
        .map(|c: &[i32; 3]| c.map(i64::from))
        .collect();
    assert_eq!(coords, wanted.keys().copied().collect::<Vec<_>>());
    let found = result.get("mean").unwrap().as_f32().unwrap().as_chunks::<3>().0;
    for (mean, (exact, _)) in found.iter().zip(wanted.values()) {
        // Sums of f32: half a step of their largest, which is some thousand metres.
        assert!((0..3).all(|k| (f64::from(mean[k]) - exact[k]).abs() < 5e-4), "{mean:?} {exact:?}");
    }
    // The same range in global coordinates, and relative to an origin that is given.
    let size = "--voxel-size 0.5 --max-points 200 --order sorted --json";
    let [x, y, z, u, v, w] = range;
    let global = [x + ORIGIN[0], y + ORIGIN[1], z + ORIGIN[2], u + ORIGIN[0], v + ORIGIN[1], w + ORIGIN[2]];
    let list = |range: [f64; 6]| range.map(|v| v.to_string()).join(",");
    run(folder.path(), &format!("voxelize a.npy {size} --range {} --out g.npz", list(global))).expect(0);
    let given = "--local-origin 515000,4918000,-1000";
    run(folder.path(), &format!("voxelize a.npy {size} --range {} {given} --out l.npz", list(range))).expect(0);
    let arrays = |name: &str| read_npz(folder.path().join(name)).unwrap();
    assert!(
        arrays("g.npz")["mean"] == arrays("v.npz")["mean"] && arrays("l.npz")["coords"] == arrays("v.npz")["coords"]
    );
}

#[test]
fn where_no_point_is_in_range_a_warning_shows_the_way_out() {
    let (folder, points) = (tempfile::tempdir().unwrap(), points());
    write(folder.path(), "a.npy", &points);
    let told = run(folder.path(), "voxelize a.npy --json").expect(0);
    let warning = told.data("frame")[0]["warnings"].as_array().unwrap().last().unwrap().to_string();
    let parts = ["x -54..54, y -54..54, z -5..3", "the points are in x 368.37..", "--range auto takes them all"];
    assert!(parts.iter().all(|part| warning.contains(part)), "{warning}");
    let told = run(folder.path(), "voxelize a.npy --range auto --voxel-size 1e-6").expect(3);
    assert!(told.err.contains("or more for a grid around all points"), "{}", told.err);
    // Small clouds have no origin, and no message about it.
    write(folder.path(), "small.npy", &[[1.0, 2.0, 0.1]]);
    let told = run(folder.path(), "voxelize small.npy --json --out s.npz").expect(0);
    assert!(origin(&told) == [0.0; 3] && !told.err.contains("origin"), "{}", told.err);
    assert!(!read_npz(folder.path().join("s.npz")).unwrap().contains_key("origin"));
}

#[test]
fn one_origin_serves_all_inputs() {
    let (folder, points) = (tempfile::tempdir().unwrap(), points());
    std::fs::create_dir(folder.path().join("in")).unwrap();
    let far: Vec<_> = points.iter().map(|p| [p[0] + 40_000.1, p[1], p[2]]).collect();
    write(folder.path(), "in/1.npy", &points);
    write(folder.path(), "in/2.npy", &far);
    let told = run(folder.path(), "voxelize in --range auto --json --out out").expect(0);
    assert_eq!(origin(&told), ORIGIN);
    let warnings = |i: usize| told.data("frame")[i]["warnings"].to_string();
    assert!(!warnings(0).contains("moved"), "{}", warnings(0));
    assert!(warnings(1).contains("about the origin 515000, 4918000, -1000"), "{}", warnings(1));
    // The origin is one of the parameters of a run that resumes.
    let resumed =
        |flags: &str| run(folder.path(), &format!("voxelize in --range auto --json --out out --resume {flags}"));
    assert_eq!(resumed("").expect(0).data("kept").len(), 2);
    assert!(resumed("--local-origin 515000,4918000,-1000").expect(0).data("kept").len() == 2);
    assert_eq!(resumed("--local-origin 515000,4918000,0").expect(0).data("kept").len(), 0);
}

#[test]
fn maps_have_cells_about_their_origin_and_global_poses() {
    let (folder, points) = (tempfile::tempdir().unwrap(), points());
    write(folder.path(), "a.npy", &points);
    let told = run(folder.path(), "ndt build a.npy --resolution 2 --out m.npz --moments m.arrow --json").expect(0);
    assert_eq!(origin(&told), ORIGIN);
    let (cells, lattice) = read_ndt_map(folder.path().join("m.npz")).unwrap();
    assert_eq!(lattice.origin(), ORIGIN);
    let local: Vec<[f64; 3]> = points.iter().map(|p| [0, 1, 2].map(|k| p[k] - ORIGIN[k])).collect();
    let mut wanted = means(&local, 2.0, [0.0; 3]);
    wanted.retain(|_, (_, n)| *n >= 6);
    let coords: Vec<[i64; 3]> = cells.coords.iter().map(|c| [c[2], c[1], c[0]].map(i64::from)).collect();
    assert_eq!(coords, wanted.keys().copied().collect::<Vec<_>>());
    for (mean, (exact, _)) in cells.mean.iter().zip(wanted.values()) {
        assert!((0..3).all(|k| (mean[k] - exact[k]).abs() < 2e-6), "{mean:?} {exact:?}");
    }
    // A scan of the map in its frame fits at the identity; one in the frame of a sensor at a pose
    // of the map.
    let aligned = |scan: &str, guess: &str| {
        let told = run(folder.path(), &format!("ndt align --map m.npz --scan {scan} {guess} --json")).expect(0);
        matrix(&told.data("frame")[0]["poses"][0])
    };
    let near = |m: [f64; 16], at: [f64; 3], p: [f64; 3]| {
        let x = [0, 1, 2].map(|k| m[4 * k] * p[0] + m[4 * k + 1] * p[1] + m[4 * k + 2] * p[2] + m[4 * k + 3]);
        assert!((0..3).all(|k| (x[k] - at[k]).abs() < 0.1), "{x:?} {at:?}");
    };
    near(aligned("a.npy", ""), points[100], points[100]);
    let sensor: Vec<[f64; 3]> = points.iter().map(|p| [p[0] - 515_378.0, p[1] - 4_918_347.0, p[2]]).collect();
    write(folder.path(), "s.npy", &sensor);
    std::fs::write(folder.path().join("g.txt"), "515378.1 4918346.9 0.05 0 0 0\n").unwrap();
    near(aligned("s.npy", "--guess g.txt"), points[100], sensor[100]);
    // Moments keep the origin, and add up to the same map; other origins do not.
    run(folder.path(), "ndt merge m.arrow --out n.npz").expect(0);
    let arrays = |name: &str| read_npz(folder.path().join(name)).unwrap();
    assert_eq!(arrays("n.npz"), arrays("m.npz"));
    run(folder.path(), "ndt build a.npy --local-origin 515000,4918000,0 --moments o.arrow").expect(0);
    let told = run(folder.path(), "ndt merge m.arrow o.arrow --out x.npz").expect(2);
    assert!(told.err.contains("with the same --local-origin X,Y,Z"), "{}", told.err);
    run(folder.path(), "ndt align --map m.npz --scan a.npy --visualize m.png").expect(0);
}

#[test]
fn poses_of_icp_are_global_and_aligned_clouds_too() {
    let (folder, points) = (tempfile::tempdir().unwrap(), points());
    write(folder.path(), "target.npy", &points);
    let moved: Vec<_> = points.iter().map(|p| [p[0] + 0.03, p[1] - 0.02, p[2] + 0.01]).collect();
    write(folder.path(), "source.npy", &moved);
    let told = run(folder.path(), "icp source.npy target.npy --out out.ply --json").expect(0);
    assert_eq!(origin(&told), ORIGIN);
    let out = std::fs::read(folder.path().join("out.ply")).unwrap();
    let header = String::from_utf8_lossy(&out[..200]).into_owned();
    assert!(header.contains("comment origin 515000 4918000 -1000; coordinates are global"), "{header}");
    let found = read(folder.path().join("out.ply"), &ReadOptions::default()).unwrap().xyz();
    let off = found.iter().zip(&points).map(|(a, b)| (0..3).map(|k| (a[k] - b[k]).abs()).fold(0.0, f64::max));
    assert!(off.fold(0.0, f64::max) < 2e-3);
}

#[test]
fn convert_keeps_global_coordinates_where_a_format_can() {
    let (folder, points) = (tempfile::tempdir().unwrap(), points());
    write(folder.path(), "a.npy", &points);
    for name in ["b.ply", "b.pcd", "b.npz", "b.feather", "b.csv", "b.xyz"] {
        run(folder.path(), &format!("convert a.npy --out {name}")).expect(0);
        assert_eq!(read(folder.path().join(name), &ReadOptions::default()).unwrap().xyz(), points, "{name}");
    }
    assert_eq!(read_npz(folder.path().join("b.npz")).unwrap()["origin"].as_f64().unwrap(), ORIGIN);
    run(folder.path(), "convert a.npy --out b.npy").expect(0);
    let local = read_npy(folder.path().join("b.npy")).unwrap();
    assert_eq!(local.as_f32().unwrap()[1], (points[0][1] - ORIGIN[1]) as f32);
    run(folder.path(), "convert a.npy --out c.npy --local-origin none").expect(0);
    assert_eq!(read_npy(folder.path().join("c.npy")).unwrap().as_f32().unwrap()[1], points[0][1] as f32);
    let info = &run(folder.path(), "info b.npz --json").expect(0).data("frame")[0];
    assert_eq!(info["origin"], serde_json::json!(ORIGIN));
    assert!(info["bounds"]["min"][1].as_f64().unwrap() > 4_918_340.0);
}

#[test]
fn boxes_are_global_with_auto() {
    let (folder, points) = (tempfile::tempdir().unwrap(), points());
    write(folder.path(), "a.npy", &points);
    let boxes = [515_376.0, 4_918_342.0, -3.0, 2.0, 3.0, 4.0, 0.5];
    let local = [376.0, 342.0, 997.0, 2.0, 3.0, 4.0, 0.5];
    write_npy(folder.path().join("g.npy"), &ArrayView::f64(&[1, 7], &boxes)).unwrap();
    write_npy(folder.path().join("l.npy"), &ArrayView::f64(&[1, 7], &local)).unwrap();
    let inside = "roi-pool --inside all --points a.npy --json";
    let told = run(folder.path(), &format!("{inside} --boxes g.npy --out g.npz")).expect(0);
    assert_eq!(origin(&told), ORIGIN);
    let given = "--local-origin 515000,4918000,-1000";
    run(folder.path(), &format!("{inside} --boxes l.npy {given} --out l.npz")).expect(0);
    let arrays = |name: &str| read_npz(folder.path().join(name)).unwrap();
    assert_eq!(arrays("g.npz"), arrays("l.npz"));
    assert_eq!(arrays("g.npz")["origin"].as_f64().unwrap(), ORIGIN);
    assert!(told.data("frame")[0]["report"]["points_inside"].as_u64() > Some(50));
}

/// The title of a page, and the height of the middle of its scene.
fn page(path: &Path) -> (String, f64) {
    let html = std::fs::read_to_string(path).unwrap();
    let between = |from: &str, to: &str| html.split_once(from).unwrap().1.split_once(to).unwrap().0.to_owned();
    let scene = between(r#"<script id="scene" type="application/json">"#, "</script>");
    let scene: serde_json::Value = serde_json::from_str(&scene).unwrap();
    (between("<title>", "</title>"), scene["origin"][2].as_f64().unwrap())
}

#[test]
fn pages_and_plots_name_the_origin_and_show_global_heights() {
    const NAMED: &str = "; origin 515000, 4918000, -1000";
    let (folder, points) = (tempfile::tempdir().unwrap(), points());
    let at = folder.path();
    write(at, "a.npy", &points);
    write(at, "small.npy", &points.iter().map(|p| [p[0] - 515_378.0, p[1] - 4_918_347.0, p[2]]).collect::<Vec<_>>());
    let boxes = [515_376.0, 4_918_342.0, -3.0, 2.0, 3.0, 4.0, 0.5];
    write_npy(at.join("boxes.npy"), &ArrayView::f64(&[1, 7], &boxes)).unwrap();
    write_npy(at.join("features.npy"), &ArrayView::f32(&[points.len(), 1], &vec![1.0; points.len()])).unwrap();
    std::fs::write(at.join("start.txt"), "515378 4918347 0 0 0 0\n").unwrap();
    run(at, "ndt build a.npy --resolution 2 --out map.npz").expect(0);
    for args in [
        "voxelize a.npy --range auto --visualize",
        "roi-pool --boxes boxes.npy --points a.npy --features features.npy --visualize",
        "ndt build a.npy --resolution 2 --visualize",
        "ndt score --map map.npz --scan small.npy --pose start.txt --visualize",
        "ndt align --map map.npz --scan small.npy --guess start.txt --visualize",
        "icp a.npy a.npy --visualize",
        "odometry a.npy a.npy --visualize",
        "localize small.npy --map map.npz --guess start.txt --visualize",
    ] {
        let done = run(at, &format!("{args} page.html"));
        assert!([0, 6].contains(&done.code), "{args}: {}{}", done.out, done.err);
        let (title, height) = page(&at.join("page.html"));
        assert!(title.contains(NAMED), "{args}: {title}");
        assert!((-2.0..5.0).contains(&height), "{args}: {height}");
    }
    assert_eq!(origin(&run(at, "localize a.npy --map map.npz --guess start.txt --json")), ORIGIN);
    run(at, "icp a.npy a.npy --max-iterations 1 --plot plot.svg");
    assert!(std::fs::read_to_string(at.join("plot.svg")).unwrap().contains(NAMED));
    run(at, "voxelize small.npy --visualize page.html").expect(0);
    assert_eq!(page(&at.join("page.html")).0, "voxelize");
}

#[test]
fn a_region_to_search_is_relative_to_an_origin_that_is_given() {
    let (folder, points) = (tempfile::tempdir().unwrap(), points());
    write(folder.path(), "a.npy", &points);
    run(folder.path(), "ndt build a.npy --resolution 2 --out map.npz").expect(0);
    let global = [515_370.0, 4_918_342.0, 515_382.0, 4_918_352.0];
    for flags in [
        "--region 515370,4918342,515382,4918352",
        "--region 370,342,382,352 --local-origin 515000,4918000,0",
        "--region 515370,4918342,515382,4918352 --local-origin none",
    ] {
        let told = run(folder.path(), &format!("localize a.npy --map map.npz {flags} --json"));
        let region = &told.data("begin")[0]["params"]["region"];
        assert_eq!(region, &serde_json::json!(global), "{flags}: {}", told.err);
    }
}

#[test]
fn bounds_read_a_part_of_the_plane() {
    let (folder, points) = (tempfile::tempdir().unwrap(), points());
    write(folder.path(), "a.npy", &points);
    run(folder.path(), "convert a.npy --bounds 515370,4918342,515372.5,4918350 --out b.ply").expect(0);
    let inside = |p: &[f64; 3]| (515_370.0..=515_372.5).contains(&p[0]) && (4_918_342.0..=4_918_350.0).contains(&p[1]);
    let wanted: Vec<_> = points.iter().copied().filter(inside).collect();
    assert!(!wanted.is_empty() && wanted.len() < points.len());
    assert_eq!(read(folder.path().join("b.ply"), &ReadOptions::default()).unwrap().xyz(), wanted);
}
