//! The search against one of all places, inputs that say nothing, and real pairs.

mod kernels;
mod real;

use super::params::Yaws;
use super::queue::Node;
use super::search::{Search, apart};
use super::source::Source;
use super::*;
use crate::ndt::{NdtGrid, NdtParams, ndt_grid};
use crate::testing::{Random, kernel_devices};
use crate::{Device, Rows};
use pointmill_core::ndt::{LevelCell, level_cube};
use pointmill_core::trig::sin_cos_f64;
use std::f64::consts::PI;

fn grid(points: &[[f64; 3]], device: &Device) -> NdtGrid {
    ndt_grid(Rows::from(points), 2.0, &NdtParams { min_points: 3, ..NdtParams::default() }, device).unwrap()
}

/// Boxes of points in an area of 40 x 30 m, with a ground that rises.
fn town(random: &mut Random, boxes: usize) -> Vec<[f64; 3]> {
    let mut between = |a: f64, b: f64| f64::from(random.between(a as f32, b as f32));
    let mut points = Vec::new();
    for i in 0..80 {
        points.extend((0..60).map(|j| [f64::from(i) * 0.5, f64::from(j) * 0.5, f64::from(i) * 0.02]));
    }
    for _ in 0..boxes {
        let [x, y, w, h] = [between(0.0, 36.0), between(0.0, 26.0), between(0.5, 4.0), between(1.0, 4.0)];
        points.extend((0..150).map(|_| [x + between(0.0, w), y + between(0.0, 0.3), x * 0.04 + between(0.0, h)]));
    }
    points
}

/// What a sensor at (20, 12) with a yaw sees of points.
fn seen(points: &[[f64; 3]], yaw: f64) -> Vec<[f64; 3]> {
    let pose = crate::Pose::from_xyzrpy([20.2, 12.3, 2.6, 0.0, 0.0, yaw]).unwrap().inverse();
    points.iter().step_by(2).map(|p| pose.apply(*p)).collect()
}

/// Scores all places by the definition, and takes those apart from all before.
fn exhaustive(target: &LevelTarget, grid: &NdtGrid, points: &[[f64; 3]], params: &LevelParams) -> Vec<Node> {
    let (yaws, step) = (params.yaws(), target.step());
    let source = Source::new(&Rows::from(points), target, params).unwrap();
    let heights = target.places(source.ground).unwrap();
    let cells = grid.read().unwrap();
    let is_ground = |row: usize| {
        let column = |k: usize| [cells.coords[k][0], cells.coords[k][1]];
        let level = |k: &usize| column(*k) == column(row) && cells.normal[*k][2].abs() >= 0.8;
        target.params().ground && (0..cells.len()).find(level) == Some(row)
    };
    let near: Vec<_> = (0..cells.len())
        .filter(|row| !is_ground(*row))
        .map(|row| LevelCell::new(cells.mean[row], &cells.inverse[row], step, 4.0).unwrap())
        .collect();
    let mut values = std::collections::HashMap::new();
    let mut value = |cube: [i32; 3]| {
        *values.entry(cube).or_insert_with(|| {
            let p = cube.map(|n| (f64::from(n) + 0.5) * step);
            let within = |cell: &LevelCell| {
                (0..3).all(|k| {
                    let [from, to] = cell.extent(k).map(|x| (x / step).floor() as i32);
                    (from..=to).contains(&cube[k])
                })
            };
            near.iter().filter(|cell| within(cell)).map(|cell| cell.value(p)).max().unwrap_or(0)
        })
    };
    let mut places = Vec::new();
    let [along, across] = heights.wide().map(|n| n as u32 * 64);
    for yaw in 0..yaws.count as u32 {
        let (sine, cosine) = sin_cos_f64(yaws.of(yaw));
        let turned: Vec<_> = source.points.iter().map(|p| level_cube(*p, [sine, cosine], step)).collect();
        for (y, x) in (0..across).flat_map(|y| (0..along).map(move |x| (y, x))) {
            let [least, most] = heights.at(0, x as usize, y as usize);
            for height in least..=most {
                let at = |c: &[i32; 3]| {
                    let [i, j] = target.first();
                    [c[0] + i + x as i32, c[1] + j + y as i32, c[2] + height]
                };
                let score = turned.iter().map(|c| u16::from(value(at(c)))).sum();
                places.push(Node { score, level: 0, yaw, y, x, height });
            }
        }
    }
    places.retain(|place| place.score > 0);
    places.sort_by(|a, b| b.cmp(a));
    kept(places, params, &yaws, step)
}

fn kept(places: Vec<Node>, params: &LevelParams, yaws: &Yaws, step: f64) -> Vec<Node> {
    let mut kept: Vec<Node> = Vec::new();
    for place in places {
        if kept.len() < params.candidates && kept.iter().all(|other| apart(params, yaws, step, &place, other)) {
            kept.push(place);
        }
    }
    kept
}

