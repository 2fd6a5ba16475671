//! Grids as `.npz` files, written and read back.

use super::records::ReportRecord;
use crate::failure::Failure;
use crate::interrupt::undivided;
use pointmill::ndt::{NdtCells, NdtLattice};
use pointmill_io::{Array, ArrayView, Destination, Detail, IoError, Limits, read_npz_only, write_npz};
use std::collections::BTreeMap;
use std::path::Path;

/// The array that tells a grid from a cloud.
const MARK: &str = "inv_covariance";

/// All arrays that are read back.
const ARRAYS: [&str; 9] =
    ["coords", "mean", "covariance", MARK, "counts", "eigenvalues", "normal", "resolution", "report"];

/// Writes the cells of a grid.
pub(super) fn write(to: impl Destination, cells: &NdtCells, lattice: &NdtLattice) -> Result<(), Failure> {
    let v = cells.len();
    let report = serde_json::to_vec(&ReportRecord::from(&cells.report)).expect("a report is plain numbers");
    let [covariance, inverse] = [&cells.covariance, &cells.inverse].map(|rows| full(rows));
    let resolution = [lattice.unit()];
    let members = [
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
    Ok(undivided(|| write_npz(to, &members))?)
}

/// Reads the cells of a grid and their edge in metres, within the limits; `None` for an archive that holds something else, such as a cloud.
pub(super) fn read(path: &Path, limits: &Limits) -> Result<Option<(NdtCells, f64)>, IoError> {
    let arrays = read_npz_only(path, &ARRAYS, limits)?;
    if !arrays.contains_key(MARK) {
        return Ok(None);
    }
    let file = File { path, arrays };
    let coords = file.array("coords", &[None, Some(3)])?.as_i32()?.as_chunks().0.to_vec();
    let v = coords.len();
    let report = file.array("report", &[None])?.as_u8()?;
    let wrong = |e: serde_json::Error| IoError::BadValue(Detail::new(path, "report", "JSON of numbers", e.to_string()));
    let report: ReportRecord = serde_json::from_slice(report).map_err(wrong)?;
    let resolution = file.array("resolution", &[Some(1)])?.as_f64()?[0];
    let mean: Vec<[f64; 3]> = file.triples("mean", v)?;
    let wrong = |_| IoError::BadValue(Detail::new(path, "resolution", "the edge of a cell", format!("{resolution:?}")));
    let lattice = NdtLattice::new(resolution).map_err(wrong)?;
    let local = |(cell, mean): (&[i32; 3], &[f64; 3])| {
        let center = lattice.center(*cell);
        [0, 1, 2].map(|i| mean[i] - center[i])
    };
    let cells = NdtCells {
        counts: file.array("counts", &[Some(v)])?.as_u32()?.to_vec(),
        mean_local: coords.iter().zip(&mean).map(local).collect(),
        mean,
        covariance: file.symmetric("covariance", v)?,
        inverse: file.symmetric(MARK, v)?,
        eigenvalues: file.triples("eigenvalues", v)?,
        normal: file.triples("normal", v)?,
        report: report.into(),
        coords,
    };
    Ok(Some((cells, resolution)))
}

/// Arrays, and where they come from.
struct File<'a> {
    path: &'a Path,
    arrays: BTreeMap<String, Array>,
}

impl File<'_> {
    fn array(&self, name: &str, shape: &[Option<usize>]) -> Result<&Array, IoError> {
        let missing =
            || IoError::MissingField(Detail::new(self.path, "arrays", format!("`{name}`, as of a grid"), "none"));
        let array = self.arrays.get(name).ok_or_else(missing)?;
        array.expect_shape(shape)?;
        Ok(array)
    }

    fn triples(&self, name: &str, v: usize) -> Result<Vec<[f64; 3]>, IoError> {
        Ok(self.array(name, &[Some(v), Some(3)])?.as_f64()?.as_chunks().0.to_vec())
    }

    fn symmetric(&self, name: &str, v: usize) -> Result<Vec<[f64; 6]>, IoError> {
        let values = self.array(name, &[Some(v), Some(3), Some(3)])?.as_f64()?;
        let entries = values.as_chunks::<9>().0.iter().map(|m| {
            if [(1, 3), (2, 6), (5, 7)].iter().any(|&(a, b)| m[a] != m[b]) {
                let field = format!("array `{name}`");
                return Err(IoError::BadValue(Detail::new(self.path, field, "symmetric matrices", format!("{m:?}"))));
            }
            Ok([m[0], m[1], m[2], m[4], m[5], m[8]])
        });
        entries.collect()
    }
}

