//! `icp`: poses, flags, lines, tables, pictures, and what goes wrong.

use crate::{fields, finished, matrix, run, shared};
use pointmill::icp::{IcpParams, Metric, Registration, Robust, Stage, align};
use pointmill::{Device, Points, Pose, Rows};
use pointmill_io::{ArrayView, Dtype, NamedPoints, ReadOptions, read, write_npy, write_ply};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Where the target stands, as far from zero as in a square of the military grid.
const ORIGIN: [f64; 3] = [81_764.0, 35_880.0, 500.0];
/// A turn about z and a shift, from the source to the target.
const TURN: f64 = 0.01;
const SHIFT: [f64; 3] = [0.015, -0.01, 0.02];

/// A bumpy sheet of 2 m x 2 m, `n` points a side.
pub(crate) fn sheet(n: usize) -> Vec<[f64; 3]> {
    let at = |i: usize| 2.0 * i as f64 / n as f64 - 1.0;
    let points = (0..n * n).map(|k| (at(k % n), at(k / n)));
    points.map(|(x, y)| [x, y, 0.2 * (3.0 * x).sin() * (2.0 * y).cos() + 0.1 * x * y]).collect()
}

/// The pose of the test, rows first.
fn truth() -> [f64; 16] {
    let (sin, cos) = TURN.sin_cos();
    #[rustfmt::skip]
    let rows = [
        cos, -sin, 0.0, ORIGIN[0] + SHIFT[0],
        sin, cos, 0.0, ORIGIN[1] + SHIFT[1],
        0.0, 0.0, 1.0, ORIGIN[2] + SHIFT[2],
        0.0, 0.0, 0.0, 1.0,
    ];
    rows
}

fn moved(points: &[[f64; 3]], m: &[f64; 16]) -> Vec<[f64; 3]> {
    let row = |i: usize, p: &[f64; 3]| m[i] * p[0] + m[i + 1] * p[1] + m[i + 2] * p[2] + m[i + 3];
    points.iter().map(|p| [row(0, p), row(4, p), row(8, p)]).collect()
}

pub(crate) fn write_points(folder: &Path, name: &str, points: &[[f64; 3]]) {
    write_npy(folder.join(name), &ArrayView::f64(&[points.len(), 3], points.as_flattened())).unwrap();
}

/// A source about zero, a target on a map, and a guess that knows where the map is.
fn write_pair(folder: &Path) -> (Vec<[f64; 3]>, Vec<[f64; 3]>) {
    let source = sheet(40);
    let target = moved(&source, &truth());
    write_points(folder, "a.npy", &source);
    write_points(folder, "b.npy", &target);
    let [x, y, z] = ORIGIN;
    fs::write(folder.join("guess.txt"), format!("{x} {y} {z} 0 0 0\n")).unwrap();
    (source, target)
}

/// The rows of a pose, one after the other.
fn flat(pose: &Pose) -> [f64; 16] {
    pose.matrix().as_flattened().try_into().unwrap()
}

fn library(source: &[[f64; 3]], target: &[[f64; 3]], guess: &Pose, params: &IcpParams) -> Registration {
    let [source, target] = [source, target].map(|points| Rows::f64(points.as_flattened(), 3).unwrap());
    align(source, target, guess, params, &Device::cpu()).unwrap()
}

/// Degrees and metres between two poses.
fn off(found: &[f64; 16], truth: &[f64; 16]) -> (f64, f64) {
    let chord: f64 = (0..12).filter(|i| i % 4 != 3).map(|i| (found[i] - truth[i]).powi(2)).sum();
    let metres = [3, 7, 11].map(|i| (found[i] - truth[i]).powi(2)).iter().sum::<f64>().sqrt();
    (2.0 * (chord / 8.0).sqrt().asin().to_degrees(), metres)
}

