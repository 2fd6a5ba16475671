//! Points in oriented boxes and the voxels they are binned into.

use crate::boxes::{draw_boxes, draw_grid, wireframes};
use crate::caption::shortened;
use crate::draw::draw_coloured;
use crate::line::Pen;
use crate::{Camera, Image};
use pointmill_core::{Aabb, Points};

mod closeup;
mod lists;
mod near;
mod palette;
mod shown;

pub use lists::{RoiLists, voxel_of_point};
pub(crate) use shown::RoiView;

use closeup::Closeup;

/// The picture and its parts in pixels: a title, the bird's eye over the whole width, three close-ups below.
const WIDTH: u32 = 1600;
const HEIGHT: u32 = 1000;
const MARGIN: u32 = 8;
const TITLE: u32 = 36;
const ABOVE: u32 = 440;
const CLOSEUPS: usize = 3;
const PANEL: u32 = (WIDTH - (CLOSEUPS as u32 + 1) * MARGIN) / CLOSEUPS as u32;
const BELOW: u32 = HEIGHT - TITLE - ABOVE - 3 * MARGIN;

const FRAME: [u8; 3] = [30, 36, 47];
const INK: [u8; 3] = [226, 232, 240];
const FAINT: [u8; 3] = [140, 152, 170];
/// Points in no box, boxes, and the boxes that have a close-up.
pub(crate) const OUTSIDE: [u8; 3] = [84, 92, 106];
pub(crate) const BOX: [u8; 3] = [126, 150, 184];
const CHOSEN: [u8; 3] = [255, 226, 160];

/// A picture of 1600 x 1000 pixels: above all boxes from the sky, below three of those with the most points, near, with a cube for each of their
/// voxels that has points, the points before the cubes and the grid of voxels on the faces behind.
///
/// **Shapes.** `points` `[N, C]`, x y z first. `boxes` are rows of (cx, cy, cz, dx, dy, dz, heading). `voxel_of_point` says for each point in which
/// box it is drawn and in which voxel of it, by id `(ix * oy + iy) * oz + iz` with `out_size` = (ox, oy, oz); points without one are grey, and so
/// are those past its end and those whose box or voxel there is not. `captions` are the title's left and right half; ASCII, cut at about 75 letters.
/// **Units and frames.** Metres and radians, z up; `cz` is that of the centre of the box; in the upper picture x is to the right. A line from the centre
/// of a box to its front says where it heads. Colour is height in the box, light and dark in turn, so that each
/// voxel differs from its neighbours.
/// **Order and determinism.** Close-ups have the boxes with the most points, the first of those with the same; a box near a chosen one is passed over.
/// The same input gives the same pixels.
/// **Limits.** Boxes and points that are not finite or far away are harmless. A grid of more than 64 voxels along an axis is not drawn.
///
/// ```
/// use pointmill_core::Points;
/// let points = Points::new(&[9.2, 5.1, 0.4, 30.0, 0.0, 0.0], 3)?;
/// let car = [10.0, 5.0, 0.75, 4.0, 2.0, 1.5, 0.0];
/// // The first point is in box 0, in its voxel (1, 1, 0) of 4 x 2 x 1.
/// let voxels = [Some((0, 3)), None];
/// let captions = ["1 box, 2 points", "1 voxel"];
/// let picture = pointmill_view::roi_picture(points, &[car], &voxels, [4, 2, 1], captions);
/// assert_eq!((picture.width(), picture.height()), (1600, 1000));
/// # Ok::<(), pointmill_core::CloudError>(())
/// ```
pub fn roi_picture(
    points: Points,
    boxes: &[[f32; 7]],
    voxel_of_point: &[Option<(u32, u32)>],
    out_size: [u32; 3],
    captions: [&str; 2],
) -> Image {
    let scene = RoiView { points, boxes, voxels: voxel_of_point, out_size };
    let chosen = closeup::choose(&scene, CLOSEUPS);
    let mut picture = Image::filled(WIDTH, HEIGHT, FRAME);
    for (x, caption) in [(MARGIN, captions[0]), ((WIDTH + MARGIN) / 2, captions[1])] {
        picture.text(&shortened(caption, WIDTH / 2 - 24), x as i32 + 6, 9, INK);
    }
    picture.paste(&above(&scene, &chosen), MARGIN, TITLE + MARGIN);
    for k in 0..CLOSEUPS {
        let panel = match chosen.get(k) {
            Some(closeup) => below(&scene, closeup, letter(k)),
            None => Image::filled(PANEL, BELOW, crate::BACKGROUND),
        };
        picture.paste(&panel, MARGIN + k as u32 * (PANEL + MARGIN), TITLE + ABOVE + 2 * MARGIN);
    }
    picture
}

