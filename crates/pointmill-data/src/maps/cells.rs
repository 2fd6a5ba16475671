//! Maps of normal distributions as `.npz` files.

use crate::results::{Expected, ResultArrays, may, must, to_json};
use pointmill_core::array::{ArrayView, Dtype};
use pointmill_core::ndt::{NdtCells, NdtLattice, full_matrix, symmetric_entries};
use pointmill_io::Array;
use pointmill_io::Limits;
use pointmill_io::files::{ORIGIN, finite_origin, npz_has};
use pointmill_io::{Destination, Place};
use pointmill_io::{Detail, IoError};
use pointmill_io::{npz_bytes, write_npz};
use std::path::Path;

/// The array that tells a map from a cloud.
const MARK: &str = "inv_covariance";

/// The farthest origin in metres: behind it, coordinates of 64 bits have no tenth of a millimetre.
const FARTHEST: f64 = 1e12;

const F64: &[Dtype] = &[Dtype::F64];
const MAP: &[Expected] = &[
    must("coords", &[Dtype::I32], "V 3"),
    must("mean", F64, "V 3"),
    must("covariance", F64, "V 3 3"),
    must(MARK, F64, "V 3 3"),
    must("counts", &[Dtype::U32], "V"),
    must("eigenvalues", F64, "V 3"),
    must("normal", F64, "V 3"),
    must("resolution", F64, "1"),
    must("report", &[Dtype::U8], "bytes"),
    may(ORIGIN, F64, "3"),
];

/// Writes the cells of a map as an `.npz` archive, whole or not at all (see
/// [`write_whole`](pointmill_io::write_whole)).
///
/// The arrays, a row for each cell, rows by (z, y, x): `coords` i32 `[V, 3]` (x, y, z), `mean` f64
/// `[V, 3]` in metres, `covariance` and `inv_covariance` f64 `[V, 3, 3]`, `counts` u32 `[V]`,
/// `eigenvalues` and `normal` f64 `[V, 3]`; `resolution` f64 `[1]`, the edge of a cell in metres;
/// and `report`, the [`NdtReport`](pointmill_core::ndt::NdtReport) as the bytes of JSON. Means are
/// about the origin of the lattice; unless that is zero, `origin` f64 `[3]` in metres comes last.
///
/// **Determinism**: the same cells give the same bytes.
///
/// # Errors
/// Arrays of different lengths; what the system refuses.
///
/// ```
/// use pointmill_core::ndt::{NdtCells, NdtLattice};
/// use pointmill_data::{read_ndt_map, write_ndt_map};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-map.npz", std::process::id()));
/// let one = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0];
/// let cells = NdtCells {
///     coords: vec![[40_000, 21_000, 0]],
///     counts: vec![9],
///     mean_local: vec![[-0.25, -0.25, -0.5]],
///     mean: vec![[80_000.75, 42_000.75, 0.5]],
///     covariance: vec![one],
///     inverse: vec![one],
///     eigenvalues: vec![[1.0; 3]],
///     normal: vec![[0.0, 0.0, 1.0]],
///     ..NdtCells::default()
/// };
/// let lattice = NdtLattice::new(2.0)?;
/// write_ndt_map(&path, &cells, &lattice)?;
/// assert_eq!(read_ndt_map(&path)?, (cells, lattice));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_ndt_map(to: impl Destination, cells: &NdtCells, lattice: &NdtLattice) -> Result<(), IoError> {
    with_arrays(to.path(), cells, lattice, |arrays| write_npz(Place::of(&to), arrays))
}

/// The bytes of the file that [`write_ndt_map`] writes; `name` stands for it in errors.
///
/// # Errors
/// As [`write_ndt_map`].
pub fn ndt_map_bytes(name: &Path, cells: &NdtCells, lattice: &NdtLattice) -> Result<Vec<u8>, IoError> {
    with_arrays(name, cells, lattice, |arrays| npz_bytes(name, arrays))
}

