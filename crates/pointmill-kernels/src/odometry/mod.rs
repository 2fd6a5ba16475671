//! Odometry: the points of a sweep that are used, their pairs with the local map, and the map,
//! which changes by what enters and leaves.
//!
//! [`Sample`], [`Thin`] and [`Keys`] choose points of a sweep, [`See`] notes what it sees in each direction. [`Place`] moves those of the alignment; a look at a pose is [`Look`], [`Normals`] and [`Terms`], the last one also
//! [`Support`]. [`InsertPoints`], [`AllocateVoxels`], [`AssignSlots`], a radix sort and [`Fill`] add points to the map, [`RemoveFarVoxels`] and [`RebuildIndex`] take voxels away. Which entry of a table a cell gets depends on
//! timing, the place of its voxel does not: voxels are numbered in the order in which their first
//! points come.
//!
#![doc = include_str!("README.md")]

mod insert;
mod look;
mod map;
mod remove;
mod sample;
mod sums;
mod view;

pub use insert::{
    AllocateVoxels, AllocateVoxelsArgs, AssignSlots, AssignSlotsArgs, Fill, FillArgs, InsertPoints, InsertPointsArgs,
};
pub use look::{Look, LookArgs, Normals, NormalsArgs};
pub use map::{Map, MapHead, Voxel};
pub use remove::{RebuildIndex, RebuildIndexArgs, RemoveFarVoxels, RemoveFarVoxelsArgs};
pub use sample::{Firsts, Head, Keys, KeysArgs, Sample, SampleArgs, Thin, ThinArgs, Timed};
pub use sums::{Deskew, PLACE_TERMS, Place, PlaceArgs, Support, SupportArgs, Terms, TermsArgs};
pub use view::{Reach, See, SeeArgs};

use crate::prim::BLOCK;
use crate::simt::*;

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = properties![
    Sample,
    Thin,
    Keys,
    See,
    Place,
    Look,
    Normals,
    Terms,
    Support,
    InsertPoints,
    AllocateVoxels,
    AssignSlots,
    Fill,
    RemoveFarVoxels,
    RebuildIndex,
];

/// No voxel, no point, no entry.
pub const NONE: u32 = u32::MAX;

/// A point or a normal, and a fourth number.
pub type Place4 = [f32; 4];

/// Elements a thread of a tile handles.
const ITEMS: usize = 4;
/// Elements a tile holds.
pub const TILE: u32 = BLOCK * ITEMS as u32;
