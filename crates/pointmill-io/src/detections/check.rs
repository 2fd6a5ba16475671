//! What a box may be.

use super::{Detections, ImageBox};
use crate::error::{Detail, IoError, escape};
use crate::fault::fault;
use crate::files::entries_of;
use pointmill_core::boxes::{MAX_EXTENT, MAX_YAW};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is wrong with a value: its name, what was expected, what was got.
pub(super) type Wrong = (String, String, String);

/// The error for what is wrong at a place of a file.
pub(super) fn error(path: &Path, place: &str, (name, expected, got): Wrong) -> IoError {
    fault!(path, BadValue, "{place}: {name}", expected, got)
}

/// Checks the numbers of a box.
pub(super) fn check_box(row: &[f64; 7]) -> Result<(), Wrong> {
    for (i, &x) in row.iter().enumerate() {
        let name = ["x", "y", "z", "dx", "dy", "dz", "yaw"][i];
        let (least, most) = match i {
            0..3 => (-MAX_EXTENT, MAX_EXTENT),
            3..6 => (0.0, MAX_EXTENT),
            _ => (-MAX_YAW, MAX_YAW),
        };
        if !(least..=most).contains(&x) {
            return Err((format!("box: {name}"), format!("{least:e} to {most:e}"), format!("{x:e}")));
        }
    }
    Ok(())
}

/// Checks that a number is finite.
pub(super) fn finite(name: &str, x: f64) -> Result<f64, Wrong> {
    if x.is_finite() { Ok(x) } else { Err((name.into(), "a finite number".into(), x.to_string())) }
}

/// The most names of classes that a file may add to those of its benchmark, and what the rest are
/// called.
const MOST_CLASSES: usize = 64;
const OTHER: &str = "(other)";
/// The longest name that a file may give to a class, a frame or a log, in bytes.
pub(super) const LONGEST_NAME: usize = 256;

/// The names of classes, of the benchmark and of the file.
pub(super) struct Classes {
    names: Vec<String>,
    known: usize,
}

impl Classes {
    pub(super) fn new(known: &[&str]) -> Self {
        Self { names: known.iter().map(|&name| name.to_owned()).collect(), known: known.len() }
    }

    /// The index of a class. One that the benchmark does not have is kept; an evaluation counts it.
    pub(super) fn index(&mut self, name: &str) -> u32 {
        if let Some(at) = self.names.iter().position(|known| known == name) {
            return at as u32;
        }
        let is_kept = name.len() <= LONGEST_NAME && self.names.len() < self.known + MOST_CLASSES;
        if is_kept {
            self.names.push(name.to_owned());
            return self.names.len() as u32 - 1;
        }
        match self.names.iter().position(|known| known == OTHER) {
            Some(at) => at as u32,
            None => {
                self.names.push(OTHER.to_owned());
                self.names.len() as u32 - 1
            }
        }
    }

    pub(super) fn into_names(self) -> Vec<String> {
        self.names
    }
}

/// Boxes, or values of them, that cannot be used: for each kind how many, and the first.
#[derive(Default)]
pub(super) struct LeftOut(BTreeMap<String, (usize, String)>);

impl LeftOut {
    /// Notes a box that is left out.
    pub(super) fn a_box(&mut self, place: &str, wrong: Wrong) {
        self.note("left out", place, wrong);
    }

    /// Notes a value that is taken as unknown.
    pub(super) fn a_value(&mut self, place: &str, wrong: Wrong) {
        self.note("taken without this value", place, wrong);
    }

    fn note(&mut self, what: &str, place: &str, (name, expected, got): Wrong) {
        let of = self.0.entry(format!("{what}: {name}: expected {expected}"));
        of.or_insert_with(|| (0, format!("first {place}: {got}"))).0 += 1;
    }

    pub(super) fn warnings(self) -> Vec<String> {
        let told = |(what, (count, first))| {
            format!("{count} {} {what} ({first})", if count == 1 { "box is" } else { "boxes are" })
        };
        self.0.into_iter().map(told).collect()
    }
}

