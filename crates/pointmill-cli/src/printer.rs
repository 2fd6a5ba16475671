//! The answer on stdout: text for people, or JSON lines for machines.
//!
//! With `--json` every line is `{"type": T, "data": {...}}`. Times are in milliseconds; a field without a value is `null`.
//!
//! | T | when | data |
//! |---|---|---|
//! | `begin` | once, before the work of `voxelize` | [`Begin`](crate::records::Begin) |
//! | `begin` | once, before the work of `roi-pool` | [`Begin`](crate::roi_pool::Begin) |
//! | `begin` | once, before the work of `ndt` | [`BuildBegin`](crate::ndt::records::BuildBegin), [`MergeBegin`](crate::ndt::records::MergeBegin), [`MatchBegin`](crate::ndt::records::MatchBegin) |
//! | `begin`, `bench` | of `bench`: once a device, and after each measurement | [`bench`](crate::bench), `pointmill_bench::Measurement` |
//! | `frame` | after each input that was done, in order | [`Frame`](crate::records::Frame) |
//! | `frame` | of `ndt build`: after each input; of `score` and `align`: for each pose | [`BuildFrame`](crate::ndt::records::BuildFrame), [`ScoreFrame`](crate::ndt::records::ScoreFrame), [`AlignFrame`](crate::ndt::records::AlignFrame) |
//! | `error` | after each input that failed, and last where the command fails | [`ErrorRecord`] |
//! | `summary` | once, after the work of `voxelize` | [`Summary`](crate::records::Summary) |
//! | `summary` | once, after the work of `roi-pool` | [`Summary`](crate::roi_pool::Summary) |
//! | `summary` | once, after the work of `ndt` | [`BuildSummary`](crate::ndt::records::BuildSummary), [`MergeSummary`](crate::ndt::records::MergeSummary), [`MatchSummary`](crate::ndt::records::MatchSummary) |
//! | `summary` | of other commands the only line | what the command tells |

use crate::failure::Failure;
use crate::interrupt::undivided;
use crate::records::ErrorRecord;
use serde::Serialize;
use std::io::{ErrorKind, Write};

/// Writes to stdout.
#[derive(Debug)]
pub(crate) struct Printer {
    json: bool,
    closed: bool,
}

impl Printer {
    /// A printer for people, or for machines.
    pub(crate) const fn new(json: bool) -> Self {
        Self { json, closed: false }
    }

    /// Whether machines read.
    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    /// Whether nobody reads any more. That is no error: `head` has seen enough.
    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// A JSON line, for machines only.
    pub(crate) fn record(&mut self, kind: &'static str, data: &impl Serialize) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Line<'a, T> {
            r#type: &'static str,
            data: &'a T,
        }
        if !self.json {
            return Ok(());
        }
        let mut line =
            serde_json::to_vec(&Line { r#type: kind, data }).map_err(|e| Failure::Io(format!("json: {e}")))?;
        line.push(b'\n');
        self.plain(&line)
    }

    /// A line for people only.
    pub(crate) fn text(&mut self, line: &str) -> Result<(), Failure> {
        if self.json { Ok(()) } else { self.plain(format!("{line}\n").as_bytes()) }
    }

    /// Bytes as they are, for both.
    pub(crate) fn plain(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        let mut out = std::io::stdout().lock();
        match undivided(|| out.write_all(bytes).and_then(|()| out.flush())) {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            written => written.map_err(Failure::io("stdout".as_ref(), "write")),
        }
    }

    /// The failure that ends the command, for machines; people have read it on stderr.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        let record = ErrorRecord {
            index: None,
            input: None,
            file: failure.file().map(|file| file.to_string_lossy().into_owned()),
            offset: None,
            class: failure.class(),
            message: pointmill_io::escape(&failure.to_string()),
            exit_code: Some(failure.exit_code()),
        };
        // The command fails already.
        let _ = self.record("error", &record);
    }
}
