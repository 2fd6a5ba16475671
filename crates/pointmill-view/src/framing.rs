//! What a picture of any cloud shows: a sweep around its sensor, or all of a cloud.

use crate::Camera;
use crate::camera::{facing, oblique};
use crate::quantiles::bulk;
use pointmill_core::{Aabb, Points};

/// Which part of the points may be outside of the picture on each side.
const STRAYS: f64 = 0.005;
/// Air around a cloud, by its extent.
const AIR: f64 = 0.05;
/// A sweep is at least and at most so many metres wide, from its sensor.
const SWEEP: [f32; 2] = [10.0, 250.0];
/// The points around a sensor begin at most so many metres from it, which allows for one that sees ahead only.
const NEAR: f32 = 10.0;

/// The two views of a cloud.
#[derive(Debug)]
pub(crate) struct Framing {
    /// From above, and from behind or at an angle.
    pub(crate) cameras: [Camera; 2],
    /// Whether the sensor, at the origin, is among the points.
    pub(crate) is_sweep: bool,
}

impl Framing {
    /// `points` are finite. `range` gives the heights of a sweep, `shape` the upper picture's height over its width.
    pub(crate) fn new(points: Points, range: &Aabb, voxel: [f32; 3], shape: f32) -> Self {
        if is_sweep(points) {
            let above = Camera::birds_eye_sideways(around_sensor(points, range, shape));
            let behind = Camera::perspective([-15.0, 0.0, 8.5], [11.5, 0.0, -1.73], 54.0);
            return Self { cameras: [above, behind], is_sweep: true };
        }
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]];
        let extent = extents(points, axes).map(|[low, high]| high - low);
        let widest = voxel.iter().map(|v| f64::from(v.abs())).filter(|v| v.is_finite()).fold(0.0, f64::max);
        Self { cameras: [axes, oblique(facing(extent))].map(|axes| fitted(points, axes, widest)), is_sweep: false }
    }
}

/// Whether the origin is among the points, as a sensor is among those of its sweep.
fn is_sweep(points: Points) -> bool {
    let mut widest = 0.0f32;
    let around = [0, 1].map(|axis| match quantiles(points, axis, 0.03, 0.97) {
        Some((low, high)) => {
            widest = widest.max(-low).max(high);
            low <= NEAR && high >= -NEAR
        }
        None => true,
    });
    // Nothing at all is shown as a sweep without points.
    points.is_empty() || around == [true; 2] && (SWEEP[0]..=SWEEP[1]).contains(&widest)
}

/// What the upper pictures of a sweep show: the x that most points have, in steps of 10 m so that the frames of an animation agree,
/// and as much of y as fits.
fn around_sensor(points: Points, range: &Aabb, height: f32) -> Aabb {
    let (from, to) = quantiles(points, 0, 0.03, 0.97).unwrap_or((range.min[0], range.max[0]));
    let half = 10.0 * libm::ceilf(to.max(-from) / 10.0).max(1.0);
    Aabb::new([-half, -half * height, range.min[2]], [half, half * height, range.max[2]])
}

/// The values of a column that these shares of the points lie below.
pub(crate) fn quantiles(points: Points, column: usize, low: f64, high: f64) -> Option<(f32, f32)> {
    let mut values: Vec<f32> = (0..points.len()).map(|i| points.row(i)[column]).filter(|v| v.is_finite()).collect();
    values.sort_unstable_by(f32::total_cmp);
    let at = |share: f64| values.get((share * values.len().saturating_sub(1) as f64) as usize).copied();
    at(low).zip(at(high))
}

/// Where most points lie along some axes.
fn extents(points: Points, axes: [[f64; 3]; 3]) -> [[f64; 2]; 3] {
    axes.map(|axis| {
        let along = |i: usize| points.xyz(i).iter().zip(axis).map(|(&x, a)| a * f64::from(x)).sum::<f64>();
        let finite = bulk((0..points.len()).map(along).collect(), STRAYS);
        finite.filter(|[low, high]| (high - low).is_finite()).unwrap_or([-1.0, 1.0])
    })
}

/// A view along the last axis that the cloud fills.
fn fitted(points: Points, axes: [[f64; 3]; 3], voxel: f64) -> Camera {
    let bounds = extents(points, axes);
    let most = bounds.iter().map(|[low, high]| high - low).fold(0.0, f64::max);
    // A cloud of one point has no extent.
    let least = (1e-3 * most).max(4.0 * voxel).max(1e-6);
    // In steps, so that the frames of an animation agree.
    let step = libm::exp2(libm::floor(libm::log2(most.max(least) / 16.0)));
    let [across, along] = [0, 1].map(|k| {
        let [low, high] = [libm::floor(bounds[k][0] / step) * step, libm::ceil(bounds[k][1] / step) * step];
        (0.5 * low + 0.5 * high, ((high - low) * (1.0 + 2.0 * AIR)).max(least))
    });
    Camera::parallel(axes, [across.0, along.0], [across.1, along.1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointmill_core::PointCloud;

    const RANGE: Aabb = Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]);

    /// A grid of 40 x 40 points on a slope, `size` wide, one corner at `x, y`.
    fn slope(size: f32, x: f32, y: f32) -> PointCloud {
        let rows = (0..1600u16).flat_map(|i| {
            let (a, b) = (f32::from(i % 40) / 39.0, f32::from(i / 40) / 39.0);
            [x + size * a, y + size * b, 0.2 * size * a]
        });
        PointCloud::new(rows.collect(), 3).unwrap()
    }

    #[test]
    fn any_cloud_fills_both_pictures() {
        for (size, x, y) in [(0.16, -0.08, 0.02), (1200.0, 1.8, 935.0), (30.0, 400.0, -20.0)] {
            let cloud = slope(size, x, y);
            let framing = Framing::new(cloud.points(), &RANGE, [0.01 * size; 3], 0.5);
            assert!(!framing.is_sweep);
            for (camera, height) in framing.cameras.iter().zip([414, 526]) {
                let view = camera.view(792, height);
                let places: Vec<_> =
                    (0..1600).map(|i| view.project(cloud.points().xyz(i).map(f64::from)).unwrap()).collect();
                let inside =
                    places.iter().filter(|p| (0.0..792.0).contains(&p.x) && (0.0..height.into()).contains(&p.y));
                assert!(inside.count() > 1550, "{size}");
                let span = |of: &dyn Fn(&crate::camera::Projected) -> f64| {
                    let all = places.iter().map(of);
                    all.clone().fold(f64::MIN, f64::max) - all.fold(f64::MAX, f64::min)
                };
                let fills = (span(&|p| p.x) / 792.0).max(span(&|p| p.y) / f64::from(height));
                assert!(fills > 0.6, "{size}: {fills}");
            }
        }
    }

    #[test]
    fn a_sweep_is_seen_from_its_sensor() {
        for (size, x, y, sweep) in [
            (80.0, -40.0, -35.0, true),
            (80.0, 10.0, -35.0, false),
            (6.0, -3.0, -3.0, false),
            (2000.0, -1000.0, -1000.0, false),
        ] {
            assert_eq!(is_sweep(slope(size, x, y).points()), sweep, "{size} {x} {y}");
        }
        assert!(is_sweep(Points::new(&[], 3).unwrap()));
    }
}
