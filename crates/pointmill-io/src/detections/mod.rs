//! Boxes of 3D detection, found or true, from the files of KITTI, nuScenes and Argoverse 2.

mod argoverse;
mod check;
mod kitti;
mod nuscenes;

pub use argoverse::read_argoverse;
pub use kitti::{check_same_kitti_files, read_kitti};
pub use nuscenes::{ATTRIBUTES, read_nuscenes};

use crate::error::{Detail, IoError};
use crate::files::{Place, open_at};
use crate::limits::Limits;
use crate::plain_text::PlainText;
use crate::source::Source;
use std::path::{Path, PathBuf};

/// Boxes of some frames, column by column: what a detector found, or what is true.
///
/// **Shapes**: `splits` has a number more than `frames`; the rows of frame `i` are
/// `splits[i]..splits[i + 1]`. `class`, `boxes` and `scores` have a value for each row. The others
/// have one too, or are empty where the file has no such values.
///
/// **Order**: names of frames ascend. Rows of a frame have the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detections {
    /// Names of the frames.
    pub frames: Vec<String>,
    /// The first row of each frame, then the number of all rows.
    pub splits: Vec<usize>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// The class of each row, an index into `classes`.
    pub class: Vec<u32>,
    /// The centre x y z and the extents dx dy dz in metres, and the yaw about +z in radians; dx lies
    /// along the heading.
    pub boxes: Vec<[f64; 7]>,
    /// How sure a detector is, higher is surer. It is 1 where the file has labels.
    pub scores: Vec<f64>,
    /// Where the first box without a score stands: the file, and the place in it.
    pub unscored: Option<(PathBuf, String)>,
    /// What KITTI has in the image.
    pub image: Vec<ImageBox>,
    /// What nuScenes has.
    pub states: Vec<BoxState>,
    /// LiDAR (and in nuScenes radar) points in the box; -1 is not known.
    pub num_points: Vec<i64>,
    /// What was left out of the files, with counts.
    pub warnings: Vec<String>,
}

/// A box in the image, in KITTI.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ImageBox {
    /// Left, top, right, bottom in pixels.
    pub corners: [f64; 4],
    /// Which part is outside the image, from 0 to 1; in labels of tracking 0, 1 or 2.
    pub truncation: f64,
    /// 0: visible, 1: partly occluded, 2: largely occluded, 3: unknown.
    pub occlusion: f64,
    /// The angle of observation in radians; -10 is not known.
    pub alpha: f64,
}

/// Motion, attribute and place of a box in nuScenes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxState {
    /// Velocity in x and y in m/s; NaN is not known.
    pub velocity: [f64; 2],
    /// An index into [`ATTRIBUTES`]; `None` has no attribute.
    pub attribute: Option<u8>,
    /// x and y relative to the vehicle, where the file has them.
    pub from_ego: Option<[f64; 2]>,
}

impl Detections {
    /// The number of boxes.
    pub fn len(&self) -> usize {
        self.boxes.len()
    }

    /// Whether there are no boxes.
    pub fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    /// The frame of each row.
    pub fn frame_of_rows(&self) -> Vec<u32> {
        let rows = |(i, rows): (usize, &[usize])| vec![i as u32; rows[1] - rows[0]];
        self.splits.windows(2).enumerate().flat_map(rows).collect()
    }

    /// Makes room for so many more rows of the columns that all files have.
    fn reserve(&mut self, path: &Path, rows: usize) -> Result<(), IoError> {
        let refused = |_| out_of_memory(path, rows.saturating_mul(size_of::<[f64; 7]>()));
        self.boxes.try_reserve(rows).map_err(refused)?;
        self.class.try_reserve(rows).map_err(refused)?;
        self.scores.try_reserve(rows).map_err(refused)
    }

    /// Takes the rows since the last frame as those of a frame.
    fn end_frame(&mut self, name: String) {
        if self.splits.is_empty() {
            self.splits.push(0);
        }
        self.frames.push(name);
        self.splits.push(self.boxes.len());
    }

    /// The same with frames in the order of their names, frames of one name joined, the earlier first.
    fn sorted(self) -> Self {
        let mut order: Vec<usize> = (0..self.frames.len()).collect();
        order.sort_by(|&a, &b| self.frames[a].cmp(&self.frames[b]));
        if order.windows(2).all(|pair| pair[0] < pair[1] && self.frames[pair[0]] != self.frames[pair[1]]) {
            return Self { splits: if self.splits.is_empty() { vec![0] } else { self.splits }, ..self };
        }
        let rows: Vec<usize> = order.iter().flat_map(|&i| self.splits[i]..self.splits[i + 1]).collect();
        let (mut frames, mut splits): (Vec<String>, Vec<usize>) = (vec![], vec![0]);
        for i in order {
            let end = splits.last().copied().unwrap_or(0) + self.splits[i + 1] - self.splits[i];
            if frames.last() == Some(&self.frames[i]) {
                splits.pop();
            } else {
                frames.push(self.frames[i].clone());
            }
            splits.push(end);
        }
        fn gather<T: Copy>(of: &[T], rows: &[usize]) -> Vec<T> {
            if of.is_empty() { vec![] } else { rows.iter().map(|&row| of[row]).collect() }
        }
        Self {
            frames,
            splits,
            class: gather(&self.class, &rows),
            boxes: gather(&self.boxes, &rows),
            scores: gather(&self.scores, &rows),
            image: gather(&self.image, &rows),
            states: gather(&self.states, &rows),
            num_points: gather(&self.num_points, &rows),
            classes: self.classes,
            unscored: self.unscored,
            warnings: self.warnings,
        }
    }
}

/// The bytes of a text in UTF-8 whose lines end in `\n`, which count as memory; so much of it is taken.
fn read_bytes(place: Place<'_>, limits: &Limits, taken: &mut u64) -> Result<Vec<u8>, IoError> {
    let (file, length) = open_at(place)?;
    let mut text = PlainText::new(file).map_err(IoError::io(place.path, "read"))?;
    let length = text.length(length);
    let most = limits.max_memory.map(|most| most.saturating_sub(*taken));
    let mut source = Source::new(place.path, &mut text, length).within(most);
    let mut bytes = vec![];
    source.append(&mut bytes, u64::MAX)?;
    Ok(bytes)
}

/// The error of memory that the system refuses.
fn out_of_memory(path: &Path, bytes: usize) -> IoError {
    IoError::OutOfMemory(Detail::new(path, "memory", format!("{bytes} bytes"), "a refusal"))
}

/// Counts memory of rows that stays, and refuses what is above the limit.
fn take(path: &Path, limits: &Limits, taken: &mut u64, bytes: usize) -> Result<(), IoError> {
    *taken = taken.saturating_add(bytes as u64);
    let taken = *taken;
    let Some(most) = limits.max_memory.filter(|most| taken > *most) else { return Ok(()) };
    let wanted = format!("at most {most} bytes (the limit `max_memory`, --max-memory)");
    Err(IoError::LimitExceeded(Detail::new(path, "memory", wanted, format!("{taken} bytes or more"))))
}
