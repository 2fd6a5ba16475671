//! Reports of detections as results.

use super::input::Given;
use crate::record::{Attributes, Class, Fields};
use numpy::PyArray1;
use pointmill_detection::{AveragePrecision, Change, ClassErrors, DetectionReport, Errors, Fate, RowFate};
use pyo3::prelude::*;

pub(crate) static AVERAGE_PRECISION: Class = Class::new(
    ("pointmill", "AveragePrecision"),
    "How precise predictions of a class are, averaged over recalls; rows are those of the columns, or of the files in the order of frames.",
    Some("AveragePrecision({class_name}, {metric}, threshold={threshold}, level={level}, ap={ap})"),
    || {
        Attributes::default()
            .add("class_name", "str", "The class.")
            .add("metric", "Literal[\"bbox\", \"bev\", \"3d\", \"distance\"]", "What decides about a match: overlap in the image, from above or of volumes, or the distance of centres.")
            .add("threshold", "float", "The least overlap, or the largest distance in metres.")
            .add("level", "Literal[\"easy\", \"moderate\", \"hard\"] | None", "The level of KITTI.")
            .add("ap", "float | None", "The average precision, from 0 to 1; of KITTI ``None`` where no truth counts.")
            .add("true_predictions", "_Numpy", "``[T]`` int64: rows of predictions that are objects.")
            .add("found_truth", "_Numpy", "``[T]`` int64: the rows of the truth that they are.")
            .add("false_predictions", "_Numpy", "``[F]`` int64: rows of predictions that are no objects.")
            .add("missed_truth", "_Numpy", "``[M]`` int64: rows of the truth that were not found.")
            .add("ignored_predictions", "_Numpy", "``[I]`` int64: rows of predictions that do not count.")
            .add("ignored_truth", "_Numpy", "``[J]`` int64: rows of the truth that do not count.")
    },
);

/// The errors that a class and a whole report have.
fn errors(attributes: Attributes) -> Attributes {
    attributes
        .add("translation_error", "float | None", "Mean distance of centres in metres.")
        .add("scale_error", "float | None", "1 minus the mean overlap of boxes that are moved onto each other.")
        .add("orientation_error", "float | None", "Mean difference of yaws in radians.")
        .add("velocity_error", "float | None", "Mean difference of velocities in m/s.")
        .add("attribute_error", "float | None", "The part of attributes that are wrong.")
}

pub(crate) static CLASS_ERRORS: Class =
    Class::new(("pointmill", "ClassErrors"), "What the boxes of a class that were found lack.", None, || {
        let attributes = Attributes::default().add("class_name", "str", "The class.").add(
            "ap",
            "float",
            "The mean of its average precisions, from 0 to 1.",
        );
        errors(attributes).add("cds", "float | None", "The composite detection score of Argoverse 2.")
    });

pub(crate) static CHANGE: Class = Class::new(
    ("pointmill", "DetectionChange"),
    "A box whose fate is another one than in the other run.",
    None,
    || {
        Attributes::default()
            .add("class_name", "str", "The class.")
            .add("frame", "str", "The name of the frame.")
            .add("row", "int", "The row in the frame: of the truth, or of the predictions that have the false box.")
            .add("before", "str | None", "The fate in the other run, as \"missed\"; ``None`` if the box is new.")
            .add("after", "str | None", "The fate now; ``None`` if the box is gone.")
            .add("verdict", "Literal[\"better\", \"worse\", \"other\"]", "Whether that is better.")
    },
);

pub(crate) static DETECTION_REPORT: Class = Class::new(
    ("pointmill", "DetectionReport"),
    "How good detections are; arrays of numpy.",
    Some("DetectionReport({protocol}, frames={frames}, mean_ap={mean_ap}, nds={nds}, cds={cds})"),
    || {
        let attributes = Attributes::default()
            .add("protocol", "Literal[\"kitti\", \"kitti-r11\", \"nuscenes\", \"av2\"]", "Whose rules were followed.")
            .add("frames", "int", "Frames of both sides together.")
            .add("mean_ap", "float | None", "The mean of the classes' average precisions, from 0 to 1; of KITTI that of 3D boxes at the moderate level.")
            .add("nds", "float | None", "The nuScenes detection score.")
            .add("cds", "float | None", "The mean composite detection score of Argoverse 2.");
        errors(attributes)
            .add(
                "precisions",
                "list[AveragePrecision]",
                "One for each class, metric, and level or threshold, in this order.",
            )
            .add("classes", "list[ClassErrors]", "The errors of each class; empty for KITTI.")
            .add(
                "changes",
                "list[DetectionChange] | None",
                "Boxes whose fate is another one than in the run to compare with; ``None`` without one.",
            )
            .add("warnings", "list[str]", "What is odd: boxes that were left out or are of classes that the protocol does not have, classes of which a rule leaves out all boxes.")
    },
);

