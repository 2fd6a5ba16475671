//! Who hears what a run does, and may stop it.

/// Hears notes and warnings of a run, and may stop it. `()` hears nothing and never stops.
pub trait Observer: Sync {
    /// Something that is good to know.
    fn note(&self, message: &str) {
        let _ = message;
    }

    /// Something that may be wrong; the work goes on.
    fn warning(&self, message: &str) {
        let _ = message;
    }

    /// How the user spells an option that a message names: `--max-range` on the command line.
    fn option(&self, name: &str) -> String {
        name.into()
    }

    /// Whether to stop at the next place where nothing is half done.
    fn should_stop(&self) -> bool {
        false
    }

    /// Runs a write that must not be cut in two.
    fn undivided(&self, write: &mut dyn FnMut()) {
        write();
    }
}

impl Observer for () {}
