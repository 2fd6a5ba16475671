//! The progress bar, hidden where it would be in the way.

use crate::stderr;
use crate::text::shortened;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::thread;
use std::time::{Duration, Instant};

/// How often the bar moves while nothing comes to its end.
const TICK: Duration = Duration::from_millis(100);

/// A bar with the name of the next input, the rate and the time left.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    start: Instant,
    /// Inputs that were worked on: those of an earlier run do not count for the rate.
    worked: usize,
}

impl Progress {
    pub(crate) fn new(inputs: usize, first: &str, json: bool) -> Self {
        // Where lines of JSON run down the same terminal, a bar between them only flickers.
        let flickers = json && std::io::stdout().is_terminal();
        let hidden = flickers || inputs == 0 || !stderr::is_watched();
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let template =
            if inputs > 1 { "{spinner} {bar:30} {pos}/{len} {wide_msg}" } else { "{spinner} {elapsed} {wide_msg}" };
        let style = ProgressStyle::with_template(template);
        let bar = ProgressBar::with_draw_target(Some(inputs as u64), target)
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
            .with_message(shortened(first));
        if !hidden {
            let bar = bar.clone();
            let tick = move || {
                while !bar.is_finished() {
                    thread::sleep(TICK);
                    bar.tick();
                }
            };
            // Without a thread the bar moves with the inputs alone.
            drop(thread::Builder::new().name("progress".into()).spawn(tick));
        }
        Self { bar, start: Instant::now(), worked: 0 }
    }

    /// Runs what prints, without the bar.
    pub(crate) fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }

    /// An input is done, by this run or by an earlier one; `next` comes now.
    pub(crate) fn advance(&mut self, by_this_run: bool, next: Option<&str>, suffix: &str) {
        self.worked += usize::from(by_this_run);
        self.bar.inc(1);
        if self.bar.is_hidden() {
            return;
        }
        let left = self.bar.length().unwrap_or(0).saturating_sub(self.bar.position());
        let speed = speed(self.worked, left, self.start.elapsed().as_secs_f64());
        self.bar.set_message(format!("{speed}{}{suffix}", next.map(shortened).unwrap_or_default()));
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The rate with three digits, and the time left.
fn speed(worked: usize, left: u64, seconds: f64) -> String {
    if worked == 0 || seconds <= 0.0 {
        return String::new();
    }
    let rate = worked as f64 / seconds;
    let digits =
        [(100.0, 0), (10.0, 1), (1.0, 2)].iter().find(|(from, _)| rate >= *from).map_or(3, |(_, digits)| *digits);
    let left = (left as f64 / rate).ceil() as u64;
    let (hours, minutes, seconds) = (left / 3600, left / 60 % 60, left % 60);
    let left = match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes}:{seconds:02} min"),
        _ => format!("{hours}:{minutes:02} h"),
    };
    format!("{rate:.digits$}/s, {left} left  ")
}

#[cfg(test)]
mod tests {
    use super::speed;

    #[test]
    fn rates_have_three_digits() {
        assert_eq!(speed(0, 9, 1.0), "");
        assert_eq!(speed(56, 94, 1.0007), "56.0/s, 2 s left  ");
        assert_eq!(speed(479, 4790, 1.0), "479/s, 10 s left  ");
        assert_eq!(speed(1, 150, 4.0), "0.250/s, 10:00 min left  ");
        assert_eq!(speed(1, 5000, 1.0), "1.00/s, 1:23 h left  ");
    }
}
