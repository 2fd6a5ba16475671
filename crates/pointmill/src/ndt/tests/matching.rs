use super::*;

fn grid_of(resolution: f64, points: &[f64], covariance: Covariance) -> NdtGrid {
    let params = NdtParams { covariance, ..NdtParams::default() };
    ndt_grid(Rows::f64(points, 3).unwrap(), resolution, &params, &Device::cpu()).unwrap()
}

fn scan_of(points: &[[f32; 3]]) -> Rows<'_> {
    Rows::f32(points.as_flattened(), 3).unwrap()
}

fn align(grid: &NdtGrid, scan: &[[f32; 3]], guess: &PoseVector, params: &NdtAlignParams) -> NdtRegistration {
    grid.align(scan_of(scan), &poses_of(&[*guess]), params).unwrap().remove(0)
}

/// A street with fronts of houses, so that every direction is seen; and every tenth point of it as
/// a scan.
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
    let cells = grid.read().unwrap();
    let wanted_at: Vec<[f64; 3]> =
        scan.iter().step_by(37).map(|p| p.map(f64::from)).chain([[0.0; 3], [1e9, 0.0, 0.0], [f64::NAN; 3]]).collect();
    let cloud = Rows::f64(wanted_at.as_flattened(), 3).unwrap();
    for radius in [0.4, 1.0, 2.5, 1e4] {
        let lists = grid.radius_search(cloud, radius).unwrap().read().unwrap();
        for (i, p) in wanted_at.iter().enumerate() {
            let mut wanted: Vec<(f64, u32)> = (0..cells.len())
                .map(|row| (cells.mean[row].iter().zip(p).map(|(m, x)| (x - m) * (x - m)).sum(), row as u32))
                .filter(|(d, _)| *d < radius * radius)
                .collect();
            wanted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let part = lists.row_splits[i] as usize..lists.row_splits[i + 1] as usize;
            let got = lists.distance_squared[part.clone()].iter().copied().zip(lists.rows[part].iter().copied());
            assert_eq!(got.collect::<Vec<_>>(), wanted);
        }
    }
    let [one, seven, all] = [Neighbourhood::One, Neighbourhood::Seven, Neighbourhood::TwentySeven]
        .map(|kind| grid.neighbours(cloud, kind).unwrap().read().unwrap());
    assert!(all.distance_squared.is_empty());
    for (i, p) in wanted_at.iter().enumerate() {
        let rows =
            |lists: &NdtLists| lists.rows[lists.row_splits[i] as usize..lists.row_splits[i + 1] as usize].to_vec();
        let place = grid.lattice().place(*p).map(|place| place.cell);
        let near = |most: i32, sum: i32| -> Vec<u32> {
            let Some(place) = place else { return Vec::new() };
            let steps = |row: &u32| [0, 1, 2].map(|i| (cells.coords[*row as usize][i] - place[i]).abs());
            let inside = |row: &u32| steps(row).iter().all(|s| *s <= most) && steps(row).iter().sum::<i32>() <= sum;
            (0..cells.len() as u32).filter(inside).collect()
        };
        assert_eq!((rows(&one), rows(&seven), rows(&all)), (near(0, 0), near(1, 1), near(1, 3)));
    }
    let rows = grid.lookup(&cells.coords).unwrap();
    assert!(rows.iter().enumerate().all(|(i, row)| *row == i as i32));
    let nowhere = [[900, 0, 0], [i32::MAX, 0, 0], [i32::MIN; 3]];
    assert_eq!(grid.lookup(&nowhere).unwrap(), [-1; 3]);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(grid.radius_search(cloud, bad).is_err());
    }
}

