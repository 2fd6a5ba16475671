//! The same bits on every device.

use super::*;
use crate::testing::{Random, devices, kernel_devices};
use pointmill_kernels::simt::twin::set_block_order;

/// A cloud with what clouds have: a street, rows that are not finite, duplicates, points on walls.
fn cloud(n: usize, seed: u64) -> Vec<f32> {
    let mut points: Vec<f32> = street(n, seed).iter().map(|x| *x as f32).collect();
    let mut random = Random(seed);
    for row in 0..n {
        let at = row * 3;
        match random.below(40) {
            0 => {
                points[at + random.below(3) as usize] =
                    [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][random.below(3) as usize];
            }
            1 if row > 0 => points.copy_within(at - 3..at, at),
            2 => points[at..at + 3].iter_mut().for_each(|x| *x = x.round()),
            3 => points[at] = -0.0,
            _ => {}
        }
    }
    points
}

const SIZES: &[usize] = &[0, 1, 2, 31, 32, 33, 255, 256, 257, 1000, 4097];

fn build(device: &Device, cloud: Rows<'_>, resolution: f64) -> NdtMoments {
    let mut builder = NdtBuilder::new(&device.stream().unwrap(), resolution, &NdtParams::default()).unwrap();
    builder.add(cloud).unwrap();
    builder.moments().unwrap()
}

#[test]
fn moments_of_clouds_of_every_kind() {
    for (i, &n) in SIZES.iter().enumerate() {
        let points = cloud(n, i as u64 + 1);
        let wide: Vec<f32> = points.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], 0.5, 7.0]).collect();
        let double: Vec<f64> = points.iter().map(|x| f64::from(*x) + 1e-9).collect();
        let origin = [500_000.25, 4.0e6 + 0.1, -100.0];
        let clouds = [
            (Rows::f32(&points, 3).unwrap(), 1.0),
            (Rows::f32(&wide, 5).unwrap(), 0.3),
            (Rows::f64(&double, 3).unwrap(), 2.0),
            (Rows::f32(&points, 3).unwrap().about(origin).unwrap(), 7.3),
        ];
        for (cloud, resolution) in clouds {
            let mut wanted = NdtMoments::new(resolution).unwrap();
            wanted.add(cloud).unwrap();
            for (name, device) in devices() {
                set_block_order(n as u64 + 1);
                assert_eq!(build(&device, cloud, resolution), wanted, "{name}, {n} points");
            }
        }
    }
}

/// A box of cells is put in order by a block, in up to eight rounds of 7 x 1,024 words of bits, and
/// a larger one by a sort.
#[test]
fn boxes_of_every_size_are_put_in_order() {
    const ROUND: i32 = 7 * 1024 * 32;
    for along in [
        [1, 1, 1],
        [1, 1, 700],
        [7 * 1024, 32, 1],
        [ROUND + 1, 1, 1],
        [300, 500, 4],
        [4 * 1024, 7, 8 * 8],
        [4 * 1024, 7, 8 * 8 + 1],
        [1 << 20, 1 << 19, 3],
    ] {
        let (mut random, mut points) = (Random(along[0] as u64), Vec::new());
        let low = along.map(|cells| -cells / 3);
        // The corners of the box, cells beside the borders of rounds, and any.
        for i in 0..900 {
            let at = |axis: usize, place: u64| (low[axis] + place as i32) as f32 + 0.5;
            let [x, y, z] = along.map(|cells| cells as u64);
            let place = match i {
                0 => 0,
                1 => x * y * z - 1,
                2..20 => ((i / 2) * ROUND as u64 - i % 2).min(x * y * z - 1),
                _ => random.below(x) + x * (random.below(y) + y * random.below(z)),
            };
            points.extend([at(0, place % x), at(1, place / x % y), at(2, place / x / y)]);
        }
        let cloud = Rows::f32(&points, 3).unwrap();
        let mut wanted = NdtMoments::new(1.0).unwrap();
        wanted.add(cloud).unwrap();
        for (name, device) in devices() {
            assert_eq!(build(&device, cloud, 1.0), wanted, "{name}, {along:?}");
        }
    }
    // As many cells as a block holds, and one more.
    for n in [8 * 1024, 8 * 1024 + 1] {
        let points: Vec<f32> = (0..n).flat_map(|i| [(i * 7919 % n) as f32, 3.0, -5.0]).collect();
        let cloud = Rows::f32(&points, 3).unwrap();
        let mut wanted = NdtMoments::new(1.0).unwrap();
        wanted.add(cloud).unwrap();
        for (name, device) in devices() {
            assert_eq!(build(&device, cloud, 1.0), wanted, "{name}, {n}");
        }
    }
}

