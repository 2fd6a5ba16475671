//! A cloud as it came from a file: points, names and types of the columns, and what is odd about
//! them.

mod scale;
mod select;

use crate::directions::Directions;
use crate::error::IoError;
use crate::fault::fault;
use crate::field::{Field, XYZ};
use crate::format::Format;
use crate::inspect::Seen;
use crate::memory::{collect, extend, refused, retain_rows};
use crate::named_points::NamedPoints;
use crate::rows::Rows;
use crate::survey::Survey;
use crate::threads::{SHARE, on_threads};
use crate::times::{self, LaterTimes, Times};
use crate::warning::Warning;
use crate::wide_column::WideColumn;
use pointmill_core::array::Dtype;
use pointmill_core::elevation::raised;
use pointmill_core::trig::sin_cos_f64;
use pointmill_core::{LocalOrigin, PointCloud, Pose, about, corner, least};
use std::alloc::{Layout, handle_alloc_error};
use std::borrow::Cow;
use std::collections::TryReserveError;
use std::path::Path;
use std::sync::Arc;

/// A cloud from a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scan {
    /// The points, in the file's order, none left out.
    pub cloud: PointCloud,
    /// The format it was read in.
    pub format: Format,
    /// The columns of the cloud, in order, with the types that the file has.
    pub fields: Vec<Field>,
    /// x, y, z of every point as the file has them, `[N, 3]` row-major, where `f32` loses some of
    /// it or the cloud is about
    /// [an origin](PointCloud::origin); `None` where the cloud has every bit.
    pub xyz_f64: Option<Vec<f64>>,
    /// What a user may want to know; none of it kept the cloud from being read.
    pub warnings: Vec<Warning>,
    /// Columns behind z of which an `f32` does not hold every value, and those with times, in
    /// order.
    pub(crate) wide: Vec<Arc<WideColumn>>,
    /// The decimals of the coordinates, where they are decimal numbers.
    pub(crate) decimals: Option<u8>,
    /// What a LAS file says of its points.
    pub(crate) survey: Option<Arc<Survey>>,
}

impl Scan {
    /// The scan of what a reader returned, with what is odd about the points.
    pub(crate) fn new(rows: Rows, path: &Path, format: Format) -> Result<(Self, Seen), IoError> {
        let columns = rows.columns();
        let Rows { data, fields, xyz_f64, wide, decimals, bbox, mut warnings, survey } = rows;
        let cloud = PointCloud::new(data, columns)
            .map_err(|e| fault!(path, ShapeMismatch, "points", "rows of 3 or more columns", e))?;
        let is_kept = |wide: &WideColumn| wide.change > 0.0 || times::is_named(&fields[wide.column].name);
        let wide: Vec<_> = wide.into_iter().filter(is_kept).map(Arc::new).collect();
        let seen = Seen::of(&cloud, xyz_f64.as_deref().unwrap_or_default(), bbox);
        if seen.outside > 0 {
            let outside = Warning::OutsideBounds { count: seen.outside, points: cloud.len() };
            let is_salvaged = matches!(warnings.last(), Some(Warning::Salvaged { .. }));
            warnings.insert(warnings.len() - usize::from(is_salvaged), outside);
        }
        warnings.extend(cast(&fields, wide.iter().map(|wide| (wide.column, wide.change)), Dtype::F32));
        warnings.extend(seen.rounded(cloud.origin()));
        let xyz_f64 = xyz_f64.filter(|_| seen.lost);
        let (points, count) = (cloud.len(), seen.non_finite);
        if points == 0 {
            warnings.push(Warning::Empty);
        } else if count == points {
            warnings.push(Warning::NoFinitePoint { points });
        } else if count > 0 {
            warnings.push(Warning::NonFinite { count, points });
        }
        Ok((Self { cloud, format, fields, xyz_f64, warnings, wide, decimals, survey }, seen))
    }

    /// x, y, z of every point in `f64`, with every bit that the file has.
    pub fn xyz(&self) -> Vec<[f64; 3]> {
        self.iter_xyz().collect()
    }

