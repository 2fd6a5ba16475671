//! Nearest neighbours by every search against a loop over all points; an alignment ends and says how.
use crate::{Draw, cpu};
use pointmill::icp::{IcpParams, Search, Searcher, align};
use pointmill::{Pose, Rows};

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    let limit = [None, Some(1.0), Some(f64::from(draw.value().abs()))][draw.below(3)].filter(|d: &f64| !d.is_nan());
    let k = 1 + draw.below(6);
    let cut = draw.byte() as usize;
    let data = draw.rows(3, 200);
    let rows: Vec<[f32; 3]> = data.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect();
    let (queries, points) = rows.split_at(cut % (rows.len() + 1));

    let square = |a: [f32; 3], b: [f32; 3]| {
        let d: [f32; 3] = std::array::from_fn(|axis| a[axis] - b[axis]);
        d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    };
    let most = limit.map_or(f32::INFINITY, |d| (d * d) as f32);
    let naive = |q: [f32; 3]| {
        let finite = |p: &[f32; 3]| p.iter().all(|v| v.is_finite());
        let near = (0u32..).zip(points).filter(|(_, p)| finite(p) && finite(&q)).map(|(i, p)| (square(q, *p), i));
        // A square that overflows is no distance.
        let mut near: Vec<_> = near.filter(|(d, _)| *d < f32::INFINITY && *d <= most).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near
    };
    let flat = |rows: &[[f32; 3]]| rows.concat();
    let (source, target) = (flat(queries), flat(points));
    let cloud = |rows| Rows::f32(rows, 3).expect("whole rows");
    let stream = cpu(false).stream().expect("the CPU");
    for search in [Search::Brute, Search::KdTree, Search::Lbvh] {
        let searcher = Searcher::new(&stream, cloud(&target), search).expect("few points");
        let one = searcher.nearest(queries, limit).expect("a distance");
        let several = searcher.neighbours(queries, k, limit).expect("a distance");
        for (i, &q) in queries.iter().enumerate() {
            let wanted = naive(q);
            assert_eq!(one[i].map(|n| (n.distance_squared, n.index)), wanted.first().copied(), "{search:?}");
            let found: Vec<_> = several[i].iter().map(|n| (n.distance_squared, n.index)).collect();
            assert_eq!(found, wanted[..k.min(wanted.len())], "{search:?}");
        }
    }
    let aligned = || align(cloud(&source), cloud(&target), &Pose::IDENTITY, &IcpParams::default(), cpu(false));
    if let Ok(done) = aligned() {
        let again = aligned().expect("what went well once");
        assert_eq!(format!("{:?}", done.target_from_source), format!("{:?}", again.target_from_source));
    }
}
