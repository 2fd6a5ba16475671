//! The manifest of an output folder: a JSON line for each input that is done, and a lock against
//! other runs.
//!
//! A line is appended and synced after the outputs of the input are whole under their names. A run
//! that ends in between does that input again. A line that is not whole is ignored.

use crate::failure::Failure;
use crate::interrupt::undivided;
use crate::outputs::{MANIFEST, clear_unfinished};
use crate::stderr;
use pointmill_io::open_own;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The longest line: some thousand times what an entry has.
const MAX_LINE: u64 = 1 << 20;

/// An input that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// The input's absolute path, or the name of what is built in. Paths have `/` on every
    /// platform.
    pub(super) input: String,
    /// The input's path from the manifest's folder, which stays where a disk is mounted elsewhere.
    pub(super) input_from_here: String,
    /// Its bytes.
    pub(super) input_bytes: u64,
    /// When it was last changed, in nanoseconds since 1970, rounded down to 100.
    pub(super) input_modified_ns: u64,
    /// What decides the outputs beside the input, in 16 digits.
    pub(super) parameters: String,
    /// What was made of it.
    pub(super) outputs: Vec<Output>,
}

/// A file that is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    /// Its path from the manifest's folder.
    pub(super) file: String,
    /// Its bytes.
    pub(super) bytes: u64,
}

/// A folder's manifest, open and locked.
#[derive(Debug)]
pub(super) struct Manifest {
    path: PathBuf,
    /// What earlier runs did, by either path of the input.
    done: HashMap<String, Arc<Entry>>,
    file: Mutex<File>,
}

impl Manifest {
    /// Locks the folder against other runs, removes what a killed run left unfinished, and reads
    /// what was done if `keep`.
    ///
    /// # Errors
    /// Something under the name of the manifest that is no file of a run. It is left alone.
    pub(super) fn open(folder: &Path, keep: bool) -> Result<Self, Failure> {
        let path = folder.join(MANIFEST);
        let file = Mutex::new(lock(folder, &path)?);
        let mut manifest = Self { path, done: HashMap::new(), file };
        let (file, path) = (manifest.file.get_mut().unwrap_or_else(PoisonError::into_inner), &manifest.path);
        clear_unfinished(folder)?;
        let mut lines = Lines::default();
        if keep {
            lines.read(file, path)?;
        }
        // A line without its end was being written when the process ended.
        file.set_len(lines.whole).map_err(Failure::io(path, "write"))?;
        file.seek(SeekFrom::Start(lines.whole)).map_err(Failure::io(path, "write"))?;
        if lines.unknown > 0 {
            let unknown = lines.unknown;
            stderr::warning(format_args!(
                "{}: {unknown} line(s) are not entries of a manifest; pointmill ignores them and keeps them",
                path.display()
            ));
        }
        manifest.done = lines.done;
        Ok(manifest)
    }

    /// Whether an earlier run did this: from an input with one of the two paths, with all else the
    /// same.
    pub(super) fn has(&self, wanted: &Entry) -> bool {
        let of = |e: &Entry| (e.input_bytes, e.input_modified_ns, e.parameters.clone(), e.outputs.clone());
        let found = [&wanted.input, &wanted.input_from_here].map(|path| self.done.get(path));
        found.into_iter().flatten().any(|entry| of(entry) == of(wanted))
    }

    /// Adds a line that outlasts the process and the machine.
    pub(super) fn append(&self, entry: &Entry) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(entry).map_err(|e| Failure::Io(format!("json: {e}")))?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = undivided(|| file.write_all(&line).and_then(|()| file.sync_data()));
        written.map_err(Failure::io(&self.path, "write"))
    }
}

/// A lock lasts until every copy of the file is closed, and a process that is just being started has one.
impl Drop for Manifest {
    fn drop(&mut self) {
        self.file.get_mut().unwrap_or_else(PoisonError::into_inner).unlock().ok();
    }
}

/// What the lines of a manifest say.
#[derive(Default)]
struct Lines {
    done: HashMap<String, Arc<Entry>>,
    /// Lines that are no entry.
    unknown: usize,
    /// Bytes of lines that have an end.
    whole: u64,
}

impl Lines {
    /// Reads line after line, so that memory is taken for entries and not for what else there is.
    fn read(&mut self, file: &File, path: &Path) -> Result<(), Failure> {
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(Failure::io(path, "read"))?;
            if line.len() as u64 == MAX_LINE {
                let message =
                    format!("{}: expected lines shorter than {MAX_LINE} bytes, got a longer one", path.display());
                return Err(Failure::File { message: pointmill_io::escape(&message), file: path.into() });
            }
            let Some(text) = line.strip_suffix(b"\n") else { return Ok(()) };
            self.whole += line.len() as u64;
            match serde_json::from_slice::<Entry>(text) {
                Ok(entry) => {
                    let entry = Arc::new(entry);
                    self.done.insert(entry.input.clone(), Arc::clone(&entry));
                    self.done.insert(entry.input_from_here.clone(), entry);
                }
                Err(_) if text.is_empty() => {}
                Err(_) => self.unknown += 1,
            }
        }
    }
}

/// The manifest's file, locked. The system unlocks it however the process ends.
fn lock(folder: &Path, path: &Path) -> Result<File, Failure> {
    let file = open_own(path, true)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let message = format!(
                "{}: another run is writing into this folder; wait for it or use another folder",
                folder.display()
            );
            Err(Failure::File { message: pointmill_io::escape(&message), file: folder.into() })
        }
        Err(TryLockError::Error(e)) => {
            stderr::warning(format_args!("{}: not locked against other runs: {e}", folder.display()));
            Ok(file)
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/batch_manifest.rs"]
mod tests;
