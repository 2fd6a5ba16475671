//! Paths that are the same wherever a disk is mounted.

use std::path::{Component, Path, PathBuf};

/// The path of a file from a folder, both absolute, with `/` on every platform: `../tiles/1.bin`.
/// It is absolute if the file is on another disk; `None` if it is not UTF-8.
///
/// ```
/// use pointmill_data::path_from;
/// use std::path::Path;
/// let path = path_from(Path::new("/data/map"), Path::new("/data/tiles/1.bin"));
/// # #[cfg(unix)]
/// assert_eq!(path.as_deref(), Some("../tiles/1.bin"));
/// ```
pub fn path_from(folder: &Path, file: &Path) -> Option<String> {
    let same = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let (up, down) = (folder.components().skip(same), file.components().skip(same));
    let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
    let path = if up.clone().all(is_name) {
        up.map(|_| Component::ParentDir).chain(down).collect::<PathBuf>()
    } else {
        file.to_path_buf()
    };
    let text = path.to_str()?;
    Some(if cfg!(windows) { text.replace('\\', "/") } else { text.into() })
}
