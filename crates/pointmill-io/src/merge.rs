//! Several clouds as one.

use crate::error::IoError;
use crate::fault::{bail, fault};
use crate::field::Field;
use crate::memory::{extend, refused};
use crate::rows::Rows;
use crate::scan::Scan;
use crate::values::{whole_range, whole_type};
use crate::warning::Warning;
use crate::wide_column::WideColumn;
use pointmill_core::LocalOrigin;
use pointmill_core::array::Dtype;
use std::collections::TryReserveError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The points of all scans, in order, as one scan in the frame of their coordinates.
///
/// Columns go together by name, in the order of the first scan; the type of a column holds those of
/// all scans. The points are about the [origin](pointmill_core::PointCloud::origin) of the first scan, and
/// coordinates of `f64` are kept. The scans come one by one, each with the name that errors show.
///
/// # Errors
/// No scan; a column that not all scans have; LAS scans of different coordinate reference systems;
/// what the iterator returns.
///
/// ```
/// use pointmill_core::PointCloud;
/// use pointmill_io::{IoError, Scan, merge};
/// let scan = |x| Ok::<_, IoError>(("a.bin".into(), Scan::from(PointCloud::new(vec![x, 2.0, 3.0], 3).unwrap())));
/// assert_eq!(merge([scan(1.0), scan(7.0)])?.cloud.data(), [1.0, 2.0, 3.0, 7.0, 2.0, 3.0]);
/// # Ok::<(), IoError>(())
/// ```
pub fn merge<E: From<IoError>>(scans: impl IntoIterator<Item = Result<(PathBuf, Scan), E>>) -> Result<Scan, E> {
    joined(scans, false)
}

/// As [`merge`], with the columns that all scans have.
///
/// # Errors
/// As [`merge`], except that columns may differ.
///
/// ```
/// use pointmill_core::PointCloud;
/// use pointmill_io::{IoError, Scan, merge_common};
/// let scan = |row: Vec<f32>| Scan::from(PointCloud::new(row.clone(), row.len()).unwrap());
/// let both = [scan(vec![1.0, 2.0, 3.0]), scan(vec![7.0, 8.0, 9.0, 0.5])];
/// let all = merge_common(both.map(|scan| Ok::<_, IoError>(("a.bin".into(), scan))))?;
/// assert_eq!(all.cloud.data(), [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]);
/// # Ok::<(), IoError>(())
/// ```
pub fn merge_common<E: From<IoError>>(scans: impl IntoIterator<Item = Result<(PathBuf, Scan), E>>) -> Result<Scan, E> {
    joined(scans, true)
}

fn joined<E: From<IoError>>(
    scans: impl IntoIterator<Item = Result<(PathBuf, Scan), E>>,
    is_common: bool,
) -> Result<Scan, E> {
    let mut scans = scans.into_iter();
    let Some(first) = scans.next() else {
        return Err(fault!(Path::new("merge"), InvalidArgument, "inputs", "1 or more", "none").into());
    };
    let (path, first) = first?;
    let (format, origin) = (first.format, first.cloud.origin());
    let mut rows = into_rows(first, &path)?;
    for scan in scans {
        let (other, scan) = scan?;
        let mut more = into_rows(scan, &other)?;
        let (count, columns) = (rows.len() + more.len(), rows.columns());
        if is_common {
            keep(&mut rows, &more.fields);
            keep(&mut more, &rows.fields);
        }
        let places = prepare(&mut rows, &path, &mut more, &other)?;
        append(&mut rows, more, &places).map_err(refused(&other, count, columns))?;
    }
    let all = Scan::new(rows, &path, format)?.0;
    let refused = refused(&path, all.cloud.len(), 6);
    Ok(all.try_about(LocalOrigin::At(origin)).map_err(refused)?)
}

