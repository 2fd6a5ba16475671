//! Clouds on their way to one file, in a file without a name until then.

use crate::error::IoError;
use crate::fault::bail;
use crate::field::Field;
use crate::files::{Destination, Place};
use crate::format::Format;
use crate::las;
use crate::memory::refused;
use crate::merge::{append, arranged, into_rows, keep, merge, prepare};
use crate::named_points::NamedPoints;
use crate::parts::{Parts, Take};
use crate::prj::write_prj;
use crate::rows::Rows;
use crate::scan::Scan;
use crate::survey::Survey;
use crate::wide_column::WideColumn;
use crate::{pcd, ply};
use pointmill_core::Points;
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Clouds that become one, as [`merge`] makes it. Their values wait in a file without a name, so
/// that memory holds one cloud at a time while a PLY, PCD, LAS or LAZ file is written.
///
/// ```
/// use pointmill_core::PointCloud;
/// use pointmill_io::{Format, Joined, Scan};
/// let folder = std::env::temp_dir();
/// let mut joined = Joined::new(&folder, false)?;
/// for x in [1.0, 7.0] {
///     joined.push("a.bin", Scan::from(PointCloud::new(vec![x, 2.0, 3.0], 3)?))?;
/// }
/// let path = folder.join(format!("pointmill-doc-{}-joined.ply", std::process::id()));
/// joined.write(&path, Format::Ply)?;
/// assert_eq!(pointmill_io::read(&path, &Default::default())?.cloud.data(), [1.0, 2.0, 3.0, 7.0, 2.0, 3.0]);
/// assert_eq!(joined.select(&[1])?.cloud.data(), [7.0, 2.0, 3.0]);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Joined {
    folder: PathBuf,
    file: File,
    is_common: bool,
    /// What the clouds have together, without a row: as [`append`] makes it.
    all: Option<Rows>,
    first: PathBuf,
    format: Format,
    origin: [f64; 3],
    held: Vec<Held>,
    points: usize,
}

/// A cloud that waits.
#[derive(Debug)]
struct Held {
    path: PathBuf,
    fields: Vec<Field>,
    points: usize,
    has_f64: bool,
    /// Columns in full, of which the values wait too, and whether they have a rest.
    wide: Vec<(WideColumn, bool)>,
    survey: Option<std::sync::Arc<Survey>>,
    decimals: Option<u8>,
    warnings: Vec<crate::warning::Warning>,
    at: u64,
}

