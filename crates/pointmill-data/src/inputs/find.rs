//! Which files are meant: files as given, folders with sweeps, patterns.

use super::pattern;
use crate::inputs::sort_naturally;
use pointmill_io::Format;
use pointmill_io::files::{entries_of, kind_of_file};
use pointmill_io::{Detail, IoError, TILES, find_tiles};
use std::fs;
use std::path::{Path, PathBuf};

/// The files that arguments mean, in the order of the arguments.
///
/// - a folder means the point-cloud files directly in it, found by their extensions, without hidden
///   ones, and without `.txt` and `.csv`, which beside clouds are mostly notes, times and poses. A
///   folder with the list of a map in tiles means these tiles: see [`find_tiles`];
/// - a pattern (`*`, `?`, `[..]`, `**` for folders at any depth) means the files it matches,
///   whatever their extensions;
/// - anything else means itself, whether it exists or not: a file that is missing fails when it is
///   read. The command refuses it before.
///
/// In folders and patterns only regular files count. A FIFO, a device, a socket, a symbolic link
/// that leads out of the folder or to nothing, and a folder that cannot be read are errors in their
/// places. The folder of a pattern is the part before its first wildcard. Folders, and symbolic
/// links to them, are not entered but by `**` and by further parts of a pattern, and these do not
/// follow links.
///
/// # Order
/// Within a folder and a pattern natural: `2.bin` before `10.bin`, and stamps with decimals by their
/// value: `1700000000.05.bin` before `1700000000.1.bin`.
///
/// # Errors
/// A folder without such a file, a pattern without a match or with a mistake, a folder that cannot
/// be read.
///
/// ```
/// let found = pointmill_data::find_inputs(&["missing.bin"])?;
/// assert_eq!(found[0].as_deref().unwrap(), std::path::Path::new("missing.bin"));
/// assert!(pointmill_data::find_inputs(&["missing-*.bin"]).is_err());
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn find_inputs<P: AsRef<Path>>(args: &[P]) -> Result<Vec<Result<PathBuf, IoError>>, IoError> {
    let mut inputs = Vec::new();
    for arg in args {
        let path = arg.as_ref();
        // A pattern is text; a path that is none means itself.
        let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
        match pattern {
            _ if path.is_dir() => inputs.extend(in_folder(path)?),
            Some(pattern) if !path.exists() => inputs.extend(matching(pattern)?),
            _ => inputs.push(Ok(path.to_path_buf())),
        }
    }
    Ok(inputs)
}

/// Endings of text that a folder has beside its clouds.
const NOTES: [&str; 2] = [".txt", ".csv"];

fn in_folder(folder: &Path) -> Result<Vec<Result<PathBuf, IoError>>, IoError> {
    let (mut files, mut folders) = (Vec::new(), 0);
    if let Some(tiles) = find_tiles(folder)? {
        files.extend(tiles.into_iter().map(|tile| listed(tile, folder)));
        sort(&mut files);
        return Ok(files);
    }
    for path in entries_of(folder).map_err(IoError::io(folder, "open"))? {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let name = path.to_string_lossy().to_ascii_lowercase();
        let note = NOTES.iter().any(|ending| name.ends_with(ending));
        folders += usize::from(!hidden && path.is_dir());
        if !hidden && !note && Format::from_name(&path).is_some() {
            files.extend(regular(path, folder));
        }
    }
    if files.is_empty() {
        let endings = Format::ALL.iter().flat_map(|format| format.endings()).copied();
        let endings: Vec<_> = endings.filter(|ending| !NOTES.contains(ending)).collect();
        let wanted = format!("files ending in {}", endings.join(", "));
        let found = match folders {
            0 => "none".into(),
            n => {
                let (word, verb) = if n == 1 { ("folder", "is") } else { ("folders", "are") };
                let pattern = folder.join("**/*.bin");
                format!("{n} {word}, which {verb} not searched; name their files: '{}'", pattern.display())
            }
        };
        return Err(IoError::MissingField(Detail::new(folder, "folder", wanted, found)));
    }
    sort(&mut files);
    Ok(files)
}

