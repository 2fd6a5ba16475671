//! `ndt`: grids and moments, scores and alignments, tables, lines, pictures, and what goes wrong.

use crate::{Run, fields, finished, matrix, names, shared, write_cloud};
use pointmill::ndt::{Covariance, NdtAlignParams, NdtCells, NdtMoments, NdtParams, ndt_grid};
use pointmill::{Device, Pose, Rows};
use pointmill_data::read_ndt_moments;
use pointmill_io::{ArrayView, Dtype, read_npz, write_npy};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A corner of a hall, 12 m wide: floor and two walls, 8 points a metre.
fn hall() -> Vec<f64> {
    let mut points = Vec::new();
    for i in 0..96 {
        for j in 0..96 {
            let (a, b) = (0.125 * f64::from(i) + 0.0625, 0.125 * f64::from(j) + 0.0625);
            // A little rough, or cells would have no thickness at all.
            let rough = 0.01 * f64::from((7 * i + 13 * j) % 5);
            points.extend([a, b, rough]);
            if j < 32 {
                points.extend([rough, a, b, /**/ a, rough, b]);
            }
        }
    }
    points
}

/// Where it stands on a map, as far from zero as in a square of the military grid.
const ORIGIN: [f64; 3] = [81_764.0, 35_880.0, 500.0];

fn moved(points: &[f64], by: [f64; 3]) -> Vec<f64> {
    points.iter().zip(by.iter().cycle()).map(|(x, o)| x + o).collect()
}

/// The command without an origin: coordinates of results are those of the files.
fn run(folder: &Path, args: &str) -> Run {
    let flag = if args.starts_with("ndt merge") { "" } else { " --local-origin none" };
    crate::run(folder, &format!("{args}{flag}"))
}

fn write_points(folder: &Path, name: &str, points: &[f64]) {
    write_npy(folder.join(name), &ArrayView::f64(&[points.len() / 3, 3], points)).unwrap();
}

/// The hall as three tiles of f64, the last with a point that is not finite.
fn write_tiles(folder: &Path) -> Vec<f64> {
    let mut points = moved(&hall(), ORIGIN);
    let last = points.len() - 1;
    points[last] = f64::NAN;
    fs::create_dir(folder.join("tiles")).unwrap();
    for (i, tile) in points.chunks(3 * 6_000).enumerate() {
        write_points(folder, &format!("tiles/{i}.npy"), tile);
    }
    points
}

fn cells(points: &[f64], resolution: f64, params: &NdtParams) -> NdtCells {
    let cloud = Rows::f64(points, 3).unwrap();
    ndt_grid(cloud, resolution, params, &Device::cpu()).unwrap().read().unwrap()
}

