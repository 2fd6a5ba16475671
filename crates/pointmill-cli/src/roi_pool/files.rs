//! Boxes, points and features from files, or the built-in street.

use super::args::RoiPoolArgs;
use crate::failure::Failure;
use crate::inputs::{Inputs, SYNTHETIC, Source, is_stdin, require_format, warnings};
use crate::json::Notes;
use crate::text::shown;
use pointmill::roi_pool::Scene;
use pointmill::{Error, PointCloud, Rows, f16};
use pointmill_io::{Array, ArrayData, Detail, Dtype, IoError, Limits, read_npy_within};
use pointmill_synth::RoiScene;
use std::path::{Path, PathBuf};

/// The built-in scene: boxes, points, channels, seed.
const STREET: (usize, usize, usize, u64) = (128, 16_000, 16, 0);
/// What files are for, in the order of reports.
pub(super) const ROLES: [&str; 3] = ["boxes", "points", "features"];
pub(super) const BOXES: usize = 0;
pub(super) const POINTS: usize = 1;
pub(super) const FEATURES: usize = 2;
/// Values a box has.
const BOX_COLUMNS: usize = 7;

/// Where boxes, points and features come from.
#[derive(Clone, Debug)]
pub(super) enum Sources {
    Street {
        features: bool,
    },
    /// The files of boxes, points and, if they are pooled, features.
    Files(Vec<PathBuf>),
}

/// What was read.
#[derive(Debug)]
pub(super) struct Loaded {
    /// `[B, 7]`, flat.
    pub(super) boxes: Vec<f32>,
    pub(super) points: PointCloud,
    /// `None` if nothing is pooled.
    pub(super) features: Option<Features>,
    /// What is unusual, each with the name of its file.
    pub(super) notes: Notes,
}

/// Features in the type that they have in their file.
#[derive(Debug)]
pub(super) enum Features {
    F32(Vec<f32>, usize),
    F16(Vec<f16>, usize),
}

impl Sources {
    /// The files that the arguments name, or the built-in street if they name none.
    pub(super) fn of(args: &RoiPoolArgs) -> Result<Self, Failure> {
        let pools = args.inside.is_none();
        let all = [("--boxes", &args.boxes), ("--points", &args.points), ("--features", &args.features)];
        let needed = &all[..2 + usize::from(pools)];
        let given: Vec<PathBuf> = needed.iter().filter_map(|(_, path)| (*path).clone()).collect();
        if given.is_empty() {
            return Ok(Self::Street { features: pools });
        }
        if given.len() < needed.len() {
            let missing: Vec<_> = needed.iter().filter(|(_, path)| path.is_none()).map(|(flag, _)| *flag).collect();
            let needed: Vec<_> = needed.iter().map(|(flag, _)| *flag).collect();
            let (missing, all) = (missing.join(" and "), needed.join(", "));
            let message = format!("roi-pool: also needs {missing}. Without {all} the command uses a built-in street");
            return Err(Failure::Usage(message));
        }
        if is_stdin(&given[POINTS]) {
            require_format(&args.read.options()?)?;
        }
        Ok(Self::Files(given))
    }

    /// The names of boxes, points and, if they are pooled, features.
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Self::Street { features } => vec![SYNTHETIC.into(); 2 + usize::from(*features)],
            Self::Files(files) => files.iter().map(|file| shown(file)).collect(),
        }
    }

    /// The files.
    pub(super) fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Street { .. } => vec![],
            Self::Files(files) => files.iter().map(PathBuf::as_path).filter(|file| !is_stdin(file)).collect(),
        }
    }

    /// The file of points.
    pub(super) fn points(&self) -> Option<PathBuf> {
        if let Self::Files(files) = self { files.get(POINTS).cloned() } else { None }
    }

    /// Reads all files.
    ///
    /// # Errors
    /// The reason for each file that cannot be used.
    pub(super) fn load(&self, inputs: &Inputs) -> Result<Loaded, Vec<IoError>> {
        let files = match self {
            Self::Street { features } => return Ok(street(*features)),
            Self::Files(files) => files,
        };
        let (mut notes, mut refused) = (Notes::default(), Vec::new());
        let options = inputs.options();
        let boxes = read_boxes(&files[BOXES], &options.limits, inputs.shift(), &mut notes.warnings);
        let boxes = boxes.map_err(|e| refused.push(e)).ok();
        let scan = inputs.read(&Source::named(&files[POINTS])).map_err(|e| refused.push(e)).ok().map(|(scan, _)| scan);
        let rows = scan.as_ref().map(|scan| scan.cloud.len());
        let features = files.get(FEATURES).map(|path| read_features(path, &options.limits, rows, &mut notes.warnings));
        let features = features.transpose().map_err(|e| refused.push(e)).ok();
        let (Some(boxes), Some(scan), Some(features)) = (boxes, scan, features) else { return Err(refused) };
        let points = files[POINTS].display();
        let of_points = warnings(&scan);
        notes.warnings.extend(of_points.warnings.iter().map(|warning| format!("{points}: {warning}")));
        notes.salvaged = of_points.salvaged;
        Ok(Loaded { boxes, points: scan.cloud, features, notes })
    }
}

