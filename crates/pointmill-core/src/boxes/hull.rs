//! The area of the convex hull of two footprints.

use super::footprint::Pair;

/// Directions of sides: four of each footprint.
const SIDES: usize = 8;

impl Pair {
    /// The area of the convex hull of both.
    ///
    /// A direction goes once round. Between the normals of two sides the farthest corner of each
    /// footprint stays the same, and the farther of the two changes at most once. So the corners of
    /// the hull are, in order, the farther ones at the start and at the end of each span.
    #[inline(always)]
    pub(super) fn hull(&self) -> f64 {
        // The second footprint by the normals of its sides that are 0 to 90 degrees on.
        let (mut cos, mut sin) = (self.cos, self.sin);
        let [mut ox, mut oy] = self.other;
        for _ in 0..3 {
            if !((cos > 0.0) & (sin >= 0.0)) {
                (cos, sin, ox, oy) = (sin, -cos, oy, ox);
            }
        }
        let [hx, hy] = self.half;
        let [x, y] = self.center;
        let (ax, ay) = (ox * cos, ox * sin);
        let (bx, by) = (-(oy * sin), oy * cos);
        // Offsets of the corners from the centre, counter-clockwise from the one right of normal 0.
        let mine = [[hx, -hy], [hx, hy], [-hx, hy], [-hx, -hy]];
        let other = [
            [x + (ax - bx), y + (ay - by)],
            [x + (ax + bx), y + (ay + by)],
            [x - (ax - bx), y - (ay - by)],
            [x - (ax + bx), y - (ay + by)],
        ];
        let normals =
            [[1.0, 0.0], [cos, sin], [0.0, 1.0], [-sin, cos], [-1.0, 0.0], [-cos, -sin], [0.0, -1.0], [sin, -cos]];
        // Within span k (from normal k on): what is farthest of both.
        let farther = |p: [f64; 2], q: [f64; 2], n: [f64; 2]| {
            if (p[0] - q[0]) * n[0] + (p[1] - q[1]) * n[1] >= 0.0 { p } else { q }
        };
        let first = farther(mine[1], other[0], normals[0]);
        let (mut twice, mut last) = (0.0, first);
        for k in 0..SIDES {
            // Past its own normal a footprint shows its next corner.
            let p = mine[(k / 2 + 1) % 4];
            let q = other[k.div_ceil(2) % 4];
            for corner in [farther(p, q, normals[k]), farther(p, q, normals[(k + 1) % SIDES])] {
                twice += (last[0] - x) * (corner[1] - y) - (last[1] - y) * (corner[0] - x);
                last = corner;
            }
        }
        twice += (last[0] - x) * (first[1] - y) - (last[1] - y) * (first[0] - x);
        twice * 0.5
    }
}
