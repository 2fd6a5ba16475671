//! What a search keeps of the points that it is shown.

use super::nearest::{distance_of, index_of};
use crate::float::sqrt_f32;

/// Most neighbours of a search.
pub const MAX_NEIGHBOURS: usize = 32;

/// What a search keeps of the points that it is shown.
pub trait Keep {
    /// Squared distances above this are of no interest.
    fn reach(&self) -> f32;
    /// A point.
    fn offer(&mut self, key: u64);
    /// Points that nobody will look at, and a lower bound of their squared distances.
    fn pass(&mut self, bound: f32);
}

/// The nearest point, and how near any other can be.
#[derive(Clone, Copy, Debug)]
pub struct Nearest {
    /// The key of the nearest point so far, or that which points are to be below.
    pub best: u64,
    /// A lower bound of the squared distances of all other points.
    pub others: f32,
    /// By how much farther than the best the search looks, so that `others` is that much larger.
    margin: f32,
    reach: f32,
}

impl Nearest {
    /// Of points below a key.
    #[inline(always)]
    pub fn below(limit: u64, margin: f32) -> Self {
        let mut nearest = Self { best: limit, others: f32::INFINITY, margin, reach: 0.0 };
        nearest.widen();
        nearest
    }

    #[inline(always)]
    fn widen(&mut self) {
        let square = distance_of(self.best);
        self.reach = square;
        if self.margin > 0.0 {
            let wide = sqrt_f32(square) + self.margin;
            let wide = wide * wide;
            // A limit is wide enough as it is; and rounding must not make the reach shorter than the best.
            let most = if wide < f32::MAX { wide } else { f32::MAX };
            self.reach = if most > square { most } else { square };
        }
    }

    #[inline(always)]
    fn other(&mut self, square: f32) {
        self.others = if square < self.others { square } else { self.others };
    }
}

impl Keep for Nearest {
    #[inline(always)]
    fn reach(&self) -> f32 {
        self.reach
    }

    #[inline(always)]
    fn offer(&mut self, key: u64) {
        if key < self.best {
            if index_of(self.best) != u32::MAX {
                self.other(distance_of(self.best));
            }
            self.best = key;
            self.widen();
        } else if key != self.best {
            self.other(distance_of(key));
        }
    }

    #[inline(always)]
    fn pass(&mut self, bound: f32) {
        self.other(bound);
    }
}
