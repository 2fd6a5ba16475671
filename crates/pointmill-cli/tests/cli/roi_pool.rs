//! `roi-pool`: arrays of each layout, points in boxes, tables, lines, pictures, and what goes
//! wrong.

use crate::{command, finished, names, run};
use pointmill::AnyArray;
use pointmill::roi_pool::{PoolMode, RoiArrays, RoiLayout, RoiPoolParams, Scene, roi_pool};
use pointmill::{BoxOrigin, Device, Rows, f16};
use pointmill_io::{Array, ArrayView, Dtype, read_npz, write_npy};
use pointmill_synth::RoiScene;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const BOXES: usize = 12;
const POINTS: usize = 900;
const CHANNELS: usize = 3;
/// The three files of `write_scene`.
const FILES: &str = "--boxes b.npy --points p.npy --features f.npy";

/// A scene as files: boxes, of which the last is empty, points of four columns, of which one is not
/// finite, and features.
fn write_scene(folder: &Path) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let scene = RoiScene::street(BOXES, POINTS, 5);
    let mut boxes = scene.boxes.clone();
    boxes[7 * (BOXES - 1) + 4] = 0.0;
    let mut points: Vec<f32> = scene.points.as_chunks::<3>().0.iter().flat_map(|&[x, y, z]| [x, y, z, 0.5]).collect();
    points[4 * 7 + 2] = f32::NAN;
    let features = scene.features(CHANNELS);
    write_npy(folder.join("b.npy"), &ArrayView::f32(&[BOXES, 7], &boxes)).unwrap();
    write_npy(folder.join("p.npy"), &ArrayView::f32(&[POINTS, 4], &points)).unwrap();
    write_npy(folder.join("f.npy"), &ArrayView::f32(&[POINTS, CHANNELS], &features)).unwrap();
    (boxes, points, features)
}

fn pooled(scene: &(Vec<f32>, Vec<f32>, Vec<f32>), params: &RoiPoolParams) -> RoiArrays {
    let (boxes, points, features) = scene;
    let scene = Scene::new(Rows::new(boxes, 7).unwrap(), Rows::new(points, 4).unwrap());
    let features = Rows::new(features, CHANNELS).unwrap();
    roi_pool(scene, features, params, &Device::cpu()).unwrap().read().unwrap()
}

/// Name, type and shape of each array.
fn told(arrays: &BTreeMap<String, Array>) -> Vec<(&str, Dtype, &[usize])> {
    arrays.iter().map(|(name, a)| (name.as_str(), a.dtype(), a.shape())).collect()
}

fn arrays(folder: &Path, args: &str) -> BTreeMap<String, Array> {
    run(folder, &format!("roi-pool {args} --out o.npz")).expect(0);
    read_npz(folder.join("o.npz")).unwrap().into_iter().collect()
}

#[test]
fn without_input_the_built_in_street_is_pooled() {
    let folder = tempfile::tempdir().unwrap();
    let told = run(folder.path(), "roi-pool").expect(0);
    let lines: Vec<_> = told.out.lines().collect();
    assert_eq!(lines.len(), 3, "{}", told.out);
    let head: Vec<_> = lines[0].split_whitespace().collect();
    assert_eq!(head.join(" "), "boxes empty boxes points voxels inside kept dropped ms");
    let row: Vec<_> = lines[1].split_whitespace().collect();
    assert_eq!((&row[..3], row.len()), (&["128", "0", "16,000"][..], 8), "{}", told.out);
    assert!(
        lines[2].starts_with("max of 16 f32 channels in 12 x 12 x 12 voxels a box, dense, on cpu ("),
        "{}",
        told.out
    );
    assert!(told.err.is_empty(), "{}", told.err);
    assert!(names(folder.path()).is_empty());
    let told = run(folder.path(), "roi-pool --inside part").expect(0);
    assert!(told.out.contains("points inside"), "{}", told.out);
}

