//! A cloud that moves onto another, and what that took.

use crate::{Gif, Image};

mod look;
mod plot;
#[cfg(feature = "rerun")]
mod recording;
mod scene;

pub use look::IcpLook;
pub use plot::{IcpSeries, icp_plot};
#[cfg(feature = "rerun")]
pub use recording::write_icp_recording;
pub(crate) use scene::{SOURCE, TARGET};

use crate::caption::shortened;
use crate::legend::{FAINT, FRAME, INK, entry, scale_bar};
use scene::Scene;

type V3 = [f64; 3];

/// Side by side as a still picture, alone as an animation; in pixels.
const STILL: [u32; 2] = [1600, 900];
const MOVING: [u32; 2] = [640, 560];
const MARGIN: u32 = 8;
const TITLE: u32 = 36;
const LEGEND: u32 = 36;
/// Most frames of an animation, about a megabyte each until they are written.
const MOST_FRAMES: usize = 120;
/// How long the first and the last frame are shown, and all others.
const HELD_MS: u32 = 1500;
const FRAME_MS: u32 = 200;

/// An animation of 640 x 560 pixels: the target in white and the source in red at each pose on the way, with the number of the iteration and the distance of the pairs.
///
/// **Shapes.** `source` and `target` `[N]`, in the frames that poses are between; `looks` in order, the guess first. **Units and frames.** Metres, the frame of the target. The view is
/// oblique, along the axis on which the target extends least, z up where that is not z, else y; it stays the same in all frames. **Colours.** Near points are brighter.
/// **Order and determinism.** The same input gives the same bytes. **Limits.** Points that are not finite are not drawn. Of more than 120 poses as many are shown, evenly spaced, the first and the last
/// among them; these two are shown longer. Without a pose there is no frame.
///
/// ```
/// use pointmill_core::Pose;
/// use pointmill_view::{IcpLook, icp_animation};
/// let (source, target) = ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0.0, 0.5, 0.0], [1.0, 0.5, 0.0]]);
/// let start = IcpLook { target_from_source: Pose::IDENTITY, stage: 0, pairs: 2, rmse: 0.5 };
/// let mut end = IcpLook { rmse: 0.0, ..start };
/// end.target_from_source = Pose::from_translation([0.0, 0.5, 0.0]);
/// assert_eq!(icp_animation(&source, &target, &[start, end]).len(), 2);
/// ```
pub fn icp_animation(source: &[V3], target: &[V3], looks: &[IcpLook]) -> Gif {
    let scene = Scene::new(source, target, looks);
    let stages = looks.last().map_or(0, |last| last.stage);
    let last = looks.len().saturating_sub(1);
    let shown = looks.len().min(MOST_FRAMES);
    let size = [MOVING[0] - 2 * MARGIN, MOVING[1] - TITLE - LEGEND - 2 * MARGIN];
    let mut gif = Gif::new(FRAME_MS);
    for k in 0..shown {
        let i = if shown > 1 { k * last / (shown - 1) } else { 0 };
        let mut picture = Image::filled(MOVING[0], MOVING[1], FRAME);
        let title = format!("{i} of {last}{}", looks[i].label(stages));
        picture.text(&shortened(&title, MOVING[0] - 2 * MARGIN), MARGIN as i32 + 6, 9, INK);
        picture.paste(&scene.panel(&looks[i], size), MARGIN, TITLE + MARGIN);
        legend(&mut picture, &scene, size);
        let held = if k == 0 || k + 1 == shown { HELD_MS } else { FRAME_MS };
        gif.push_for(picture, held).expect("all frames have one size");
    }
    gif
}

/// A picture of 1600 x 900 pixels: left the clouds at the first pose, right at the last; all else is as for [`icp_animation`]. Without a pose both are empty.
///
/// ```
/// use pointmill_core::Pose;
/// use pointmill_view::{IcpLook, icp_picture};
/// let cloud = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let look = IcpLook { target_from_source: Pose::IDENTITY, stage: 0, pairs: 3, rmse: 0.0 };
/// let picture = icp_picture(&cloud, &cloud, &[look]);
/// assert_eq!((picture.width(), picture.height()), (1600, 900));
/// ```
pub fn icp_picture(source: &[V3], target: &[V3], looks: &[IcpLook]) -> Image {
    let scene = Scene::new(source, target, looks);
    let [width, height] = STILL;
    let size = [(width - 3 * MARGIN) / 2, height - TITLE - LEGEND - 2 * MARGIN];
    let mut picture = Image::filled(width, height, FRAME);
    let last = looks.len().saturating_sub(1);
    let sides = [("before".to_owned(), looks.first()), (format!("after {last} iterations"), looks.last())];
    for (x, (name, look)) in [MARGIN, size[0] + 2 * MARGIN].into_iter().zip(sides) {
        let Some(look) = look else { continue };
        let title = format!("{name}: {}", look.text());
        picture.text(&shortened(&title, size[0]), x as i32 + 6, 9, INK);
        picture.paste(&scene.panel(look, size), x, TITLE + MARGIN);
    }
    legend(&mut picture, &scene, size);
    picture
}

fn legend(picture: &mut Image, scene: &Scene, size: [u32; 2]) {
    let y = picture.height() - LEGEND + 6;
    let x = entry(picture, MARGIN + 6, y, TARGET, "target");
    let x = entry(picture, x, y, SOURCE, "source");
    if picture.width() == STILL[0] {
        picture.text("at the guess and at the pose that was found", x as i32, y as i32, FAINT);
    }
    scale_bar(picture, picture.width() - MARGIN - 10, y, scene.pixels_per_metre(size));
}

#[cfg(test)]
mod tests {
    use super::look::length;

    #[test]
    fn lengths_have_three_digits() {
        let told = [0.0, 12.345, 0.25, 0.00206, 1.5e-5, 1e-9, f64::NAN].map(length);
        assert_eq!(told, ["0.00 m", "12.3 m", "250 mm", "2.06 mm", "15.0 um", "0.00 um", "NaN um"]);
    }
}
