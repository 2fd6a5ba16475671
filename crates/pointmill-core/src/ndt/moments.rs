//! Sums over the points of a cell.

/// Most points of a cell: sums of products stay below 2^63.
pub const MAX_COUNT: u32 = (1 << 25) - 1;

/// Sums over the offsets of a cell's points, in steps of the lattice.
///
/// Integers: adding commutes, and what was added can be taken away again, bit by bit.
///
/// ```
/// use pointmill_core::ndt::Moments;
/// let (a, b) = (Moments::of([1, 2, 3]), Moments::of([-4, 5, -6]));
/// let both = a.merged(&b).unwrap();
/// assert_eq!((both.count, both.sum), (2, [-3, 7, -3]));
/// assert_eq!(both.without(&a), Some(b));
/// assert_eq!(a.without(&both), None);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// Points, n.
    pub count: u32,
    /// Sums of the offsets.
    pub sum: [i64; 3],
    /// Sums of their products: xx, xy, xz, yy, yz, zz.
    pub products: [i64; 6],
}

impl Moments {
    /// Those of one point.
    #[inline(always)]
    pub const fn of(offset: [i32; 3]) -> Self {
        let [x, y, z] = [offset[0] as i64, offset[1] as i64, offset[2] as i64];
        Self { count: 1, sum: [x, y, z], products: [x * x, x * y, x * z, y * y, y * z, z * z] }
    }

    /// Counts a point too.
    #[inline(always)]
    pub const fn add(&mut self, offset: [i32; 3]) {
        let one = Self::of(offset);
        self.count += 1;
        let mut i = 0;
        while i < 3 {
            self.sum[i] += one.sum[i];
            i += 1;
        }
        let mut i = 0;
        while i < 6 {
            self.products[i] += one.products[i];
            i += 1;
        }
    }

    /// Those of both; `None` if they are more than [`MAX_COUNT`] points.
    pub const fn merged(&self, other: &Self) -> Option<Self> {
        if self.count as u64 + other.count as u64 > MAX_COUNT as u64 {
            return None;
        }
        let mut both = *self;
        both.count += other.count;
        let mut i = 0;
        while i < 3 {
            both.sum[i] = both.sum[i].wrapping_add(other.sum[i]);
            i += 1;
        }
        let mut i = 0;
        while i < 6 {
            both.products[i] = both.products[i].wrapping_add(other.products[i]);
            i += 1;
        }
        Some(both)
    }

    /// What is left without the points of `part`; `None` if they are not among them: a count or a
    /// sum of squares would be negative, or something be left of no point.
    pub const fn without(&self, part: &Self) -> Option<Self> {
        if part.count > self.count {
            return None;
        }
        let mut rest = *self;
        rest.count -= part.count;
        let mut nothing = true;
        let mut i = 0;
        while i < 3 {
            rest.sum[i] = rest.sum[i].wrapping_sub(part.sum[i]);
            nothing &= rest.sum[i] == 0;
            i += 1;
        }
        let mut i = 0;
        while i < 6 {
            rest.products[i] = rest.products[i].wrapping_sub(part.products[i]);
            nothing &= rest.products[i] == 0;
            i += 1;
        }
        let squares = rest.products[0] >= 0 && rest.products[3] >= 0 && rest.products[5] >= 0;
        if squares && (rest.count > 0 || nothing) { Some(rest) } else { None }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn sum(points: &[[i32; 3]]) -> Moments {
        let mut all = Moments::default();
        points.iter().for_each(|p| all.add(*p));
        all
    }

    const HALF: i32 = 1 << 19;

    proptest! {
        #[test]
        fn parts_and_order_do_not_matter(points in prop::collection::vec(prop::array::uniform3(-HALF..=HALF), 0..60), cut in 0usize..60) {
            let cut = cut.min(points.len());
            let (a, b) = (sum(&points[..cut]), sum(&points[cut..]));
            let all = sum(&points);
            prop_assert_eq!(a.merged(&b), Some(all));
            prop_assert_eq!(b.merged(&a), Some(all));
            prop_assert_eq!(all.without(&a), Some(b));
            let reversed: Vec<_> = points.iter().rev().copied().collect();
            prop_assert_eq!(sum(&reversed), all);
        }
    }

    #[test]
    fn what_was_never_added_is_not_taken_away() {
        let (a, b) = (sum(&[[1, 2, 3], [4, 5, 6]]), sum(&[[1, 2, 3]]));
        assert_eq!(b.without(&a), None);
        // As many points, but others.
        assert_eq!(a.without(&sum(&[[1, 2, 3], [4, 5, 7]])), None);
        // Squares that would be negative.
        assert_eq!(a.without(&sum(&[[100, 0, 0]])), None);
        assert_eq!(a.without(&a), Some(Moments::default()));
    }

    #[test]
    fn the_largest_sums_fit() {
        let corner = Moments::of([HALF, -HALF, HALF]);
        let most = i64::from(MAX_COUNT);
        for product in corner.products {
            assert!(product.checked_mul(most).is_some());
        }
        let full = Moments { count: MAX_COUNT, ..corner };
        assert_eq!(full.merged(&corner), None);
        assert_eq!(Moments { count: MAX_COUNT - 1, ..corner }.merged(&corner).unwrap().count, MAX_COUNT);
    }
}
