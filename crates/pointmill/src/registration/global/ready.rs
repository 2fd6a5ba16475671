//! A cloud made ready: its surface, and what it shows of itself.

use super::evidence::View;
use super::params::RegisterParams;
use super::surface::Surface;
use super::tilt;
use crate::{Argument, Result, Rows, Stream};

/// Points and voxels of a cloud at least.
const FEWEST_POINTS: usize = 50;

/// A cloud made ready.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) surface: Surface,
    pub(super) view: View,
}

impl Ready {
    pub(super) fn new(cloud: &Rows<'_>, params: &RegisterParams, stream: &Stream, argument: Argument) -> Result<Self> {
        cloud.check_points(argument, stream)?;
        let surface = Surface::new(cloud, params, stream, argument)?;
        let view = View::new(&surface, stream)?;
        Ok(Self { surface, view })
    }

    pub(super) fn is_small(&self) -> bool {
        self.surface.usable < FEWEST_POINTS || self.surface.points.len() < FEWEST_POINTS
    }

    /// Whether enough stands out of planes to say where a cloud is.
    pub(super) fn has_shape(&self) -> bool {
        self.surface.rough.len() >= FEWEST_POINTS
    }

    pub(super) fn is_tilted(&self) -> bool {
        tilt::of_ground(&self.surface.normals).is_some_and(tilt::is_tilted)
    }
}
