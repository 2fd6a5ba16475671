//! Boxes: how much pairs overlap, and which of overlapping detections are kept.
//!
//! [`iou`] measures pairs, [`overlaps`] lists those above a threshold, and [`nms`] suppresses
//! detections that overlap a better one. A [`BoxIou`] and a [`Suppressor`] keep their memory between
//! calls. The same input gives the same bits on every device, in every run and with any number of
//! threads.
//!
//! # Boxes
//! A row is x, y, z, dx, dy, dz, yaw, in metres and radians: dx along the heading, dy to its left,
//! the yaw about +z, 0 along +x, counter-clockwise. Values are `f32` or `f64`, about an origin too
//! ([`Rows::about`]). Workers take rows of another [`BoxLayout`] too.
//!
//! # Arithmetic
//! See [`BoxShape::iou`](pointmill_core::boxes::BoxShape::iou): `f64`, then rounded once to `f32`.
//! `iou(a, b)` and `iou(b, a)` have the same bits. Equal boxes have exactly 1, at every yaw.
//!
//! # Rows that are no boxes
//! A box that has no extent overlaps nothing. A row is no box if a value is not finite, an extent is
//! below 0, an extent or a coordinate is beyond 1e7 m or the yaw beyond 65,536 rad, on every device:
//! its overlap is 0 of every kind, no list has it, and suppression never keeps it and counts it.
//!
//! # Waiting
//! On a GPU [`BoxIou::iou`] and [`Suppressor::run`] only queue work, and can be recorded in a graph.
//! [`BoxIou::overlaps`] waits for the number of pairs.

mod candidates;
mod cpu;
mod gpu;
mod input;
mod kept;
mod nms;
mod pairs;
mod params;
mod result;
#[cfg(test)]
mod tests;

pub use candidates::Candidates;
pub use nms::Suppressor;
pub use pairs::BoxIou;
pub use params::{BoxLayout, IouKind, IouParams, NmsMetric, NmsParams, Pairs};
pub use result::{Kept, KeptArray, KeptArrays, NmsReport, OverlapArray, OverlapLists};

use crate::{Buffer, Device, Result, Rows};

/// The overlap of pairs of boxes.
///
/// **Shapes**: boxes `[N, 7]` and `[M, 7]`. The result is `[N, M]`, with [`Pairs::Aligned`] `[N]`
/// and N = M.
///
/// **Order and determinism**: row-major, as the boxes; see the [module](self).
///
/// **Limits**: fewer than 2^31 boxes.
///
/// # Errors
/// Numbers of rows that differ, out of memory, a lost device.
///
/// ```
/// use pointmill::boxes::{IouParams, iou};
/// use pointmill::{Device, Rows};
/// let cars = [[0.0f32, 0.0, 0.0, 4.0, 2.0, 1.5, 0.3], [9.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0]];
/// let overlap = iou(&cars, &cars, &IouParams::default(), &Device::cpu())?.read(4)?;
/// assert_eq!(overlap, [1.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn iou<'a>(
    a: impl Into<Rows<'a>>,
    b: impl Into<Rows<'a>>,
    params: &IouParams,
    device: &Device,
) -> Result<Buffer<f32>> {
    let stream = device.stream()?;
    let mut worker = BoxIou::new(&stream, params)?;
    let mut out = stream.alloc(0)?;
    worker.iou(a, b, &mut out)?;
    Ok(out)
}

/// The pairs that overlap more than a threshold.
///
/// **Shapes**: boxes `[N, 7]` and `[M, 7]`; see [`OverlapLists`].
///
/// **Order and determinism**: by the row of `a`, then by that of `b`; see the [module](self).
///
/// **Limits**: fewer than 2^31 boxes, fewer than 2^30 pairs in the result.
///
/// # Errors
/// As [`iou`]; a threshold outside of 0 to 1 (with [`IouKind::Giou`] -1 to 1); parameters with
/// [`Pairs::Aligned`].
///
/// ```
/// use pointmill::boxes::{IouParams, overlaps};
/// use pointmill::Device;
/// let cars = [[0.0f32, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0], [2.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0]];
/// let found = overlaps(&cars, &cars[1..], 0.2, &IouParams::default(), &Device::cpu())?;
/// assert_eq!(found.read()?, (vec![0, 1], vec![0, 0], vec![1.0 / 3.0, 1.0]));
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn overlaps<'a>(
    a: impl Into<Rows<'a>>,
    b: impl Into<Rows<'a>>,
    threshold: f32,
    params: &IouParams,
    device: &Device,
) -> Result<OverlapLists> {
    let mut worker = BoxIou::new(&device.stream()?, params)?;
    let mut out = worker.lists()?;
    worker.overlaps(a, b, threshold, &mut out)?;
    Ok(out)
}

/// Keeps the detections that no better one suppresses.
///
/// **Shapes**: see [`Candidates`].
///
/// **Order and determinism**: candidates are taken by score, the highest first, and of equal scores
/// by row. A candidate is dropped where its overlap with a kept one is greater than the threshold;
/// with [`NmsMetric::Circle`] where the squared distance of the centres is at most the threshold.
/// Classes never meet, and neither do the items of a batch.
///
/// **Limits**: fewer than 2^30 boxes; 2^18 candidates an item.
///
/// # Errors
/// Parameters out of range, arrays that do not fit together, out of memory, a lost device.
///
/// ```
/// use pointmill::boxes::{Candidates, NmsParams, nms};
/// use pointmill::{Device, Rows};
/// let boxes = [
///     [0.0f32, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0],
///     [0.2, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0],
///     [9.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0],
/// ];
/// let params = NmsParams { threshold: 0.5, ..NmsParams::default() };
/// let kept = nms(Candidates::new(&boxes, Rows::new(&[0.6f32, 0.9, 0.3], 1)?), &params, &Device::cpu())?;
/// assert_eq!(kept.read()?.rows, [1, 2]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn nms(candidates: Candidates<'_>, params: &NmsParams, device: &Device) -> Result<Kept> {
    let mut suppressor = Suppressor::new(&device.stream()?, params)?;
    let mut kept = suppressor.output()?;
    suppressor.run(candidates, &mut kept)?;
    Ok(kept)
}
