//! Which of the inputs of a run are taken.

use crate::DataError;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// The inputs that a run takes, counted from 0 in the order of the inputs: those of a half-open
/// range, and of these the first and each so many-th after it.
///
/// ```
/// use pointmill_data::inputs::{FrameRange, Frames};
/// let frames = Frames { range: "2:9".parse()?, every: 3.try_into().unwrap() };
/// assert_eq!(frames.of((0..10).collect::<Vec<_>>()).unwrap(), [2, 5, 8]);
/// assert!(frames.of(vec![0; 8]).is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// The range.
    pub range: FrameRange,
    /// Each so many-th.
    pub every: NonZeroUsize,
}

/// A half-open range of inputs, `A:B`; without `A` from the first, without `B` to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameRange {
    /// The first.
    start: usize,
    /// The one after the last.
    end: Option<usize>,
}

impl Default for Frames {
    /// All inputs.
    fn default() -> Self {
        Self { range: FrameRange::default(), every: NonZeroUsize::MIN }
    }
}

impl FromStr for FrameRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected A:B, A: or :B, counted from 0, such as 10:20 for ten inputs".to_owned();
        let number = |text: &str| text.parse::<usize>().map_err(|_| expected());
        let (start, end) = text.split_once(':').ok_or_else(expected)?;
        let start = if start.is_empty() { 0 } else { number(start)? };
        let end = if end.is_empty() { None } else { Some(number(end)?) };
        match end {
            Some(end) if end <= start => Err(format!("expected A:B with A < B, got {text}")),
            end => Ok(Self { start, end }),
        }
    }
}

impl Frames {
    /// Those of the inputs.
    ///
    /// # Errors
    /// A range that begins behind the last input, or ends behind it.
    pub fn of<T>(&self, inputs: Vec<T>) -> Result<Vec<T>, DataError> {
        let (count, FrameRange { start, end }) = (inputs.len(), self.range);
        if start >= count.max(1) || end.is_some_and(|end| end > count) {
            let end = end.map_or_else(String::new, |end| end.to_string());
            let expected = format!("a range within 0:{count}, the inputs there are");
            return Err(DataError::option("frames", expected, format!("{start}:{end}")));
        }
        let taken = inputs.into_iter().take(end.unwrap_or(count)).skip(start);
        Ok(taken.step_by(self.every.get()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_half_open_and_lie_within_the_inputs() {
        let of = |range: &str, every: usize| {
            let frames = Frames { range: range.parse()?, every: every.try_into().unwrap() };
            frames.of((0..6).collect::<Vec<_>>()).map_err(|e| e.to_string())
        };
        assert_eq!(of(":", 1), Ok(vec![0, 1, 2, 3, 4, 5]));
        assert_eq!((of("4:", 1), of(":2", 1), of("1:6", 2)), (Ok(vec![4, 5]), Ok(vec![0, 1]), Ok(vec![1, 3, 5])));
        assert_eq!(of("5:6", 100), Ok(vec![5]));
        for (range, got) in [("6:", "6:"), ("0:7", "0:7"), ("9:12", "9:12")] {
            let reason = format!("frames: expected a range within 0:6, the inputs there are, got {got}");
            assert_eq!(of(range, 1), Err(reason));
        }
        for range in ["3:3", "4:2"] {
            assert_eq!(of(range, 1), Err(format!("expected A:B with A < B, got {range}")));
        }
        for range in ["", "3", "-1:", "a:b", "1:2:3"] {
            assert!(of(range, 1).unwrap_err().starts_with("expected A:B, A: or :B"), "{range}");
        }
    }
}
