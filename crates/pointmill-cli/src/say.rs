//! What is said on stderr: one line each, control bytes escaped, and never a panic if nobody listens.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use pointmill_io::escape;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on only errors are said.
pub(crate) fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether only errors are said.
fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Something good to know.
pub(crate) fn note(message: impl Display) {
    if !is_quiet() {
        line(&message.to_string());
    }
}

/// Something odd that keeps nothing from being done.
pub(crate) fn warning(message: impl Display) {
    if !is_quiet() {
        line(&format!("warning: {message}"));
    }
}

/// Something that was not done.
pub(crate) fn error(message: impl Display) {
    line(&format!("error: {message}"));
}

/// A progress bar, hidden where it would be in the way.
pub(crate) fn progress(inputs: usize, json: bool) -> ProgressBar {
    // Where lines of JSON run down the same terminal, a bar between them only flickers.
    let flickers = json && std::io::stdout().is_terminal();
    let hidden = is_quiet() || inputs < 2 || flickers || !std::io::stderr().is_terminal();
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {elapsed}");
    ProgressBar::with_draw_target(Some(inputs as u64), target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        .with_finish(ProgressFinish::AndClear)
}

fn line(message: &str) {
    // With stderr closed there is nowhere left to complain.
    let _ = writeln!(std::io::stderr().lock(), "{}", escape(message));
}
