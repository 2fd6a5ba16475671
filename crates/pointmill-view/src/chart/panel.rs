//! A panel: lines over the iterations 0, 1, 2, ...

use super::axis::{LogAxis, step, told};
use super::drawing::{Anchor, Drawing, PANEL};
use crate::caption::shortened;
use crate::layout::{FAINT, INK};

pub(crate) const GRID: [u8; 3] = [44, 52, 66];
/// Room for the numbers left of the lines, the title above, the numbers below.
const LEFT: f64 = 84.0;
const ABOVE: f64 = 34.0;
const BELOW: f64 = 50.0;
const RIGHT: f64 = 16.0;

/// The values of one line.
#[derive(Clone, Debug)]
pub(crate) struct Series<'a> {
    pub(crate) colour: [u8; 3],
    pub(crate) values: &'a [f64],
}

/// Where a panel is, and what it says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panel<'a> {
    pub(crate) at: [f64; 2],
    pub(crate) size: [f64; 2],
    pub(crate) title: &'a str,
    pub(crate) below: &'a str,
}

/// Draws lines of values that are positive, by their logarithm. Returns the left, top, width and height of where
/// they are.
pub(crate) fn draw(drawing: &mut Drawing, panel: Panel, series: &[Series]) -> [f64; 4] {
    let [x0, y0] = [panel.at[0] + LEFT, panel.at[1] + ABOVE];
    let [w, h] = [panel.size[0] - LEFT - RIGHT, panel.size[1] - ABOVE - BELOW];
    let axis = LogAxis::of(series.iter().flat_map(|s| s.values.iter().copied()));
    let last = series.iter().map(|s| s.values.len()).max().unwrap_or(0).saturating_sub(1).max(1);
    let x = |i: usize| x0 + w * i as f64 / last as f64;
    let y = |place: f64| y0 + h * (1.0 - place);
    drawing.text([x0, panel.at[1] + 16.0], shortened(panel.title, w as u32), Anchor::Start, INK);
    drawing.filled([x0, y0], [w, h], PANEL);
    for value in axis.ticks() {
        let Some(y) = axis.place(value).map(y) else { continue };
        drawing.line(vec![[x0, y], [x0 + w, y]], 1.0, GRID);
        drawing.text([x0 - 8.0, y], told(value), Anchor::End, FAINT);
    }
    for i in (0..=last).step_by(step(last)) {
        drawing.line(vec![[x(i), y0], [x(i), y0 + h]], 1.0, GRID);
        drawing.text([x(i), y0 + h + 14.0], i.to_string(), Anchor::Middle, FAINT);
    }
    drawing.text([x0 + w / 2.0, y0 + h + 36.0], panel.below, Anchor::Middle, FAINT);
    for Series { colour, values } in series {
        let places: Vec<_> = values.iter().enumerate().map(|(i, v)| Some([x(i), y(axis.place(*v)?)])).collect();
        places.iter().flatten().for_each(|at| drawing.dot(*at, 5.0, *colour));
        // A line ends at a gap.
        for part in places.split(Option::is_none).filter(|part| !part.is_empty()) {
            drawing.line(part.iter().flatten().copied().collect(), 2.0, *colour);
        }
    }
    [x0, y0, w, h]
}