#[test]
fn the_answer_is_that_of_the_search_of_all_places() {
    let mut random = Random(7);
    for (round, ground) in [(0, true), (1, true), (2, false), (3, true)] {
        let points = town(&mut random, 12);
        let own = grid(&points, &Device::cpu());
        let yaw = f64::from(random.between(-3.0, 3.0));
        // The whole map, a part of it, and one place.
        let region =
            [None, Some([3.0, 2.0, 31.5, 20.0]), Some([15.0, 8.0, 24.0, 17.0]), Some([20.0, 12.0, 20.0, 12.0])];
        let params = LevelTargetParams { region: region[round], range: 15.0, ground, ..LevelTargetParams::default() };
        let target = LevelTarget::new(&own, &params).unwrap();
        let others: Vec<_> = kernel_devices()
            .into_iter()
            .map(|(name, device)| (name, LevelTarget::new(&grid(&points, &device), &params).unwrap()))
            .collect();
        let scan = seen(&points, yaw);
        for (turn, max_points, candidates) in [(10.0, 1024, 12), (25.0, 40, 30), (40.0, 1, 5)] {
            let params = LevelParams {
                turn: turn * PI / 180.0,
                max_points,
                candidates,
                yaw_range: if round == 1 { [-1.0, 2.0] } else { [-PI, PI] },
                ..LevelParams::default()
            };
            let wanted = exhaustive(&target, &own, &scan, &params);
            let rows = Rows::from(&scan[..]);
            let mut search = Search::new(&target, &rows, &params).unwrap();
            let evaluated = search.search(u64::MAX).unwrap().unwrap();
            assert!(!wanted.is_empty() && search.kept == wanted, "{round}: {:?} {wanted:?}", search.kept);
            let found = target.search(rows, &params).unwrap();
            assert_eq!(found.evaluated, evaluated);
            // With a limit the answer is the same, or none.
            let within = |most| target.search_at_most(rows, &params, most).unwrap();
            let enough = evaluated.max(search.wide_blocks());
            assert_eq!((within(enough), within(evaluated - 1), within(0)), (Some(found.clone()), None, None));
            for (name, other) in &others {
                let within = |most| other.search_at_most(rows, &params, most).unwrap();
                let same = (within(u64::MAX), within(enough), within(evaluated - 1), within(0));
                assert_eq!(same, (Some(found.clone()), Some(found.clone()), None, None), "{name}");
            }
            assert!(found.candidates.iter().map(|one| one.score).eq(wanted.iter().map(|one| usize::from(one.score))));
        }
    }
}

#[test]
fn one_answer_on_all_devices_for_any_number_of_threads() {
    let points = town(&mut Random(3), 15);
    let scan = seen(&points, 1.0);
    let run = |device: &Device| {
        let target = LevelTarget::new(&grid(&points, device), &LevelTargetParams::default()).unwrap();
        target.search(Rows::from(&scan[..]), &LevelParams::default()).unwrap()
    };
    let one = run(&Device::cpu_with_threads(1).unwrap());
    assert_eq!(one.candidates.len(), 10);
    let off = one.candidates[0].target_from_source.xyzrpy();
    assert!((off[0] - 20.2).abs() < 1.0 && (off[1] - 12.3).abs() < 1.0 && (off[5] - 1.0).abs() < 0.1, "{off:?}");
    for threads in [2, 8] {
        assert_eq!(run(&Device::cpu_with_threads(threads).unwrap()), one);
    }
    for (name, device) in kernel_devices() {
        assert_eq!(run(&device), one, "{name}");
    }
}

#[test]
fn an_origin_and_copies_of_points_change_nothing() {
    let points = town(&mut Random(5), 10);
    let scan = seen(&points, -2.0);
    let own = grid(&points, &Device::cpu());
    let params = LevelTargetParams { region: Some([10.0, 5.0, 30.0, 20.0]), ..LevelTargetParams::default() };
    let here = LevelTarget::new(&own, &params).unwrap();
    let found = here.search(Rows::from(&scan[..]), &LevelParams::default()).unwrap();
    let far = [1e7, -2e6, 100.0];
    let cells = own.read().unwrap();
    let about = NdtGrid::from_cells(cells, own.lattice().about(far), &Device::cpu().stream().unwrap()).unwrap();
    let region = Some([10.0 + far[0], 5.0 + far[1], 30.0 + far[0], 20.0 + far[1]]);
    let there = LevelTarget::new(&about, &LevelTargetParams { region, ..params }).unwrap();
    let twice: Vec<_> = scan.iter().chain(&scan).copied().collect();
    let same = there.search(Rows::from(&twice[..]), &LevelParams { ground: Some(-2.1), ..LevelParams::default() });
    let wanted = here.search(Rows::from(&scan[..]), &LevelParams { ground: Some(-2.1), ..LevelParams::default() });
    let (same, wanted) = (same.unwrap(), wanted.unwrap());
    assert_eq!((same.points, same.places, same.evaluated), (wanted.points, wanted.places, wanted.evaluated));
    for (a, b) in same.candidates.iter().zip(&wanted.candidates) {
        let [p, q] = [a, b].map(|one| one.target_from_source.translation());
        assert!(a.score == b.score && (0..3).all(|k| (p[k] - far[k] - q[k]).abs() < 1e-8));
    }
    assert!(!found.candidates.is_empty());
}

