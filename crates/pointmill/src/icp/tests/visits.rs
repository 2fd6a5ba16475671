//! How much of a cloud searches look at: the numbers of docs/icp.md.

use super::super::cpu::{Crowd, Index, Looks, Scratch, Several};
use super::super::*;
use super::{align, cloud_of};
use crate::testing::Random;
use crate::{Device, PointCloud, Pose, Rows};
use pointmill_core::icp::nearest::FARTHEST;
use pointmill_core::icp::neighbour_set::{Nearest, NearestAndOthers, NeighbourSet};
use pointmill_kernels::simt::twin::take_looks;
use pointmill_synth::RabbitScans;

/// Ways to search.
const WAYS: usize = 6;
const TREES: [Search; 2] = [Search::KdTree, Search::Lbvh];

/// What a search keeps, and what it looked at on the way.
struct Counting<K> {
    keep: K,
    boxes: usize,
    points: usize,
}

impl<K: NeighbourSet> NeighbourSet for Counting<K> {
    fn max_distance(&self) -> f32 {
        self.keep.max_distance()
    }

    fn insert(&mut self, key: u64) {
        self.keep.insert(key);
    }

    fn prune(&mut self, bound: f32) {
        self.keep.prune(bound);
    }

    fn should_visit(&mut self, bound: f32, lowest: u32, one_place: impl FnOnce() -> bool) -> bool {
        self.keep.should_visit(bound, lowest, one_place)
    }
}

impl<K: NeighbourSet> Looks for Counting<K> {
    fn boxes(&mut self, n: usize) {
        self.boxes += n;
    }

    fn points(&mut self, n: usize) {
        self.points += n;
    }
}

/// Boxes and points that queries look at, in the mean.
fn visits_of<K: NeighbourSet>(searcher: &Index, queries: &[[f32; 3]], keep: impl Fn() -> K) -> [f64; 2] {
    let mut scratch = Scratch::default();
    let mut all = [0; 2];
    for q in queries {
        let mut counting = Counting { keep: keep(), boxes: 0, points: 0 };
        searcher.find(*q, &mut counting, &mut scratch);
        (all[0], all[1]) = (all[0] + counting.boxes, all[1] + counting.points);
    }
    all.map(|n| n as f64 / queries.len() as f64)
}

/// Boxes and points that a query without any knowledge looks at, in the mean.
fn visits(searcher: &Index, queries: &[[f32; 3]]) -> [f64; 2] {
    visits_of(searcher, queries, || Nearest::below(FARTHEST))
}

/// Boxes and points together of each way to search: the nearest; with how far others are; the same,
/// looking farther; 20 and 32 nearest; 20 nearest as normals search for them.
fn each_way(points: &[[f32; 3]], search: Search, queries: &[[f32; 3]]) -> [f64; WAYS] {
    let searcher = Index::new(points, search).unwrap();
    let place = |i: u32| points[i as usize];
    let all = [
        visits(&searcher, queries),
        visits_of(&searcher, queries, || NearestAndOthers::below(FARTHEST, 0.0, place)),
        visits_of(&searcher, queries, || NearestAndOthers::below(FARTHEST, 0.05, place)),
        visits_of(&searcher, queries, || Several::below(FARTHEST, 20)),
        visits_of(&searcher, queries, || Several::below(FARTHEST, 32)),
        visits_of(&searcher, queries, || Crowd::below(FARTHEST, 20)),
    ];
    all.map(|[boxes, points]| boxes + points)
}

/// `points` with zeros put between them, so that every `of`th is one.
fn with_zeros(points: &[[f32; 3]], of: usize) -> Vec<[f32; 3]> {
    let mut all = Vec::new();
    for part in points.chunks(of - 1) {
        all.push([0.0; 3]);
        all.extend(part);
    }
    all
}

#[test]
fn trees_look_at_a_thousandth_of_the_points() {
    let scans = RabbitScans::new(0);
    let points = |cloud: &PointCloud| cloud.points().iter_xyz().collect::<Vec<_>>();
    let (source, target) = (points(&scans.source), points(&scans.target));
    let pose = scans.target_from_source;
    let aligned: Vec<[f32; 3]> = source
        .iter()
        .map(|p| [0, 1, 2].map(|i| (pose[i][3] + (0..3).map(|k| pose[i][k] * f64::from(p[k])).sum::<f64>()) as f32))
        .collect();
    let of = |search, queries: &[[f32; 3]]| visits(&Index::new(&target, search).unwrap(), queries);
    // Brute force looks at all points, in groups of 16.
    assert_eq!(of(Search::Brute, &aligned[..10]), [0.0, target.len().next_multiple_of(16) as f64]);
    let got = TREES.map(|search| [of(search, &aligned), of(search, &source)]);
    let wanted = [[[30.68, 11.99], [66.08, 48.64]], [[30.93, 9.75], [64.61, 43.12]]];
    let close = |got: &[f64; 2], wanted: &[f64; 2]| (0..2).all(|k| (got[k] - wanted[k]).abs() < 0.01);
    assert!(got.as_flattened().iter().zip(wanted.as_flattened()).all(|(got, wanted)| close(got, wanted)), "{got:?}");
    // And not for every point: what is proved to have kept its neighbour is not searched for.
    let [source, target] = [&scans.source, &scans.target].map(|cloud| Rows::f32(cloud.data(), 3).unwrap());
    let found = align(source, target, &IcpParams::default()).unwrap();
    let searched: Vec<f64> = found.fit.trace.iter().map(|look| look.searched as f64 / source.len() as f64).collect();
    assert!(searched.len() == 17 && searched[0] == 1.0 && searched[7] < 0.5 && searched[16] < 0.001, "{searched:?}");
}

