//! The files of a bag of ROS 2 that is a folder, as its `metadata.yaml` lists them.
//!
//! Of YAML only what rosbag2 writes is read: a list of a name a line.

use crate::error::{IoError, excerpt};
use crate::fault::{bail, fault};
use crate::files::{Place, open_at};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The file that lists the others.
const NAME: &str = "metadata.yaml";
/// The key of all that rosbag2 writes.
const KEY: &str = "rosbag2_bagfile_information";
/// The most bytes of it. It lists topics too.
const MOST: u64 = 4 << 20;
/// The most files of a bag.
const MOST_FILES: usize = 4096;

/// The files of a bag that is a folder, in the order of its `metadata.yaml`; `None` for a folder without
/// one of rosbag2, and for what is no folder.
///
/// # Errors
/// A list that is not as rosbag2 writes it; a name with a folder, which may lead out of the bag; a name
/// that stands twice; more than 4096 names; `metadata.yaml` that is a link or has more than 4 MiB.
///
/// ```
/// assert!(pointmill_io::bag::files_of_folder("missing")?.is_none());
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn files_of_folder(folder: impl AsRef<Path>) -> Result<Option<Vec<PathBuf>>, IoError> {
    let folder = folder.as_ref();
    let path = folder.join(NAME);
    if !folder.is_dir() || std::fs::symlink_metadata(&path).is_err() {
        return Ok(None);
    }
    let mut bytes = vec![];
    let (file, _) = open_at(Place { path: &path, follow_links: false })?;
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(IoError::io(&path, "read"))?;
    if bytes.len() as u64 > MOST {
        bail!(*path, LimitExceeded, "length", "at most {MOST} bytes", "more");
    }
    let Ok(text) = str::from_utf8(&bytes) else { bail!(*path, BadValue, "text", "UTF-8", (excerpt(&bytes))) };
    if !text.lines().any(|line| line.trim_end().strip_suffix(':') == Some(KEY)) {
        return Ok(None);
    }
    let files = names(&path, text)?.into_iter().map(|name| folder.join(name)).collect();
    Ok(Some(files))
}

/// The names in the list `relative_file_paths`.
fn names(path: &Path, text: &str) -> Result<Vec<String>, IoError> {
    const LIST: &str = "relative_file_paths";
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let Some(start) = lines.iter().position(|line| line.trim_start().starts_with(LIST)) else {
        bail!(path, MissingField, LIST, "the files of the bag", "none");
    };
    if lines[start].trim_start().strip_prefix(LIST) != Some(":") {
        bail!(path, UnsupportedFormat, LIST, "a list of a name a line", (excerpt(lines[start].as_bytes())));
    }
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut names: Vec<String> = vec![];
    for line in &lines[start + 1..] {
        let item = line.trim_start_matches(' ');
        let Some(item) = item.strip_prefix("- ").filter(|_| depth(line) >= depth(lines[start])) else { break };
        let name = plain(item.trim_start_matches(' '));
        // Before version 4, names began with the folder's own.
        let name = name.map(|name| own(path, name));
        let is_name = |name: &&str| !["", ".", ".."].contains(name) && !name.contains(['/', '\\', '\0']);
        let Some(name) = name.filter(is_name) else {
            let wanted = "the name of a file in the folder of the bag";
            bail!(path, BadValue, LIST, wanted, (excerpt(item.as_bytes())));
        };
        if names.iter().any(|other| other == name) {
            bail!(path, BadValue, LIST, "each file once", "`{name}` twice");
        }
        if names.len() >= MOST_FILES {
            bail!(path, LimitExceeded, LIST, "at most {MOST_FILES} files", "more");
        }
        names.push(name.into());
    }
    if names.is_empty() {
        return Err(fault!(path, MissingField, LIST, "one file or more", "none"));
    }
    Ok(names)
}

/// A name without the folder's own in front of it.
fn own<'a>(path: &Path, name: &'a str) -> &'a str {
    let folder = path.parent().and_then(Path::file_name).and_then(|folder| folder.to_str());
    folder.and_then(|folder| name.strip_prefix(folder)?.strip_prefix('/')).unwrap_or(name)
}

/// A word as it is, or in quotes with nothing in it that means something else; `None` for other YAML.
fn plain(item: &str) -> Option<&str> {
    for quote in ['"', '\''] {
        if let Some(rest) = item.strip_prefix(quote) {
            return rest.strip_suffix(quote).filter(|name| !name.contains(['"', '\'', '\\']));
        }
    }
    let means_more = item.starts_with(['&', '*', '!', '|', '>', '[', '{', '%', '@', '`', '?']);
    (!means_more && ![" #", ": "].iter().any(|mark| item.contains(mark)) && !item.ends_with(':')).then_some(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        names(Path::new("drive/metadata.yaml"), text).map_err(|e| e.to_string())
    }

    #[test]
    fn names_are_those_of_the_list_in_its_order() {
        let text = "rosbag2_bagfile_information:\n  version: 9\n  relative_file_paths:\n    - b_1.mcap\n    - \"b_0.mcap\"\r\n  files:\n    - path: c.mcap\n";
        assert_eq!(read(text).unwrap(), ["b_1.mcap", "b_0.mcap"]);
        // At the depth of its key, and with the folder in front, as old versions write.
        let text = "a:\n  relative_file_paths:\n  - drive/a b.db3\n  - 'c#1.db3'\n  duration: 1\n";
        assert_eq!(read(text).unwrap(), ["a b.db3", "c#1.db3"]);
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [
            "../a.mcap",
            "..",
            ".",
            "/a.mcap",
            "b/a.mcap",
            "drive/../a.mcap",
            "drive//a",
            "a\\b",
            "\"\"",
            "\"a",
            "'a\"b'",
            "\"a\\x2f\"",
            "&a b",
            "*a",
            "[a, b]",
            "{a: b}",
            "| a",
            "a: b",
            "a:",
            "a # b",
        ] {
            let told = read(&format!("relative_file_paths:\n  - a.mcap\n  - {name}\n")).unwrap_err();
            let wanted =
                "drive/metadata.yaml: relative_file_paths: expected the name of a file in the folder of the bag, got";
            assert!(told.starts_with(wanted), "{name}: {told}");
        }
    }

    #[test]
    fn lists_that_are_none_are_refused() {
        for (text, wanted) in [
            ("a: b\n", "expected the files of the bag, got none"),
            ("relative_file_paths:\n", "expected one file or more, got none"),
            ("relative_file_paths: []\n", "expected a list of a name a line"),
            ("relative_file_paths: [a, b]\n", "expected a list of a name a line"),
            ("relative_file_paths:\n  - a\n  - b\n  - a\n", "expected each file once, got `a` twice"),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.contains(wanted), "{told}");
        }
        let many: String = (0..=MOST_FILES).map(|i| format!("  - {i}\n")).collect();
        assert!(read(&format!("relative_file_paths:\n{many}")).unwrap_err().contains("at most 4096 files"));
    }
}