/// The rows of a scan, about zero, with the warnings that are not found again from the rows.
pub(crate) fn into_rows(mut scan: Scan, path: &Path) -> Result<Rows, IoError> {
    let is_found = |warning: &Warning| {
        matches!(
            warning,
            Warning::Empty
                | Warning::NoFinitePoint { .. }
                | Warning::NonFinite { .. }
                | Warning::Cast { .. }
                | Warning::Rounded { .. }
        )
    };
    scan.warnings.retain(|warning| !is_found(warning));
    let Scan { cloud, fields, xyz_f64, warnings, wide, decimals, survey, .. } = scan;
    let origin = cloud.origin();
    let (count, columns) = (cloud.len(), cloud.columns());
    let own = |wide: Arc<WideColumn>| Arc::try_unwrap(wide).or_else(|shared| shared.copy());
    let wide = wide.into_iter().map(own).collect::<Result<_, _>>().map_err(refused(path, count, columns))?;
    let rows = Rows::new(fields, cloud.into_data());
    let mut rows = Rows { xyz_f64, wide, decimals, warnings, survey, ..rows };
    if origin != [0.0; 3] {
        let (count, columns) = (rows.len(), rows.columns());
        rows.move_to_zero(origin).map_err(refused(path, count, columns))?;
    }
    Ok(rows)
}

/// Takes what two files say of all their points together; where the columns of all are in the other.
pub(crate) fn prepare(all: &mut Rows, path: &Path, more: &mut Rows, other: &Path) -> Result<Vec<usize>, IoError> {
    let places = places(all, path, more, other)?;
    all.survey = match (all.survey.take(), more.survey.take()) {
        (Some(a), Some(b)) => Some(a.and(&b, path, other)?),
        (a, b) => a.or(b),
    };
    Ok(places)
}

/// Adds the rows of another file.
pub(crate) fn append(all: &mut Rows, mut more: Rows, places: &[usize]) -> Result<(), TryReserveError> {
    let had = all.len();
    if all.xyz_f64.is_some() || more.xyz_f64.is_some() {
        let mut exact = all.xyz_f64.take().map_or_else(|| xyz(all), Ok)?;
        let other = more.xyz_f64.take().map_or_else(|| xyz(&more), Ok)?;
        extend(&mut exact, other.len(), other)?;
        all.xyz_f64 = Some(exact);
    }
    for (j, &place) in places.iter().enumerate() {
        let wide = all.wide.iter().position(|wide| wide.column == j);
        let new = more.wide.iter().find(|wide| wide.column == place);
        if wide.is_some() || new.is_some() {
            let mut joined = wide.map_or_else(|| WideColumn::of(j), |i| all.wide.swap_remove(i));
            joined.reserve(had + more.len() - joined.len())?;
            if wide.is_none() {
                (0..had).for_each(|i| push(&mut joined, single(all, i, j), whole_range(all.fields[j].dtype).is_some()));
            }
            let is_whole = whole_range(more.fields[place].dtype).is_some();
            (0..more.len()).for_each(|i| match new {
                Some(new) => push_wide(&mut joined, new, i),
                None => push(&mut joined, single(&more, i, place), is_whole),
            });
            all.wide.push(joined);
        }
        all.fields[j].dtype = both(all.fields[j].dtype, more.fields[place].dtype);
    }
    all.wide.sort_by_key(|wide| wide.column);
    let width = more.columns();
    let rows = more.data.chunks_exact(width);
    extend(&mut all.data, more.len() * width, rows.flat_map(|row| places.iter().map(|&place| row[place])))?;
    all.decimals = all.decimals.zip(more.decimals).map(|(a, b)| a.max(b));
    all.warnings.extend(more.warnings);
    Ok(())
}

