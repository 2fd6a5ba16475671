//! The points of scans, in the frame of the file.

use super::columns::Layout;
use super::file::{MAGIC, open};
use super::packets::{Budget, Packets};
use crate::error::IoError;
use crate::fault::{bail, fault};
use crate::field::Field;
use crate::limits::{Bounds, MAX_COLUMNS};
use crate::read::ReadOptions;
use crate::rows::Rows;
use crate::source::{ReadSeek, Source};
use crate::warning::Warning;
use crate::wide::WideColumn;
use e57::{PointCloud, RecordValue};
use pointmill_core::Pose;
use pointmill_core::array::Dtype;
use pointmill_core::trig::sin_cos_f64;
use std::collections::HashMap;
use std::path::Path;

/// How every E57 file starts.
pub(crate) const SIGNATURES: &[&[u8]] = &[MAGIC];

/// Reads the points of all scans, or of the one that is asked for.
pub(crate) fn read_rows(
    path: &Path,
    reader: &mut dyn ReadSeek,
    bounds: &Bounds,
    options: &ReadOptions,
) -> Result<Rows, IoError> {
    let (mut scans, mut pages, length) = open(path, reader, bounds.limits.max_memory)?;
    if let Some(number) = options.scan {
        if number >= scans.len() {
            bail!(path, InvalidArgument, "scan", ("a number below {}", scans.len()), number);
        }
        scans = vec![scans.swap_remove(number)];
    }
    let mut parts = vec![];
    for scan in &scans {
        parts.push((scan, Layout::new(path, scan, length)?, pose(path, scan)?));
    }
    // No two scans have the same bytes, so that memory is bounded by the file.
    let bits: u128 = parts.iter().map(|(_, layout, _)| layout.bits).sum();
    if bits > u128::from(length) * 8 {
        let wanted = format!("{} scans with {} bytes of points", parts.len(), bits.div_ceil(8));
        bail!(path, SizeMismatch, "scans", wanted, "a file of {length} bytes");
    }
    let (mut table, taken) = Table::new(path, bounds, &parts, length)?;
    let memory = bounds.limits.max_memory.map_or(u64::MAX, |most| most.saturating_sub(taken));
    let (mut budget, mut point) = (Budget { packets: length, memory }, vec![]);
    for (scan, layout, pose) in &parts {
        let columns = table.columns_of(layout);
        let mut packets = Packets::new(path, &mut pages, scan.file_offset, &layout.types, &mut budget)?;
        for _ in 0..scan.records {
            packets.next(&mut point, &mut budget)?;
            table.push(path, layout, pose.as_ref(), &columns, &point)?;
        }
    }
    Ok(table.into_rows())
}

/// The pose of a scan; `None` where the file has none.
fn pose(path: &Path, scan: &PointCloud) -> Result<Option<Pose>, IoError> {
    let Some(transform) = &scan.transform else { return Ok(None) };
    let (t, q) = (&transform.translation, &transform.rotation);
    let pose = Pose::from_quaternion([t.x, t.y, t.z], [q.x, q.y, q.z, q.w]);
    pose.map(Some).map_err(|e| fault!(path, BadValue, "pose", "a rigid pose", e))
}

/// Points as they come.
struct Table {
    fields: Vec<Field>,
    /// The column of a name.
    names: HashMap<String, usize>,
    data: Vec<f32>,
    exact: Option<Vec<f64>>,
    wide: Vec<WideColumn>,
    /// Points that were left out, and all.
    invalid: usize,
    points: usize,
}