/// Both halves of symmetric matrices.
fn full(rows: &[[f64; 6]]) -> Vec<f64> {
    rows.iter().flat_map(|&[xx, xy, xz, yy, yz, zz]| [xx, xy, xz, xy, yy, yz, xz, yz, zz]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointmill::ndt::{NdtMoments, NdtParams};
    use pointmill_io::read_npz;

    fn cells() -> (NdtCells, NdtLattice) {
        let points: Vec<f64> = (0..400).map(|i| 4.0 * (f64::from(i) * 0.7).sin() + 80_000.0).collect();
        let mut moments = NdtMoments::new(0.3).unwrap();
        moments.add(Rows::f64(&points[..399], 3).unwrap()).unwrap();
        (moments.finish(&NdtParams { min_points: 2, ..NdtParams::default() }).unwrap(), *moments.lattice())
    }

    #[test]
    fn a_grid_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.npz");
        let (cells, lattice) = cells();
        assert!(cells.len() > 5, "{}", cells.len());
        write(&path, &cells, &lattice).unwrap();
        let (mut back, resolution) = read(&path, &Limits::default()).unwrap().unwrap();
        assert_eq!(NdtLattice::new(resolution), Ok(lattice));
        for (a, b) in back.mean_local.iter().flatten().zip(cells.mean_local.iter().flatten()) {
            assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
        back.mean_local.clone_from(&cells.mean_local);
        assert_eq!(back, cells);
        let points = [1.0, 2.0, 3.0];
        write_npz(&path, &[("points", ArrayView::f32(&[1, 3], &points))]).unwrap();
        assert!(read(&path, &Limits::default()).unwrap().is_none());
    }

    /// What is no part of a grid is not read, and takes no memory.
    #[test]
    fn limits_hold_and_only_a_grids_arrays_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.npz");
        let (cells, lattice) = cells();
        write(&path, &cells, &lattice).unwrap();
        let arrays = read_npz(&path).unwrap();
        let zeros = vec![0; 1 << 20];
        let others = arrays.iter().map(|(name, array)| (name.as_str(), array.view()));
        let members: Vec<_> = others.chain([("beside", ArrayView::u8(&[zeros.len()], &zeros))]).collect();
        write_npz(&path, &members).unwrap();
        let memory = |bytes| Limits { max_memory: Some(bytes), ..Limits::default() };
        assert_eq!(read(&path, &memory(1 << 18)).unwrap().unwrap().0.counts, cells.counts);
        assert_eq!(read(&path, &memory(1000)).unwrap_err().class(), "LimitExceeded");
        let limits = Limits { max_decoded_bytes: Some(1000), ..Limits::default() };
        assert_eq!(read(&path, &limits).unwrap_err().class(), "LimitExceeded");
    }

    #[test]
    fn damaged_grids_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.npz");
        let (cells, lattice) = cells();
        write(&path, &cells, &lattice).unwrap();
        let arrays = read_npz(&path).unwrap();
        let nine = [0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0].repeat(cells.len());
        let v = cells.len();
        for (name, replaced, class) in [
            ("mean", None, "MissingField"),
            ("resolution", Some(ArrayView::f64(&[1], &[-1.0])), "BadValue"),
            ("covariance", Some(ArrayView::f64(&[v, 3, 3], &nine)), "BadValue"),
            ("inv_covariance", Some(ArrayView::f64(&[v, 9], &nine)), "ShapeMismatch"),
            ("coords", Some(ArrayView::f64(&[3 * v, 3], &nine)), "DtypeMismatch"),
            ("report", Some(ArrayView::u8(&[2], b"[]")), "BadValue"),
        ] {
            let others = arrays.iter().filter(|(other, _)| *other != name).map(|(name, a)| (name.as_str(), a.view()));
            let members: Vec<_> = others.chain(replaced.map(|view| (name, view))).collect();
            write_npz(&path, &members).unwrap();
            assert_eq!(read(&path, &Limits::default()).unwrap_err().class(), class, "{name}");
        }
    }
}
