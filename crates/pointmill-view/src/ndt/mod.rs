//! Normal distributions as ellipses, and scans aligned to them.

use crate::Image;
use crate::caption::shortened;
use crate::legend::{FRAME, INK};

mod alignment;
mod closeup;
mod colour;
mod ellipse;
mod map;
mod scene;

pub use alignment::{NdtFitNote, ndt_alignment_frames, ndt_alignment_picture};
pub use map::ndt_map_picture;

pub(crate) use alignment::{AFTER, BEFORE};
pub(crate) use colour::Facing;
pub(crate) use ellipse::SIGMAS;
pub(crate) use map::POINT;

/// All pictures in pixels: a title, panels, a legend below.
const WIDTH: u32 = 1600;
const HEIGHT: u32 = 900;
const MARGIN: u32 = 8;
const TITLE: u32 = 36;

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
