//! Candidates for clouds that are both upright, or are turned so, by a search over x, y and yaw.

use super::ground;
use super::surface::Surface;
use crate::ndt::{NdtGrid, NdtParams, ndt_grid};
use crate::registration::level::{LevelCandidate, LevelParams, LevelTarget, LevelTargetParams};
use crate::{Argument, Device, Error, Result, Rows, memory};
use pointmill_core::ndt::MAX_CELL;
use pointmill_core::rigid::{Rigid, subtract, wide};
use std::sync::OnceLock;

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

/// Most places and blocks that are looked at where the ground turns clouds upright. Pairs of sweeps
/// take up to 7 million, those that are found up to 4 million.
const MOST_EVALUATED: u64 = 1 << 23;
/// Without known heights, sources are looked for up to so many voxels from the middle of the target.
const WIDEST: f64 = 500.0;

/// A target in which upright sources are looked for.
#[derive(Debug)]
pub(super) struct Upright {
    cells: NdtGrid,
    params: LevelTargetParams,
    /// Over its ground; none where it has none.
    over: Option<Heights>,
    /// At all heights: made once those of the ground do not suffice.
    all: OnceLock<Option<Heights>>,
    /// Turns the target upright.
    turn: Rigid,
}

/// The same at certain heights.
#[derive(Debug)]
pub(super) struct Heights(LevelTarget);

impl Upright {
    /// Of a cloud that is upright.
    pub(super) fn new(surface: &Surface, voxel: f64, device: &Device) -> Result<Self> {
        let params = LevelTargetParams { range: RANGE * voxel, ..LevelTargetParams::default() };
        Self::made(surface, Rigid::IDENTITY, voxel, device, params).map_err(|e| too_wide(e, voxel))
    }

    /// Of a cloud that is turned upright by its ground; none where it has none, or is too wide for its
    /// voxels.
    pub(super) fn turned(surface: &Surface, voxel: f64, device: &Device) -> Result<Option<Self>> {
        let Some(turn) = turn(surface, voxel) else { return Ok(None) };
        let most = WIDEST * voxel;
        let region = Some([-most, -most, most, most]);
        let params = LevelTargetParams { range: RANGE * voxel, region, ..LevelTargetParams::default() };
        match Self::made(surface, turn, voxel, device, params) {
            Ok(made) => Ok(Some(made)),
            Err(Error::Argument { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    fn made(surface: &Surface, turn: Rigid, voxel: f64, device: &Device, params: LevelTargetParams) -> Result<Self> {
        // A few points beyond all cells are no part of what is searched.
        let most = 0.5 * f64::from(MAX_CELL) * CELL * voxel;
        let near = |p: &&[f32; 3]| p.iter().all(|x| f64::from(x.abs()) < most);
        let all = memory::collect(surface.points.iter().map(|p| turn.apply(wide(*p)).map(|x| x as f32)))?;
        let mut points = Vec::new();
        all.iter().filter(near).try_for_each(|p| memory::push(&mut points, *p))?;
        let few = (all.len() - points.len()) * FEW <= all.len();
        let cells = ndt_grid(if few { &points[..] } else { &all[..] }, CELL * voxel, &NdtParams::default(), device)?;
        let over = Heights::some(LevelTarget::over_nearest_ground(&cells, &params)?);
        Ok(Self { cells, params, over, all: OnceLock::new(), turn })
    }

    /// Where a source may be that its ground turns upright: nowhere where it has no ground. None if
    /// the search is given up, since it takes too long.
    pub(super) fn candidates(&self, source: &Surface, voxel: f64) -> Result<Option<Vec<Rigid>>> {
        let (Some(turn), Some(over)) = (turn(source, voxel), &self.over) else { return Ok(Some(Vec::new())) };
        let back = self.turn.inverse();
        let places = over.turned(source, &turn, voxel, MOST_EVALUATED)?;
        places.map(|places| memory::collect(places.iter().map(|p| back.after(&p.after(&turn))))).transpose()
    }

    /// Over the ground, where the target has some.
    pub(super) const fn over(&self) -> Option<&Heights> {
        self.over.as_ref()
    }

    /// At all heights, where the target has cells.
    pub(super) fn all(&self, voxel: f64) -> Result<Option<&Heights>> {
        if self.all.get().is_none() {
            let params = LevelTargetParams { ground: false, ..self.params.clone() };
            let made = LevelTarget::new(&self.cells, &params).map_err(|e| too_wide(e, voxel))?;
            // Another thread may have been first, with the same bits.
            let _ = self.all.set(Heights::some(made));
        }
        Ok(self.all.get().and_then(Option::as_ref))
    }
}

/// The error of a target that has too many cubes.
fn too_wide(error: Error, voxel: f64) -> Error {
    match error {
        Error::Argument { .. } => {
            Error::argument(Argument::VoxelSize, "a larger size for so wide a target, with `level`", voxel)
        }
        other => other,
    }
}

impl Heights {
    fn some(target: LevelTarget) -> Option<Self> {
        (!target.is_empty()).then_some(Self(target))
    }

    /// The best places of a source, the best first.
    pub(super) fn candidates(&self, source: &Surface, voxel: f64) -> Result<Vec<Rigid>> {
        Ok(self.turned(source, &Rigid::IDENTITY, voxel, u64::MAX)?.unwrap_or_default())
    }

    /// The best places of a source that is turned first; none if more than `most` would be looked at.
    fn turned(&self, source: &Surface, turn: &Rigid, voxel: f64, most: u64) -> Result<Option<Vec<Rigid>>> {
        let middle = turn.apply(middle(&source.together()?));
        let about = memory::collect(source.points.iter().map(|p| subtract(turn.apply(wide(*p)), middle)))?;
        let search = LevelParams {
            turn: TURN,
            candidates: MOST,
            apart_metres: APART.0 * voxel,
            apart_radians: APART.1,
            ..LevelParams::default()
        };
        let Some(found) = self.0.search_at_most(Rows::from(&about[..]), &search, most)? else { return Ok(None) };
        let back = middle.map(|x| -x);
        let pose = |place: &LevelCandidate| *place.target_from_source.about(back, [0.0; 3]).rigid();
        Ok(Some(memory::collect(found.candidates.iter().map(pose))?))
    }
}

/// Turns a cloud upright by its ground; none where it has none.
fn turn(surface: &Surface, voxel: f64) -> Option<Rigid> {
    ground::upright(surface, voxel).map(|rotation| Rigid { rotation, translation: [0.0; 3] })
}

/// The mean of points; the origin of none.
fn middle(points: &[[f32; 3]]) -> [f64; 3] {
    let sum = points.iter().fold([0.0; 3], |sum, p| [0, 1, 2].map(|k| sum[k] + wide(*p)[k]));
    sum.map(|x| x / points.len().max(1) as f64)
}
