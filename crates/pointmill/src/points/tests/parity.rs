//! Every device gives what plain loops over all points give.

use crate::points::{
    BallParams, BallPick, BallQuery, Fill, FurthestParams, FurthestSampler, Knn, KnnParams, Start,
    furthest_point_sample, knn,
};
use crate::testing::{Random, devices};
use crate::{Device, Rows};
use pointmill_core::points::{in_ball, squared_distance};

type Point = [f32; 3];

/// Points on a coarse grid, so that distances are equal often, with copies and some that are not finite.
fn cloud(random: &mut Random, n: usize) -> Vec<Point> {
    (0..n)
        .map(|_| match random.below(30) {
            0 => [f32::NAN, 0.0, 1.0],
            1 => [0.0, f32::NEG_INFINITY, 1.0],
            2 => [3.0, 3.0, 3.0],
            3..=9 => [0; 3].map(|_| random.between(-8.0, 8.0)),
            _ => [0; 3].map(|_| random.below(17) as f32 * 0.5 - 4.0),
        })
        .collect()
}

fn is_finite(p: Point) -> bool {
    p.iter().all(|c| c.is_finite())
}

/// By the definition: of all points the one with the largest distance from the nearest sample.
fn furthest(points: &[Point], features: Option<&[[f32; 2]]>, first: usize, number: usize) -> Vec<i32> {
    let can_be = |i: usize| is_finite(points[i]) && features.is_none_or(|f| f[i].iter().all(|f| f.is_finite()));
    let distance = |i: usize, j: usize| {
        let mut sum = squared_distance(points[i], points[j]);
        for k in 0..features.map_or(0, |_| 2) {
            let away = features.map_or(0.0, |f| f[i][k] - f[j][k]);
            sum += away * away;
        }
        sum
    };
    let mut nearest: Vec<f32> = (0..points.len()).map(|i| if can_be(i) { f32::INFINITY } else { -1.0 }).collect();
    let Some(mut taken) = (0..points.len()).find(|&i| can_be(i)) else { return vec![-1; number] };
    let mut rows = Vec::new();
    for _ in 0..number {
        rows.push((first + taken) as i32);
        for (i, near) in nearest.iter_mut().enumerate() {
            let d = distance(i, taken);
            if d < *near {
                *near = d;
            }
        }
        let most = nearest.iter().copied().fold(-1.0, f32::max);
        taken = nearest.iter().position(|near| *near == most).unwrap();
    }
    rows
}

const SPLITS: [usize; 5] = [0, 0, 33, 700, 1000];

#[test]
fn samples_are_the_furthest_points() {
    let mut random = Random(3);
    let points = cloud(&mut random, 1000);
    let features: Vec<[f32; 2]> =
        (0..1000).map(|i| [random.below(3) as f32, if i % 50 == 7 { f32::NAN } else { 0.5 }]).collect();
    let samples = [0, 3, 3, 120, 180];
    for (name, device) in devices() {
        let stream = device.stream().unwrap();
        let mut sampler =
            FurthestSampler::new(&stream, &FurthestParams { number: 40, ..FurthestParams::default() }).unwrap();
        let mut out = sampler.output().unwrap();
        for features in [None, Some(&features[..])] {
            for to in [None, Some(&samples[..])] {
                let rows = features.map(|features| Rows::new(features.as_flattened(), 2).unwrap());
                sampler.run(&points[..], rows, [Some(&SPLITS), to], &mut out).unwrap();
                let mut want = Vec::new();
                for item in 0..4 {
                    let span = SPLITS[item]..SPLITS[item + 1];
                    let number = to.map_or(40, |to| to[item + 1] - to[item]);
                    let features = features.map(|features| &features[span.clone()]);
                    want.extend(furthest(&points[span.clone()], features, span.start, number));
                }
                assert_eq!(out.read().unwrap().rows, want, "{name}");
            }
        }
    }
}

#[test]
fn sampling_starts_nearest_to_the_mean() {
    let points = [[9.0, 0.0, 0.0], [f32::NAN; 3], [1.0, 0.0, 0.0], [5.0, 1.0, 0.0], [5.0, -1.0, 0.0]];
    for (name, device) in devices() {
        let params = FurthestParams { number: 3, start: Start::NearestToMean };
        let rows = furthest_point_sample(&points, &params, &device).unwrap().read().unwrap().rows;
        assert_eq!(rows, [3, 0, 2], "{name}");
    }
}

