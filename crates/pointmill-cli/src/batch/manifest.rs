//! The manifest of an output folder: a line of JSON for each input that is done, and the lock of whoever writes there.
//!
//! A line is appended and synced once the input's outputs are whole under their names, so that it never claims too much; a process that ends
//! in between does that input again. A line that is not whole is no line.

use crate::failure::Failure;
use crate::interrupt::undivided;
use crate::say;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The manifest's name in its folder.
pub(crate) const NAME: &str = ".pointmill.jsonl";

/// An input that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// The input's absolute path, or the name of what is built in.
    pub(super) input: String,
    /// Its bytes.
    pub(super) input_bytes: u64,
    /// When it was last changed, in nanoseconds since 1970.
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
    /// Its name in the manifest's folder, or its absolute path.
    pub(super) file: String,
    /// Its bytes.
    pub(super) bytes: u64,
}

/// A folder's manifest, open and locked.
#[derive(Debug)]
pub(super) struct Manifest {
    path: PathBuf,
    /// What earlier runs did, by input.
    done: HashMap<String, Entry>,
    file: Mutex<File>,
}

impl Manifest {
    /// Locks the folder against other runs and clears what a killed one left unfinished; what was done before is kept in mind or forgotten.
    pub(super) fn open(folder: &Path, keep: bool) -> Result<Self, Failure> {
        let path = folder.join(NAME);
        let mut file = lock(folder, &path)?;
        let removed = pointmill_io::remove_abandoned(folder)?;
        if removed > 0 {
            say::note(format_args!("{}: removed {removed} unfinished file(s) of an earlier run", folder.display()));
        }
        let mut text = Vec::new();
        if keep {
            file.read_to_end(&mut text).map_err(Failure::io(&path, "read"))?;
        }
        // A line without its end was being written when the process ended.
        let whole = text.iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64).map_err(Failure::io(&path, "write"))?;
        file.seek(SeekFrom::Start(whole as u64)).map_err(Failure::io(&path, "write"))?;
        let lines = text[..whole].split(|&b| b == b'\n').filter(|line| !line.is_empty());
        let entries: Vec<Option<Entry>> = lines.map(|line| serde_json::from_slice(line).ok()).collect();
        let unknown = entries.iter().filter(|entry| entry.is_none()).count();
        if unknown > 0 {
            say::warning(format_args!("{}: {unknown} line(s) are not of a manifest; left alone", path.display()));
        }
        let done = entries.into_iter().flatten().map(|entry| (entry.input.clone(), entry)).collect();
        Ok(Self { path, done, file: Mutex::new(file) })
    }

    /// What was done of an input by earlier runs.
    pub(super) fn done(&self, input: &str) -> Option<&Entry> {
        self.done.get(input)
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

/// The manifest's file, locked until it is closed, which the system does however the process ends.
fn lock(folder: &Path, path: &Path) -> Result<File, Failure> {
    let options = || File::options().read(true).write(true).create(true).truncate(false).clone();
    let file = options().open(path).map_err(Failure::io(path, "open"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let told = format!("{}: expected no other run that writes into this folder, found one", folder.display());
            Err(Failure::File { message: pointmill_io::escape(&told), file: folder.into() })
        }
        Err(TryLockError::Error(e)) => {
            say::warning(format_args!("{}: not locked against other runs: {e}", folder.display()));
            Ok(file)
        }
    }
}

/// The bytes of a file, if it is one.
pub(super) fn bytes_of(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|m| m.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(input: &str) -> Entry {
        let outputs = vec![Output { file: format!("{input}.npz"), bytes: 7 }];
        Entry { input: input.into(), input_bytes: 3, input_modified_ns: 5, parameters: "0".repeat(16), outputs }
    }

    #[test]
    fn a_torn_last_line_is_dropped_wherever_it_is_torn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let manifest = Manifest::open(folder.path(), true).unwrap();
        ["a", "b"].iter().for_each(|input| manifest.append(&entry(input)).unwrap());
        drop(manifest);
        let whole = fs::read(&path).unwrap();
        let first = whole.iter().position(|&b| b == b'\n').unwrap() + 1;
        for end in first..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let manifest = Manifest::open(folder.path(), true).unwrap();
            assert_eq!((manifest.done("a"), manifest.done("b")), (Some(&entry("a")), None), "{end}");
            manifest.append(&entry("b")).unwrap();
            drop(manifest);
            assert_eq!(fs::read(&path).unwrap(), whole, "{end}");
        }
        // What a lost page leaves.
        fs::write(&path, [&whole[..first], &[0; 40]].concat()).unwrap();
        assert!(Manifest::open(folder.path(), true).unwrap().done("a").is_some());
        assert_eq!(fs::read(&path).unwrap(), &whole[..first]);
    }

    #[test]
    fn a_folder_has_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let first = Manifest::open(folder.path(), false).unwrap();
        let told = Manifest::open(folder.path(), true).unwrap_err();
        assert!(told.to_string().ends_with("found one") && told.exit_code() == 1, "{told}");
        drop(first);
        Manifest::open(folder.path(), true).unwrap();
    }

    #[test]
    fn the_last_line_of_an_input_counts_and_a_new_run_forgets() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = Manifest::open(folder.path(), true).unwrap();
        let later = Entry { input_bytes: 4, ..entry("a") };
        [&entry("a"), &later].iter().for_each(|entry| manifest.append(entry).unwrap());
        drop(manifest);
        assert_eq!(Manifest::open(folder.path(), true).unwrap().done("a"), Some(&later));
        assert_eq!(Manifest::open(folder.path(), false).unwrap().done("a"), None);
        assert_eq!(fs::read(folder.path().join(NAME)).unwrap(), b"");
    }
}