#[test]
fn the_arrays_are_those_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let points = write_tiles(folder.path());
    let args = "ndt build tiles --resolution 1.5 --covariance autoware --min-points 9 --eigen-ratio 0.05 --out g.npz";
    let told = run(folder.path(), args).expect(0);
    let params = NdtParams { min_points: 9, covariance: Covariance::Autoware, eigen_ratio: 0.05 };
    let want = cells(&points, 1.5, &params);
    assert!(want.len() > 100 && want.report.sparse + want.report.clamped > 0, "{:?}", want.report);
    let got = read_npz(folder.path().join("g.npz")).unwrap();
    let v = want.len();
    let shapes: Vec<_> = got.iter().map(|(name, a)| (name.as_str(), a.dtype(), a.shape().to_vec())).collect();
    let n = got["report"].len();
    assert_eq!(
        shapes,
        [
            ("coords", Dtype::I32, vec![v, 3]),
            ("counts", Dtype::U32, vec![v]),
            ("covariance", Dtype::F64, vec![v, 3, 3]),
            ("eigenvalues", Dtype::F64, vec![v, 3]),
            ("inv_covariance", Dtype::F64, vec![v, 3, 3]),
            ("mean", Dtype::F64, vec![v, 3]),
            ("normal", Dtype::F64, vec![v, 3]),
            ("report", Dtype::U8, vec![n]),
            ("resolution", Dtype::F64, vec![1]),
        ]
    );
    let lattice = *NdtMoments::new(1.5).unwrap().lattice();
    assert_eq!(got["resolution"].as_f64().unwrap(), [lattice.unit()]);
    assert_eq!(got["coords"].as_i32().unwrap(), want.coords.as_flattened());
    assert_eq!(got["counts"].as_u32().unwrap(), want.counts);
    assert_eq!(got["mean"].as_f64().unwrap(), want.mean.as_flattened());
    assert_eq!(got["eigenvalues"].as_f64().unwrap(), want.eigenvalues.as_flattened());
    assert_eq!(got["normal"].as_f64().unwrap(), want.normal.as_flattened());
    for (name, rows) in [("covariance", &want.covariance), ("inv_covariance", &want.inverse)] {
        let full = |m: &[f64; 6]| [m[0], m[1], m[2], m[1], m[3], m[4], m[2], m[4], m[5]];
        assert_eq!(got[name].as_f64().unwrap(), rows.iter().flat_map(full).collect::<Vec<_>>(), "{name}");
    }
    let report: Value = serde_json::from_slice(got["report"].as_u8().unwrap()).unwrap();
    let r = want.report;
    let wanted = json!({"points": points.len() / 3, "non_finite": 1, "cells": r.cells, "sparse": r.sparse,
        "degenerate": r.degenerate, "voxels": v, "clamped": r.clamped});
    assert_eq!(report, wanted);
    // Coordinates went in as f64: an f32 has steps of 8 mm there.
    assert_eq!(told.err, "warning: tiles/2.npy: 1 of 3360 points are not finite\n");
    let lines: Vec<_> = told.out.lines().collect();
    assert_eq!(lines.len(), 7, "{}", told.out);
    assert!(lines[4].starts_with("3 inputs, 15,360 points, ") && lines[4].contains(" voxels of 1.5 m on cpu ("));
    assert_eq!(lines[6], "grid: g.npz");
}

#[test]
fn without_input_the_built_in_drive_becomes_a_map() {
    let folder = tempfile::tempdir().unwrap();
    let told = run(folder.path(), "ndt build --json --resolution 4").expect(0);
    let summary = told.data("summary").remove(0);
    // Were the sweeps not put where the car was, ten of them would fill many more cells than one.
    let (all, first) = (&summary["report"]["cells"], pointmill_synth::Drive::new(Default::default()).sweep(0));
    let mut one = NdtMoments::new(4.0).unwrap();
    one.add(Rows::f32(first.data(), 6).unwrap()).unwrap();
    assert!(all.as_u64().unwrap() < 2 * one.len() as u64, "{all} {}", one.len());
    assert_eq!((&summary["done"], &summary["inputs"]), (&10.into(), &10.into()));
    assert_eq!(told.data("frame")[9]["input"], "sweep_009");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn tiles_become_grids_and_moments_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let points = write_tiles(folder.path());
    let told = run(folder.path(), "ndt build tiles --json --out g/ --moments m/ --visualize p.png").expect(0);
    assert_eq!(names(&folder.path().join("g")), ["0.npz", "1.npz", "2.npz"]);
    assert_eq!(names(&folder.path().join("m")), ["0.arrow", "1.arrow", "2.arrow"]);
    for (i, tile) in points.chunks(3 * 6_000).enumerate() {
        let want = cells(tile, 2.0, &NdtParams::default());
        let got = read_npz(folder.path().join(format!("g/{i}.npz"))).unwrap();
        assert_eq!(got["coords"].as_i32().unwrap(), want.coords.as_flattened());
        assert_eq!(got["mean"].as_f64().unwrap(), want.mean.as_flattened());
        let frame = &told.data("frame")[i];
        assert_eq!((&frame["out"], &frame["moments"]), (&json!(format!("g/{i}.npz")), &json!(format!("m/{i}.arrow"))));
        assert_eq!((&frame["element"], &frame["report"]["voxels"]), (&"f64".into(), &want.len().into()));
    }
    assert!(told.data("summary")[0]["report"].is_null());
    assert_eq!(fs::read(folder.path().join("p.png")).unwrap()[..8], *b"\x89PNG\r\n\x1a\n");
    // A folder that exists is one without a slash too.
    run(folder.path(), "ndt build tiles/0.npy --out m").expect(0);
    assert_eq!(names(&folder.path().join("m")), ["0.arrow", "0.npz", "1.arrow", "2.arrow"]);
}