#[test]
fn grids_of_every_kind() {
    let points = cloud(6000, 3);
    let cloud = Rows::f32(&points, 3).unwrap();
    for covariance in [Covariance::Unbiased, Covariance::Autoware, Covariance::Population] {
        for (min_points, eigen_ratio, resolution) in
            [(1, 0.0, 0.5), (6, 0.01, 1.0), (3, 0.1, 2.0), (100_000, 0.01, 1.0)]
        {
            let params = NdtParams { min_points, covariance, eigen_ratio };
            let wanted = ndt_grid(cloud, resolution, &params, &Device::cpu()).unwrap();
            let cells = wanted.read().unwrap();
            assert_eq!(cells.len(), wanted.len());
            for (name, device) in devices() {
                let grid = ndt_grid(cloud, resolution, &params, &device).unwrap();
                assert_eq!(grid.report(), wanted.report(), "{name}");
                assert_eq!(grid.read().unwrap(), cells, "{name} {params:?} {resolution}");
                assert_eq!((grid.len(), grid.is_empty()), (cells.len(), cells.is_empty()));
            }
        }
    }
}

#[test]
fn builders_are_used_again() {
    let params = NdtParams::default();
    for (name, device) in devices() {
        let stream = device.stream().unwrap();
        let mut builder = NdtBuilder::new(&stream, 1.0, &params).unwrap();
        let mut grid = builder.finish().unwrap();
        assert!(grid.is_empty() && builder.moments().unwrap().is_empty());
        // Larger, smaller, none; each once in one go, once in parts of which one comes as moments,
        // once after points that were refused.
        for (n, seed) in [(300, 1), (5000, 2), (700, 3), (0, 4), (4000, 5)] {
            let points = cloud(n, seed);
            let mut wanted = NdtMoments::new(1.0).unwrap();
            wanted.add(Rows::f32(&points, 3).unwrap()).unwrap();
            let cells = wanted.finish(&params).unwrap();
            builder.clear().unwrap();
            builder.add(Rows::f32(&points, 3).unwrap()).unwrap();
            builder.finish_into(&mut grid).unwrap();
            assert_eq!(grid.read().unwrap(), cells, "{name}, {n}");
            builder.clear().unwrap();
            let (a, b) = points.split_at(n / 3 * 3);
            let mut part = NdtMoments::new(1.0).unwrap();
            part.add(Rows::f32(b, 3).unwrap()).unwrap();
            builder.merge(&part).unwrap();
            let mut bad = a.to_vec();
            bad.extend([0.0, 0.0, 0.0, 3e6, 0.0, 0.0]);
            let told = builder.add(Rows::f32(&bad, 3).unwrap()).unwrap_err().to_string();
            let index = a.len() / 3 + 1;
            let wanted_error = format!(
                "points: expected coordinates from -1048576 to below 1048576 m, or an origin near them, got (3000000, 0, 0) at point {index}"
            );
            assert_eq!(told, wanted_error, "{name}");
            builder.add(Rows::f32(a, 3).unwrap()).unwrap();
            assert_eq!(builder.moments().unwrap(), wanted, "{name}, {n}");
            assert_eq!(builder.finish().unwrap().read().unwrap(), cells, "{name}, {n}");
        }
        let other = NdtMoments::new(2.0).unwrap();
        assert!(builder.merge(&other).is_err());
    }
}

#[test]
fn a_full_cell_is_refused_and_nothing_is_added() {
    for (name, device) in kernel_devices() {
        let mut builder = NdtBuilder::new(&device.stream().unwrap(), 1.0, &NdtParams::default()).unwrap();
        let mut full = Moments::of([1, 2, 3]);
        full.count = MAX_COUNT;
        let key = pointmill_core::ndt::key_of([0; 3]);
        let lattice = *NdtMoments::new(1.0).unwrap().lattice();
        let moments = NdtMoments::of(lattice, vec![(key, full)], u64::from(MAX_COUNT), 0);
        builder.merge(&moments).unwrap();
        let told = builder.add(Rows::f32(&[0.5; 6], 3).unwrap()).unwrap_err().to_string();
        assert_eq!(told, "points: expected at most 33554431 points in a cell, got more in 1 cells", "{name}");
        assert_eq!(builder.moments().unwrap(), moments, "{name}");
        builder.add(Rows::f32(&[1.5; 3], 3).unwrap()).unwrap();
        assert_eq!(builder.moments().unwrap().len(), 2);
    }
}