impl Joined {
    /// No cloud so far. Values wait in a folder, on the disk that the file will be on; only the
    /// columns that all clouds have count if `is_common`.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(folder: impl AsRef<Path>, is_common: bool) -> Result<Self, IoError> {
        let folder = folder.as_ref().to_path_buf();
        let file = tempfile::tempfile_in(&folder).map_err(IoError::io(&folder, "make a temporary file"))?;
        let (first, format, origin) = (PathBuf::new(), Format::Bin, [0.0; 3]);
        Ok(Self { folder, file, is_common, all: None, first, format, origin, held: vec![], points: 0 })
    }

    /// Adds a cloud; `path` is its name in errors.
    ///
    /// # Errors
    /// As [`merge`]; what the system refuses.
    pub fn push(&mut self, path: impl AsRef<Path>, scan: Scan) -> Result<(), IoError> {
        let path = path.as_ref();
        let (format, origin) = (scan.format, scan.cloud.origin());
        let rows = into_rows(scan, path)?;
        let mut more = Rows {
            xyz_f64: rows.xyz_f64.as_ref().map(|_| vec![]),
            decimals: rows.decimals,
            survey: rows.survey.clone(),
            ..Rows::new(rows.fields.clone(), vec![])
        };
        match &mut self.all {
            None => {
                (self.first, self.format, self.origin) = (path.into(), format, origin);
                self.all = Some(more);
            }
            Some(all) => {
                if self.is_common {
                    keep(all, &more.fields);
                    keep(&mut more, &all.fields);
                }
                let places = prepare(all, &self.first, &mut more, path)?;
                append(all, more, &places).map_err(refused(path, rows.len(), rows.columns()))?;
            }
        }
        let at = self.file.seek(SeekFrom::End(0)).map_err(IoError::io(&self.folder, "seek"))?;
        let held = Held {
            path: path.into(),
            fields: rows.fields.clone(),
            points: rows.len(),
            has_f64: rows.xyz_f64.is_some(),
            wide: rows.wide.iter().map(|of| (of.clone_empty(), !of.rest.is_empty())).collect(),
            survey: rows.survey.clone(),
            decimals: rows.decimals,
            warnings: rows.warnings.clone(),
            at,
        };
        self.hold(&rows).map_err(IoError::io(&self.folder, "write a temporary file"))?;
        self.points += held.points;
        self.held.push(held);
        Ok(())
    }

    fn hold(&mut self, rows: &Rows) -> std::io::Result<()> {
        self.file.write_all(bytemuck::cast_slice(&rows.data))?;
        self.file.write_all(bytemuck::cast_slice(rows.xyz_f64.as_deref().unwrap_or_default()))?;
        for wide in &rows.wide {
            self.file.write_all(bytemuck::cast_slice(&wide.values))?;
            self.file.write_all(bytemuck::cast_slice(&wide.rest))?;
        }
        Ok(())
    }

    /// The rows of a cloud that waits, with its own columns.
    fn rows(&self, held: &Held) -> Result<Rows, IoError> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(held.at)).map_err(IoError::io(&self.folder, "seek"))?;
        let mut reader = BufReader::with_capacity(1 << 20, file);
        let (n, columns) = (held.points, held.fields.len());
        let mut rows = Rows::new(held.fields.clone(), self.values(&mut reader, n * columns, held)?);
        if held.has_f64 {
            rows.xyz_f64 = Some(self.values(&mut reader, 3 * n, held)?);
        }
        for (wide, has_rest) in &held.wide {
            let values = self.values(&mut reader, n, held)?;
            let rest = self.values(&mut reader, if *has_rest { n } else { 0 }, held)?;
            rows.wide.push(WideColumn { values, rest, ..wide.clone_empty() });
        }
        (rows.survey, rows.decimals) = (held.survey.clone(), held.decimals);
        rows.warnings.clone_from(&held.warnings);
        Ok(rows)
    }

    fn values<T: bytemuck::Pod>(&self, from: &mut impl Read, count: usize, held: &Held) -> Result<Vec<T>, IoError> {
        let mut values = Vec::new();
        values.try_reserve_exact(count).map_err(refused(&held.path, held.points, held.fields.len()))?;
        values.resize(count, T::zeroed());
        let bytes = bytemuck::cast_slice_mut(&mut values);
        from.read_exact(bytes).map_err(IoError::io(&self.folder, "read a temporary file"))?;
        Ok(values)
    }

    /// The number of all points.
    pub fn points(&self) -> usize {
        self.points
    }

    /// What holds for all points.
    pub fn survey(&self) -> Option<&Survey> {
        self.all.as_ref()?.survey.as_deref()
    }

    /// The columns of the file, in order.
    pub fn fields(&self) -> &[Field] {
        self.all.as_ref().map_or(&[], |all| &all.fields)
    }

    /// Writes the file part by part, if its format is one of [`Joined::is_in_parts`].
    ///
    /// # Errors
    /// Another format; no cloud; as [`write()`](crate::write()).
    pub fn write(&self, to: impl Destination, format: Format) -> Result<(), IoError> {
        if self.held.is_empty() {
            bail!((Path::new("merge")), InvalidArgument, "inputs", "1 or more", "none");
        }
        match format {
            Format::Ply => ply::write_parts(&to, self)?,
            Format::Pcd => pcd::write_parts(&to, self)?,
            Format::Las => las::write_parts(Place::of(&to), self)?,
            other => bail!((to.path()), UnsupportedFormat, "format", "ply, pcd or las", other),
        }
        write_prj(Place::of(&to), format, self.survey())
    }

    /// Whether a format is written part by part.
    pub fn is_in_parts(format: Format) -> bool {
        matches!(format, Format::Ply | Format::Pcd | Format::Las)
    }

    /// All points as one scan, in memory.
    ///
    /// # Errors
    /// As [`merge`].
    pub fn scan(&self) -> Result<Scan, IoError> {
        self.merged(|scan, _| Ok(scan))
    }

    /// The points with these numbers, in ascending order, as one scan. Memory holds one cloud beside
    /// them.
    ///
    /// # Errors
    /// As [`merge`].
    pub fn select(&self, rows: &[usize]) -> Result<Scan, IoError> {
        let mut rest = rows;
        self.merged(|scan, before| {
            let (own, others) = rest.split_at(rest.partition_point(|row| *row < before + scan.cloud.len()));
            rest = others;
            // A cloud has fewer points than a u32 counts.
            scan.select(&own.iter().map(|row| (row - before) as u32).collect::<Vec<_>>())
        })
    }

    /// What is made of each cloud and the number of points before it, as one scan.
    fn merged(&self, mut made_of: impl FnMut(Scan, usize) -> Result<Scan, IoError>) -> Result<Scan, IoError> {
        let mut before = 0;
        merge(self.held.iter().enumerate().map(|(i, held)| {
            let mut rows = self.rows(held)?;
            self.all.iter().for_each(|all| keep(&mut rows, &all.fields));
            let format = if i == 0 { self.format } else { Format::Bin };
            let scan = made_of(Scan::new(rows, &held.path, format)?.0, before)?;
            before += held.points;
            let origin = pointmill_core::LocalOrigin::At(self.origin);
            Ok((held.path.clone(), if i == 0 { scan.about(origin) } else { scan }))
        }))
    }
}