#[test]
fn the_arrays_of_each_layout_are_those_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let flags = format!("{FILES} --out-size 4,3,2 --max-points 4");
    let params = RoiPoolParams { out_size: [4, 3, 2], max_points_per_voxel: 4, ..RoiPoolParams::default() };
    let want = pooled(&scene, &params);
    assert!(want.report.kept > 50 && want.report.dropped > 0, "{:?}", want.report);
    let AnyArray::F32(values) = &want.pooled else { panic!("f32 features") };
    let all = [BOXES, 4, 3, 2];

    let got = arrays(folder.path(), &flags);
    let n = got["report"].len();
    let shape = [&all[..], &[CHANNELS]].concat();
    assert_eq!(
        told(&got),
        [
            ("argmax", Dtype::I32, &shape[..]),
            ("point_indices", Dtype::I32, &[BOXES, 4, 3, 2, 5]),
            ("pooled", Dtype::F32, &shape),
            ("report", Dtype::U8, &[n]),
        ]
    );
    assert_eq!(got["pooled"].as_f32().unwrap(), values);
    assert_eq!(Some(got["argmax"].as_i32().unwrap()), want.argmax.as_deref());
    assert_eq!(Some(got["point_indices"].as_i32().unwrap()), want.point_indices.as_deref());
    let report: serde_json::Value = serde_json::from_slice(got["report"].as_u8().unwrap()).unwrap();
    let r = want.report;
    let wanted = serde_json::json!({"boxes": BOXES, "empty_boxes": 1, "points": POINTS, "voxels": r.voxels, "inside": r.inside,
        "kept": r.kept, "dropped": r.dropped});
    assert_eq!(report, wanted);

    let got = arrays(folder.path(), &format!("{flags} --layout csr"));
    let want = pooled(&scene, &RoiPoolParams { layout: RoiLayout::Csr, ..params });
    assert_eq!(
        told(&got),
        [
            ("argmax", Dtype::I32, &shape[..]),
            ("indices", Dtype::I32, &[r.kept]),
            ("pooled", Dtype::F32, &shape),
            ("report", Dtype::U8, &[n]),
            ("row_splits", Dtype::I64, &[BOXES * 24 + 1]),
        ]
    );
    assert_eq!(Some(got["indices"].as_i32().unwrap()), want.indices.as_deref());
    assert_eq!(Some(got["row_splits"].as_i64().unwrap()), want.row_splits.as_deref());

    let got = arrays(folder.path(), &format!("{flags} --output sparse"));
    let want = pooled(&scene, &RoiPoolParams { layout: RoiLayout::Sparse, ..params });
    let v = r.voxels;
    assert_eq!(
        told(&got),
        [
            ("argmax", Dtype::I32, &[v, CHANNELS][..]),
            ("coords", Dtype::I32, &[v, 4]),
            ("indices", Dtype::I32, &[r.kept]),
            ("pooled", Dtype::F32, &[v, CHANNELS]),
            ("report", Dtype::U8, &[n]),
            ("row_splits", Dtype::I64, &[v + 1]),
        ]
    );
    assert_eq!(Some(got["coords"].as_i32().unwrap()), want.coords.as_deref());
    assert_eq!(AnyArray::F32(got["pooled"].as_f32().unwrap().to_vec()), want.pooled);
}

#[test]
fn means_origin_and_margin() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let got = arrays(folder.path(), &format!("{FILES} --mode mean --origin center --margin 0.25 --out-size 2"));
    let want = pooled(
        &scene,
        &RoiPoolParams {
            out_size: [2; 3],
            mode: PoolMode::Mean,
            origin: BoxOrigin::Center,
            margin: 0.25,
            ..RoiPoolParams::default()
        },
    );
    assert_eq!(got.keys().collect::<Vec<_>>(), ["point_indices", "pooled", "report"]);
    assert_eq!(AnyArray::F32(got["pooled"].as_f32().unwrap().to_vec()), want.pooled);
    assert_eq!(got["point_indices"].shape(), [BOXES, 2, 2, 2, 128]);
}

#[test]
fn half_precision_features_stay_so() {
    let folder = tempfile::tempdir().unwrap();
    let (boxes, points, features) = write_scene(folder.path());
    let halves: Vec<f16> = features.iter().map(|&v| f16::from_f32(v)).collect();
    let bits: Vec<u16> = halves.iter().map(|v| v.to_bits()).collect();
    write_npy(folder.path().join("f.npy"), &ArrayView::f16_bits(&[POINTS, CHANNELS], &bits)).unwrap();
    let got = arrays(folder.path(), &format!("{FILES} --mode mean --out-size 3 --output sparse"));
    let params =
        RoiPoolParams { out_size: [3; 3], mode: PoolMode::Mean, layout: RoiLayout::Sparse, ..RoiPoolParams::default() };
    let scene = Scene::new(Rows::new(&boxes, 7).unwrap(), Rows::new(&points, 4).unwrap());
    let features = Rows::new(&halves, CHANNELS).unwrap();
    let want = roi_pool(scene, features, &params, &Device::cpu()).unwrap().read().unwrap();
    let AnyArray::F16(want) = want.pooled else { panic!("f16 features") };
    let want: Vec<u16> = want.iter().map(|v| v.to_bits()).collect();
    assert_eq!(got["pooled"].as_f16_bits().unwrap(), want);
}

