//! A scan over a map's cells, before and after it was aligned.

use super::closeup;
use super::ellipse::{COVERS, Ink, SIGMAS};
use super::scene::Scene;
use super::{HEIGHT, MARGIN, NdtEllipsoids, TITLE, WIDTH, titled};
use crate::draw::draw_coloured;
use crate::legend::{FAINT, entry, scale_bar};
use crate::line::{Pen, line};
use crate::quantiles::quantiles;
use crate::{Camera, Image};
use pointmill_core::{Aabb, Points};

type V3 = [f64; 3];

const LEGEND: u32 = 36;
const COLUMN: u32 = (WIDTH - 3 * MARGIN) / 2;
const ROOM: u32 = HEIGHT - TITLE - LEGEND - 3 * MARGIN;
/// Panels side by side: overviews above, close-ups below.
const OVERVIEW: [u32; 2] = [COLUMN, (ROOM - MARGIN) * 47 / 100];
const CLOSEUP: [u32; 2] = [COLUMN, ROOM - MARGIN - OVERVIEW[1]];

pub(crate) const BEFORE: [u8; 3] = [255, 92, 84];
pub(crate) const AFTER: [u8; 3] = [98, 232, 140];
const WALL: [u8; 3] = [150, 182, 230];
const OTHER: [u8; 3] = [92, 116, 154];
const CHOSEN: [u8; 3] = [255, 226, 160];
const FINE: u32 = 2;
/// Which part of a scan's points may lie outside of the overview on each side.
const FAR: f64 = 0.03;

/// What is said of a scan at a pose.
///
/// ```
/// use pointmill_view::NdtFitNote;
/// let note = NdtFitNote { nvtl: 2.31, transform_probability: 4.1, error: Some([0.8, 0.035]) };
/// assert!(note.error.is_some_and(|[metres, _]| metres > 0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NdtFitNote {
    /// Nearest voxel transformation likelihood.
    pub nvtl: f64,
    /// The score by the number of points.
    pub transform_probability: f64,
    /// How far the pose is from the true one, in metres and radians, if that is known.
    pub error: Option<[f64; 2]>,
}

impl NdtFitNote {
    pub(crate) fn text(&self, name: &str) -> String {
        let pose = match self.error {
            Some([metres, radians]) => format!("off by {metres:.3} m, {:.2} deg", radians.to_degrees()),
            None => "true pose not known".into(),
        };
        format!("{name}: NVTL {:.3}, probability {:.3}, {pose}", self.nvtl, self.transform_probability)
    }
}

/// A picture of 1600 x 900 pixels: left a scan before, right after it was aligned, over the ellipses of a map, from above; below a close-up of both.
///
/// **Shapes.** `before` and `after` `[N]` are the scan's points in the frame of `map`, at the first guess and at the pose that was found; `notes` go with them.
/// **Units and frames.** Metres, z up, x to the right; both sides show the same part of the map, bars in the legend tell the scales. The close-up is
/// where the scan meets walls that face many ways, so that a wrong pose shows whichever way it is wrong. **Colours.** Before red, after green; upright cells brighter than others.
/// **Order and determinism.** The same input gives the same pixels.
/// **Limits.** Points and cells that are not finite are harmless; a scan without points is shown over the middle of the map. Ellipses that reach over a panel's edge are not drawn, nor are
/// those that come after the whole image has been covered 40 times over.
///
/// ```
/// use pointmill_view::{NdtEllipsoids, NdtFitNote, ndt_alignment_picture};
/// let map = NdtEllipsoids { means: &[[10.0, 5.0, 1.0]], covariances: &[[0.33, 0.0, 0.0, 0.0033, 0.0, 0.33]] };
/// let (before, after) = ([[9.5, 5.6, 1.0], [10.5, 5.6, 0.5]], [[9.5, 5.0, 1.0], [10.5, 5.0, 0.5]]);
/// let note = |nvtl, transform_probability| NdtFitNote { nvtl, transform_probability, error: None };
/// let picture = ndt_alignment_picture(map, &before, &after, [note(0.4, 0.4), note(3.5, 3.5)]);
/// assert_eq!((picture.width(), picture.height()), (1600, 900));
/// ```
pub fn ndt_alignment_picture(map: NdtEllipsoids, before: &[V3], after: &[V3], notes: [NdtFitNote; 2]) -> Image {
    let both = Both::new(map, before, after);
    let mut picture = titled([&notes[0].text("before"), &notes[1].text("after")]);
    let (overview, closeup) = both.frames(OVERVIEW, CLOSEUP);
    for side in 0..2 {
        let x = MARGIN + side as u32 * (COLUMN + MARGIN);
        picture.paste(&both.panel(side, overview, closeup, OVERVIEW, 3), x, TITLE + MARGIN);
        if let Some(frame) = closeup {
            let y = TITLE + OVERVIEW[1] + 2 * MARGIN;
            picture.paste(&both.panel(side, frame, None, CLOSEUP, 6), x, y);
        }
    }
    legend(&mut picture, [(overview, OVERVIEW), (closeup.unwrap_or(overview), CLOSEUP)]);
    picture
}

