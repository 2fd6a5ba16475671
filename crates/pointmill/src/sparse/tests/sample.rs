//! One point of each cell.

use crate::sparse::sample::SampledSizes;
use crate::sparse::{
    GridOrigin, GridSampleParams, GridSampler, Pick, Sampled, SampledArrays, SerializeParams, grid_sample, serialize,
};
use crate::testing::{Random, devices, kernel_devices};
use crate::{Aabb, Device, Rows, differences};
use pointmill_core::random::{below, of_cell};

type Row = [f32; 4];

fn cloud(random: &mut Random, n: usize, extent: f32) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for i in 0..n {
        let mut row = [(); 4].map(|()| random.between(-extent, extent));
        match random.below(30) {
            0 => row[random.below(3) as usize] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][random.below(3) as usize],
            1 => row[0] = -extent,
            2 => row[1] = -0.0,
            3..=8 if i > 0 => row = rows[random.below(i as u64) as usize],
            _ => {}
        }
        rows.push(row);
    }
    rows
}

/// Sampling as its definition says, cell after cell in a list.
fn plain(points: &[Row], splits: &[usize], params: &GridSampleParams) -> SampledArrays {
    let finite = |p: &&Row| p[..3].iter().all(|c| c.is_finite());
    let size = params.grid_size;
    let (min, dims) = match params.origin {
        GridOrigin::Range(range) => (range.min, [0, 1, 2].map(|k| ((range.max[k] - range.min[k]) / size[k]).round())),
        GridOrigin::Min => {
            let least = |k: usize| points.iter().filter(finite).map(|p| p[k]).fold(f32::INFINITY, f32::min);
            ([0, 1, 2].map(least), [1e5; 3])
        }
    };
    let mut lists: Vec<(i32, [i32; 3], Vec<usize>)> = Vec::new();
    let mut got = SampledArrays {
        grid_coord: vec![],
        batch: vec![],
        rows: vec![],
        num_points: vec![],
        inverse: vec![-1; points.len()],
        report: Default::default(),
        sizes: Default::default(),
    };
    for (i, p) in points.iter().enumerate() {
        let item = splits.iter().filter(|&&split| split <= i).count() as i32 - 1;
        let cell = [0, 1, 2].map(|k| ((p[k] - min[k]) / size[k]).floor());
        if !finite(&p) {
            got.report.non_finite += 1;
        } else if (0..3).any(|k| cell[k] < 0.0 || cell[k] >= dims[k]) {
            got.report.outside += 1;
        } else {
            let cell = cell.map(|c| c as i32);
            let at = lists.iter().position(|list| (list.0, list.1) == (item, cell)).unwrap_or_else(|| {
                lists.push((item, cell, vec![]));
                lists.len() - 1
            });
            lists[at].2.push(i);
        }
    }
    let kept = lists.len().min(params.capacity.unwrap_or(usize::MAX));
    for (id, (item, cell, list)) in lists.iter().enumerate() {
        if id >= kept {
            got.report.points_dropped += list.len();
            continue;
        }
        let away = |i: &usize| {
            let centre = |k: usize| f64::from(min[k]) + (f64::from(cell[k]) + 0.5) * f64::from(size[k]);
            (0..3).map(|k| (f64::from(points[*i][k]) - centre(k)).powi(2)).fold(0.0, |sum, d| sum + d)
        };
        let taken = match params.pick {
            Pick::First => list[0],
            Pick::Nearest => *list.iter().min_by(|a, b| away(a).total_cmp(&away(b))).unwrap(),
            Pick::Nth(k) => list[k as usize % list.len()],
            Pick::Random { seed } => {
                list[below(of_cell(seed, *item as u32, cell.map(|c| c as u32)), list.len() as u32) as usize]
            }
        };
        list.iter().for_each(|&i| got.inverse[i] = id as i32);
        got.grid_coord.extend(cell);
        got.batch.push(*item);
        got.rows.push(taken as i32);
        got.num_points.push(list.len() as i32);
    }
    got.sizes = SampledSizes { cells: kept, points: points.len() };
    got.report.points = points.len();
    got.report.cells = kept;
    got.report.cells_dropped = lists.len() - kept;
    got
}