/// All boxes from the sky.
fn above(scene: &RoiView, chosen: &[Closeup]) -> Image {
    let (width, height) = (WIDTH - 2 * MARGIN, ABOVE);
    let camera = Camera::birds_eye_sideways(framed(scene));
    // Twice the size, then halved: smooth edges.
    let mut panel = Image::filled(2 * width, 2 * height, crate::BACKGROUND);
    // What is in boxes comes last: trees and roofs must not hide it.
    draw_coloured(&mut panel, &camera, scene.points, 3, |i| scene.voxel(i).is_none().then_some(OUTSIDE));
    draw_coloured(&mut panel, &camera, scene.points, 4, |i| scene.voxel(i).map(|(_, v)| scene.colour(v)));
    wireframes(&mut panel, &camera, scene.boxes.iter().copied(), Pen { colour: BOX, width: 2.0, cover: 0.5 });
    for closeup in chosen {
        draw_boxes(&mut panel, &camera, &[closeup.row], CHOSEN, 3);
    }
    let mut panel = panel.halved();
    let view = camera.view(width, height);
    for (k, closeup) in chosen.iter().enumerate() {
        let [x, y, z, dx, dy, ..] = closeup.row.map(f64::from);
        if let Some(at) = view.project([x, y, z]) {
            // Beside the circle around the box.
            let out = 0.5 * (dx * dx + dy * dy).sqrt() * view.pixels_per_metre(at.depth);
            panel.text(letter(k), (at.x + 0.7 * out + 4.0) as i32, (at.y - 0.7 * out - 20.0) as i32, CHOSEN);
        }
    }
    panel.small_text("from above, x to the right", 8, height as i32 - 16, FAINT);
    panel
}

/// One box, near.
fn below(scene: &RoiView, closeup: &Closeup, letter: &str) -> Image {
    let camera = closeup.camera(PANEL, BELOW);
    let mut panel = Image::filled(2 * PANEL, 2 * BELOW, crate::BACKGROUND);
    if scene.out_size.iter().all(|&n| n <= 64) {
        let pen = Pen { colour: BOX, width: 2.0, cover: 0.3 };
        draw_grid(&mut panel, &camera, closeup.row, scene.out_size, pen);
    }
    near::draw(&mut panel, &camera, scene, closeup);
    draw_boxes(&mut panel, &camera, &[closeup.row], CHOSEN, 3);
    let mut panel = panel.halved();
    panel.text(letter, 10, 8, CHOSEN);
    let [ox, oy, oz] = scene.out_size;
    let (b, n, v) = (closeup.index, closeup.points, closeup.voxels);
    let label = format!("box {b}: {n} points in {v} of {ox} x {oy} x {oz} voxels");
    panel.small_text(&label, 30, 14, FAINT);
    panel
}

const fn letter(k: usize) -> &'static str {
    ["A", "B", "C"][k % CLOSEUPS]
}

/// Around the middles of nearly all boxes; of nearly all points if there are none.
fn framed(scene: &RoiView) -> Aabb {
    let middles: Vec<[f32; 3]> = if scene.boxes.is_empty() {
        scene.points.iter_xyz().collect()
    } else {
        scene.boxes.iter().map(|b| [b[0], b[1], b[2]]).collect()
    };
    let middles: Vec<[f32; 3]> = middles.into_iter().filter(|p| p.iter().all(|v| v.is_finite())).collect();
    let mut bounds = Aabb::new([f32::NAN; 3], [f32::NAN; 3]);
    for k in 0..3 {
        let mut values: Vec<f32> = middles.iter().map(|p| p[k]).collect();
        values.sort_unstable_by(f32::total_cmp);
        // One box in fifty may be anywhere.
        let cut = values.len() / 50;
        if let (Some(low), Some(high)) = (values.get(cut), values.iter().rev().nth(cut)) {
            (bounds.min[k], bounds.max[k]) = (low - PAD, high + PAD);
        }
    }
    bounds
}

/// Metres around the middles of boxes.
const PAD: f32 = 4.5;
