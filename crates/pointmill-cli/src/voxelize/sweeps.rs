//! Several sweeps as one input: each with those before it, in its own frame.

use super::args::VoxelizeArgs;
use crate::batch::prelude::*;
use pointmill::sparse::densify;
use pointmill::{Device, PointCloud, Pose, Rows};
use pointmill_data::poses::{Deskew, InputPoses};
use pointmill_io::{Detail, IoError, Scan, turn_directions};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the sweeps of a run are, and how many belong to an input.
pub(super) struct Sweeps<'a> {
    count: usize,
    sources: &'a [Source],
    poses: InputPoses,
    /// The sweeps that were read last, by their numbers: the next inputs need them too.
    recent: Mutex<VecDeque<(usize, Arc<Sweep>)>>,
}

/// A sweep, its pose, and when it was.
struct Sweep {
    cloud: PointCloud,
    pose: Pose,
    time: f64,
}

/// The poses of a run; `None` if each input is voxelized alone.
pub(super) fn poses(
    args: &VoxelizeArgs,
    sources: &mut Vec<Source>,
    inputs: &Inputs,
) -> Result<Option<InputPoses>, Failure> {
    let usage = |message: &str| Err(Failure::Usage(message.into()));
    match (args.sweeps, &args.poses) {
        (1, None) => return Ok(None),
        (1, Some(_)) => return usage("--poses: needs --sweeps of 2 or more"),
        (_, None) => return usage("--sweeps: needs --poses, the poses of the inputs"),
        _ if args.work.resume.resume => {
            return usage("--resume: cannot be used with --sweeps, which reads each input more than once");
        }
        _ => {}
    }
    Ok(InputPoses::read(args.poses.as_deref(), Deskew::Off, (sources, inputs), &stderr::Stderr)?)
}

impl<'a> Sweeps<'a> {
    pub(super) fn new(count: u32, sources: &'a [Source], poses: InputPoses) -> Self {
        Self { count: count as usize, sources, poses, recent: Mutex::default() }
    }

    /// Adds the points of earlier sweeps to those of an input, and the time lag of each point in
    /// seconds as a last column. Newest sweep first; the first inputs have fewer earlier ones.
    pub(super) fn add_earlier(
        &self,
        index: usize,
        inputs: &Inputs,
        scan: &mut Scan,
        stamp: Option<f64>,
    ) -> Result<(), InputError> {
        let name = self.sources[index].name();
        let blame = |e| InputError::blame("ShapeMismatch", e, &name);
        let mut sweeps = vec![self.keep(index, scan, stamp)?];
        for earlier in (index.saturating_sub(self.count - 1)..index).rev() {
            sweeps.push(match self.known(earlier) {
                Some(sweep) => sweep,
                None => {
                    let ((mut scan, stamp_ns), _) = inputs.read_stamped(&self.sources[earlier])?;
                    self.keep(earlier, &mut scan, stamp_ns.map(|ns| ns as f64 / 1e9))?
                }
            });
        }
        let (to_own, newest) = (sweeps[0].pose.inverse(), sweeps[0].time);
        let mut transforms: Vec<Pose> = sweeps.iter().map(|sweep| to_own.compose(&sweep.pose)).collect();
        transforms[0] = Pose::IDENTITY;
        let lags: Vec<f32> = sweeps.iter().map(|sweep| (newest - sweep.time) as f32).collect();
        let rows: Vec<Rows<'_>> = sweeps.iter().map(|sweep| Rows::from(&sweep.cloud)).collect();
        let points: usize = rows.iter().map(Rows::len).sum();
        let columns = sweeps[0].cloud.columns() + 1;
        let device = Device::cpu();
        let mut together =
            densify(&rows, &transforms, &lags, &device).and_then(|all| all.read(points * columns)).map_err(blame)?;
        let mut rest = &mut together[..];
        for (sweep, transform) in rows.iter().zip(&transforms) {
            let own = rest.split_off_mut(..sweep.len() * columns).unwrap_or_default();
            turn_directions(&scan.fields, own, columns, transform);
        }
        scan.cloud = PointCloud::new(together, columns).map_err(|e| blame(e.into()))?;
        Ok(())
    }

    /// A sweep that was read before.
    fn known(&self, index: usize) -> Option<Arc<Sweep>> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.iter().find(|(number, _)| *number == index).map(|(_, sweep)| Arc::clone(sweep))
    }

    /// Takes the points of a sweep, and keeps them for the next inputs.
    fn keep(&self, index: usize, scan: &mut Scan, stamp: Option<f64>) -> Result<Arc<Sweep>, InputError> {
        let name = self.sources[index].name();
        let (pose, time) = self.at(index, &name, scan, stamp)?;
        let none = PointCloud::new(Vec::new(), scan.cloud.columns());
        let none = none.map_err(|e| InputError::blame("ShapeMismatch", e.into(), &name))?;
        let sweep = Arc::new(Sweep { cloud: std::mem::replace(&mut scan.cloud, none), pose, time });
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.push_back((index, Arc::clone(&sweep)));
        // Inputs that are processed at the same time need others.
        if recent.len() > 2 * self.count {
            recent.pop_front();
        }
        Ok(sweep)
    }

    /// The pose of an input, and when it was.
    fn at(&self, index: usize, name: &str, scan: &Scan, stamp: Option<f64>) -> Result<(Pose, f64), IoError> {
        let (pose, time) = self.poses.at(index, scan, stamp)?;
        let time = time.or(stamp).ok_or_else(|| {
            let wanted = "poses with times (TUM), or inputs with stamps, for the time lags of --sweeps";
            IoError::MissingField(Detail::new(Path::new(name), "times", wanted, "neither"))
        })?;
        Ok((pose, time))
    }
}
