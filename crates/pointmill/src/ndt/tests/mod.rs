mod determined;
mod faults;
mod fixtures;
mod many;
mod matching;
mod origins;
mod parity;
mod seeds;

use super::*;
use crate::registration::Status;
use crate::{Device, Error, Pose, Rows};
use pointmill_core::ndt::PoseVector;

fn poses_of(vectors: &[PoseVector]) -> Vec<Pose> {
    vectors.iter().map(|vector| Pose::from_xyzrpy(*vector).unwrap()).collect()
}

fn moments(resolution: f64, points: &[f64]) -> NdtMoments {
    let mut moments = NdtMoments::new(resolution).unwrap();
    moments.add(Rows::f64(points, 3).unwrap()).unwrap();
    moments
}

/// A street as coordinates: ground, two walls, a few points with no place.
fn street(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31)
    };
    (0..n)
        .flat_map(|i| {
            let (x, y, z) = (next() * 60.0 - 30.0, next() * 12.0 - 6.0, next() * 4.0);
            match i % 3 {
                0 => [x, y, next() * 0.03],
                1 => [x, 6.0 + next() * 0.02, z],
                _ => [x, -6.0 - next() * 0.02, z],
            }
        })
        .collect()
}

fn on_threads<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

#[test]
fn threads_order_and_parts_do_not_matter() {
    let points = street(50_000, 7);
    let whole = on_threads(1, || moments(1.0, &points));
    for threads in [2, 3, 16] {
        assert_eq!(on_threads(threads, || moments(1.0, &points)), whole);
    }
    let mut reversed: Vec<[f64; 3]> = points.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect();
    reversed.reverse();
    assert_eq!(moments(1.0, reversed.as_flattened()), whole);
    // In shards, merged in another order; and one taken away again.
    let shards: Vec<NdtMoments> = points.chunks(3 * 7_001).map(|shard| moments(1.0, shard)).collect();
    let mut merged = NdtMoments::new(1.0).unwrap();
    shards.iter().rev().for_each(|shard| merged.merge(shard).unwrap());
    assert_eq!(merged, whole);
    merged.subtract(&shards[2]).unwrap();
    let mut others = NdtMoments::new(1.0).unwrap();
    shards.iter().enumerate().filter(|(i, _)| *i != 2).for_each(|(_, shard)| others.merge(shard).unwrap());
    assert_eq!(merged, others);
    merged.subtract(&others).unwrap();
    assert!(merged.is_empty() && merged.points() == 0);
}

#[test]
fn far_from_the_origin_nothing_changes() {
    // Rows that are whole steps of both places.
    let near: Vec<f64> = street(20_000, 3).iter().map(|x| (x * 1024.0).floor() / 1024.0).collect();
    let far: Vec<f64> = near.iter().zip([80_000.0, 42_000.0, 0.0].iter().cycle()).map(|(x, o)| x + o).collect();
    for resolution in [1.0, 2.0] {
        let (here, there) = (moments(resolution, &near), moments(resolution, &far));
        let cells = (80_000.0 / resolution, 42_000.0 / resolution);
        assert_eq!(here.len(), there.len());
        for ((a, sums), (b, other)) in here.cells().zip(there.cells()) {
            assert_eq!([a[0] + cells.0 as i32, a[1] + cells.1 as i32, a[2]], b);
            assert_eq!(sums, other);
        }
        let (here, there) = (here.finish(&NdtParams::default()).unwrap(), there.finish(&NdtParams::default()).unwrap());
        assert_eq!((here.inverse, here.mean_local), (there.inverse, there.mean_local));
    }
    // The same as f32 about an origin.
    let offsets: Vec<f32> = near.iter().map(|x| *x as f32).collect();
    let mut about = NdtMoments::new(2.0).unwrap();
    about.add(Rows::f32(&offsets, 3).unwrap().about([80_000.0, 42_000.0, 0.0]).unwrap()).unwrap();
    assert_eq!(about, moments(2.0, &far));
    let mut plain = NdtMoments::new(2.0).unwrap();
    plain.add(Rows::f32(&offsets, 3).unwrap()).unwrap();
    assert_eq!(plain, moments(2.0, &near));
}

#[test]
fn what_has_no_cell_is_counted_or_refused() {
    let rows = [[0.5, 0.5, 0.5], [f64::NAN, 0.0, 0.0], [0.0, f64::INFINITY, 0.0], [0.25, 0.5, 0.75]];
    let got = moments(1.0, rows.as_flattened());
    assert_eq!((got.points(), got.non_finite(), got.len()), (4, 2, 1));
    let before = got.clone();
    let mut got = got;
    let error = got.add(Rows::f64(&[0.0, 0.0, 0.0, 2e6, 0.0, 0.0], 3).unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "points: expected coordinates from -1048576 to below 1048576 m, or an origin near them, got (2000000, 0, 0) at point 1"
    );
    assert_eq!(got, before);
    let nothing = NdtMoments::new(1.0).unwrap().finish(&NdtParams::default()).unwrap();
    assert!(nothing.is_empty() && nothing.report == NdtReport::default());
}

