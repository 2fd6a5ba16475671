//! Means of the points of voxels.

use crate::device::{Buffer, Stream};
use crate::prim::{Pairs, Sorter, passes_for};
use crate::registration::global::thin::{Thin, centre_between};
use crate::{Argument, Result, Rows};
use pointmill_core::registration::voxel::VoxelNumbers;
use pointmill_kernels::icp::{Centre, CentreArgs, Clouds, KEEP_TILE, Keep, KeepArgs};
use pointmill_kernels::prim::scan::{MAX_SUM, Tiles};
use pointmill_kernels::prim::{self, Length};
use pointmill_kernels::registration::{self as kernels, BLOCK, STARTS_TILE, ThinHead, VOXELS_OF_BLOCK};

/// The means of a checked cloud. None where its voxels have no numbers of 63 bits, as those of a
/// cloud with a point very far away, or its points are too many for the scans of kernels: the host
/// takes it.
pub(in super::super) fn thinned(
    cloud: &Rows<'_>,
    voxel: f64,
    argument: Argument,
    stream: &Stream,
) -> Result<Option<Thin>> {
    let room = cloud.len();
    if room == 0 {
        return Ok(Some(Thin::default()));
    }
    if room >= MAX_SUM as usize {
        return Ok(None);
    }
    let mut staging = stream.alloc::<u8>(0)?;
    let points = cloud.staged_through_host(&mut staging)?;
    let head = stream.upload(&[ThinHead::of(points)])?;
    let kept = stream.alloc::<u32>(room)?;
    let mut tiles = zeros(stream, (room as u32).div_ceil(KEEP_TILE))?;
    // The cloud is the first part of the head.
    let clouds = Clouds { heads: head.pointer().cast(), room: room as u32 };
    let keeping = KeepArgs { clouds, drop_zeros: 1, kept: kept.pointer(), tiles: Tiles { words: tiles.pointer() } };
    // SAFETY: there is room for all points, and the head knows the cloud.
    unsafe {
        stream.launch::<Keep>(clouds.room.div_ceil(KEEP_TILE), keeping)?;
        stream.launch::<Centre>(3, CentreArgs { clouds, kept: kept.pointer() })?;
        let bounding = kernels::BoundsArgs { head: head.pointer(), kept: kept.pointer() };
        stream.launch::<kernels::Bounds>(clouds.room.div_ceil(BLOCK), bounding)?;
    }
    let known = head.read(1)?[0];
    let n = known.cloud.kept;
    if n == 0 {
        return Ok(Some(Thin::default()));
    }
    let [low, high] = known.corners();
    let centre = centre_between([low, high], known.cloud.centre, voxel, argument)?;
    let Some(voxels) = VoxelNumbers::new(low, high, centre, voxel) else { return Ok(None) };
    let (numbers, by_voxel) = (stream.alloc::<u64>(n as usize)?, stream.alloc::<u64>(n as usize)?);
    let (sorted, starts) = (stream.alloc::<u32>(n as usize)?, stream.alloc::<u32>(n as usize + 1)?);
    let mut sorter = Sorter::<u64>::new(stream)?;
    let passes = passes_for(voxels.last());
    sorter.reserve(n, passes)?;
    tiles = zeros(stream, n.div_ceil(STARTS_TILE))?;
    let numbering = kernels::NumbersArgs { points, kept: kept.pointer(), n, voxels, numbers: numbers.pointer() };
    let input = Pairs { keys: numbers.pointer(), values: kept.pointer() };
    let output = Pairs { keys: by_voxel.pointer(), values: sorted.pointer() };
    let starting = kernels::StartsArgs {
        numbers: by_voxel.pointer(),
        n,
        head: head.pointer(),
        starts: starts.pointer(),
        tiles: Tiles { words: tiles.pointer() },
    };
    // SAFETY: there is room for the n points that stay, and for the end of the last voxel.
    unsafe {
        stream.launch::<kernels::Numbers>(n.div_ceil(BLOCK), numbering)?;
        sorter.enqueue(input, output, Length::known(n), passes)?;
        stream.launch::<kernels::Starts>(n.div_ceil(STARTS_TILE), starting)?;
    }
    let len = head.read(1)?[0].voxels as u32;
    let means: Buffer<[f32; 3]> = stream.alloc(len as usize)?;
    let adding = kernels::MeansArgs {
        points,
        sorted: sorted.pointer(),
        starts: starts.pointer(),
        len,
        voxels,
        means: means.pointer(),
    };
    // SAFETY: there is room for so many voxels, and their points are sorted.
    unsafe { stream.launch::<kernels::Means>(len.div_ceil(VOXELS_OF_BLOCK), adding) }?;
    Ok(Some(Thin { points: means.read(len as usize)?, centre, usable: n as usize }))
}

/// The state of a scan.
fn zeros(stream: &Stream, blocks: u32) -> Result<Buffer<u32>> {
    let words = Tiles::words(blocks) as usize;
    let mut tiles = stream.alloc(words)?;
    tiles.fill_words(0, words)?;
    Ok(tiles)
}

const _: () = assert!(BLOCK == prim::BLOCK && std::mem::offset_of!(ThinHead, cloud) == 0);
