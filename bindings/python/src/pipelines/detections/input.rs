//! Boxes as callers give them: the files of a benchmark, or a dict of columns.

use crate::errors::{file, kind, value};
use crate::interrupt::{Effort, run};
use crate::poses;
use pointmill_detection::{Detections, Protocol, read};
use pointmill_io::detections::{ATTRIBUTES, BoxState, ImageBox};
use pointmill_io::{Limits, escape};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The names between two looks for signals.
const LOOK: usize = 4096;

/// The columns that a dict may have.
const COLUMNS: [&str; 12] = [
    "frames",
    "classes",
    "boxes",
    "scores",
    "num_points",
    "image_boxes",
    "truncation",
    "occlusion",
    "alpha",
    "velocities",
    "attributes",
    "from_ego",
];

/// One side of an evaluation.
pub(super) struct Given {
    pub(super) boxes: Detections,
    /// Where its files are.
    path: Option<PathBuf>,
    /// The caller's row of each row of a dict.
    order: Option<Vec<usize>>,
}

impl Given {
    /// Reads an argument; `truth` is what predictions are compared with.
    pub(super) fn new(
        object: &Bound<'_, PyAny>,
        name: &'static str,
        protocol: Protocol,
        truth: Option<&Self>,
    ) -> PyResult<Self> {
        if let Ok(columns) = object.cast::<PyDict>() {
            return Columns { dict: columns, name, scored: name != "truth", rows: 0 }.read(protocol);
        }
        let got = || object.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
        let wrong = |e| of_kind(object.py(), e, || kind(name, "a path, or a dict of columns", got()));
        let path: PathBuf = object.extract().map_err(wrong)?;
        let against = truth.and_then(|truth| truth.path.clone());
        let work = move |(): &()| (read(&path, against.as_deref(), protocol, &Limits::default()), path);
        let (boxes, path) = run(object.py(), Effort::Long, (), work)?;
        Ok(Self { boxes: boxes.map_err(file)?, path: Some(path), order: None })
    }

    /// Adds the frames of another side to columns, in which a frame without rows cannot stand.
    pub(super) fn add_frames(&mut self, other: &Self) {
        if self.path.is_some() {
            return;
        }
        let rows = self.boxes.splits.windows(2).map(|rows| rows[1] - rows[0]);
        let mut counts: BTreeMap<String, usize> = self.boxes.frames.drain(..).zip(rows).collect();
        for frame in &other.boxes.frames {
            counts.entry(frame.clone()).or_default();
        }
        let ends = counts.values().scan(0, |end, n| {
            *end += n;
            Some(*end)
        });
        self.boxes.splits = std::iter::once(0).chain(ends).collect();
        self.boxes.frames = counts.into_keys().collect();
    }

    /// The row of the caller.
    pub(super) fn row(&self, row: u32) -> i64 {
        self.order.as_ref().map_or(row as usize, |order| order[row as usize]) as i64
    }
}

/// The error of an object of another kind; what its own code raised, as an answer to Ctrl-C, stays.
fn of_kind(py: Python<'_>, raised: PyErr, wrong: impl FnOnce() -> PyErr) -> PyErr {
    if raised.is_instance_of::<PyTypeError>(py) { wrong() } else { raised }
}

/// A dict with a value for each box in each column.
struct Columns<'a, 'py> {
    dict: &'a Bound<'py, PyDict>,
    name: &'static str,
    /// Whether the boxes need scores.
    scored: bool,
    rows: usize,
}

