//! The blocks of inputs whose rows were read, so that a merge of many blocks reads each row once.

use super::row::BlockRow;
use super::store::Version;
use pointmill_io::IoError;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The blocks of a version of a row.
type KnownRow = (Version, HashSet<String>);

/// The blocks of the rows that were read, by the hash of the input. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownRows(Arc<Mutex<HashMap<String, KnownRow>>>);

impl KnownRows {
    /// Whether the row of an input, in a file of this version, has a block; `read` reads it, which
    /// is done once for each version of the file.
    pub(super) fn has(
        &self,
        hash: &str,
        version: Option<Version>,
        block: &str,
        read: impl FnOnce() -> Result<Option<BlockRow>, IoError>,
    ) -> Result<bool, IoError> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(version) = version else { return Ok(false) };
        if let Some((_, blocks)) = lock().get(hash).filter(|(known, _)| *known == version) {
            return Ok(blocks.contains(block));
        }
        // A version that takes its place meanwhile is another.
        let Some(row) = read()? else { return Ok(false) };
        let has = row.blocks.iter().any(|there| there == block);
        if version.is_settled() {
            lock().insert(hash.into(), (version, row.blocks.into_iter().collect()));
        }
        Ok(has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_row_is_read_once_a_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("row.json");
        let (rows, reads) = (KnownRows::default(), Cell::new(0));
        let version = || fs::symlink_metadata(&path).ok().map(|metadata| Version::of(&metadata));
        let has = |block: &str, there: &[[i32; 2]]| {
            let read = || {
                reads.set(reads.get() + 1);
                Ok(Some(BlockRow::done("a", "", 1, there.iter().map(|block| (*block, 1)).collect())))
            };
            rows.has("a", version(), block, read).unwrap()
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
        assert!(has("3_0", &[]) && rows.clone().has("a", version(), "5_0", || unreachable!()).unwrap());
        write(30);
        assert!(has("7_0", &[[7, 0]]) && !has("3_0", &[]) && reads.get() == 2);
        // One that is young may change within a step of the file system's clock.
        write(0);
        assert!(has("8_0", &[[8, 0]]) && has("9_0", &[[9, 0]]) && reads.get() == 4);
        fs::remove_file(&path).unwrap();
        assert!(!has("9_0", &[[9, 0]]));
    }
}
