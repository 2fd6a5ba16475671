//! Messages on stderr: one line each, with control bytes escaped. A closed stderr is ignored.

use crate::interrupt;
use clap::builder::Styles;
use clap::builder::styling::Style;
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
    if !is_quiet() {
        line(&escape(&message.to_string()));
    }
}

/// Whether only errors are printed.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Whether notes go to a terminal, where a person reads them.
pub fn is_watched() -> bool {
    !is_quiet() && std::io::stderr().is_terminal()
}

/// Prints what to try next, for people only.
pub fn hint(message: impl Display) {
    if is_watched() {
        note(message);
    }
}

/// Prints a warning: the work goes on.
pub fn warning(message: impl Display) {
    if !is_quiet() {
        line(&headed("warning", Styles::styled().get_invalid(), &message, is_coloured()));
    }
}

/// Prints an error: something was not done.
pub fn error(message: impl Display) {
    line(&headed("error", Styles::styled().get_error(), &message, is_coloured()));
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

/// Whether stderr takes colours: as clap decides for its own messages.
fn is_coloured() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A message behind a word, which has a colour of clap's where colours are taken.
fn headed(word: &str, style: &Style, message: &dyn Display, coloured: bool) -> String {
    let message = escape(&message.to_string());
    if coloured { format!("{style}{word}:{style:#} {message}") } else { format!("{word}: {message}") }
}

fn line(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_colours_and_messages_have_none_of_their_own() {
        let style = Styles::styled();
        assert_eq!(headed("error", style.get_error(), &"a\x1b[2m", false), r"error: a\u{1b}[2m");
        let coloured = headed("error", style.get_error(), &"a", true);
        assert!(coloured.starts_with('\x1b') && coloured.ends_with("error:\x1b[0m a"), "{coloured:?}");
    }
}