    /// As [`Scan::xyz`], one after the other, without memory for all.
    pub fn iter_xyz(&self) -> impl ExactSizeIterator<Item = [f64; 3]> + '_ {
        let exact = self.xyz_f64.as_deref().map(|xyz| xyz.as_chunks::<3>().0);
        let (data, columns) = (self.cloud.data(), self.cloud.columns());
        (0..self.cloud.len()).map(move |i| match exact {
            Some(exact) => exact[i],
            None => [0, 1, 2].map(|axis| f64::from(data[i * columns + axis])),
        })
    }

    /// The distance of the farthest finite point from zero of the frame, in metres; 0 without one.
    pub fn radius(&self) -> f64 {
        let squares = self.iter_xyz().map(|p| p.iter().map(|x| x * x).sum::<f64>());
        squares.filter(|square| square.is_finite()).fold(0.0, f64::max).sqrt()
    }

    /// x, y, z of every point in another frame, `[N, 3]` row-major, as [`Scan::transformed`] has
    /// them in `f64`.
    pub fn xyz_in(&self, pose: &Pose) -> Vec<f64> {
        self.iter_xyz().flat_map(|p| pose.apply(p)).collect()
    }

    /// The scan with its points about another origin, which
    /// [`ReadOptions::origin`](crate::ReadOptions::origin) asks of a reader.
    ///
    /// [`Scan::xyz_f64`] keeps the coordinates. [`LocalOrigin::Auto`] leaves a scan about zero as it is, if no coordinate moves by [`Warning::WORTH_TELLING`].
    ///
    /// ```
    /// use pointmill_core::{LocalOrigin, PointCloud};
    /// let scan = pointmill_io::Scan::from(PointCloud::new(vec![1001.0, 2.0, 3.0], 3)?);
    /// let local = scan.about(LocalOrigin::At([1000.0, 0.0, 0.0]));
    /// assert_eq!((local.cloud.data(), local.cloud.origin()), (&[1.0, 2.0, 3.0][..], [1000.0, 0.0, 0.0]));
    /// assert_eq!(local.xyz_f64, Some(vec![1001.0, 2.0, 3.0]));
    /// # Ok::<(), pointmill_core::CloudError>(())
    /// ```
    #[must_use]
    pub fn about(self, origin: LocalOrigin) -> Self {
        let bytes = Layout::array::<[f64; 3]>(self.cloud.len()).unwrap_or(Layout::new::<()>());
        self.try_about(origin).unwrap_or_else(|_| handle_alloc_error(bytes))
    }

    /// As [`Scan::about`]; memory that is refused is an error.
    pub(crate) fn try_about(mut self, origin: LocalOrigin) -> Result<Self, TryReserveError> {
        let moves = self.warnings.iter().any(|warning| matches!(warning, Warning::Rounded { .. }));
        let origin = match (origin, &self.xyz_f64) {
            (LocalOrigin::None, _) => [0.0; 3],
            (LocalOrigin::At(origin), _) => origin,
            (LocalOrigin::Auto, Some(xyz)) if moves => corner_of(xyz.as_chunks().0),
            (LocalOrigin::Auto, _) => self.cloud.origin(),
        };
        if origin == self.cloud.origin() {
            return Ok(self);
        }
        let mut xyz = self.xyz_f64.take().unwrap_or_default();
        if xyz.is_empty() {
            extend(&mut xyz, 3 * self.cloud.len(), self.iter_xyz().flatten())?;
        }
        let columns = self.cloud.columns();
        let mut data = self.cloud.into_data();
        let shares = data.chunks_mut(SHARE * columns).zip(xyz.as_chunks().0.chunks(SHARE)).collect();
        let seen = on_threads(shares, |(rows, points): (&mut [f32], &[[f64; 3]])| {
            let locals = rows.chunks_exact_mut(columns).zip(points).map(|(row, &point)| {
                let local = about(point, origin);
                row[..3].copy_from_slice(&local.map(|v| v as f32));
                (&*row, local)
            });
            Seen::moved(locals)
        });
        let seen = seen.into_iter().fold(Seen::default(), Seen::and);
        self.cloud = PointCloud::new(data, columns).expect("rows as wide as before").with_origin(origin);
        self.warnings.retain(|warning| !matches!(warning, Warning::Rounded { .. }));
        let counts =
            |w: &Warning| matches!(w, Warning::Empty | Warning::NonFinite { .. } | Warning::NoFinitePoint { .. });
        let place = self.warnings.iter().position(counts).unwrap_or(self.warnings.len());
        self.warnings.splice(place..place, seen.rounded(origin));
        self.xyz_f64 = (seen.lost || origin != [0.0; 3]).then_some(xyz);
        Ok(self)
    }

    /// The time of every point; `None` where no column has times, or none of which the unit is
    /// known.
    ///
    /// A column has times by its name, whatever the case of its letters: `t`, `time`, `timestamp`,
    /// `timestamps`, `time_stamp`, `offset_time`, `time_offset`, `gps_time`, each also with `_s`,
    /// `_ms`, `_us` or `_ns` behind it, and `offset` with one of these. The unit is the one of the
    /// name, of `gps_time` seconds; of `time_stamp` in E57 seconds, of `offset_time` in whole numbers
    /// nanoseconds as Livox counts; of 18 digits and more nanoseconds. Else it is the one in which
    /// the points take from 0.01 to 10 seconds. Whole numbers must take 1000 of their unit or more.
    /// The first such column counts.
    ///
    /// ```
    /// use pointmill_core::Points;
    /// use pointmill_io::{NamedPoints, ReadOptions, TimeUnit, read, write_ply};
    /// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-times.ply", std::process::id()));
    /// let points = Points::new(&[1.0, 2.0, 3.0, 0.5, 1.0, 2.0, 3.0, 0.75], 4)?;
    /// write_ply(&path, &NamedPoints::new(points, &["x", "y", "z", "time"]))?;
    /// let times = read(&path, &ReadOptions::default())?.times().expect("a column of times");
    /// assert_eq!((times.unit, times.start, times.seconds), (TimeUnit::Seconds, 0.5, vec![0.0, 0.25]));
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn times(&self) -> Option<Times> {
        times::find(self.format, &self.fields, self.cloud.data(), &self.wide)
    }

    /// What [`Scan::times`] needs, if that is none of the points, so that a caller who gives the
    /// points away works the times out later. `None` where times come from a column of the cloud.
    ///
    /// ```
    /// use pointmill_core::Points;
    /// use pointmill_io::{NamedPoints, ReadOptions, WriteOptions, read, write};
    /// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-later.ply", std::process::id()));
    /// let points = Points::new(&[1.0, 2.0, 3.0, 0.5], 4)?;
    /// write(&path, NamedPoints::new(points, &["x", "y", "z", "time"]), &WriteOptions::default())?;
    /// // An `f32` holds these times, so that the cloud has them.
    /// assert!(read(&path, &ReadOptions::default())?.later_times().is_none());
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn later_times(&self) -> Option<LaterTimes> {
        LaterTimes::new(self.format, &self.fields, &self.wide)
    }

    /// The columns behind z of which an `f32` does not hold every value, in full and in order;
    /// [`write()`](crate::write()) keeps them.
    pub fn wide(&self) -> impl ExactSizeIterator<Item = &Arc<WideColumn>> {
        let wide: Vec<_> = self.wide.iter().filter(|wide| wide.change > 0.0).collect();
        wide.into_iter()
    }

    /// The column of the intensity of the points; `None` where no column has such a name.
    ///
    /// Names are `intensity`, `reflectance`, `reflectivity` and `remission`, whatever the case of
    /// their letters. The first such column counts.
    pub fn intensity(&self) -> Option<usize> {
        const NAMES: [&str; 4] = ["intensity", "reflectance", "reflectivity", "remission"];
        self.fields.iter().position(|field| NAMES.iter().any(|name| field.name.eq_ignore_ascii_case(name)))
    }

    /// The coordinate reference system, of the records of a LAS file or of the `.prj` beside PLY and
    /// text: its name in WKT, or the EPSG code of its `GeoTIFF` keys, as `EPSG:32632`.
    pub fn crs(&self) -> Option<String> {
        self.survey.as_ref()?.crs_name()
    }

    /// What a LAS file says of all its points, or a `.prj` of those of another file.
    pub fn survey(&self) -> Option<&Survey> {
        self.survey.as_deref()
    }

    /// The same points in another coordinate reference system, whatever theirs was: nothing is
    /// transformed. See [`Survey::of_epsg`] and [`Survey::of_wkt`].
    #[must_use]
    pub fn with_crs(mut self, crs: &Survey) -> Self {
        self.survey = Some(self.survey.as_deref().unwrap_or(&Survey::default()).with_system_of(crs).into());
        self
    }

    /// Whether the coordinates are `f64`, in the file or in [`Scan::xyz_f64`].
    pub fn is_f64(&self) -> bool {
        self.xyz_f64.is_some() || self.fields[..3].iter().any(|field| field.dtype == Dtype::F64)
    }

    /// The scan in another frame: every point, finite or not, in order, with all of its columns.
    ///
    /// Normals and velocities are rotated with the points: columns `nx`, `ny`, `nz`, `normal_x` or
    /// `normalX` and so on, `vx`, `vel_x` or `velocity_x` and so on, whatever the case of their
    /// letters. A velocity may lack z. The sums are `f64`. The result keeps them in [`Scan::xyz_f64`] if `keep_f64`, or if
    /// the coordinates of this scan [are `f64`](Scan::is_f64).
    ///
    /// ```
    /// use pointmill_core::{Points, Pose};
    /// use pointmill_io::{NamedPoints, ReadOptions, WriteOptions, read, write};
    /// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-moved.ply", std::process::id()));
    /// let points = Points::new(&[1.0, 2.0, 3.0, 1.0, 0.0, 0.0], 6)?;
    /// write(&path, NamedPoints::new(points, &["x", "y", "z", "nx", "ny", "nz"]), &WriteOptions::default())?;
    /// let quarter = [[0.0, -1.0, 0.0, 10.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    /// let moved = read(&path, &ReadOptions::default())?.transformed(&Pose::from_matrix(&quarter)?, false);
    /// assert_eq!(moved.cloud.data(), [8.0, 1.0, 3.0, 0.0, 1.0, 0.0]);
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn transformed(&self, pose: &Pose, keep_f64: bool) -> Self {
        self.placed(self.xyz_in(pose), pose, keep_f64)
    }

    /// The same with x, y, z that are known, as those of a deskewed sweep: `moved` is `[N, 3]`
    /// row-major, and the pose turns the directions.
    ///
    /// ```
    /// use pointmill_core::{PointCloud, Pose};
    /// let scan = pointmill_io::Scan::from(PointCloud::new(vec![1.0, 2.0, 3.0, 0.5], 4)?);
    /// assert_eq!(scan.placed(vec![7.0, 8.0, 9.0], &Pose::IDENTITY, false).cloud.data(), [7.0, 8.0, 9.0, 0.5]);
    /// # Ok::<(), pointmill_core::CloudError>(())
    /// ```
    ///
    /// # Panics
    /// A number of coordinates that is not that of the points.
    #[must_use]
    pub fn placed(&self, moved: Vec<f64>, pose: &Pose, keep_f64: bool) -> Self {
        assert_eq!(moved.len(), 3 * self.cloud.len(), "x, y, z of each point");
        let directions = Directions::of(self.fields.iter().map(|field| &*field.name));
        let mut cloud = self.cloud.clone();
        let origin = cloud.origin();
        for (row, &at) in cloud.rows_mut().zip(moved.as_chunks::<3>().0) {
            row.iter_mut().zip(about(at, origin)).for_each(|(v, local)| *v = local as f32);
            directions.turn(pose, &mut &mut *row, |row, j| f64::from(row[j]), |row, j, v| row[j] = v as f32);
        }
        let wide = self.turned(&directions, pose, &mut cloud);
        let xyz_f64 = (keep_f64 || self.is_f64()).then_some(moved);
        let (fields, warnings) = (self.fields.clone(), self.warnings.clone());
        Self { cloud, xyz_f64, format: self.format, fields, warnings, wide, decimals: None, survey: None }
    }

    /// The columns in full, of which directions that have more bits than an `f32` are turned again.
    fn turned(&self, directions: &Directions, pose: &Pose, cloud: &mut PointCloud) -> Vec<Arc<WideColumn>> {
        let mut wide = self.wide.clone();
        if !wide.iter().any(|wide| directions.has(wide.column)) {
            return wide;
        }
        let mut full: Vec<Option<WideColumn>> = vec![None; cloud.columns()];
        for known in wide.extract_if(.., |wide| directions.has(wide.column)) {
            let column = known.column;
            full[column] = Some(WideColumn::new(column, known.to_vec()));
        }
        for i in 0..cloud.len() {
            let before = self.cloud.points().row(i);
            let value = |full: &Vec<Option<WideColumn>>, j: usize| {
                full[j].as_ref().map_or_else(|| f64::from(before[j]), |wide| wide.values[i])
            };
            directions.turn(pose, &mut full, value, |full, j, v| {
                if let Some(wide) = &mut full[j] {
                    wide.values[i] = v;
                }
            });
        }
        for turned in full.into_iter().flatten() {
            let turned = WideColumn::new(turned.column, turned.values);
            cloud.rows_mut().zip(&turned.values).for_each(|(row, v)| row[turned.column] = *v as f32);
            wide.push(turned.into());
        }
        wide.sort_by_key(|wide| wide.column);
        wide
    }

    /// The scan with every point turned up by an angle about the axis across its own direction, as
    /// seen from the sensor in the origin of coordinates: azimuths and ranges stay, and columns
    /// other than x, y, z. The sums are `f64`. Points straight above or below the sensor and points
    /// that are not finite stay.
    ///
    /// ```
    /// use pointmill_core::PointCloud;
    /// let scan = pointmill_io::Scan::from(PointCloud::new(vec![2.0, 0.0, 0.0, 0.5], 4)?).raised(30.0);
    /// assert_eq!(scan.cloud.data(), [3f32.sqrt(), 0.0, 1.0, 0.5]);
    /// # Ok::<(), pointmill_core::CloudError>(())
    /// ```
    #[must_use]
    pub fn raised(mut self, degrees: f64) -> Self {
        let (sine, cosine) = sin_cos_f64(degrees.to_radians());
        let moved: Vec<f64> = self.iter_xyz().flat_map(|p| raised(p, [sine, cosine])).collect();
        let (origin, is_f64) = (self.cloud.origin(), self.is_f64());
        for (row, at) in self.cloud.rows_mut().zip(moved.as_chunks::<3>().0) {
            row.iter_mut().zip(about(*at, origin)).for_each(|(v, local)| *v = local as f32);
        }
        self.xyz_f64 = is_f64.then_some(moved);
        self
    }

    /// The scan without the points at exactly (0, 0, 0), which some sensors return for no echo, and
    /// how many they were.
    ///
    /// ```
    /// use pointmill_core::PointCloud;
    /// let scan = pointmill_io::Scan::from(PointCloud::new(vec![0.0, 0.0, 0.0, 0.5, 1.0, 2.0, 3.0, 0.25], 4)?);
    /// let (scan, zeros) = scan.without_zeros();
    /// assert_eq!((scan.cloud.data(), zeros), (&[1.0, 2.0, 3.0, 0.25][..], 1));
    /// # Ok::<(), pointmill_core::CloudError>(())
    /// ```
    #[must_use]
    pub fn without_zeros(self) -> (Self, usize) {
        self.retain(|p| p != [0.0; 3])
    }

    /// The points in a part of the plane: smallest x and y, largest x and y in metres, inclusive.
    #[must_use]
    pub fn within(self, [x0, y0, x1, y1]: [f64; 4]) -> Self {
        let inside = |[x, y, z]: [f64; 3]| (x0..=x1).contains(&x) && (y0..=y1).contains(&y) && z.is_finite();
        let (mut scan, left_out) = self.retain(inside);
        if left_out > 0 {
            // What was counted over all points.
            let counts = |w: &Warning| matches!(w, Warning::NonFinite { .. } | Warning::NoFinitePoint { .. });
            scan.warnings.retain(|warning| !counts(warning));
            if scan.cloud.is_empty() {
                scan.warnings.push(Warning::Empty);
            }
        }
        scan
    }

    /// The points that are wanted, with every bit, and how many are not.
    fn retain(self, wanted: impl Fn([f64; 3]) -> bool) -> (Self, usize) {
        let kept: Vec<bool> = self.iter_xyz().map(wanted).collect();
        let left_out = kept.iter().filter(|kept| !**kept).count();
        if left_out == 0 {
            return (self, 0);
        }
        let (columns, origin) = (self.cloud.columns(), self.cloud.origin());
        let Self { cloud, format, fields, mut xyz_f64, warnings, wide, decimals, survey } = self;
        let mut data = cloud.into_data();
        retain_rows(&mut data, &kept);
        xyz_f64.iter_mut().for_each(|xyz| retain_rows(xyz, &kept));
        let wide = wide.into_iter().map(|wide| {
            let mut wide = Arc::unwrap_or_clone(wide);
            wide.retain(&kept);
            wide.into()
        });
        let wide = wide.collect();
        let cloud = PointCloud::new(data, columns).expect("rows as wide as before").with_origin(origin);
        (Self { cloud, format, fields, xyz_f64, warnings, wide, decimals, survey }, left_out)
    }

    /// A scan of points that are there already, which are copied: of no file, or of one that was read
    /// and whose points may have changed since. Columns in full count where the points are theirs.
    ///
    /// # Errors
    /// Parts that do not go together; memory that is refused.
    pub fn of_points(named: &NamedPoints<'_>, format: Format) -> Result<Self, IoError> {
        let path = Path::new("points");
        named.check(path)?;
        let (points, columns) = (named.points, named.points.columns());
        let refused = refused(path, points.len(), columns);
        let data = collect(points.data().iter().copied()).map_err(&refused)?;
        let cloud = PointCloud::new(data, columns).expect("rows as wide as before").with_origin(named.origin);
        let xyz_f64 = named.xyz_f64.map(|xyz| collect(xyz.iter().copied())).transpose().map_err(&refused)?;
        let (fields, wide) = (named.fields.to_vec(), named.wide.clone());
        let (decimals, survey) = (named.decimals, named.survey.clone());
        Ok(Self { cloud, format, fields, xyz_f64, warnings: vec![], wide, decimals, survey })
    }

    /// The smallest and the largest x, y, z of the points that are finite as `f64`, from
    /// [`Scan::xyz_f64`]; `None` if there are none, or where `cloud` has every bit and its own
    /// bounds are exact.
    pub fn bounds_f64(&self) -> Option<([f64; 3], [f64; 3])> {
        let points = self.xyz_f64.as_ref()?.chunks_exact(3).map(|p| [p[0], p[1], p[2]]);
        points.filter(|p| p.iter().all(|v| v.is_finite())).fold(None, |bounds, p| {
            let (mut min, mut max) = bounds.unwrap_or((p, p));
            for axis in 0..3 {
                min[axis] = min[axis].min(p[axis]);
                max[axis] = max[axis].max(p[axis]);
            }
            Some((min, max))
        })
    }
}

