//! The answers of `fixtures/ndt`, made by an independent program from the contract alone.

use super::*;
use crate::ndt::align::Task;
use crate::testing::{devices, repository};
use pointmill_core::ndt::{NdtAlignment, NdtHold, NdtLimits, NdtScore};
use pointmill_io::{Array, read_npz};
use std::collections::BTreeMap;

type Arrays = BTreeMap<String, Array>;

fn fixtures() -> BTreeMap<String, Arrays> {
    let files = std::fs::read_dir(repository("fixtures/ndt")).unwrap().map(|f| f.unwrap().path());
    files.map(|p| (p.file_stem().unwrap().to_string_lossy().into_owned(), read_npz(&p).unwrap())).collect()
}

fn numbers(arrays: &Arrays, name: &str) -> Vec<f64> {
    arrays[name].to_f64().unwrap()
}

fn integers<T: TryFrom<i64, Error: std::fmt::Debug>>(arrays: &Arrays, name: &str) -> Vec<T> {
    numbers(arrays, name).iter().map(|&v| (v as i64).try_into().unwrap()).collect()
}

fn rows<const K: usize>(arrays: &Arrays, name: &str) -> Vec<[f64; K]> {
    numbers(arrays, name).as_chunks().0.to_vec()
}

/// Rows `from` to `to` of an array of points.
fn cloud<'a>(arrays: &'a Arrays, name: &str, from: usize, to: usize) -> Rows<'a> {
    let cloud = match (arrays[name].as_f32(), arrays[name].as_f64()) {
        (Ok(values), _) => Rows::f32(&values[from * 3..to * 3], 3).unwrap(),
        (_, Ok(values)) => Rows::f64(&values[from * 3..to * 3], 3).unwrap(),
        _ => panic!("points of another type"),
    };
    match arrays.get("origin") {
        Some(origin) => cloud.about(origin.to_f64().unwrap().try_into().unwrap()).unwrap(),
        None => cloud,
    }
}

fn params(arrays: &Arrays) -> NdtParams {
    let models = [Covariance::Unbiased, Covariance::Autoware, Covariance::Population];
    NdtParams {
        min_points: integers(arrays, "min_points")[0],
        covariance: models[integers::<usize>(arrays, "covariance_model")[0]],
        eigen_ratio: numbers(arrays, "eigen_ratio")[0],
    }
}

/// The moments of a file, as it says they are to be made, on a device.
fn built(arrays: &Arrays, device: &Device) -> Result<NdtBuilder, Error> {
    let resolution = numbers(arrays, "resolution")[0];
    let stream = device.stream()?;
    let builder = || NdtBuilder::new(&stream, resolution, &params(arrays));
    let n = arrays["points"].shape()[0];
    let mut all = builder()?;
    if arrays.contains_key("splits") {
        for part in integers::<usize>(arrays, "splits").windows(2) {
            let mut shard = builder()?;
            shard.add(cloud(arrays, "points", part[0], part[1]))?;
            all.merge(&shard.moments()?)?;
        }
    } else {
        all.add(cloud(arrays, "points", 0, n))?;
    }
    if arrays.contains_key("repeat") {
        let times: u32 = integers(arrays, "repeat")[0];
        // Doubled and added.
        let (mut power, mut sum) = (all.moments()?, NdtMoments::new(resolution)?);
        for bit in 0..u32::BITS - times.leading_zeros() {
            if times >> bit & 1 == 1 {
                sum.merge(&power)?;
            }
            if times >> bit > 1 {
                power.merge(&power.clone())?;
            }
        }
        all.clear()?;
        all.merge(&sum)?;
    }
    if arrays.contains_key("minus") {
        let mut part = builder()?;
        part.add(cloud(arrays, "minus", 0, arrays["minus"].shape()[0]))?;
        let mut rest = all.moments()?;
        rest.subtract(&part.moments()?)?;
        all.clear()?;
        all.merge(&rest)?;
    }
    Ok(all)
}

fn check_moments(arrays: &Arrays, moments: &NdtMoments, name: &str) {
    let inv = arrays["inv"].as_f32().unwrap()[0];
    assert_eq!((moments.lattice().inv(), moments.lattice().unit()), (inv, numbers(arrays, "unit")[0]), "{name}");
    let cells: Vec<i32> = moments.cells().flat_map(|(cell, _)| cell).collect();
    assert_eq!(cells, integers::<i32>(arrays, "occupied"), "{name}");
    assert_eq!(moments.cells().map(|(_, m)| m.count).collect::<Vec<_>>(), integers::<u32>(arrays, "n"), "{name}");
    assert_eq!(moments.cells().flat_map(|(_, m)| m.sum).collect::<Vec<_>>(), arrays["S"].as_i64().unwrap(), "{name}");
    let products: Vec<i64> = moments.cells().flat_map(|(_, m)| m.products).collect();
    assert_eq!(products, arrays["Q"].as_i64().unwrap(), "{name}");
    if arrays.contains_key("accumulated") {
        let accumulated = [moments.points(), moments.non_finite()];
        assert_eq!(accumulated.to_vec(), integers::<u64>(arrays, "accumulated"), "{name}");
    }
}

