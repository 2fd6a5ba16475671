//! Results of operators as `.npz` files: named arrays of known types and shapes, and a report.

use pointmill_core::array::{ArrayView, Dtype, NamedArrays};
use pointmill_io::Array;
use pointmill_io::Limits;
use pointmill_io::{Destination, Place};
use pointmill_io::{Detail, IoError};
use pointmill_io::{npz_bytes, read_npz_only, write_npz};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The array beside the others that holds the report, as the bytes of JSON.
const REPORT: &str = "report";

/// A result that a file may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResultKind {
    /// Voxels: `coords`, `num_points`, and where they were asked for `voxels`, `mean`,
    /// `point_to_voxel`, `row_splits` and `indices`, and for batches `voxel_splits`.
    Voxels,
    /// Features pooled in boxes: `pooled`, and by its layout `argmax`, `point_indices`, `coords`,
    /// `row_splits`, `indices`.
    Pooled,
    /// Points in boxes: `part`, `all`, `count`, or `row_splits` and `indices`.
    PointsInBoxes,
}

pointmill_core::names!(ResultKind { Voxels = "voxels", Pooled = "pooled", PointsInBoxes = "points-in-boxes" });

/// What an array of a file must be.
pub(crate) struct Expected {
    name: &'static str,
    dtypes: &'static [Dtype],
    /// Its axes: numbers, and letters for lengths that are the same in all arrays.
    shape: &'static str,
    needed: bool,
}

pub(crate) const fn must(name: &'static str, dtype: &'static [Dtype], shape: &'static str) -> Expected {
    Expected { name, dtypes: dtype, shape, needed: true }
}

pub(crate) const fn may(name: &'static str, dtype: &'static [Dtype], shape: &'static str) -> Expected {
    Expected { name, dtypes: dtype, shape, needed: false }
}

const I32: &[Dtype] = &[Dtype::I32];
const U32: &[Dtype] = &[Dtype::U32];
const I64: &[Dtype] = &[Dtype::I64];
const FEATURES: &[Dtype] = &[Dtype::F32, Dtype::F16];
const ORIGIN: Expected = may(pointmill_io::files::ORIGIN, &[Dtype::F64], "3");
const TEXT: Expected = may(REPORT, &[Dtype::U8], "bytes");

const VOXELS: &[Expected] = &[
    must("coords", I32, "V axes"),
    must("num_points", I32, "V"),
    may("voxels", &[Dtype::F32], "V M C"),
    may("mean", FEATURES, "V C"),
    may("point_to_voxel", I32, "N"),
    may("row_splits", U32, "rows"),
    may("indices", U32, "pairs"),
    may("voxel_splits", U32, "samples"),
    ORIGIN,
    TEXT,
];

/// Rows for every voxel of every box.
const POOLED: &[Expected] = &[
    must("pooled", FEATURES, "B X Y Z C"),
    may("argmax", I32, "B X Y Z C"),
    may("point_indices", I32, "B X Y Z M"),
    may("row_splits", I64, "rows"),
    may("indices", I32, "pairs"),
    ORIGIN,
    TEXT,
];

/// Rows for occupied voxels only.
const POOLED_SPARSE: &[Expected] = &[
    must("pooled", FEATURES, "R C"),
    must("coords", I32, "R 4"),
    may("argmax", I32, "R C"),
    may("row_splits", I64, "rows"),
    may("indices", I32, "pairs"),
    ORIGIN,
    TEXT,
];

const INSIDE: &[Expected] = &[
    may("part", I32, "N"),
    may("all", &[Dtype::Bool], "N B"),
    may("count", I32, "B"),
    may("row_splits", I64, "rows"),
    may("indices", I32, "pairs"),
];

/// The arrays of a result, checked, and the file that they come from.
#[derive(Clone, Debug)]
pub struct ResultArrays {
    path: PathBuf,
    arrays: BTreeMap<String, Array>,
}

