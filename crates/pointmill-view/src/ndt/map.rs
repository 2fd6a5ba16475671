//! A map's cells over its points.

use super::colour::{LEVEL, ROUND, half_ball};
use super::ellipse::{COVERS, Ink, SIGMAS};
use super::scene::Scene;
use super::{HEIGHT, MARGIN, NdtEllipsoids, TITLE, WIDTH, titled};
use crate::caption::grouped;
use crate::draw::draw_coloured;
use crate::legend::{FAINT, entry, scale_bar};
use crate::quantiles::quantiles;
use crate::{Camera, Image};
use pointmill_core::Points;
use pointmill_core::eigen::eigen;

type V3 = [f64; 3];

const LEGEND: u32 = 60;
const PANEL: [u32; 2] = [WIDTH - 2 * MARGIN, HEIGHT - TITLE - LEGEND - 3 * MARGIN];

/// How steeply the camera looks down, and how far it is turned from across the map: straight lines of houses would hide behind each other.
const DOWN_DEG: f64 = 42.0;
const TURN_DEG: f64 = 26.0;

pub(crate) const POINT: [u8; 3] = [104, 112, 126];
/// Ellipses with a diameter of fewer pixels are dots of so many: an outline of them would be no more.
const SMALLEST: f64 = 4.0;
const DOT: f64 = 2.0;
/// The image is drawn at so many times its size and made smaller: smooth edges.
const FINE: u32 = 2;

/// A picture of 1600 x 900 pixels: the points of a map in grey and over them an ellipse for every cell, seen obliquely from above.
///
/// **Shapes.** `points` `[N]` in the frame of `map`; there may be none. `captions` are the title's left and right half; ASCII, cut at about 75 letters.
/// **Units and frames.** Metres, z up. The view is from infinitely far, so that all cells are of one scale (a bar in the legend), with the longest extent of the cells from left to right,
/// and everything in it. An ellipse is where a cell's distribution ends at two standard deviations, as it is seen.
/// **Colours.** Level cells are blue, upright ones warm by the direction that they face, cells that are no plane green; the legend has a half ball of all directions,
/// x to its right and y up.
/// **Order and determinism.** Far cells first; the same input gives the same pixels.
/// **Limits.** Ellipses shorter than 4 pixels are dots, and so are those that come after the whole image has been covered 40 times over. Cells far away from nearly all others may be
/// outside of the picture, which shows no ellipse in part; the legend has the numbers. Points and cells that are not finite are harmless.
///
/// ```
/// use pointmill_view::{NdtEllipsoids, ndt_map_picture};
/// let points = [[80_000.2, 42_000.1, 0.1], [80_001.9, 42_001.8, 0.1]];
/// let map = NdtEllipsoids { means: &[[80_001.0, 42_001.0, 0.1]], covariances: &[[0.33, 0.0, 0.0, 0.33, 0.0, 0.0033]] };
/// let picture = ndt_map_picture(&points, map, ["2 points", "1 cell of 2 m"]);
/// assert_eq!((picture.width(), picture.height()), (1600, 900));
/// ```
pub fn ndt_map_picture(points: &[[f64; 3]], map: NdtEllipsoids, captions: [&str; 2]) -> Image {
    let scene = Scene::new(map, points);
    let points = scene.local(points);
    let camera = camera(&scene, &points);
    let mut panel = Image::filled(FINE * PANEL[0], FINE * PANEL[1], crate::BACKGROUND);
    if let Ok(points) = Points::new(&points, 3) {
        draw_coloured(&mut panel, &camera, points, 3, |_| Some(POINT));
    }
    let drawn = draw(&mut panel, &camera, &scene);
    let mut picture = titled(captions);
    picture.paste(&panel.halved(), MARGIN, TITLE + MARGIN);
    legend(&mut picture, &scene, drawn, camera.view(PANEL[0], PANEL[1]).pixels_per_metre(1.0));
    picture
}

/// Looks across the longest level extent of the cells, on all of them.
fn camera(scene: &Scene, points: &[f32]) -> Camera {
    let (x, y) = longest(scene);
    let turn = TURN_DEG.to_radians();
    let (s, c) = (libm::sin(turn), libm::cos(turn));
    let right = [x * c - y * s, x * s + y * c, 0.0];
    let (s, c) = (libm::sin(DOWN_DEG.to_radians()), libm::cos(DOWN_DEG.to_radians()));
    let ahead = [-right[1] * c, right[0] * c, -s];
    let up = [-right[1] * s, right[0] * s, c];
    let [width, height] = [right, up].map(|axis| {
        let along = |p: &[f32; 3]| (0..3).map(|k| axis[k] * f64::from(p[k])).sum::<f64>();
        scene
            .extent(axis)
            .or_else(|| {
                quantiles(points.as_chunks().0.iter().map(along).collect(), super::scene::STRAYS).map(|q| [q[1], q[2]])
            })
            .unwrap_or([-50.0, 50.0])
    });
    let middle = [width, height].map(|[low, high]| 0.5 * low + 0.5 * high);
    // Some air around; a scene of no extent is a metre.
    let size = [width, height].map(|[low, high]| (1.04 * (high - low)).max(1.0));
    Camera::parallel([right, up, ahead], middle, size)
}

