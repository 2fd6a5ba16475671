//! A sequence of times.

/// Bytes of a time.
pub(super) const SIZE: usize = 8;

/// After how many factors at an end of their range the difference that they multiply is replaced.
const PATIENCE: u8 = 3;

/// A time, and by how much it grew.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sequence {
    pub(super) time: i64,
    /// What factors multiply; 0 before there was one.
    pub(super) difference: i32,
    /// Factors at an end of their range since the last good one.
    pub(super) strained: u8,
}

impl Sequence {
    pub(super) fn advance(&mut self, difference: i32) {
        self.time = self.time.wrapping_add(difference.into());
    }

    /// Counts a factor at an end of its range, with which `difference` was told.
    pub(super) fn strain(&mut self, difference: i32) {
        self.strained += 1;
        if self.strained > PATIENCE {
            (self.difference, self.strained) = (difference, 0);
        }
    }
}