#[test]
fn the_answer_is_that_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = write_pair(folder.path());
    let args = "icp a.npy b.npy --guess guess.txt --metric point-to-point --max-distance 0.5 --json";
    let told = run(folder.path(), args).expect(0);
    assert_eq!(told.err, "");
    let begin = told.data("begin").remove(0);
    assert_eq!(fields(&begin), "command device device_name guess inputs params source target version");
    assert_eq!(
        fields(&begin["params"]),
        "drop_zeros max_distance max_iterations metric neighbours robust schedule search step_tolerance"
    );
    assert_eq!((&begin["command"], &begin["guess"]), (&"icp".into(), &"guess.txt".into()));
    assert_eq!((&begin["params"]["max_iterations"], &begin["params"]["step_tolerance"]), (&100.into(), &1e-6.into()));
    let got = told.data("frame").remove(0);
    assert_eq!(
        fields(&got),
        "converged covariance cpu device fitness hessian index inlier_rmse input iterations ms num_inliers observability out pivot \
         prepare_ms read_ms source_dropped source_points status target_dropped target_from_source target_points trace warnings \
         write_ms"
    );
    let params = IcpParams { metric: Metric::PointToPoint, max_distance: Some(0.5), ..IcpParams::default() };
    let want = library(&source, &target, &Pose::from_translation(ORIGIN), &params);
    assert!(want.converged() && off(&flat(&want.target_from_source), &truth()).1 < 1e-6, "{:?}", want.status);
    assert_eq!(matrix(&got), flat(&want.target_from_source));
    assert_eq!((&got["status"], &got["converged"]), (&"fixed".into(), &true.into()));
    assert_eq!((&got["iterations"], &got["num_inliers"]), (&want.iterations.into(), &1_600.into()));
    assert_eq!((&got["fitness"], &got["inlier_rmse"]), (&1.0.into(), &want.fit.inlier_rmse.into()));
    assert_eq!((&got["hessian"], &got["covariance"]), (&json!(want.hessian), &json!(want.covariance)));
    assert_eq!((&got["pivot"], &got["source_points"]), (&json!(want.fit.pivot), &1_600.into()));
    let seen = &got["observability"];
    assert_eq!(fields(seen), "directions eigenvalues observable rank");
    assert_eq!((&seen["rank"], &seen["eigenvalues"]), (&6.into(), &json!(want.fit.observability.eigenvalues)));
    assert_eq!(
        (&seen["directions"], &seen["observable"]),
        (&json!(want.fit.observability.directions), &json!(want.fit.observability.observable))
    );
    let trace = got["trace"].as_array().unwrap();
    assert_eq!((trace.len(), fields(&got["source_dropped"]).as_str()), (want.fit.trace.len(), "non_finite zeros"));
    for (got, want) in trace.iter().zip(&want.fit.trace) {
        assert_eq!(
            fields(got),
            "changed pairs reduce_ms rmse search_ms searched solve_ms stage step target_from_source"
        );
        assert_eq!((matrix(got), got["rmse"].as_f64()), (flat(&want.target_from_source), Some(want.rmse)));
        assert_eq!((&got["pairs"], &got["changed"]), (&want.pairs.into(), &want.changed.into()));
        assert_eq!((got["step"].as_f64(), &got["searched"]), (Some(want.step), &want.searched.into()));
        assert!(["search_ms", "reduce_ms", "solve_ms"].iter().all(|ms| got[ms].as_f64().unwrap() >= 0.0));
    }
    // The same pose from a matrix as from six numbers, and one that is the answer already.
    let text: Vec<_> = truth().iter().map(f64::to_string).collect();
    fs::write(folder.path().join("true.txt"), text.join(" ")).unwrap();
    let told = run(folder.path(), &args.replace("guess.txt", "true.txt")).expect(0);
    assert!(told.data("frame")[0]["iterations"].as_u64().unwrap() <= 2);
    // Three digits of it are taken as the nearest rotation; the error of one a hundredth off says
    // so.
    let rounded: Vec<_> = truth().iter().map(|x| format!("{x:.3}")).collect();
    fs::write(folder.path().join("rounded.txt"), rounded.join(" ")).unwrap();
    let told = run(folder.path(), &args.replace("guess.txt", "rounded.txt")).expect(0);
    assert_eq!(told.data("frame")[0]["converged"], Value::Bool(true));
    let mut far = flat(&Pose::from_translation(ORIGIN));
    far[0] = 1.01;
    fs::write(folder.path().join("far.txt"), far.map(|x| x.to_string()).join(" ")).unwrap();
    let told = run(folder.path(), "icp a.npy b.npy --guess far.txt").expect(3);
    let wanted = "an entry that is 1.00e-2 off";
    assert!(told.err.contains("far.txt: ") && told.err.contains(wanted), "{}", told.err);
}

