//! `--visualize` of `voxelize`: input and voxel means side by side.

use crate::failure::Failure;
use crate::picture::{plan, save, save_scene};
use crate::text::{grouped, label, titled};
use pointmill::voxelize::{VoxelArrays, VoxelizeParams};
use pointmill::{AnyArray, PointCloud, Points};
use pointmill_io::Place;
use pointmill_view::{Gif, VoxelScene, require_memory};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Frames of an animation are held in memory, about 5 MB each.
const MAX_FRAMES: usize = 300;
/// Spinning sensors turn ten times a second.
const FRAME_MS: u32 = 100;

/// A picture in the making: a `.png` of the first input, or a `.gif` or a page of all.
#[derive(Debug)]
pub(super) struct Picture {
    path: PathBuf,
    drawn: Mutex<Drawn>,
}

#[derive(Debug)]
enum Drawn {
    /// All inputs, or the first for a still.
    Scene { scene: Box<VoxelScene>, is_still: bool },
    /// Each input is drawn at once.
    Gif(Gif, [f64; 3]),
}

impl Picture {
    /// Checks the path, before any work. The clouds are relative to `origin`.
    pub(super) fn plan(path: &Path, inputs: usize, origin: [f64; 3]) -> Result<Self, Failure> {
        let drawn = match plan(path, &["png", "gif", "html"])? {
            "gif" if inputs > MAX_FRAMES => {
                let message = format!("expected at most {MAX_FRAMES} inputs in a .gif, got {inputs}");
                return Err(Failure::Usage(format!("--visualize {}: {message}", path.display())));
            }
            "gif" => Drawn::Gif(Gif::new(FRAME_MS), origin),
            extension => {
                let is_still = extension == "png";
                Drawn::Scene { scene: Box::new(scene(if is_still { 1 } else { inputs }, origin)), is_still }
            }
        };
        Ok(Self { path: path.into(), drawn: Mutex::new(drawn) })
    }

    fn drawn(&self) -> MutexGuard<'_, Drawn> {
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another input would be drawn.
    pub(super) fn wants_more(&self) -> bool {
        !matches!(&*self.drawn(), Drawn::Scene { scene, is_still: true } if scene.scene().frames() > 0)
    }

    /// Draws an input.
    pub(super) fn add(
        &self,
        name: &str,
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
        let captions = [&*titled(&input, cloud.origin()), &output];
        let label = format!("{}; {input}; {output}", label(name));
        let push = |scene: &mut VoxelScene| {
            scene.push(&label, captions, cloud.points(), means, params.voxel_size, params.range);
        };
        match &mut *self.drawn() {
            Drawn::Scene { scene, .. } => push(scene),
            Drawn::Gif(gif, origin) => {
                let mut one = scene(1, *origin);
                push(&mut one);
                gif.push(one.scene().picture())?;
            }
        }
        Ok(())
    }

    /// Writes what was drawn, if anything was.
    pub(super) fn write(&self) -> Result<(), Failure> {
        match &*self.drawn() {
            Drawn::Gif(gif, _) if gif.is_empty() => Ok(()),
            Drawn::Gif(gif, _) => save(&Place::named(&self.path), gif.len(), || gif.encode()),
            Drawn::Scene { scene, .. } if scene.scene().frames() == 0 => Ok(()),
            Drawn::Scene { scene, .. } => save_scene(Place::named(&self.path), scene.scene()),
        }
    }
}

/// A scene of so many inputs, whose coordinates are relative to `origin`.
fn scene(inputs: usize, origin: [f64; 3]) -> VoxelScene {
    let mut scene = VoxelScene::new(&titled("voxelize", origin), inputs);
    scene.about(origin);
    scene
}
