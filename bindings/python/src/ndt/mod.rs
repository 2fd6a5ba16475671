//! Grids of normal distributions.

mod grid;
mod moments;
mod result;

pub(crate) use grid::NdtGrid;
pub(crate) use moments::NdtMoments;
pub(crate) use result::{NdtFit, NdtRegistration, NdtReport};

use crate::errors::Names;
use pointmill::Argument;

const NAMES: Names = &[(Argument::Pose, "poses")];
/// Points of which a sum, or poses times points of which a score, takes a good part of a second on the CPU.
const LONG: usize = 1 << 21;
