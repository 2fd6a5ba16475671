//! What arguments name: one file, the files of a folder or a pattern, the clouds of a bag, the
//! standard input.

use super::find_inputs;
use super::source::{BagCloud, STDIN, Source};
use crate::{DataError, Needs};
use pointmill_io::bag::{Bag, files_of_folder};
use pointmill_io::{Detail, Format, IoError, ReadOptions, Scan, read, read_from};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file, or each cloud of a bag. A bag that cannot be opened fails in its turn, one that was
/// cut after its last cloud.
///
/// # Errors
/// A bag of which no topic is meant, or one of several.
pub(super) fn clouds_of_file(path: PathBuf, options: &ReadOptions) -> Result<Vec<Source>, IoError> {
    if !path.is_dir() {
        let bag = is_bag(&path).then(|| open_bag(&path, options).ok()).flatten();
        return clouds(Source::File(path), bag, options);
    }
    // A folder is no file that fails in its turn.
    let (bag, end) = match open_bag(&path, options) {
        Ok(bag) => {
            let none = || IoError::UnsupportedFormat(Detail::new(&path, "clouds", "one or more", "a topic without"));
            let end = bag.cut().unwrap_or_else(none);
            (bag, end)
        }
        Err(e) => return Ok(vec![Source::Nothing(e)]),
    };
    clouds(Source::Nothing(end), Some(bag), options)
}

/// The same of a file and of the bag in it, if it is one that can be opened.
pub(super) fn clouds(file: Source, bag: Option<Bag>, options: &ReadOptions) -> Result<Vec<Source>, IoError> {
    let Some(bag) = bag else { return Ok(vec![file]) };
    if options.topics.is_empty() && bag.topics().iter().all(|topic| topic.cloud_encoding().is_none()) {
        return Ok(vec![file]);
    }
    let sweeps = Arc::new(bag.sweeps(&options.topics, options.extrinsics.as_ref())?);
    let bag = Arc::new(bag);
    let cloud = |number| Source::Cloud(BagCloud { bag: bag.clone(), sweeps: sweeps.clone(), number, is_told: false });
    let mut sources: Vec<_> = (0..sweeps.len()).map(cloud).collect();
    if bag.cut().is_some() || sweeps.is_empty() {
        sources.push(file);
    }
    Ok(sources)
}

/// The cloud that an argument names as outputs and messages do, `drive.mcap#000003`; `None` if it
/// names none, or is a file.
pub(super) fn cloud_of_bag(arg: &Path, options: &ReadOptions) -> Option<Result<Source, IoError>> {
    let (path, number) = bag_and_number(arg)?;
    let find = || {
        let bag = open_bag(&path, options)?;
        let sweeps = bag.sweeps(&options.topics, options.extrinsics.as_ref())?;
        if number >= sweeps.len() {
            let topic = &bag.topics()[sweeps.topics()[0]].name;
            let expected = format!("a number below {}, the clouds of {topic}", sweeps.len());
            return Err(IoError::InvalidArgument(Detail::new(arg, "cloud", expected, number.to_string())));
        }
        Ok(Source::Cloud(BagCloud { bag: Arc::new(bag), sweeps: Arc::new(sweeps), number, is_told: false }))
    };
    Some(find())
}

/// The bag and the number in the name of a cloud.
fn bag_and_number(arg: &Path) -> Option<(PathBuf, usize)> {
    let (path, number) = arg.to_str()?.rsplit_once('#').filter(|_| !arg.exists())?;
    let is_number = number.bytes().all(|b| b.is_ascii_digit());
    let number = number.parse().ok().filter(|_| is_number && is_bag(path.as_ref()))?;
    Some((path.into(), number))
}

/// Opens a bag, as the options say.
pub fn open_bag(path: &Path, options: &ReadOptions) -> Result<Bag, IoError> {
    let open = if options.salvage { Bag::salvage } else { Bag::open };
    open(path, &options.limits)
}

/// Whether a file is a bag, by its name, or a folder one of several files.
pub fn is_bag(path: &Path) -> bool {
    if path.is_dir() { files_of_folder(path).is_ok_and(|files| files.is_some()) } else { is_named(path) }
}

fn is_named(path: &Path) -> bool {
    Format::from_name(path).is_some_and(Format::is_bag)
}

/// The inputs of an argument that is not `-`: a file, the clouds of a folder, the files that match
/// a pattern. One that cannot be read fails in its turn. A folder that is a bag is one input.
pub fn files(arg: &Path) -> Result<Vec<Source>, DataError> {
    match files_of_folder(arg) {
        // A bag of one file has its name.
        Ok(Some(files)) => match &files[..] {
            [file] if file.is_file() && !file.is_symlink() => return Ok(vec![Source::File(file.clone())]),
            _ => return Ok(vec![Source::File(arg.into())]),
        },
        Err(e) => return Ok(vec![Source::Nothing(e)]),
        Ok(None) => {}
    }
    match find_inputs(&[arg]) {
        Ok(found) => Ok(found.into_iter().map(|f| f.map_or_else(Source::Nothing, Source::File)).collect()),
        Err(e @ IoError::InvalidArgument(_)) => Err(e.into()),
        Err(e) => Ok(vec![Source::Nothing(e)]),
    }
}

/// Whether an argument is the standard input.
pub fn is_stdin(arg: &Path) -> bool {
    arg.as_os_str() == STDIN
}

/// Whether an argument names a file of one cloud: no folder, no pattern and no bag.
pub fn is_one_file(arg: &Path) -> bool {
    let is_pattern = || arg.to_str().is_some_and(|text| text.contains(['*', '?', '[']));
    !arg.is_dir() && !is_bag(arg) && (arg.exists() || !is_pattern())
}

/// Whether the arguments may name any number of files, so that `--out` is a folder however many are
/// found.
///
/// A path that does not exist counts as a folder unless it has the name of a cloud.
pub fn may_be_many(args: &[PathBuf]) -> bool {
    match args {
        [] => false,
        [arg] if is_one_file(arg) => {
            !is_stdin(arg) && !arg.exists() && Format::from_name(arg).is_none() && bag_and_number(arg).is_none()
        }
        _ => true,
    }
}

/// Reads a file or the standard input, for which [`require_format`] has checked the format.
pub fn read_cloud(input: &Path, options: &ReadOptions) -> Result<Scan, IoError> {
    if is_stdin(input) { read_stdin(options) } else { read(input, options) }
}

pub(super) fn read_stdin(options: &ReadOptions) -> Result<Scan, IoError> {
    read_from(std::io::stdin().lock(), STDIN, options)
}

/// The error of the standard input that is given for more than one input.
pub fn stdin_twice() -> DataError {
    DataError::option(STDIN, "the standard input for one input only", "it for more")
}

/// Checks that `--format` is given, since the standard input has no name that tells its format.
pub fn require_format(options: &ReadOptions) -> Result<(), DataError> {
    match options.format {
        Some(_) => Ok(()),
        None => {
            let expected = "a format, because the standard input has no file name";
            Err(DataError::without(STDIN, expected, "none", Needs::any("format")))
        }
    }
}
