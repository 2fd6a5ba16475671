//! Trajectories: over the points of their map, and beside the truth.

use crate::caption::shortened;
use crate::chart::{Anchor, Drawing, Panel, Plot, Series, draw};
use crate::legend::{FAINT, FRAME, INK, entry, scale_bar};
use crate::line::{Pen, line};
use crate::quantiles::quantiles;
use crate::{BACKGROUND, Camera, Colour, Image, draw_points};
use pointmill_core::{Aabb, Points};

type V3 = [f64; 3];

const WIDTH: u32 = 1600;
const HEIGHT: u32 = 900;
const TITLE: u32 = 40;
const LEGEND: u32 = 36;
const MARGIN: u32 = 10;
const PANEL: [u32; 2] = [WIDTH - 2 * MARGIN, HEIGHT - TITLE - LEGEND - 3 * MARGIN];
/// The image is drawn at so many times its size and made smaller: smooth edges.
const FINE: u32 = 2;
/// The share of the points that may lie outside of the picture on each side, and of heights outside of the colours.
const STRAYS: f64 = 0.01;
/// Metres around everything.
const AIR: f64 = 2.0;
pub(crate) const WAY: [u8; 3] = [255, 255, 255];
pub(crate) const TRUTH: [u8; 3] = [150, 165, 190];
pub(crate) const ESTIMATE: [u8; 3] = [255, 196, 92];
/// The most poses of a plot; of more every so many are drawn.
pub(crate) const MOST: usize = 2000;

/// A picture of 1600 x 900 pixels: a map seen from above, coloured by height, and over it the way of the sensor.
///
/// **Shapes.** `points` `[N]` and positions `way` `[P]` in one frame; there may be none. `captions` are the title's left and right half; ASCII, cut at about 75 letters.
/// **Units and frames.** Metres, z up. The longer side of the scene lies from left to right.
/// **Order and determinism.** The same input gives the same pixels.
/// **Limits.** One percent of the points may lie outside on each side. What is not finite is not drawn.
///
/// ```
/// use pointmill_view::drive_picture;
/// let points = [[0.0, 5.0, 0.0], [40.0, -5.0, 2.0]];
/// let picture = drive_picture(&points, &[[0.0, 0.0, 1.7], [40.0, 0.0, 1.7]], ["2 points", "40 m"]);
/// assert_eq!((picture.width(), picture.height()), (1600, 900));
/// ```
pub fn drive_picture(points: &[[f64; 3]], way: &[[f64; 3]], captions: [&str; 2]) -> Image {
    let of = |axis: usize, share: f64| quantiles(points.iter().map(|p| p[axis]).collect(), share);
    let ends = |axis: usize| {
        let of_way = way.iter().map(|p| p[axis]).filter(|x| x.is_finite());
        let inside = of(axis, STRAYS).map(|q| [q[1], q[2]]);
        let all = of_way.chain(inside.into_iter().flatten());
        all.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
    };
    let ([x, y], [low, high]) = ([ends(0), ends(1)], of(2, STRAYS).map_or([0.0, 1.0], |q| [q[1], q[2]]));
    // Far from the origin an f32 has steps of centimetres.
    let middle = [x, y, [low, high]].map(|[low, high]| if low <= high { 0.5 * (low + high) } else { 0.0 });
    let local = |p: &V3| [0, 1, 2].map(|k| (p[k] - middle[k]) as f32);
    let half = [x, y].map(|[low, high]| if low <= high { (0.5 * (high - low) + AIR) as f32 } else { 50.0 });
    let bounds = Aabb::new([-half[0], -half[1], -1.0], [half[0], half[1], 1.0]);
    let camera = if half[0] >= half[1] { Camera::birds_eye_sideways(bounds) } else { Camera::birds_eye(bounds) };

    let mut panel = Image::filled(FINE * PANEL[0], FINE * PANEL[1], BACKGROUND);
    let rows: Vec<f32> = points.iter().flat_map(local).collect();
    let colour = Colour::Height { low: (low - middle[2]) as f32, high: (high - middle[2]) as f32 };
    if let Ok(points) = Points::new(&rows, 3) {
        draw_points(&mut panel, &camera, points, colour, 2 * FINE);
    }
    let view = camera.view(panel.width(), panel.height());
    let places: Vec<_> = way.iter().map(|p| view.project(local(p).map(f64::from))).collect();
    for pair in places.windows(2) {
        if let [Some(a), Some(b)] = pair {
            line(&mut panel, [a.x, a.y], [b.x, b.y], Pen { colour: WAY, width: 3.0 * f64::from(FINE), cover: 1.0 });
        }
    }
    let mut picture = Image::filled(WIDTH, HEIGHT, FRAME);
    for (x, caption) in [(MARGIN, captions[0]), ((WIDTH + MARGIN) / 2, captions[1])] {
        picture.text(&shortened(caption, WIDTH / 2 - 24), x as i32 + 6, 9, INK);
    }
    picture.paste(&panel.halved(), MARGIN, TITLE + MARGIN);
    let y = HEIGHT - LEGEND - MARGIN + 8;
    let next = entry(&mut picture, MARGIN, y, WAY, "way of the sensor");
    let heights = format!("colours: heights from {low:.1} to {high:.1} m");
    picture.text(&heights, next as i32, y as i32, FAINT);
    scale_bar(&mut picture, WIDTH - MARGIN - 10, y, camera.view(PANEL[0], PANEL[1]).pixels_per_metre(1.0));
    picture
}

