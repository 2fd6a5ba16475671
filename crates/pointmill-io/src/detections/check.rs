//! What a box may be.

use super::Detections;
use crate::error::{Detail, IoError, escape};
use crate::fault::fault;
use crate::files::entries_of;
use pointmill_core::boxes::{MAX_EXTENT, MAX_YAW};
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

/// The index of a class.
pub(super) fn class_of(known: &[&str], name: &str) -> Result<u32, Wrong> {
    let found = known.iter().position(|known| *known == name);
    found.map(|i| i as u32).ok_or_else(|| ("class".into(), format!("one of {}", known.join(", ")), format!("`{name}`")))
}

/// The yaw of a quaternion w, x, y, z of any length but 0.
pub(super) fn yaw_of([w, x, y, z]: [f64; 4]) -> Result<f64, Wrong> {
    let square = w * w + x * x + y * y + z * z;
    if !(square.is_finite() && square > 0.0) {
        return Err(("rotation".into(), "a quaternion w x y z".into(), format!("{w} {x} {y} {z}")));
    }
    Ok((2.0 * (x * y + w * z)).atan2(w * w + x * x - y * y - z * z))
}

/// The names of the files and folders in a folder, ascending, without hidden ones.
pub(super) fn listed(path: &Path) -> Result<Vec<PathBuf>, IoError> {
    let mut found = entries_of(path).map_err(IoError::io(path, "list"))?;
    found.retain(|entry| entry.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b".")));
    found.sort();
    Ok(found)
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