/// Leaves out the columns that are not among some.
pub(crate) fn keep(rows: &mut Rows, among: &[Field]) {
    let (width, is_kept) = (rows.columns(), |field: &Field| among.iter().any(|other| other.name == field.name));
    let places: Vec<_> = (0..width).filter(|&j| is_kept(&rows.fields[j])).collect();
    if places.len() < width {
        // In place, since rows become shorter.
        let count = rows.len();
        for i in 0..count {
            (0..places.len()).for_each(|k| rows.data[i * places.len() + k] = rows.data[i * width + places[k]]);
        }
        rows.data.truncate(count * places.len());
        rows.fields.retain(is_kept);
        rows.wide.retain_mut(|wide| {
            let to = places.iter().position(|&j| j == wide.column);
            to.is_some_and(|to| {
                wide.column = to;
                true
            })
        });
    }
}

/// Rows with the same columns in another order.
pub(crate) fn arranged(mut rows: Rows, fields: &[Field]) -> Rows {
    let place = |field: &Field| rows.fields.iter().position(|own| own.name == field.name).unwrap_or_default();
    let places: Vec<_> = fields.iter().map(place).collect();
    if places.iter().enumerate().any(|(j, &place)| j != place) {
        let mut ordered = vec![0.0; places.len()];
        for row in rows.data.chunks_exact_mut(places.len()) {
            ordered.iter_mut().zip(&places).for_each(|(v, &place)| *v = row[place]);
            row.copy_from_slice(&ordered);
        }
        rows.fields = places.iter().map(|&place| rows.fields[place].clone()).collect();
        rows.wide.iter_mut().for_each(|wide| {
            wide.column = places.iter().position(|&place| place == wide.column).unwrap_or_default();
        });
        rows.wide.sort_by_key(|wide| wide.column);
    }
    rows
}

/// Where the columns of all are in other rows.
fn places(all: &Rows, path: &Path, more: &Rows, other: &Path) -> Result<Vec<usize>, IoError> {
    let names = |rows: &Rows| rows.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    let (names, found) = (names(all), names(more));
    let places: Vec<_> = names.iter().filter_map(|name| found.iter().position(|other| other == name)).collect();
    if places.len() < names.len() || names.len() < found.len() {
        let wanted = format!("the columns of {}: {}", path.display(), names.join(", "));
        bail!(other, InvalidArgument, "columns", wanted, (found.join(", ")));
    }
    Ok(places)
}

/// x, y, z of rows without others.
fn xyz(rows: &Rows) -> Result<Vec<f64>, TryReserveError> {
    let mut all = Vec::new();
    let points = rows.data.chunks_exact(rows.columns()).flat_map(|row| [row[0], row[1], row[2]].map(f64::from));
    extend(&mut all, 3 * rows.len(), points).map(|()| all)
}

fn single(rows: &Rows, i: usize, j: usize) -> f32 {
    rows.data[i * rows.columns() + j]
}

/// Adds a value that an `f32` holds.
fn push(to: &mut WideColumn, v: f32, is_whole: bool) {
    let whole = (is_whole && v.fract() == 0.0).then_some(v as i128);
    push_number(to, whole, v, f64::from(v));
}

/// Adds a value in full.
fn push_wide(to: &mut WideColumn, from: &WideColumn, i: usize) {
    let (whole, value) = (from.is_whole(i).then(|| from.whole(i)), from.double(i));
    let single = whole.map_or(value as f32, |whole| whole as f32);
    push_number(to, whole, single, value);
}

/// Adds a value; a column of whole numbers to which another comes is one of `f64` from then on.
fn push_number(to: &mut WideColumn, whole: Option<i128>, single: f32, value: f64) {
    if whole.is_none() && to.first.is_some() {
        to.make_double();
    }
    let is_double = to.first.is_none() && !to.is_empty();
    to.push_number(whole.filter(|_| !is_double), single, value);
}