/// A plot of 1280 x 560 pixels: left both ways from above, right the error of each position.
///
/// **Shapes.** `estimate` and `truth` `[P]` in one frame, `errors` `[P]`. **Units and frames.** Metres, z up; the errors by their logarithm.
/// **Order and determinism.** The same input gives the same bytes. **Limits.** Of more than 2,000 poses every so many are drawn. What is not finite is left out, and so are
/// errors that are not above zero.
///
/// ```
/// use pointmill_view::trajectory_plot;
/// let truth = [[0.0, 0.0, 0.0], [10.0, 0.0, 0.0]];
/// let plot = trajectory_plot("a.txt", &[[0.0, 0.0, 0.0], [10.0, 0.1, 0.0]], &truth, &[0.0, 0.1]);
/// assert!(plot.encode_svg().contains("a.txt"));
/// ```
pub fn trajectory_plot(title: &str, estimate: &[[f64; 3]], truth: &[[f64; 3]], errors: &[f64]) -> Plot {
    const SIZE: [f64; 2] = [1280.0, 560.0];
    const TOP: f64 = 40.0;
    let [margin, half] = [f64::from(MARGIN), SIZE[0] / 2.0];
    let every = estimate.len().max(truth.len()).div_ceil(MOST).max(1);
    let mut drawing = Drawing::new(SIZE[0] as u32, SIZE[1] as u32);
    drawing.text([margin + 6.0, 22.0], shortened(title, SIZE[0] as u32 - 32), Anchor::Start, INK);

    let (at, size) = ([margin, TOP + 34.0], [half - 2.0 * margin, SIZE[1] - TOP - 84.0]);
    drawing.text([at[0], TOP + 16.0], "seen from above", Anchor::Start, INK);
    drawing.filled(at, size, BACKGROUND);
    let ends = [0, 1].map(|k| {
        let all = estimate.iter().chain(truth).map(|p| p[k]).filter(|x| x.is_finite());
        all.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
    });
    let spans = ends.map(|[low, high]| (high - low + AIR).max(AIR));
    let scale = (size[0] / spans[0]).min(size[1] / spans[1]);
    let place = |p: &V3| {
        let right = [0, 1].map(|k| scale * (p[k] - 0.5 * (ends[k][0] + ends[k][1])));
        [at[0] + 0.5 * size[0] + right[0], at[1] + 0.5 * size[1] - right[1]]
    };
    for (name, way, colour, x) in [("truth", truth, TRUTH, 0.0), ("estimate", estimate, ESTIMATE, 120.0)] {
        let points = way.iter().step_by(every).map(place).filter(|p| p.iter().all(|x| x.is_finite()));
        drawing.line(points.collect(), 2.0, colour);
        let at = [at[0] + x, SIZE[1] - 26.0];
        drawing.line(vec![at, [at[0] + 26.0, at[1]]], 3.0, colour);
        drawing.text([at[0] + 34.0, at[1]], name, Anchor::Start, INK);
    }
    let told = format!("{:.1} x {:.1} m", spans[0] - AIR, spans[1] - AIR);
    drawing.text([at[0] + size[0], SIZE[1] - 26.0], told, Anchor::End, FAINT);

    let below = if every == 1 { "pose".to_owned() } else { format!("pose, by {every}") };
    let panel = Panel {
        at: [half, TOP],
        size: [half - margin, SIZE[1] - TOP - margin],
        title: "error of the position, metres",
        below: &below,
    };
    let errors: Vec<f64> = errors.iter().step_by(every).copied().collect();
    draw(&mut drawing, panel, &[Series { colour: ESTIMATE, values: &errors }]);
    Plot::new(drawing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_over_the_points() {
        let points: Vec<V3> = (0..4000).map(|i| [500_000.0 + f64::from(i % 100), f64::from(i / 100), 0.0]).collect();
        let way: Vec<V3> = (0..100).map(|i| [500_000.0 + f64::from(i), 20.0, 1.0]).collect();
        let lit = |picture: &Image, colour: [u8; 3]| {
            picture.rgb().as_chunks::<3>().0.iter().filter(|c| **c == colour).count()
        };
        let with = drive_picture(&points, &way, ["a", "b"]);
        let without = drive_picture(&points, &[], ["a", "b"]);
        assert!(lit(&with, WAY) > 2000 && lit(&without, WAY) < 500, "{} {}", lit(&with, WAY), lit(&without, WAY));
        assert_eq!(with.rgb(), drive_picture(&points, &way, ["a", "b"]).rgb());
        // Nothing, and what is not finite.
        assert!(lit(&drive_picture(&[], &[], ["", ""]), BACKGROUND) > 1_000_000);
        let odd = [[f64::NAN, 0.0, 1.0], [f64::INFINITY, 2.0, 1e300], [1e300, -1e300, 0.0]];
        drive_picture(&odd, &odd, ["", ""]);
    }

    #[test]
    fn plots_have_both_ways() {
        let way = |y: f64| (0..5000).map(|i| [0.01 * f64::from(i), y, 0.0]).collect::<Vec<V3>>();
        let plot = trajectory_plot("a <b>", &way(0.1), &way(0.0), &[0.1; 5000]);
        let svg = plot.encode_svg();
        for wanted in ["a &lt;b&gt;", "#ffc45c", "#96a5be", "50.0 x 0.1 m", "pose, by 3"] {
            assert!(svg.contains(wanted), "{wanted}");
        }
        assert!(svg.len() < 200_000);
        assert_eq!(plot.image().width(), 1280);
        let odd = [[f64::NAN; 3], [f64::INFINITY, 1.0, 0.0]];
        assert!(!trajectory_plot("", &odd, &[], &[f64::NAN]).encode_svg().contains("NaN,"));
    }
}