#[test]
fn errors_name_argument_expected_and_got() {
    let told = |e: Error| e.to_string();
    for (resolution, got) in [(0.0, "0"), (-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        let wanted = format!("resolution: expected a size in metres, 3e-39 to 8.5e37, got {got}");
        assert_eq!(told(NdtMoments::new(resolution).unwrap_err()), wanted);
    }
    let some = moments(1.0, &[0.5; 3]);
    let check = |params: NdtParams| told(some.finish(&params).unwrap_err());
    let defaults = NdtParams::default();
    assert_eq!(check(NdtParams { min_points: 0, ..defaults }), "min_points: expected at least 1, got 0");
    for bad in [-0.1, 1.0, f64::NAN] {
        let wanted = format!("eigen_ratio: expected 0 or more, below 1, got {bad}");
        assert_eq!(check(NdtParams { eigen_ratio: bad, ..defaults }), wanted);
    }
    let flat = NdtMoments::new(1.0).unwrap().add(Rows::f64(&[0.0; 4], 2).unwrap()).unwrap_err();
    assert_eq!(told(flat), "points: expected at least 3 columns: x, y, z first, got 2");
    let origin = Rows::f32(&[0.0; 3], 3).unwrap().about([0.0, f64::NAN, 0.0]).unwrap_err();
    assert_eq!(told(origin), "origin: expected three finite numbers, got [0.0, NaN, 0.0]");
    let mut some = some;
    let other = moments(2.0, &[0.5; 3]);
    assert_eq!(told(some.merge(&other).unwrap_err()), "resolution: expected cells of 1 m, got cells of 2 m");
    assert_eq!(told(some.subtract(&other).unwrap_err()), "resolution: expected cells of 1 m, got cells of 2 m");
    let elsewhere = moments(1.0, &[5.5; 3]);
    let wanted = "part: expected moments of points that were added, got others in cell (5, 5, 5)";
    assert_eq!(told(some.subtract(&elsewhere).unwrap_err()), wanted);
    let two = moments(1.0, &[0.5; 6]);
    assert_eq!(
        told(some.subtract(&two).unwrap_err()),
        "part: expected at most 1 points, 0 of them not finite, got 2, 0"
    );
}

/// What Autoware makes is what matching converges best with, and what the command and the Python
/// package make too.
#[test]
fn the_default_covariance_is_that_of_autoware() {
    let params = NdtParams::default();
    assert_eq!(params, NdtParams { min_points: 6, covariance: Covariance::Autoware, eigen_ratio: 0.01 });
    let sums = moments(1.0, &street(3_000, 11));
    let trace = |covariance| {
        let cells = sums.finish(&NdtParams { covariance, eigen_ratio: 0.0, ..params }).unwrap();
        cells
            .covariance
            .iter()
            .zip(&cells.counts)
            .map(|(c, n)| (c[0] + c[3] + c[5]) * f64::from(n - 1))
            .collect::<Vec<_>>()
    };
    let (unbiased, default) = (trace(Covariance::Unbiased), trace(params.covariance));
    // The identity, in square metres, is in the sum.
    assert!(
        !default.is_empty() && default.iter().zip(&unbiased).all(|(with, without)| (with - without - 3.0).abs() < 1e-9)
    );
}

#[test]
fn every_cell_is_accounted_for() {
    let points = street(30_000, 11);
    for covariance in [Covariance::Unbiased, Covariance::Autoware, Covariance::Population] {
        for min_points in [1, 6, 40] {
            let params = NdtParams { min_points, covariance, ..NdtParams::default() };
            let cells = moments(0.5, &points).finish(&params).unwrap();
            let report = cells.report;
            assert_eq!(report.cells, report.sparse + report.degenerate + report.voxels);
            assert_eq!((report.voxels, report.points), (cells.len(), 30_000));
            assert!(cells.counts.iter().all(|n| *n >= min_points) && report.clamped <= report.voxels);
            assert!(cells.coords.is_sorted_by_key(|[x, y, z]| (*z, *y, *x)));
        }
    }
}

#[test]
fn moments_come_back_from_their_cells() {
    type Cells = Vec<([i32; 3], Moments)>;
    let mut points = street(3_000, 11);
    points[100] = f64::NAN;
    let whole = moments(0.3, &points);
    let cells = whole.table().unwrap().cells;
    let again = |cells: &Cells, points, non_finite| {
        let table = NdtMomentsTable { lattice: *whole.lattice(), points, non_finite, cells: cells.clone() };
        NdtMoments::from_table(&table).map_err(|e| e.to_string())
    };
    assert_eq!(again(&cells, 3_000, 1), Ok(whole.clone()));
    assert!(again(&vec![], 5, 5).unwrap().is_empty());
    // On a builder they are what the points are, on every device.
    let empty =
        NdtBuilder::new(&Device::cpu().stream().unwrap(), whole.lattice().unit(), &NdtParams::default()).unwrap();
    for mut builder in [empty, NdtBuilder::new(&Device::twin().stream().unwrap(), 0.3, &NdtParams::default()).unwrap()]
    {
        builder.merge(&again(&cells, 3_000, 1).unwrap()).unwrap();
        let grid = builder.finish().unwrap();
        assert_eq!(grid.read().unwrap(), whole.finish(&NdtParams::default()).unwrap());
    }
    let told = |change: &dyn Fn(&mut Cells), points, non_finite| {
        let mut cells = cells.clone();
        change(&mut cells);
        again(&cells, points, non_finite).unwrap_err()
    };
    let one = [1 << 19; 3];
    assert!(told(&|_| {}, 2_999, 1).starts_with("points: expected 2999 in cells and 1 not finite, got 2999"));
    assert!(told(&|_| {}, 3, u64::MAX).starts_with("points: "));
    assert!(told(&|c| c.swap(3, 4), 3_000, 1).contains("by (z, y, x), got"));
    assert!(told(&|c| c[1] = c[0], 3_000, 1).contains("by (z, y, x), got"));
    assert!(
        told(&|c| c[0].0 = [0, 0, -MAX_CELL - 1], 3_000, 1)
            .contains("from -1048576 to 1048575, got -1048577 in column `z`, row 0")
    );
    assert!(told(&|c| c[0].1.count = 0, 3_000, 1).contains("from 1 to 33554431, got 0 in column `count`, row 0"));
    assert!(told(&|c| c[0].1.count = MAX_COUNT + 1, 3_000, 1).contains("from 1 to 33554431, got 33554432"));
    let impossible: [&dyn Fn(&mut Moments); 4] =
        [&|m| m.sum[1] = i64::MIN, &|m| m.sum[2] = (1 << 19) * i64::from(m.count) + 1, &|m| m.products[3] = -1, &|m| {
            m.products[1] = i64::MAX;
        }];
    for change in impossible {
        assert!(told(&|c| change(&mut c[0].1), 3_000, 1).contains(" points, got "));
    }
    assert!(again(&vec![([0; 3], Moments::of(one))], 1, 0).is_ok());
}

/// Numbers of points that a file may have, near 2^64: more is refused, on every device, and nothing
/// is added; what is there can be taken away.
#[test]
fn numbers_of_points_do_not_wrap() {
    const MOST: u64 = u64::MAX;
    let lattice = *NdtMoments::new(1.0).unwrap().lattice();
    let table = NdtMomentsTable { lattice, points: MOST - 1, non_finite: MOST - 1, cells: vec![] };
    let many = NdtMoments::from_table(&table).unwrap();
    let one = moments(1.0, &[0.5, 0.5, 0.5]);
    let points = [0.5, 0.5, 0.5, f64::NAN, 0.0, 0.0];
    let two = Rows::f64(&points, 3).unwrap();
    let refused = |told: Result<(), Error>, more: u64| {
        let told = told.unwrap_err().to_string();
        assert_eq!(told, format!("points: expected fewer than 2^64 in all, got {} and {more}", MOST - 1));
    };
    let mut all = many.clone();
    refused(all.merge(&many), MOST - 1);
    refused(all.add(two), 2);
    assert_eq!(all, many);
    all.merge(&one).unwrap();
    assert_eq!((all.points(), all.non_finite(), all.len()), (MOST, MOST - 1, 1));
    all.subtract(&many).unwrap();
    assert_eq!(all, one);
    assert!(all.subtract(&many).is_err() && all == one);
    for (name, device) in crate::testing::devices() {
        let mut builder = NdtBuilder::new(&device.stream().unwrap(), 1.0, &NdtParams::default()).unwrap();
        builder.merge(&many).unwrap();
        refused(builder.merge(&many), MOST - 1);
        refused(builder.add(two), 2);
        assert_eq!(builder.moments().unwrap(), many, "{name}");
        builder.merge(&one).unwrap();
        assert_eq!(builder.moments().unwrap().points(), MOST, "{name}");
    }
}