/// Writes a result and its report as an `.npz` archive, whole or not at all (see
/// [`write_whole`](pointmill_io::write_whole)).
///
/// The arrays come in the order of [`NamedArrays::arrays`], then `report`, the report as JSON in an
/// array of bytes. The same result gives the same bytes. [`About`](pointmill_io::About) adds the origin of
/// a result to its arrays.
///
/// # Errors
/// As [`write_npz`]; a report that is no JSON.
///
/// ```
/// use pointmill_data::{ResultKind, read_result, write_result};
/// use pointmill_io::{ArrayView, NamedArrays};
/// struct Count(Vec<i32>);
/// impl NamedArrays for Count {
///     fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
///         vec![("count", ArrayView::i32(&[self.0.len()], &self.0))]
///     }
/// }
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-result.npz", std::process::id()));
/// write_result(&path, &Count(vec![3, 4]), &"two boxes")?;
/// let result = read_result(&path, ResultKind::PointsInBoxes)?;
/// assert_eq!(result.get("count")?.as_i32()?, [3, 4]);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn write_result(to: impl Destination, result: &impl NamedArrays, report: &impl Serialize) -> Result<(), IoError> {
    let report = to_json(to.path(), report)?;
    write_npz(Place::of(&to), &with_report(result, &report))
}

/// The bytes of the file that [`write_result`] writes; `name` stands for it in errors.
///
/// # Errors
/// As [`write_result`].
pub fn result_bytes(name: &Path, result: &impl NamedArrays, report: &impl Serialize) -> Result<Vec<u8>, IoError> {
    let report = to_json(name, report)?;
    npz_bytes(name, &with_report(result, &report))
}

/// The arrays of a file.
fn with_report<'a>(result: &'a impl NamedArrays, report: &'a [u8]) -> Vec<(&'static str, ArrayView<'a>)> {
    let mut arrays = result.arrays();
    arrays.push((REPORT, ArrayView::u8(&[report.len()], report)));
    arrays
}

/// Reads a result, within [`Limits::default`].
///
/// Arrays of other names are passed over.
///
/// # Errors
/// As [`read_npz`](pointmill_io::read_npz); a needed array that is not there, one of another type, one of
/// another shape. Lengths that belong together, such as the number of voxels in all arrays of
/// [`ResultKind::Voxels`], must be equal.
///
/// ```
/// use pointmill_data::{ResultKind, read_result};
/// use pointmill_io::{ArrayView, write_npz};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-voxels.npz", std::process::id()));
/// write_npz(&path, &[("coords", ArrayView::i32(&[2, 3], &[0; 6])), ("num_points", ArrayView::i32(&[3], &[1; 3]))])?;
/// let error = read_result(&path, ResultKind::Voxels).unwrap_err().to_string();
/// assert!(error.ends_with("array `num_points`: shape: expected [V], V = 2 as in `coords`, got i32 [3]"));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn read_result(path: impl AsRef<Path>, kind: ResultKind) -> Result<ResultArrays, IoError> {
    read_result_within(path, kind, &Limits::default())
}

/// Reads a result as [`read_result`] does, within limits of the caller's; of them
/// [`Limits::max_memory`] and [`Limits::max_decoded_bytes`] count.
///
/// # Errors
/// As [`read_result`].
pub fn read_result_within(path: impl AsRef<Path>, kind: ResultKind, limits: &Limits) -> Result<ResultArrays, IoError> {
    let path = path.as_ref();
    let from = Place::named(path);
    match kind {
        ResultKind::Voxels => ResultArrays::read(from, VOXELS, limits),
        ResultKind::PointsInBoxes => ResultArrays::read(from, INSIDE, limits),
        ResultKind::Pooled => {
            let arrays = read_npz_only(from, &names(&[POOLED, POOLED_SPARSE]), limits)?;
            let sparse = arrays.contains_key("coords");
            ResultArrays { path: path.into(), arrays }.checked(if sparse { POOLED_SPARSE } else { POOLED })
        }
    }
}

/// The names of all arrays in lists.
fn names(lists: &[&[Expected]]) -> Vec<&'static str> {
    lists.iter().copied().flatten().map(|expected| expected.name).collect()
}