/// Two pictures of 1600 x 900 pixels, before and after, each with the overview left and the close-up right: the frames of a [`Gif`](crate::Gif) that blinks between them.
///
/// All else is as for [`ndt_alignment_picture`].
///
/// ```
/// use pointmill_view::{Gif, NdtEllipsoids, NdtFitNote, ndt_alignment_frames};
/// let map = NdtEllipsoids { means: &[[10.0, 5.0, 1.0]], covariances: &[[0.33, 0.0, 0.0, 0.0033, 0.0, 0.33]] };
/// let note = NdtFitNote { nvtl: 3.5, transform_probability: 3.5, error: Some([0.0, 0.0]) };
/// let mut gif = Gif::new(800);
/// for frame in ndt_alignment_frames(map, &[[9.5, 5.6, 1.0]], &[[9.5, 5.0, 1.0]], [note; 2]) {
///     gif.push(frame)?;
/// }
/// assert_eq!(gif.len(), 2);
/// # Ok::<(), pointmill_view::ViewError>(())
/// ```
pub fn ndt_alignment_frames(map: NdtEllipsoids, before: &[V3], after: &[V3], notes: [NdtFitNote; 2]) -> [Image; 2] {
    let both = Both::new(map, before, after);
    let size = [COLUMN, ROOM];
    let (overview, closeup) = both.frames(size, size);
    [0, 1].map(|side| {
        let mut picture = titled([&notes[side].text(["before", "after"][side]), ""]);
        picture.paste(&both.panel(side, overview, closeup, size, 3), MARGIN, TITLE + MARGIN);
        if let Some(frame) = closeup {
            picture.paste(&both.panel(side, frame, None, size, 6), COLUMN + 2 * MARGIN, TITLE + MARGIN);
        }
        legend(&mut picture, [(overview, size), (closeup.unwrap_or(overview), size)]);
        picture
    })
}

/// A map and a scan at two poses.
struct Both {
    scene: Scene,
    scans: [Vec<f32>; 2],
}

impl Both {
    fn new(map: NdtEllipsoids, before: &[V3], after: &[V3]) -> Self {
        let scene = Scene::new(map, after);
        let scans = [before, after].map(|scan| scene.local(scan));
        Self { scene, scans }
    }

    /// What overviews and close-ups of so many pixels show, both sides alike.
    fn frames(&self, overview: [u32; 2], closeup: [u32; 2]) -> (Aabb, Option<Aabb>) {
        let mut bounds = Aabb::new([-50.0; 3], [50.0; 3]);
        for k in 0..2 {
            let of = |scan: &[f32]| scan.as_chunks::<3>().0.iter().map(|p| f64::from(p[k])).collect::<Vec<_>>();
            // Around the aligned scan: the other may be anywhere.
            let axis = [0, 1, 2].map(|i| if i == k { 1.0 } else { 0.0 });
            let most = quantiles(of(&self.scans[1]), FAR).map(|q| [q[1], q[2]]).or_else(|| self.scene.extent(axis));
            if let Some([low, high]) = most {
                let air = 0.05 * (high - low) + 0.5;
                (bounds.min[k], bounds.max[k]) = ((low - air) as f32, (high + air) as f32);
            }
        }
        let bounds = widened(bounds, shape(overview));
        (bounds, closeup::choose(&self.scene, &self.scans[1], bounds, shape(closeup)))
    }

