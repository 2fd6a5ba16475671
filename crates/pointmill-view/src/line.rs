//! Straight lines, cut to the image.

use crate::Image;

/// How a line is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pen {
    pub(crate) colour: [u8; 3],
    /// Pixels.
    pub(crate) width: f64,
    /// How much of what is under the line is hidden, 0 to 1.
    pub(crate) cover: f64,
}

/// Draws from `a` to `b`, over what is there; says how many pixels it tried.
pub(crate) fn line(image: &mut Image, a: [f64; 2], b: [f64; 2], pen: Pen) -> u64 {
    let size = [f64::from(image.width()), f64::from(image.height())];
    let Some((a, b)) = cut(a, b, size, pen.width) else { return 0 };
    // Along the axis that the line runs most along: every step is one pixel, so none is drawn
    // twice.
    let main = usize::from((b[0] - a[0]).abs() < (b[1] - a[1]).abs());
    let (a, b) = if a[main] <= b[main] { (a, b) } else { (b, a) };
    let (run, rise) = (b[main] - a[main], b[1 - main] - a[1 - main]);
    if run <= 0.0 {
        return 0;
    }
    let slope = rise / run;
    // The width is measured across the line, not across the axis.
    let half = 0.5 * pen.width * (1.0 + slope * slope).sqrt();
    let (long, wide) = if main == 0 { (image.width(), image.height()) } else { (image.height(), image.width()) };
    let mut tried = 0;
    for i in span(a[main], b[main], long) {
        let middle = a[1 - main] + slope * (f64::from(i) + 0.5 - a[main]);
        for j in span(middle - half, middle + half, wide) {
            let (x, y) = if main == 0 { (i, j) } else { (j, i) };
            image.mix(x, y, pen.colour, pen.cover);
            tried += 1;
        }
    }
    tried
}

/// Pixels whose middle is in `from..to`, cut to the image's `side`.
pub(crate) fn span(from: f64, to: f64, side: u32) -> std::ops::Range<u32> {
    let side = f64::from(side);
    let (a, b) = ((from - 0.5).ceil().clamp(0.0, side), (to - 0.5).ceil().clamp(0.0, side));
    a as u32..b as u32
}

/// The part of a line that is in the image or within a line's width of it (Liang and Barsky).
fn cut(a: [f64; 2], b: [f64; 2], size: [f64; 2], margin: f64) -> Option<([f64; 2], [f64; 2])> {
    let (mut from, mut to) = (0.0f64, 1.0f64);
    for k in 0..2 {
        let (low, high, run) = (-margin, size[k] + margin, b[k] - a[k]);
        if run == 0.0 {
            if a[k] < low || a[k] > high {
                return None;
            }
            continue;
        }
        let (s, t) = ((low - a[k]) / run, (high - a[k]) / run);
        from = from.max(s.min(t));
        to = to.min(s.max(t));
    }
    let at = |t: f64| [0, 1].map(|k| (a[k] + t * (b[k] - a[k])).clamp(-margin, size[k] + margin));
    // A line that is not finite has no part in the image.
    (from < to && a.iter().chain(&b).all(|v| v.is_finite())).then(|| (at(from), at(to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(a: [f64; 2], b: [f64; 2], width: f64) -> (usize, Image) {
        let mut image = Image::filled(20, 10, [0; 3]);
        let tried = line(&mut image, a, b, Pen { colour: [200, 100, 50], width, cover: 0.5 });
        let lit = image.rgb().as_chunks::<3>().0.iter().filter(|c| **c == [100, 50, 25]).count();
        assert_eq!(lit as u64, tried, "every pixel is mixed once");
        (lit, image)
    }

    #[test]
    fn lines_have_their_length_and_width() {
        assert_eq!(drawn([2.0, 5.0], [12.0, 5.0], 2.0).0, 20);
        assert_eq!(drawn([12.0, 5.0], [2.0, 5.0], 2.0).0, 20);
        assert_eq!(drawn([5.5, 1.0], [5.5, 9.0], 1.0).0, 8);
        let (_, image) = drawn([0.0, 0.0], [10.0, 10.0], 1.0);
        assert_eq!((image.get(4, 4), image.get(4, 8)), ([100, 50, 25], [0; 3]));
    }

    #[test]
    fn lines_from_far_away_are_cut() {
        assert_eq!(drawn([-1e9, 5.5], [1e9, 5.5], 1.0).0, 20);
        // So far that a pixel is lost in the rounding: any part of it will do.
        assert!(drawn([-1e30, 5.5], [1e30, 5.5], 1.0).0 <= 20);
        assert_eq!(drawn([-100.0, -3.0], [100.0, -3.0], 1.0).0, 0);
        for odd in [f64::NAN, f64::INFINITY] {
            assert_eq!(drawn([odd, 5.0], [3.0, 5.0], 1.0).0, 0);
            assert_eq!(drawn([3.0, odd], [3.0, -odd], 1.0).0, 0);
        }
        assert_eq!(drawn([3.0, 3.0], [3.0, 3.0], 4.0).0, 0);
    }
}
