//! Drawing oriented boxes.

use crate::camera::View;
use crate::colour::faded;
use crate::line::{Pen, line};
use crate::raster::FILLS;
use crate::{Camera, Image};
use pointmill_core::trig::sin_cos;

type V3 = [f64; 3];

/// Widest line in pixels.
const MAX_WIDTH: u32 = 64;

/// Draws the twelve edges of every box and a line from its centre to the middle of its front face, `width` pixels wide, over what is there.
///
/// **Shapes.** `boxes` are rows of (cx, cy, cz, dx, dy, dz, heading). **Units and frames.** Metres and radians in the frame of the points; `cz`
/// is that of the centre of the box; the heading is about +z, 0 along +x, counter-clockwise.
/// **Order and determinism.** In the order given, later boxes over earlier ones; the same input gives the same pixels.
/// **Limits.** Boxes with a value that is not finite or a size that is not positive are not drawn, nor are those that come after the whole image
/// has been filled 200 times over. Edges are cut at the eye. `width` is kept within 1 to 64.
///
/// ```
/// use pointmill_core::Aabb;
/// use pointmill_view::{BACKGROUND, Camera, Image, draw_boxes};
/// let mut image = Image::new(100, 100)?;
/// let camera = Camera::birds_eye_sideways(Aabb::new([-5.0; 3], [5.0; 3]));
/// draw_boxes(&mut image, &camera, &[[0.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0]], [255, 200, 0], 2);
/// assert_eq!(image.get(70, 50), [255, 200, 0]); // the front, 2 m ahead
/// assert_eq!(image.get(40, 50), BACKGROUND); // behind the centre
/// # Ok::<(), pointmill_view::ViewError>(())
/// ```
pub fn draw_boxes(image: &mut Image, camera: &Camera, boxes: &[[f32; 7]], colour: [u8; 3], width: u32) {
    let width = f64::from(width.clamp(1, MAX_WIDTH));
    wireframes(image, camera, boxes.iter().copied(), Pen { colour, width, cover: 1.0 });
}

/// As [`draw_boxes`] with any pen.
pub(crate) fn wireframes(image: &mut Image, camera: &Camera, boxes: impl Iterator<Item = [f32; 7]>, pen: Pen) {
    let view = camera.view(image.width(), image.height());
    let mut budget = FILLS * u64::from(image.width()) * u64::from(image.height());
    for solid in boxes.filter_map(Solid::new) {
        for axis in 0..3 {
            for (u, v) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                let [a, b] = [-1.0, 1.0].map(|w| {
                    let mut at = [u; 3];
                    at[axis] = w;
                    at[(axis + 2) % 3] = v;
                    solid.at(at)
                });
                spend(&mut budget, edge(image, &view, a, b, pen));
            }
        }
        spend(&mut budget, edge(image, &view, solid.at([0.0; 3]), solid.at([1.0, 0.0, 0.0]), pen));
        if budget == 0 {
            return;
        }
    }
}

/// A line costs at least its set-up, so that boxes outside the image end too.
const fn spend(budget: &mut u64, pixels: u64) {
    *budget = budget.saturating_sub(pixels + 1);
}

/// The lines between the voxels of a box on those of its faces that are turned away from the camera: a grid behind the points, in front of none.
pub(crate) fn draw_grid(image: &mut Image, camera: &Camera, row: [f32; 7], voxels: [u32; 3], pen: Pen) {
    let view = camera.view(image.width(), image.height());
    let Some(solid) = Solid::new(row) else { return };
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let mut middle = [0.0; 3];
            middle[axis] = side;
            let normal = solid.axes[axis].map(|v| v * side);
            if view.sees(solid.at(middle), normal) {
                continue;
            }
            for (along, across) in [((axis + 1) % 3, (axis + 2) % 3), ((axis + 2) % 3, (axis + 1) % 3)] {
                for k in 1..voxels[across] {
                    let [a, b] = [-1.0, 1.0].map(|end| {
                        let mut at = middle;
                        at[along] = end;
                        at[across] = 2.0 * f64::from(k) / f64::from(voxels[across]) - 1.0;
                        solid.at(at)
                    });
                    edge(image, &view, a, b, pen);
                }
            }
        }
    }
}

/// A line in space; far ones fade. Says how many pixels it tried.
fn edge(image: &mut Image, view: &View, a: V3, b: V3, pen: Pen) -> u64 {
    let Some([a, b]) = view.segment(a, b) else { return 0 };
    let colour = faded(pen.colour, view.haze(0.5 * (a.depth + b.depth)));
    line(image, [a.x, a.y], [b.x, b.y], Pen { colour, ..pen })
}

/// A box as its centre and the vectors from there to the middles of its front, left and upper face.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Solid {
    pub(crate) centre: V3,
    pub(crate) axes: [V3; 3],
}

impl Solid {
    /// `None` for what holds nothing.
    pub(crate) fn new(row: [f32; 7]) -> Option<Self> {
        if !row.iter().all(|v| v.is_finite()) || !row[3..6].iter().all(|&v| v > 0.0) {
            return None;
        }
        let (s, c) = sin_cos(row[6]);
        let [cx, cy, cz, dx, dy, dz, _] = row.map(f64::from);
        let (s, c) = (f64::from(s), f64::from(c));
        let axes = [[c * dx / 2.0, s * dx / 2.0, 0.0], [-s * dy / 2.0, c * dy / 2.0, 0.0], [0.0, 0.0, dz / 2.0]];
        Some(Self { centre: [cx, cy, cz], axes })
    }

    /// Its length, width or height.
    pub(crate) fn length(&self, axis: usize) -> f64 {
        2.0 * self.axes[axis].iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    /// A direction of the box in the world, of a length that does not matter.
    pub(crate) fn turned(&self, t: V3) -> V3 {
        let p = self.at(t);
        [0, 1, 2].map(|k| p[k] - self.centre[k])
    }

    /// Its eight corners.
    pub(crate) fn corners(&self) -> impl Iterator<Item = V3> {
        (0..8).map(|k| self.at([0, 1, 2].map(|axis| if k >> axis & 1 == 0 { -1.0 } else { 1.0 })))
    }

    /// The point so many half lengths, half widths and half heights from the centre.
    pub(crate) fn at(&self, t: V3) -> V3 {
        [0, 1, 2].map(|k| self.centre[k] + t[0] * self.axes[0][k] + t[1] * self.axes[1][k] + t[2] * self.axes[2][k])
    }
}