impl ResultArrays {
    /// Reads the arrays of a list and checks them.
    pub(crate) fn read(from: Place<'_>, expected: &[Expected], limits: &Limits) -> Result<Self, IoError> {
        let arrays = read_npz_only(from, &names(&[expected]), limits)?;
        Self { path: from.path.into(), arrays }.checked(expected)
    }

    fn checked(self, expected: &[Expected]) -> Result<Self, IoError> {
        if self.arrays.is_empty() && !expected.iter().any(|one| one.needed) {
            let wanted: Vec<_> = expected.iter().map(|one| format!("`{}`", one.name)).collect();
            let wanted = format!("one of {}", wanted.join(", "));
            return Err(IoError::MissingField(Detail::new(&self.path, "arrays", wanted, "none")));
        }
        let mut lengths = Lengths::default();
        for one in expected {
            match self.arrays.get(one.name) {
                Some(array) => lengths.check(&self.path, one, array)?,
                None if one.needed => return Err(self.missing(one.name)),
                None => {}
            }
        }
        Ok(self)
    }

    /// An array by its name.
    ///
    /// # Errors
    /// [`IoError::MissingField`] if the file has none of this name.
    pub fn get(&self, name: &str) -> Result<&Array, IoError> {
        self.arrays.get(name).ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> IoError {
        let found: Vec<_> = self.arrays.keys().map(|name| format!("`{name}`")).collect();
        let found = if found.is_empty() { "none".into() } else { found.join(", ") };
        IoError::MissingField(Detail::new(&self.path, "arrays", format!("`{name}`"), found))
    }

    /// All arrays by their names.
    pub fn arrays(&self) -> &BTreeMap<String, Array> {
        &self.arrays
    }

    /// Gives the arrays away.
    pub fn into_arrays(self) -> BTreeMap<String, Array> {
        self.arrays
    }

    /// The report.
    ///
    /// # Errors
    /// A file without one; bytes that are no JSON of the type.
    pub fn report<T: DeserializeOwned>(&self) -> Result<T, IoError> {
        let text = self.get(REPORT)?.as_u8()?;
        let wrong = |e: serde_json::Error| Detail::new(&self.path, format!("array `{REPORT}`"), "JSON", e.to_string());
        serde_json::from_slice(text).map_err(|e| IoError::BadValue(wrong(e)))
    }
}

/// A report as JSON.
pub(crate) fn to_json(path: &Path, report: &impl Serialize) -> Result<Vec<u8>, IoError> {
    let wrong = |e: serde_json::Error| Detail::new(path, REPORT, "a value that JSON can hold", e.to_string());
    serde_json::to_vec(report).map_err(|e| IoError::InvalidArgument(wrong(e)))
}

/// The lengths behind the letters of shapes, and the array that each was first found in.
#[derive(Default)]
struct Lengths(BTreeMap<&'static str, (usize, &'static str)>);

impl Lengths {
    fn check(&mut self, path: &Path, expected: &Expected, array: &Array) -> Result<(), IoError> {
        let detail = |part: &str, wanted: String| {
            let found = format!("{} {:?}", array.dtype(), array.shape());
            Detail::new(path, format!("array `{}`: {part}", expected.name), wanted, found)
        };
        if !expected.dtypes.contains(&array.dtype()) {
            let wanted: Vec<_> = expected.dtypes.iter().map(|dtype| dtype.as_str()).collect();
            return Err(IoError::DtypeMismatch(detail("element type", wanted.join(" or "))));
        }
        let axes: Vec<&str> = expected.shape.split(' ').collect();
        let mut wanted = format!("[{}]", axes.join(", "));
        let mut fits = axes.len() == array.shape().len();
        for (&axis, &length) in axes.iter().zip(array.shape()) {
            match axis.parse::<usize>() {
                Ok(known) => fits &= length == known,
                Err(_) => {
                    let &mut (known, first) = self.0.entry(axis).or_insert((length, expected.name));
                    fits &= length == known;
                    if first != expected.name {
                        wanted += &format!(", {axis} = {known} as in `{first}`");
                    }
                }
            }
        }
        if fits { Ok(()) } else { Err(IoError::ShapeMismatch(detail("shape", wanted))) }
    }
}
