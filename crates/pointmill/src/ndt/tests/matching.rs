use super::super::align::matrix;
use super::*;

fn grid_of(resolution: f64, points: &[f64], covariance: Covariance) -> NdtGrid {
    let params = NdtParams { covariance, ..NdtParams::default() };
    NdtGrid::new(&moments(resolution, points), &params).unwrap()
}

/// A street with fronts of houses, so that every direction is seen; and every tenth point of it as a scan.
fn scene() -> (Vec<f64>, Vec<[f32; 3]>) {
    let mut points = street(60_000, 5);
    for (i, front) in street(20_000, 9).chunks_exact(3).enumerate() {
        let x = f64::from(i as u32 % 5) * 12.0 - 24.0;
        points.extend([x + front[2] * 0.01, 6.0 + (front[0] + 30.0) * 0.1, front[2].abs()]);
    }
    let scan = points.chunks_exact(3).step_by(16).map(|p| [p[0] as f32, p[1] as f32, p[2] as f32]).collect();
    (points, scan)
}

#[test]
fn searches_equal_those_over_all_rows() {
    let (points, scan) = scene();
    let grid = grid_of(1.0, &points, Covariance::Unbiased);
    for p in scan.iter().step_by(37).map(|p| p.map(f64::from)).chain([[0.0; 3], [1e9, 0.0, 0.0], [f64::NAN; 3]]) {
        for radius in [0.4, 1.0, 2.5, 1e4] {
            let mut wanted: Vec<(f64, usize)> = (0..grid.cells().len())
                .map(|row| (grid.cells().mean[row].iter().zip(p).map(|(m, x)| (x - m) * (x - m)).sum(), row))
                .filter(|(d, _)| *d < radius * radius)
                .collect();
            wanted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let got = grid.radius_search(p, radius).unwrap();
            assert_eq!(got.iter().map(|n| (n.distance_squared, n.row)).collect::<Vec<_>>(), wanted);
        }
        let rows = |kind| grid.neighbours(p, kind);
        for row in rows(Neighbourhood::TwentySeven) {
            let cell = grid.cells().coords[row];
            let place = grid.lattice().place(p).unwrap().cell;
            let steps: Vec<i32> = (0..3).map(|i| (cell[i] - place[i]).abs()).collect();
            assert!(steps.iter().all(|s| *s <= 1));
            assert_eq!(rows(Neighbourhood::Seven).contains(&row), steps.iter().sum::<i32>() <= 1);
            assert_eq!(rows(Neighbourhood::One).contains(&row), steps.iter().sum::<i32>() == 0);
        }
        assert!(rows(Neighbourhood::TwentySeven).is_sorted());
    }
    for (row, cell) in grid.cells().coords.iter().enumerate() {
        assert_eq!(grid.lookup(*cell), Some(row));
    }
    assert_eq!(
        (grid.lookup([900, 0, 0]), grid.lookup([i32::MAX, 0, 0]), grid.lookup([i32::MIN; 3])),
        (None, None, None)
    );
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(grid.radius_search([0.0; 3], bad).is_err());
    }
}

#[test]
fn scores_are_sums_over_points() {
    let (points, scan) = scene();
    let grid = grid_of(2.0, &points, Covariance::Autoware);
    let pose = [0.1, -0.05, 0.02, 0.01, -0.02, 0.03];
    let fit = grid.score(&scan, &[pose]).unwrap()[0];
    let each = grid.point_scores(&scan, &pose).unwrap();
    let sum: f64 = each.iter().map(|s| s[0]).sum();
    let hits: Vec<f64> = each.iter().map(|s| s[1]).filter(|s| *s > 0.0).collect();
    assert!((fit.score - sum).abs() < 1e-9 * sum && fit.hits == hits.len());
    assert!((fit.transform_probability - sum / scan.len() as f64).abs() < 1e-12);
    assert!((fit.nvtl - hits.iter().sum::<f64>() / hits.len() as f64).abs() < 1e-12);
    // Many poses in one call are as many calls, whatever the number of threads.
    let poses = [pose, [0.0; 6], [50.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1e4; 6]];
    let together = grid.score(&scan, &poses).unwrap();
    for threads in [1, 2, 7] {
        assert_eq!(on_threads(threads, || grid.score(&scan, &poses).unwrap()), together);
    }
    assert_eq!((together[0], together[3]), (fit, NdtFit::default()));
    assert!(together[1].score > together[0].score);
    assert_eq!(grid.score(&[], &[pose]).unwrap(), [NdtFit::default()]);
    assert!(grid.score(&scan, &[[f64::NAN; 6]]).is_err());
}

