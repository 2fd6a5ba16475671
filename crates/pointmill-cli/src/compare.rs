//! A voxelizer with a clock, and two results side by side.

use crate::stats::milliseconds;
use pointmill::voxelize::{VoxelArrays, VoxelizeParams, Voxelizer, Voxels};
use pointmill::{Device, Error, PointCloud};
use std::time::Instant;

/// A device with a voxelizer that is used for all inputs.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) device: Device,
    voxelizer: Voxelizer,
    pub(crate) voxels: Voxels,
    /// Whether a call that is not timed comes before the first.
    cold: bool,
    /// The times of all inputs.
    pub(crate) times: Vec<f64>,
}

impl Lane {
    /// With `compared` its times stand beside those of another device, and the first is not that of a start.
    pub(crate) fn new(device: Device, params: &VoxelizeParams, compared: bool) -> Result<Self, Error> {
        let voxelizer = Voxelizer::new(&device.stream()?, params)?;
        let voxels = voxelizer.output()?;
        Ok(Self { device, voxelizer, voxels, cold: compared, times: Vec::new() })
    }

    /// Cells along x, y, z.
    pub(crate) const fn grid(&self) -> [u32; 3] {
        self.voxelizer.grid().dims()
    }

    /// Voxelizes a cloud; the milliseconds from the host's points to the end of the work.
    pub(crate) fn run(&mut self, cloud: &PointCloud) -> Result<f64, Error> {
        if self.cold {
            // The first call takes memory and wakes threads or the GPU, which says nothing about the next thousand.
            self.call(cloud)?;
            self.cold = false;
        }
        let start = Instant::now();
        self.call(cloud)?;
        let ms = milliseconds(start.elapsed());
        self.times.push(ms);
        Ok(ms)
    }

    fn call(&mut self, cloud: &PointCloud) -> Result<(), Error> {
        self.voxelizer.run(cloud, &mut self.voxels)?;
        self.voxels.stream().synchronize()
    }
}

/// The names of what is not the same, bit for bit.
pub(crate) fn differences(a: &VoxelArrays, b: &VoxelArrays) -> Vec<&'static str> {
    let mut names = pointmill::differences(a, b);
    names.extend((a.report != b.report).then_some("report"));
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointmill::voxelize::voxelize;
    use pointmill::{AnyArray, TwinFault};

    /// The fewest launches with which a lane of the twin has its first answer.
    fn launches(run: impl Fn() -> Result<(), Error>) -> usize {
        let least = (0..100).find(|&n| {
            Device::fail_twin(Some((TwinFault::Lost, n)));
            run().is_ok()
        });
        Device::fail_twin(None);
        least.expect("an answer")
    }

    #[test]
    fn the_first_cloud_is_worked_on_twice_only_where_times_are_compared() {
        let cloud = PointCloud::new(vec![1.0, 2.0, 0.5, 0.0, 3.0, 4.0, 0.5, 1.0], 4).unwrap();
        let params = VoxelizeParams { max_voxels: 1000, ..VoxelizeParams::default() };
        let lane = |compared| launches(|| Lane::new(Device::twin(), &params, compared)?.run(&cloud).map(drop));
        let once = launches(|| voxelize(&cloud, &params, &Device::twin())?.stream().synchronize());
        assert!(once > 0);
        assert_eq!((lane(false), lane(true)), (once, 2 * once));
    }

    #[test]
    fn bits_count_not_values() {
        let cloud = PointCloud::new(vec![0.0, 0.0, 0.0, f32::NAN, 1.0, 0.0, 0.0, 0.0], 4).unwrap();
        let a = voxelize(&cloud, &VoxelizeParams::default(), &Device::cpu()).unwrap().read().unwrap();
        assert_eq!(differences(&a, &a), [""; 0]);
        let mut b = a.clone();
        let Some(AnyArray::F32(mean)) = &mut b.mean else { panic!("f32 means") };
        mean[5] = -mean[5];
        b.voxels.as_mut().unwrap()[3] = 1.0;
        assert_eq!(differences(&a, &b), ["voxels", "mean"]);
        b.voxels = None;
        b.report.out_of_range += 1;
        assert_eq!(differences(&a, &b), ["voxels", "mean", "report"]);
    }
}