/// Whether each row of `got` is within a bound of `wanted`.
fn near<const K: usize>(got: &[[f64; K]], wanted: &[[f64; K]], bound: impl Fn(usize, usize) -> f64, what: &str) {
    assert_eq!(got.len(), wanted.len(), "{what}");
    for (row, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        for k in 0..K {
            let off = (got[k] - wanted[k]).abs();
            assert!(off <= bound(row, k), "{what}, row {row}: {} instead of {}", got[k], wanted[k]);
        }
    }
}

fn check_cells(arrays: &Arrays, cells: &NdtCells, name: &str) {
    assert_eq!(cells.coords.as_flattened(), integers::<i32>(arrays, "coords"), "{name}");
    assert_eq!(cells.counts, integers::<u32>(arrays, "counts"), "{name}");
    let report = cells.report;
    let got = [report.cells, report.sparse, report.degenerate, report.clamped, report.voxels];
    assert_eq!(got.to_vec(), integers::<usize>(arrays, "report"), "{name}");
    let unit = numbers(arrays, "unit")[0];
    let largest: Vec<f64> = rows::<3>(arrays, "raw_eigenvalues").iter().map(|l| l[2]).collect();
    let (mean, inverse) = (rows::<3>(arrays, "mean"), rows::<6>(arrays, "inverse"));
    let of = |what: &str| format!("{name}: {what}");
    near(&cells.mean_local, &rows(arrays, "mean_local"), |_, _| 1e-12 * unit, &of("mean_local"));
    near(&cells.mean, &mean, |r, k| 1e-12 * unit + 4.0 * (mean[r][k].abs().next_up() - mean[r][k].abs()), &of("mean"));
    near(&cells.covariance, &rows(arrays, "covariance"), |r, _| 1e-12 * largest[r], &of("covariance"));
    near(&cells.eigenvalues, &rows(arrays, "eigenvalues"), |r, _| 1e-12 * largest[r], &of("eigenvalues"));
    let most = |r: usize| inverse[r].iter().fold(0.0f64, |m, x| m.max(x.abs()));
    near(&cells.inverse, &inverse, |r, _| 1e-9 * most(r), &of("inverse"));
    let valid = integers::<u8>(arrays, "normal_valid");
    let bound = |r: usize, _| if valid[r] == 1 { 1e-9 } else { 2.1 };
    near(&cells.normal, &rows(arrays, "normal"), bound, &of("normal"));
}

#[test]
fn every_build_on_every_device() {
    let (mut whole, mut errors) = (0, 0);
    for (name, arrays) in fixtures().iter().filter(|(name, _)| !name.starts_with("score_")) {
        for (device_name, device) in devices() {
            let name = format!("{name} on {device_name}");
            let error = integers::<usize>(arrays, "error")[0];
            if error > 0 {
                let told = built(arrays, &device).err().unwrap_or_else(|| panic!("{name}: no error")).to_string();
                let wanted = ["coordinates from", "points in a cell", "part: expected"][error - 1];
                assert!(told.contains(wanted), "{name}: {told}");
                errors += 1;
                continue;
            }
            let mut builder = built(arrays, &device).unwrap();
            check_moments(arrays, &builder.moments().unwrap(), &name);
            check_cells(arrays, &builder.finish().unwrap().read().unwrap(), &name);
            whole += 1;
        }
    }
    assert!(whole >= 150 && errors >= 30, "fixtures are missing: {whole} with answers, {errors} with errors");
}

/// The rows near points, those of point `i` from element `splits[i]` on.
fn lists(arrays: &Arrays, splits: &str, rows: &str, part: std::ops::Range<usize>) -> (Vec<u32>, Vec<u32>) {
    let (splits, rows) = (integers::<u32>(arrays, splits), integers::<u32>(arrays, rows));
    let first = splits[part.start];
    let end = splits[part.end] as usize;
    (splits[part.start..=part.end].iter().map(|s| s - first).collect(), rows[first as usize..end].to_vec())
}

