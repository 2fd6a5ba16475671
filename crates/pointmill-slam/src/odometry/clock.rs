//! Times of points and of sweeps.

use pointmill_core::names;

/// Longest sweep in seconds whose points' times are believed.
const LONGEST_SWEEP: f64 = 2.0;
/// Longest and shortest time in seconds between two sweeps that is believed.
const LONGEST_GAP: f64 = 10.0;
const SHORTEST_GAP: f64 = 1e-3;
/// Seconds between sweeps until times say otherwise.
const PERIOD: f64 = 0.1;

/// What the times of a sweep's points were used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimesUse {
    /// There are none: the sweep is taken as it is, a period after the one before.
    #[default]
    None,
    /// They count from the start of each sweep: a sweep is taken to begin where the one before
    /// ended.
    Relative,
    /// They are of one clock for all sweeps, so that the prediction knows how long ago the last
    /// sweep was.
    Absolute,
    /// They run back from the sweep before, as a clock does that wraps. They are used within the
    /// sweep alone.
    Backwards,
    /// They span more than two seconds, as in a sweep during which the clock wraps. They are not
    /// used.
    Unusable,
}

names!(TimesUse {
    None = "none",
    Relative = "relative",
    Absolute = "absolute",
    Backwards = "backwards",
    Unusable = "unusable",
});

/// The time of sweeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The moment of the last sweep that had one.
    last: Option<f64>,
    /// Seconds between sweeps.
    period: f64,
    /// Whether the last times were of one clock for all sweeps.
    absolute: bool,
}

/// The times of a sweep.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    pub(super) used: TimesUse,
    /// The middle of the times, which the pose belongs to.
    pub(super) moment: Option<f64>,
    /// Seconds since the sweep before.
    pub(super) interval: f64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { last: None, period: PERIOD, absolute: false }
    }
}

impl Clock {
    /// Reads the least and the largest time of a sweep.
    pub(super) fn read(&mut self, times: Option<[f64; 2]>) -> Reading {
        let Some([first, last]) = times else {
            return self.without(TimesUse::None);
        };
        let span = last - first;
        if span.is_nan() || span > LONGEST_SWEEP {
            return self.without(TimesUse::Unusable);
        }
        let moment = first + 0.5 * span;
        let since = self.last.map_or(0.0, |last| moment - last);
        self.last = Some(moment);
        let used = match since {
            since if since < -0.5 * span && since < 0.0 => TimesUse::Backwards,
            since if since > 0.5 * span && since >= SHORTEST_GAP => TimesUse::Absolute,
            _ => TimesUse::Relative,
        };
        self.absolute = used == TimesUse::Absolute;
        match used {
            TimesUse::Absolute => self.period = since.min(LONGEST_GAP),
            TimesUse::Relative if span >= SHORTEST_GAP => self.period = span,
            _ => {}
        }
        Reading { used, moment: Some(moment), interval: self.period }
    }

    /// A sweep that takes a period of which the clock tells nothing.
    fn without(&mut self, used: TimesUse) -> Reading {
        self.last = self.last.map(|last| last + if self.absolute { self.period } else { 0.0 });
        Reading { used, moment: None, interval: self.period }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_without_times_takes_a_period() {
        let mut clock = Clock::default();
        let mut read = |times| {
            let Reading { used, interval, .. } = clock.read(times);
            (used, (interval * 1e6).round() / 1e6)
        };
        let sweep = |start: f64| Some([start, start + 0.18]);
        assert_eq!(read(sweep(7.0)), (TimesUse::Relative, 0.18));
        assert_eq!(read(sweep(7.2)), (TimesUse::Absolute, 0.2));
        assert_eq!(read(None), (TimesUse::None, 0.2));
        assert_eq!(read(Some([0.0, 3600.0])), (TimesUse::Unusable, 0.2));
        assert_eq!(read(sweep(7.8)), (TimesUse::Absolute, 0.2));
        assert_eq!(read(sweep(8.4)), (TimesUse::Absolute, 0.6));
        // A clock of each sweep tells nothing about the one left out.
        let mut clock = Clock::default();
        let used = [sweep(0.0), None, sweep(0.0)].map(|times| clock.read(times).used);
        assert_eq!(used, [TimesUse::Relative, TimesUse::None, TimesUse::Relative]);
    }
}
