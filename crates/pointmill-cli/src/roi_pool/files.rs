//! Boxes, points and features from files, or the built-in street.

use super::args::RoiPoolArgs;
use crate::failure::Failure;
use crate::inputs::{STDIN, SYNTHETIC, read_cloud, require_format};
use pointmill::roi_pool::Scene;
use pointmill::{Error, PointCloud, Rows, f16};
use pointmill_io::{Array, ArrayData, Detail, Dtype, IoError, Limits, ReadOptions, Warning, read_npy_within};
use pointmill_synth::RoiScene;
use std::path::{Path, PathBuf};

/// The built-in scene: boxes, points, channels, seed.
const STREET: (usize, usize, usize, u64) = (128, 16_000, 16, 0);
/// Values a box has.
const BOX_COLUMNS: usize = 7;

/// Where boxes, points and features come from.
#[derive(Clone, Debug)]
pub(crate) enum Sources {
    Street { features: bool },
    Files { boxes: PathBuf, points: String, features: Option<PathBuf>, options: ReadOptions },
}

/// What was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// `[B, 7]`, flat.
    pub(crate) boxes: Vec<f32>,
    pub(crate) points: PointCloud,
    /// `None` if nothing is pooled.
    pub(crate) features: Option<Features>,
    /// What is unusual, each with the name of its file.
    pub(crate) warnings: Vec<String>,
}

/// Features in the type that they have in their file.
#[derive(Debug)]
pub(crate) enum Features {
    F32(Vec<f32>, usize),
    F16(Vec<f16>, usize),
}

impl Sources {
    /// The files that the arguments name, or the built-in street if they name none.
    pub(crate) fn of(args: &RoiPoolArgs) -> Result<Self, Failure> {
        let pools = args.inside.is_none();
        let needed = if pools { &["--boxes", "--points", "--features"][..] } else { &["--boxes", "--points"] };
        let (boxes, points, features) = (args.boxes.as_ref(), args.points.as_ref(), args.features.as_ref());
        let given = [boxes.is_some(), points.is_some(), features.is_some()];
        let given: Vec<_> = needed.iter().zip(given).collect();
        if given.iter().all(|(_, given)| !given) {
            return Ok(Self::Street { features: pools });
        }
        let missing: Vec<_> = given.iter().filter(|(_, given)| !given).map(|&(&name, _)| name).collect();
        let (Some(boxes), Some(points), []) = (boxes, points, &missing[..]) else {
            let (missing, all) = (missing.join(" and "), needed.join(", "));
            return Err(Failure::Usage(format!(
                "roi-pool: expected {missing} too, or none of {all} for the built-in street"
            )));
        };
        let options = args.read.options();
        if points == STDIN {
            require_format(&options)?;
        }
        Ok(Self::Files { boxes: boxes.clone(), points: points.clone(), features: features.cloned(), options })
    }

    /// The names of boxes, points and, if they are pooled, features.
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            Self::Street { features } => vec![SYNTHETIC.into(); 2 + usize::from(*features)],
            Self::Files { boxes, points, features, .. } => {
                let shown = |path: &PathBuf| path.to_string_lossy().into_owned();
                [shown(boxes), points.clone()].into_iter().chain(features.as_ref().map(shown)).collect()
            }
        }
    }

    /// The files.
    pub(crate) fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Street { .. } => vec![],
            Self::Files { boxes, points, features, .. } => {
                let points = Some(Path::new(points)).filter(|p| p.as_os_str() != STDIN);
                [boxes.as_path()].into_iter().chain(points).chain(features.as_deref()).collect()
            }
        }
    }

    /// Reads all files.
    ///
    /// # Errors
    /// The reason for each file that cannot be used.
    pub(crate) fn load(&self) -> Result<Loaded, Vec<IoError>> {
        let (boxes, points, features, options) = match self {
            Self::Street { features } => return Ok(street(*features)),
            Self::Files { boxes, points, features, options } => (boxes, points, features, options),
        };
        let (mut warnings, mut refused) = (Vec::new(), [None, None, None]);
        let mut keep = |role: usize, error: IoError| refused[role] = Some(error);
        let box_values = read_boxes(boxes, &options.limits, &mut warnings).map_err(|e| keep(0, e)).ok();
        let scan = read_cloud(points, options).map_err(|e| keep(1, e)).ok();
        let rows = scan.as_ref().map(|scan| scan.cloud.len());
        let features = features.as_deref().map(|path| read_features(path, &options.limits, rows, &mut warnings));
        let features = features.transpose().map_err(|e| keep(2, e)).ok();
        let (Some(boxes), Some(scan), Some(features)) = (box_values, scan, features) else {
            return Err(refused.into_iter().flatten().collect());
        };
        warnings.extend(scan.warnings.iter().map(|warning| format!("{points}: {warning}")));
        Ok(Loaded { boxes, points: scan.cloud, features, warnings })
    }
}

impl Features {
    /// The values, as the library takes them.
    pub(crate) fn input(&self) -> Result<Rows<'_>, Error> {
        match self {
            Self::F32(values, channels) => Rows::new(values, *channels),
            Self::F16(values, channels) => Rows::new(values, *channels),
        }
    }
}

impl Loaded {
    /// The number of boxes.
    pub(crate) const fn num_boxes(&self) -> usize {
        self.boxes.len() / BOX_COLUMNS
    }

    /// Boxes and points, as the library takes them.
    pub(crate) fn scene(&self) -> Result<Scene<'_>, Error> {
        Ok(Scene::new(Rows::new(&self.boxes, BOX_COLUMNS)?, &self.points))
    }
}

fn street(features: bool) -> Loaded {
    let (boxes, points, channels, seed) = STREET;
    let scene = RoiScene::street(boxes, points, seed);
    let features = features.then(|| Features::F32(scene.features(channels), channels));
    let points = PointCloud::new(scene.points, 3).expect("the street has whole points");
    Loaded { boxes: scene.boxes, points, features, warnings: vec![] }
}

fn read_boxes(path: &Path, limits: &Limits, warnings: &mut Vec<String>) -> Result<Vec<f32>, IoError> {
    let array = read_npy_within(path, limits)?;
    array.expect_shape(&[None, Some(BOX_COLUMNS)])?;
    require_float(path, &array, warnings)?;
    if array.is_empty() {
        warnings.push(format!("{}: there is no box", path.display()));
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
            return Err(IoError::ShapeMismatch(Detail::new(path, "shape", wanted, told(&array))));
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
            warnings.push(format!("{}: {}", path.display(), Warning::Cast { from: Dtype::F64 }));
            Ok(())
        }
        _ => Err(IoError::DtypeMismatch(Detail::new(path, "element type", "f32, f16 or f64", told(array)))),
    }
}

fn told(array: &Array) -> String {
    format!("{} {:?}", array.dtype(), array.shape())
}
