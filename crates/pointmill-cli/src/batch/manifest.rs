//! The manifest of an output folder: a JSON line for each input that is done, and a lock against other runs.
//!
//! A line is appended and synced after the outputs of the input are whole under their names. A run that ends in between does that input
//! again. A line that is not whole is ignored.

use crate::failure::Failure;
use crate::interrupt::undivided;
use crate::outputs::clear_unfinished;
use crate::say;
use pointmill_io::open_own;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The manifest's name in its folder.
pub(crate) const NAME: &str = ".pointmill.jsonl";

/// The longest line: some thousand times what an entry has.
const MAX_LINE: u64 = 1 << 20;

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
    /// Locks the folder against other runs, removes what a killed run left unfinished, and reads what was done if `keep`.
    ///
    /// # Errors
    /// Something under the name of the manifest that is no file of a run. It is left alone.
    pub(super) fn open(folder: &Path, keep: bool) -> Result<Self, Failure> {
        let path = folder.join(NAME);
        let mut file = lock(folder, &path)?;
        clear_unfinished(folder)?;
        let mut lines = Lines::default();
        if keep {
            lines.read(&file, &path)?;
        }
        // A line without its end was being written when the process ended.
        file.set_len(lines.whole).map_err(Failure::io(&path, "write"))?;
        file.seek(SeekFrom::Start(lines.whole)).map_err(Failure::io(&path, "write"))?;
        if lines.unknown > 0 {
            let unknown = lines.unknown;
            say::warning(format_args!("{}: {unknown} line(s) are not of a manifest; left alone", path.display()));
        }
        Ok(Self { path, done: lines.done, file: Mutex::new(file) })
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

/// What the lines of a manifest say.
#[derive(Default)]
struct Lines {
    done: HashMap<String, Entry>,
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
                let told =
                    format!("{}: expected lines shorter than {MAX_LINE} bytes, got a longer one", path.display());
                return Err(Failure::File { message: pointmill_io::escape(&told), file: path.into() });
            }
            let Some(text) = line.strip_suffix(b"\n") else { return Ok(()) };
            self.whole += line.len() as u64;
            match serde_json::from_slice::<Entry>(text) {
                Ok(entry) => drop(self.done.insert(entry.input.clone(), entry)),
                Err(_) if text.is_empty() => {}
                Err(_) => self.unknown += 1,
            }
        }
    }
}

/// The manifest's file, locked until it is closed, which the system does however the process ends.
fn lock(folder: &Path, path: &Path) -> Result<File, Failure> {
    let file = open_own(path, true)?;
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

/// The bytes of a file, if it is one and no link to one.
pub(super) fn bytes_of(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file).map(|m| m.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test at a time: a process that another test starts shares the lock of every open manifest until it runs its own program.
    fn alone() -> std::sync::MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(input: &str) -> Entry {
        let outputs = vec![Output { file: format!("{input}.npz"), bytes: 7 }];
        Entry { input: input.into(), input_bytes: 3, input_modified_ns: 5, parameters: "0".repeat(16), outputs }
    }

    #[test]
    fn a_torn_last_line_is_dropped_wherever_it_is_torn() {
        let _alone = alone();
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

    #[cfg(unix)]
    #[test]
    fn what_is_no_manifest_of_ours_is_refused_and_left_alone() {
        let _alone = alone();
        let folder = tempfile::tempdir().unwrap();
        let [path, victim] = [NAME, "victim"].map(|name| folder.path().join(name));
        let refused = |found: &str| {
            for keep in [false, true] {
                let e = Manifest::open(folder.path(), keep).unwrap_err();
                assert!(e.exit_code() == 1 && e.to_string().ends_with(found), "{e}");
            }
            assert!(!victim.exists() || fs::read(&victim).unwrap() == b"mine");
            fs::remove_file(&path).unwrap();
        };
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        refused("found a symbolic link");
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        refused("found a symbolic link");
        fs::hard_link(&victim, &path).unwrap();
        refused("found one with 2 names");
        // Opening a pipe without a writer would wait for one.
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        refused("found something else");
        Manifest::open(folder.path(), true).unwrap();
    }

    #[test]
    fn a_line_without_an_end_is_not_read_into_memory() {
        let _alone = alone();
        let folder = tempfile::tempdir().unwrap();
        File::create(folder.path().join(NAME)).unwrap().set_len(1 << 40).unwrap();
        let e = Manifest::open(folder.path(), true).unwrap_err();
        assert!(e.exit_code() == 1 && e.to_string().contains("expected lines shorter than 1048576 bytes"), "{e}");
    }

    #[test]
    fn a_folder_has_one_writer() {
        let _alone = alone();
        let folder = tempfile::tempdir().unwrap();
        let first = Manifest::open(folder.path(), false).unwrap();
        let told = Manifest::open(folder.path(), true).unwrap_err();
        assert!(told.to_string().ends_with("found one") && told.exit_code() == 1, "{told}");
        drop(first);
        Manifest::open(folder.path(), true).unwrap();
    }

    #[test]
    fn the_last_line_of_an_input_counts_and_a_new_run_forgets() {
        let _alone = alone();
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
