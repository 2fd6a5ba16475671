//! Which sweeps of a drive have a pose that is not sure.

use std::fmt;

/// Runs of sweeps, each from its first to its last number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsure(Vec<[usize; 2]>);

impl Unsure {
    /// Notes a sweep, in the order of the numbers.
    pub(super) fn note(&mut self, number: usize, is_sure: bool) {
        if is_sure {
            return;
        }
        match self.0.last_mut() {
            Some([_, last]) if *last + 1 == number => *last = number,
            _ => self.0.push([number; 2]),
        }
    }
}

/// `12-40, 77`.
impl fmt::Display for Unsure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, [first, last]) in self.0.iter().enumerate() {
            let between = if i > 0 { ", " } else { "" };
            match first == last {
                true => write!(f, "{between}{first}")?,
                false => write!(f, "{between}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined() {
        let mut unsure = Unsure::default();
        for (i, is_sure) in [true, false, false, true, false].into_iter().enumerate() {
            unsure.note(i, is_sure);
        }
        assert_eq!(unsure.to_string(), "1-2, 4");
        assert_eq!(Unsure::default().to_string(), "");
    }
}
