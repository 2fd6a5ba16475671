//! How much of a cloud searches look at: the numbers of docs/icp.md.

use super::super::search::{Looks, Scratch};
use super::super::*;
use crate::{Coordinates, PointCloud};
use pointmill_core::icp::keep::{Keep, Nearest};
use pointmill_core::icp::nearest::FARTHEST;
use pointmill_synth::RabbitScans;

/// The nearest point, and what was looked at on the way.
struct Counting {
    nearest: Nearest,
    boxes: usize,
    points: usize,
}

impl Keep for Counting {
    fn reach(&self) -> f32 {
        self.nearest.reach()
    }

    fn offer(&mut self, key: u64) {
        self.nearest.offer(key);
    }

    fn pass(&mut self, bound: f32) {
        self.nearest.pass(bound);
    }
}

impl Looks for Counting {
    fn boxes(&mut self, n: usize) {
        self.boxes += n;
    }

    fn points(&mut self, n: usize) {
        self.points += n;
    }
}

/// Boxes and points that a query without any knowledge looks at, in the mean.
fn visits(searcher: &Searcher, queries: &[[f32; 3]]) -> [f64; 2] {
    let mut scratch = Scratch::default();
    let mut all = [0; 2];
    for q in queries {
        let mut counting = Counting { nearest: Nearest::below(FARTHEST, 0.0), boxes: 0, points: 0 };
        searcher.find(*q, &mut counting, &mut scratch);
        (all[0], all[1]) = (all[0] + counting.boxes, all[1] + counting.points);
    }
    all.map(|n| n as f64 / queries.len() as f64)
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
    let of = |search, queries: &[[f32; 3]]| visits(&Searcher::new(&target, search).unwrap(), queries);
    // Brute force looks at all points, in groups of 16.
    assert_eq!(of(Search::Brute, &aligned[..10]), [0.0, target.len().next_multiple_of(16) as f64]);
    for (search, queries, wanted) in [
        (Search::KdTree, &aligned, [31.36, 12.99]),
        (Search::KdTree, &source, [67.32, 50.85]),
        (Search::Lbvh, &aligned, [30.93, 9.75]),
        (Search::Lbvh, &source, [64.61, 43.12]),
    ] {
        let got = of(search, queries);
        assert!((0..2).all(|k| (got[k] - wanted[k]).abs() < 0.01), "{search:?}: {got:?}");
    }
    // And not for every point: what is proved to have kept its neighbour is not searched for.
    let [source, target] = [&scans.source, &scans.target].map(|cloud| Coordinates::f32(cloud.data(), 3).unwrap());
    let found = align(source, target, &IcpParams::default()).unwrap();
    let searched: Vec<f64> = found.trace.iter().map(|look| look.searched as f64 / source.len() as f64).collect();
    assert!(searched.len() == 17 && searched[0] == 1.0 && searched[7] < 0.5 && searched[16] < 0.001, "{searched:?}");
}
