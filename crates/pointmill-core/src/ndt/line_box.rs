//! The box around lines, over which an array finds them.

use super::LinePlace;

/// The box around some lines. Where it is small, an array with an element for each of its places
/// finds lines without a search.
///
/// ```
/// use pointmill_core::ndt::LineBox;
/// let around = LineBox::of([[4, 7, 9], [5, 7, 8]]);
/// assert_eq!(around.len(), 4);
/// assert_eq!(around.at([5, 7, 9]), Some(3));
/// assert_eq!(around.at([5, 8, 9]), None);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineBox {
    low: LinePlace,
    /// Places along each axis; none in a box around nothing.
    size: [u32; 3],
}

impl LineBox {
    /// The box around lines.
    pub fn of(places: impl IntoIterator<Item = LinePlace>) -> Self {
        let (mut low, mut high) = ([u32::MAX; 3], [0; 3]);
        for place in places {
            for axis in 0..3 {
                low[axis] = place[axis].min(low[axis]);
                high[axis] = place[axis].max(high[axis]);
            }
        }
        if low[0] > high[0] { Self::default() } else { Self { low, size: [0, 1, 2].map(|i| high[i] - low[i] + 1) } }
    }

    /// How many places the box has.
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(&self) -> u64 {
        self.size[0] as u64 * self.size[1] as u64 * self.size[2] as u64
    }

    /// The number of a place by (z, y, x), if it is in the box, of which there are fewer than 2^32.
    #[inline(always)]
    pub const fn at(&self, place: LinePlace) -> Option<u32> {
        let (low, size) = (&self.low, &self.size);
        let x = place[0].wrapping_sub(low[0]);
        let y = place[1].wrapping_sub(low[1]);
        let z = place[2].wrapping_sub(low[2]);
        if (x < size[0]) & (y < size[1]) & (z < size[2]) { Some((z * size[1] + y) * size[0] + x) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_an_empty_box() {
        let around = LineBox::of([]);
        assert_eq!((around.len(), around.at([0; 3])), (0, None));
    }

    #[test]
    fn places_beside_the_box_are_not_in_it() {
        let around = LineBox::of([[2, 3, 4], [3, 5, 4]]);
        let numbers = (0..6).map(|k| around.at([2 + k % 2, 3 + k / 2, 4]));
        assert!(numbers.eq((0..6).map(Some)));
        for beside in [[1, 3, 4], [4, 3, 4], [2, 2, 4], [2, 6, 4], [2, 3, 3], [2, 3, 5], [0, 0, 0]] {
            assert_eq!(around.at(beside), None, "{beside:?}");
        }
    }
}