/// The results for all poses of the one scan.
fn poses_of(told: &Run) -> Vec<Value> {
    told.data("frame").remove(0)["poses"].as_array().unwrap().clone()
}

/// Where no covariance is asked for, all commands make that of the library's default.
#[test]
fn one_default_covariance_for_all_commands() {
    let folder = tempfile::tempdir().unwrap();
    let points = write_tiles(folder.path());
    fs::write(folder.path().join("pose.txt"), "0 0 0 0 0 0").unwrap();
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(NdtParams::default().covariance, Covariance::Autoware);
    let told = run(folder.path(), "ndt build tiles --out build.npz --moments m.arrow --json").expect(0);
    assert_eq!(told.data("begin")[0]["params"]["covariance"], "autoware");
    let got = read_npz(folder.path().join("build.npz")).unwrap();
    let want = cells(&points, 2.0, &NdtParams::default());
    assert_eq!(got["eigenvalues"].as_f64().unwrap(), want.eigenvalues.as_flattened());
    run(folder.path(), "ndt build tiles --covariance autoware --out asked.npz").expect(0);
    run(folder.path(), "ndt merge m.arrow --out merge.npz").expect(0);
    assert!(read("build.npz") == read("asked.npz") && read("merge.npz") == read("asked.npz"));
    run(folder.path(), "ndt build tiles --covariance unbiased --out other.npz").expect(0);
    assert!(read("other.npz") != read("asked.npz"));
    let fits = ["asked.npz", "m.arrow", "tiles"].map(|map| {
        let args = format!("ndt score --map {map} --scan tiles/0.npy --pose pose.txt --json");
        poses_of(&run(folder.path(), &args).expect(0))
    });
    assert!(fits[0] == fits[1] && fits[0] == fits[2], "{fits:?}");
}

#[test]
fn moments_of_shards_merge_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    write_tiles(folder.path());
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    run(folder.path(), "ndt build tiles --out all.npz --moments all.arrow").expect(0);
    run(folder.path(), "ndt build tiles --moments m/").expect(0);
    run(folder.path(), "ndt merge m/2.arrow m/0.arrow m/1.arrow --out merged.npz --moments merged.arrow").expect(0);
    assert!(read("merged.arrow") == read("all.arrow") && read("merged.npz") == read("all.npz"));
    // A tile taken away again is as if it had never been there.
    run(folder.path(), "ndt build tiles/0.npy tiles/2.npy --out two.npz --moments two.arrow").expect(0);
    let args = "ndt merge m/*.arrow --minus m/1.arrow --out rest.npz --moments rest.arrow --json";
    let told = run(folder.path(), args).expect(0);
    assert!(read("rest.arrow") == read("two.arrow") && read("rest.npz") == read("two.npz"));
    assert_eq!(fields(&told.data("begin")[0]), "command device device_name inputs minus params version");
    let summary = told.data("summary").remove(0);
    assert_eq!(
        fields(&summary),
        "blocks command cpu device device_name done failed finish_cpu finish_ms inputs kept moments ms out picture points report resolution salvaged version voxels"
    );
    assert_eq!((&summary["report"]["points"], &summary["report"]["non_finite"]), (&9_360.into(), &1.into()));
    // Statistics are made anew.
    run(folder.path(), "ndt merge all.arrow --covariance population --min-points 40 --out p.npz").expect(0);
    let table = read_ndt_moments(folder.path().join("all.arrow")).unwrap();
    let moments = NdtMoments::from_table(&table).unwrap();
    let params = NdtParams { min_points: 40, covariance: Covariance::Population, ..NdtParams::default() };
    let want = moments.finish(&params).unwrap();
    let got = read_npz(folder.path().join("p.npz")).unwrap();
    assert_eq!(got["eigenvalues"].as_f64().unwrap(), want.eigenvalues.as_flattened());
    // Without everything there is nothing, and that is said.
    let told = run(folder.path(), "ndt merge all.arrow --minus all.arrow --out none.npz").expect(0);
    assert!(told.err.starts_with("warning: all moments: the map is empty: 0 points in 0 cells"), "{}", told.err);
    assert_eq!(read_npz(folder.path().join("none.npz")).unwrap()["coords"].shape(), [0, 3]);
}

