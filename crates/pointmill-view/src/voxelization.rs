//! Input and voxel means side by side.

use crate::caption::shortened;
use crate::draw::draw_rings;
use crate::framing::{Framing, quantiles};
use crate::legend::{FAINT, FRAME, INK, scale_bar};
use crate::{Colour, Image, draw_cubes, draw_points};
use pointmill_core::{Aabb, Points};

/// The picture and its parts in pixels: two columns, a title over each, above the bird's eye, below the perspective.
const WIDTH: u32 = 1600;
const HEIGHT: u32 = 1000;
const MARGIN: u32 = 8;
const TITLE: u32 = 36;
const PANEL: u32 = (WIDTH - 3 * MARGIN) / 2;
const ABOVE: u32 = 414;
const BEHIND: u32 = HEIGHT - TITLE - ABOVE - 3 * MARGIN;

/// A picture of 1600 x 1000 pixels: left the input, right a cube for every voxel mean, above seen from the sky, below from an angle.
///
/// A sweep, with the sensor among its points, is seen from behind and above the sensor along the road. Any other cloud, such as a
/// survey tile or an object, fills the picture, and a bar tells the scale.
///
/// **Shapes.** `input` `[N, C]` and `means` `[V, C]`, x y z first; column 3, if there is one, makes brighter (intensity). `captions`
/// are the two titles, such as `"input: 118,243 points"` and `"voxel means: 18,300 voxels, 0.2 m"`; ASCII, cut at about 75 letters.
/// **Units and frames.** Metres, x forward, y left, z up; in the upper pictures x is to the right.
/// Colour is height, the same scale in all four. Points outside `range` are not drawn.
/// **Order and determinism.** The same input gives the same pixels.
/// **Limits.** Clouds that are empty, not finite or far away give a picture, if a dull one.
///
/// ```
/// use pointmill_core::{Aabb, Points};
/// let points = Points::new(&[5.0, 1.0, -1.7, 0.5, 5.1, 1.1, -1.6, 0.3], 4)?;
/// let mean = Points::new(&[5.05, 1.05, -1.65, 0.4], 4)?;
/// let range = Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]);
/// let captions = ["input: 2 points", "voxel means: 1 voxel, 0.2 m"];
/// let picture = pointmill_view::voxelization_picture(points, mean, [0.2; 3], range, captions);
/// assert_eq!((picture.width(), picture.height()), (1600, 1000));
/// # Ok::<(), pointmill_core::CloudError>(())
/// ```
pub fn voxelization_picture(
    input: Points,
    means: Points,
    voxel_size: [f32; 3],
    range: Aabb,
    captions: [&str; 2],
) -> Image {
    let (left, right) = (inside(input, &range), inside(means, &range));
    let left = Points::new(&left, input.columns()).unwrap_or(input);
    let right = Points::new(&right, means.columns()).unwrap_or(means);
    let framing = Framing::new(left, &range, voxel_size, ABOVE as f32 / PANEL as f32);
    let colour = common_colour(left, framing.is_sweep);
    let mut picture = Image::filled(WIDTH, HEIGHT, FRAME);
    for (column, (points, caption)) in [(left, captions[0]), (right, captions[1])].into_iter().enumerate() {
        let x = MARGIN + column as u32 * (PANEL + MARGIN);
        picture.text(&shortened(caption, PANEL - 12), x as i32 + 6, 9, INK);
        let rows = [(TITLE + MARGIN, ABOVE), (TITLE + ABOVE + 2 * MARGIN, BEHIND)];
        for (from_above, (camera, (y, height))) in [true, false].into_iter().zip(framing.cameras.iter().zip(rows)) {
            // Twice the size, then halved: smooth edges.
            let mut panel = Image::filled(2 * PANEL, 2 * height, crate::BACKGROUND);
            if column == 0 {
                draw_points(&mut panel, camera, points, colour, if from_above { 4 } else { 3 });
            } else {
                // A little smaller than the voxel, so that neighbours show as two.
                draw_cubes(&mut panel, camera, points, colour, voxel_size.map(|v| 0.86 * v));
            }
            if framing.is_sweep && from_above {
                draw_rings(&mut panel, camera, &[10.0, 20.0, 30.0, 40.0, 50.0], 0.0);
            }
            let mut panel = panel.halved();
            let label = match (from_above, framing.is_sweep) {
                (true, _) => "from above, x to the right",
                (false, true) => "from behind",
                (false, false) => "at an angle",
            };
            panel.small_text(label, 8, height as i32 - 16, FAINT);
            if !framing.is_sweep {
                let scale = camera.view(PANEL, height).pixels_per_metre(1.0);
                scale_bar(&mut panel, PANEL - 10, height - 24, scale);
            }
            picture.paste(&panel, x, y);
        }
    }
    picture
}

/// The rows inside the range, which also drops what is not finite.
fn inside(points: Points, range: &Aabb) -> Vec<f32> {
    (0..points.len()).filter(|&i| range.contains(points.xyz(i))).flat_map(|i| points.row(i)).copied().collect()
}

/// One colour scale for all pictures, from the heights and intensities that most of the input has.
fn common_colour(points: Points, is_sweep: bool) -> Colour {
    let (low, high) = quantiles(points, 2, 0.02, 0.985).unwrap_or((0.0, 1.0));
    let (low, high) = if is_sweep || high - low > 4.0 || low == high {
        // Coarse steps, so that the frames of an animation agree; flat clouds keep a scale of a metre.
        let low = 0.5 * libm::floorf(2.0 * low);
        (low, libm::roundf(high).max(low + 1.0))
    } else {
        (low, high)
    };
    match (points.columns() > 3).then(|| quantiles(points, 3, 0.0, 0.97)).flatten() {
        Some((_, full)) if full > 0.0 => Colour::HeightAndColumn { low, high, column: 3, full: power_of_two(full) },
        _ => Colour::Height { low, high },
    }
}

/// The power of two above a positive number, infinity for the largest.
fn power_of_two(v: f32) -> f32 {
    f32::from_bits((v.to_bits() & 0x7f80_0000) + 0x0080_0000)
}
