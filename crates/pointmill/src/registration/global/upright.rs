//! Candidates for clouds that are both upright, by a search over x, y and yaw.

use super::surface::Surface;
use crate::ndt::{NdtParams, ndt_grid};
use crate::registration::level::{LevelParams, LevelTarget, LevelTargetParams};
use crate::{Argument, Device, Error, Result, Rows, memory};
use pointmill_core::ndt::MAX_CELL;
use pointmill_core::rigid::{Rigid, wide};

/// Voxels along the edge of a cell of normal distributions.
const CELL: f64 = 6.0;
/// Points of the source are used up to so many voxels from its middle.
const RANGE: f64 = 133.0;
/// Radians from yaw to yaw.
const TURN: f64 = 3.0 * std::f64::consts::PI / 180.0;
/// One point of so many may be beyond all cells.
const FEW: usize = 100;
/// Most candidates.
const MOST: usize = 16;
/// Candidates are apart by so many voxels, or radians.
const APART: (f64, f64) = (6.0, 0.12);

/// A target in which upright sources are looked for.
#[derive(Debug)]
pub(super) struct Upright {
    targets: Vec<Heights>,
}

/// The same at certain heights.
#[derive(Debug)]
pub(super) struct Heights(LevelTarget);

impl Upright {
    pub(super) fn new(surface: &Surface, voxel: f64, device: &Device) -> Result<Self> {
        let small = |e: Error| match e {
            Error::Argument { .. } => {
                Error::argument(Argument::VoxelSize, "a larger size for so wide a target, with `level`", voxel)
            }
            other => other,
        };
        // A few points beyond all cells are no part of what is searched.
        let most = 0.5 * f64::from(MAX_CELL) * CELL * voxel;
        let near = |p: &&[f32; 3]| p.iter().all(|x| f64::from(x.abs()) < most);
        let mut points = Vec::new();
        surface.points.iter().filter(near).try_for_each(|p| memory::push(&mut points, *p))?;
        let few = (surface.points.len() - points.len()) * FEW <= surface.points.len();
        let points = if few { &points } else { &surface.points };
        let cells = ndt_grid(&points[..], CELL * voxel, &NdtParams::default(), device).map_err(small)?;
        let at = |ground| LevelTargetParams { ground, range: RANGE * voxel, ..LevelTargetParams::default() };
        let mut targets = Vec::new();
        for target in [LevelTarget::over_nearest_ground(&cells, &at(true)), LevelTarget::new(&cells, &at(false))] {
            let target = target.map_err(small)?;
            if !target.is_empty() {
                memory::push(&mut targets, Heights(target))?;
            }
        }
        Ok(Self { targets })
    }

    /// The heights to search, one after the other until the pose is found: first those of the ground,
    /// where the target has some, then all.
    pub(super) fn targets(&self) -> &[Heights] {
        &self.targets
    }
}

impl Heights {
    /// The best places of a source, the best first.
    pub(super) fn candidates(&self, source: &Surface, voxel: f64) -> Result<Vec<Rigid>> {
        let middle = middle(&source.together()?);
        let about = memory::collect(source.points.iter().map(|p| [0, 1, 2].map(|k| f64::from(p[k]) - middle[k])))?;
        let search = LevelParams {
            turn: TURN,
            candidates: MOST,
            apart_metres: APART.0 * voxel,
            apart_radians: APART.1,
            ..LevelParams::default()
        };
        let found = self.0.search(Rows::from(&about[..]), &search)?;
        let back = middle.map(|x| -x);
        memory::collect(found.candidates.iter().map(|place| *place.target_from_source.about(back, [0.0; 3]).rigid()))
    }
}

/// The mean of points; the origin of none.
fn middle(points: &[[f32; 3]]) -> [f64; 3] {
    let sum = points.iter().fold([0.0; 3], |sum, p| [0, 1, 2].map(|k| sum[k] + wide(*p)[k]));
    sum.map(|x| x / points.len().max(1) as f64)
}