#[test]
fn what_says_nothing_has_no_candidates() {
    let points = town(&mut Random(1), 5);
    let target = LevelTarget::new(&grid(&points, &Device::cpu()), &LevelTargetParams::default()).unwrap();
    let others: Vec<_> = kernel_devices()
        .into_iter()
        .map(|(_, device)| LevelTarget::new(&grid(&points, &device), &LevelTargetParams::default()).unwrap())
        .collect();
    let of = |scan: &[[f64; 3]]| {
        let run = |target: &LevelTarget| target.search(Rows::from(scan), &LevelParams::default()).unwrap();
        let found = run(&target);
        assert!(others.iter().all(|other| run(other) == found));
        found
    };
    for bad in [vec![], vec![[f64::NAN; 3]; 9], vec![[f64::INFINITY; 3]; 9], vec![[1e300; 3]; 9]] {
        assert_eq!((of(&bad).points, of(&bad).candidates), (0, vec![]));
    }
    assert_eq!(of(&[[3.0, 0.0, 1.0]; 500]).points, 1);
    // Far above and below all that is there.
    let high = LevelParams { ground: Some(-1e300), ..LevelParams::default() };
    assert!(target.search(Rows::from(&seen(&points, 0.0)[..]), &high).unwrap().candidates.is_empty());
    for region in [[500.0, 0.0, 600.0, 10.0], [-1e300, -1e300, -1e299, -1e299]] {
        let params = LevelTargetParams { region: Some(region), ..LevelTargetParams::default() };
        let beside = LevelTarget::new(&grid(&points, &Device::cpu()), &params).unwrap();
        assert!(beside.is_empty() && !target.is_empty());
        let found = beside.search(Rows::from(&points[..]), &LevelParams::default()).unwrap();
        assert_eq!((found.candidates, found.places), (vec![], 0));
    }
    let empty = LevelTarget::new(&grid(&[], &Device::cpu()), &LevelTargetParams::default()).unwrap();
    assert!(empty.search(Rows::from(&points[..]), &LevelParams::default()).unwrap().candidates.is_empty());
    // A map of one cell, which is no ground.
    let one: Vec<_> = (0..50)
        .map(|i| [1.0 + 0.01 * f64::from(i % 7), 1.0 + 0.1 * f64::from(i % 5), 0.1 + 0.03 * f64::from(i)])
        .collect();
    let params = LevelTargetParams { ground: false, ..LevelTargetParams::default() };
    let single = LevelTarget::new(&grid(&one, &Device::cpu()), &params).unwrap();
    let found = single.search(Rows::from(&one[..]), &LevelParams::default()).unwrap();
    assert!(found.candidates[0].share > 0.3, "{found:?}");
}

#[test]
fn what_is_out_of_range_is_named() {
    let points = town(&mut Random(1), 5);
    let grid = grid(&points, &Device::cpu());
    let of = |params: LevelTargetParams| LevelTarget::new(&grid, &params).unwrap_err().to_string();
    let default = LevelTargetParams::default;
    assert_eq!(of(LevelTargetParams { step: Some(0.1), ..default() }), "step: expected 0.25 to 2 m, got 0.1");
    assert_eq!(of(LevelTargetParams { range: f64::NAN, ..default() }), "range: expected 1 to 4096 m, got NaN");
    let told = of(LevelTargetParams { region: Some([1.0, 0.0, 0.0, 1.0]), ..default() });
    assert_eq!(
        told,
        "region: expected finite metres x0, y0, x1, y1 with x0 <= x1 and y0 <= y1, got [1.0, 0.0, 0.0, 1.0]"
    );
    let target = LevelTarget::new(&grid, &default()).unwrap();
    let of = |params: LevelParams| target.search(Rows::from(&points[..]), &params).unwrap_err().to_string();
    let default = LevelParams::default;
    for (params, wanted) in [
        (LevelParams { turn: 0.0, ..default() }, "turn: expected 0.001 to 1 rad, got 0"),
        (
            LevelParams { yaw_range: [1.0, 0.0], ..default() },
            "yaw_range: expected two ascending angles within 10 rad, got [1.0, 0.0]",
        ),
        (LevelParams { ground: Some(f64::NAN), ..default() }, "ground: expected finite metres, got NaN"),
        (LevelParams { max_points: 1025, ..default() }, "max_points: expected 1 to 1024, got 1025"),
        (LevelParams { candidates: 0, ..default() }, "candidates: expected at least 1, got 0"),
        (LevelParams { apart_metres: -1.0, ..default() }, "apart_metres: expected a finite number >= 0, got -1"),
    ] {
        assert_eq!(of(params), wanted);
    }
    let flat = target.search(Rows::f32(&[1.0, 2.0], 2).unwrap(), &default()).unwrap_err().to_string();
    assert!(flat.starts_with("source: expected at least 3 columns"), "{flat}");
}