#[test]
fn boxes_are_widened_or_cast_once() {
    let folder = tempfile::tempdir().unwrap();
    write_scene(folder.path());
    let row = [1.5, 2.5, -1.0, 4.0, 2.0, 1.5, 0.5];
    write_npy(folder.path().join("b.npy"), &ArrayView::f64(&[1, 7], &row)).unwrap();
    let told = run(folder.path(), "roi-pool --inside count --boxes b.npy --points p.npy --json").expect(0);
    let warnings = &told.data("frame")[0]["warnings"];
    let cast = "b.npy: values of f64 were cast to f32";
    assert_eq!(warnings, &serde_json::json!([cast, "p.npy: 1 of 900 points are not finite"]));
    assert!(told.err.starts_with(&format!("warning: {cast}\n")), "{}", told.err);
    let bits: Vec<u16> = row.iter().map(|&v| f16::from_f64(v).to_bits()).collect();
    write_npy(folder.path().join("b.npy"), &ArrayView::f16_bits(&[1, 7], &bits)).unwrap();
    let half = run(folder.path(), "roi-pool --inside count --boxes b.npy --points p.npy --json").expect(0);
    assert!(!half.err.contains("b.npy"), "{}", half.err);
    assert_eq!(half.data("frame")[0]["report"], told.data("frame")[0]["report"]);
}

#[test]
fn the_answers_about_points_in_boxes_agree() {
    let folder = tempfile::tempdir().unwrap();
    write_scene(folder.path());
    // Wide boxes, so that they overlap.
    let inside =
        |kind: &str| arrays(folder.path(), &format!("--inside {kind} --boxes b.npy --points p.npy --margin 0.5"));
    let (part, all, count, crop) = (inside("part"), inside("all"), inside("count"), inside("crop"));
    assert_eq!(told(&part), [("part", Dtype::I32, &[POINTS][..])]);
    assert_eq!(told(&all), [("all", Dtype::Bool, &[POINTS, BOXES][..])]);
    assert_eq!(told(&count), [("count", Dtype::I32, &[BOXES][..])]);
    let pairs = all["all"].as_bool().unwrap().iter().filter(|&&held| held).count();
    assert_eq!(told(&crop), [("indices", Dtype::I32, &[pairs][..]), ("row_splits", Dtype::I64, &[BOXES + 1])]);
    let held = |i: usize, b: usize| all["all"].as_bool().unwrap()[i * BOXES + b];
    for i in 0..POINTS {
        let first = (0..BOXES).find(|&b| held(i, b)).map_or(-1, |b| b as i32);
        assert_eq!(part["part"].as_i32().unwrap()[i], first, "point {i}");
    }
    let (splits, indices) = (crop["row_splits"].as_i64().unwrap(), crop["indices"].as_i32().unwrap());
    for b in 0..BOXES {
        let points: Vec<i32> = (0..POINTS).filter(|&i| held(i, b)).map(|i| i as i32).collect();
        assert_eq!(count["count"].as_i32().unwrap()[b], points.len() as i32, "box {b}");
        assert_eq!(indices[splits[b] as usize..splits[b + 1] as usize], points, "box {b}");
    }
    let parted = part["part"].as_i32().unwrap().iter().filter(|&&b| b >= 0).count();
    assert!(parted > 100 && pairs > parted, "{parted} points in {pairs} pairs");
    let told = run(folder.path(), "roi-pool --inside all --boxes b.npy --points p.npy --margin 0.5 --json").expect(0);
    let wanted = serde_json::json!({"boxes": BOXES, "points": POINTS, "points_inside": parted, "pairs": pairs});
    assert_eq!(told.data("frame")[0]["report"], wanted);
}

