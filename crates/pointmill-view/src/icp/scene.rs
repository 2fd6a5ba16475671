//! Both clouds as pictures need them: about an origin, and seen from where most of them shows.

use super::look::IcpLook;
use crate::camera::{facing, oblique};
use crate::colour::faded;
use crate::draw::draw_coloured;
use crate::quantiles::bulk;
use crate::{BACKGROUND, Camera, Image};
use pointmill_core::{Points, Pose};

type V3 = [f64; 3];

pub(crate) const TARGET: [u8; 3] = [240, 243, 247];
pub(crate) const SOURCE: [u8; 3] = [255, 74, 66];
/// Panels are drawn at so many times their size.
const FINE: u32 = 2;
/// Pixels of a point there.
const POINT: u32 = 3;
/// Which part of the points may be outside of the picture on each side.
const STRAYS: f64 = 0.005;
/// Air around the clouds, by their extent.
const AIR: f64 = 0.05;
/// What is left of the light of the farthest points.
const DARKEST: f64 = 0.3;

/// The clouds and the view on them.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    source: &'a [V3],
    target: &'a [V3],
    /// What is taken off all coordinates: those of maps may be millions of metres, and `f32` would shake.
    origin: V3,
    /// The picture's right and up, and the direction of the view.
    axes: [V3; 3],
    /// Middle and extent along the axes.
    middle: [f64; 3],
    size: [f64; 3],
}

impl<'a> Scene<'a> {
    pub(super) fn new(source: &'a [V3], target: &'a [V3], looks: &[IcpLook]) -> Self {
        let middles = |cloud: &mut dyn Iterator<Item = V3>| -> Option<[[f64; 2]; 3]> {
            let points: Vec<V3> = cloud.collect();
            let spans = [0, 1, 2].map(|k| bulk(points.iter().map(|p| p[k]).collect(), STRAYS));
            let [Some(x), Some(y), Some(z)] = spans else { return None };
            Some([x, y, z])
        };
        let ends = [looks.first(), looks.last()].map(|look| look.map_or(Pose::IDENTITY, |l| l.target_from_source));
        let around = middles(&mut target.iter().copied())
            .or_else(|| middles(&mut source.iter().map(|p| ends[1].apply(*p))))
            .unwrap_or([[-1.0, 1.0]; 3]);
        let origin = around.map(|[low, high]| 0.5 * low + 0.5 * high);
        let axes = oblique(facing(around.map(|[low, high]| high - low)));
        // What must be seen: the target, and the source where it begins and where it ends.
        let mut bounds: Option<[[f64; 2]; 3]> = None;
        let seen = |p: V3| axes.map(|axis| (0..3).map(|k| axis[k] * (p[k] - origin[k])).sum::<f64>());
        let clouds: [&mut dyn Iterator<Item = V3>; 3] = [
            &mut target.iter().map(|p| seen(*p)),
            &mut source.iter().map(|p| seen(ends[0].apply(*p))),
            &mut source.iter().map(|p| seen(ends[1].apply(*p))),
        ];
        for cloud in clouds {
            let Some(more) = middles(cloud) else { continue };
            let wider = |k: usize, b: [f64; 2]| [b[0].min(more[k][0]), b[1].max(more[k][1])];
            bounds = Some(bounds.map_or(more, |b| [0, 1, 2].map(|k| wider(k, b[k]))));
        }
        let bounds = bounds.unwrap_or([[-1.0, 1.0]; 3]);
        let middle = bounds.map(|[low, high]| 0.5 * low + 0.5 * high);
        let extent = bounds.map(|[low, high]| (high - low) * (1.0 + 2.0 * AIR));
        // A cloud of one point has no extent; any will do.
        let most = extent.iter().copied().filter(|e| e.is_finite()).fold(0.0, f64::max);
        let least = if most > 0.0 { most * 1e-3 } else { 1.0 };
        let size = extent.map(|e| if e.is_finite() { e.max(least) } else { 1.0 });
        Self { source, target, origin, axes, middle, size }
    }

    /// The clouds at a pose, in so many pixels.
    pub(super) fn panel(&self, look: &IcpLook, size: [u32; 2]) -> Image {
        let [width, height] = size.map(|side| FINE * side);
        let mut panel = Image::filled(width, height, BACKGROUND);
        // Both clouds at once: which point is in front is decided by its depth, not by its cloud.
        let placed = self.target.iter().copied().chain(self.source.iter().map(|p| look.target_from_source.apply(*p)));
        let local: Vec<f32> = placed.flat_map(|p| [0, 1, 2].map(|k| (p[k] - self.origin[k]) as f32)).collect();
        let points = Points::new(&local, 3).expect("rows of three values");
        draw_coloured(&mut panel, &self.camera(), points, POINT, |i| {
            let p = points.xyz(i).map(f64::from);
            let depth = (0..3).map(|k| self.axes[2][k] * p[k]).sum::<f64>() - self.middle[2];
            let far = (0.5 + depth / self.size[2]).clamp(0.0, 1.0);
            let colour = if i < self.target.len() { TARGET } else { SOURCE };
            Some(faded(colour, 1.0 - far * (1.0 - DARKEST)))
        });
        panel.halved()
    }

    /// Of a panel of so many pixels.
    pub(super) fn pixels_per_metre(&self, size: [u32; 2]) -> f64 {
        self.camera().view(size[0], size[1]).pixels_per_metre(1.0)
    }

    fn camera(&self) -> Camera {
        Camera::parallel(self.axes, [self.middle[0], self.middle[1]], [self.size[0], self.size[1]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clouds_far_from_zero_fill_the_panel() {
        let target: Vec<V3> =
            (0..400).map(|i| [4e6 + f64::from(i % 20) * 0.1, 5e6 + f64::from(i / 20) * 0.1, 0.0]).collect();
        let look = IcpLook { target_from_source: Pose::IDENTITY, stage: 0, pairs: 400, rmse: 0.0 };
        let scene = Scene::new(&[], &target, &[look]);
        let panel = scene.panel(&look, [100, 80]);
        assert!(panel.rgb().as_chunks::<3>().0.iter().filter(|c| **c != BACKGROUND).count() > 300);
        assert!((20.0..80.0).contains(&scene.pixels_per_metre([100, 80])));
    }
}
