//! All searches find the same.

use super::super::cpu::{Among, Index, Pairs};
use super::super::params::limit_of;
use super::super::*;
use super::{cloud_of, on_threads};
use crate::testing::{Random, kernel_devices};
use crate::{Device, Rows};
use pointmill_core::icp::nearest::{FARTHEST, squared_distance};
use pointmill_core::rigid::Rigid;
use proptest::prelude::*;

const TREES: [Search; 3] = [Search::Brute, Search::KdTree, Search::Lbvh];

/// The `k` nearest, written down as plainly as can be.
fn plain(points: &[[f32; 3]], q: [f32; 3], k: usize, max_distance: Option<f64>) -> Vec<Neighbour> {
    let limit = max_distance.map_or(f32::MAX, |d| (d * d) as f32).min(f32::MAX);
    let mut all: Vec<Neighbour> = (0..)
        .zip(points)
        .map(|(index, p)| Neighbour { index, distance_squared: squared_distance(q, *p) })
        .filter(|n| n.distance_squared <= limit)
        .collect();
    all.sort_by(|a, b| a.distance_squared.total_cmp(&b.distance_squared).then(a.index.cmp(&b.index)));
    all.truncate(k);
    all
}

fn check(points: &[[f32; 3]], queries: &[[f32; 3]], what: &str) {
    check_of(points, queries, 20, what);
}

fn check_of(points: &[[f32; 3]], queries: &[[f32; 3]], k: usize, what: &str) {
    for max_distance in [None, Some(0.0), Some(0.25), Some(1e30)] {
        let wanted: Vec<Vec<Neighbour>> = queries.iter().map(|q| plain(points, *q, k, max_distance)).collect();
        let searchers = TREES.iter().flat_map(|search| {
            let cpu = super::searcher(points, *search);
            // The twin takes its time; what is between the limits is the same code.
            let some = if matches!(max_distance, None | Some(0.25)) { kernel_devices() } else { Vec::new() };
            let there = some
                .into_iter()
                .map(|(name, device)| (name, *search, super::searcher_on(&device.stream().unwrap(), points, *search)));
            std::iter::once(("cpu", *search, cpu)).chain(there)
        });
        for (device, search, searcher) in searchers {
            assert_eq!(searcher.search(), search);
            let one = searcher.nearest(queries, max_distance).unwrap();
            let first: Vec<Option<Neighbour>> = wanted.iter().map(|w| w.first().copied()).collect();
            assert_eq!(one, first, "{what}: {search:?} on {device} within {max_distance:?}");
            let many = searcher.neighbours(queries, k, max_distance).unwrap();
            assert!(many == wanted, "{what}: {search:?} on {device}, {k} within {max_distance:?}");
        }
    }
}

#[test]
fn searches_equal_a_plain_loop() {
    let mut random = Random(5);
    let mut uniform = |n: usize, size: f32| -> Vec<[f32; 3]> {
        (0..n).map(|_| [0; 3].map(|_| random.between(-size, size))).collect()
    };
    let near = uniform(700, 1.0);
    let queries = uniform(90, 1.5);
    for n in [0, 1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 65, 129, 700] {
        check(&near[..n], &queries, &format!("{n} points"));
    }
    // On a lattice many distances are equal.
    let lattice: Vec<[f32; 3]> = near.iter().map(|p| p.map(|x| (x * 4.0).round() / 4.0)).collect();
    let between: Vec<[f32; 3]> = queries.iter().map(|p| p.map(|x| (x * 8.0).round() / 8.0)).collect();
    check(&lattice, &between, "lattice");
    // Far away the steps of f32 are large.
    let far: Vec<[f32; 3]> = near.iter().map(|p| p.map(|x| x + 40_000.0)).collect();
    let far_queries: Vec<[f32; 3]> = queries.iter().map(|p| p.map(|x| x + 40_000.0)).collect();
    check(&far, &far_queries, "far");
    check(&far, &queries, "far from the queries");
    // Scales from where squares vanish to where they overflow.
    for scale in [1e-25f32, 1e-6, 1e6, 1e18, 1e25] {
        let scaled = |points: &[[f32; 3]]| points.iter().map(|p| p.map(|x| x * scale)).collect::<Vec<_>>();
        check(&scaled(&near), &scaled(&queries), &format!("scale {scale}"));
    }
    let flat: Vec<[f32; 3]> = near.iter().map(|p| [p[0], p[1], 0.5]).collect();
    let line: Vec<[f32; 3]> = near.iter().map(|p| [p[0], 0.5, 0.5]).collect();
    check(&flat, &queries, "flat");
    check(&line, &queries, "line");
    // Zeros of both signs.
    check(&[[0.0, -0.0, 0.0], [-0.0, 0.0, -0.0]], &[[-0.0; 3], [0.0; 3]], "zeros");
}

