//! A sequence of times.

/// Size of a time in bytes.
pub(super) const SIZE: usize = 8;

/// After more than this number of factors at an end of their range, the difference that they multiply is replaced.
const PATIENCE: u8 = 3;

/// The last time of a sequence, and its last difference.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sequence {
    pub(super) time: i64,
    /// The difference that factors multiply; 0 before the first difference.
    pub(super) difference: i32,
    /// Number of factors at an end of their range since the last other factor.
    pub(super) strained: u8,
}

impl Sequence {
    pub(super) fn advance(&mut self, difference: i32) {
        self.time = self.time.wrapping_add(difference.into());
    }

    /// Counts a factor at an end of its range; `difference` is the difference coded with it.
    pub(super) fn strain(&mut self, difference: i32) {
        self.strained += 1;
        if self.strained > PATIENCE {
            (self.difference, self.strained) = (difference, 0);
        }
    }
}