#[test]
fn every_flag_reaches_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let mut source = sheet(40);
    let mut target = moved(&source, &truth());
    target.iter_mut().for_each(|p| (0..3).for_each(|k| p[k] -= ORIGIN[k]));
    // Some points that are wrong, so that weights and limits matter.
    source.iter_mut().step_by(47).for_each(|p| p[2] += 0.3);
    target.push([0.0; 3]);
    write_points(folder.path(), "a.npy", &source);
    write_points(folder.path(), "b.npy", &target);
    let default = IcpParams::default();
    let stage = |voxel_size, max_distance| Stage { voxel_size, max_distance };
    let staged = vec![stage(0.2, Some(1.0)), stage(0.0, None)];
    let of = |metric| IcpParams { metric, ..default.clone() };
    let by = |robust| IcpParams { robust, ..default.clone() };
    let cases = [
        ("", default.clone()),
        ("--metric point-to-plane", default.clone()),
        ("--metric point-to-point", of(Metric::PointToPoint)),
        ("--metric gicp", of(Metric::Gicp)),
        ("--max-distance 0.1", IcpParams { max_distance: Some(0.1), ..default.clone() }),
        ("--step-tolerance 0.01", IcpParams { step_tolerance: 0.01, ..default.clone() }),
        ("--schedule 0.2:1,0:none", IcpParams { schedule: staged, ..default.clone() }),
        ("--robust none", default.clone()),
        ("--robust huber:0.05", by(Robust::Huber(0.05))),
        ("--robust cauchy:0.05", by(Robust::Cauchy(0.05))),
        ("--robust geman-mcclure:0.05", by(Robust::GemanMcClure(0.05))),
        ("--robust tukey:0.2", by(Robust::Tukey(0.2))),
        ("--drop-zeros", IcpParams { drop_zeros: true, ..default }),
    ];
    let mut poses = Vec::new();
    for (flags, params) in cases {
        let told = run(folder.path(), &format!("icp a.npy b.npy {flags} --json"));
        let got = told.data("frame").remove(0);
        let want = library(&source, &target, &Pose::IDENTITY, &params);
        assert_eq!(matrix(&got), flat(&want.target_from_source), "{flags}");
        assert_eq!((&got["iterations"], told.code), (&want.iterations.into(), if want.converged() { 0 } else { 6 }));
        assert_eq!(got["target_dropped"]["zeros"], u8::from(params.drop_zeros));
        poses.push((flags, flat(&want.target_from_source)));
    }
    // Were a flag lost, two of these would be the same.
    for (i, (a, first)) in poses.iter().enumerate().skip(2) {
        for (b, second) in poses.iter().skip(i + 1).filter(|(b, _)| *b != "--robust none" && *a != "--robust none") {
            assert!(first != second, "{a} and {b}");
        }
    }
    // Searches have one answer; what differs is how many neighbours they can prove.
    let plain = run(folder.path(), "icp a.npy b.npy --json").data("frame").remove(0);
    for search in ["brute", "kdtree", "lbvh"] {
        let told = run(folder.path(), &format!("icp a.npy b.npy --search {search} --json"));
        assert_eq!(told.data("begin")[0]["params"]["search"], search);
        let got = told.data("frame").remove(0);
        let same = ["target_from_source", "status", "iterations", "inlier_rmse", "hessian"];
        assert!(same.iter().all(|field| got[field] == plain[field]), "{search}");
    }
    let params = run(folder.path(), "icp a.npy b.npy --schedule 0.2:1,0:none --robust tukey:0.2 --drop-zeros --json");
    let params = params.data("begin").remove(0)["params"].take();
    let stages = json!([{"voxel_size": 0.2, "max_distance": 1.0}, {"voxel_size": 0.0, "max_distance": null}]);
    assert_eq!((&params["schedule"], &params["drop_zeros"]), (&stages, &true.into()));
    assert_eq!(params["robust"], "tukey:0.2");
}