/// The yaw of a quaternion w, x, y, z of any length but 0.
pub(super) fn yaw_of([w, x, y, z]: [f64; 4]) -> Result<f64, Wrong> {
    let square = w * w + x * x + y * y + z * z;
    if !(square.is_finite() && square > 0.0) {
        return Err(("rotation".into(), "a quaternion w x y z".into(), format!("{w:e} {x:e} {y:e} {z:e}")));
    }
    Ok((2.0 * (x * y + w * z)).atan2(w * w + x * x - y * y - z * z))
}

/// The names of the files and folders in a folder, ascending, without hidden ones.
pub(super) fn listed(path: &Path) -> Result<Vec<PathBuf>, IoError> {
    let mut found = entries_of(path).map_err(IoError::io(path, "list"))?;
    found.retain(|entry| entry.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b".")));
    if let Some(name) = found.iter().filter_map(|entry| entry.file_name()).find(|name| name.to_str().is_none()) {
        let got = format!("`{}`; rename it, since frames are named after files", escape(&name.to_string_lossy()));
        return Err(IoError::BadValue(Detail::new(path, "files", "names in UTF-8", got)));
    }
    found.sort();
    Ok(found)
}

/// Whether a path of a folder is a folder. Links are not followed.
///
/// # Errors
/// A link to a folder, which would else be left out without a word.
pub(super) fn is_folder(path: &Path) -> Result<bool, IoError> {
    let kind = std::fs::symlink_metadata(path).map_err(IoError::io(path, "stat"))?.file_type();
    if kind.is_symlink() && path.is_dir() {
        let got = "a symbolic link to one; name that folder as the argument, or put it in the link's place";
        return Err(IoError::UnsupportedFormat(Detail::new(path, "folder", "a folder", got)));
    }
    Ok(kind.is_dir())
}

/// The last part of a path without its extension, as a frame is named after it.
pub(super) fn stem(path: &Path) -> String {
    escape(&path.file_stem().unwrap_or_default().to_string_lossy())
}

impl Detections {
    /// Checks shapes, indices, order and numbers; `name` is what errors call the boxes.
    ///
    /// # Errors
    /// [`IoError::InvalidArgument`] with the column and, of a value, its row.
    pub fn validate(&self, name: &str) -> Result<(), IoError> {
        let bad = |field: String, expected: String, got: String| {
            Err(IoError::InvalidArgument(Detail::new(name, field, expected, got)))
        };
        let rows = self.boxes.len();
        let columns = [
            ("class", self.class.len(), false),
            ("scores", self.scores.len(), false),
            ("image", self.image.len(), true),
            ("states", self.states.len(), true),
            ("num_points", self.num_points.len(), true),
        ];
        for (column, length, optional) in columns {
            if length != rows && !(optional && length == 0) {
                return bad(column.into(), format!("{rows} rows, as boxes"), format!("{length} rows"));
            }
        }
        let splits = &self.splits;
        let ascends = splits.windows(2).all(|pair| pair[0] <= pair[1]);
        if splits.len() != self.frames.len() + 1 || splits[0] != 0 || splits.last() != Some(&rows) || !ascends {
            let expected = format!("{} numbers that ascend from 0 to {rows}", self.frames.len() + 1);
            return bad("splits".into(), expected, format!("{} numbers", splits.len()));
        }
        if let Some((a, b)) = self.frames.iter().zip(&self.frames[1.min(self.frames.len())..]).find(|(a, b)| a >= b) {
            return bad("frames".into(), "names that ascend".into(), format!("`{a}` before `{b}`"));
        }
        for (i, ImageBox { corners, truncation, occlusion, .. }) in self.image.iter().enumerate() {
            let is_finite = corners.iter().chain([truncation, occlusion]).all(|x| x.is_finite());
            if !is_finite {
                let got = format!("{corners:?}, {truncation}, {occlusion}");
                return bad(format!("row {i}: image box"), "finite numbers".into(), got);
            }
        }
        for (i, (row, (&class, &score))) in self.boxes.iter().zip(self.class.iter().zip(&self.scores)).enumerate() {
            if class as usize >= self.classes.len() {
                return bad(format!("row {i}: class"), format!("less than {}", self.classes.len()), class.to_string());
            }
            if let Err((field, expected, got)) = check_box(row).and_then(|()| finite("score", score)) {
                return bad(format!("row {i}: {field}"), expected, got);
            }
        }
        Ok(())
    }
}
