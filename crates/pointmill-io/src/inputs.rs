//! Which files are meant: files as given, folders with sweeps, patterns.

use crate::error::{Detail, IoError};
use crate::format::Format;
use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that arguments mean, in the order of the arguments.
///
/// - a folder means the point-cloud files directly in it, told by their extensions, hidden ones left out;
/// - a pattern (`*`, `?`, `[..]`) means the files it matches, whatever their extensions;
/// - anything else means itself, be it there or not: a file that is missing fails when it is read, so that a batch goes on.
///
/// # Order
/// Within a folder and a pattern natural: `2.bin` before `10.bin`.
///
/// # Errors
/// A folder without such a file, a pattern without a match or with a mistake, a folder that cannot be read.
///
/// ```
/// use std::path::PathBuf;
/// assert_eq!(pointmill_io::find_inputs(&["missing.bin".into()])?, [PathBuf::from("missing.bin")]);
/// assert!(pointmill_io::find_inputs(&["missing-*.bin".into()]).is_err());
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn find_inputs(args: &[String]) -> Result<Vec<PathBuf>, IoError> {
    let mut inputs = Vec::new();
    for arg in args {
        let path = Path::new(arg);
        if path.is_dir() {
            inputs.extend(in_folder(path)?);
        } else if arg.contains(['*', '?', '[']) && !path.exists() {
            inputs.extend(matching(arg)?);
        } else {
            inputs.push(path.to_path_buf());
        }
    }
    Ok(inputs)
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(IoError::io(folder, "open"))? {
        let path = entry.map_err(IoError::io(folder, "read"))?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && Format::from_name(&path).is_some() && !path.is_dir() {
            files.push(path);
        }
    }
    if files.is_empty() {
        let wanted = format!("files ending in {}", Format::extensions());
        return Err(IoError::MissingField(Detail::new(folder, "folder", wanted, "none")));
    }
    files.sort_by(|a, b| natural_order(a, b));
    Ok(files)
}

fn matching(pattern: &str) -> Result<Vec<PathBuf>, IoError> {
    let paths = glob::glob(pattern)
        .map_err(|e| IoError::InvalidArgument(Detail::new(pattern, "pattern", "a valid pattern", e.to_string())))?;
    let mut files = Vec::new();
    for path in paths {
        let path = path.map_err(|e| IoError::io(e.path(), "read")(e.error().kind().into()))?;
        if !path.is_dir() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(IoError::MissingField(Detail::new(pattern, "pattern", "a file that matches", "none")));
    }
    files.sort_by(|a, b| natural_order(a, b));
    Ok(files)
}

/// Compares paths part by part, and in each part runs of digits by their value: `a/2.bin` before `a/10.bin`.
///
/// ```
/// use std::cmp::Ordering;
/// use std::path::Path;
/// assert_eq!(pointmill_io::natural_order(Path::new("2.bin"), Path::new("10.bin")), Ordering::Less);
/// ```
pub fn natural_order(a: &Path, b: &Path) -> Ordering {
    let parts = |path: &Path| path.components().map(|c| c.as_os_str().to_owned()).collect::<Vec<_>>();
    let (a_parts, b_parts) = (parts(a), parts(b));
    let by_parts = a_parts.iter().zip(&b_parts).map(|(a, b)| natural_part(a, b)).find(|o| o.is_ne());
    // `1` and `01` are alike so far; the order must still be one.
    by_parts.unwrap_or_else(|| a_parts.len().cmp(&b_parts.len())).then_with(|| a.cmp(b))
}

fn natural_part(a: &OsStr, b: &OsStr) -> Ordering {
    let (mut a, mut b) = (a.as_encoded_bytes(), b.as_encoded_bytes());
    loop {
        let (Some(x), Some(y)) = (a.first(), b.first()) else { return a.len().cmp(&b.len()) };
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (m, n) = (take_number(&mut a), take_number(&mut b));
            // Numbers of any length: the longer is larger, of equally long ones the first different digit decides.
            match m.len().cmp(&n.len()).then_with(|| m.cmp(n)) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
        } else if x == y {
            (a, b) = (&a[1..], &b[1..]);
        } else {
            return x.cmp(y);
        }
    }
}

/// Takes a run of digits off the front; its digits without leading zeros.
fn take_number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    *text = rest;
    &number[number.iter().take_while(|&&b| b == b'0').count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_by_value() {
        let sorted =
            ["", "a", "a1", "a01", "a2", "a2b", "a10", "a10/x", "a18446744073709551616", "a18446744073709551617", "b"];
        let mut paths: Vec<_> = sorted.iter().rev().map(Path::new).collect();
        paths.sort_by(|a, b| natural_order(a, b));
        let at = |name: &str| paths.iter().position(|p| *p == Path::new(name)).unwrap();
        assert!(at("a1").abs_diff(at("a01")) == 1);
        let without: Vec<_> = paths.iter().filter(|p| **p != Path::new("a01")).collect();
        let wanted: Vec<_> = sorted.iter().filter(|p| **p != "a01").map(Path::new).collect();
        assert!(without.into_iter().copied().eq(wanted));
    }

    #[test]
    fn folders_patterns_and_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["10.bin", "2.bin", "1.pcd.bin", "x.npy", ".hidden.bin", "readme.txt", "[odd].bin"] {
            fs::write(root.join(name), "").unwrap();
        }
        fs::create_dir(root.join("sub.bin")).unwrap();
        let find = |args: &[&str]| {
            let args: Vec<_> = args.iter().map(|a| root.join(a).to_str().unwrap().to_string()).collect();
            find_inputs(&args).map(|found| {
                let names = found.iter().map(|p| p.strip_prefix(root).unwrap().to_str().unwrap().to_string());
                names.collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(find(&[""]).unwrap(), "1.pcd.bin 2.bin 10.bin [odd].bin x.npy");
        assert_eq!(find(&["x.npy", "?.*", "missing.bin"]).unwrap(), "x.npy 1.pcd.bin 2.bin x.npy missing.bin");
        assert_eq!(find(&["[odd].bin"]).unwrap(), "[odd].bin");
        let e = find(&["sub.bin"]).unwrap_err();
        assert!(
            e.to_string().ends_with(
                "folder: wanted files ending in .pcd.bin, .bin, .npy, .npz, .ply, .pcd, .las, .laz, found none"
            ),
            "{e}"
        );
        assert_eq!(find(&["*.las"]).unwrap_err().class(), "MissingField");
        assert_eq!(find(&["a[.bin"]).unwrap_err().class(), "InvalidArgument");
        assert!(find_inputs(&[]).unwrap().is_empty());
        assert_eq!(find_inputs(&["-".into()]).unwrap(), [PathBuf::from("-")]);
    }
}
