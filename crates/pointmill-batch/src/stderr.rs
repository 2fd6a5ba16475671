//! Messages on stderr: one line each, with control bytes escaped. A closed stderr is ignored.

use crate::interrupt;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use pointmill_data::Observer;
use pointmill_io::escape;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on only errors are printed.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Prints a note.
pub fn note(message: impl Display) {
    if !QUIET.load(Ordering::Relaxed) {
        line(&message.to_string());
    }
}

/// Whether notes go to a terminal, where a person reads them.
pub fn is_watched() -> bool {
    !QUIET.load(Ordering::Relaxed) && std::io::stderr().is_terminal()
}

/// Prints what to try next, for people only.
pub fn hint(message: impl Display) {
    if is_watched() {
        note(message);
    }
}

/// Prints a warning: the work goes on.
pub fn warning(message: impl Display) {
    if !QUIET.load(Ordering::Relaxed) {
        line(&format!("warning: {message}"));
    }
}

/// Prints an error: something was not done.
pub fn error(message: impl Display) {
    line(&format!("error: {message}"));
}

/// Notes and warnings of the data layer on stderr; a signal stops its runs.
#[derive(Clone, Copy, Debug)]
pub struct Stderr;

impl Observer for Stderr {
    fn note(&self, message: &str) {
        note(message);
    }

    fn warning(&self, message: &str) {
        warning(message);
    }

    fn option(&self, name: &str) -> String {
        format!("--{}", name.replace('_', "-"))
    }

    fn should_stop(&self) -> bool {
        interrupt::check().is_err()
    }

    fn undivided(&self, write: &mut dyn FnMut()) {
        interrupt::undivided(write);
    }
}

/// A progress bar, hidden where it would be in the way.
pub fn progress(inputs: usize, json: bool) -> ProgressBar {
    // Where lines of JSON run down the same terminal, a bar between them only flickers.
    let flickers = json && std::io::stdout().is_terminal();
    let hidden = QUIET.load(Ordering::Relaxed) || inputs < 2 || flickers || !std::io::stderr().is_terminal();
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {elapsed} {per_sec}{msg}");
    ProgressBar::with_draw_target(Some(inputs as u64), target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        .with_finish(ProgressFinish::AndClear)
}

fn line(message: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", escape(message));
}
