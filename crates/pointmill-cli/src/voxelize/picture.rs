//! `--visualize` of `voxelize`: input and voxel means side by side.

use crate::failure::Failure;
use crate::outputs::require_folder_of;
use crate::picture::save;
use crate::text::grouped;
use pointmill::AnyArray;
use pointmill::voxelize::{VoxelArrays, VoxelizeParams};
use pointmill::{PointCloud, Points};
use pointmill_view::{Gif, Image, require_memory, voxelization_picture};
use std::path::{Path, PathBuf};

/// Frames of an animation are held in memory, about 5 MB each.
const MAX_FRAMES: usize = 300;
/// Spinning sensors turn ten times a second.
const FRAME_MS: u32 = 100;

/// A picture in the making.
#[derive(Debug)]
pub(super) struct Picture {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Png(Option<Image>),
    Gif(Gif),
}

impl Picture {
    /// Checks the path, before any work.
    pub(super) fn plan(path: &Path, inputs: usize) -> Result<Self, Failure> {
        let text = path.display();
        let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        let kind = match extension.as_deref() {
            Some("png") => Kind::Png(None),
            Some("gif") if inputs > MAX_FRAMES => {
                let told = format!("--visualize {text}: expected at most {MAX_FRAMES} inputs in a .gif, got {inputs}");
                return Err(Failure::Usage(told));
            }
            Some("gif") => Kind::Gif(Gif::new(FRAME_MS)),
            Some("rrd") => {
                let told = format!("--visualize {text}: this build cannot write .rrd; expected .png or .gif");
                return Err(Failure::Usage(told));
            }
            _ => return Err(Failure::Usage(format!("--visualize {text}: expected a name ending in .png or .gif"))),
        };
        require_folder_of(path)?;
        Ok(Self { path: path.into(), kind })
    }

    /// Whether another input would be drawn.
    pub(super) const fn wants_more(&self) -> bool {
        !matches!(self.kind, Kind::Png(Some(_)))
    }

    /// Draws an input.
    pub(super) fn add(
        &mut self,
        cloud: &PointCloud,
        arrays: &VoxelArrays,
        params: &VoxelizeParams,
    ) -> Result<(), Failure> {
        require_memory(1, cloud.len() + arrays.num_voxels)?;
        let cast;
        let means = match &arrays.mean {
            Some(AnyArray::F32(mean)) => Points::new(mean, arrays.columns),
            Some(AnyArray::F16(mean)) => {
                let wide = mean.iter().map(|v| v.to_f32()).collect();
                cast = PointCloud::new(wide, arrays.columns).map_err(pointmill::Error::from)?;
                Ok(cast.points())
            }
            _ => Points::new(&[], arrays.columns),
        };
        let means = means.map_err(pointmill::Error::from)?;
        let [x, y, z] = params.voxel_size;
        let size = if x == y && y == z { format!("{x} m") } else { format!("{x} x {y} x {z} m") };
        let input = format!("input: {} points", grouped(cloud.len()));
        let output = format!("voxel means: {} voxels, {size}", grouped(means.len()));
        let image = voxelization_picture(cloud.points(), means, params.voxel_size, params.range, [&input, &output]);
        match &mut self.kind {
            Kind::Png(picture) => *picture = Some(image),
            Kind::Gif(gif) => gif.push(image)?,
        }
        Ok(())
    }

    /// Writes what was drawn, if anything was.
    pub(super) fn write(&self) -> Result<(), Failure> {
        match &self.kind {
            Kind::Png(None) => Ok(()),
            Kind::Gif(gif) if gif.is_empty() => Ok(()),
            Kind::Png(Some(image)) => save(&self.path, 1, || Ok(image.encode_png())),
            Kind::Gif(gif) => save(&self.path, gif.len(), || gif.encode()),
        }
    }
}
