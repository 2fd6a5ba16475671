//! Warnings of a run: one line for those that are alike.

use crate::stderr;
use crate::text::counted;

/// What inputs were warned of, in the order in which it came first.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    seen: Vec<Seen>,
}

/// Warnings that differ in their numbers alone.
#[derive(Debug)]
struct Seen {
    pattern: String,
    warning: String,
    /// The first one with its input.
    line: String,
    count: usize,
    are_equal: bool,
}

impl Warnings {
    /// Adds the warning of an input; `line` has the name of the input too.
    pub(super) fn add(&mut self, warning: &str, line: impl FnOnce() -> String) {
        let digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
        let pattern: String = warning.chars().filter(|c| !digit(*c)).collect();
        if let Some(seen) = self.seen.iter_mut().find(|seen| seen.pattern == pattern) {
            seen.count += 1;
            seen.are_equal &= seen.warning == warning;
        } else {
            self.seen.push(Seen { pattern, warning: warning.into(), line: line(), count: 1, are_equal: true });
        }
    }

    /// Prints a line for each kind of warning.
    pub(super) fn print(&self, input: &str) {
        self.lines(input).for_each(stderr::warning);
    }

    fn lines(&self, input: &str) -> impl Iterator<Item = String> {
        self.seen.iter().map(move |seen| match (seen.count, seen.are_equal) {
            (1, _) => seen.line.clone(),
            (n, true) => format!("{}: {}", counted(n, input), seen.warning),
            (n, false) => format!("{}, the first is {}", counted(n, input), seen.line),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_that_are_alike_have_one_line() {
        let mut warnings = Warnings::default();
        let tell = [("a", "4 bytes"), ("b", "3.5 m"), ("c", "4 bytes"), ("d", "empty"), ("e", "12 m")];
        tell.iter().for_each(|(name, warning)| warnings.add(warning, || format!("{name}: {warning}")));
        let lines: Vec<_> = warnings.lines("scan").collect();
        assert_eq!(lines, ["2 scans: 4 bytes", "2 scans, the first is b: 3.5 m", "d: empty"]);
    }
}