impl<'py> Columns<'_, 'py> {
    fn read(mut self, protocol: Protocol) -> PyResult<Given> {
        let keys = self.dict.keys().iter().map(|key| Ok(key.str()?.to_string())).collect::<PyResult<Vec<_>>>()?;
        let unknown: Vec<_> = keys.iter().filter(|key| !COLUMNS.contains(&&***key)).map(|key| escape(key)).collect();
        let told = (!unknown.is_empty()).then(|| {
            format!("columns that are not read: {}; those that are: {}", unknown.join(", "), COLUMNS.join(", "))
        });
        let Some((boxes, 7)) = self.numbers("boxes")? else {
            return Err(value(self.name, "the column boxes of shape [N, 7]", "another shape, or none"));
        };
        self.rows = boxes.len() / 7;
        let (frames, classes) = (self.words("frames")?, self.words("classes")?);
        let [Some(frames), Some(classes)] = [frames, classes] else {
            return Err(value(self.name, "the columns frames and classes", "none"));
        };
        let scores = if self.scored { self.column("scores", 1)? } else { Some(vec![1.0; self.rows]) };
        let Some(scores) = scores else {
            let got = "none; give ones if all boxes are equally sure";
            return Err(value(self.name, "the column scores", got));
        };
        let (image, states) = match protocol {
            Protocol::KittiR40 | Protocol::KittiR11 => (self.image()?, vec![]),
            Protocol::NuScenes => (vec![], self.states()?),
            Protocol::Argoverse2 => (vec![], vec![]),
        };
        let num_points = self.column("num_points", 1)?.unwrap_or_default();
        let work = move |(): &()| {
            let mut order: Vec<usize> = (0..frames.len()).collect();
            order.sort_by(|&a, &b| frames[a].cmp(&frames[b]));
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            frames.iter().for_each(|frame| *counts.entry(&**frame).or_default() += 1);
            let ends = counts.values().scan(0, |end, n| {
                *end += n;
                Some(*end)
            });
            let splits = std::iter::once(0).chain(ends).collect();
            let known: Vec<&str> = classes.iter().map(|class| &**class).collect::<BTreeSet<_>>().into_iter().collect();
            let class = |row: usize| known.binary_search(&&*classes[row]).unwrap_or(0) as u32;
            let boxes = boxes.as_chunks().0;
            let pick = |of: &[f64]| if of.is_empty() { vec![] } else { order.iter().map(|&row| of[row]).collect() };
            let boxes = Detections {
                frames: counts.keys().map(ToString::to_string).collect(),
                splits,
                classes: known.iter().map(ToString::to_string).collect(),
                class: order.iter().map(|&row| class(row)).collect(),
                boxes: order.iter().map(|&row| boxes[row]).collect(),
                scores: pick(&scores),
                image: order.iter().filter_map(|&row| image.get(row).copied()).collect(),
                states: order.iter().filter_map(|&row| states.get(row).copied()).collect(),
                num_points: pick(&num_points).into_iter().map(|n| n as i64).collect(),
                unscored: None,
                warnings: told.into_iter().collect(),
            };
            Given { boxes, path: None, order: Some(order) }
        };
        run(self.dict.py(), Effort::Long, (), work)
    }

    /// The numbers of a column, and how many each row has.
    fn numbers(&self, column: &str) -> PyResult<Option<(Vec<f64>, usize)>> {
        let Some(object) = self.dict.get_item(column)? else { return Ok(None) };
        let name = format!("{}[{column:?}]", self.name);
        let (values, shape) = poses::numbers(&poses::to_host(&object)?, &name, "an array of numbers")?;
        match shape[..] {
            [_] => Ok(Some((values, 1))),
            [_, wide] => Ok(Some((values, wide))),
            _ => Err(value(&name, "shape [N] or [N, k]", format_args!("shape {shape:?}"))),
        }
    }

    /// A column with so many numbers for each box.
    fn column(&self, column: &str, wide: usize) -> PyResult<Option<Vec<f64>>> {
        let Some((values, got)) = self.numbers(column)? else { return Ok(None) };
        if got == wide && values.len() == wide * self.rows {
            return Ok(Some(values));
        }
        let expected = format!("{} rows of {wide} as boxes has rows", self.rows);
        Err(value(
            &format!("{}[{column:?}]", self.name),
            expected,
            format_args!("{} numbers, {got} a row", values.len()),
        ))
    }

    /// A column of names; numbers are names too.
    fn words(&self, column: &str) -> PyResult<Option<Vec<String>>> {
        let Some(object) = self.dict.get_item(column)? else { return Ok(None) };
        let name = format!("{}[{column:?}]", self.name);
        let wrong = || kind(&name, "a list or array of names", "something else");
        if object.is_instance_of::<PyString>() {
            return Err(wrong());
        }
        let items = object.try_iter().map_err(|e| of_kind(object.py(), e, wrong))?;
        let mut words = Vec::with_capacity(self.rows);
        for item in items.take(self.rows.saturating_add(1)) {
            if words.len().is_multiple_of(LOOK) {
                object.py().check_signals()?;
            }
            // Not by Display, which would end what a signal raises.
            words.push(item?.str()?.to_cow()?.into_owned());
        }
        if words.len() == self.rows {
            return Ok(Some(words));
        }
        let got = object.len().unwrap_or(words.len());
        Err(value(&name, format_args!("{} names, as boxes has rows", self.rows), got))
    }

    /// The boxes in the image that KITTI has.
    fn image(&self) -> PyResult<Vec<ImageBox>> {
        let Some(corners) = self.column("image_boxes", 4)? else {
            return Err(value(self.name, "the column image_boxes, which protocol kitti needs", "none"));
        };
        let zeros = || vec![0.0; self.rows];
        let truncation = self.column("truncation", 1)?.unwrap_or_else(zeros);
        let occlusion = self.column("occlusion", 1)?.unwrap_or_else(zeros);
        let alpha = self.column("alpha", 1)?.unwrap_or_else(|| vec![-10.0; self.rows]);
        let rows = corners.as_chunks().0.iter().zip(truncation).zip(occlusion).zip(alpha);
        let image = |(((&corners, truncation), occlusion), alpha)| ImageBox { corners, truncation, occlusion, alpha };
        Ok(rows.map(image).collect())
    }

    /// What nuScenes has of each box.
    fn states(&self) -> PyResult<Vec<BoxState>> {
        let velocities = self.column("velocities", 2)?.unwrap_or_else(|| vec![f64::NAN; 2 * self.rows]);
        let from_ego = self.column("from_ego", 2)?;
        let attributes = self.words("attributes")?.unwrap_or_else(|| vec![String::new(); self.rows]);
        let attribute = |word: &str| match ATTRIBUTES.iter().position(|known| *known == word) {
            Some(index) => Ok(Some(index as u8)),
            None if matches!(word, "" | "None") => Ok(None),
            None => {
                let name = format!("{}[\"attributes\"]", self.name);
                Err(value(&name, format_args!("one of {}, or none", ATTRIBUTES.join(", ")), format_args!("{word:?}")))
            }
        };
        let rows = velocities.as_chunks().0.iter().zip(&attributes).enumerate();
        rows.map(|(row, (&velocity, word))| {
            let from_ego = from_ego.as_ref().map(|from| [from[2 * row], from[2 * row + 1]]);
            Ok(BoxState { velocity, attribute: attribute(word)?, from_ego })
        })
        .collect()
    }
}