#[test]
fn without_one_of_the_moments_there_is_no_map() {
    let folder = tempfile::tempdir().unwrap();
    write_tiles(folder.path());
    run(folder.path(), "ndt build tiles/0.npy --moments a.arrow").expect(0);
    fs::write(folder.path().join("d.arrow"), "text").unwrap();
    let told = run(folder.path(), "ndt merge a.arrow d.arrow none-*.arrow tiles --out o.npz --json").expect(3);
    let classes: Vec<_> = told.data("error").iter().map(|e| e["class"].as_str().unwrap().to_owned()).collect();
    assert_eq!(classes, ["Truncated", "MissingField", "Io", "PartialFailure"]);
    assert!(told.err.ends_with("error: 3 of 4 inputs failed\n"), "{}", told.err);
    assert!(told.data("summary").is_empty() && !folder.path().join("o.npz").exists());
}

#[test]
fn a_bad_tile_is_skipped_and_the_rest_is_done() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path(), "1.npy", &hall());
    fs::write(folder.path().join("2.npy"), "text").unwrap();
    write_points(folder.path(), "3.npy", &[0.5, 0.5, 3e6]);
    let told = run(folder.path(), "ndt build . --json --out g.npz").expect(3);
    let kinds: Vec<_> = told.lines().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["begin", "frame", "error", "error", "summary", "error"]);
    assert_eq!(fields(&told.data("begin")[0]), "block command deskew device device_name inputs params tiles version");
    assert_eq!(
        fields(&told.data("frame")[0]),
        "blocks cpu device element format index input moments ms out points read_ms report warnings write_ms zeros"
    );
    assert_eq!(told.data("error")[1]["class"], "BadValue");
    assert!(
        told.data("error")[1]["message"]
            .as_str()
            .unwrap()
            .contains("3.npy: points: expected coordinates from -2097152")
    );
    let summary = told.data("summary").remove(0);
    assert_eq!(
        fields(&summary),
        "blocks command cpu device device_name done failed finish_cpu finish_ms inputs kept moments ms out picture points report \
         resolution salvaged version voxels"
    );
    assert_eq!((&summary["done"], &summary["failed"]), (&1.into(), &2.into()));
    let want = cells(&hall(), 2.0, &NdtParams::default());
    assert_eq!(read_npz(folder.path().join("g.npz")).unwrap()["counts"].as_u32().unwrap(), want.counts);
    // Where all fail there is no file.
    fs::write(folder.path().join("cut.pcd"), "text").unwrap();
    run(folder.path(), "ndt build 2.npy cut.pcd --out none.npz --moments none.arrow").expect(3);
    assert!(!folder.path().join("none.npz").exists() && !folder.path().join("none.arrow").exists());
}