/// A grid, a scan of it, poses near and far.
fn scene() -> (Vec<f32>, Vec<f32>, Vec<Pose>) {
    let points = cloud(9000, 7);
    let scan = points.chunks_exact(3).step_by(9).flatten().copied().collect();
    let poses = poses_of(&[
        [0.3, -0.2, 0.05, 0.01, -0.02, 0.03],
        [0.0; 6],
        [-0.5, 0.4, 0.0, 0.0, 0.0, -0.05],
        [1e4, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.1, 0.1, 0.1, 3.0, 1.0, -2.0],
    ]);
    (points, scan, poses)
}

#[test]
fn searches_scores_and_alignments() {
    let (points, scan, poses) = scene();
    let params = NdtParams { covariance: Covariance::Autoware, ..NdtParams::default() };
    for resolution in [1.0, 2.0] {
        let grids: Vec<(&str, NdtGrid)> = devices()
            .into_iter()
            .map(|(name, device)| {
                (name, ndt_grid(Rows::f32(&points, 3).unwrap(), resolution, &params, &device).unwrap())
            })
            .collect();
        let first = &grids[0].1;
        for &n in &[0, 1, 33, 64, 65, 999] {
            let scan = Rows::f32(&scan[..n * 3], 3).unwrap();
            for (name, grid) in &grids {
                for radius in [0.3 * resolution, resolution, 2.7 * resolution, 1e5] {
                    let lists = |grid: &NdtGrid| grid.radius_search(scan, radius).unwrap().read().unwrap();
                    // However many there are of a large radius, some points are enough.
                    if radius < 1e5 || n <= 33 {
                        assert_eq!(lists(grid), lists(first), "{name}, {n}, {radius}");
                    }
                }
                for kind in [Neighbourhood::One, Neighbourhood::Seven, Neighbourhood::TwentySeven] {
                    let lists = |grid: &NdtGrid| grid.neighbours(scan, kind).unwrap().read().unwrap();
                    assert_eq!(lists(grid), lists(first), "{name}, {n}");
                }
                let fits = |grid: &NdtGrid| grid.score(scan, &poses).unwrap();
                assert_eq!(fits(grid), fits(first), "{name}, {n}");
                let each = |grid: &NdtGrid| grid.point_scores(scan, &poses[0]).unwrap();
                assert_eq!(each(grid), each(first), "{name}, {n}");
                let found = |grid: &NdtGrid| grid.align(scan, &poses, &NdtAlignParams::default()).unwrap();
                assert_eq!(found(grid), found(first), "{name}, {n}");
            }
        }
        let cells = first.read().unwrap();
        let mut asked = cells.coords.clone();
        asked.extend([[500, 500, 500], [i32::MIN; 3], [i32::MAX; 3], [-1, -1, -1]]);
        for (name, grid) in &grids {
            assert_eq!(grid.lookup(&asked).unwrap(), first.lookup(&asked).unwrap(), "{name}");
        }
        assert!(
            first.align(Rows::f32(&scan, 3).unwrap(), &poses[..1], &NdtAlignParams::default()).unwrap()[0].converged()
        );
    }
}