/// What is done with the arrays of a map.
fn with_arrays<T>(
    path: &Path,
    cells: &NdtCells,
    lattice: &NdtLattice,
    take: impl FnOnce(&[(&str, ArrayView<'_>)]) -> Result<T, IoError>,
) -> Result<T, IoError> {
    let v = cells.len();
    let report = to_json(path, &cells.report)?;
    let full = |rows: &[[f64; 6]]| rows.iter().flat_map(|&row| full_matrix(row)).collect::<Vec<_>>();
    let [covariance, inverse] = [full(&cells.covariance), full(&cells.inverse)];
    let (resolution, origin) = ([lattice.unit()], lattice.origin());
    let mut arrays = vec![
        ("coords", ArrayView::i32(&[v, 3], cells.coords.as_flattened())),
        ("mean", ArrayView::f64(&[v, 3], cells.mean.as_flattened())),
        ("covariance", ArrayView::f64(&[v, 3, 3], &covariance)),
        (MARK, ArrayView::f64(&[v, 3, 3], &inverse)),
        ("counts", ArrayView::u32(&[v], &cells.counts)),
        ("eigenvalues", ArrayView::f64(&[v, 3], cells.eigenvalues.as_flattened())),
        ("normal", ArrayView::f64(&[v, 3], cells.normal.as_flattened())),
        ("resolution", ArrayView::f64(&[1], &resolution)),
        ("report", ArrayView::u8(&[report.len()], &report)),
    ];
    arrays.extend((origin != [0.0; 3]).then(|| (ORIGIN, ArrayView::f64(&[3], &origin))));
    take(&arrays)
}

/// Reads the cells of a map and their lattice, within [`Limits::default`].
///
/// [`NdtCells::mean_local`] is the mean less the centre of its cell. Arrays of other names are passed over. Whether the cells ascend, and whether
/// their means and inverses make sense, is checked where a map is made of them.
///
/// # Errors
/// As [`read_result`](crate::read_result); a resolution that makes no lattice, an origin beyond
/// 1e12 m, matrices that are not symmetric, covariances, eigenvalues or normals that are not
/// finite, variances or eigenvalues below 0, a report that is none.
pub fn read_ndt_map(path: impl AsRef<Path>) -> Result<(NdtCells, NdtLattice), IoError> {
    read_ndt_map_within(Place::named(path.as_ref()), &Limits::default())
}

/// Reads a map as [`read_ndt_map`] does, within limits of the caller's; of them
/// [`Limits::max_memory`] and [`Limits::max_decoded_bytes`] count.
///
/// # Errors
/// As [`read_ndt_map`].
pub fn read_ndt_map_within(from: impl Destination, limits: &Limits) -> Result<(NdtCells, NdtLattice), IoError> {
    let path = from.path();
    let file = ResultArrays::read(Place::of(&from), MAP, limits)?;
    let resolution = file.get("resolution")?.as_f64()?[0];
    let lattice = NdtLattice::new(resolution).map_err(|_| {
        IoError::BadValue(Detail::new(path, "resolution", "the edge of a cell", format!("{resolution:?}")))
    })?;
    let origin = file.get(ORIGIN).map_or(Ok([0.0; 3]), |array| finite_origin(path, array.as_f64()?))?;
    if origin.iter().any(|v| v.abs() > FARTHEST) {
        let wanted = format!("at most {FARTHEST:e} m from zero along each axis");
        return Err(IoError::BadValue(Detail::new(path, "array `origin`", wanted, format!("{origin:?}"))));
    }
    let lattice = lattice.about(origin);
    let triples = |name: &str| Ok::<Vec<[f64; 3]>, IoError>(file.get(name)?.as_f64()?.as_chunks().0.to_vec());
    let coords = file.get("coords")?.as_i32()?.as_chunks().0.to_vec();
    let mean: Vec<[f64; 3]> = triples("mean")?;
    let local = |(cell, mean): (&[i32; 3], &[f64; 3])| {
        let center = lattice.center(*cell);
        [0, 1, 2].map(|i| mean[i] - center[i])
    };
    let covariance = symmetric(path, "covariance", file.get("covariance")?)?;
    let variances = |m: &[f64; 6]| [m[0], m[3], m[5]];
    let least_0 = |row: &[f64; 3]| row.iter().all(|v| *v >= 0.0);
    let (eigenvalues, normal) = (triples("eigenvalues")?, triples("normal")?);
    check(path, "covariance", "finite numbers, none below 0 on the diagonal", &covariance, |m| least_0(&variances(m)))?;
    check(path, "eigenvalues", "finite numbers of at least 0", &eigenvalues, least_0)?;
    check(path, "normal", "finite numbers", &normal, |_| true)?;
    let cells = NdtCells {
        counts: file.get("counts")?.as_u32()?.to_vec(),
        mean_local: coords.iter().zip(&mean).map(local).collect(),
        mean,
        covariance,
        inverse: symmetric(path, MARK, file.get(MARK)?)?,
        eigenvalues,
        normal,
        report: file.report()?,
        coords,
    };
    Ok((cells, lattice))
}

/// Whether an `.npz` archive holds a map, and not something else such as a cloud. Only the names of
/// its arrays are read.
///
/// # Errors
/// What is no archive that is read; what the system refuses.
pub fn is_ndt_map(path: impl AsRef<Path>, limits: &Limits) -> Result<bool, IoError> {
    npz_has(path.as_ref(), MARK, limits)
}

/// Checks that the rows of an array are finite and as they should be.
fn check<const N: usize>(
    path: &Path,
    name: &str,
    wanted: &str,
    rows: &[[f64; N]],
    is_good: impl Fn(&[f64; N]) -> bool,
) -> Result<(), IoError> {
    let bad = rows.iter().position(|row| !(row.iter().all(|v| v.is_finite()) && is_good(row)));
    bad.map_or(Ok(()), |i| {
        let found = format!("{:?} in row {i}", rows[i]);
        Err(IoError::BadValue(Detail::new(path, format!("array `{name}`"), wanted, found)))
    })
}

/// The entries of symmetric matrices.
fn symmetric(path: &Path, name: &str, array: &Array) -> Result<Vec<[f64; 6]>, IoError> {
    let entries = array.as_f64()?.as_chunks::<9>().0.iter().map(|m| {
        symmetric_entries(*m).ok_or_else(|| {
            let field = format!("array `{name}`");
            IoError::BadValue(Detail::new(path, field, "symmetric matrices", format!("{m:?}")))
        })
    });
    entries.collect()
}