#[test]
fn points_come_from_any_file_and_from_the_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let (_, points, _) = write_scene(folder.path());
    let cloud = pointmill::PointCloud::new(points, 4).unwrap();
    pointmill_io::write_bin(folder.path().join("p.bin"), cloud.points()).unwrap();
    let view = ArrayView::f32(&[POINTS, 4], cloud.data());
    pointmill_io::write_npz(folder.path().join("p.npz"), &[("points", view)]).unwrap();
    let report = |points: &str| {
        let args = format!("roi-pool --inside part --boxes b.npy --points {points} --json");
        run(folder.path(), &args).expect(0).data("frame")[0]["report"].clone()
    };
    let want = report("p.npy");
    assert_eq!((report("p.bin"), report("p.npz")), (want.clone(), want.clone()));
    let mut piped = command(folder.path(), "roi-pool --inside part --boxes b.npy --points - --format kitti --json");
    let told = finished(piped.stdin(fs::File::open(folder.path().join("p.bin")).unwrap()).output().unwrap()).expect(0);
    assert_eq!(told.data("frame")[0]["report"], want);
    assert_eq!(told.data("begin")[0]["files"], serde_json::json!(["b.npy", "-"]));
}

#[test]
fn no_box_and_no_point_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    write_scene(folder.path());
    write_npy(folder.path().join("b0.npy"), &ArrayView::f32(&[0, 7], &[])).unwrap();
    write_npy(folder.path().join("p0.npy"), &ArrayView::f32(&[0, 4], &[])).unwrap();
    write_npy(folder.path().join("f0.npy"), &ArrayView::f32(&[0, 2], &[])).unwrap();
    let no_boxes = "--boxes b0.npy --points p.npy --features f.npy --out-size 2 --compare-cpu --visualize o.png";
    let got = arrays(folder.path(), no_boxes);
    assert_eq!((got["pooled"].shape(), got["point_indices"].shape()), (&[0, 2, 2, 2, 3][..], &[0, 2, 2, 2, 128][..]));
    let no_points = "--boxes b.npy --points p0.npy --features f0.npy --out-size 2 --compare-cpu --visualize o.png";
    let got = arrays(folder.path(), no_points);
    assert_eq!(got["pooled"].shape(), [BOXES, 2, 2, 2, 2]);
    assert!(got["pooled"].as_f32().unwrap().iter().all(|&v| v == 0.0));
    assert!(got["argmax"].as_i32().unwrap().iter().all(|&v| v == -1));
    let got = arrays(folder.path(), &format!("{no_points} --output sparse"));
    assert_eq!((got["coords"].shape(), got["row_splits"].as_i64().unwrap()), (&[0, 4][..], &[0][..]));
    for (kind, name, shapes) in [
        ("part", "part", [&[0][..], &[POINTS], &[0]]),
        ("all", "all", [&[0, BOXES], &[POINTS, 0], &[0, 0]]),
        ("count", "count", [&[BOXES], &[0], &[0]]),
        ("crop", "row_splits", [&[BOXES + 1], &[1], &[1]]),
    ] {
        let files =
            ["--boxes b.npy --points p0.npy", "--boxes b0.npy --points p.npy", "--boxes b0.npy --points p0.npy"];
        for (files, shape) in files.into_iter().zip(shapes) {
            let got = arrays(folder.path(), &format!("--inside {kind} --compare-cpu {files}"));
            assert_eq!(got[name].shape(), shape, "{kind} {files}");
        }
    }
    let told = run(folder.path(), "roi-pool --inside part --boxes b0.npy --points p0.npy").expect(0);
    assert_eq!(told.err, "warning: b0.npy: there is no box\nwarning: p0.npy: the cloud is empty\n");
}

#[test]
fn the_cpu_beside_it_is_equal_and_timed() {
    let folder = tempfile::tempdir().unwrap();
    write_scene(folder.path());
    for flags in ["", "--mode mean --output csr", "--output sparse --max-points 2"] {
        let told = run(folder.path(), &format!("roi-pool {FILES} --json --compare-cpu {flags}")).expect(0);
        let summary = told.data("frame").remove(0);
        let cpu = &summary["cpu"];
        assert_eq!(
            (&cpu["equal"], &cpu["threads"], &cpu["differs"]),
            (&true.into(), &1.into(), &serde_json::json!([]))
        );
        let ratio = cpu["ms"].as_f64().unwrap() / summary["ms"].as_f64().unwrap();
        assert!((ratio - cpu["ratio"].as_f64().unwrap()).abs() < 1e-4);
    }
    for kind in ["part", "all", "count", "crop"] {
        let told = run(folder.path(), &format!("roi-pool --inside {kind} --compare-cpu")).expect(0);
        assert!(told.out.contains("times as fast, all arrays equal"), "{}", told.out);
        assert!(told.out.lines().nth(1).unwrap().ends_with("  equal"), "{}", told.out);
    }
}