fn check_searches(arrays: &Arrays, grid: &NdtGrid, name: &str) {
    let queries = rows::<3>(arrays, "queries");
    let cells: Vec<[i32; 3]> =
        queries.iter().map(|q| grid.lattice().place(*q).map_or([i32::MAX; 3], |place| place.cell)).collect();
    assert_eq!(grid.lookup(&cells).unwrap(), integers::<i32>(arrays, "lookup"), "{name}");
    let (cloud, m) = (Rows::f64(queries.as_flattened(), 3).unwrap(), queries.len());
    for (kind, of) in [(Neighbourhood::Seven, "7"), (Neighbourhood::TwentySeven, "27")] {
        let got = grid.neighbours(cloud, kind).unwrap().read().unwrap();
        let wanted = lists(arrays, &format!("splits_{of}"), &format!("rows_{of}"), 0..m);
        assert_eq!((got.row_splits, got.rows), wanted, "{name}: {of}");
    }
    for (k, radius) in numbers(arrays, "radii").into_iter().enumerate() {
        let got = grid.radius_search(cloud, radius).unwrap().read().unwrap();
        let wanted = lists(arrays, "radius_splits", "radius_rows", k * m..(k + 1) * m);
        assert_eq!((got.row_splits, got.rows), wanted, "{name}: {radius} m");
    }
}

/// The sums over a scan at a pose.
fn terms(grid: &NdtGrid, scan: Rows<'_>, pose: &PoseVector) -> NdtAlignment {
    let limits = NdtLimits { step_size: 1.0, epsilon: 1.0, max_iterations: 0, hold: NdtHold::default() };
    let mut task =
        Task { scan, sample: Vec::new(), alignments: vec![NdtAlignment::new(pose)], limits, origins: [[0.0; 3]; 2] };
    grid.run(std::slice::from_mut(&mut task)).unwrap();
    task.alignments[0]
}

fn check_scores(arrays: &Arrays, grid: &NdtGrid, name: &str) {
    let constants = numbers(arrays, "constants");
    let score = NdtScore::new(grid.lattice().unit());
    near(&[[score.d1, score.d2]], &[[constants[0], constants[1]]], |_, k| 1e-12 * constants[k].abs(), name);
    let (part, n) = (numbers(arrays, "tolerance")[0], arrays["scan"].shape()[0]);
    let bound = part * constants[0].abs();
    let scan = Rows::f32(arrays["scan"].as_f32().unwrap(), 3).unwrap();
    let vectors: Vec<PoseVector> = rows(arrays, "poses");
    let poses = poses_of(&vectors);
    let fits = grid.score(scan, &poses).unwrap();
    let [probability, nvtl] = ["transform_probability", "nvtl"].map(|of| numbers(arrays, of));
    let (sums, largest) = (numbers(arrays, "term_sum"), numbers(arrays, "term_largest"));
    for (p, pose) in poses.iter().enumerate() {
        let wanted: [[f64; 16]; 1] = [rows(arrays, "matrices")[p]];
        let size = wanted[0].iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let matrix = pose.matrix().as_flattened().try_into().unwrap();
        near(&[matrix], &wanted, |_, _| 2e-15 * size, name);
        let got = [[fits[p].transform_probability, fits[p].nvtl]];
        near(&got, &[[probability[p], nvtl[p]]], |_, _| bound, &format!("{name}: pose {p}"));
        let each: Vec<[f64; 2]> = (p * n..(p + 1) * n).map(|i| [sums[i], largest[i]]).collect();
        near(&grid.point_scores(scan, pose).unwrap(), &each, |_, _| bound, &format!("{name}: points of pose {p}"));
        let got = terms(grid, scan, &vectors[p]);
        let gradient: [f64; 6] = rows(arrays, "gradient")[p];
        let hessian: [f64; 36] = rows(arrays, "hessian")[p];
        let most = |values: &[f64]| part * values.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        near(&[got.gradient()], &[gradient], |_, _| most(&gradient), &format!("{name}: gradient of pose {p}"));
        let full: [f64; 36] = got.hessian().as_flattened().try_into().unwrap();
        near(&[full], &[hessian], |_, _| most(&hessian), &format!("{name}: Hessian of pose {p}"));
    }
}

#[test]
fn every_score_on_every_device() {
    let fixtures = fixtures();
    let mut whole = 0;
    for (name, arrays) in fixtures.iter().filter(|(name, _)| name.starts_with("score_")) {
        let grid: Vec<u8> = integers(arrays, "grid");
        let grid = &fixtures[std::str::from_utf8(&grid).unwrap()];
        for (device_name, device) in devices() {
            let built = built(grid, &device).unwrap().finish().unwrap();
            let name = format!("{name} on {device_name}");
            check_searches(arrays, &built, &name);
            check_scores(arrays, &built, &name);
            whole += 1;
        }
    }
    assert!(whole >= 24, "only {whole} fixtures");
}