fn matching(pattern: &str) -> Result<Vec<Result<PathBuf, IoError>>, IoError> {
    let found = pattern::expand(pattern)?;
    let mut files = found.refused.into_iter().map(Err).collect::<Vec<_>>();
    files.extend(found.paths.into_iter().filter_map(|path| regular(path, &found.folder)));
    if files.is_empty() {
        return Err(IoError::MissingField(Detail::new(pattern, "pattern", "a file that matches", "none")));
    }
    sort(&mut files);
    Ok(files)
}

fn sort(files: &mut [Result<PathBuf, IoError>]) {
    sort_naturally(files, |file| match file {
        Ok(path) => path,
        Err(e) => e.path(),
    });
}

/// A tile that the list of a folder names.
fn listed(tile: PathBuf, folder: &Path) -> Result<PathBuf, IoError> {
    let missing = |found: &str| {
        let wanted = format!("a file, as {} says", folder.join(TILES).display());
        Err(IoError::MissingField(Detail::new(&tile, "tile", wanted, found)))
    };
    if fs::symlink_metadata(&tile).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
        return missing("none");
    }
    regular(tile.clone(), folder).unwrap_or_else(|| missing("a folder"))
}

/// The path, if it is a regular file, or a link to one in the folder; `None` for a folder. All else
/// may never end, or is not of the folder.
fn regular(path: PathBuf, folder: &Path) -> Option<Result<PathBuf, IoError>> {
    let refuse = |found: String| {
        let wanted = format!("a regular file, or a link to one in {}", folder.display());
        Some(Err(IoError::UnsupportedFormat(Detail::new(&path, "file", wanted, found))))
    };
    let itself = match fs::symlink_metadata(&path) {
        Ok(metadata) => metadata.file_type(),
        Err(e) => return Some(Err(IoError::io(&path, "stat")(e))),
    };
    let target = match fs::metadata(&path) {
        Ok(metadata) => metadata.file_type(),
        Err(e) => return Some(Err(IoError::io(&path, "open")(e))),
    };
    if target.is_dir() {
        return None;
    }
    if !target.is_file() {
        return refuse(kind_of_file(target).into());
    }
    if itself.is_symlink() {
        let inside = path.canonicalize().and_then(|path| Ok(path.starts_with(folder.canonicalize()?)));
        if !inside.unwrap_or(false) {
            let target = fs::read_link(&path).unwrap_or_default();
            return refuse(format!("a symbolic link to {}", target.display()));
        }
    }
    Some(Ok(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_patterns_and_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["10.bin", "2.bin", "1.pcd.bin", "x.npy", ".hidden.bin", "readme.txt", "[odd].bin"] {
            fs::write(root.join(name), "").unwrap();
        }
        fs::create_dir(root.join("sub.bin")).unwrap();
        let find = |args: &[&str]| {
            let args: Vec<_> = args.iter().map(|a| root.join(a).to_str().unwrap().to_owned()).collect();
            find_inputs(&args).map(|found| {
                let shown = |p: &Path| p.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                let names = found.iter().map(|file| match file {
                    Ok(path) => shown(path),
                    Err(e) => format!("!{}", shown(e.path())),
                });
                names.collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(find(&[""]).unwrap(), "1.pcd.bin 2.bin 10.bin [odd].bin x.npy");
        assert_eq!(find(&["x.npy", "?.*", "missing.bin"]).unwrap(), "x.npy 1.pcd.bin 2.bin x.npy missing.bin");
        assert_eq!(find(&["[odd].bin"]).unwrap(), "[odd].bin");
        let e = find(&["sub.bin"]).unwrap_err();
        assert!(
            e.to_string().ends_with(
                "folder: expected files ending in .bin, .pcd.bin, .npy, .npz, .ply, .pcd, .las, .laz, .feather, .arrow, .mcap, .bag, .db3, .e57, .ptx, .xyz, .asc, .pts, got none"
            ),
            "{e}"
        );
        fs::create_dir(root.join("ros")).unwrap();
        fs::write(root.join("ros/ros_0.db3"), "").unwrap();
        fs::write(root.join("ros/metadata.yaml"), "").unwrap();
        assert_eq!(find(&["ros"]).unwrap(), "ros/ros_0.db3");
        // A map in tiles means those of its list.
        fs::create_dir(root.join("map")).unwrap();
        ["b.pcd", "notes.pcd"].iter().for_each(|name| fs::write(root.join("map").join(name), "").unwrap());
        let list = "x_resolution: 20.0\ny_resolution: 20.0\nb.pcd: [0, 0]\na.pcd: [0, 20]\n";
        fs::write(root.join("map").join(TILES), list).unwrap();
        assert_eq!(find(&["map"]).unwrap(), "!map/a.pcd map/b.pcd");
        let e = find_inputs(&[root.join("map")]).unwrap().remove(0).unwrap_err().to_string();
        assert!(e.contains("a.pcd: tile: expected a file, as ") && e.ends_with("got none"), "{e}");
        assert_eq!(find(&["*.las"]).unwrap_err().class(), "MissingField");
        assert_eq!(find(&["a[.bin"]).unwrap_err().class(), "InvalidArgument");
        assert!(find_inputs::<&str>(&[]).unwrap().is_empty());
        assert_eq!(find_inputs(&["-"]).unwrap()[0].as_deref().unwrap(), Path::new("-"));
    }

    /// The names that arguments mean in a folder, those that are errors with `!` before them.
    #[cfg(unix)]
    fn found(root: &Path, arg: &str) -> Result<String, IoError> {
        let shown = |path: &Path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let name = |file: &Result<PathBuf, IoError>| match file {
            Ok(path) => shown(path),
            Err(e) => format!("!{}", shown(e.path())),
        };
        let files = find_inputs(&[root.join(arg)])?;
        Ok(files.iter().map(name).collect::<Vec<_>>().join(" "))
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_of_a_folder_count_and_all_else_is_refused_without_opening_it() {
        use std::os::unix::fs::symlink;
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = folder.path();
        fs::write(root.join("a.bin"), "").unwrap();
        fs::write(other.path().join("secret.bin"), "").unwrap();
        symlink("a.bin", root.join("b.bin")).unwrap();
        symlink(other.path().join("secret.bin"), root.join("c.bin")).unwrap();
        symlink("/dev/zero", root.join("d.bin")).unwrap();
        symlink("nowhere", root.join("e.bin")).unwrap();
        symlink("f.bin", root.join("f.bin")).unwrap();
        symlink(other.path(), root.join("g.bin")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("h.bin")).unwrap();
        let wanted = "a.bin b.bin !c.bin !d.bin !e.bin !f.bin !h.bin";
        assert_eq!((found(root, "").unwrap().as_str(), found(root, "*.bin").unwrap().as_str()), (wanted, wanted));
        let told = |arg: &str| find_inputs(&[root.join(arg)]).unwrap().remove(0).unwrap_err().to_string();
        assert!(told("d*").ends_with(&format!("or a link to one in {}, got a device", root.display())));
        assert!(told("h*").ends_with("got a socket"));
        assert!(told("c*").ends_with(&format!("got a symbolic link to {}/secret.bin", other.path().display())));
        // By its name each may be read.
        assert_eq!(found(root, "c.bin").unwrap(), "c.bin");
    }

    #[cfg(unix)]
    #[test]
    fn links_to_folders_are_not_followed_and_loops_end() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("g/s/t")).unwrap();
        ["g/1.bin", "g/s/2.bin", "g/s/t/3.bin"].iter().for_each(|name| fs::write(root.join(name), "").unwrap());
        for link in ["g/l1", "g/l2", "g/s/l3"] {
            symlink(root.join("g"), root.join(link)).unwrap();
        }
        assert_eq!(found(root, "g/**/*.bin").unwrap(), "g/1.bin g/s/2.bin g/s/t/3.bin");
        assert_eq!(found(root, "g/**/**/t/**/*.bin").unwrap(), "g/s/t/3.bin");
        assert_eq!(found(root, "g/*/*.bin").unwrap(), "g/s/2.bin");
        // What stands before the first wildcard was named.
        assert_eq!(found(root, "g/l1/*.bin").unwrap(), "g/l1/1.bin");
        assert_eq!(found(root, "g/**").unwrap_err().class(), "MissingField");
    }
}
