//! The way back: where a sweep that was lost is in the map of the sweeps before.

use super::engine::{Engine, spread_of};
use super::search::{Answer, Explained, Search, apart};
use pointmill::device::Device;
use pointmill::registration::global::{Refine, RegisterParams, Verdict, register};
use pointmill::{Pose, Result, Rows};

/// Poses are kept that are so many voxels apart for a point as far as this many voxels.
const SPACING: f64 = 2.0;
const ARM: f64 = 10.0;
/// So many poses are kept; of more every second.
const POSES: usize = 1024;
/// A place is believed if the map explains this part of what it explained before.
const BELIEVED: f64 = 0.75;
/// Points of features, as a part of the voxels of the map.
const FEATURE_VOXEL: f64 = 0.4;

/// Poses that the sensor had.
#[derive(Debug, Default)]
pub(super) struct Way {
    poses: Vec<Pose>,
    /// How many sweeps were lost in succession.
    lost: usize,
}

/// A sweep that is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sought<'a> {
    pub(super) points: &'a Rows<'a>,
    pub(super) keypoints: usize,
    pub(super) voxel_size: f64,
    pub(super) device: &'a Device,
    /// What the map explained of the last sweeps.
    pub(super) expected: Explained,
}

impl Sought<'_> {
    /// The place near one of these poses where the map explains as much as it did.
    fn among(&self, engine: &mut dyn Engine, poses: Vec<Pose>) -> Result<Option<Answer>> {
        let spread = spread_of(&engine.place(None)?, self.keypoints);
        let mut search = Search::new(engine, self.voxel_size, spread, self.keypoints);
        let Some(answer) = search.among(poses)? else { return Ok(None) };
        let Explained { share, sharp } = search.explained(&answer.pose)?;
        let believed = share >= BELIEVED * self.expected.share && sharp >= BELIEVED * self.expected.sharp;
        Ok((believed && !answer.ambiguous).then_some(answer))
    }
}

impl Way {
    /// Takes the pose of a sweep that was found.
    pub(super) fn follow(&mut self, pose: Pose, voxel_size: f64) {
        self.lost = 0;
        if self.poses.last().is_some_and(|last| apart(last, &pose, ARM * voxel_size) < SPACING * voxel_size) {
            return;
        }
        if self.poses.len() == POSES {
            let mut keep = false;
            self.poses.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.poses.push(pose);
    }

    /// Looks for a sweep at the places where the sensor was; if it is lost then, after ever more of
    /// these, by features.
    pub(super) fn find(&mut self, engine: &mut dyn Engine, sought: &Sought<'_>, lost: bool) -> Result<Option<Answer>> {
        self.lost += usize::from(lost);
        if let Some(answer) = sought.among(engine, self.poses.clone())? {
            return Ok(Some(answer));
        }
        if !(lost && self.lost.is_power_of_two()) {
            return Ok(None);
        }
        let map = engine.near()?;
        let params = RegisterParams {
            voxel_size: FEATURE_VOXEL * sought.voxel_size,
            refine: Refine::None,
            ..RegisterParams::default()
        };
        let found = register(*sought.points, &map[..], &params, sought.device)?;
        if found.verdict != Verdict::Found {
            return Ok(None);
        }
        sought.among(engine, vec![found.target_from_source])
    }
}