#[test]
fn people_see_the_way_and_the_end() {
    let folder = tempfile::tempdir().unwrap();
    write_pair(folder.path());
    let told = run(folder.path(), "icp a.npy b.npy --guess guess.txt --metric gicp").expect(0);
    let lines: Vec<_> = told.out.lines().collect();
    assert!(lines[0].trim_start().starts_with("iteration") && lines[1].contains("1,600"), "{}", told.out);
    assert!(told.out.contains("\ntarget_from_source\n"));
    assert!(told.out.contains(" 1,600 pairs, fitness 1.0000, rmse ") && told.out.contains("6 of 6 degrees of freedom"));
    assert!(lines.last().unwrap().starts_with("1,600 points onto 1,600 on cpu ("), "{}", told.out);
}

#[test]
fn the_aligned_cloud_keeps_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = write_pair(folder.path());
    // Columns of several types, a normal, and a point that is not finite.
    let mut rows: Vec<f32> = Vec::new();
    for (i, p) in source.iter().enumerate() {
        rows.extend([p[0] as f32, p[1] as f32, p[2] as f32, (i % 200) as f32, 1.0, 0.0, 0.0, 0.25]);
    }
    rows[8 * 7] = f32::NAN;
    let names = ["x", "y", "z", "ring", "nx", "ny", "nz", "intensity"];
    let points = Points::new(&rows, 8).unwrap();
    let mut cloud = NamedPoints::new(points, &names);
    cloud.fields.to_mut()[3].dtype = Dtype::U8;
    write_ply(folder.path().join("a.ply"), &cloud).unwrap();
    let args = "icp a.ply b.npy --guess guess.txt --out o.ply --json";
    let told = run(folder.path(), args).expect(0);
    let summary = told.data("frame").remove(0);
    assert_eq!((&summary["out"], &summary["source_dropped"]["non_finite"]), (&"o.ply".into(), &1.into()));
    assert_eq!(summary["warnings"], json!(["1 of 1600 points are not finite"]));
    let got = read(folder.path().join("o.ply"), &ReadOptions::default()).unwrap();
    let fields: Vec<_> = got.fields.iter().map(|f| (f.name.as_str(), f.dtype)).collect();
    let f32s = |name| (name, Dtype::F32);
    let f64s = |name| (name, Dtype::F64);
    let wanted = [f64s("x"), f64s("y"), f64s("z"), ("ring", Dtype::U8), f32s("nx"), f32s("ny"), f32s("nz")];
    assert_eq!(fields[..7], wanted);
    assert_eq!((fields[7], got.cloud.len()), (f32s("intensity"), 1_600));
    // On a map an f32 would move points by millimetres.
    let xyz = got.xyz_f64.as_ref().unwrap();
    let far = xyz
        .chunks(3)
        .zip(&target)
        .enumerate()
        .filter(|(i, _)| *i != 7)
        .map(|(_, (p, q))| (0..3).map(|k| (p[k] - q[k]).abs()).fold(0.0, f64::max));
    assert!(far.fold(0.0, f64::max) < 1e-5);
    assert!(xyz[3 * 7].is_nan());
    let row = got.cloud.points().row(9);
    assert!((row[4] - TURN.cos() as f32).abs() < 1e-5 && (row[5] - TURN.sin() as f32).abs() < 1e-5, "{row:?}");
    assert_eq!((row[3], row[7]), (9.0, 0.25));
    // f32 stays f32 where both are.
    let near: Vec<f32> = source.iter().flatten().map(|x| (*x + 0.01) as f32).collect();
    write_ply(folder.path().join("c.ply"), &NamedPoints::new(Points::new(&near, 3).unwrap(), &["x", "y", "z"]))
        .unwrap();
    for out in ["n.ply", "n.pcd", "n.npz"] {
        run(folder.path(), &format!("icp a.ply c.ply --out {out}")).expect(0);
        let got = read(folder.path().join(out), &ReadOptions::default()).unwrap();
        assert!(got.xyz_f64.is_none() && got.cloud.len() == 1_600, "{out}");
        assert!((got.cloud.points().xyz(9)[0] - near[27]).abs() < 1e-4, "{out}");
    }
}

