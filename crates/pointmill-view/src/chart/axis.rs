//! Axes: where values are, and which are told.

/// Most lines across a panel that are told; of more only the powers of ten are.
const MANY: usize = 9;

/// Values by their logarithm, between two round ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LogAxis {
    low: f64,
    high: f64,
}

/// All round values: 1, 2 and 5 times powers of ten.
fn round_values() -> impl DoubleEndedIterator<Item = f64> + Clone {
    (-18..19).flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * libm::pow(10.0, f64::from(e))))
}

impl LogAxis {
    /// An axis that has all values; those that are not positive and finite are nowhere.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .filter(|v| is_shown(*v))
            .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)));
        if low > high {
            return Self { low: 1.0, high: 10.0 };
        }
        // A hair of room, so that a value that is a rounding above its round one needs no other.
        let low = round_values().rfind(|v| *v <= low * (1.0 + 1e-9)).unwrap_or(low);
        let high = round_values().find(|v| *v >= high * (1.0 - 1e-9) && *v > low).unwrap_or(2.0 * high);
        Self { low, high }
    }

    /// Where a value is, 0 at the low end and 1 at the high one; `None` if it is not shown.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let log = |v: f64| libm::log10(v);
        is_shown(value).then(|| (log(value) - log(self.low)) / (log(self.high) - log(self.low)))
    }

    /// The values that are told.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let inside = round_values().filter(|v| (self.low..=self.high).contains(v));
        let all: Vec<f64> = inside.collect();
        if all.len() <= MANY {
            return all;
        }
        all.into_iter().filter(|v| is_power_of_ten(*v)).collect()
    }
}

fn is_shown(v: f64) -> bool {
    (1e-18..=1e18).contains(&v)
}

fn is_power_of_ten(v: f64) -> bool {
    let exponent = libm::log10(v);
    (exponent - exponent.round()).abs() < 1e-6
}

/// A value as people write it.
pub(crate) fn told(value: f64) -> String {
    if value == 0.0 || (1e-4..1e6).contains(&value) {
        // Four digits are enough for what is round.
        let text = format!("{value:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{value:.0e}")
    }
}

/// The least round step that divides a span into at most so many parts.
pub(crate) fn round_step(span: f64, most: f64) -> Option<f64> {
    round_values().find(|step| span / step <= most)
}

/// Steps between whole numbers from 0 to `last`, of which at most ten are told besides 0.
pub(super) fn step(last: usize) -> usize {
    let mut step = 1;
    for factor in [2, 5, 10].into_iter().cycle() {
        if last / step <= 10 {
            break;
        }
        step = match factor {
            2 => step * 2,
            5 => step / 2 * 5,
            _ => step / 5 * 10,
        };
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_ticks_are_round() {
        let axis = LogAxis::of([0.003, f64::NAN, 0.0, -1.0, 0.04, f64::INFINITY].into_iter());
        assert_eq!(
            axis.ticks().iter().map(|v| told(*v)).collect::<Vec<_>>(),
            ["0.002", "0.005", "0.01", "0.02", "0.05"]
        );
        assert!(axis.place(0.002).unwrap().abs() < 1e-9 && (axis.place(0.05).unwrap() - 1.0).abs() < 1e-9);
        assert_eq!((axis.place(0.0), axis.place(f64::NAN)), (None, None));
        let wide = LogAxis::of([1e-3, 1e3].into_iter());
        assert_eq!(wide.ticks().len(), 7);
        assert_eq!(LogAxis::of([5.0, 5.0].into_iter()), LogAxis { low: 5.0, high: 10.0 });
        assert_eq!(LogAxis::of(std::iter::empty()).ticks().len(), 4);
        assert_eq!([2e-5, 1e7, 1234.0, 0.0].map(told), ["2e-5", "1e7", "1234", "0"]);
    }

    #[test]
    fn steps_are_round_too() {
        assert_eq!([(50.0, 5.0), (51.0, 5.0), (0.3, 4.0)].map(|(s, n)| round_step(s, n)), [10.0, 20.0, 0.1].map(Some));
        assert_eq!([f64::NAN, 1e300].map(|span| round_step(span, 5.0)), [None; 2]);
        assert_eq!([0, 10, 11, 54, 55, 100, 110, 1_000_000].map(step), [1, 1, 2, 5, 10, 10, 20, 100_000]);
    }
}