impl Parts for Joined {
    fn fields(&self) -> &[Field] {
        Self::fields(self)
    }

    fn points(&self) -> usize {
        self.points
    }

    fn survey(&self) -> Option<&Survey> {
        Self::survey(self)
    }

    fn remark(&self) -> Option<String> {
        let none = Points::new(&[0.0; 3], 3).ok()?;
        NamedPoints { origin: self.origin, xyz_f64: Some(&[0.0; 3]), ..none.into() }.remark()
    }

    fn check(&self, path: &Path) -> Result<(), IoError> {
        let none = Points::new(&[], self.fields().len()).expect("no row");
        NamedPoints { fields: Cow::Borrowed(self.fields()), ..none.into() }.check(path)
    }

    fn each(&self, take: Take<'_>) -> Result<(), IoError> {
        let Some(all) = &self.all else { return Ok(()) };
        let mut before = 0;
        for held in &self.held {
            let mut rows = self.rows(held)?;
            keep(&mut rows, &all.fields);
            let Rows { data, xyz_f64, wide, .. } = arranged(rows, &all.fields);
            let points = Points::new(&data, all.fields.len()).expect("rows of all columns");
            let part = NamedPoints {
                fields: Cow::Borrowed(&all.fields),
                xyz_f64: xyz_f64.as_deref(),
                wide: wide.into_iter().map(Into::into).collect(),
                ..points.into()
            };
            if !take(before, &part)? {
                break;
            }
            before += held.points;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{WriteOptions, write};
    use crate::{merge_common, read};
    use pointmill_core::PointCloud;
    use pointmill_core::array::Dtype;
    use std::sync::Arc;

    /// Clouds whose columns differ in order, in type and in what an `f32` holds.
    fn clouds() -> Vec<(PathBuf, Scan)> {
        let cloud = |columns: &[(&str, Dtype)], data: &[f32], wide: Vec<WideColumn>, exact: bool| {
            let xyz = [("x", Dtype::F32), ("y", Dtype::F32), ("z", Dtype::F32)];
            let fields = xyz.iter().chain(columns).map(|&(name, dtype)| Field { name: name.into(), dtype }).collect();
            let mut scan = Scan::from(PointCloud::new(data.to_vec(), 3 + columns.len()).unwrap());
            scan.xyz_f64 = exact.then(|| scan.iter_xyz().flatten().map(|v| v + 1e-9).collect());
            scan.wide = wide.into_iter().map(Arc::new).collect();
            Scan { fields, ..scan }
        };
        let stamp = 1_700_000_000_000_000_007_i64;
        let wide = |column, values: &[i64]| vec![WideColumn::from_values(column, vec![], values.iter().copied())];
        let a = cloud(
            &[("ring", Dtype::U8), ("t", Dtype::I64)],
            &[1., 2., 3., 4., stamp as f32, 5., 6., 7., 255., 9.],
            wide(4, &[stamp, 9]),
            false,
        );
        let b = cloud(&[("t", Dtype::I64), ("ring", Dtype::I16)], &[8., 9., 1., 3., -5.], vec![], true);
        let c = cloud(&[("ring", Dtype::U8), ("t", Dtype::I64)], &[], wide(4, &[]), false);
        let d = cloud(&[("ring", Dtype::F32), ("t", Dtype::I64)], &[0.5, 0.25, 0.125, 7.0, 11.0], vec![], false);
        [a, b, c, d].into_iter().enumerate().map(|(i, scan)| (format!("{i}.ply").into(), scan)).collect()
    }

    #[test]
    fn files_are_those_of_clouds_that_are_merged_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let endings: &[_] = if cfg!(feature = "laz") { &["ply", "pcd", "las", "laz"] } else { &["ply", "pcd", "las"] };
        let all = clouds();
        for count in 1..=all.len() {
            // With a column that one cloud lacks, too.
            for is_common in [false, true] {
                let mut some = all[..count].to_vec();
                if is_common {
                    let last = some.last_mut().unwrap();
                    last.1.fields[3].name = "other".into();
                }
                let mut joined = Joined::new(folder.path(), is_common).unwrap();
                some.iter().for_each(|(path, scan)| joined.push(path, scan.clone()).unwrap());
                let scans = some.into_iter().map(Ok::<_, IoError>);
                let merged = if is_common { merge_common(scans) } else { merge(scans) }.unwrap();
                assert_eq!((joined.points(), joined.fields()), (merged.cloud.len(), &merged.fields[..]));
                let held = joined.scan().unwrap();
                let parts = |scan: &Scan| (scan.cloud.clone(), scan.xyz_f64.clone(), scan.wide.clone());
                assert_eq!(parts(&held), parts(&merged), "{count} {is_common}");
                for every in [1, 3, 1000] {
                    let rows: Vec<usize> = (1..joined.points()).step_by(every).collect();
                    let same: Vec<u32> = rows.iter().map(|row| *row as u32).collect();
                    let [few, wanted] = [joined.select(&rows), merged.select(&same)].map(Result::unwrap);
                    // Where no row that is left needs double precision, none is kept.
                    let places =
                        |scan: &Scan| (scan.cloud.clone(), scan.iter_xyz().collect::<Vec<_>>(), scan.wide.clone());
                    assert_eq!(places(&few), places(&wanted), "{count} {is_common} {every}");
                }
                for ending in endings {
                    let [a, b] = ["a", "b"].map(|name| folder.path().join(format!("{name}.{ending}")));
                    joined.write(&a, Format::for_writing(&a).unwrap()).unwrap();
                    write(&b, &merged, &WriteOptions::default()).unwrap();
                    let [a, b] = [a, b].map(|path| std::fs::read(path).unwrap());
                    assert!(a == b, "{count} {is_common} {ending}");
                }
            }
        }
    }

    #[test]
    fn what_does_not_go_together_is_told_and_nothing_stays() {
        let folder = tempfile::tempdir().unwrap();
        let of = |n: usize| Scan::from(PointCloud::new(vec![0.0; n], n).unwrap());
        let mut joined = Joined::new(folder.path(), false).unwrap();
        let path = folder.path().join("a.ply");
        assert!(joined.write(&path, Format::Ply).unwrap_err().to_string().contains("inputs: expected 1 or more"));
        joined.push("a.bin", of(4)).unwrap();
        let told = joined.push("b.bin", of(3)).unwrap_err().to_string();
        assert_eq!(told, "b.bin: columns: expected the columns of a.bin: x, y, z, column3, got x, y, z");
        assert!(joined.write(&path, Format::Npy).is_err());
        joined.write(&path, Format::Ply).unwrap();
        assert_eq!(read(&path, &Default::default()).unwrap().cloud.len(), 1);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
