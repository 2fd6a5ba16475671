//! From the lists of a sparse pooling to the one voxel in which each point is drawn.

use std::cmp::Reverse;
use std::collections::HashMap;

/// The points of each voxel that has some: the arrays `coords`, `row_splits` and `indices` of a
/// sparse pooling.
#[derive(Clone, Copy, Debug)]
pub struct RoiLists<'a> {
    /// `[R]`: box, ix, iy, iz of each row.
    pub coords: &'a [[i32; 4]],
    /// `[R + 1]`: where the points of each row start in `indices`.
    pub row_splits: &'a [i64],
    /// The points of all rows.
    pub indices: &'a [i32],
}

/// The box and the voxel in which each of so many points is drawn, as
/// [`roi_scene`](crate::roi_scene) takes them; `None` for a point in no box.
///
/// A point that several boxes keep is drawn in the box that keeps most points, of equal ones the
/// first, so that each object has one grid. Rows, boxes and points that the arrays do not have are
/// passed over.
///
/// ```
/// use pointmill_view::{RoiLists, voxel_of_point};
/// // Both boxes have point 0; box 1 has point 2 too.
/// let lists = RoiLists { coords: &[[0, 0, 0, 0], [1, 1, 0, 1]], row_splits: &[0, 1, 3], indices: &[0, 0, 2] };
/// assert_eq!(voxel_of_point(lists, 3, [2, 1, 2]), [Some((1, 3)), None, Some((1, 3))]);
/// ```
pub fn voxel_of_point(lists: RoiLists<'_>, points: usize, out_size: [u32; 3]) -> Vec<Option<(u32, u32)>> {
    let RoiLists { coords, row_splits, indices } = lists;
    let rows = || {
        let rows = coords.iter().zip(row_splits.windows(2));
        rows.map(|(coord, at)| {
            (coord.map(i32::cast_unsigned), indices.get(at[0] as usize..at[1] as usize).unwrap_or_default())
        })
    };
    let mut kept: HashMap<u32, usize> = HashMap::new();
    rows().for_each(|([b, ..], points)| *kept.entry(b).or_default() += points.len());
    let rank = |b: u32| (kept[&b], Reverse(b));
    let [_, oy, oz] = out_size;
    let mut drawn: Vec<Option<(u32, u32)>> = vec![None; points];
    for ([b, ix, iy, iz], points) in rows() {
        let voxel = ix.wrapping_mul(oy).wrapping_add(iy).wrapping_mul(oz).wrapping_add(iz);
        for &point in points {
            let Some(place) = drawn.get_mut(point as usize) else { continue };
            if place.is_none_or(|(other, _)| rank(b) > rank(other)) {
                *place = Some((b, voxel));
            }
        }
    }
    drawn
}