#[test]
fn an_empty_grid_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path(), "a.npy", &[0.5, 0.5, 0.5, /**/ 0.0, 0.0, 0.0]);
    let told = run(folder.path(), "ndt build a.npy --out g.npz --visualize g.png").expect(0);
    assert_eq!(
        told.err,
        "warning: all inputs: the map is empty: 2 points in 1 cell: 1 with too few points, 0 without extent; lower --min-points or raise --resolution\n"
    );
    assert_eq!(read_npz(folder.path().join("g.npz")).unwrap()["inv_covariance"].shape(), [0, 3, 3]);
    let told = run(folder.path(), "ndt build a.npy --drop-zeros --json").expect(0);
    assert_eq!((&told.data("frame")[0]["zeros"], &told.data("summary")[0]["points"]), (&1.into(), &1.into()));
    // Nothing fits an empty map, and no pose of it is an answer.
    let told = run(folder.path(), "ndt align --map g.npz --scan a.npy --json").expect(6);
    let frame = told.data("frame").remove(0)["poses"][0].take();
    assert_eq!(
        (&frame["status"], &frame["converged"], &frame["nvtl"]),
        (&"no-pairs".into(), &false.into(), &0.0.into())
    );
    assert!(
        frame["covariance"].is_null() && told.err.contains("error: not converged: no-pairs; the map has no cells"),
        "{}",
        told.err
    );
    assert_eq!(matrix(&frame), [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn scans_are_scored_at_poses() {
    let folder = tempfile::tempdir().unwrap();
    let points = hall();
    write_points(folder.path(), "map.npy", &points);
    let scan: Vec<f64> = moved(&points, [-0.5, 0.25, 0.125]).chunks_exact(3).step_by(5).flatten().copied().collect();
    write_points(folder.path(), "scan.npy", &scan);
    fs::write(folder.path().join("true.txt"), "1 0 0 0.5\n0 1 0 -0.25\n0 0 1 -0.125\n0 0 0 1\n").unwrap();
    fs::write(folder.path().join("two.txt"), "0 0 0 0 0 0\n0.5, -0.25, -0.125, 0, 0, 0.1\n").unwrap();
    let args = "--scan scan.npy --pose true.txt two.txt --json";
    let told = run(folder.path(), &format!("ndt score --map map.npy {args}")).expect(0);
    assert_eq!(fields(&told.data("begin")[0]), "align command device device_name inputs map params scan version");
    let frames = poses_of(&told);
    assert_eq!(fields(&frames[0]), "hits index nvtl oscillations pose score target_from_source transform_probability");
    // The map is made as Autoware makes it.
    let params = NdtParams { covariance: Covariance::Autoware, ..NdtParams::default() };
    let grid = ndt_grid(Rows::f64(&points, 3).unwrap(), 2.0, &params, &Device::cpu()).unwrap();
    let poses = [[0.5, -0.25, -0.125, 0.0, 0.0, 0.0], [0.0; 6], [0.5, -0.25, -0.125, 0.0, 0.0, 0.1]];
    let fits = grid.score(Rows::f64(&scan, 3).unwrap(), &poses.map(|pose| Pose::from_xyzrpy(pose).unwrap())).unwrap();
    for ((frame, fit), file) in frames.iter().zip(&fits).zip(["true.txt", "two.txt", "two.txt"]) {
        assert_eq!((&frame["pose"], frame["nvtl"].as_f64()), (&file.into(), Some(fit.nvtl)));
        assert_eq!(frame["transform_probability"].as_f64(), Some(fit.transform_probability));
        assert_eq!((&frame["hits"], frame["score"].as_f64()), (&fit.hits.into(), Some(fit.score)));
    }
    assert!(fits[0].nvtl > fits[1].nvtl && fits[0].nvtl > fits[2].nvtl, "{fits:?}");
    let summary = told.data("summary").remove(0);
    assert_eq!(
        fields(&summary),
        "command converged cpu device device_name done failed inputs kept map_ms map_warnings ms out picture points poses resolution \
         salvaged version voxels"
    );
    assert_eq!((&summary["poses"], &summary["voxels"]), (&3.into(), &grid.len().into()));
    let scan = told.data("frame").remove(0);
    assert_eq!(
        fields(&scan),
        "best converged cpu device format index input ms out points poses read_ms warnings write_ms zeros"
    );
    assert_eq!(scan["best"], 0);
    // The same from a grid, from moments, and from clouds beside moments.
    run(folder.path(), "ndt build map.npy --covariance autoware --out g.npz --moments g.arrow").expect(0);
    let (a, b) = points.split_at(3 * 7_001);
    fs::create_dir(folder.path().join("parts")).unwrap();
    write_points(folder.path(), "parts/a.npy", a);
    write_points(folder.path(), "b.npy", b);
    run(folder.path(), "ndt build b.npy --moments parts/b.arrow").expect(0);
    for map in ["g.npz", "g.npz --resolution 2", "g.arrow", "g.arrow --resolution 2", "parts/*"] {
        assert_eq!(poses_of(&run(folder.path(), &format!("ndt score --map {map} {args}")).expect(0)), frames, "{map}");
    }
    let other = run(folder.path(), &format!("ndt score --map g.arrow --covariance unbiased {args}")).expect(0);
    assert!(poses_of(&other) != frames);
    let told = run(folder.path(), &format!("ndt score --map g.npz {args} --visualize s.png")).expect(0);
    assert_eq!(told.data("summary")[0]["picture"], "s.png");
    assert_eq!(fs::read(folder.path().join("s.png")).unwrap()[..4], *b"\x89PNG");
    let told = run(folder.path(), "ndt score --map g.npz --scan scan.npy --pose true.txt").expect(0);
    let lines: Vec<_> = told.out.lines().collect();
    assert!(
        lines.len() == 3 && lines[1].ends_with(" true.txt") && lines[2].contains(" 1 pose on cpu ("),
        "{}",
        told.out
    );
}

#[test]
fn scans_are_aligned() {
    let folder = tempfile::tempdir().unwrap();
    let points = hall();
    write_points(folder.path(), "map.npy", &moved(&points, ORIGIN));
    let near = moved(&points, [-0.2, 0.15, 0.1]);
    let mut scan: Vec<f64> = near.chunks_exact(3).step_by(5).flatten().copied().collect();
    scan.extend([0.0; 30]);
    write_points(folder.path(), "scan.npy", &scan);
    let [x, y, z] = ORIGIN;
    fs::write(folder.path().join("guess.txt"), format!("{x} {y} {z} 0 0 0.03")).unwrap();
    fs::write(folder.path().join("far.txt"), "0 0 0 0 0 0").unwrap();
    run(folder.path(), "ndt build map.npy --resolution 1 --covariance autoware --out map.npz").expect(0);
    let args =
        "ndt align --map map.npz --scan scan.npy --guess far.txt --guess guess.txt --drop-zeros --visualize a.png";
    let told = run(folder.path(), &format!("{args} --json")).expect(0);
    let frames = poses_of(&told);
    assert_eq!(
        fields(&frames[0]),
        "converged covariance guess hessian hits index iterations nvtl oscillations score status target_from_source transform_probability"
    );
    assert_eq!((&frames[0]["status"], &frames[0]["guess"]), (&"no-pairs".into(), &"far.txt".into()));
    assert_eq!((&frames[1]["status"], &frames[1]["converged"]), (&"step-below".into(), &true.into()));
    // The same as the library.
    let params = NdtParams { covariance: Covariance::Autoware, ..NdtParams::default() };
    let grid = ndt_grid(Rows::f64(&moved(&points, ORIGIN), 3).unwrap(), 1.0, &params, &Device::cpu()).unwrap();
    let cloud = Rows::f64(&scan[..scan.len() - 30], 3).unwrap();
    let want = &grid
        .align(cloud, &[Pose::from_xyzrpy([x, y, z, 0.0, 0.0, 0.03]).unwrap()], &NdtAlignParams::default())
        .unwrap()[0];
    assert_eq!(matrix(&frames[1]), want.target_from_source.matrix().as_flattened());
    assert_eq!(frames[1]["iterations"], want.iterations);
    assert_eq!(frames[1]["covariance"], json!(want.covariance.unwrap()));
    for (axis, wanted) in [(3, x + 0.2), (7, y - 0.15), (11, z - 0.1)] {
        assert!((matrix(&frames[1])[axis] - wanted).abs() < 0.03, "{:?}", matrix(&frames[1]));
    }
    let summary = told.data("summary").remove(0);
    let scan = told.data("frame").remove(0);
    assert_eq!((&scan["best"], &summary["converged"], &scan["zeros"]), (&1.into(), &1.into(), &10.into()));
    assert_eq!((&summary["picture"], &summary["resolution"]), (&"a.png".into(), &1.0.into()));
    assert_eq!(fs::read(folder.path().join("a.png")).unwrap()[..8], *b"\x89PNG\r\n\x1a\n");
    let told = run(folder.path(), &args.replace("a.png", "a.GIF")).expect(0);
    assert!(told.out.contains("\ntarget_from_source\n") && told.out.ends_with("picture: a.GIF\n"), "{}", told.out);
    assert_eq!(fs::read(folder.path().join("a.GIF")).unwrap()[..6], *b"GIF89a");
    // One step is not enough, and that is an answer too.
    let short = "ndt align --map map.npz --scan scan.npy --guess guess.txt --max-iterations 1 --json";
    let told = run(folder.path(), short).expect(6);
    let frame = poses_of(&told).remove(0);
    assert_eq!((&frame["status"], &frame["iterations"]), (&"max-iterations".into(), &1.into()));
    assert!(told.data("frame")[0]["best"].is_null());
    assert_eq!(told.data("error")[0]["class"], "No");
}

#[test]
fn an_alignment_that_may_be_wrong_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let points = hall();
    write_points(folder.path(), "map.npy", &points);
    let fits: Vec<f64> = moved(&points, [-0.2, 0.15, 0.1]).chunks_exact(3).step_by(5).flatten().copied().collect();
    write_points(folder.path(), "fits.npy", &fits);
    // Points up to 0.4 m off every surface: an alignment converges all the same.
    let off = |(k, x): (usize, &f64)| x + 0.2 * (((k / 3 * [7, 11, 13][k % 3]) % 5) as f64 - 2.0);
    let every: Vec<f64> = points.chunks_exact(3).step_by(5).flatten().copied().collect();
    write_points(folder.path(), "off.npy", &every.iter().enumerate().map(off).collect::<Vec<_>>());
    fs::write(folder.path().join("guess.txt"), "0 0 0 0 0 0").unwrap();
    let started = "no --guess: started at the identity";
    for (args, note, warned) in [
        ("fits.npy", true, None),
        ("fits.npy --guess guess.txt", false, None),
        ("off.npy", true, Some(started)),
        ("off.npy --guess guess.txt", false, Some("give a guess that is nearer")),
    ] {
        let told = run(folder.path(), &format!("ndt align --map map.npy --scan {args} --json")).expect(0);
        let frame = told.data("frame").remove(0);
        assert_eq!(frame["poses"][0]["status"], "step-below");
        assert_eq!(told.err.lines().any(|line| line == started), note, "{}", told.err);
        let wanted = warned.map(|end| {
            let nvtl = frame["poses"][0]["nvtl"].as_f64().unwrap();
            format!("low-likelihood: nvtl {nvtl:.2} is below 2.30; the pose may be wrong; {end}")
        });
        assert_eq!(frame["warnings"], json!(wanted.as_slice()), "{args}");
        assert_eq!(told.err.contains("low-likelihood"), warned.is_some(), "{}", told.err);
    }
}

#[test]
fn all_that_cannot_be_matched_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("q.txt", "1 2 3"), ("bad.npz", "text"), ("none.npy", "text")] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let told = run(folder.path(), "ndt align --map bad.npz --scan none.npy --guess q.txt --json").expect(3);
    let inputs: Vec<_> = told.data("error").iter().map(|e| (e["index"].clone(), e["input"].clone())).collect();
    assert_eq!(inputs, [(1.into(), "q.txt".into()), (2.into(), "bad.npz".into()), (Value::Null, Value::Null)]);
}

