//! Normal distributions as ellipsoids, and scans aligned to them.

mod alignment;
mod closeup;
mod colour;
mod map;
mod score;

pub use alignment::{NdtFitNote, ndt_alignment_scene};
pub(crate) use colour::{Facing, facing_key};
pub(crate) use map::across;
pub use map::ndt_map_scene;
pub use score::ndt_score_scene;

/// Ellipsoids are drawn where a distribution ends for the eye, so many standard deviations from its
/// mean: 86 percent of a flat one lie within.
pub(crate) const SIGMAS: f64 = 2.0;

/// Cells of a map as normal distributions, a row each.
///
/// **Shapes.** `[V]` both; the shorter one counts. **Units and frames.** Metres and square metres
/// in the frame of the map, z up; covariances as xx, xy, xz, yy, yz, zz. **Limits.** Rows that are
/// not finite or no covariance are not drawn.
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
