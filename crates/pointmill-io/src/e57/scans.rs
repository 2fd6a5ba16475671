//! The points of scans, in the frame of the file.

use super::columns::Layout;
use super::file::{MAGIC, open};
use super::packets::{Budget, Packets};
use crate::directions::Directions;
use crate::error::IoError;
use crate::fault::{bail, fault};
use crate::field::XYZ;
use crate::limits::{Bounds, MAX_COLUMNS};
use crate::records::{Columns, Entry, Table};
use crate::rows::Rows;
use crate::source::{ReadSeek, Source};
use crate::values::whole_range;
use crate::warning::Warning;
use crate::window::Window;
use e57::{PointCloud, RecordValue};
use pointmill_core::Pose;
use pointmill_core::array::Dtype;
use pointmill_core::rigid::TOLERANCE;
use pointmill_core::trig::sin_cos_f64;
use std::collections::HashMap;
use std::path::Path;

/// How every E57 file starts.
pub(crate) const SIGNATURES: &[&[u8]] = &[MAGIC];

/// Reads the points of all scans, or of the one that is asked for.
pub(crate) fn read_rows(path: &Path, reader: &mut dyn ReadSeek, bounds: &Bounds) -> Result<Rows, IoError> {
    let (mut scans, mut pages, length) = open(path, reader, bounds.limits.max_memory)?;
    if let Some(number) = bounds.scan {
        if number >= scans.len() {
            bail!(path, InvalidArgument, "scan", ("a number below {}", scans.len()), number);
        }
        scans = vec![scans.swap_remove(number)];
    }
    let (mut parts, mut few_digits) = (vec![], vec![]);
    for scan in &scans {
        let pose = pose(path, scan)?;
        few_digits.extend(pose.iter().map(|(_, length)| *length).filter(|length| is_of_few_digits(*length)));
        parts.push((scan, Layout::new(path, scan, length)?, pose.map(|(pose, _)| pose)));
    }
    // No two scans have the same bytes, so that memory is bounded by the file.
    let bits: u128 = parts.iter().map(|(_, layout, _)| layout.bits).sum();
    if bits > u128::from(length) * 8 {
        let wanted = format!("{} scans with {} bytes of points", parts.len(), bits.div_ceil(8));
        bail!(path, SizeMismatch, "scans", wanted, "a file of {length} bytes");
    }
    let points: u64 = parts.iter().fold(0, |sum, (scan, ..)| sum.saturating_add(scan.records));
    let narrow = parts.iter().all(|(_, layout, pose)| layout.is_f32() && pose.is_none());
    let mut none = std::io::empty();
    let mut source = Source::new(path, &mut none, None).within(bounds.limits.max_memory);
    let window = Window::new(&mut source);
    let (mut entries, places) = columns(&parts, if narrow { Dtype::F32 } else { Dtype::F64 });
    let width = entries.len();
    let directions = Directions::of(entries.iter().map(|entry| &*entry.name));
    let mut row = vec![f64::NAN; width];
    if parts.iter().any(|(.., pose)| pose.is_some()) {
        // What is turned is no whole number.
        let is_whole = |j: usize, entry: &Entry| directions.has(j) && whole_range(entry.dtype).is_some();
        entries.iter_mut().enumerate().filter(|(j, e)| is_whole(*j, e)).for_each(|(_, e)| e.dtype = Dtype::F64);
    }
    let mut table = Table::new(Columns::new(&window, bounds, entries, 0)?);
    bounds.check_points(window.source(), points)?;
    // A bit of the file may be a value, and a column that a scan lacks takes no bit of it.
    let each = 4 * width as u64 + if narrow { 0 } else { 24 };
    bounds.limits.check_unpacked(window.source(), "data unpacked", points.saturating_mul(each), length)?;
    table.reserve(&window, points)?;
    let memory = bounds.limits.max_memory.map_or(u64::MAX, |most| most.saturating_sub(window.source().taken()));
    let (mut budget, mut point, mut invalid) = (Budget { packets: length, memory }, vec![], 0);
    for (scan, layout, pose) in &parts {
        // For each column behind z the value of a scan's points that it has, and the value's flag.
        let mut values = vec![None; width];
        layout.others.iter().for_each(|(at, flag, field)| values[places[&field.name]] = Some((*at, *flag)));
        let mut packets = Packets::new(path, &mut pages, scan.file_offset, &layout.types, &mut budget)?;
        for _ in 0..scan.records {
            packets.next(&mut point, &mut budget)?;
            let Some(xyz) = coordinates(path, layout, &point)? else {
                invalid += 1;
                continue;
            };
            row[..3].copy_from_slice(&pose.as_ref().map_or(xyz, |pose| pose.apply(xyz)));
            for (to, value) in row.iter_mut().zip(&values).skip(3) {
                *to = match value {
                    Some((_, Some(flag))) if layout.value(&point, *flag) != 0.0 => f64::NAN,
                    Some((at, _)) => layout.value(&point, *at),
                    None => f64::NAN,
                };
            }
            if let Some(pose) = pose.as_ref().filter(|_| !directions.is_empty()) {
                directions.turn(pose, &mut row, |row, j| row[j], |row, j, v| row[j] = v);
            }
            table.push_row(|j, _| Ok((row[j] as f32, row[j])), |_| None)?;
        }
    }
    let mut rows = table.into_rows(0);
    let farthest = few_digits.iter().copied().max_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()));
    rows.warnings.extend(farthest.map(|length| Warning::Normalized { count: few_digits.len(), length }));
    if invalid > 0 {
        rows.warnings.push(Warning::Invalid { count: invalid, points: points as usize });
    }
    Ok(rows)
}

