//! The points of a sweep that are used: those in range, thinned out to the first of each cell. The
//! CPU and a GPU choose the same.

pub(crate) mod cells;
mod cpu;
mod gpu;
#[cfg(test)]
mod tests;

pub(crate) use cpu::{HostSampler, POINTS, Timed};
pub(crate) use gpu::{DeviceSampler, zeroed};

use pointmill::device::Stream;
use pointmill::{Argument, Error, Result, Rows};
use pointmill_core::odometry::cells::FARTHEST;
#[cfg(doc)]
use pointmill_core::odometry::view;

/// Which points of a sweep are used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    /// Least and largest distance from the sensor in metres.
    pub(crate) range: [f64; 2],
    /// Edge in metres of the cells of the samples.
    pub(crate) cell_size: f64,
    /// Edge in metres of the cells of the keypoints, if there are any.
    pub(crate) keypoint_cell_size: Option<f64>,
    /// Whether a sweep has a view.
    pub(crate) view: bool,
}

impl Sampling {
    /// Checks that points can be in range, and that those have cells.
    pub(crate) fn validate(&self) -> Result<()> {
        let ([least, largest], farthest) = (self.range, FARTHEST * self.cell_size);
        if largest > least && largest < farthest {
            return Ok(());
        }
        let expected = format!("above min_range, {least} m, and below {farthest} m");
        Err(Error::argument(Argument::MaxRange, expected, largest))
    }

    /// The squares of the least and the largest distance.
    fn squares(&self) -> [f64; 2] {
        self.range.map(|range| range * range)
    }
}

/// What is known of a sweep that was sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sampled {
    /// The number of samples, and of keypoints.
    pub(crate) samples: usize,
    pub(crate) keypoints: usize,
    /// Points that are finite, in range and have a finite time, if any has.
    pub(crate) usable: usize,
    /// Least and largest time of these.
    pub(crate) times: Option<[f64; 2]>,
    /// A checksum of the samples.
    pub(crate) mark: u64,
}

/// Takes sweeps in the order of their points. The first point of each cell is a sample, and the
/// first sample of each cell of keypoints a keypoint.
#[derive(Debug)]
pub(crate) enum Sampler {
    Host(HostSampler),
    Device(Box<DeviceSampler>),
}

impl Sampler {
    pub(crate) fn new(stream: &Stream) -> Result<Self> {
        Ok(match stream.device().is_cpu() {
            true => Self::Host(HostSampler::default()),
            false => Self::Device(Box::new(DeviceSampler::new(stream)?)),
        })
    }

    pub(crate) fn sample(&mut self, points: &Rows<'_>, times: Option<&[f64]>, sampling: &Sampling) -> Result<Sampled> {
        match self {
            Self::Host(host) => host.sample(points, times, sampling),
            Self::Device(device) => device.sample(points, times, sampling),
        }
    }

    /// The least and the largest distance in each direction, of every [`step`](view::step)-th point
    /// in range of the last sweep, if its sampling had a view; infinity and 0 where there is none.
    pub(crate) fn view(&mut self) -> Result<Vec<[f64; 2]>> {
        match self {
            Self::Host(host) => Ok(std::mem::take(&mut host.view)),
            Self::Device(device) => device.view(),
        }
    }

    /// The samples of the last sweep.
    pub(crate) fn samples(&self) -> Result<Vec<[f64; 3]>> {
        match self {
            Self::Host(host) => host.samples(),
            Self::Device(device) => device.samples(),
        }
    }
}