/// The narrowest type with the values of both.
fn both(a: Dtype, b: Dtype) -> Dtype {
    match (whole_range(a), whole_range(b)) {
        _ if a == b => a,
        (Some(a), Some(b)) => {
            let (min, max) = (a.0.min(b.0), a.1.max(b.1));
            let holds = |dtype: &Dtype| whole_range(*dtype).is_some_and(|range| range.0 <= min && max <= range.1);
            [1, 2, 4, 8].into_iter().filter_map(|bytes| whole_type(bytes, min < 0)).find(holds).unwrap_or(Dtype::F64)
        }
        _ if [a, b].iter().all(|dtype| dtype.fits_f32()) => Dtype::F32,
        _ => Dtype::F64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;
    use crate::format::Format;
    use crate::survey::{Record, Survey};
    use pointmill_core::PointCloud;

    fn scan(columns: &[(&str, Dtype)], data: &[f32], wide: Vec<WideColumn>) -> Scan {
        let fields = columns.iter().map(|&(name, dtype)| Field { name: name.into(), dtype }).collect();
        let rows = Rows { wide, ..Rows::new(fields, data.to_vec()) };
        Scan::new(rows, "a".as_ref(), Format::Ply).unwrap().0
    }

    fn merged(scans: Vec<Scan>) -> Result<Scan, IoError> {
        merge(scans.into_iter().enumerate().map(|(i, scan)| Ok((format!("{i}.ply").into(), scan))))
    }

    #[test]
    fn columns_go_together_by_name_and_types_widen() {
        let xyz = [("x", Dtype::F32), ("y", Dtype::F32), ("z", Dtype::F32)];
        let columns = |more: [(&'static str, Dtype); 2]| [&xyz[..], &more].concat();
        let stamp = 1_700_000_000_000_000_007_i64;
        let a = columns([("ring", Dtype::U8), ("t", Dtype::I64)]);
        let b = columns([("t", Dtype::I64), ("ring", Dtype::I16)]);
        let a = scan(&a, &[1., 2., 3., 4., stamp as f32], vec![]);
        let wide = WideColumn::from_values(3, vec![], [stamp].into_iter());
        let b = scan(&b, &[f32::NAN, 6., 7., stamp as f32, -5.], vec![wide]);
        let both = merged(vec![a.clone(), b.clone(), a.clone()]).unwrap();
        assert_eq!(both.cloud.points().row(2), [1., 2., 3., 4., stamp as f32]);
        assert_eq!(both.cloud.points().row(1)[1..], [6., 7., -5., stamp as f32]);
        assert_eq!((both.fields[3].dtype, both.fields[4].dtype), (Dtype::I16, Dtype::I64));
        assert_eq!(both.warnings[1..], [Warning::NonFinite { count: 1, points: 3 }]);
        let (wide, near) = (both.wide().next().unwrap(), stamp as f32 as i128);
        assert_eq!([0, 1, 2].map(|i| wide.whole(i)), [near, i128::from(stamp), near]);
        assert_eq!(merged(vec![a.clone()]).unwrap(), a);
        // Whole numbers and others.
        let c = scan(&columns([("ring", Dtype::U8), ("t", Dtype::F64)]), &[0., 0., 0., 0., 0.5], vec![]);
        let both = merged(vec![b, c]).unwrap();
        assert_eq!((both.wide().next().unwrap().to_vec(), both.fields[3].dtype), (vec![stamp as f64, 0.5], Dtype::F64));
        assert_eq!(both_types(), [Dtype::I64, Dtype::F64, Dtype::F32, Dtype::F64]);
    }

    fn both_types() -> [Dtype; 4] {
        [
            both(Dtype::U32, Dtype::I8),
            both(Dtype::U64, Dtype::I8),
            both(Dtype::U8, Dtype::F32),
            both(Dtype::U32, Dtype::F32),
        ]
    }

    #[test]
    fn common_columns_are_kept_in_full() {
        let columns = |more: &[(&'static str, Dtype)]| {
            [&[("x", Dtype::F32), ("y", Dtype::F32), ("z", Dtype::F32)][..], more].concat()
        };
        let stamp = 1_700_000_000_000_000_007_i64;
        let wide = |column| vec![WideColumn::from_values(column, vec![], [stamp].into_iter())];
        let a = columns(&[("ring", Dtype::U8), ("t", Dtype::I64)]);
        let a = scan(&a, &[1., 2., 3., 4., stamp as f32], wide(4));
        let b = columns(&[("t", Dtype::I64), ("intensity", Dtype::F32)]);
        let b = scan(&b, &[5., 6., 7., stamp as f32, 0.5], wide(3));
        let all = merge_common([a, b].map(|scan| Ok::<_, IoError>(("a.ply".into(), scan)))).unwrap();
        let names: Vec<_> = all.fields.iter().map(|field| &*field.name).collect();
        assert_eq!((names, all.cloud.points().row(1)[0]), (vec!["x", "y", "z", "t"], 5.0));
        let wide = all.wide().next().unwrap();
        assert_eq!([0, 1].map(|i| wide.whole(i)), [i128::from(stamp); 2]);
    }

    #[test]
    fn coordinates_are_kept_about_the_first_origin() {
        let at = |x: f64| Scan {
            xyz_f64: Some(vec![x, 0.1, 0.2]),
            ..Scan::from(PointCloud::new(vec![x as f32, 0.1, 0.2], 3).unwrap())
        };
        let first = at(691_764.1).about(LocalOrigin::At([691_000.0, 0.0, 0.0]));
        let all = merged(vec![first, at(691_999.3), Scan::from(PointCloud::new(vec![0.5; 3], 3).unwrap())]).unwrap();
        assert_eq!(all.xyz(), [[691_764.1, 0.1, 0.2], [691_999.3, 0.1, 0.2], [0.5; 3]]);
        assert_eq!((all.cloud.origin(), all.cloud.points().xyz(1)[0]), ([691_000.0, 0.0, 0.0], 999.3));
    }

    #[test]
    fn a_reference_system_that_is_not_shared_is_told() {
        let las = |crs: Option<&[u8]>| {
            let record = |data: &[u8]| vec![Record { id: Record::WKT, data: data.to_vec() }];
            let survey = Some(Arc::new(Survey { crs: crs.map(record).unwrap_or_default(), ..Survey::default() }));
            Scan { survey, ..Scan::from(PointCloud::new(vec![0.0; 3], 3).unwrap()) }
        };
        let (utm, gauss) = (&b"PROJCS[\"UTM 32N\",0]"[..], &b"PROJCS[\"GK 4\"]"[..]);
        let told = |a, b| merged(vec![las(a), las(b)]).unwrap_err().to_string();
        let wanted = "1.ply: coordinate reference system: expected that of 0.ply: UTM 32N, got";
        assert_eq!(told(Some(utm), Some(gauss)), format!("{wanted} GK 4"));
        assert_eq!(told(Some(utm), None), format!("{wanted} none that is known"));
        assert_eq!(told(Some(utm), Some(&utm[..18])), format!("{wanted} UTM 32N, in other records"));
        // Other formats have none.
        let other = Scan::from(PointCloud::new(vec![0.0; 3], 3).unwrap());
        let all = merged(vec![other.clone(), las(Some(utm)), other]).unwrap();
        assert_eq!((all.crs(), all.cloud.len()), (Some("UTM 32N".into()), 3));
    }

    #[test]
    fn differing_columns_and_no_scan_are_told() {
        let of = |n| Scan::from(PointCloud::new(vec![0.0; n], n).unwrap());
        let told = merged(vec![of(3), of(4)]).unwrap_err().to_string();
        assert_eq!(told, "1.ply: columns: expected the columns of 0.ply: x, y, z, got x, y, z, column3");
        assert!(
            merged(vec![of(4), of(3)]).unwrap_err().to_string().starts_with("1.ply: columns: expected the columns")
        );
        assert_eq!(merged(vec![]).unwrap_err().to_string(), "merge: inputs: expected 1 or more, got none");
    }
}
