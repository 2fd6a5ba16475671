//! A folder of this machine that holds a map by blocks.

use super::path_from::path_from;
use super::store::{OnFile, Store, Version};
use pointmill_io::files::{entries_of, is_own_folder, write_first};
use pointmill_io::{IoError, Place, remove_abandoned};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folders in a map.
const INNER: [&str; 2] = ["inputs", "blocks"];

/// A folder. Nothing but regular files is read in it and no link is followed; the folder itself may
/// be one.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.0.clone() } else { self.0.join(name) }
    }

    /// The one way to the files of the map: no link leads out of it. Folders between the map's and
    /// the file are no links, and a link in the file's place is replaced by a writer and refused by
    /// a reader.
    fn place<'a>(&self, path: &'a Path) -> Result<Place<'a>, IoError> {
        let between = path.ancestors().skip(1).filter(|folder| folder.starts_with(&self.0) && *folder != self.0);
        between.into_iter().try_for_each(|folder| is_own_folder(folder).map(drop))?;
        Ok(Place { path, follow_links: false })
    }
}

impl Store for Folder {
    fn root(&self) -> &Path {
        &self.0
    }

    fn make(&self) -> Result<(), IoError> {
        fs::create_dir_all(&self.0).map_err(IoError::io(&self.0, "make the folder"))?;
        INNER.iter().try_for_each(|inner| make_folder(&self.0.join(inner)))
    }

    fn check(&self) -> Result<(), IoError> {
        INNER.iter().try_for_each(|inner| is_own_folder(&self.0.join(inner)).map(drop))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, IoError> {
        let path = self.path(folder);
        self.place(&path)?;
        if !folder.is_empty() && !is_own_folder(&path)? {
            return Ok(Vec::new());
        }
        let entries = match entries_of(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(IoError::io(&path, "open"))?,
        };
        Ok(entries.iter().filter_map(|entry| entry.file_name()?.to_str().map(String::from)).collect())
    }

    fn version(&self, file: &str) -> Result<Option<Version>, IoError> {
        let path = self.path(file);
        match fs::symlink_metadata(self.place(&path)?.path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            metadata => Ok(Some(Version::of(&metadata.map_err(IoError::io(&path, "stat"))?))),
        }
    }

    fn read(&self, file: &str, read: OnFile<'_>) -> Result<(), IoError> {
        read(self.place(&self.path(file))?)
    }

    fn write(&self, file: &str, write: OnFile<'_>) -> Result<u64, IoError> {
        let path = self.path(file);
        if let Some(block) = path.parent().filter(|_| file.starts_with("blocks/")) {
            make_folder(block)?;
        }
        write(self.place(&path)?)?;
        Ok(fs::symlink_metadata(&path).map_err(IoError::io(&path, "stat"))?.len())
    }

    fn write_first(&self, file: &str, bytes: &[u8]) -> Result<(), IoError> {
        write_first(&self.path(file), bytes)
    }

    fn remove(&self, file: &str) -> Result<(), IoError> {
        let path = self.path(file);
        match fs::remove_file(self.place(&path)?.path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(IoError::io(&path, "remove")(e)),
            _ => Ok(()),
        }
    }

    fn clear(&self, folder: &str) -> Result<(), IoError> {
        let path = self.path(folder);
        if folder.is_empty() || is_own_folder(&path)? {
            remove_abandoned(&path)?;
        }
        Ok(())
    }

    fn name_of(&self, file: &Path) -> Option<String> {
        path_from(&self.0.canonicalize().ok()?, &place_of(file)?)
    }
}

/// The whole path of a file without links: two files with one place have one name in every map. The
/// file may be missing, its folder may not.
pub(super) fn place_of(file: &Path) -> Option<PathBuf> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = || Some(parent.canonicalize().ok()?.join(file.file_name()?));
    file.canonicalize().ok().or_else(found)
}

/// Makes a folder of the map, unless there is one.
fn make_folder(path: &Path) -> Result<(), IoError> {
    match fs::create_dir(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => is_own_folder(path).map(drop),
        made => made.map_err(IoError::io(path, "make the folder")),
    }
}