#[test]
fn json_lines_have_the_documented_fields() {
    let folder = tempfile::tempdir().unwrap();
    write_scene(folder.path());
    let args = format!("roi-pool {FILES} --out-size 3,2,1 --output sparse --compare-cpu --json --out o.npz");
    let told = run(folder.path(), &args).expect(0);
    let kinds: Vec<_> = told.lines().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["begin", "frame", "summary"]);
    let fields = |kind: &str| {
        let data = told.data(kind).remove(0);
        data.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(fields("begin"), "command device device_name files inputs params version");
    assert_eq!(
        fields("frame"),
        "arrays channels cpu device element files index input ms out read_ms report warnings write_ms"
    );
    assert_eq!(
        fields("summary"),
        "boxes command cpu device device_name done failed inputs kept ms out picture points salvaged version"
    );
    let begin = told.data("begin").remove(0);
    assert_eq!((&begin["command"], &begin["device"]), (&"roi-pool".into(), &"cpu".into()));
    assert_eq!((&begin["inputs"], &begin["files"]), (&1.into(), &serde_json::json!(["b.npy", "p.npy", "f.npy"])));
    let wanted = serde_json::json!({"inside": null, "out_size": [3, 2, 1], "max_points": 127, "mode": "max", "layout": "sparse",
        "origin": "bottom", "margin": 0.0});
    assert_eq!(begin["params"], wanted);
    let summary = told.data("frame").remove(0);
    assert_eq!((&summary["channels"], &summary["element"]), (&CHANNELS.into(), &"f32".into()));
    assert_eq!((&summary["out"], &told.data("summary")[0]["picture"]), (&"o.npz".into(), &serde_json::Value::Null));
    let voxels = &summary["report"]["voxels"];
    let first = serde_json::json!({"name": "pooled", "type": "f32", "shape": [voxels, CHANNELS]});
    assert_eq!(summary["arrays"][0], first);
    assert!(["ms", "read_ms", "write_ms"].iter().all(|k| summary[k].as_f64().unwrap() > 0.0), "{summary}");
    let told = run(folder.path(), "roi-pool --inside crop --json").expect(0);
    let params = &told.data("begin")[0]["params"];
    assert_eq!((&params["inside"], &params["out_size"]), (&"crop".into(), &serde_json::Value::Null));
    assert_eq!(told.data("begin")[0]["files"], serde_json::json!(["synthetic", "synthetic"]));
    let report = &told.data("frame")[0]["report"];
    assert!(report["pairs"].as_u64().unwrap() > 0 && report["points_inside"].is_null(), "{report}");
}

#[test]
fn a_picture_is_written_and_told() {
    let folder = tempfile::tempdir().unwrap();
    write_scene(folder.path());
    let told = run(folder.path(), &format!("roi-pool {FILES} --out-size 4 --visualize p.png --out o.npz")).expect(0);
    let end = format!(
        "o.npz: pooled f32 [{BOXES}, 4, 4, 4, 3], argmax i32 [{BOXES}, 4, 4, 4, 3], \
         point_indices i32 [{BOXES}, 4, 4, 4, 128]\npicture: p.png\n"
    );
    assert!(told.out.ends_with(&end), "{}", told.out);
    let bytes = fs::read(folder.path().join("p.png")).unwrap();
    assert_eq!(bytes[..8], *b"\x89PNG\r\n\x1a\n");
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    write_npy(folder.path().join("b6.npy"), &ArrayView::f32(&[2, 6], &[0.0; 12])).unwrap();
    write_npy(folder.path().join("f1.npy"), &ArrayView::f32(&[POINTS], &[0.0; POINTS])).unwrap();
    fs::write(folder.path().join("none.bin"), "text").unwrap();
    let args = "roi-pool --boxes b6.npy --points none.bin --features f1.npy --json";
    let told = run(folder.path(), args).expect(3);
    let indices: Vec<_> = told.data("error").iter().map(|e| e["index"].as_u64()).collect();
    assert_eq!(indices, [Some(0), Some(0), Some(0), None]);
    let files: Vec<_> = told.data("error").iter().map(|e| e["file"].clone()).collect();
    assert_eq!(files[..3], ["b6.npy", "none.bin", "f1.npy"]);
    assert!(told.err.contains("f1.npy: shape: ") && !told.err.contains(" failed"), "{}", told.err);
}