    /// One side from above, with the frame of its close-up.
    fn panel(&self, side: usize, frame: Aabb, closeup: Option<Aabb>, size: [u32; 2], point: u32) -> Image {
        let camera = Camera::birds_eye_sideways(frame);
        let [width, height] = size.map(|side| FINE * side);
        let mut panel = Image::filled(width, height, crate::BACKGROUND);
        let mut budget = COVERS * u64::from(width) * u64::from(height);
        for (ellipse, cell) in self.scene.ellipses(&camera.view(width, height)) {
            let pixels = ellipse.pixels(width, height);
            if !ellipse.fits(width, height) || pixels > budget {
                continue;
            }
            budget -= pixels;
            let wall = cell.facing.upright();
            let colour = [0, 1, 2].map(|k| {
                let (other, bright) = (f64::from(OTHER[k]), f64::from(WALL[k]));
                (other + (bright - other) * wall + 0.5) as u8
            });
            let ink = Ink { colour, inside: 0.1 + 0.18 * wall, outline: 0.34 + 0.46 * wall, width: 2.4 };
            ellipse.draw(&mut panel, ink);
        }
        if let Ok(points) = Points::new(&self.scans[side], 3) {
            draw_coloured(&mut panel, &camera, points, point, |_| Some([BEFORE, AFTER][side]));
        }
        if let Some(Aabb { min, max }) = closeup {
            let view = camera.view(width, height);
            let corners = [[min[0], min[1]], [max[0], min[1]], [max[0], max[1]], [min[0], max[1]]]
                .map(|[x, y]| view.project([f64::from(x), f64::from(y), 0.0]).map(|at| [at.x, at.y]));
            for k in 0..4 {
                if let (Some(a), Some(b)) = (corners[k], corners[(k + 1) % 4]) {
                    line(&mut panel, a, b, Pen { colour: CHOSEN, width: 3.0, cover: 1.0 });
                }
            }
        }
        panel.halved()
    }
}

fn shape([width, height]: [u32; 2]) -> f64 {
    f64::from(width) / f64::from(height)
}

/// The bounds grown along x or y to a shape, so that they are all of a panel.
fn widened(mut bounds: Aabb, shape: f64) -> Aabb {
    let size = [0, 1].map(|k| f64::from(bounds.max[k]) - f64::from(bounds.min[k]));
    let wanted = [size[0].max(size[1] * shape), size[1].max(size[0] / shape)];
    for k in 0..2 {
        let more = (0.5 * (wanted[k] - size[k])) as f32;
        bounds.min[k] -= more;
        bounds.max[k] += more;
    }
    bounds
}

fn legend(picture: &mut Image, frames: [(Aabb, [u32; 2]); 2]) {
    let y = HEIGHT - LEGEND - MARGIN / 2 + 6;
    let mut x = MARGIN + 6;
    for (colour, text) in
        [(BEFORE, "scan before"), (AFTER, "after"), (WALL, "cells of the map: upright"), (OTHER, "others")]
    {
        x = entry(picture, x, y, colour, text);
    }
    picture.text(&format!("({SIGMAS} sigma)"), x as i32 - 16, y as i32, FAINT);
    let mut right = WIDTH - MARGIN - 10;
    for (name, (frame, size)) in ["close-up", "overview"].into_iter().zip(frames.into_iter().rev()) {
        let view = Camera::birds_eye_sideways(frame).view(size[0], size[1]);
        scale_bar(picture, right, y, view.pixels_per_metre(1.0));
        right -= 290;
        picture.text(name, right as i32 - 80, y as i32, FAINT);
        right -= 110;
    }
}
