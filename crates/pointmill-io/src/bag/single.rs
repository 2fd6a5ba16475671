//! A bag of one cloud, as one of the formats of clouds.

use super::file::File;
use super::found::Topic;
use super::held::Held;
use super::index::Index;
use super::kind::CLOUDS;
use super::mcap::MAGIC;
use super::message::message;
use super::no_clouds::no_clouds;
use super::rosbag::NAME;
use super::sqlite;
use crate::error::IoError;
use crate::fault::fault;
use crate::limits::Bounds;
use crate::rows::Rows;
use crate::source::ReadSeek;
use crate::warning::Warning;
use std::path::Path;

/// How MCAP files start.
pub(crate) const MCAP: &[&[u8]] = &[MAGIC];

/// How bags of ROS 1 start.
pub(crate) const ROSBAG: &[&[u8]] = &[NAME];

/// How bags of ROS 2 in SQLite start.
pub(crate) const SQLITE: &[&[u8]] = &[sqlite::NAME];

/// Reads the only cloud of a bag.
pub(crate) fn read_rows(path: &Path, reader: &mut dyn ReadSeek, bounds: &Bounds) -> Result<Rows, IoError> {
    let Index { container, topics, cut, damage, .. } = Index::read(path, reader, &bounds.limits, bounds.salvage)?;
    if let Some(detail) = cut {
        return Err(IoError::Truncated(detail));
    }
    let clouds: Vec<&Topic> = topics
        .iter()
        .filter(|topic| bounds.topic.as_ref().is_none_or(|name| topic.name == *name))
        .filter(|topic| topic.cloud_encoding().is_some())
        .collect();
    let count: u64 = clouds.iter().map(|topic| topic.count).sum();
    if let Some(topic) = clouds.iter().find(|topic| topic.count == 1 && count == 1) {
        let mut held = Held::new(bounds.limits.max_memory);
        let mut file = File::new(path, reader, bounds.limits.max_memory)?;
        let bytes = message(container, &mut file, &topic.messages[0], &bounds.limits, &mut held, u64::MAX, true)?;
        let mut rows = topic.read(&bytes, path)?.rows(path, bounds)?;
        let points = rows.len() as u64;
        rows.warnings.extend(damage.map(|_| Warning::Salvaged { points, declared: None }));
        return Ok(rows);
    }
    if !topics.iter().any(|topic| topic.cloud_encoding().is_some()) {
        return Err(no_clouds(path, &topics));
    }
    let wanted = format!(
        "one message of {CLOUDS}; `pointmill convert` makes a file of each cloud, `bag::Bag` reads bags of several"
    );
    Err(fault!(path, UnsupportedFormat, "clouds", wanted, ("{count} in {} topics", clouds.len())))
}
