//! The blocks of inputs whose rows were read, so that a merge of many blocks reads each row once.

use super::row::BlockRow;
use pointmill_io::IoError;
use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// File systems tell versions of a file apart by times in steps of some milliseconds. A row that is younger than this is read again.
const SETTLED: Duration = Duration::from_millis(100);

/// What tells a version of a row's file from another.
#[derive(Debug, PartialEq)]
struct Version {
    bytes: u64,
    modified: Option<SystemTime>,
    /// The file's number, since a new version is a new file.
    file: u64,
}

/// The blocks of a version of a row.
type KnownRow = (Version, HashSet<String>);

/// The blocks of the rows that were read, by the path of the row. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownRows(Arc<Mutex<HashMap<PathBuf, KnownRow>>>);

impl Version {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let file = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let file = 0;
        Self { bytes: metadata.len(), modified: metadata.modified().ok(), file }
    }

    fn is_settled(&self) -> bool {
        let age = self.modified.and_then(|modified| modified.elapsed().ok());
        age.is_some_and(|age| age > SETTLED)
    }
}

impl KnownRows {
    /// Whether the row in a file has a block; `read` reads it, which is done once for each version of the file.
    pub(super) fn has(
        &self,
        path: &Path,
        block: &str,
        read: impl FnOnce() -> Result<Option<BlockRow>, IoError>,
    ) -> Result<bool, IoError> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let version = match fs::symlink_metadata(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
            metadata => Version::of(&metadata.map_err(IoError::io(path, "stat"))?),
        };
        if let Some((_, blocks)) = lock().get(path).filter(|(known, _)| *known == version) {
            return Ok(blocks.contains(block));
        }
        // A version that takes its place meanwhile is another.
        let Some(row) = read()? else { return Ok(false) };
        let has = row.blocks.iter().any(|there| there == block);
        if version.is_settled() {
            lock().insert(path.into(), (version, row.blocks.into_iter().collect()));
        }
        Ok(has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs::File;

    #[test]
    fn a_row_is_read_once_a_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("row.json");
        let (rows, reads) = (KnownRows::default(), Cell::new(0));
        let has = |block: &str, there: &[[i32; 2]]| {
            let read = || {
                reads.set(reads.get() + 1);
                Ok(Some(BlockRow::done("a", "", 1, there.iter().map(|block| (*block, 1)).collect())))
            };
            rows.has(&path, block, read).unwrap()
        };
        assert!(!has("0_0", &[]) && reads.get() == 0);
        let write = |age: u64| {
            fs::write(&path, "{}").unwrap();
            let modified = SystemTime::now() - Duration::from_secs(age);
            File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        };
        write(60);
        let asked: Vec<_> = (0..100).map(|x| has(&format!("{x}_0"), &[[3, 0], [5, 0]])).collect();
        assert_eq!((asked.iter().filter(|has| **has).count(), reads.get()), (2, 1));
        assert!(has("3_0", &[]) && rows.clone().has(&path, "5_0", || unreachable!()).unwrap());
        write(30);
        assert!(has("7_0", &[[7, 0]]) && !has("3_0", &[]) && reads.get() == 2);
        // One that is young may change within a step of the file system's clock.
        write(0);
        assert!(has("8_0", &[[8, 0]]) && has("9_0", &[[9, 0]]) && reads.get() == 4);
        fs::remove_file(&path).unwrap();
        assert!(!has("9_0", &[[9, 0]]));
    }
}