/// A warning of the columns whose values change by more than it is worth telling.
pub(crate) fn cast(fields: &[Field], changes: impl Iterator<Item = (usize, f64)>, to: Dtype) -> Option<Warning> {
    let far: Vec<_> = changes.filter(|(_, by)| *by > Warning::WORTH_TELLING).collect();
    let columns = far.iter().map(|(column, _)| fields[*column].name.clone()).collect();
    let by = far.iter().map(|(_, by)| *by).reduce(f64::max)?;
    Some(Warning::Cast { columns, by, to })
}

/// The [`corner`] of points, on all threads.
fn corner_of(points: &[[f64; 3]]) -> [f64; 3] {
    corner(&on_threads(points.chunks(SHARE).collect(), least))
}

/// A cloud that comes from no file, as a raw file of its values would be read: columns without
/// names, no warnings.
impl From<PointCloud> for Scan {
    fn from(cloud: PointCloud) -> Self {
        let (fields, origin) = (Field::of_one_type(XYZ, cloud.columns(), Dtype::F32), cloud.origin());
        let global = |p: [f32; 3]| [0, 1, 2].map(|axis| origin[axis] + f64::from(p[axis]));
        let xyz_f64 = (origin != [0.0; 3]).then(|| cloud.points().iter_xyz().flat_map(global).collect());
        Self {
            cloud,
            format: Format::Bin,
            fields,
            xyz_f64,
            warnings: Vec::new(),
            wide: vec![],
            decimals: None,
            survey: None,
        }
    }
}

