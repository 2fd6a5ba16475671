//! Time and distance of each iteration.

use crate::MAX_SIDE;
use crate::caption::{digits, shortened};
use crate::chart::{Drawing, Panel, Plot, Series, draw};
use crate::layout::INK;

const SIZE: [u32; 2] = [1280, 560];
const MARGIN: f64 = 10.0;
const TITLE: f64 = 40.0;
/// Height of a line of the legend.
const LINE: f64 = 24.0;
/// Colours that differ in brightness too.
const COLOURS: [[u8; 3]; 8] = [
    [255, 196, 92],
    [92, 196, 255],
    [120, 230, 140],
    [255, 110, 104],
    [200, 150, 255],
    [250, 250, 120],
    [150, 165, 190],
    [255, 160, 210],
];

/// What one search took.
///
/// ```
/// use pointmill_view::IcpSeries;
/// let series = IcpSeries { name: "kd-tree, cpu", ms: &[9.1, 7.9, 3.2] };
/// assert_eq!(series.ms.len(), 3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IcpSeries<'a> {
    /// What to call it.
    pub name: &'a str,
    /// Milliseconds of each iteration.
    pub ms: &'a [f64],
}

/// A plot of 1280 x 560 pixels, higher with more than six lines in its legend: left the
/// milliseconds of each iteration for some searches, right the root mean square distance of the
/// pairs.
///
/// **Shapes.** Lines may have different lengths; the first eight searches have colours of their
/// own. **Units and frames.** Milliseconds and metres, both by their logarithm. **Order and
/// determinism.** The legend is in the order of the searches, with the median of each; the same
/// input gives the same bytes. **Limits.** Values that are not positive and finite are gaps in the
/// lines.
///
/// ```
/// use pointmill_view::{IcpSeries, icp_plot};
/// let searches = [IcpSeries { name: "brute", ms: &[900.0, 880.0] }, IcpSeries { name: "kd-tree", ms: &[9.0, 4.0, 3.0] }];
/// let plot = icp_plot("40,097 onto 40,256 points", &searches, &[0.02, 0.004, 0.002]);
/// assert!(plot.encode_svg().starts_with("<svg ") && plot.encode_svg().contains("kd-tree"));
/// assert_eq!(plot.image().width(), 1280);
/// ```
pub fn icp_plot(title: &str, searches: &[IcpSeries], rmse: &[f64]) -> Plot {
    let rows = searches.len().div_ceil(2);
    let legend = LINE * rows as f64 + MARGIN;
    let height = SIZE[1].max((420.0 + legend) as u32).min(MAX_SIDE / 2);
    let mut drawing = Drawing::new(SIZE[0], height);
    let (width, room) = (f64::from(SIZE[0]), f64::from(height) - TITLE - legend - MARGIN);
    use crate::chart::Anchor::{End, Start};
    drawing.text([MARGIN + 6.0, 22.0], shortened(title, SIZE[0] - 32), Start, INK);
    let colour = |i: usize| COLOURS[i % COLOURS.len()];
    let times: Vec<Series> =
        searches.iter().enumerate().map(|(i, s)| Series { colour: colour(i), values: s.ms }).collect();
    let left = Panel {
        at: [MARGIN, TITLE],
        size: [width * 0.6 - MARGIN, room],
        title: "milliseconds of an iteration",
        below: "iteration",
    };
    draw(&mut drawing, left, &times);
    let right = Panel {
        at: [width * 0.6, TITLE],
        size: [width * 0.4 - MARGIN, room],
        title: "rmse of the pairs, metres",
        below: "iteration",
    };
    draw(&mut drawing, right, &[Series { colour: INK, values: rmse }]);
    let column = (width - 2.0 * MARGIN) / 2.0;
    for (i, search) in searches.iter().enumerate() {
        let x = MARGIN + 16.0 + column * (i % 2) as f64;
        let y = TITLE + room + LINE * (i / 2) as f64 + LINE / 2.0;
        drawing.line(vec![[x, y], [x + 26.0, y]], 3.0, colour(i));
        drawing.text([x + 36.0, y], shortened(search.name, column as u32 - 260), Start, INK);
        let median = median(search.ms).map_or_else(|| "-".into(), |ms| format!("median {} ms", digits(ms)));
        drawing.text([x + column - 36.0, y], median, End, INK);
    }
    Plot::new(drawing)
}

/// The middle of the values, the lower one of two.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_values() {
        assert_eq!((median(&[]), median(&[3.0, 1.0, f64::NAN, 2.0])), (None, Some(2.0)));
        assert_eq!(median(&[4.0, 1.0]), Some(1.0));
    }
}