/// The level direction along which the means of the cells vary most; x is not negative.
fn longest(scene: &Scene) -> (f64, f64) {
    let near = |axis: V3| scene.extent(axis).unwrap_or([0.0, 0.0]);
    let bounds = [near([1.0, 0.0, 0.0]), near([0.0, 1.0, 0.0])];
    // Strays would turn it.
    let inside: Vec<V3> = scene
        .cells
        .iter()
        .map(|cell| cell.mean)
        .filter(|mean| (0..2).all(|k| bounds[k][0] <= mean[k] && mean[k] <= bounds[k][1]))
        .collect();
    let n = inside.len().max(1) as f64;
    let middle = [0, 1].map(|k| inside.iter().map(|p| p[k]).sum::<f64>() / n);
    let moment = |i: usize, j: usize| inside.iter().map(|p| (p[i] - middle[i]) * (p[j] - middle[j])).sum::<f64>() / n;
    let of = eigen([moment(0, 0), moment(0, 1), 0.0, moment(1, 1), 0.0, -1.0]);
    let [x, y, _] = of.vectors[2];
    let length = (x * x + y * y).sqrt();
    if !(length > 0.5 && length.is_finite()) {
        return (1.0, 0.0);
    }
    let sign = if x < 0.0 || (x == 0.0 && y < 0.0) { -1.0 } else { 1.0 };
    (sign * x / length, sign * y / length)
}

/// What became of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Drawn {
    ellipses: usize,
    dots: usize,
}

fn draw(panel: &mut Image, camera: &Camera, scene: &Scene) -> Drawn {
    let (width, height) = (panel.width(), panel.height());
    let mut budget = COVERS * u64::from(width) * u64::from(height);
    let mut drawn = Drawn::default();
    let ellipses = scene.ellipses(&camera.view(width, height));
    // Where there are many, outlines of two pixels would hide what they are around.
    let outline = if ellipses.len() > 20_000 { 1.4 } else { 2.4 };
    for (ellipse, cell) in ellipses {
        if !ellipse.fits(width, height) {
            continue;
        }
        let colour = cell.facing.colour();
        let pixels = ellipse.pixels(width, height);
        if ellipse.diameter() < SMALLEST * f64::from(FINE) || pixels > budget {
            let half = DOT / 2.0 * f64::from(FINE);
            let (x, y) = ((ellipse.at.x - half).max(0.0) as u32, (ellipse.at.y - half).max(0.0) as u32);
            panel.paste(&Image::filled(2 * half as u32, 2 * half as u32, colour), x, y);
            drawn.dots += 1;
            continue;
        }
        budget -= pixels;
        ellipse.draw(panel, Ink { colour, inside: 0.24, outline: 0.85, width: outline });
        drawn.ellipses += 1;
    }
    drawn
}

fn legend(picture: &mut Image, scene: &Scene, drawn: Drawn, pixels_per_metre: f64) {
    let top = HEIGHT - LEGEND - MARGIN;
    half_ball(picture, MARGIN + 36, top + LEGEND / 2, 26);
    let (x, lines) = (MARGIN + 80, [top + 8, top + 34]);
    let next = entry(picture, x, lines[0], LEVEL, "level");
    picture.text("rim: upright, by the direction it faces (x right, y up)", next as i32, lines[0] as i32, FAINT);
    entry(picture, next + 10 * 56 + 26, lines[0], ROUND, "no plane");
    let Drawn { ellipses, dots } = drawn;
    let outside = scene.given - ellipses - dots;
    let mut text = format!("{} of {} cells as ellipses of {SIGMAS} sigma", grouped(ellipses), grouped(scene.given));
    if dots > 0 {
        text += &format!(", {} shorter than {SMALLEST} pixels as dots", grouped(dots));
    }
    if outside > 0 {
        text += &format!(", {} outside or not finite", grouped(outside));
    }
    picture.text(&text, x as i32, lines[1] as i32, FAINT);
    scale_bar(picture, WIDTH - MARGIN - 10, lines[1], pixels_per_metre);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Level cells 2 m apart, `n` along a direction and `n / 4` across.
    fn field(n: u32, [x, y]: [f64; 2]) -> (Vec<V3>, Vec<[f64; 6]>) {
        let at = |u: u32, v: u32| (2.0 * f64::from(u), 2.0 * f64::from(v));
        let means =
            (0..n).flat_map(|u| (0..n / 4).map(move |v| at(u, v))).map(|(u, v)| [u * x - v * y, u * y + v * x, 0.0]);
        let means: Vec<V3> = means.collect();
        let covariances = vec![[0.33, 0.0, 0.0, 0.33, 0.0, 0.0033]; means.len()];
        (means, covariances)
    }

    #[test]
    fn every_ellipse_of_a_map_is_whole() {
        for n in [4, 16, 60, 448] {
            let (means, covariances) = field(n, [0.6, 0.8]);
            let scene = Scene::new(NdtEllipsoids { means: &means, covariances: &covariances }, &[]);
            let (x, y) = longest(&scene);
            assert!((x - 0.6).abs() < 1e-9 && (y - 0.8).abs() < 1e-9, "{x} {y}");
            let mut panel = Image::filled(FINE * PANEL[0], FINE * PANEL[1], crate::BACKGROUND);
            let drawn = draw(&mut panel, &camera(&scene, &[]), &scene);
            assert_eq!(drawn, Drawn { ellipses: means.len(), dots: 0 }, "{n}");
        }
    }

    #[test]
    fn small_ones_are_dots_and_strays_are_counted() {
        let (mut means, covariances) = field(1200, [1.0, 0.0]);
        means[5] = [-1e7, 3e6, 0.0];
        let scene = Scene::new(NdtEllipsoids { means: &means, covariances: &covariances }, &[]);
        let mut panel = Image::filled(FINE * PANEL[0], FINE * PANEL[1], crate::BACKGROUND);
        let drawn = draw(&mut panel, &camera(&scene, &[]), &scene);
        assert_eq!((drawn.ellipses, drawn.dots > 340_000, drawn.dots < means.len()), (0, true, true));
    }
}