impl<'a> From<&'a Scan> for NamedPoints<'a> {
    fn from(scan: &'a Scan) -> Self {
        let fields = Cow::Borrowed(&scan.fields[..]);
        let (points, origin) = (scan.cloud.points(), scan.cloud.origin());
        let (xyz_f64, wide) = (scan.xyz_f64.as_deref(), scan.wide.clone());
        Self { points, fields, xyz_f64, wide, origin, decimals: scan.decimals, survey: scan.survey.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(data: Vec<f32>, columns: usize, dtype: Dtype) -> Rows {
        Rows::new(Field::of_one_type(XYZ, columns, dtype), data)
    }

    fn scan(data: Vec<f32>, dtype: Dtype) -> Scan {
        Scan::new(rows(data, 5, dtype), Path::new("a"), Format::Npy).unwrap().0
    }

    #[test]
    fn what_is_odd_is_told_once() {
        let (ok, nan) = ([0.0, 0.0, 0.0, f32::NAN, 0.0], [0.0, f32::NAN, 0.0, 0.0, 0.0]);
        assert_eq!(scan(vec![], Dtype::F32).warnings, [Warning::Empty]);
        assert_eq!(scan(ok.to_vec(), Dtype::F32).warnings, []);
        assert_eq!(scan(nan.to_vec(), Dtype::F32).warnings, [Warning::NoFinitePoint { points: 1 }]);
        assert_eq!(scan([ok, nan].concat(), Dtype::F64).warnings, [Warning::NonFinite { count: 1, points: 2 }]);
        assert_eq!(Warning::NonFinite { count: 1, points: 2 }.to_string(), "1 of 2 points are not finite");
    }

    #[test]
    fn zeros_are_left_out() {
        let xyz = [0.0, -0.0, 0.0, /**/ 0.0, 0.0, 1.0, /**/ f64::NAN, 0.0, 0.0];
        for exact in [false, true] {
            let scan = Scan::from(PointCloud::from_f64(&xyz, 3).unwrap());
            let scan = Scan { xyz_f64: exact.then(|| xyz.to_vec()), ..scan };
            let (scan, zeros) = scan.without_zeros();
            assert_eq!((zeros, scan.cloud.len(), scan.xyz()[0]), (1, 2, [0.0, 0.0, 1.0]));
            assert_eq!((scan.is_f64(), scan.without_zeros().1), (exact, 0));
        }
    }

    #[test]
    fn scans_about_an_origin_keep_their_coordinates() {
        let xyz = [515_368.37, 4_918_340.11, -0.5, f64::NAN, 4_918_341.25, 2.0];
        let data = xyz.map(|v| v as f32).to_vec();
        let rows = Rows { xyz_f64: Some(xyz.to_vec()), ..rows(data, 3, Dtype::F64) };
        let scan = Scan::new(rows, Path::new("a"), Format::Npy).unwrap().0;
        assert_eq!(scan.clone().about(LocalOrigin::None).cloud.origin(), [0.0; 3]);
        let local = scan.clone().about(LocalOrigin::Auto);
        assert_eq!(local.cloud.origin(), [515_000.0, 4_918_000.0, -1000.0]);
        assert_eq!(local.cloud.data()[..3], [368.37, 340.11, 999.5].map(|v: f64| v as f32));
        assert!(local.cloud.data()[3].is_nan() && local.xyz()[0] == [xyz[0], xyz[1], xyz[2]]);
        assert!(!local.warnings.iter().any(|w| matches!(w, Warning::Rounded { .. })));
        assert_eq!(local.clone().about(LocalOrigin::Auto).cloud.data()[..3], local.cloud.data()[..3]);
        // Back to zero, all is as it was.
        let back = local.about(LocalOrigin::None);
        assert_eq!(
            (back.cloud.data()[..3].to_vec(), &back.warnings),
            (scan.cloud.data()[..3].to_vec(), &scan.warnings)
        );
        // Far from an origin that is given, coordinates still move.
        let far = scan.about(LocalOrigin::At([1.0, 2.0, 3.0]));
        assert!(far.warnings.iter().any(|w| matches!(w, Warning::Rounded { origin: [1.0, 2.0, 3.0], .. })));
    }

    #[test]
    fn points_outside_an_area_are_left_out() {
        let rows = vec![1.0, 2.0, 3.0, 7.0, 5.0, 2.0, 3.0, 8.0, f32::NAN, 2.0, 3.0, 9.0, 2.0, 4.0, 3.0, 6.0];
        let scan = Scan::from(PointCloud::new(rows, 4).unwrap()).within([1.0, 0.0, 2.0, 4.0]);
        assert_eq!(scan.cloud.data(), [1.0, 2.0, 3.0, 7.0, 2.0, 4.0, 3.0, 6.0]);
        assert_eq!(scan.within([8.0, 8.0, 9.0, 9.0]).warnings, [Warning::Empty]);
    }

    #[test]
    fn coordinates_are_kept_where_they_lose() {
        let scan = |xyz: [f64; 3]| {
            let data = xyz.map(|v| v as f32).to_vec();
            let rows = Rows { xyz_f64: Some(xyz.to_vec()), ..rows(data, 3, Dtype::F64) };
            Scan::new(rows, Path::new("a"), Format::Npy).unwrap().0
        };
        for (xyz, kept, by) in [
            ([0.5, f64::NAN, -0.0], false, None),
            ([0.1, 0.5, 0.0], true, None),
            ([691_764.6, 5_335_881.125, 500.0], true, Some(0.125)),
            ([1e300, 0.0, 0.0], true, None),
        ] {
            let scan = scan(xyz);
            assert_eq!(scan.xyz_f64.is_some(), kept, "{xyz:?}");
            let told =
                scan.warnings.iter().find_map(|w| if let Warning::Rounded { by, .. } = w { Some(*by) } else { None });
            assert_eq!(told, by, "{xyz:?}");
            let wanted = (kept && xyz[0] < 1e300).then_some((xyz, xyz));
            assert!(wanted.is_none() || scan.bounds_f64() == wanted);
        }
        assert_eq!(
            Warning::Rounded { by: 0.25, origin: [0.0; 3] }.to_string(),
            "coordinates moved by up to 0.250 m when they were cast to f32"
        );
        assert_eq!(
            Warning::Rounded { by: 0.5, origin: [1000.0, -0.5, 0.0] }.to_string(),
            "coordinates moved by up to 0.500 m when they were cast to f32 about the origin 1000, -0.5, 0"
        );
    }

    #[test]
    fn a_scan_in_another_frame_has_every_point_and_turned_normals() {
        let names = ["x", "y", "z", "normal_x", "normal_y", "normal_z", "nx"];
        let fields: Vec<_> = Field::of_one_type(&names, 7, Dtype::F32);
        let data = vec![1.0, 2.0, 3.0, 0.0, 0.0, 1.0, 9.0, f32::NAN, 0.0, 0.0, 1.0, 0.0, 0.0, 8.0];
        let rows = Rows::new(fields, data);
        let scan = Scan::new(rows, Path::new("a"), Format::Ply).unwrap().0;
        // Half a turn about x, far away.
        let rows = [[1.0, 0.0, 0.0, 691_764.1], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        let pose = Pose::from_matrix(&rows).unwrap();
        let moved = scan.transformed(&pose, false);
        let x = 691_765.1;
        assert_eq!(moved.cloud.points().row(0), [x as f32, -2.0, -3.0, 0.0, 0.0, -1.0, 9.0]);
        assert!(moved.cloud.points().row(1)[0].is_nan() && moved.cloud.points().row(1)[3..] == [1.0, 0.0, 0.0, 8.0]);
        assert_eq!((moved.xyz_f64.as_ref(), moved.is_f64()), (None, false));
        let exact = scan.transformed(&pose, true);
        assert_eq!((exact.xyz()[0], &exact.cloud.data()[..7]), ([x, -2.0, -3.0], &moved.cloud.data()[..7]));
        // What is f64 stays f64.
        assert!(exact.transformed(&pose.inverse(), false).xyz()[0][0] - 1.0 < 1e-9);
        assert!(exact.transformed(&pose.inverse(), false).xyz_f64.is_some());
    }

    #[test]
    fn casts_name_columns_and_changes_and_hold_where_something_is_lost() {
        let names = ["x", "y", "z", "gps_time", "small", "timestamp_ns"];
        let mut fields = names.map(|name| Field { name: name.into(), dtype: Dtype::F64 }).to_vec();
        fields[5].dtype = Dtype::I64;
        let (stamp, wide) = (1_700_000_000_000_000_007_i64, |j, v| WideColumn::new(j, vec![v]));
        let scan = |columns: Vec<WideColumn>| {
            let data = vec![691_764.1, 0.0, 0.0, 0.0, 0.0, 0.0];
            let xyz_f64 = Some(vec![691_764.1, 0.0, 0.0]);
            let rows = Rows { xyz_f64, wide: columns, ..Rows::new(fields.clone(), data) };
            Scan::new(rows, Path::new("a"), Format::Pcd).unwrap().0
        };
        let told = |scan: &Scan, format| {
            scan.warnings_in(format).iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        let gps = scan(vec![wide(3, 300_000_000.03), wide(4, 0.1)]);
        let moved = "coordinates moved by up to 0.025 m when they were cast to f32";
        let cast = "column `gps_time` is rounded to f32 (largest change 0.03 s)";
        assert_eq!(told(&gps, Format::Npy), format!("{cast}; {moved}"));
        assert_eq!((told(&gps, Format::Npz), told(&gps, Format::Ply)), (String::new(), String::new()));
        // Two columns of different units, of which one is no f64 either.
        let stamps = WideColumn::from_values(5, vec![], [stamp].into_iter());
        let both = scan(vec![wide(3, 1e9 + 1.0), stamps]);
        let cast = "columns `gps_time`, `timestamp_ns` are rounded to f32 (largest change 7700000000)";
        assert_eq!(told(&both, Format::Bin), format!("{cast}; {moved}"));
        assert_eq!(told(&both, Format::Ply), "column `timestamp_ns` is rounded to f64 (largest change 7 ns)");
        assert_eq!(told(&both, Format::Pcd), "");
        // What loses nothing is not kept.
        assert_eq!(scan(vec![wide(4, 0.5)]).wide().len(), 0);
    }

    #[test]
    fn steps_of_las_that_do_not_hold_coordinates_are_told() {
        let told = |x: f64, format| {
            let cloud = PointCloud::new(vec![x as f32, 0.5, 0.25, 4e6, 0.0, 0.0], 3).unwrap();
            let exact = Some(vec![x, 0.5, 0.25, 4e6, 0.0, 0.0]);
            Scan { xyz_f64: exact, ..Scan::from(cloud) }.warnings_in(format)
        };
        let text: Vec<_> = told(1.0 / 3.0, Format::Las).iter().map(ToString::to_string).collect();
        let wanted = "coordinates are rounded by up to 0.00033 m, since LAS has 32 bits for each; .ply keeps them";
        assert_eq!(text, [wanted]);
        assert_eq!((told(0.125, Format::Las), told(1.0 / 3.0, Format::Ply)), (vec![], vec![]));
    }
}
