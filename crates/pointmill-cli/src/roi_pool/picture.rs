//! `--visualize` of `roi-pool`: boxes, and their points coloured by voxel.

use super::files::Loaded;
use crate::failure::Failure;
use crate::picture::save_scene;
use crate::text::{grouped, titled};
use pointmill::roi_pool::{PoolMode, RoiLayout, RoiPoolParams, roi_pool};
use pointmill::{BoxOrigin, Device, Rows};
use pointmill_io::Place;
use pointmill_view::{RoiLists, require_memory, roi_scene, voxel_of_point};
use std::path::Path;

/// Draws the input and writes the picture.
pub(super) fn write(path: &Path, input: &Loaded, params: &RoiPoolParams, device: &Device) -> Result<(), Failure> {
    let points = input.points.points();
    require_memory(1, 2 * points.len() + input.num_boxes())?;
    // The lists are all that is drawn, and they do not depend on the features.
    let nothing = vec![0.0f32; points.len()];
    let params = RoiPoolParams { mode: PoolMode::Mean, layout: RoiLayout::Sparse, ..params.clone() };
    let pooled = roi_pool(input.scene()?, Rows::new(&nothing, 1)?, &params, device)?.read()?;
    let lists = match (&pooled.coords, &pooled.row_splits, &pooled.indices) {
        (Some(coords), Some(row_splits), Some(indices)) => {
            RoiLists { coords: coords.as_chunks().0, row_splits, indices }
        }
        _ => unreachable!("the sparse layout has coordinates and lists"),
    };
    let voxels = voxel_of_point(lists, points.len(), params.out_size);
    let boxes: Vec<[f32; 7]> = input.boxes.as_chunks().0.iter().map(|row| centred(*row, params.origin)).collect();
    let [x, y, z] = params.out_size;
    let origin = input.points.origin();
    let left = titled(&format!("{} boxes, {} points", grouped(boxes.len()), grouped(points.len())), origin);
    let drawn = grouped(voxels.iter().flatten().count());
    let right = format!("{drawn} points in boxes, {x} x {y} x {z} voxels each");
    let mut scene = roi_scene(&format!("{left}; {right}"), points, &boxes, &voxels, params.out_size);
    scene.about(origin);
    save_scene(Place::named(path), &scene)
}

/// The box with the height of its centre.
fn centred([x, y, z, dx, dy, dz, heading]: [f32; 7], origin: BoxOrigin) -> [f32; 7] {
    let z = if origin == BoxOrigin::BottomCenter { z + dz / 2.0 } else { z };
    [x, y, z, dx, dy, dz, heading]
}
