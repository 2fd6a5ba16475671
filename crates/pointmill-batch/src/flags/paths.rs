//! The files that a command line names: those that are read exist, and none of them is written.
//!
//! One table for all commands: an argument whose value is a path is read, unless it is listed here.

use crate::failure::Failure;
use crate::pose::in_numbers;
use crate::text::shown;
use clap::{Arg, ArgMatches, Command};
use std::any::TypeId;
use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Arguments that name what is written.
const WRITTEN: [&str; 5] = ["map_out", "moments", "out", "plot", "visualize"];
/// Those that do so in one command, and name what is read in the others.
const WRITTEN_BY: [(&str, &str); 1] = [("synth", "poses")];

/// Arguments that take a pose in numbers in place of a file.
const POSES: [&str; 2] = ["--guess", "--pose"];

/// The paths that are read, as they were given.
static READ: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// A path of the command line, and the argument that it is the value of.
struct Named {
    argument: String,
    path: PathBuf,
}

impl Named {
    /// That there is nothing. Numbers were meant as a pose, or as the value of the flag before them.
    fn missing(&self) -> String {
        let Self { argument, path } = self;
        let name = shown(path);
        let are_numbers = name.split([' ', ',']).all(|word| word.is_empty() || word.parse::<f64>().is_ok());
        let way_out = match are_numbers {
            true if POSES.contains(&argument.as_str()) => {
                "; give a file with a pose, or 6 numbers: \"X Y Z ROLL PITCH YAW\""
            }
            true => "; values of a flag are separated by commas: --voxel-size 0.1,0.1,0.2",
            false => "",
        };
        format!("{argument}: {name}: no such file or folder{way_out}")
    }
}

/// The paths that the command line says are read.
pub(crate) fn read() -> impl Iterator<Item = &'static Path> {
    READ.get().into_iter().flatten().map(PathBuf::as_path)
}

/// Checks all paths of a command line, before any work.
///
/// # Errors
/// A path to read that does not exist, a file that is read and written, and one that is written
/// twice.
pub(crate) fn check(command: &Command, matches: &ArgMatches) -> Result<(), Failure> {
    let (command, matches) = asked(command, matches);
    let (mut read, mut written) = (Vec::new(), Vec::new());
    for arg in command.get_arguments().filter(|arg| is_path(arg)) {
        let id = arg.get_id().as_str();
        let paths = matches.get_many::<PathBuf>(id).into_iter().flatten();
        let named = paths.map(|path| Named { argument: name_of(arg), path: path.clone() });
        if is_written(command.get_name(), id) { written.extend(named) } else { read.extend(named) }
    }
    let is_pose = |named: &&Named| POSES.contains(&named.argument.as_str()) && in_numbers(&named.path).is_some();
    let missing = read.iter().filter(|named| is_missing(&named.path) && !is_pose(named));
    let missing: Vec<_> = missing.map(Named::missing).collect();
    if !missing.is_empty() {
        return Err(Failure::Usage(missing.join("; ")));
    }
    // Folders may hold both.
    let file = |named: &Named| named.path.canonicalize().ok().filter(|path| !path.is_dir());
    let mut seen: HashMap<PathBuf, &Named> = read.iter().filter_map(|named| Some((file(named)?, named))).collect();
    for named in &written {
        let path = file(named).or_else(|| std::path::absolute(&named.path).ok().filter(|path| !path.is_dir()));
        // What is no file may be written as often as one likes.
        let path = path.filter(|path| fs::metadata(path).is_ok_and(|m| m.is_file()) || !path.exists());
        if let Some(other) = path.and_then(|path| seen.insert(path, named)) {
            let (flag, path) = (&named.argument, shown(&named.path));
            let message = match written.iter().any(|named| std::ptr::eq(named, other)) {
                true => format!("{flag}: {path} is also the file of {}; choose another name", other.argument),
                false => format!("{flag}: {path} is also an input; choose another name"),
            };
            return Err(Failure::Usage(message));
        }
    }
    READ.set(read.into_iter().map(|named| named.path).collect()).ok();
    Ok(())
}

/// The subcommand that was asked for, and what the command line gives it.
fn asked<'a>(mut command: &'a Command, mut matches: &'a ArgMatches) -> (&'a Command, &'a ArgMatches) {
    while let Some((name, below)) = matches.subcommand() {
        command = command.find_subcommand(name).expect("clap has found it");
        matches = below;
    }
    (command, matches)
}

/// Whether the value of an argument is a path.
pub fn is_path(arg: &Arg) -> bool {
    arg.get_value_parser().type_id() == TypeId::of::<PathBuf>()
}

/// Whether an argument of a command names what is written; else it is read.
pub fn is_written(command: &str, id: &str) -> bool {
    WRITTEN.contains(&id) || WRITTEN_BY.contains(&(command, id))
}

fn name_of(arg: &Arg) -> String {
    let value = || arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    arg.get_long().map_or_else(|| value().unwrap_or_default(), |long| format!("--{long}"))
}

/// Whether nothing is there. The standard input, a pattern and a cloud of a bag are no names of
/// files.
fn is_missing(path: &Path) -> bool {
    let is_pattern = |text: &str| text.contains(['*', '?', '[']);
    let bag = |text: &str| text.rsplit_once('#').is_some_and(|(bag, _)| Path::new(bag).exists());
    let means_more = path.to_str().is_some_and(|text| text == "-" || is_pattern(text) || bag(text));
    let is_nothing = |e: std::io::Error| matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    !means_more && fs::symlink_metadata(path).is_err_and(is_nothing)
}
