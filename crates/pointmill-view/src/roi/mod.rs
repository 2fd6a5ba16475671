//! Points in oriented boxes and the voxels they are binned into.

mod closeup;
mod lists;
mod palette;

pub use lists::{RoiLists, voxel_of_point};

use crate::boxes::Solid;
use crate::camera::dot;
use crate::colour::scaled;
use crate::framing::{ABOVE, fitted};
use crate::layout::{Panel, Sheet, areas};
use crate::scene::{Layer, Paint, Scene};
use closeup::Closeup;
use pointmill_core::Points;
use std::collections::BTreeSet;

type V3 = [f64; 3];

/// The picture in pixels: the bird's eye over the whole width, three close-ups below.
const SIZE: [u32; 2] = [1600, 1000];
const ROWS: [(u32, u32); 2] = [(48, 1), (52, 3)];
static CLOSEUPS: [(&str, &str); 3] = [("close-up A", "A"), ("close-up B", "B"), ("close-up C", "C")];
const ABOVE_ALL: &[&str] = &["points", "points in boxes", "boxes", "boxes of close-ups"];
/// Points in no box, boxes, the boxes that have a close-up, and points that are near one of these.
const OUTSIDE: [u8; 3] = [84, 92, 106];
const BOX: [u8; 3] = [126, 150, 184];
const CHOSEN: [u8; 3] = [255, 226, 160];
const AROUND: [u8; 3] = [52, 58, 70];
const GRID: [u8; 3] = [46, 56, 72];
/// Edge of the cubes that stand for voxels, in voxels, and how bright they are beside their points.
const CUBE: f64 = 0.9;
const DIM: f64 = 0.55;
/// Most voxels along an axis whose grid is drawn.
const MOST_LINES: u32 = 64;
/// Trees and roofs so many metres high do not hide what is in boxes.
const OVER_ALL: f64 = 1000.0;
/// The part of the boxes that may be outside of the picture on each side.
const STRAYS: f64 = 0.02;

/// Points in oriented boxes, coloured by voxel, with points in no box in grey.
///
/// **Shapes.** `points` `[N, C]`, x y z first. `boxes` are rows of (cx, cy, cz, dx, dy, dz,
/// heading). `voxel_of_point` says for each point in which box it is drawn and in which voxel of
/// it, by id `(ix * oy + iy) * oz + iz` with `out_size` = (ox, oy, oz); points without one are
/// grey, and so are those past its end and those whose box or voxel there is not. **Units and
/// frames.** Metres and radians, z up; `cz` is that of the centre of the box. A picture shows all
/// boxes from above, x to the right, and three of those with the most points near, with a cube for
/// each of their voxels that has points; a page has these close-ups as hidden layers. A line from
/// the centre of a box to its front says where it heads. Colour is height in the box, light and
/// dark in turn, so that each voxel differs from its neighbours. **Order and determinism.**
/// Close-ups have the boxes with the most points, the first of those with the same; a box near a
/// chosen one is passed over. The same input gives the same scene. **Limits.** Boxes and points
/// that are not finite or far away are harmless. A grid of more than 64 voxels along an axis is not
/// drawn.
///
/// ```
/// use pointmill_core::Points;
/// let points = Points::new(&[9.2, 5.1, 0.4, 30.0, 0.0, 0.0], 3)?;
/// let car = [10.0, 5.0, 0.75, 4.0, 2.0, 1.5, 0.0];
/// // The first point is in box 0, in its voxel (1, 1, 0) of 4 x 2 x 1.
/// let voxels = [Some((0, 3)), None];
/// let scene = pointmill_view::roi_scene("1 box, 2 points", points, &[car], &voxels, [4, 2, 1]);
/// assert_eq!(scene.picture().height(), 1000);
/// # Ok::<(), pointmill_core::CloudError>(())
/// ```
pub fn roi_scene(
    title: &str,
    points: Points,
    boxes: &[[f32; 7]],
    voxel_of_point: &[Option<(u32, u32)>],
    out_size: [u32; 3],
) -> Scene {
    let view = RoiView { points, boxes, voxels: voxel_of_point, out_size };
    let chosen = closeup::choose(&view, CLOSEUPS.len());
    let mut scene = Scene::new(title, Paint::Own);
    scene.push(view.layer("points", |i, _| view.voxel(i).is_none().then_some(OUTSIDE)));
    let inside = view.layer("points in boxes", |i, _| view.voxel(i).map(|(_, voxel)| view.colour(voxel)));
    scene.push(inside.lifted(OVER_ALL));
    scene.push(Layer::boxes("boxes", boxes).colour(BOX));
    let rows: Vec<[f32; 7]> = chosen.iter().map(|closeup| closeup.row).collect();
    scene.push(Layer::boxes("boxes of close-ups", &rows).colour(CHOSEN).width(1.5));

    let mut places = scene.places(0, &["boxes"]);
    if places.is_empty() {
        places = scene.places(0, &["points"]);
    }
    let areas = areas(SIZE, &ROWS);
    let mut above = Panel::new(areas[0], fitted(&places, ABOVE, STRAYS), ABOVE_ALL);
    above.label = "from above, x to the right".into();
    let mut panels = vec![above];
    for ((name, letter), (closeup, area)) in CLOSEUPS.iter().zip(chosen.iter().zip(&areas[1..])) {
        view.near(name, closeup).into_iter().for_each(|layer| scene.push(layer.hidden()));
        let [x, y, z, dx, dy, ..] = closeup.row.map(f64::from);
        let out = 0.35 * (dx * dx + dy * dy).sqrt();
        panels[0].marks.push(([x + out, y + out, z], letter));
        let mut panel = Panel::new(*area, closeup.camera(area[2], area[3]), std::slice::from_ref(name));
        panel.point = closeup.point_size();
        let ([ox, oy, oz], Closeup { index, points, voxels, .. }) = (out_size, closeup);
        panel.label = format!("{letter}, box {index}: {points} points in {voxels} of {ox} x {oy} x {oz} voxels");
        panels.push(panel);
    }
    // Panels without a box are dark.
    panels.extend(areas[panels.len()..].iter().map(|area| Panel::new(*area, fitted(&[], ABOVE, 0.0), &["none"])));
    scene.still = Sheet { size: SIZE, panels, ..Sheet::default() };
    scene
}