#[test]
fn copies_are_hardly_looked_at() {
    // A ring around a sensor, which returns zero where nothing came back.
    let mut random = Random(3);
    let mut ring = |n: usize| -> Vec<[f32; 3]> {
        let place = |random: &mut Random| {
            let (far, turn) = (random.between(2.0, 40.0), random.between(0.0, 6.3));
            [far * turn.cos(), far * turn.sin(), random.between(-1.7, 0.3)]
        };
        (0..n).map(|_| place(&mut random)).collect()
    };
    let (points, near) = (ring(20_000), ring(300));
    let beside: Vec<[f32; 3]> = (0..300).map(|i| [0.001 * i as f32, 0.02, -0.01]).collect();
    for search in TREES {
        let without = each_way(&points, search, &near);
        for of in [2, 3, 14] {
            let zeros = with_zeros(&points, of);
            let with = each_way(&zeros, search, &near);
            assert!(
                (0..WAYS).all(|k| with[k] < 1.15 * without[k]),
                "{search:?}, one of {of}: {with:?} and {without:?}"
            );
            // Queries at the zeros and beside them come to the few parts that have zeros at a
            // corner; four times as many zeros make these a little deeper.
            let fewer = with_zeros(&points[..points.len() / 4], of);
            for queries in [&vec![[0.0; 3]; 9], &vec![[-0.0, 0.0, -0.0]; 9], &beside] {
                let (few, many) = (each_way(&fewer, search, queries), each_way(&zeros, search, queries));
                assert!(
                    (0..WAYS).all(|k| many[k] < 2.0 * few[k] + 16.0),
                    "{search:?}, one of {of}: {many:?} and {few:?}"
                );
                assert!(many.iter().all(|n| *n < 600.0), "{search:?}, one of {of}: {many:?}");
            }
        }
        // Every point twice: two are nearest, and no other is nearer than without the copies.
        let twice: Vec<[f32; 3]> = points.iter().chain(&points).copied().collect();
        let with = each_way(&twice, search, &near);
        assert!((0..WAYS).all(|k| with[k] < 1.6 * without[k]), "{search:?}, twice: {with:?} and {without:?}");
    }
}

#[test]
fn ties_cost_no_more_where_there_are_more_of_them() {
    let scaled = |n: usize, by: f32| -> Vec<[f32; 3]> { cloud_of(n, 5).iter().map(|p| p.map(|x| x * by)).collect() };
    let places = cloud_of(64, 6);
    let of_kind = |kind: usize, n: usize| -> Vec<[f32; 3]> {
        match kind {
            0 => vec![[5.0; 3]; n],
            1 => (0..n).map(|i| [[0.0, -0.0, 1.0][i % 3], 0.0, -0.0]).collect(),
            2 => (0..n).map(|i| places[i * 7919 % 64]).collect(),
            // Squares of distances vanish, or are one of a few numbers.
            3 => scaled(n, 1e-30),
            4 => scaled(n, 1e-22),
            _ => (0..n).map(|i| [2f32.powi(-((i % 140) as i32)), 3f32.powi(-((i % 80) as i32)), 0.0]).collect(),
        }
    };
    for kind in 0..6 {
        for search in TREES {
            let looked_at = [10_000, 20_000, 40_000].map(|n| {
                let points = of_kind(kind, n);
                let some: Vec<[f32; 3]> =
                    (0..50).map(|i| points[i * n / 50]).chain([[0.0; 3], [0.1, 0.2, 0.3]]).collect();
                each_way(&points, search, &some)
            });
            // Trees are two levels deeper over four times as many points.
            let most = |k: usize| 2.5 * looked_at[0][k] + 16.0;
            assert!((0..WAYS).all(|k| looked_at[2][k] <= most(k)), "{kind} {search:?}: {looked_at:?}");
            // Of points that are all equally near, the 32 lowest indices are anywhere.
            let most = if kind < 3 { 400.0 } else { 4_000.0 };
            assert!(looked_at[2].iter().all(|n| *n < most), "{kind} {search:?}: {looked_at:?}");
        }
    }
}