#[test]
fn pictures_are_what_they_are_called() {
    let folder = tempfile::tempdir().unwrap();
    write_pair(folder.path());
    let start = |name: &str| fs::read(folder.path().join(name)).unwrap()[..6].to_vec();
    let args = "icp a.npy b.npy --guess guess.txt --visualize v.GIF --plot p.svg";
    let told = run(folder.path(), args).expect(0);
    assert!(told.out.ends_with("picture: v.GIF\nplot: p.svg\n"), "{}", told.out);
    assert_eq!(start("v.GIF"), b"GIF89a");
    let svg = fs::read_to_string(folder.path().join("p.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for wanted in ["brute force, cpu", "kd-tree, cpu", "LBVH, cpu", "1,600 points onto 1,600", "rmse of the pairs"] {
        assert!(svg.contains(wanted), "{wanted}");
    }
    let told = run(folder.path(), "icp a.npy b.npy --guess guess.txt --visualize v.png --plot p.png --json").expect(0);
    let summary = told.data("summary").remove(0);
    assert_eq!((&summary["picture"], &summary["plot"]), (&"v.png".into(), &"p.png".into()));
    assert_eq!((start("v.png"), start("p.png")), (b"\x89PNG\r\n".to_vec(), b"\x89PNG\r\n".to_vec()));
    // The picture has no clock in it.
    let once = fs::read(folder.path().join("v.png")).unwrap();
    run(folder.path(), "icp a.npy b.npy --guess guess.txt --visualize v.png").expect(0);
    assert!(once == fs::read(folder.path().join("v.png")).unwrap());
}

#[test]
fn what_does_not_converge_is_6_and_told() {
    let folder = tempfile::tempdir().unwrap();
    write_pair(folder.path());
    let plane: Vec<[f64; 3]> = sheet(30).iter().map(|p| [p[0], p[1], 0.0]).collect();
    write_points(folder.path(), "plane.npy", &plane);
    write_points(folder.path(), "empty.npy", &[]);
    write_points(folder.path(), "one.npy", &[[1.0, 2.0, 3.0]]);
    write_points(folder.path(), "nan.npy", &[[f64::NAN; 3]; 5]);
    for (args, status) in [
        ("a.npy b.npy --guess guess.txt --max-iterations 1", "max-iterations"),
        ("a.npy b.npy --guess guess.txt --max-iterations 0", "max-iterations"),
        ("a.npy b.npy --max-distance 1", "no-pairs"),
        ("plane.npy plane.npy", "degenerate"),
        ("plane.npy plane.npy --metric point-to-point --max-distance 0", "step-below"),
        ("empty.npy a.npy", "no-pairs"),
        ("a.npy empty.npy --metric point-to-point", "no-pairs"),
        ("nan.npy a.npy --metric gicp", "no-pairs"),
        ("one.npy one.npy --metric point-to-point", "degenerate"),
    ] {
        let code = if status == "step-below" { 0 } else { 6 };
        let told = run(folder.path(), &format!("icp {args} --visualize v.png --out o.ply --json")).expect(code);
        let got = told.data("frame").remove(0);
        assert_eq!((&got["status"], &got["converged"]), (&status.into(), &(code == 0).into()), "{args}");
        assert!(matrix(&got).iter().all(|x| x.is_finite()), "{args}");
        assert!(folder.path().join("v.png").exists() && folder.path().join("o.ply").exists());
        if code == 6 {
            let error = told.data("error").remove(0);
            assert_eq!((&error["class"], &error["exit_code"]), (&"No".into(), &6.into()), "{args}");
            let message = error["message"].as_str().unwrap();
            assert!(message.starts_with(&format!("not converged: {status}")), "{args}: {message}");
        }
    }
    // What is the cause is said.
    let line = |x: f64| (0..200).map(|i| [x, 0.05 * f64::from(i), 0.0]).collect::<Vec<_>>();
    write_points(folder.path(), "line.npy", &line(0.0));
    write_points(folder.path(), "beside.npy", &line(0.36));
    write_points(folder.path(), "near.npy", &[[1.0, 2.0, 3.2]]);
    for (args, cause) in [
        (
            "beside.npy line.npy",
            "no point of the target has a normal (its neighbours lie on a line): use --metric point-to-point",
        ),
        ("near.npy one.npy", "no point of the target has a normal (it has 1 point): use --metric point-to-point"),
        ("empty.npy a.npy", "the source has no point that is finite and not left out"),
        ("nan.npy a.npy", "the source has no point that is finite and not left out"),
        ("a.npy empty.npy", "the target has no point that is finite and not left out"),
        (
            "beside.npy line.npy --max-distance 0.1",
            "no point has a neighbour within reach: start from a better --guess, or raise --max-distance",
        ),
    ] {
        let told = run(folder.path(), &format!("icp {args}")).expect(6);
        assert!(told.err.ends_with(&format!("error: not converged: no-pairs; {cause}\n")), "{args}: {}", told.err);
    }
    let told = run(folder.path(), "icp plane.npy plane.npy").expect(6);
    assert!(
        told.out.contains("degenerate after ") && told.out.contains(", 3 of 6 degrees of freedom are constrained"),
        "{}",
        told.out
    );
    assert!(told.err.ends_with("error: not converged: degenerate; the clouds do not determine the whole pose: use clouds with more structure\n"), "{}", told.err);
}

#[test]
fn all_that_cannot_be_read_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["bad.ply", "none.npy", "two.txt"] {
        fs::write(folder.path().join(name), "text").unwrap();
    }
    let told = run(folder.path(), "icp none.npy bad.ply --guess two.txt --json").expect(3);
    let inputs: Vec<_> = told.data("error").iter().map(|e| (e["index"].clone(), e["input"].clone())).collect();
    let wanted = [(1.into(), "bad.ply".into()), (2.into(), "two.txt".into()), (Value::Null, Value::Null)];
    assert_eq!(inputs, wanted);
}