#[test]
fn copies_and_clouds_that_are_not_finite() {
    let mut points = cloud_of(600, 9);
    points.splice(100..100, vec![[0.0; 3]; 5_000]);
    let queries: Vec<[f32; 3]> = points[..160].iter().map(|p| p.map(|x| x + 0.001)).collect();
    check(&points, &queries, "5,000 copies");
    let mut bad = cloud_of(300, 10);
    for (i, value) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -f32::NAN].into_iter().enumerate() {
        bad[i * 40][i % 3] = value;
        bad[i * 40 + 1] = [value; 3];
    }
    let mut queries = cloud_of(50, 11);
    queries.extend([[f32::NAN, 0.0, 0.0], [f32::INFINITY; 3], [f32::MAX; 3], [-f32::MAX, f32::MAX, 0.0]]);
    check(&bad, &queries, "not finite");
    check(&[[f32::NAN; 3]; 50], &queries, "nothing finite");
    // Codes that differ in their last bits only, so that the tree is as deep as can be.
    let mut deep: Vec<[f32; 3]> =
        (0..63).map(|i| [2f32.powi(-i / 3), 2f32.powi(-(i + 1) / 3), 2f32.powi(-(i + 2) / 3)]).collect();
    deep.extend(vec![[0.0; 3]; 3_000]);
    check(&deep, &queries, "deep");
}

#[test]
fn of_equally_near_points_the_lowest_indices_count() {
    let mut random = Random(21);
    let mut whole = |n: usize, of: u64| -> Vec<[f32; 3]> {
        (0..n).map(|_| [0; 3].map(|_| random.below(of) as f32 - 1.0)).collect()
    };
    let (cubes, few, queries) = (whole(900, 5), whole(700, 2), whole(12, 6));
    let halves: Vec<[f32; 3]> = whole(12, 9).iter().map(|p| p.map(|x| x * 0.5)).collect();
    let zeros: Vec<[f32; 3]> = few.iter().map(|p| p.map(|x| x * 0.0)).collect();
    let ring: Vec<[f32; 3]> = few
        .iter()
        .enumerate()
        .map(|(i, p)| if i % 3 == 0 { [0.0; 3] } else { [p[0] + 5.0, p[1] * 0.1, p[2]] })
        .collect();
    let scaled = |by: f32| -> Vec<[f32; 3]> { cubes.iter().map(|p| p.map(|x| (x + p[0] * 0.1) * by)).collect() };
    let far = |by: f32| -> Vec<[f32; 3]> {
        cubes.iter().enumerate().map(|(i, p)| [p[0] + if i % 2 == 0 { by } else { 0.0 }, p[1] * 0.1, p[2]]).collect()
    };
    let clouds = [
        ("lattice", cubes.clone()),
        ("corners of a cube", few),
        ("one place", vec![[5.0, -1.0, 0.5]; 300]),
        ("zeros of both signs", zeros),
        ("a third at zero", ring),
        ("squares vanish", scaled(1e-30)),
        ("squares are of few kinds", scaled(1e-22)),
        ("half far away", far(1e9)),
        ("half out of sight", far(1e30)),
    ];
    for (what, points) in clouds {
        let mut all = [&queries[..], &halves].concat();
        all.extend(points.iter().step_by(points.len() / 9));
        all.extend([[0.0; 3], [-0.0; 3], [1e-23, 0.0, -1e-23]]);
        for k in [1, 20, 32] {
            check_of(&points, &all, k, what);
        }
    }
}

