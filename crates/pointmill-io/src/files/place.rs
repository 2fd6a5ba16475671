//! Where a file is written or read, and whether a symbolic link there is followed.

use std::path::Path;

/// Where a file is written, or read by the functions that take one: any path, whose symbolic link
/// is not followed, or a [`Place`].
pub trait Destination {
    /// The path.
    fn path(&self) -> &Path;

    /// Whether a symbolic link at the path is followed; else a writer replaces it and a reader
    /// refuses it.
    fn follows_links(&self) -> bool {
        false
    }
}

impl<P: AsRef<Path>> Destination for P {
    fn path(&self) -> &Path {
        self.as_ref()
    }
}

/// A path to write to or to read from, and what is done with a symbolic link there.
///
/// In a folder that others may write into, a link may lead to any file of the user who runs the
/// program. There it is not followed: the new file takes its place, and what it leads to stays as
/// it is. So it is with FIFOs and devices. A reader opens nothing there but a regular file, and
/// waits for nothing.
///
/// ```
/// use pointmill_io::{ArrayView, Place, write_npy};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-place.npy", std::process::id()));
/// write_npy(Place::named(&path), &ArrayView::u8(&[1], &[7]))?;
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The path.
    pub path: &'a Path,
    /// Whether a symbolic link at the path is followed; else a writer replaces it and a reader
    /// refuses it.
    pub follow_links: bool,
}

impl<'a> Place<'a> {
    /// The place of any destination.
    pub fn of(to: &'a impl Destination) -> Self {
        Self { path: to.path(), follow_links: to.follows_links() }
    }

    /// The file that the user has named: a link there is followed, and a pipe is written to.
    pub fn named(path: &'a Path) -> Self {
        Self { path, follow_links: true }
    }
}

impl Destination for Place<'_> {
    fn path(&self) -> &Path {
        self.path
    }

    fn follows_links(&self) -> bool {
        self.follow_links
    }
}