#[test]
fn scans_and_maps_come_through_the_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path(), "a.npy", &hall());
    let piped = |args: &str| {
        let stdin = fs::File::open(folder.path().join("a.npy")).unwrap();
        finished(crate::command(folder.path(), args).stdin(stdin).output().unwrap())
    };
    piped("ndt build - --format npy --out g.npz").expect(0);
    assert_eq!(
        read_npz(folder.path().join("g.npz")).unwrap()["counts"].len(),
        cells(&hall(), 2.0, &NdtParams::default()).len()
    );
    piped("ndt align --map g.npz --scan - --format npy").expect(0);
    piped("ndt align --map - --scan a.npy --format npy").expect(0);
}

#[test]
fn the_bunny_has_the_cells_that_pcl_makes() {
    let Some(shared) = shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = shared.join("bunny/bun0_sparse.pcd");
    run(folder.path(), &format!("ndt build {} --resolution 0.02 --out b.npz", file.display())).expect(0);
    let got = read_npz(folder.path().join("b.npz")).unwrap();
    assert_eq!(got["counts"].len(), 23);
    let first = &got["mean"].as_f64().unwrap()[..3];
    for (mean, wanted) in first.iter().zip([-0.073_619_9, 0.167_898_9, -0.030_181_1]) {
        assert!((mean - wanted).abs() < 1e-7, "{first:?}");
    }
}

