//! The pages of the operators.

mod sweeps;

pub use sweeps::{DrivePage, VoxelPage};

use super::{Layer, Page, Paint};
use crate::drive::{ESTIMATE, MOST, TRUTH};
use crate::icp::{SOURCE, TARGET};
use crate::ndt::{AFTER, BEFORE, POINT};
use crate::roi::{BOX, OUTSIDE, RoiView};
use crate::{IcpLook, NdtEllipsoids, NdtFitNote};
use pointmill_core::{Points, Pose};

type V3 = [f64; 3];

/// How long a step of an alignment is shown, and each side of one that has two.
const STEP_MS: u32 = 200;
const SIDE_MS: u32 = 800;

/// A page of a cloud on its way onto another: the target in white, and the source in red at each pose, a frame each.
///
/// **Shapes.** As [`icp_animation`](crate::icp_animation). **Units and frames.** Metres, the frame of the target. **Order and determinism, limits.** As [`Page`] and [`Layer`].
///
/// ```
/// use pointmill_core::Pose;
/// use pointmill_view::{IcpLook, icp_page};
/// let cloud = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
/// let look = IcpLook { target_from_source: Pose::IDENTITY, stage: 0, pairs: 2, rmse: 0.0 };
/// assert_eq!(icp_page("icp", &cloud, &cloud, &[look]).frames(), 1);
/// ```
pub fn icp_page(title: &str, source: &[[f64; 3]], target: &[[f64; 3]], looks: &[IcpLook]) -> Page {
    let mut page = Page::new(title, Paint::Own);
    page.frame_ms(STEP_MS);
    let stages = looks.last().map_or(0, |last| last.stage);
    for (i, look) in looks.iter().enumerate() {
        page.frame(&format!("iteration {i}{}", look.label(stages)));
    }
    let poses: Vec<Pose> = looks.iter().map(|look| look.target_from_source).collect();
    page.push(Layer::points("target", target).colour(TARGET));
    page.push(Layer::points("source", source).colour(SOURCE).moving(&poses));
    page
}

/// A page of a map: its points in grey, and an ellipsoid of two standard deviations for each cell.
///
/// **Shapes, units and frames, colours.** As [`ndt_map_picture`](crate::ndt_map_picture). **Order and determinism, limits.** As [`Page`] and [`Layer`].
///
/// ```
/// use pointmill_view::{NdtEllipsoids, ndt_map_page};
/// let map = NdtEllipsoids { means: &[[1.0, 1.0, 0.1]], covariances: &[[0.33, 0.0, 0.0, 0.33, 0.0, 0.0033]] };
/// assert!(!ndt_map_page("a map", &[[0.2, 0.2, 0.1]], map).encode().is_empty());
/// ```
pub fn ndt_map_page(title: &str, points: &[[f64; 3]], map: NdtEllipsoids) -> Page {
    let mut page = Page::new(title, Paint::Own);
    page.push(Layer::points("points", points).colour(POINT));
    page.push(Layer::ellipsoids("cells", map));
    page
}

/// A page of a scan over the cells of a map, a frame before and a frame after it was aligned.
///
/// **Shapes, units and frames, colours.** As [`ndt_alignment_picture`](crate::ndt_alignment_picture). **Order and determinism, limits.** As [`Page`] and [`Layer`].
///
/// ```
/// use pointmill_view::{NdtEllipsoids, NdtFitNote, ndt_alignment_page};
/// let map = NdtEllipsoids { means: &[[10.0, 5.0, 1.0]], covariances: &[[0.33, 0.0, 0.0, 0.0033, 0.0, 0.33]] };
/// let note = NdtFitNote { nvtl: 3.5, transform_probability: 3.5, error: None };
/// assert_eq!(ndt_alignment_page("a scan", map, &[[9.5, 5.6, 1.0]], &[[9.5, 5.0, 1.0]], [note; 2]).frames(), 2);
/// ```
pub fn ndt_alignment_page(
    title: &str,
    map: NdtEllipsoids,
    before: &[V3],
    after: &[V3],
    notes: [NdtFitNote; 2],
) -> Page {
    let mut page = Page::new(title, Paint::Own);
    page.frame_ms(SIDE_MS);
    page.push(Layer::ellipsoids("cells", map));
    let sides = [("before", before, BEFORE), ("after", after, AFTER)];
    for ((name, points, colour), note) in sides.into_iter().zip(notes) {
        let frame = page.frame(&note.text(name));
        page.push(Layer::points(name, points).colour(colour).at(frame));
    }
    page
}

/// A page of points in oriented boxes, coloured by voxel; points in no box are grey.
///
/// **Shapes, units and frames.** As [`roi_picture`](crate::roi_picture). **Order and determinism, limits.** As [`Page`] and [`Layer`].
///
/// ```
/// use pointmill_core::Points;
/// let points = Points::new(&[9.2, 5.1, 0.4, 30.0, 0.0, 0.0], 3)?;
/// let car = [10.0, 5.0, 0.75, 4.0, 2.0, 1.5, 0.0];
/// let page = pointmill_view::roi_page("a car", points, &[car], &[Some((0, 3)), None], [4, 2, 1]);
/// assert_eq!(page.frames(), 0);
/// # Ok::<(), pointmill_core::CloudError>(())
/// ```
pub fn roi_page(
    title: &str,
    points: Points,
    boxes: &[[f32; 7]],
    voxel_of_point: &[Option<(u32, u32)>],
    out_size: [u32; 3],
) -> Page {
    let view = RoiView { points, boxes, voxels: voxel_of_point, out_size };
    let xyz: Vec<V3> = points.iter_xyz().map(|p| p.map(f64::from)).collect();
    let colours: Vec<_> =
        (0..points.len()).map(|i| view.voxel(i).map_or(OUTSIDE, |(_, voxel)| view.colour(voxel))).collect();
    let mut page = Page::new(title, Paint::Own);
    page.push(Layer::points("points", &xyz).colours(&colours));
    page.push(Layer::boxes("boxes", boxes).colour(BOX));
    page
}

/// A page of an estimated trajectory and the true one, a frame for each pose, with the error of its position.
///
/// **Shapes.** `estimate`, `truth` and `errors` `[P]`. **Units and frames.** Metres, one frame, z up. **Order and determinism, limits.** As [`Page`] and [`Layer`]; of more than 2,000
/// poses every so many have a frame.
///
/// ```
/// use pointmill_view::trajectory_page;
/// let truth = [[0.0, 0.0, 0.0], [10.0, 0.0, 0.0]];
/// assert_eq!(trajectory_page("a.txt", &[[0.0, 0.0, 0.0], [10.0, 0.1, 0.0]], &truth, &[0.0, 0.1]).frames(), 2);
/// ```
pub fn trajectory_page(title: &str, estimate: &[[f64; 3]], truth: &[[f64; 3]], errors: &[f64]) -> Page {
    let mut page = Page::new(title, Paint::Own);
    let every = estimate.len().div_ceil(MOST).max(1);
    for (i, error) in errors.iter().enumerate().step_by(every) {
        page.frame(&format!("pose {i}: off by {error:.4} m"));
    }
    for (name, way, colour) in [("truth", truth, TRUTH), ("estimate", estimate, ESTIMATE)] {
        page.push(Layer::line(name, way).colour(colour));
        let poses: Vec<Pose> = way.iter().step_by(every).map(|p| Pose::from_translation(*p)).collect();
        page.push(Layer::points(name, &[[0.0; 3]]).colour(colour).moving(&poses));
    }
    page
}