#[test]
fn grids_of_cells_are_those_that_were_built() {
    let (points, scan, poses) = scene();
    let params = NdtParams::default();
    let cpu = ndt_grid(Rows::f32(&points, 3).unwrap(), 1.0, &params, &Device::cpu()).unwrap();
    let cells = cpu.read().unwrap();
    let scan = Rows::f32(&scan, 3).unwrap();
    for (name, device) in devices() {
        let grid = NdtGrid::from_cells(cells.clone(), *cpu.lattice(), &device.stream().unwrap()).unwrap();
        assert_eq!(grid.read().unwrap(), cells, "{name}");
        assert_eq!(grid.score(scan, &poses).unwrap(), cpu.score(scan, &poses).unwrap(), "{name}");
        let told = |change: &dyn Fn(&mut NdtCells)| {
            let mut cells = cells.clone();
            change(&mut cells);
            NdtGrid::from_cells(cells, *cpu.lattice(), &device.stream().unwrap()).unwrap_err().to_string()
        };
        assert!(
            told(&|c| c.coords.swap(0, 1)).starts_with("cells: expected coordinates that ascend by (z, y, x), got")
        );
        assert!(told(&|c| c.mean[3][1] = f64::NAN).starts_with("cells: expected means within their cells"));
        assert!(told(&|c| c.inverse[3][1] = f64::INFINITY).starts_with("cells: expected means within their cells"));
        for no_inverse in [[0.0; 6], [-1.0, 0.0, 0.0, 1.0, 0.0, 1.0], [-1e300, 0.0, 0.0, -1e300, 0.0, -1e300]] {
            assert!(told(&|c| c.inverse[3] = no_inverse).contains("positive definite inverses"), "{no_inverse:?}");
        }
        assert!(
            told(&|c| {
                c.mean.pop();
            })
            .starts_with("cells: expected arrays of")
        );
        assert!(told(&|c| c.coords[0] = [0, 0, i32::MIN]).starts_with("cells: expected coordinates from -2^20"));
        assert!(told(&|c| c.report.voxels = 1).starts_with("cells: expected a report of"));
    }
    let stream = Device::cpu().stream().unwrap();
    assert!(NdtGrid::from_cells(cells, cpu.lattice().about([0.0, f64::NAN, 0.0]), &stream).is_err());
    // Oblique planes, of which nothing but rounding gives the least eigenvalue.
    let planes: Vec<f64> =
        points.chunks_exact(3).flat_map(|p| [p[0], p[1], p[0] * 0.37 + p[1] * 0.21]).map(f64::from).collect();
    let flat = NdtParams { covariance: Covariance::Unbiased, eigen_ratio: 0.0, ..params };
    let cells = ndt_grid(Rows::f64(&planes, 3).unwrap(), 1.0, &flat, &Device::cpu()).unwrap().read().unwrap();
    assert!(cells.eigenvalues.iter().any(|e| e[0] < 1e-9 * e[2]));
    assert!(NdtGrid::from_cells(cells, *cpu.lattice(), &stream).is_ok());
}

#[test]
fn a_thousand_builds_on_a_gpu_give_one_grid() {
    let Some(device) = crate::testing::gpu() else { return };
    let points = cloud(50_000, 11);
    let stream = device.stream().unwrap();
    let params = NdtParams { covariance: Covariance::Autoware, ..NdtParams::default() };
    let wanted = ndt_grid(Rows::f32(&points, 3).unwrap(), 1.0, &params, &Device::cpu()).unwrap();
    let cells = wanted.read().unwrap();
    let scan: Vec<f32> = points.chunks_exact(3).step_by(10).flatten().copied().collect();
    let scan = Rows::f32(&scan, 3).unwrap();
    let align = |grid: &NdtGrid| {
        grid.align(scan, &poses_of(&[[0.2, -0.1, 0.0, 0.0, 0.0, 0.02]]), &NdtAlignParams::default()).unwrap()
    };
    let aligned = align(&wanted);
    let mut builder = NdtBuilder::new(&stream, 1.0, &params).unwrap();
    let mut grid = builder.finish().unwrap();
    let buffer = stream.upload(&points).unwrap();
    for run in 0..1000 {
        builder.clear().unwrap();
        builder.add(Rows::on_device(&buffer, 50_000, 3).unwrap()).unwrap();
        builder.finish_into(&mut grid).unwrap();
        assert_eq!(grid.read().unwrap(), cells, "run {run}");
        assert_eq!(align(&grid), aligned, "run {run}");
    }
}

#[test]
fn devices_are_not_mixed() {
    let twin = Device::twin().stream().unwrap();
    let buffer = twin.upload(&[0.5f32; 3]).unwrap();
    let cloud = Rows::on_device(&buffer, 1, 3).unwrap();
    let told = |e: Error| e.to_string();
    let mut builder = NdtBuilder::new(&Device::cpu().stream().unwrap(), 1.0, &NdtParams::default()).unwrap();
    assert_eq!(told(builder.add(cloud).unwrap_err()), "points: expected memory of cpu, got twin");
    assert_eq!(told(NdtMoments::new(1.0).unwrap().add(cloud).unwrap_err()), "points: expected memory of cpu, got twin");
    let grid = builder.finish().unwrap();
    assert_eq!(told(grid.score(cloud, &[Pose::IDENTITY]).unwrap_err()), "scan: expected memory of cpu, got twin");
    assert!(Rows::on_device(&buffer, 2, 3).is_err());
}
