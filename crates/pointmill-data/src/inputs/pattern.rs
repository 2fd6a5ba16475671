//! The paths that a pattern matches.
//!
//! The crate `glob` matches names here and walks nothing: its walk follows links to folders, so
//! that two that lead back make more paths than can be walked.

use glob::Pattern;
use pointmill_io::files::entries_of;
use pointmill_io::{Detail, IoError};
use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// What a pattern matches.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The part before the first wildcard.
    pub(crate) folder: PathBuf,
    /// Files, folders and all else that matches.
    pub(crate) paths: Vec<PathBuf>,
    /// Folders that cannot be read.
    pub(crate) refused: Vec<IoError>,
}

/// A part of a pattern between two separators.
#[derive(Debug)]
enum Part {
    Name(String),
    Wild(Pattern),
    /// `**`: folders at any depth.
    Deep,
}

/// Walks over the folders that a pattern may match in, and no link to one behind its first
/// wildcard.
pub(crate) fn expand(pattern: &str) -> Result<Found, IoError> {
    let parse = |text: &str| {
        Pattern::new(text)
            .map_err(|e| IoError::InvalidArgument(Detail::new(pattern, "pattern", "a valid pattern", e.to_string())))
    };
    parse(pattern)?;
    let mut folder = PathBuf::new();
    let mut parts = Vec::new();
    for component in Path::new(pattern).components() {
        let text = component.as_os_str().to_string_lossy();
        let wild = matches!(component, Component::Normal(_)) && text.contains(['*', '?', '[']);
        match component {
            // As `a/*` says `a/b`, `./*` says `b`.
            Component::CurDir => {}
            _ if wild && text == "**" => parts.push(Part::Deep),
            _ if wild => parts.push(Part::Wild(parse(&text)?)),
            _ if parts.is_empty() => folder.push(component),
            _ => parts.push(Part::Name(text.into_owned())),
        }
    }
    let mut walk = Walk { parts, seen: HashSet::new(), found: Found::default() };
    // With a separator at its end it means folders, which are no files.
    if !pattern.ends_with(std::path::is_separator) {
        walk.go(&folder, 0);
    }
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
    Ok(Found { folder, ..walk.found })
}

struct Walk {
    parts: Vec<Part>,
    /// Folders with the number of the part that was looked for in them: each only once, however
    /// many `**` lead there.
    seen: HashSet<(PathBuf, usize)>,
    found: Found,
}

impl Walk {
    /// Goes on in a folder with the part of the number given.
    fn go(&mut self, folder: &Path, part: usize) {
        if part == self.parts.len() || !self.seen.insert((folder.to_path_buf(), part)) {
            return;
        }
        match &self.parts[part] {
            Part::Name(name) => {
                let path = folder.join(name);
                self.meet(path, part);
            }
            Part::Wild(pattern) => {
                let pattern = pattern.clone();
                for name in self.entries(folder) {
                    if pattern.matches(&name.to_string_lossy()) {
                        self.meet(folder.join(name), part);
                    }
                }
            }
            Part::Deep => {
                self.go(folder, part + 1);
                for name in self.entries(folder) {
                    let path = folder.join(name);
                    if is_folder(&path) {
                        self.go(&path, part);
                    }
                }
            }
        }
    }

    /// Takes a path that a part matches, or goes on in it.
    fn meet(&mut self, path: PathBuf, part: usize) {
        if part + 1 < self.parts.len() {
            if is_folder(&path) {
                self.go(&path, part + 1);
            }
        } else if fs::symlink_metadata(&path).is_ok() {
            self.found.paths.push(path);
        }
    }

    /// The names in a folder; none where it cannot be read, which is noted.
    fn entries(&mut self, folder: &Path) -> Vec<std::ffi::OsString> {
        let named = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let entries = entries_of(named).unwrap_or_else(|e| {
            // A pattern in a folder that is not there has no match, and that is told.
            if e.kind() != std::io::ErrorKind::NotFound && e.kind() != std::io::ErrorKind::NotADirectory {
                self.found.refused.push(IoError::io(named, "read")(e));
            }
            Vec::new()
        });
        entries.iter().filter_map(|entry| entry.file_name().map(Into::into)).collect()
    }
}

/// Whether a path is a folder, and no link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}
