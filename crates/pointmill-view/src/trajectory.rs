//! An estimated trajectory beside the true one.

use crate::BACKGROUND;
use crate::caption::shortened;
use crate::chart::{Anchor, Chart, Drawing, GRID, Panel, Plot, Series, draw, round_step, told};
use crate::layout::{FAINT, INK};
use crate::scene::{Layer, Paint, Scene};
use pointmill_core::Pose;

type V3 = [f64; 3];

const MARGIN: f64 = 10.0;
/// Metres around everything.
const AIR: f64 = 2.0;
const TRUTH: [u8; 3] = [150, 165, 190];
const ESTIMATE: [u8; 3] = [255, 196, 92];
/// The most poses of a plot; of more every so many are drawn.
const MOST: usize = 2000;

/// An estimated trajectory and the true one, a frame for each pose; a page has the error along the way, and can
/// colour the estimate by it.
///
/// **Shapes.** `estimate`, `truth` and `errors` `[P]`. **Units and frames.** Metres, one frame, z
/// up. **Order and determinism, limits.** As [`Scene`]; of more than 2,000 poses every so many have
/// a frame.
///
/// ```
/// use pointmill_view::trajectory_scene;
/// let truth = [[0.0, 0.0, 0.0], [10.0, 0.0, 0.0]];
/// let estimate = [[0.0, 0.0, 0.0], [10.0, 0.1, 0.0]];
/// assert_eq!(trajectory_scene("a.txt", &estimate, &truth, &[0.0, 0.1]).frames(), 2);
/// ```
pub fn trajectory_scene(title: &str, estimate: &[V3], truth: &[V3], errors: &[f64]) -> Scene {
    let mut scene = Scene { values: "error, m".into(), ..Scene::new(title, Paint::Own) };
    let every = estimate.len().div_ceil(MOST).max(1);
    for (i, error) in errors.iter().enumerate().step_by(every) {
        scene.frame(&format!("pose {i}: off by {error:.4} m"));
    }
    for (name, way, colour) in [("truth", truth, TRUTH), ("estimate", estimate, ESTIMATE)] {
        let line = Layer::line(name, way).colour(colour);
        scene.push(if name == "truth" {
            line
        } else {
            line.values(&errors.iter().map(|e| *e as f32).collect::<Vec<_>>())
        });
        let poses: Vec<Pose> = way.iter().step_by(every).map(|p| Pose::from_translation(*p)).collect();
        scene.push(Layer::points(name, &[[0.0; 3]]).colour(colour).moving(&poses));
    }
    let shown: Vec<f64> = errors.iter().step_by(every).copied().collect();
    scene.chart = Some(Chart::new("error of the position, m", &by_pose(every), ESTIMATE, &shown));
    scene
}

/// What the poses of a plot are called, of which one of so many is drawn.
fn by_pose(every: usize) -> String {
    if every == 1 { "pose".to_owned() } else { format!("pose, by {every}") }
}

/// A plot of 1280 x 560 pixels: left both ways from above, right the error of each position.
///
/// **Shapes.** `estimate` and `truth` `[P]` in one frame, `errors` `[P]`. **Units and frames.**
/// Metres, z up; the errors by their logarithm. **Order and determinism.** The same input gives the
/// same bytes. **Limits.** Of more than 2,000 poses every so many are drawn. What is not finite is
/// left out, and so are errors that are not above zero.
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
    let [margin, half] = [MARGIN, SIZE[0] / 2.0];
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
    // Lines at round metres, with their numbers inside of the panel.
    for k in 0..2 {
        let [low, high] = [0.5 * (ends[k][0] + ends[k][1])].map(|middle| {
            let half = 0.5 * size[k] / scale;
            [middle - half, middle + half]
        })[0];
        let step = round_step(high - low, if k == 0 { 6.0 } else { 5.0 }).unwrap_or(f64::INFINITY);
        let first = libm::ceil(low / step);
        for i in 0..8 {
            let value = (first + f64::from(i)) * step;
            if !(value.is_finite() && value < high) {
                break;
            }
            let share = (value - low) / (high - low);
            let name = told(value.abs()) + if i == 0 { if k == 0 { " m, x" } else { " m, y" } } else { "" };
            let name = if value < 0.0 { format!("-{name}") } else { name };
            if k == 0 {
                let x = at[0] + share * size[0];
                drawing.line(vec![[x, at[1]], [x, at[1] + size[1]]], 1.0, GRID);
                drawing.text([x + 4.0, at[1] + size[1] - 10.0], name, Anchor::Start, FAINT);
            } else {
                let y = at[1] + (1.0 - share) * size[1];
                drawing.line(vec![[at[0], y], [at[0] + size[0], y]], 1.0, GRID);
                drawing.text([at[0] + 4.0, y - 10.0], name, Anchor::Start, FAINT);
            }
        }
    }
    for (name, way, colour, x) in [("truth", truth, TRUTH, 0.0), ("estimate", estimate, ESTIMATE, 120.0)] {
        let points = way.iter().step_by(every).map(place).filter(|p| p.iter().all(|x| x.is_finite()));
        drawing.line(points.collect(), 2.0, colour);
        let at = [at[0] + x, SIZE[1] - 26.0];
        drawing.line(vec![at, [at[0] + 26.0, at[1]]], 3.0, colour);
        drawing.text([at[0] + 34.0, at[1]], name, Anchor::Start, INK);
    }
    let extent = format!("{:.1} x {:.1} m", spans[0] - AIR, spans[1] - AIR);
    drawing.text([at[0] + size[0], SIZE[1] - 26.0], extent, Anchor::End, FAINT);

    let below = by_pose(every);
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
