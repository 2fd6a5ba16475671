//! `pointmill icp`: sources aligned with a target.

mod args;
mod command;
mod iterations;
mod picture;
mod plot;
pub(crate) mod records;
mod report;

pub(crate) use args::IcpArgs;
pub(crate) use command::run;
pub(crate) use picture::{distances, title};

use crate::onto::Onto;
use pointmill::icp::{IcpParams, Target};
use pointmill::{Device, Error, Rows};

/// The target and the guess, which all sources share.
type IcpTarget = Onto<Target, IcpParams>;

fn prepare(device: &Device, target: Rows<'_>, params: &IcpParams) -> Result<Target, Error> {
    Target::new(&device.stream()?, target, params)
}