#[test]
fn balls_and_neighbours_are_those_of_plain_loops() {
    let mut random = Random(4);
    let (points, centres) = (cloud(&mut random, 1000), cloud(&mut random, 200));
    let of_centres = [0, 20, 21, 140, 200];
    let item = |i: usize| of_centres.partition_point(|split| *split <= i) - 1;
    for (name, device) in devices() {
        let stream = device.stream().unwrap();
        for most in [1, 7, 32, 33, 256] {
            let mut knn = Knn::new(&stream, &KnnParams { k: most }).unwrap();
            let mut near = knn.output().unwrap();
            knn.run(&points[..], &centres[..], [Some(&SPLITS), Some(&of_centres)], &mut near).unwrap();
            let near = near.read().unwrap();
            for (i, centre) in centres.iter().enumerate() {
                let span = SPLITS[item(i)]..SPLITS[item(i) + 1];
                let mut want: Vec<(f32, i32)> = span
                    .filter(|&j| is_finite(points[j]))
                    .map(|j| (squared_distance(points[j], *centre), j as i32))
                    .collect();
                want.retain(|(d, _)| !d.is_nan() && is_finite(*centre));
                want.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                want.resize(most as usize, (f32::INFINITY, -1));
                let at = i * most as usize..(i + 1) * most as usize;
                let got: Vec<_> =
                    near.squared_distances[at.clone()].iter().copied().zip(near.rows[at].iter().copied()).collect();
                assert_eq!(got, want, "{most} of {i} on {name}");
            }
            for (pick, fill) in
                [(BallPick::First, Fill::First), (BallPick::First, Fill::None), (BallPick::Nearest, Fill::First)]
            {
                for (radius, min_radius) in [(0.5, 0.0), (2.0, 1.0), (30.0, 0.0)] {
                    let params = BallParams { radius, min_radius, most, pick, fill };
                    let mut query = BallQuery::new(&stream, &params).unwrap();
                    let mut balls = query.output().unwrap();
                    query.run(&points[..], &centres[..], [Some(&SPLITS), Some(&of_centres)], &mut balls).unwrap();
                    let balls = balls.read().unwrap();
                    for (i, centre) in centres.iter().enumerate() {
                        let away = |j: usize| squared_distance(points[j], *centre);
                        let span = SPLITS[item(i)]..SPLITS[item(i) + 1];
                        let holds = |d: f32| in_ball(d, min_radius * min_radius, radius * radius);
                        let mut want: Vec<usize> = span.filter(|&j| holds(away(j))).collect();
                        if pick == BallPick::Nearest {
                            want.sort_by(|a, b| away(*a).total_cmp(&away(*b)).then(a.cmp(b)));
                        }
                        want.truncate(most as usize);
                        let mut want: Vec<i32> = want.into_iter().map(|row| row as i32).collect();
                        assert_eq!(balls.num_points[i] as usize, want.len(), "{params:?} of {i} on {name}");
                        let behind = if fill == Fill::First { want.first().copied().unwrap_or(-1) } else { -1 };
                        want.resize(most as usize, behind);
                        let at = i * most as usize..(i + 1) * most as usize;
                        assert_eq!(balls.rows[at], want, "{params:?} of {i} on {name}");
                    }
                }
            }
        }
    }
}

/// Nothing, and items with nothing, are inputs too.
#[test]
fn nothing_is_near_nothing() {
    let none: &[Point] = &[];
    for (name, device) in devices() {
        let stream = device.stream().unwrap();
        let mut knn = Knn::new(&stream, &KnnParams { k: 2 }).unwrap();
        let mut near = knn.output().unwrap();
        knn.run(none, &[[0.0f32; 3]], [None; 2], &mut near).unwrap();
        assert_eq!(near.read().unwrap().rows, [-1, -1], "{name}");
        knn.run(&[[0.0f32; 3]], none, [None; 2], &mut near).unwrap();
        assert!(near.read().unwrap().rows.is_empty(), "{name}");
        let params = FurthestParams { number: 2, ..FurthestParams::default() };
        assert_eq!(furthest_point_sample(none, &params, &device).unwrap().read().unwrap().rows, [-1, -1], "{name}");
    }
}

/// Coordinates whose distances are beyond all numbers do not lose points.
#[test]
fn distances_may_be_infinite() {
    let points = [[3e38f32, 0.0, 0.0], [-3e38, 0.0, 0.0], [0.0, 0.0, 0.0]];
    let params = FurthestParams { number: 4, ..FurthestParams::default() };
    let want = furthest_point_sample(&points, &params, &Device::cpu()).unwrap().read().unwrap().rows;
    assert_eq!(want, furthest(&points, None, 0, 4));
    for (name, device) in devices() {
        let got = furthest_point_sample(&points, &params, &device).unwrap().read().unwrap().rows;
        assert_eq!(got, want, "{name}");
    }
    // More than a leaf of a tree, and an item that has fewer than are asked for.
    let points: Vec<Point> = (0..27).map(|i| points[i % 3]).collect();
    for k in [5, 20, 32, 40] {
        let mut want: Vec<(f32, i32)> = (0..27).map(|i| (squared_distance(points[i], points[0]), i as i32)).collect();
        want.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        want.resize(k as usize, (f32::INFINITY, -1));
        for (name, device) in devices() {
            let near = knn(&points[..], &points[..1], &KnnParams { k }, &device).unwrap().read().unwrap();
            assert_eq!(near.rows, want.iter().map(|(_, row)| *row).collect::<Vec<_>>(), "{k} on {name}");
            assert!(near.squared_distances.iter().eq(want.iter().map(|(d, _)| d)), "{k} on {name}");
        }
    }
}
