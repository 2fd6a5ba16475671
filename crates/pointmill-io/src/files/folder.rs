//! Folders written whole or not at all.

use super::unfinished::UNFINISHED;
use crate::error::IoError;
use std::fs;
use std::path::Path;

/// Makes a folder of files: `fill` writes them to one of another name, which is renamed. A folder
/// that is there and empty is replaced; one with something in it is an error, and stays.
pub(crate) fn new_folder(path: &Path, fill: impl FnOnce(&Path) -> Result<(), IoError>) -> Result<(), IoError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::metadata(parent).map_err(IoError::io(path, "open the folder"))?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED[0]).suffix(UNFINISHED[1]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less what the umask takes, as for any new folder.
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    // A folder that is dropped on the way out of an error is removed.
    let new = builder.tempdir_in(parent).map_err(|e| IoError::io(path, "make the folder")(e.kind().into()))?;
    fill(new.path())?;
    if fs::symlink_metadata(path).is_ok() {
        fs::remove_dir(path).map_err(IoError::io(path, "replace"))?;
    }
    fs::rename(new.path(), path).map_err(IoError::io(path, "rename"))?;
    // Its name is another by now, so that nothing is removed.
    let _ = new.keep();
    Ok(())
}
