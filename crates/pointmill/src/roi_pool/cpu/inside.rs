//! Points in boxes on the CPU.

use super::host;
use super::locate::{Coordinates, GROUP, TILE, boxes, points_of_boxes};
use crate::device::Buffer;
use crate::roi_pool::lists::BoxListSizes;
use crate::roi_pool::{BoxLists, BoxParams, Scene};
use crate::{Result, memory, par};
use rayon::prelude::*;

/// The points of each box, in order.
fn lists_of_boxes(scene: &Scene<'_>, params: BoxParams) -> Result<Vec<Vec<i32>>> {
    let (boxes, points) = (boxes(&scene.boxes, params)?, Coordinates::of(&scene.points)?);
    let ranges = points_of_boxes(scene)?;
    let mut lists = Vec::new();
    memory::resize_with(&mut lists, boxes.len(), Vec::new)?;
    lists.par_iter_mut().with_min_len(par::grain(1)).zip(&boxes).zip(&ranges).try_for_each(|((list, b), range)| {
        par::check();
        points.each_inside(b, range.clone(), |i, _| memory::push(list, i as i32))
    })?;
    Ok(lists)
}

/// Calls `found` with each box of each point, in the order of the boxes, and the point's `width`
/// values of `out`. Threads share the points, so that there is nothing to put together and no
/// memory but that of the result.
fn each_box_of_points<T: Send>(
    scene: &Scene<'_>,
    params: BoxParams,
    (out, width): (&mut [T], usize),
    found: impl Fn(&mut [T], usize) + Sync,
) -> Result<()> {
    let (boxes, points) = (boxes(&scene.boxes, params)?, Coordinates::of(&scene.points)?);
    let ranges = points_of_boxes(scene)?;
    if out.is_empty() {
        return Ok(());
    }
    let per_chunk = points_per_chunk(scene.num_points(), par::threads());
    out.par_chunks_mut(per_chunk * width).with_min_len(par::grain(1)).enumerate().try_for_each(|(c, out)| {
        let (first, end) = (c * per_chunk, c * per_chunk + out.len() / width);
        for (b, (oriented, range)) in boxes.iter().zip(&ranges).enumerate() {
            par::check();
            points.each_inside(oriented, range.start.max(first)..range.end.min(end), |i, _| {
                found(&mut out[(i - first) * width..(i - first + 1) * width], b);
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// Points that a thread takes at a time: several parts a thread, because parts differ in how many
/// boxes are near, and whole tiles, or where these are too few groups.
fn points_per_chunk(points: usize, threads: usize) -> usize {
    if threads == 1 {
        return points;
    }
    let part = points.div_ceil(threads * 4);
    part.next_multiple_of(if part < TILE { GROUP } else { TILE })
}

pub(in crate::roi_pool) fn part(scene: &Scene<'_>, params: BoxParams, out: &mut Buffer<i32>) -> Result<()> {
    out.reserve(scene.num_points())?;
    let part = &mut host(out)[..scene.num_points()];
    part.fill(-1);
    each_box_of_points(scene, params, (part, 1), |lowest, b| {
        if lowest[0] < 0 {
            lowest[0] = b as i32;
        }
    })
}

pub(in crate::roi_pool) fn count(scene: &Scene<'_>, params: BoxParams, out: &mut Buffer<i32>) -> Result<()> {
    let (boxes, points) = (boxes(&scene.boxes, params)?, Coordinates::of(&scene.points)?);
    let ranges = points_of_boxes(scene)?;
    out.reserve(boxes.len())?;
    let counts = host(out)[..boxes.len()].par_iter_mut().with_min_len(par::grain(1));
    counts.zip(&boxes).zip(&ranges).try_for_each(|((count, b), range)| {
        par::check();
        *count = 0;
        points.each_inside(b, range.clone(), |_, _| {
            *count += 1;
            Ok(())
        })
    })
}

pub(in crate::roi_pool) fn bits(scene: &Scene<'_>, params: BoxParams, out: &mut Buffer<u32>) -> Result<()> {
    let words = scene.num_boxes().div_ceil(32);
    let len = scene.num_points() * words;
    out.reserve(len)?;
    let bits = &mut host(out)[..len];
    bits.fill(0);
    each_box_of_points(scene, params, (bits, words), |of_point, b| of_point[b / 32] |= 1 << (b % 32))
}

pub(in crate::roi_pool) fn all(scene: &Scene<'_>, params: BoxParams, out: &mut BoxLists) -> Result<()> {
    let (lists, n) = (lists_of_boxes(scene, params)?, scene.num_points());
    out.reserve(BoxListSizes { rows: n, len: lists.iter().map(Vec::len).sum() })?;
    let (splits, indices) = (&mut host(&mut out.row_splits)[..=n], host(&mut out.indices));
    // First the end of each point's boxes; filling from the back moves it to the start.
    splits.fill(0);
    lists.iter().flatten().for_each(|&i| splits[i as usize] += 1);
    let mut end = 0;
    for split in &mut *splits {
        end += *split;
        *split = end;
    }
    for (b, list) in lists.iter().enumerate().rev() {
        for &i in list {
            splits[i as usize] -= 1;
            indices[splits[i as usize] as usize] = b as i32;
        }
    }
    Ok(())
}

pub(in crate::roi_pool) fn crop(scene: &Scene<'_>, params: BoxParams, out: &mut BoxLists) -> Result<()> {
    let lists = lists_of_boxes(scene, params)?;
    out.reserve(BoxListSizes { rows: lists.len(), len: lists.iter().map(Vec::len).sum() })?;
    let (splits, indices) = (host(&mut out.row_splits), host(&mut out.indices));
    let mut end = 0;
    for (b, list) in lists.iter().enumerate() {
        splits[b] = end as i64;
        indices[end..end + list.len()].copy_from_slice(list);
        end += list.len();
    }
    splits[lists.len()] = end as i64;
    Ok(())
}
