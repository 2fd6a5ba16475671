//! The JSON lines of `pointmill info`, and their text.

use super::bag::Topic;
use super::bounds::Bounds;
use super::cloud::{Cloud, Column};
use super::map::{BlockFolder, MapFile};
use super::tiles::TileFolder;
use crate::batch::prelude::*;
use crate::text::tidy;
use pointmill_io::{PoseFormat, Poses};
use serde::Serialize;

/// `begin` of `info`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {}

/// `frame` of `info`: a file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the file; `poses` for one of poses.
    pub(super) format: &'static str,
    #[serde(flatten)]
    pub(super) cloud: Option<Cloud>,
    /// The topics of a bag, by name; only where the file is a bag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) topics: Option<Vec<Topic>>,
    /// What is known of a file of poses; only where the file is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) poses: Option<PoseFile>,
    /// What is known of an NDT map; only where the file is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) map: Option<MapFile>,
    /// What is known of an NDT map by blocks; only where the input is a folder with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) blocks: Option<BlockFolder>,
    /// What is known of a map in tiles; only where the input is a folder with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tiles: Option<TileFolder>,
}

/// A file of poses.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PoseFile {
    /// The number of poses.
    count: usize,
    /// How they stand in the file: `kitti`, `tum`, `matrix`, `euroc` or `argoverse2`.
    kind: &'static str,
    /// The times of the first and the last pose in seconds; null without times.
    times: Option<[f64; 2]>,
}

/// `summary` of `info`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Points of all inputs that were done.
    pub(super) points: usize,
}

impl Row {
    /// A file of a format, of which nothing else is known.
    pub(super) const fn of(format: &'static str) -> Self {
        Self { format, cloud: None, topics: None, poses: None, map: None, blocks: None, tiles: None }
    }

    /// The points of a cloud or of tiles.
    pub(super) fn points(&self) -> Option<usize> {
        self.cloud.as_ref().map(|cloud| cloud.points).or_else(|| self.tiles.as_ref().map(|tiles| tiles.points))
    }

    /// The box around them.
    fn bounds(&self) -> Option<&Bounds> {
        let cloud = self.cloud.as_ref().and_then(|cloud| cloud.bounds.as_ref());
        cloud.or_else(|| self.tiles.as_ref()?.bounds.as_ref())
    }

    /// How long the box is.
    pub(super) fn extent(&self) -> Option<String> {
        let units = self.cloud.as_ref().map(|cloud| cloud.units.clone()).unwrap_or_default();
        self.bounds().map(|bounds| bounds.extent(&units))
    }

    /// For people.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("format     {}", self.format)];
        lines.extend(self.cloud.iter().flat_map(Cloud::lines));
        lines.extend(self.topics.iter().flatten().flat_map(Topic::lines));
        lines.extend(self.poses.iter().map(|poses| format!("           a file of poses: {}", poses.line())));
        lines.extend(self.map.iter().flat_map(MapFile::lines));
        lines.extend(self.blocks.iter().flat_map(BlockFolder::lines));
        lines.extend(self.tiles.iter().flat_map(TileFolder::lines));
        lines
    }

    /// The columns of a cloud, the topics of a bag with clouds, or what the poses are.
    pub(super) fn names(&self) -> String {
        let columns = self.cloud.iter().flat_map(|cloud| cloud.columns.iter().map(Column::name));
        let topics = self.topics.iter().flatten().filter_map(Topic::clouds);
        columns
            .chain(topics)
            .chain(self.poses.iter().map(PoseFile::line))
            .chain(self.map.iter().map(MapFile::line))
            .chain(self.blocks.iter().map(BlockFolder::line))
            .chain(self.tiles.iter().map(TileFolder::line))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl PoseFile {
    pub(super) fn of(format: PoseFormat, poses: &Poses) -> Self {
        let times = poses.times.as_ref().and_then(|times| Some([*times.first()?, *times.last()?]));
        Self { count: poses.poses.len(), kind: format.as_str(), times }
    }

    fn line(&self) -> String {
        let times =
            self.times.map_or_else(String::new, |[first, last]| format!(", {} s to {} s", tidy(first), tidy(last)));
        format!("{}, {}{times}", counted(self.count, "pose"), self.kind.to_uppercase())
    }
}
