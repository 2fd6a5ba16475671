//! `pointmill voxelize`: sweeps into voxels.

mod args;
mod command;
mod picture;
pub(crate) mod records;
mod sweeps;

pub(crate) use args::VoxelizeArgs;
pub(crate) use command::run;