#[test]
fn one_cloud_may_come_through_the_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    write_pair(folder.path());
    let piped = |file: &str, args: &str| {
        let stdin = fs::File::open(folder.path().join(file)).unwrap();
        finished(crate::command(folder.path(), args).stdin(stdin).output().unwrap())
    };
    let plain = run(folder.path(), "icp a.npy b.npy --guess guess.txt --json").expect(0);
    for (file, args) in [("a.npy", "- b.npy"), ("b.npy", "a.npy -")] {
        let told = piped(file, &format!("icp {args} --format npy --guess guess.txt --json")).expect(0);
        assert_eq!(matrix(&told.data("frame")[0]), matrix(&plain.data("frame")[0]));
    }
}

#[test]
fn the_bunny_is_aligned() {
    let Some(shared) = shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [source, target] = ["bun045.ply", "bun000.ply"].map(|name| shared.join("bunny").join(name));
    // bun.conf, with the quaternion conjugated as that file means it.
    let [x, y, z, w] = [-0.005_484_49, 0.294_635, 0.003_855_5, 0.955_586];
    #[rustfmt::skip]
    let truth: [f64; 16] = [
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y), -0.052_021_1,
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x), -0.000_383_981,
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y), -0.010_922_3,
        0.0, 0.0, 0.0, 1.0,
    ];
    for (metric, most) in [("point-to-plane", 0.2), ("gicp", 0.1)] {
        let (source, target) = (source.display(), target.display());
        let args = format!("icp {source} {target} --metric {metric} --max-distance 1 --json");
        let got = run(folder.path(), &args).expect(0).data("frame").remove(0);
        let (degrees, metres) = off(&matrix(&got), &truth);
        assert!(degrees <= most && metres < 1e-3, "{metric}: {degrees} {metres}");
        assert_eq!((&got["source_points"], &got["target_points"]), (&40_097.into(), &40_256.into()));
    }
}

#[test]
fn two_real_scans_are_aligned() {
    let Some(shared) = shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let pair = shared.join("pair");
    let (source, target) = (pair.join("source.ply"), pair.join("target.pcd"));
    let args =
        format!("icp {} {} --metric gicp --max-distance 1 --drop-zeros --json", source.display(), target.display());
    let got = run(folder.path(), &args).expect(0).data("frame").remove(0);
    let text = fs::read_to_string(pair.join("target_from_source.txt")).unwrap();
    let truth: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let (degrees, metres) = off(&matrix(&got), &truth.try_into().unwrap());
    assert!(metres <= 0.03 && degrees <= 0.5, "{metres} m, {degrees} degrees");
    assert_eq!((&got["source_dropped"]["zeros"], &got["target_dropped"]["zeros"]), (&5_107.into(), &5_032.into()));
}
