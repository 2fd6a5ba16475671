//! `--visualize` of `roi-pool`: boxes, and their points coloured by voxel.

use super::files::Loaded;
use crate::failure::Failure;
use crate::picture::save;
use crate::text::grouped;
use pointmill::roi_pool::{PoolMode, RoiLayout, RoiPoolParams, roi_pool};
use pointmill::{BoxOrigin, Device, Rows};
use pointmill_view::{require_memory, roi_picture};
use std::cmp::Reverse;
use std::path::Path;

/// Draws the input and writes the picture.
pub(crate) fn write(path: &Path, input: &Loaded, params: &RoiPoolParams, device: &Device) -> Result<(), Failure> {
    require_memory(1, 2 * input.points.len() + input.num_boxes())?;
    let voxel_of_point = voxel_of_point(input, params, device)?;
    let boxes: Vec<[f32; 7]> = input.boxes.as_chunks().0.iter().map(|row| centred(*row, params.origin)).collect();
    let [x, y, z] = params.out_size;
    let drawn = voxel_of_point.iter().flatten().count();
    let left = format!("{} boxes, {} points", grouped(boxes.len()), grouped(input.points.len()));
    let right = format!("{} points in boxes, {x} x {y} x {z} voxels each", grouped(drawn));
    let points = input.points.points();
    let picture = roi_picture(points, &boxes, &voxel_of_point, params.out_size, [&left, &right]);
    save(path, 1, || Ok(picture.encode_png()))
}

/// The box and voxel that each kept point is drawn in: of several boxes the one that keeps most points, so that each object has one grid.
fn voxel_of_point(input: &Loaded, params: &RoiPoolParams, device: &Device) -> Result<Vec<Option<(u32, u32)>>, Failure> {
    // The lists are all that is drawn, and they do not depend on the features.
    let nothing = vec![0.0f32; input.points.len()];
    let params = RoiPoolParams { mode: PoolMode::Mean, layout: RoiLayout::Sparse, ..params.clone() };
    let pooled = roi_pool(input.scene()?, Rows::new(&nothing, 1)?, &params, device)?.read()?;
    let (coords, splits, indices) = match (&pooled.coords, &pooled.row_splits, &pooled.indices) {
        (Some(coords), Some(splits), Some(indices)) => (coords.as_chunks::<4>().0, splits, indices),
        _ => unreachable!("the sparse layout has coordinates and lists"),
    };
    let points_of_row = |row: usize| &indices[splits[row] as usize..splits[row + 1] as usize];
    let mut kept = vec![0usize; input.num_boxes()];
    for (row, coord) in coords.iter().enumerate() {
        kept[coord[0] as usize] += points_of_row(row).len();
    }
    let [_, oy, oz] = params.out_size;
    let mut drawn: Vec<Option<(u32, u32)>> = vec![None; input.points.len()];
    for (row, coord) in coords.iter().enumerate() {
        let [b, ix, iy, iz] = coord.map(|v| v as u32);
        // Of boxes with the same number of points the first.
        let rank = |b: u32| (kept[b as usize], Reverse(b));
        for &point in points_of_row(row) {
            let place = &mut drawn[point as usize];
            if place.is_none_or(|(other, _)| rank(b) > rank(other)) {
                *place = Some((b, (ix * oy + iy) * oz + iz));
            }
        }
    }
    Ok(drawn)
}

/// The box with the height of its centre.
fn centred([x, y, z, dx, dy, dz, heading]: [f32; 7], origin: BoxOrigin) -> [f32; 7] {
    let z = if origin == BoxOrigin::BottomCenter { z + dz / 2.0 } else { z };
    [x, y, z, dx, dy, dz, heading]
}

#[cfg(test)]
#[path = "../../tests/unit/roi_pool_picture.rs"]
mod tests;