#[test]
fn scans_find_their_place() {
    let (points, scan) = scene();
    let truth = [0.0; 6];
    let mut state = 12_345u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    };
    let guesses: Vec<Pose> =
        (0..20).map(|_| [next() * 0.7, next() * 0.7, next() * 0.1, 0.0, 0.0, next() * 4f64.to_radians()]).collect();
    for resolution in [1.0, 2.0] {
        let grid = grid_of(resolution, &points, Covariance::Autoware);
        let found = guesses
            .iter()
            .filter(|guess| {
                let got = grid.align(&scan, guess, &AlignParams::default()).unwrap();
                let off = (0..3).map(|i| (got.pose[i] - truth[i]).powi(2)).sum::<f64>().sqrt();
                let turned = got.pose[3..].iter().map(|a| a.abs()).fold(0.0, f64::max);
                got.converged() && got.covariance.is_some() && off < 0.1 && turned < 1f64.to_radians()
            })
            .count();
        assert!(found >= 19, "{found} of 20 at {resolution} m");
    }
}

#[test]
fn alignment_has_one_answer_for_any_number_of_threads() {
    let (points, scan) = scene();
    let grid = grid_of(2.0, &points, Covariance::Autoware);
    let align = || grid.align(&scan, &[0.4, -0.3, 0.05, 0.0, 0.0, 0.03], &AlignParams::default()).unwrap();
    let one = on_threads(1, align);
    assert!(one.converged());
    for threads in [2, 5, 16] {
        assert_eq!(on_threads(threads, align), one);
    }
}

#[test]
fn what_cannot_be_aligned_says_so() {
    let (points, scan) = scene();
    let grid = grid_of(2.0, &points, Covariance::Autoware);
    let far = [500.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let lost = grid.align(&scan, &far, &AlignParams::default()).unwrap();
    assert_eq!((lost.stop, lost.pose, lost.iterations, lost.fit), (Stop::NoPairs, far, 0, NdtFit::default()));
    assert!(!lost.converged() && lost.covariance.is_none());
    let few = AlignParams { max_iterations: 1, ..AlignParams::default() };
    let stopped = grid.align(&scan, &[0.5, 0.0, 0.0, 0.0, 0.0, 0.0], &few).unwrap();
    assert_eq!((stopped.stop, stopped.iterations), (Stop::MaxIterations, 1));
    let told = |params: AlignParams| grid.align(&scan, &far, &params).unwrap_err().to_string();
    let defaults = AlignParams::default();
    assert_eq!(told(AlignParams { step_size: 0.0, ..defaults }), "step_size: expected a finite number > 0, got 0");
    assert_eq!(told(AlignParams { epsilon: f64::NAN, ..defaults }), "epsilon: expected a finite number > 0, got NaN");
    assert!(grid.align(&scan, &[f64::INFINITY; 6], &defaults).is_err());
    // A flat map says nothing about places on it; nothing is made up.
    let flat: Vec<f64> = street(3_000, 2).chunks_exact(3).flat_map(|p| [p[0], p[1], 0.5]).collect();
    let flat = grid_of(2.0, &flat, Covariance::Unbiased);
    let one = flat.align(&[[0.3, 0.2, 0.5]], &[0.0; 6], &defaults).unwrap();
    assert!(one.covariance.is_none(), "{one:?}");
    let empty = grid_of(2.0, &[], Covariance::Unbiased);
    assert_eq!(empty.align(&scan, &[0.0; 6], &defaults).unwrap().stop, Stop::NoPairs);
}

proptest! {
    #[test]
    fn poses_are_matrices(t in prop::array::uniform3(-1e5f64..1e5), a in prop::array::uniform3(-1.5f64..1.5)) {
        let pose = [t[0], t[1], t[2], a[0], a[1], a[2]];
        let back = pose_of(&matrix(&pose)).unwrap();
        for (got, wanted) in back.iter().zip(pose) {
            prop_assert!((got - wanted).abs() < 1e-9, "{back:?} {pose:?}");
        }
    }
}

#[test]
fn matrices_that_are_no_pose() {
    let rigid = matrix(&[1.0, 2.0, 3.0, 0.1, 0.2, 0.3]);
    let with = |i: usize, value: f64| {
        let mut m = rigid;
        m[i] = value;
        pose_of(&m)
    };
    assert!(pose_of(&rigid).is_ok());
    for bad in [with(0, f64::NAN), with(3, f64::INFINITY), with(12, 1.0), with(15, 0.0), with(0, 2.0)] {
        assert!(bad.is_err());
    }
    let mut mirrored = rigid;
    (0..3).for_each(|j| mirrored[8 + j] = -mirrored[8 + j]);
    assert!(pose_of(&mirrored).is_err());
    for up in [1.0, -1.0] {
        let steep = matrix(&[0.0, 0.0, 0.0, 0.4, up * std::f64::consts::FRAC_PI_2, 0.3]);
        let again = matrix(&pose_of(&steep).unwrap());
        assert!(steep.iter().zip(again).all(|(a, b)| (a - b).abs() < 1e-7), "{steep:?} {again:?}");
    }
}