fn set_errors<'a, 'py>(fields: Fields<'a, 'py>, errors: &Errors) -> PyResult<Fields<'a, 'py>> {
    fields
        .set("translation_error", errors.translation)?
        .set("scale_error", errors.scale)?
        .set("orientation_error", errors.orientation)?
        .set("velocity_error", errors.velocity)?
        .set("attribute_error", errors.attribute)
}

fn precision<'py>(py: Python<'py>, of: &AveragePrecision, sides: [&Given; 2]) -> PyResult<Bound<'py, PyAny>> {
    let rows = |all: &[RowFate], side: usize, fate| {
        let rows = all.iter().filter(|row| row.fate == fate).map(|row| sides[side].row(row.row));
        PyArray1::from_vec(py, rows.collect())
    };
    let found = of.predictions.iter().filter(|row| row.fate == Fate::True).filter_map(|row| row.other);
    py.check_signals()?;
    Fields::new(py, None)
        .set("class_name", of.class)?
        .set("metric", of.metric.as_str())?
        .set("threshold", of.threshold)?
        .set("level", of.level.map(|level| level.as_str()))?
        .set("ap", of.ap)?
        .set("true_predictions", rows(&of.predictions, 0, Fate::True))?
        .set("found_truth", PyArray1::from_vec(py, found.map(|row| sides[1].row(row)).collect()))?
        .set("false_predictions", rows(&of.predictions, 0, Fate::False))?
        .set("missed_truth", rows(&of.truth, 1, Fate::Missed))?
        .set("ignored_predictions", rows(&of.predictions, 0, Fate::Ignored))?
        .set("ignored_truth", rows(&of.truth, 1, Fate::Ignored))?
        .of(&AVERAGE_PRECISION)
}

fn class<'py>(py: Python<'py>, of: &ClassErrors) -> PyResult<Bound<'py, PyAny>> {
    let fields = Fields::new(py, None).set("class_name", of.class)?.set("ap", of.ap)?;
    set_errors(fields, &of.errors)?.set("cds", of.cds)?.of(&CLASS_ERRORS)
}

fn change<'py>(py: Python<'py>, of: &Change) -> PyResult<Bound<'py, PyAny>> {
    Fields::new(py, None)
        .set("class_name", of.class)?
        .set("frame", &of.frame)?
        .set("row", of.row)?
        .set("before", of.before.map(|fate| fate.as_str()))?
        .set("after", of.after.map(|fate| fate.as_str()))?
        .set("verdict", of.verdict.as_str())?
        .of(&CHANGE)
}

/// A report; the sides are predictions and truth.
pub(super) fn report<'py>(
    py: Python<'py>,
    of: &DetectionReport,
    changes: Option<&[Change]>,
    sides: [&Given; 2],
) -> PyResult<Bound<'py, PyAny>> {
    let precisions: PyResult<Vec<_>> = of.precisions.iter().map(|one| precision(py, one, sides)).collect();
    let classes: PyResult<Vec<_>> = of.classes.iter().map(|one| class(py, one)).collect();
    let changes = changes.map(|all| all.iter().map(|one| change(py, one)).collect::<PyResult<Vec<_>>>()).transpose()?;
    let fields = Fields::new(py, None)
        .set("protocol", of.protocol.as_str())?
        .set("frames", of.frames)?
        .set("mean_ap", of.mean_ap)?
        .set("nds", of.nds)?
        .set("cds", of.cds)?;
    set_errors(fields, &of.errors)?
        .set("precisions", precisions?)?
        .set("classes", classes?)?
        .set("changes", changes)?
        .set("warnings", &of.warnings)?
        .of(&DETECTION_REPORT)
}
