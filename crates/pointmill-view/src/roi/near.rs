//! One box, its voxels and its points.

use super::closeup::Closeup;
use super::shown::RoiView;
use crate::boxes::Solid;
use crate::camera::{Camera, View};
use crate::colour::scaled;
use crate::raster::Canvas;
use crate::{Image, draw::FACES};
use std::collections::BTreeSet;

/// Points that are near a box and not in it.
const AROUND: [u8; 3] = [62, 69, 82];
/// Edge of the cubes that stand for voxels, in voxels, and how bright they are beside their points.
const CUBE: f64 = 0.9;
const DIM: f64 = 0.5;

/// Draws a cube for every voxel that has points, and the points before the cubes: each is seen, though it lies within.
pub(super) fn draw(image: &mut Image, camera: &Camera, scene: &RoiView, closeup: &Closeup) {
    let view = camera.view(image.width(), image.height());
    let mut canvas = Canvas::new(image);
    let Some(solid) = Solid::new(closeup.row) else { return };
    let out = scene.out_size.map(|n| f64::from(n.max(1)));
    let mine = |i: usize| scene.voxel(i).filter(|v| v.0 == closeup.index).map(|v| v.1);
    let voxels: BTreeSet<u32> = (0..scene.points.len()).filter_map(mine).collect();
    for &voxel in &voxels {
        cube(&mut canvas, &view, &solid, place(voxel, scene.out_size), out, scene.colour(voxel));
    }
    // As far forward as a voxel is deep.
    let edges = [0, 1, 2].map(|k| solid.length(k) / out[k]);
    let depth = edges.iter().map(|e| e * e).sum::<f64>().sqrt();
    let size = f64::from(closeup.point_size());
    for i in 0..scene.points.len() {
        let p = scene.points.xyz(i);
        let (colour, size, forward) = match mine(i) {
            Some(voxel) => (scene.colour(voxel), size, depth),
            None if closeup.surrounds(p) => (AROUND, 6.0, 0.0),
            None => continue,
        };
        if let Some(mut at) = view.project(p.map(f64::from)) {
            at.depth -= forward;
            let size = if canvas.afford((size * size) as u64) { size } else { 1.0 };
            canvas.square(at, size, colour);
        }
    }
}

/// (ix, iy, iz) of a voxel by its id.
fn place(voxel: u32, [_, oy, oz]: [u32; 3]) -> [f64; 3] {
    let (oy, oz) = (oy.max(1), oz.max(1));
    [voxel / oz / oy, voxel / oz % oy, voxel % oz].map(f64::from)
}

/// One voxel as a cube.
fn cube(canvas: &mut Canvas, view: &View, solid: &Solid, place: [f64; 3], out: [f64; 3], colour: [u8; 3]) {
    // From -1 to 1 over the box.
    let at = |corner: [f64; 3]| solid.at([0, 1, 2].map(|k| (2.0 * place[k] + 1.0 + CUBE * corner[k]) / out[k] - 1.0));
    for (normal, corners, light) in FACES {
        if !view.sees(at(normal), solid.turned(normal)) {
            continue;
        }
        let [Some(a), Some(b), Some(c), Some(d)] = corners.map(|corner| view.project(at(corner))) else { return };
        let (x, y) = ([a.x, b.x, c.x, d.x], [a.y, b.y, c.y, d.y]);
        let span = |v: [f64; 4], side: u32| {
            let low = v.iter().fold(f64::INFINITY, |m, &v| m.min(v)).max(0.0);
            let high = v.iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v)).min(f64::from(side));
            (high - low).max(0.0)
        };
        if canvas.afford((2.0 * span(x, canvas.image.width()) * span(y, canvas.image.height())) as u64) {
            canvas.quad([a, b, c, d], scaled(colour, DIM * light));
        }
    }
}
