//! Normal distributions as ellipses, and scans aligned to them.

use crate::Image;
use crate::caption::shortened;

mod alignment;
mod closeup;
mod colour;
mod ellipse;
mod map;
mod scene;

pub use alignment::{NdtFitNote, ndt_alignment_frames, ndt_alignment_picture};
pub use map::ndt_map_picture;

/// All pictures in pixels: a title, panels, a legend below.
const WIDTH: u32 = 1600;
const HEIGHT: u32 = 900;
const MARGIN: u32 = 8;
const TITLE: u32 = 36;

const FRAME: [u8; 3] = [30, 36, 47];
const INK: [u8; 3] = [226, 232, 240];
const FAINT: [u8; 3] = [140, 152, 170];

/// Cells of a map as normal distributions, a row each.
///
/// **Shapes.** `[V]` both; the shorter one counts. **Units and frames.** Metres and square metres in the frame of the map, z up; covariances as xx, xy, xz, yy, yz, zz.
/// **Limits.** Rows that are not finite or no covariance are not drawn.
///
/// ```
/// use pointmill_view::NdtEllipsoids;
/// // A piece of ground, 2 m wide and flat.
/// let map = NdtEllipsoids { means: &[[80_001.0, 42_001.0, 0.1]], covariances: &[[0.33, 0.0, 0.0, 0.33, 0.0, 0.0033]] };
/// assert_eq!(map.means.len(), map.covariances.len());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NdtEllipsoids<'a> {
    /// Where each cell's points have their mean.
    pub means: &'a [[f64; 3]],
    /// Their covariance.
    pub covariances: &'a [[f64; 6]],
}

/// A picture without panels: a title over each half.
fn titled(captions: [&str; 2]) -> Image {
    let mut picture = Image::filled(WIDTH, HEIGHT, FRAME);
    for (x, caption) in [(MARGIN, captions[0]), ((WIDTH + MARGIN) / 2, captions[1])] {
        picture.text(&shortened(caption, WIDTH / 2 - 24), x as i32 + 6, 9, INK);
    }
    picture
}

/// Writes a coloured square with its meaning behind it; the x after it.
fn entry(picture: &mut Image, x: u32, y: u32, colour: [u8; 3], text: &str) -> u32 {
    picture.paste(&Image::filled(16, 16, colour), x, y + 2);
    picture.text(text, x as i32 + 24, y as i32, FAINT);
    x + 24 + 10 * text.len() as u32 + 26
}

/// Draws a bar of a round number of metres that is 60 to 200 pixels long, its right end at `x`, its text left of it.
fn scale_bar(picture: &mut Image, x: u32, y: u32, pixels_per_metre: f64) {
    let lengths = (-3..7).flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * libm::pow(10.0, f64::from(e))));
    let Some(metres) = lengths.into_iter().find(|m| (60.0..=200.0).contains(&(m * pixels_per_metre))) else { return };
    let length = (metres * pixels_per_metre + 0.5) as u32;
    picture.paste(&Image::filled(length, 3, INK), x - length, y + 9);
    for end in [x - length, x - 3] {
        picture.paste(&Image::filled(3, 11, INK), end, y + 5);
    }
    let text = format!("{metres} m");
    picture.text(&text, (x - length) as i32 - 12 - 10 * text.len() as i32, y as i32, INK);
}