/// The columns of all scans, and which one a name has. Columns past those that a cloud may have are
/// left out.
fn columns(parts: &[(&PointCloud, Layout, Option<Pose>)], dtype: Dtype) -> (Vec<Entry>, HashMap<String, usize>) {
    let mut entries: Vec<_> = XYZ.iter().map(|name| Entry::new(*name, dtype, 0, 0)).collect();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (_, _, field) in parts.iter().flat_map(|(_, layout, _)| &layout.others) {
        match places.get(&field.name) {
            // Scans may differ in a type.
            Some(&known) if entries[known].dtype != field.dtype => entries[known].dtype = Dtype::F64,
            Some(_) => {}
            None if entries.len() > MAX_COLUMNS => break,
            None => {
                places.insert(field.name.clone(), entries.len());
                entries.push(Entry::new(&*field.name, field.dtype, 0, 0));
            }
        }
    }
    (entries, places)
}

/// How far from 1 the length of a quaternion may be that is only of few digits.
const FEW_DIGITS: f64 = 0.05;

/// The pose of a scan, and the length of its quaternion; `None` where the file has none.
fn pose(path: &Path, scan: &PointCloud) -> Result<Option<(Pose, f64)>, IoError> {
    let Some(transform) = &scan.transform else { return Ok(None) };
    let (t, q) = (&transform.translation, &transform.rotation);
    let mut quaternion = [q.x, q.y, q.z, q.w];
    let length = quaternion.iter().map(|v| v * v).sum::<f64>().sqrt();
    if is_of_few_digits(length) && (length - 1.0).abs() < FEW_DIGITS {
        quaternion = quaternion.map(|v| v / length);
    }
    let pose = Pose::from_quaternion([t.x, t.y, t.z], quaternion);
    pose.map(|pose| Some((pose, length))).map_err(|e| fault!(path, BadValue, "pose", "a rigid pose", e))
}

/// Whether a length is farther from 1 than poses take without a word.
fn is_of_few_digits(length: f64) -> bool {
    (length - 1.0).abs() > TOLERANCE
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
