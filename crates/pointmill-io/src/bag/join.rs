//! Clouds of several topics as one, with the columns that all have.

use super::reader::{Cloud, TimeOrigin};
use crate::error::IoError;
use crate::fault::bail;
use crate::field::Field;
use crate::limits::Limits;
use crate::memory::refused;
use crate::merge::merge;
use crate::scan::Scan;
use crate::warning::Warning;
use crate::wide_column::WideColumn;
use pointmill_core::array::Dtype;
use pointmill_core::{PointCloud, Pose};
use std::path::PathBuf;
use std::sync::Arc;

/// The column with the seconds of each point after the stamp of the sweep.
const TIME: &str = "time_s";
/// The column with the number of the topic.
const SENSOR: &str = "sensor";

/// Which columns joined sweeps have, behind x, y, z and in front of [`TIME`] and [`SENSOR`].
#[derive(Debug, Default)]
pub(super) struct Shape {
    columns: Vec<String>,
    has_times: bool,
    /// Columns that not all topics have.
    pub(super) left_out: Vec<String>,
}

/// A cloud of a sweep.
pub(super) struct Part {
    /// What errors call it.
    pub(super) name: PathBuf,
    pub(super) cloud: Cloud,
    pub(super) pose: Pose,
    pub(super) sensor: u8,
}

impl Shape {
    /// The columns that clouds of all topics have.
    pub(super) fn of(samples: &[Cloud]) -> Self {
        let times: Vec<_> = samples.iter().map(|cloud| seconds(cloud, cloud.stamp_ns)).collect();
        let has_times = !times.is_empty() && times.iter().all(Option::is_some);
        let mut shape = Self { has_times, ..Self::default() };
        for (i, cloud) in samples.iter().enumerate() {
            for name in cloud.scan.fields[3..].iter().map(|field| &field.name) {
                let is_time = times[i].as_ref().is_some_and(|(time, _)| time == name);
                let is_own = name == SENSOR || name == TIME;
                let has = |other: &Cloud| other.scan.fields.iter().any(|field| field.name == *name);
                let in_all = !is_time && !is_own && samples.iter().all(has);
                let list = match (in_all, is_time && has_times) {
                    (_, true) => continue,
                    (true, _) => &mut shape.columns,
                    (false, _) => &mut shape.left_out,
                };
                if !list.contains(name) {
                    list.push(name.clone());
                }
            }
        }
        shape
    }

    /// The points of all parts in their order, in one frame.
    pub(super) fn join(&self, parts: Vec<Part>, stamp_ns: i64, limits: &Limits) -> Result<Scan, IoError> {
        let points: u64 = parts.iter().map(|part| part.cloud.scan.cloud.len() as u64).sum();
        let bytes = points.saturating_mul(4 * (self.columns.len() as u64 + 5) + 8);
        let at = &*parts[0].name;
        for (field, got, most, limit) in [
            ("points", points, limits.max_points, "the limit `max_points`, --max-input-points"),
            ("memory", bytes, limits.max_memory, "bytes (the limit `max_memory`, --max-memory)"),
        ] {
            if let Some(most) = most.filter(|&most| got > most) {
                bail!(at, LimitExceeded, field, "at most {most} {limit}", "{got} of all topics");
            }
        }
        // An empty message has no columns either.
        let has_points = parts.iter().any(|part| !part.cloud.scan.cloud.is_empty());
        let parts = parts.into_iter().filter(|part| !has_points || !part.cloud.scan.cloud.is_empty());
        merge(parts.map(|part| Ok((part.name.clone(), self.prepared(part, stamp_ns)?))))
    }

    /// A part with the columns of all, in the common frame.
    fn prepared(&self, part: Part, stamp_ns: i64) -> Result<Scan, IoError> {
        let Part { name, cloud, pose, sensor } = part;
        let times = if self.has_times { seconds(&cloud, stamp_ns).map(|(_, times)| times) } else { None };
        let Cloud { mut scan, .. } = cloud;
        let count = scan.cloud.len();
        if pose != Pose::IDENTITY {
            scan = scan.transformed(&pose, false);
        }
        let mut places = vec![0, 1, 2];
        for column in self.columns.iter().filter(|_| count > 0) {
            let Some(place) = scan.fields.iter().position(|field| field.name == *column) else {
                let found = scan.fields.iter().map(|field| &*field.name).collect::<Vec<_>>().join(", ");
                bail!(*name, MissingField, "columns", "`{column}`, as the first cloud has", found);
            };
            places.push(place);
        }
        let width = places.len() + usize::from(self.has_times) + 1;
        let mut data = Vec::new();
        data.try_reserve_exact(count * width).map_err(refused(&name, count, width))?;
        if self.has_times && times.is_none() && count > 0 {
            Warning::left_out(&mut scan.warnings, TIME, format!("no times of a known unit in {}", name.display()));
        }
        let times = times.unwrap_or_else(|| vec![f64::NAN; if self.has_times { count } else { 0 }]);
        for i in 0..count {
            let row = scan.cloud.points().row(i);
            data.extend(places.iter().map(|&place| row[place]));
            data.extend(times.get(i).map(|time| *time as f32));
            data.push(f32::from(sensor));
        }
        let mut fields: Vec<_> = places.iter().map(|&place| scan.fields[place].clone()).collect();
        fields.extend(self.has_times.then(|| Field { name: TIME.into(), dtype: Dtype::F64 }));
        fields.push(Field { name: SENSOR.into(), dtype: Dtype::U8 });
        let to = |place: usize| places.iter().position(|&from| from == place);
        let moved = |wide: &Arc<WideColumn>| Some(WideColumn { column: to(wide.column)?, ..(**wide).clone() });
        let mut wide: Vec<_> = scan.wide.iter().filter_map(moved).map(Arc::new).collect();
        wide.extend(self.has_times.then(|| Arc::new(WideColumn::new(places.len(), times))));
        wide.sort_by_key(|wide| wide.column);
        let cloud = PointCloud::new(data, width).expect("rows of one width").with_origin(scan.cloud.origin());
        Ok(Scan { cloud, fields, wide, decimals: None, survey: None, ..scan })
    }
}

/// The column of a cloud's times, and the seconds of each point after a moment. Times of a clock of
/// their own say nothing.
fn seconds(cloud: &Cloud, moment_ns: i64) -> Option<(String, Vec<f64>)> {
    let times = cloud.scan.times()?;
    let after = |ns: i64| (i128::from(ns) - i128::from(moment_ns)) as f64 / 1e9;
    let start = match TimeOrigin::of(&times) {
        TimeOrigin::Stamp => times.start + after(cloud.stamp_ns),
        TimeOrigin::Epoch => {
            let whole = times.start.floor();
            after((whole as i64).saturating_mul(1_000_000_000)) + (times.start - whole)
        }
    };
    let is_near = start.abs() <= TimeOrigin::FARTHEST;
    is_near.then(|| (times.name, times.seconds.iter().map(|after| start + after).collect()))
}