impl Features {
    /// The values, as the library takes them.
    pub(super) fn input(&self) -> Result<Rows<'_>, Error> {
        match self {
            Self::F32(values, channels) => Rows::new(values, *channels),
            Self::F16(values, channels) => Rows::new(values, *channels),
        }
    }
}

impl Loaded {
    /// The number of boxes.
    pub(super) const fn num_boxes(&self) -> usize {
        self.boxes.len() / BOX_COLUMNS
    }

    /// Values per feature, and their type.
    pub(super) const fn features_type(&self) -> (Option<usize>, Option<&'static str>) {
        match &self.features {
            Some(Features::F32(_, channels)) => (Some(*channels), Some("f32")),
            Some(Features::F16(_, channels)) => (Some(*channels), Some("f16")),
            None => (None, None),
        }
    }

    /// Boxes and points, as the library takes them.
    pub(super) fn scene(&self) -> Result<Scene<'_>, Error> {
        Ok(Scene::new(Rows::new(&self.boxes, BOX_COLUMNS)?, &self.points))
    }
}

fn street(features: bool) -> Loaded {
    let (boxes, points, channels, seed) = STREET;
    let scene = RoiScene::street(boxes, points, seed);
    let features = features.then(|| Features::F32(scene.features(channels), channels));
    let points = PointCloud::new(scene.points, 3).expect("the street has whole points");
    Loaded { boxes: scene.boxes, points, features, notes: Notes::default() }
}

/// Boxes, from whose centres an origin is subtracted.
fn read_boxes(path: &Path, limits: &Limits, origin: [f64; 3], warnings: &mut Vec<String>) -> Result<Vec<f32>, IoError> {
    let array = read_npy_within(path, limits)?;
    array.expect_shape(&[None, Some(BOX_COLUMNS)])?;
    require_float(path, &array, warnings)?;
    if array.is_empty() {
        warnings.push(format!("{}: there is no box", path.display()));
    }
    if origin != [0.0; 3] {
        let exact: Vec<f64> = match array.into_parts() {
            (_, ArrayData::F64(values)) => values,
            (shape, data) => Array::new(shape, data)?.to_f32()?.into_iter().map(f64::from).collect(),
        };
        let shift = |(i, v): (usize, f64)| (v - origin.get(i % BOX_COLUMNS).unwrap_or(&0.0)) as f32;
        return Ok(exact.into_iter().enumerate().map(shift).collect());
    }
    match array.into_parts() {
        (_, ArrayData::F32(values)) => Ok(values),
        // From f16 this is exact.
        (shape, data) => Array::new(shape, data)?.to_f32(),
    }
}

/// Features of so many points, if that is known.
fn read_features(
    path: &Path,
    limits: &Limits,
    points: Option<usize>,
    warnings: &mut Vec<String>,
) -> Result<Features, IoError> {
    let array = read_npy_within(path, limits)?;
    let channels = match array.shape()[..] {
        [rows, channels] if channels > 0 && points.is_none_or(|n| n == rows) => channels,
        _ => {
            let n = points.map_or_else(|| "N".into(), |n| n.to_string());
            let wanted = format!("[{n}, C] with C of 1 or more, a row for each point");
            return Err(IoError::ShapeMismatch(Detail::new(path, "shape", wanted, described(&array))));
        }
    };
    require_float(path, &array, warnings)?;
    match array.into_parts() {
        (_, ArrayData::F32(values)) => Ok(Features::F32(values, channels)),
        (_, ArrayData::F16(bits)) => Ok(Features::F16(bits.into_iter().map(f16::from_bits).collect(), channels)),
        (shape, data) => Ok(Features::F32(Array::new(shape, data)?.to_f32()?, channels)),
    }
}

fn require_float(path: &Path, array: &Array, warnings: &mut Vec<String>) -> Result<(), IoError> {
    match array.dtype() {
        Dtype::F32 | Dtype::F16 => Ok(()),
        Dtype::F64 => {
            warnings.push(format!("{}: values of f64 were cast to f32", path.display()));
            Ok(())
        }
        _ => Err(IoError::DtypeMismatch(Detail::new(path, "element type", "f32, f16 or f64", described(array)))),
    }
}

fn described(array: &Array) -> String {
    format!("{} {:?}", array.dtype(), array.shape())
}