impl Table {
    /// No points yet, with room for all of them, and the bytes of that room. The file has `length`
    /// bytes.
    fn new(
        path: &Path,
        bounds: &Bounds,
        parts: &[(&PointCloud, Layout, Option<Pose>)],
        length: u64,
    ) -> Result<(Self, u64), IoError> {
        let narrow = parts.iter().all(|(_, layout, pose)| layout.is_f32() && pose.is_none());
        let dtype = if narrow { Dtype::F32 } else { Dtype::F64 };
        let mut none = std::io::empty();
        let source = Source::new(path, &mut none, None).within(bounds.limits.max_memory);
        let mut fields: Vec<_> = ["x", "y", "z"].map(|name| Field { name: name.into(), dtype }).to_vec();
        let mut names: HashMap<_, _> = fields.iter().enumerate().map(|(i, field)| (field.name.clone(), i)).collect();
        for (_, _, field) in parts.iter().flat_map(|(_, layout, _)| &layout.others) {
            match names.get(&field.name).map(|&i| &mut fields[i]) {
                // Scans may differ in a type.
                Some(known) if known.dtype != field.dtype => known.dtype = Dtype::F64,
                Some(_) => {}
                None => {
                    names.insert(field.name.clone(), fields.len());
                    fields.push(field.clone());
                    if fields.len() > MAX_COLUMNS {
                        break;
                    }
                }
            }
        }
        bounds.check_columns(&source, fields.len())?;
        let points: u64 = parts.iter().fold(0, |sum, (scan, _, _)| sum.saturating_add(scan.records));
        bounds.check_points(&source, points)?;
        // A bit of the file may be a value, and a column that a scan lacks takes no bit of it.
        let row = 4 * fields.len() as u64 + if narrow { 0 } else { 24 };
        bounds.limits.check_unpacked(&source, "data unpacked", points.saturating_mul(row), length)?;
        let points = usize::try_from(points).unwrap_or(usize::MAX);
        let data = source.room(points.saturating_mul(fields.len()))?;
        let exact = if narrow { None } else { Some(source.room(points.saturating_mul(3))?) };
        let is_wide = |j: &usize| !fields[*j].dtype.fits_f32();
        let mut wide: Vec<_> = (3..fields.len()).filter(is_wide).map(WideColumn::of).collect();
        for wide in &mut wide {
            *wide.room() = source.room(points)?;
        }
        let taken = source.taken();
        Ok((Self { fields, names, data, exact, wide, invalid: 0, points: 0 }, taken))
    }

    /// For each column behind z the value of a scan's points that it has, and the value's flag.
    fn columns_of(&self, layout: &Layout) -> Vec<Option<(usize, Option<usize>)>> {
        let mut columns = vec![None; self.fields.len() - 3];
        for (at, flag, field) in &layout.others {
            columns[self.names[&field.name] - 3] = Some((*at, *flag));
        }
        columns
    }

    /// Adds a point, unless its coordinates are not valid.
    fn push(
        &mut self,
        path: &Path,
        layout: &Layout,
        pose: Option<&Pose>,
        columns: &[Option<(usize, Option<usize>)>],
        point: &[RecordValue],
    ) -> Result<(), IoError> {
        self.points += 1;
        let Some(xyz) = coordinates(path, layout, point)? else {
            self.invalid += 1;
            return Ok(());
        };
        let xyz = pose.map_or(xyz, |pose| pose.apply(xyz));
        self.data.extend(xyz.map(|v| v as f32));
        if let Some(exact) = &mut self.exact {
            exact.extend(xyz);
        }
        let mut wide = self.wide.iter_mut().peekable();
        for (i, column) in columns.iter().enumerate() {
            let value = match *column {
                Some((_, Some(flag))) if layout.value(point, flag) != 0.0 => f64::NAN,
                Some((at, _)) => layout.value(point, at),
                None => f64::NAN,
            };
            self.data.push(value as f32);
            if let Some(wide) = wide.next_if(|wide| wide.column == i + 3) {
                wide.push_number(None, value as f32, value);
            }
        }
        Ok(())
    }

    fn into_rows(self) -> Rows {
        let mut warnings = vec![];
        if self.invalid > 0 {
            warnings.push(Warning::Invalid { count: self.invalid, points: self.points });
        }
        let (data, columns, xyz_f64, wide) = (self.data, self.fields.len(), self.exact, self.wide);
        Rows { data, columns, fields: Some(self.fields), xyz_f64, wide, warnings, ..Rows::EMPTY }
    }
}

/// x, y, z of a point; `None` if neither they nor the spherical coordinates are valid.
fn coordinates(path: &Path, layout: &Layout, point: &[RecordValue]) -> Result<Option<[f64; 3]>, IoError> {
    let valid = |coordinates: Option<([usize; 3], Option<usize>)>| {
        let Some((at, flag)) = coordinates else { return Ok(None) };
        // 1 is a direction without a distance, 2 is nothing.
        match flag.map_or(0.0, |flag| layout.value(point, flag)) {
            0.0 => Ok(Some(at.map(|at| layout.value(point, at)))),
            1.0 | 2.0 => Ok(None),
            state => Err(fault!(path, BadValue, "points: invalid state", "0, 1 or 2", state)),
        }
    };
    if let Some(xyz) = valid(layout.cartesian)? {
        return Ok(Some(xyz));
    }
    Ok(valid(layout.spherical)?.map(|[range, azimuth, elevation]| {
        let ((sin_a, cos_a), (sin_e, cos_e)) = (sin_cos_f64(azimuth), sin_cos_f64(elevation));
        [range * cos_e * cos_a, range * cos_e * sin_a, range * sin_e]
    }))
}