#[test]
fn scores_are_sums_over_points() {
    let (points, scan) = scene();
    let grid = grid_of(2.0, &points, Covariance::Autoware);
    let pose = Pose::from_xyzrpy([0.1, -0.05, 0.02, 0.01, -0.02, 0.03]).unwrap();
    let fit = grid.score(scan_of(&scan), &[pose]).unwrap()[0];
    let each = grid.point_scores(scan_of(&scan), &pose).unwrap();
    let sum: f64 = each.iter().map(|s| s[0]).sum();
    let hits: Vec<f64> = each.iter().map(|s| s[1]).filter(|s| *s > 0.0).collect();
    assert!((fit.score - sum).abs() < 1e-9 * sum && fit.hits == hits.len());
    assert!((fit.transform_probability - sum / scan.len() as f64).abs() < 1e-12);
    assert!((fit.nvtl - hits.iter().sum::<f64>() / hits.len() as f64).abs() < 1e-12);
    // Many poses in one call are as many calls, whatever the number of threads.
    let far = Pose::from_xyzrpy([1e4; 6]).unwrap();
    let poses = [pose, Pose::IDENTITY, Pose::from_translation([50.0, 0.0, 0.0]), far];
    let together = grid.score(scan_of(&scan), &poses).unwrap();
    for threads in [1, 2, 7] {
        assert_eq!(on_threads(threads, || grid.score(scan_of(&scan), &poses).unwrap()), together);
    }
    assert_eq!((together[0], together[3]), (fit, NdtFit::default()));
    assert!(together[1].score > together[0].score);
    assert_eq!(grid.score(scan_of(&[]), &[pose]).unwrap(), [NdtFit::default()]);
    assert!(grid.score(scan_of(&scan), &[Pose::from_translation([f64::NAN; 3])]).is_err());
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
    let guesses: Vec<PoseVector> =
        (0..20).map(|_| [next() * 0.7, next() * 0.7, next() * 0.1, 0.0, 0.0, next() * 4f64.to_radians()]).collect();
    for resolution in [1.0, 2.0] {
        let grid = grid_of(resolution, &points, Covariance::Autoware);
        let found = guesses
            .iter()
            .filter(|guess| {
                let got = align(&grid, &scan, guess, &NdtAlignParams::default());
                let pose = got.target_from_source.xyzrpy();
                let off = (0..3).map(|i| (pose[i] - truth[i]).powi(2)).sum::<f64>().sqrt();
                let turned = pose[3..].iter().map(|a| a.abs()).fold(0.0, f64::max);
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
    let guess = [0.4, -0.3, 0.05, 0.0, 0.0, 0.03];
    let once = || align(&grid, &scan, &guess, &NdtAlignParams::default());
    let one = on_threads(1, once);
    assert!(one.converged());
    for threads in [2, 5, 16] {
        assert_eq!(on_threads(threads, once), one);
    }
}

#[test]
fn what_cannot_be_aligned_says_so() {
    let (points, scan) = scene();
    let grid = grid_of(2.0, &points, Covariance::Autoware);
    let far = [500.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let lost = align(&grid, &scan, &far, &NdtAlignParams::default());
    assert_eq!((lost.status, lost.iterations, lost.fit), (Status::NoPairs, 0, NdtFit::default()));
    assert_eq!(lost.target_from_source.xyzrpy(), far);
    assert!(!lost.converged() && lost.covariance.is_none());
    let few = NdtAlignParams { max_iterations: 1, ..NdtAlignParams::default() };
    let stopped = align(&grid, &scan, &[0.5, 0.0, 0.0, 0.0, 0.0, 0.0], &few);
    assert_eq!((stopped.status, stopped.iterations), (Status::MaxIterations, 1));
    let told = |params: NdtAlignParams| grid.align(scan_of(&scan), &poses_of(&[far]), &params).unwrap_err().to_string();
    let defaults = NdtAlignParams::default();
    assert_eq!(told(NdtAlignParams { step_size: 0.0, ..defaults }), "step_size: expected a finite number > 0, got 0");
    assert_eq!(
        told(NdtAlignParams { epsilon: f64::NAN, ..defaults }),
        "epsilon: expected a finite number > 0, got NaN"
    );
    assert!(grid.align(scan_of(&scan), &[Pose::from_translation([f64::INFINITY; 3])], &defaults).is_err());
    // A flat map says nothing about places on it; nothing is made up.
    let flat: Vec<f64> = street(3_000, 2).chunks_exact(3).flat_map(|p| [p[0], p[1], 0.5]).collect();
    let flat = grid_of(2.0, &flat, Covariance::Unbiased);
    let one = align(&flat, &[[0.3, 0.2, 0.5]], &[0.0; 6], &defaults);
    assert!(one.covariance.is_none(), "{one:?}");
    let empty = grid_of(2.0, &[], Covariance::Unbiased);
    assert_eq!(align(&empty, &scan, &[0.0; 6], &defaults).status, Status::NoPairs);
}

/// However far steps may go, the result is a pose.
#[test]
fn steps_beyond_any_angle_end_in_a_pose() {
    let (points, scan) = scene();
    let grid = grid_of(2.0, &points, Covariance::Autoware);
    let params = NdtAlignParams { step_size: 1e12, epsilon: 1e-12, max_iterations: 9, ..NdtAlignParams::default() };
    for yaw in [0.3, 1.0, 100_000.0] {
        let found = align(&grid, &scan, &[0.5, 0.0, 0.0, 0.0, 0.0, yaw], &params);
        assert!(found.target_from_source.is_rigid(), "{found:?}");
    }
}

/// Walls along x alone say nothing of x: the pose keeps the guess there, or the base it is held to.
#[test]
fn a_base_holds_what_the_scan_does_not() {
    let mut points: Vec<f64> = Vec::new();
    for i in 0..40_000 {
        let (x, t) = (f64::from(i % 800) * 0.1 - 40.0, f64::from(i / 800) * 0.1);
        points.extend([x, 6.0, t, /**/ x, -6.0, t, /**/ x, t * 2.4 - 6.0, 0.0]);
    }
    let scan: Vec<[f32; 3]> = points
        .chunks_exact(3)
        .filter(|p| p[0].abs() < 20.0)
        .step_by(23)
        .map(|p| [p[0] as f32, p[1] as f32, p[2] as f32])
        .collect();
    let base = Pose::from_translation([0.6, 5.0, 0.0]);
    let regularization = Some(NdtRegularization { base, scale: 2.0 });
    let held = NdtAlignParams { regularization, ..NdtAlignParams::default() };
    let guess = [0.0, 0.3, 0.0, 0.0, 0.0, 0.0];
    let grid = grid_of(2.0, &points, Covariance::Autoware);
    let [free, pulled] = [NdtAlignParams::default(), held].map(|params| align(&grid, &scan, &guess, &params));
    let [a, b] = [&free, &pulled].map(|found| found.target_from_source.xyzrpy());
    assert!(a[0].abs() < 0.1 && (b[0] - 0.6).abs() < 0.1, "{a:?} {b:?}");
    // Across, and by its score, the scan alone decides.
    assert!(a[1].abs() < 0.05 && b[1].abs() < 0.05 && pulled.fit.score > 0.0);
    let scored = grid.score(scan_of(&scan), &[pulled.target_from_source]).unwrap()[0];
    assert!((scored.score - pulled.fit.score).abs() < 1e-9 * scored.score);
    let none = NdtAlignParams { regularization: Some(NdtRegularization { base, scale: 0.0 }), ..held };
    assert_eq!(align(&grid, &scan, &guess, &none), free);
    for device in [Device::cpu_with_threads(1).unwrap(), Device::twin()] {
        let stream = device.stream().unwrap();
        let on = NdtGrid::from_cells(grid.read().unwrap(), *grid.lattice(), &stream).unwrap();
        assert_eq!(align(&on, &scan, &guess, &held), pulled);
    }
    let told = |regularization| {
        grid.align(scan_of(&scan), &[], &NdtAlignParams { regularization, ..held }).unwrap_err().to_string()
    };
    assert_eq!(told(Some(NdtRegularization { base, scale: -1.0 })), "scale: expected a finite number >= 0, got -1");
}
