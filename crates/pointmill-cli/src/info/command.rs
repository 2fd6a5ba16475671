//! Looks at the inputs.

use super::bag;
use super::cloud::{Cloud, notes};
use super::map::{BlockFolder, MapFile};
use super::records::{PoseFile, Row, Totals};
use super::tiles::TileFolder;
use crate::batch::prelude::*;
use crate::inputs::is_bag;
use crate::see::See;
use pointmill_data::{BlockMap, DataError, is_ndt_map};
use pointmill_io::{Format, IoError, ReadOptions, escape, find_poses, tile_edges};
use std::path::Path;

/// Runs the command.
pub(super) struct Info {
    pub(super) inputs: Inputs,
    pub(super) options: ReadOptions,
    pub(super) long: bool,
    /// The picture that is asked for.
    pub(super) see: Option<See>,
}

/// What is known of a file, as the command prints it in JSON.
///
/// # Errors
/// A file that cannot be read or is none of the formats.
pub fn describe(path: &Path) -> Result<String, DataError> {
    let options = ReadOptions::default();
    let (_, inputs) = Inputs::find_files(&[path.to_path_buf()], options.clone(), &is_one_map)?;
    let info = Info { inputs, options, long: false, see: None };
    let (row, ..) = info.look(&Source::File(path.to_path_buf()))?;
    Ok(serde_json::to_string(&row).expect("numbers and text are JSON"))
}

/// Whether a folder is a map that is told of as one. A list of tiles that cannot be read fails when
/// they are looked for.
pub(super) fn is_one_map(path: &Path) -> bool {
    BlockMap::is_one(path) || matches!(tile_edges(path), Ok(Some(_)))
}

impl Info {
    /// What is known of an input, the milliseconds that it took, and what is odd.
    fn look(&self, source: &Source) -> Result<(Row, f64, Notes), IoError> {
        if let Source::File(path) = source
            && is_bag(path)
        {
            let (format, topics, read_ms, notes) = bag::look(path, &self.options)?;
            let of = Row { topics: Some(topics), ..Row::of(format) };
            return Ok((of, read_ms, notes));
        }
        if let Source::File(path) = source
            && path.is_dir()
        {
            if BlockMap::is_one(path) {
                let (blocks, read_ms) = timed(|| BlockFolder::read(path))?;
                return Ok((Row { blocks: Some(blocks), ..Row::of("ndt-blocks") }, read_ms, Notes::default()));
            }
            if let Some(edges) = tile_edges(path)? {
                let ((tiles, warnings), read_ms) = timed(|| TileFolder::read(path, edges, &self.options))?;
                let notes = Notes { warnings, salvaged: None };
                return Ok((Row { tiles: Some(tiles), ..Row::of("pcd-tiles") }, read_ms, notes));
            }
        }
        if let (Source::File(path), None, None) = (source, self.options.format, self.options.dataset) {
            if Format::from_name(path) == Some(Format::Npz) && is_ndt_map(path, &self.options.limits)? {
                let (map, read_ms) = timed(|| MapFile::read(path, &self.options.limits))?;
                let of = Row { map: Some(map), ..Row::of("ndt-map") };
                return Ok((of, read_ms, Notes::default()));
            }
            let (found, read_ms) = timed(|| Ok::<_, IoError>(find_poses(path, &self.options.limits)))?;
            if let Some((format, poses)) = found {
                let warnings = poses.warnings.iter().map(ToString::to_string).collect();
                let of = Row { poses: Some(PoseFile::of(format, &poses)), ..Row::of("poses") };
                return Ok((of, read_ms, Notes { warnings, salvaged: None }));
            }
        }
        let (scan, read_ms) = self.inputs.read(source)?;
        let cloud = Cloud::of(&scan, self.options.dataset.map(|dataset| dataset.as_str()))?;
        let of = Row { cloud: Some(cloud), ..Row::of(scan.format.as_str()) };
        let notes = notes(&scan.warnings);
        if let Some(see) = &self.see {
            see.keep(scan);
        }
        Ok((of, read_ms, notes))
    }
}

impl Command for Info {
    type Worker = ();
    type Row = Row;
    type Totals = Totals;
    const ON_DEVICE: bool = false;

    fn worker(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn one(&self, (): &mut (), index: usize, source: &Source) -> Result<Frame<Row>, InputError> {
        let (of, read_ms, notes) = self.look(source)?;
        self.see.as_ref().map_or(Ok(()), |see| see.draw_kept(&source.name(), of.format))?;
        Ok(Frame::read(index, source.name(), read_ms, notes, of))
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.points().unwrap_or(0);
        Ok(())
    }

    fn cells(&self, frame: &Frame<Row>) -> Vec<Cell> {
        let of = &frame.of;
        vec![
            ("format", of.format.into()),
            ("points", of.points().map_or_else(String::new, grouped)),
            ("extent", of.extent().unwrap_or_default()),
            ("times, s", of.cloud.as_ref().map_or_else(String::new, Cloud::span)),
            ("columns", of.names()),
        ]
    }

    fn detail(&self, frame: &Frame<Row>, alone: bool) -> Option<Vec<String>> {
        let lines = frame.of.lines();
        if alone {
            return Some(lines);
        }
        if !self.long {
            return None;
        }
        let name = escape(&frame.input);
        Some(std::iter::once(name).chain(lines.iter().map(|line| format!("  {line}"))).collect())
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        if summary.counts.inputs == 1 {
            return written("picture", summary.picture.as_deref()).into_iter().collect();
        }
        vec![format!("{}, {} points", counted(summary.counts.done, "input"), grouped(summary.of.points))]
    }
}
