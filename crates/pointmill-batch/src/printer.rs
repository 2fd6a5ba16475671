//! Results on stdout: text for people, or JSON lines for machines.
//!
//! With `--json` every line is `{"type": T, "data": {...}}`.
//!
//! `docs/json.md` has every line of every command, generated from the types in
//! [`json`](crate::json) and in the modules of the commands.

use crate::failure::Failure;
use crate::interrupt::undivided;
use crate::json::{ErrorRecord, line_of};
use crate::stderr;
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::sync::mpsc;
use std::time::Duration;

/// How long the line of an end may take to be printed.
const END_GRACE: Duration = Duration::from_millis(200);

/// Writes to stdout.
#[derive(Debug)]
pub struct Printer {
    json: bool,
    closed: bool,
}

impl Printer {
    /// A printer for people, or for machines.
    pub const fn new(json: bool) -> Self {
        Self { json, closed: false }
    }

    /// Whether machines read.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Whether stdout was closed. That is no error: `head` closes it after its last line.
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// A JSON line, for machines only.
    pub fn record(&mut self, kind: &'static str, data: &impl Serialize) -> Result<(), Failure> {
        if self.json { self.plain(&line_of(kind, data)?) } else { Ok(()) }
    }

    /// A line for people only, who did not ask for quiet.
    pub fn text(&mut self, line: &str) -> Result<(), Failure> {
        if self.json || stderr::is_quiet() { Ok(()) } else { self.plain(format!("{line}\n").as_bytes()) }
    }

    /// Bytes as they are, for both.
    pub fn plain(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        // The lock is taken within: a write that is held back for an end must leave stdout to the
        // last line.
        let write = || {
            let mut out = std::io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush())
        };
        match undivided(write) {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            written => written.map_err(Failure::io("stdout".as_ref(), "write")),
        }
    }

    /// The failure that ends the command, for machines. People read it on stderr.
    pub fn failure(&mut self, failure: &Failure) {
        // The command fails already.
        let _ = self.record("error", &ErrorRecord::end(failure));
    }
}

/// Prints the last JSON line of a run that a signal ends, without waiting for a reader that takes
/// nothing. A line that is half written holds stdout, and no line comes then.
pub(crate) fn print_end(failure: &Failure) {
    let line = line_of("error", &ErrorRecord::end(failure));
    let (done, wait) = mpsc::channel();
    let print = move || {
        let mut out = std::io::stdout().lock();
        let _ = line.map(|line| out.write_all(&line).and_then(|()| out.flush()));
        // Writes that were abandoned fail now, and shall say nothing behind this line.
        std::mem::forget(out);
        let _ = done.send(());
    };
    // Where the system refuses a thread there is no line.
    if std::thread::Builder::new().spawn(print).is_ok() {
        let _ = wait.recv_timeout(END_GRACE);
    }
}