/// Pairs that are kept from pose to pose because nothing can have changed are those that a search
/// finds, however many points are equally near.
#[test]
fn pairs_that_are_kept_are_those_of_a_search() {
    let cloud = cloud_of(400, 22);
    let twice: Vec<[f32; 3]> = cloud.iter().chain(cloud.iter().rev()).copied().collect();
    let zeros: Vec<[f32; 3]> =
        cloud.iter().enumerate().map(|(i, p)| if i % 3 == 1 { [0.0, -0.0, 0.0] } else { p.map(|x| x + 1.0) }).collect();
    let lattice: Vec<[f32; 3]> = cloud.iter().map(|p| p.map(|x| (x * 3.0).round() / 3.0)).collect();
    let small: Vec<[f32; 3]> = cloud.iter().map(|p| p.map(|x| x * 1e-22)).collect();
    let source: Vec<[f32; 3]> =
        cloud_of(150, 23).into_iter().chain(vec![[0.01, 0.0, -0.01]; 30]).chain(cloud[..20].to_vec()).collect();
    for (what, target) in
        [("alone", &cloud), ("twice", &twice), ("zeros", &zeros), ("lattice", &lattice), ("small", &small)]
    {
        for search in TREES {
            for (limit, step, margin) in
                [(FARTHEST, 1e-4, 0.0), (FARTHEST, 1e-3, 3e-3), (limit_of(Some(0.2)).unwrap(), 1e-3, 0.5)]
            {
                let index = Index::new(target, search).unwrap();
                let mut pairs = Pairs::new(source.len(), limit).unwrap();
                let mut searched = Vec::new();
                for pose in 0..12 {
                    let translation = [step * f64::from(pose), -step * f64::from(pose % 3), 0.0];
                    let pose = Rigid { translation, ..Rigid::IDENTITY };
                    let matched = pairs.update(&source, &Among { pose, target, index: &index, margin });
                    searched.push(matched.searched);
                    for (i, s) in source.iter().enumerate() {
                        let q = pose.apply(s.map(f64::from)).map(|x| x as f32);
                        let wanted = plain(target, q, 1, Some(0.2).filter(|_| limit < FARTHEST))
                            .first()
                            .map(|n| n.index as usize);
                        assert_eq!(pairs.target(i), wanted, "{what} {search:?} at {:?}: {i}", pose.translation);
                    }
                }
                // That points are there twice, or a third of them at one place, does not make it
                // search more.
                if matches!(what, "alone" | "twice" | "zeros") {
                    let all: usize = searched[1..].iter().sum();
                    assert!(all < 11 * source.len() / 4, "{what} {search:?} {margin}: {searched:?}");
                }
            }
        }
    }
}

#[test]
fn threads_do_not_matter() {
    let (points, queries) = (cloud_of(20_000, 1), cloud_of(5_000, 2));
    let all = |search| {
        let searcher = super::searcher(&points, search);
        (searcher.nearest(&queries, None).unwrap(), searcher.neighbours(&queries[..500], 32, None).unwrap())
    };
    let wanted = on_threads(1, || all(Search::Brute));
    for threads in [1, 2, 3, 16] {
        for search in [Search::Auto, Search::KdTree, Search::Lbvh] {
            assert!(on_threads(threads, || all(search)) == wanted, "{search:?} on {threads}");
        }
    }
}

#[test]
fn searchers_refuse_what_makes_no_sense() {
    let searcher = super::searcher(&[[0.0; 3]; 3], Search::Auto);
    assert_eq!((searcher.len(), searcher.is_empty(), searcher.search()), (3, false, Search::KdTree));
    assert!(super::searcher(&[], Search::Lbvh).is_empty());
    let told = |k, d| searcher.neighbours(&[[0.0; 3]], k, d).unwrap_err().to_string();
    assert_eq!(told(0, None), "k: expected 1 to 65536, got 0");
    assert_eq!(told(65537, None), "k: expected 1 to 65536, got 65537");
    assert_eq!(told(1, Some(-1.0)), "max_distance: expected 0 m or more, got -1");
    assert_eq!(told(1, Some(f64::NAN)), "max_distance: expected 0 m or more, got NaN");
}