#[test]
fn samples_are_the_same_everywhere() {
    let mut random = Random(3);
    // No multiple of the size: the last cell reaches past the range, and there is none beyond it.
    let range = Aabb::new([-3.0, -2.0, -1.0], [3.3, 2.2, 1.2]);
    for n in [0, 1, 2, 255, 1024, 1025, 3000] {
        let points = cloud(&mut random, n, 4.0);
        let splits = [0, n / 3, n / 3, n];
        for (round, pick) in
            [Pick::First, Pick::Nearest, Pick::Nth(0), Pick::Nth(5), Pick::Random { seed: 9 }].into_iter().enumerate()
        {
            for origin in [GridOrigin::Min, GridOrigin::Range(range)] {
                let capacity = (round % 2 == 1).then_some(n / 8 + 1);
                let params = GridSampleParams { origin, pick, capacity, ..GridSampleParams::new([0.7, 0.5, 1.0]) };
                let splits = if round == 2 { &[0, n][..] } else { &splits };
                let want = plain(&points, splits, &params);
                for (name, device) in devices() {
                    let stream = device.stream().unwrap();
                    let mut sampler = GridSampler::new(&stream, &params).unwrap();
                    let mut out = sampler.output().unwrap();
                    let lent = stream.upload(points.as_flattened()).unwrap();
                    for rows in [Rows::from(&points[..]), Rows::on_device(&lent, n, 4).unwrap()] {
                        sampler.run(rows, Some(splits), &mut out).unwrap();
                        let got = out.read().unwrap();
                        let differ = differences(&got, &want);
                        assert!(differ.is_empty(), "{name}, {n} points, {pick:?}, {origin:?}: {differ:?}");
                        assert_eq!(got, want, "{name}");
                    }
                }
            }
        }
    }
}

fn next_steps(sampled: &Sampled, device: &Device) -> Vec<u32> {
    let params = SerializeParams { depth: Some(8), ..SerializeParams::default() };
    serialize(sampled.cells().unwrap(), &params, device).unwrap().read().unwrap().order
}

#[test]
fn a_graph_gives_what_calls_give() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let (n, mut random) = (700, Random(8));
        let mut points = stream.upload(cloud(&mut random, n, 4.0).as_flattened()).unwrap();
        for pick in [Pick::First, Pick::Nearest, Pick::Random { seed: 1 }] {
            let params = GridSampleParams { pick, capacity: Some(300), ..GridSampleParams::new([0.5; 3]) };
            let mut sampler = GridSampler::new(&stream, &params).unwrap();
            let mut out = sampler.output().unwrap();
            let splits = [0, 200, n];
            macro_rules! call {
                () => {
                    sampler.run(Rows::on_device(&points, n, 4).unwrap(), Some(&splits), &mut out).unwrap()
                };
            }
            call!();
            let graph = stream
                .capture(|| {
                    call!();
                    Ok::<(), crate::Error>(())
                })
                .unwrap();
            for _ in 0..3 {
                points.write(cloud(&mut random, n, 4.0).as_flattened()).unwrap();
                // SAFETY: all memory of the recorded calls is alive.
                unsafe { graph.launch() }.unwrap();
                let (got, order) = (out.read().unwrap(), next_steps(&out, &device));
                assert!(got.report.cells_dropped > 0);
                call!();
                assert_eq!((got, order), (out.read().unwrap(), next_steps(&out, &device)), "{name}, {pick:?}");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let cpu = Device::cpu();
    let said = |params: GridSampleParams| grid_sample(&[[0.0f32; 3]], &params, &cpu).unwrap_err().to_string();
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let want = format!("grid_size: expected finite sizes above 0 m, got {:?}", [0.1, bad, 0.1]);
        assert_eq!(said(GridSampleParams::new([0.1, bad, 0.1])), want);
    }
    let good = GridSampleParams::new([0.1; 3]);
    let empty = GridOrigin::Range(Aabb::new([0.0; 3], [0.0; 3]));
    assert!(said(GridSampleParams { origin: empty, ..good }).contains("range"));
    assert_eq!(said(GridSampleParams { capacity: Some(0), ..good }), "capacity: expected 1 or more, got 0");
    let mut sampler = GridSampler::new(&cpu.stream().unwrap(), &good).unwrap();
    let mut out = sampler.output().unwrap();
    let refused = sampler.run(&[[0.0f32; 2]], None, &mut out).unwrap_err().to_string();
    assert_eq!(refused, "points: expected at least 3 columns: x, y, z first, got 2");
    let refused = sampler.run(&[[0.0f32; 3]], Some(&[0, 2]), &mut out).unwrap_err().to_string();
    assert_eq!(refused, "row_splits: expected ascending values from 0 to 1, got [0, 2]");
}

/// A stray point moves the grid away from the others: that is told, and a range is not concerned.
#[test]
fn points_beyond_all_cells_are_an_error() {
    let mut points = vec![[1.0f32, 2.0, 3.0]; 99];
    points[7] = [-3e6, 0.0, 0.0];
    let range = GridOrigin::Range(Aabb::new([0.0; 3], [10.0; 3]));
    for (name, device) in devices() {
        let params = GridSampleParams::new([1.0; 3]);
        let told = grid_sample(&points[..], &params, &device).unwrap().read().unwrap_err().to_string();
        let wanted =
            "grid_size: expected a larger size, a range, or points without a stray one, got 98 points beyond all cells";
        assert!(told.starts_with(wanted), "{name}: {told}");
        let within = GridSampleParams { origin: range, ..params };
        let report = grid_sample(&points[..], &within, &device).unwrap().read().unwrap().report;
        assert_eq!((report.cells, report.outside), (1, 1), "{name}");
        let larger = GridSampleParams::new([2.0; 3]);
        assert_eq!(grid_sample(&points[..], &larger, &device).unwrap().read().unwrap().report.cells, 2, "{name}");
    }
}