/// Points in boxes, and the voxels that they are drawn in.
struct RoiView<'a> {
    points: Points<'a>,
    boxes: &'a [[f32; 7]],
    voxels: &'a [Option<(u32, u32)>],
    out_size: [u32; 3],
}

impl RoiView<'_> {
    /// The points to which a function gives a colour.
    fn layer(&self, name: &str, colour: impl Fn(usize, [f32; 3]) -> Option<[u8; 3]>) -> Layer {
        let all = self.points.iter_xyz().enumerate();
        let (places, colours): (Vec<V3>, Vec<_>) =
            all.filter_map(|(i, p)| Some((p.map(f64::from), colour(i, p)?))).unzip();
        Layer::points(name, &places).colours(&colours)
    }

    /// One box with the grid of its voxels on the faces behind, a cube for every voxel that has
    /// points, and the points before the cubes: each is seen, though it lies within.
    fn near(&self, name: &str, closeup: &Closeup) -> Vec<Layer> {
        let Some(solid) = Solid::new(closeup.row) else { return Vec::new() };
        let out = self.out_size.map(|n| f64::from(n.max(1)));
        let mine = |i: usize| self.voxel(i).filter(|(b, _)| *b == closeup.index).map(|(_, voxel)| voxel);
        let voxels: BTreeSet<u32> = (0..self.points.len()).filter_map(mine).collect();
        let centre = |voxel: &u32| {
            let place = palette::cell(*voxel, self.out_size).map(f64::from);
            solid.at([0, 1, 2].map(|k| (2.0 * place[k] + 1.0) / out[k] - 1.0))
        };
        let centres: Vec<V3> = voxels.iter().map(centre).collect();
        let colours: Vec<_> = voxels.iter().map(|voxel| scaled(self.colour(*voxel), DIM)).collect();
        let axes = [0, 1, 2].map(|k| solid.axes[k].map(|v| CUBE * v / out[k]));
        // As far forward as a voxel is deep.
        let depth = axes.iter().map(|axis| 4.0 * dot(*axis, *axis)).sum::<f64>().sqrt();

        let mut layers = Vec::new();
        if self.out_size.iter().all(|&n| n <= MOST_LINES) {
            let [front, left] = closeup.corner().map(f64::from);
            let faces = [(0, -front), (1, -left), (2, -1.0)];
            let lines = faces.into_iter().flat_map(|(axis, side)| solid.grid(axis, side, self.out_size));
            layers.extend(lines.map(|line| Layer::line(name, &line).colour(GRID)));
        }
        let around = |i, p| (mine(i).is_none() && closeup.surrounds(p)).then_some(AROUND);
        layers.push(self.layer(name, around));
        layers.push(Layer::cubes(name, &centres, axes).colours(&colours));
        layers.push(self.layer(name, |i, _| mine(i).map(|voxel| self.colour(voxel))).lifted(depth));
        layers.push(Layer::boxes(name, &[closeup.row]).colour(CHOSEN).width(1.5));
        layers
    }

    /// The box and voxel of a point, if there are such.
    fn voxel(&self, i: usize) -> Option<(usize, u32)> {
        let (b, voxel) = self.voxels.get(i).copied().flatten()?;
        let voxels = self.out_size.iter().fold(1, |product: u64, &n| product.saturating_mul(u64::from(n)));
        ((b as usize) < self.boxes.len() && u64::from(voxel) < voxels).then_some((b as usize, voxel))
    }

    fn colour(&self, voxel: u32) -> [u8; 3] {
        palette::colour(voxel, self.out_size)
    }
}