/// Everything within the radius, and more neighbours than a fixed list holds: as a plain loop finds
/// them, with copies, points that are not finite and points at the radius.
#[test]
fn lists_of_any_length_equal_a_plain_loop() {
    let mut random = Random(11);
    let mut points: Vec<[f32; 3]> = (0..900).map(|_| [0; 3].map(|_| random.between(-2.0, 2.0))).collect();
    // A lattice with many pairs at a distance of exactly 0.5, twice, and what has no place.
    let lattice = (0..216u8).map(|i| [i % 6, i / 6 % 6, i / 36].map(|x| f32::from(x) * 0.5 - 1.0));
    let lattice: Vec<[f32; 3]> = lattice.collect();
    points.extend(lattice.iter().chain(&lattice));
    points.extend([[f32::NAN, 0.0, 0.0], [f32::INFINITY; 3], [1e30, 0.0, 0.0]]);
    let mut queries: Vec<[f32; 3]> = points.iter().step_by(17).copied().collect();
    queries.extend([[f32::NAN; 3], [9.0, 9.0, 9.0], [1e30, 0.0, 0.0]]);
    for search in TREES {
        let searcher = super::searcher(&points, search);
        for (radius, most) in
            [(0.0, None), (0.5, None), (0.5, Some(3)), (1.1, Some(64)), (f64::INFINITY, Some(40)), (1e29, None)]
        {
            let found = searcher.radius_search(&queries, radius, most).unwrap();
            let (mut row_splits, mut wanted) = (vec![0], Vec::new());
            for q in &queries {
                wanted.extend(plain(&points, *q, most.unwrap_or(usize::MAX), Some(radius)));
                row_splits.push(wanted.len());
            }
            assert!(found.neighbours == wanted && found.row_splits == row_splits, "{search:?}, {radius}, {most:?}");
            let again = on_threads(3, || searcher.radius_search(&queries, radius, most).unwrap());
            assert!(again == found, "{search:?}, {radius}, {most:?} on three threads");
        }
        for k in [33, 200, 1024, 5000] {
            let wanted: Vec<_> = queries.iter().map(|q| plain(&points, *q, k, None)).collect();
            assert!(searcher.neighbours(&queries, k, None).unwrap() == wanted, "{search:?}, {k} nearest");
        }
    }
    let empty = super::searcher(&[], Search::Auto).radius_search(&[[0.0; 3]; 2], 1.0, None).unwrap();
    assert_eq!((empty.row_splits, empty.neighbours.len()), (vec![0, 0, 0], 0));
    let searcher = super::searcher(&points, Search::Auto);
    let told = |radius, most| searcher.radius_search(&[[0.0; 3]], radius, most).unwrap_err().to_string();
    assert_eq!(told(-1.0, None), "radius: expected 0 m or more, got -1");
    assert_eq!(told(f64::NAN, None), "radius: expected 0 m or more, got NaN");
    assert_eq!(told(1.0, Some(0)), "max_results: expected 1 or more, or None for all points, got 0");
}

/// Points far from zero in `f64` have the neighbours that they have near zero, and points about an
/// origin are those of their local coordinates.
#[test]
fn large_coordinates_keep_their_neighbours() {
    let local: Vec<[f32; 3]> = cloud_of(400, 3);
    let origin = [4_500_000.0, 600_000.0, 100.0];
    let there: Vec<[f64; 3]> = local.iter().map(|p| [0, 1, 2].map(|i| f64::from(p[i]) + origin[i])).collect();
    let stream = Device::cpu().stream().unwrap();
    let near = super::searcher(&local, Search::Auto);
    let about = Rows::f32(local.as_flattened(), 3).unwrap().about(origin).unwrap();
    let about = Searcher::new(&stream, about, Search::Auto).unwrap();
    assert_eq!((about.centre(), about.points()), (origin, near.points()));
    let far = Searcher::new(&stream, &there[..], Search::Auto).unwrap();
    let of = |searcher: &Searcher| -> Vec<Vec<u32>> {
        let queries = searcher.relative(&there).unwrap();
        let lists = searcher.neighbours(&queries, 8, None).unwrap();
        lists.iter().map(|list| list.iter().map(|n| n.index).collect()).collect()
    };
    let wanted: Vec<Vec<u32>> =
        near.neighbours(&local, 8, None).unwrap().iter().map(|list| list.iter().map(|n| n.index).collect()).collect();
    let same = |lists: &[Vec<u32>]| lists.iter().zip(&wanted).filter(|(a, b)| a == b).count();
    // But for the last bits of distances, which may turn two that are almost equal.
    assert!(same(&of(&about)) >= 396 && same(&of(&far)) >= 396, "{} {}", same(&of(&about)), same(&of(&far)));
    // Cast to f32 where they are, these points lie on a lattice of half a metre.
    let cast: Vec<[f32; 3]> = there.iter().map(|p| p.map(|x| x as f32)).collect();
    let coarse = super::searcher(&cast, Search::Auto);
    assert!(same(&of(&coarse)) < 200);
    let mut reused = super::searcher(&local, Search::Lbvh);
    reused.update(&there[..]).unwrap();
    assert_eq!((reused.centre(), of(&reused)), (far.centre(), of(&far)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_points_and_queries(
        points in prop::collection::vec(prop::array::uniform3(prop::num::f32::ANY), 0..120), whole in prop::collection::vec(prop::array::uniform3(-4i8..4), 0..200),
        queries in prop::collection::vec(prop::array::uniform3(-5i8..5), 1..20), odd in prop::array::uniform3(prop::num::f32::ANY)
    ) {
        let points: Vec<[f32; 3]> = points.into_iter().chain(whole.iter().map(|p| p.map(f32::from))).collect();
        let mut queries: Vec<[f32; 3]> = queries.iter().map(|p| p.map(|x| f32::from(x) * 0.5)).collect();
        queries.push(odd);
        check(&points, &queries, "any");
    }
}
