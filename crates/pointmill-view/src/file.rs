//! Files that are whole or not there.

use crate::ViewError;
use std::io::Write;
use std::path::Path;

/// Writes a temporary beside `path`, syncs it and renames it: a reader never sees half a file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), ViewError> {
    let write = || {
        let folder = match path.parent() {
            Some(p) if !p.as_os_str().is_empty() => p,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".pointmill-");
        // Temporaries are private by default; a picture is as readable as any file the user makes.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|source| ViewError::Write { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_the_file_and_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("no/such.png");
        let error = write_whole(&missing, b"x").unwrap_err().to_string();
        assert!(error.contains("such.png: cannot write"), "{error}");
        // A folder in the way: the temporary is removed again.
        let taken = folder.path().join("taken");
        std::fs::create_dir(&taken).unwrap();
        assert!(write_whole(&taken, b"x").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let good = folder.path().join("good");
        write_whole(&good, b"one").unwrap();
        write_whole(&good, b"two").unwrap();
        assert_eq!(std::fs::read(&good).unwrap(), b"two");
    }
}