#[test]
fn points_far_away_leave_the_others_apart() {
    let street = |n, seed| cloud_of(n, seed).iter().map(|p| [30.0 * p[0], 30.0 * p[1], 3.0 * p[2]]).collect::<Vec<_>>();
    let queries = street(200, 8);
    let with = |points: &[[f32; 3]], far: &[[f32; 3]]| [points, far].concat();
    let half = |points: &[[f32; 3]], by: f32| points.iter().flat_map(|p| [*p, [p[0] + by, p[1], p[2]]]).collect();
    let scaled = |points: &[[f32; 3]], by: f32| points.iter().map(|p| p.map(|x| x * by)).collect::<Vec<_>>();
    let of_kind = |kind: usize, points: &[[f32; 3]]| -> Vec<[f32; 3]> {
        match kind {
            0 => points.to_vec(),
            1 => with(points, &[[1e6, 0.0, 0.0]]),
            2 => with(points, &[[0.0, 1e17, 0.0]]),
            3 => with(points, &[[1e12, 0.0, 0.0], [0.0, -1e12, 0.0], [0.0, 0.0, 1e12]]),
            4 => with(points, &[[1e7, 0.0, 0.0], [0.0, 1e10, 0.0], [0.0, 0.0, -1e14], [1e17, 1e17, 1e17]]),
            5 => with(points, &[[1e38, 0.0, 0.0], [-3e38, 3e38, 1e38], [3e38, 0.0, -3e38]]),
            6 => half(points, 1e5),
            7 => half(points, 1e9),
            8 => half(points, 1e20),
            _ => scaled(points, 1e-18),
        }
    };
    let looked_at = |kind| {
        let queries = if kind == 9 { scaled(&queries, 1e-18) } else { queries.clone() };
        [5_000, 20_000].map(|n| each_way(&of_kind(kind, &street(n, 7)), Search::Lbvh, &queries))
    };
    let without = looked_at(0);
    for kind in 1..10 {
        let with = looked_at(kind);
        for k in 0..WAYS {
            assert!(with[1][k] < 8.0 * without[1][k], "{kind}: {with:?} and {without:?}");
            assert!(with[1][k] / with[0][k] < 1.5 * without[1][k] / without[0][k], "{kind}: {with:?} and {without:?}");
        }
    }
}

/// What queries look at on the twin in the mean: of the nearest, and of 20.
fn looks_of_kernels(points: &[[f32; 3]], search: Search, queries: &[[f32; 3]]) -> [f64; 2] {
    let searcher = super::searcher_on(&Device::twin().stream().unwrap(), points, search);
    let looks = |f: &dyn Fn()| {
        take_looks();
        f();
        take_looks() as f64 / queries.len() as f64
    };
    [
        looks(&|| drop(searcher.nearest(queries, None).unwrap())),
        looks(&|| drop(searcher.neighbours(queries, 20, None).unwrap())),
    ]
}

#[test]
fn kernels_look_at_few_copies_and_do_not_mind_points_far_away() {
    let points = cloud_of(2_000, 9);
    let near = cloud_of(60, 10);
    for search in TREES {
        let without = looks_of_kernels(&points, search, &near);
        let zeros = with_zeros(&points, 2);
        for queries in [&near, &vec![[0.0; 3]; 9], &vec![[0.003, -0.0, 0.001]; 9]] {
            let with = looks_of_kernels(&zeros, search, queries);
            assert!((0..2).all(|k| with[k] < 4.0 * without[k]), "{search:?}: {with:?} and {without:?}");
        }
        for far in [[1e7, 0.0, 0.0], [-1e17, 1e12, 0.0], [1e38, -3e38, 0.0]] {
            let points: Vec<[f32; 3]> = points.iter().copied().chain([far]).collect();
            let with = looks_of_kernels(&points, search, &near);
            assert!((0..2).all(|k| with[k] < 6.0 * without[k]), "{search:?} {far:?}: {with:?} and {without:?}");
        }
        let equal = [500, 4_000].map(|n| looks_of_kernels(&vec![[5.0; 3]; n], search, &[[5.0; 3], [4.0, 5.0, 5.0]]));
        // Three levels more.
        assert!((0..2).all(|k| equal[1][k] <= equal[0][k] + 3.0 * 2.0), "{search:?}: {equal:?}");
        let small = [500, 4_000].map(|n| {
            let points: Vec<[f32; 3]> = cloud_of(n, 11).iter().map(|p| p.map(|x| x * 1e-30)).collect();
            looks_of_kernels(&points, search, &[[0.0; 3], points[7]])
        });
        // The 20 lowest indices are anywhere: of eight times as many points less than four times as
        // many are looked at.
        assert!((0..2).all(|k| small[1][k] <= 4.0 * small[0][k]), "{search:?}: {small:?}");
    }
    // An alignment, normals and all.
    let looks = |points: &[[f32; 3]]| {
        let params = IcpParams { metric: Metric::Gicp, max_iterations: 2, ..IcpParams::default() };
        let mut aligner = Aligner::new(&Device::twin().stream().unwrap(), &params).unwrap();
        let cloud = Rows::f32(points.as_flattened(), 3).unwrap();
        take_looks();
        aligner.align(cloud, cloud, &Pose::IDENTITY).unwrap();
        take_looks() as f64
    };
    let (without, with) = (looks(&points), looks(&with_zeros(&points, 3)));
    assert!(with < 1.5 * without, "{with} and {without}");
}
