//! Squared distances in `f32`, and lower bounds of them that rounding cannot break.
//!
//! A neighbour is a [`key`]: the bits of its squared distance above its index. The smallest key is
//! the nearest point, of equally near ones that of the lowest index, whatever the order of the
//! search.

/// The largest key that a search without a limit accepts: distances whose square overflows are
/// none.
pub const FARTHEST: u64 = key(f32::MAX, u32::MAX);

/// The squared distance of two points: `(dx*dx + dy*dy) + dz*dz`, each operation rounded once.
///
/// ```
/// use pointmill_core::icp::nearest::squared_distance;
/// assert_eq!(squared_distance([1.0, 2.0, 3.0], [0.0, 0.0, 1.0]), 9.0);
/// ```
#[inline(always)]
pub fn squared_distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let (dx, dy, dz) = (a[0] - b[0], a[1] - b[1], a[2] - b[2]);
    dx * dx + dy * dy + dz * dz
}

/// The key of a neighbour. Squares are never negative, so their bits have their order; NaN is above
/// everything.
#[inline(always)]
pub const fn key(squared_distance: f32, index: u32) -> u64 {
    (squared_distance.to_bits() as u64) << 32 | index as u64
}

/// The squared distance of a key.
#[inline(always)]
pub const fn distance_of(key: u64) -> f32 {
    f32::from_bits((key >> 32) as u32)
}

/// The index of a key.
#[inline(always)]
pub const fn index_of(key: u64) -> u32 {
    key as u32
}

/// The key that neighbours within an inclusive distance are below. The limit's square is taken in
/// `f64` and rounded once.
///
/// A key of index `u32::MAX` belongs to no point, so "below" is enough.
#[inline(always)]
pub fn limit(max_distance: f64) -> u64 {
    let square = (max_distance * max_distance) as f32;
    if square < f32::MAX { key(square, u32::MAX) } else { FARTHEST }
}

/// A lower bound of the squared distances from `q` to all points of a box, as [`squared_distance`]
/// rounds them.
///
/// Each axis takes the difference to the nearer face, or zero, and goes through the same
/// operations. All of these are monotone after rounding too: a point in the box is no nearer along
/// any axis, so no bound is above the rounded distance of a point in it. A search may pass over a
/// box whose bound is above the best distance, and must look into one whose bound equals it.
#[inline(always)]
pub fn bound(q: [f32; 3], low: [f32; 3], high: [f32; 3]) -> f32 {
    let (x, y, z) = (beyond(q[0], low[0], high[0]), beyond(q[1], low[1], high[1]), beyond(q[2], low[2], high[2]));
    x * x + y * y + z * z
}

#[inline(always)]
fn beyond(q: f32, low: f32, high: f32) -> f32 {
    let (below, above) = (low - q, q - high);
    let out = if below > above { below } else { above };
    // Written as a comparison, compilers make a branch for each lane of it.
    out.max(0.0)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_order_by_distance_then_index() {
        let ordered = [key(0.0, 0), key(0.0, 7), key(1e-40, 0), key(1.0, 3), key(1.0, 4), key(f32::MAX, 0), FARTHEST];
        assert!(ordered.is_sorted());
        for bad in [f32::INFINITY, f32::NAN, -f32::NAN] {
            assert!(key(bad, 0) > FARTHEST);
        }
        let of = key(2.5, 41);
        assert_eq!((distance_of(of), index_of(of)), (2.5, 41));
    }

    #[test]
    fn limits_are_inclusive() {
        assert!(key(4.0, u32::MAX - 1) < limit(2.0));
        assert!(key(4.0f32.next_up(), 0) > limit(2.0));
        assert!(key(0.0, 5) < limit(0.0));
        assert_eq!((limit(1e30), limit(f64::INFINITY)), (FARTHEST, FARTHEST));
    }

    proptest! {
        #[test]
        fn no_bound_is_above_a_point_in_the_box(
            q in prop::array::uniform3(-1e3f32..1e3), p in prop::array::uniform3(-1e3f32..1e3), r in prop::array::uniform3(-1e3f32..1e3),
            power in -60i32..30, near in any::<bool>()
        ) {
            let scale = 2f32.powi(power);
            // Often so near that a few units in the last place decide.
            let q = if near { [0, 1, 2].map(|i| p[i] * scale + (q[i] * 1e-7) * scale) } else { q.map(|x| x * scale) };
            let (p, r) = (p.map(|x| x * scale), r.map(|x| x * scale));
            let low = [0, 1, 2].map(|i| p[i].min(r[i]));
            let high = [0, 1, 2].map(|i| p[i].max(r[i]));
            for inside in [p, r, [p[0], r[1], p[2]]] {
                prop_assert!(bound(q, low, high) <= squared_distance(q, inside));
            }
            prop_assert_eq!(bound(q, p, p), squared_distance(q, p));
        }
    }
}