#[test]
fn a_real_pair_is_aligned() {
    let Some(shared) = shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let pair = shared.join("pair");
    let (map, scan) = (pair.join("target.pcd"), pair.join("source.ply"));
    let args =
        format!("ndt align --map {} --scan {} --drop-zeros --resolution 1 --json", map.display(), scan.display());
    let told = run(folder.path(), &args).expect(0);
    assert_eq!(told.data("frame")[0]["zeros"], 5_107);
    let found = matrix(&poses_of(&told)[0]);
    let text = fs::read_to_string(pair.join("target_from_source.txt")).unwrap();
    let truth: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let metres = [3, 7, 11].map(|i| found[i] - truth[i]).iter().map(|x| x * x).sum::<f64>().sqrt();
    // Of two rotations the trace of one times the other's transpose is 1 + 2 cos of the angle
    // between them.
    let trace: f64 = (0..3).flat_map(|i| (0..3).map(move |j| 4 * i + j)).map(|k| found[k] * truth[k]).sum();
    let degrees = ((trace - 1.0) / 2.0).min(1.0).acos().to_degrees();
    assert!(metres < 0.03 && degrees < 0.5, "{metres} m, {degrees} degrees");
}

#[test]
fn limits_hold_for_maps_and_moments() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_cloud(at, "a.bin", 3000);
    fs::write(at.join("pose.txt"), "0 0 0 0 0 0").unwrap();
    run(at, "ndt build a.bin --min-points 3 --out g.npz --moments g.arrow").expect(0);
    let score = |map: &str, more: &str| format!("ndt score --map {map} --scan a.bin --pose pose.txt --json {more}");
    let refused = |args: &str, flag: &str| {
        let told = run(at, args).expect(3);
        assert_eq!(told.data("error")[0]["class"], "LimitExceeded", "{args}");
        assert!(told.err.contains(flag), "{args}: {}", told.err);
    };
    // The scan alone takes 48,000 bytes.
    let more = fs::metadata(at.join("g.arrow")).unwrap().len().max(200_000);
    run(at, &score("g.npz", "")).expect(0);
    run(at, &score("g.arrow", &format!("--max-memory {}", 4 * more))).expect(0);
    refused(&score("g.npz", "--max-memory 1K"), "g.npz: array");
    refused(&score("g.npz", "--max-decoded-bytes 1000"), "g.npz: archive unpacked");
    refused(
        &score("g.arrow", "--max-memory 1K"),
        "g.arrow: memory: expected at most 1024 bytes (the limit `max_memory`, --max-memory)",
    );
    refused("ndt merge g.arrow --max-memory 1K --json", "g.arrow: memory");
    run(at, "ndt merge g.arrow --max-memory 1G --json").expect(0);
    // What cannot be such a file is seen before it is read, however long it is.
    fs::File::create(at.join("long.arrow")).unwrap().set_len(1 << 40).unwrap();
    let told = run(at, "ndt merge long.arrow --json").expect(3);
    assert!(told.err.contains("long.arrow: start: expected `ARROW1`"), "{}", told.err);
}
