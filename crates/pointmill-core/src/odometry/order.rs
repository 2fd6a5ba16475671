//! The order of keypoints, in which the first few are a thinned sweep.

/// Keypoints of a thinned sweep at most.
pub const THINNED: u32 = 256;

/// Of `n` keypoints every so many-th is in the thinned sweep.
#[inline(always)]
const fn stride(n: u32) -> u32 {
    if n > THINNED { n.div_ceil(THINNED) } else { 1 }
}

/// The number of keypoints of the thinned sweep.
pub const fn thinned(n: u32) -> u32 {
    n.div_ceil(stride(n))
}

/// Where keypoint `i` of `n` is put, so that the thinned sweep comes first.
#[inline(always)]
pub const fn place_of(i: u32, n: u32) -> u32 {
    let stride = stride(n);
    let (row, column) = (i / stride, i % stride);
    let (rows, longer) = (n / stride, n % stride);
    column * rows + if column < longer { column } else { longer } + row
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn every_keypoint_has_a_place_and_the_thinned_come_first() {
        for n in [0, 1, 2, 255, 256, 257, 511, 512, 513, 1000, 4097] {
            let mut places: std::vec::Vec<u32> = (0..n).map(|i| place_of(i, n)).collect();
            let spread: std::vec::Vec<u32> = (0..n).step_by(stride(n) as usize).map(|i| place_of(i, n)).collect();
            assert!(spread.iter().copied().eq(0..thinned(n)) && thinned(n) <= THINNED);
            places.sort_unstable();
            assert!(places.iter().copied().eq(0..n));
        }
    }
}
