//! Points in boxes on the CPU.

use super::host;
use super::locate::{Coordinates, boxes, points_of_boxes};
use crate::device::Buffer;
use crate::roi_pool::{BoxLists, BoxParams, Scene};
use crate::{Result, memory};
use rayon::prelude::*;

/// The points of each box, in order.
fn lists_of_boxes(scene: &Scene<'_>, params: BoxParams) -> Result<Vec<Vec<i32>>> {
    let (boxes, points) = (boxes(&scene.boxes, params)?, Coordinates::of(&scene.points)?);
    let ranges = points_of_boxes(scene)?;
    let mut lists = Vec::new();
    memory::resize_with(&mut lists, boxes.len(), Vec::new)?;
    lists
        .par_iter_mut()
        .zip(&boxes)
        .zip(&ranges)
        .try_for_each(|((list, b), range)| points.each_inside(b, range.clone(), |i, _| memory::push(list, i as i32)))?;
    Ok(lists)
}

pub(in crate::roi_pool) fn part(scene: &Scene<'_>, params: BoxParams, out: &mut Buffer<i32>) -> Result<()> {
    out.reserve(scene.num_points())?;
    let part = &mut host(out)[..scene.num_points()];
    part.fill(-1);
    // From the last box to the first, which then stays.
    for (b, list) in lists_of_boxes(scene, params)?.iter().enumerate().rev() {
        list.iter().for_each(|&i| part[i as usize] = b as i32);
    }
    Ok(())
}

pub(in crate::roi_pool) fn count(scene: &Scene<'_>, params: BoxParams, out: &mut Buffer<i32>) -> Result<()> {
    out.reserve(scene.num_boxes())?;
    let counts = host(out).iter_mut();
    counts.zip(lists_of_boxes(scene, params)?).for_each(|(count, list)| *count = list.len() as i32);
    Ok(())
}

pub(in crate::roi_pool) fn bits(scene: &Scene<'_>, params: BoxParams, out: &mut Buffer<u32>) -> Result<()> {
    let words = scene.num_boxes().div_ceil(32);
    let len = scene.num_points() * words;
    out.reserve(len)?;
    let bits = &mut host(out)[..len];
    bits.fill(0);
    for (b, list) in lists_of_boxes(scene, params)?.iter().enumerate() {
        list.iter().for_each(|&i| bits[i as usize * words + b / 32] |= 1 << (b % 32));
    }
    Ok(())
}

pub(in crate::roi_pool) fn all(scene: &Scene<'_>, params: BoxParams, out: &mut BoxLists) -> Result<()> {
    let (lists, n) = (lists_of_boxes(scene, params)?, scene.num_points());
    out.reserve(n, lists.iter().map(Vec::len).sum())?;
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
    out.reserve(lists.len(), lists.iter().map(Vec::len).sum())?;
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
