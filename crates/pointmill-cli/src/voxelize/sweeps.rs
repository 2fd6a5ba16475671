//! Several sweeps as one input: each with those before it, in its own frame.

use super::args::VoxelizeArgs;
use crate::batch::prelude::*;
use pointmill::sparse::densify;
use pointmill::{Device, PointCloud, Pose, Rows};
use pointmill_data::poses::{Deskew, InputPoses};
use pointmill_io::{Detail, IoError, Scan};
use std::path::Path;

/// Most sweeps of an input.
pub(super) const MOST: u32 = 100;

/// Where the sweeps of a run are, and how many belong to an input.
pub(super) struct Sweeps<'a> {
    pub(super) count: usize,
    pub(super) sources: &'a [Source],
    pub(super) poses: InputPoses,
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

impl Sweeps<'_> {
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
        let (own, newest) = self.at(index, &name, scan, stamp)?;
        let to_own = own.inverse();
        let (mut clouds, mut transforms, mut lags) = (vec![], vec![Pose::IDENTITY], vec![0.0]);
        for earlier in (index.saturating_sub(self.count - 1)..index).rev() {
            let source = &self.sources[earlier];
            let ((scan, stamp_ns), _) = inputs.read_stamped(source)?;
            let stamp = stamp_ns.map(|ns| ns as f64 / 1e9);
            let (pose, time) = self.at(earlier, &source.name(), &scan, stamp)?;
            transforms.push(to_own.compose(&pose));
            lags.push((newest - time) as f32);
            clouds.push(scan.cloud);
        }
        let rows: Vec<Rows<'_>> = std::iter::once(&scan.cloud).chain(&clouds).map(Rows::from).collect();
        let blame = |e| InputError::blame("ShapeMismatch", e, &name);
        let points: usize = rows.iter().map(Rows::len).sum();
        let columns = scan.cloud.columns() + 1;
        let device = Device::cpu();
        let together =
            densify(&rows, &transforms, &lags, &device).and_then(|all| all.read(points * columns)).map_err(blame)?;
        scan.cloud = PointCloud::new(together, columns).map_err(|e| blame(e.into()))?;
        Ok(())
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
