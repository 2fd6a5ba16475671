//! Cameras that show nearly all of some places.

use crate::Camera;
use crate::camera::dot;
use crate::quantiles::{bulk, quantiles};

type V3 = [f64; 3];

/// Looks straight down, x to the right.
pub(crate) const ABOVE: [V3; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]];
/// Air around the places, by their extent.
const AIR: f64 = 0.03;
/// Turns of an oblique view about the picture's up and right, in radians: an error along the view
/// would not show.
const ASIDE: f64 = 0.5;
const LIFTED: f64 = 0.4;
/// A sweep is at least and at most so many metres wide, from its sensor.
const SWEEP: [f64; 2] = [10.0, 250.0];
const EMPTY: f64 = 50.0;
/// The points around a sensor begin at most so many metres from it, which allows for one that sees
/// ahead only.
const NEAR: f64 = 10.0;

/// From where to where most places lie along some axes; `share` of them may be outside on each
/// side.
pub(crate) fn spans(places: &[V3], axes: [V3; 3], share: f64) -> [[f64; 2]; 3] {
    axes.map(|axis| bulk(places.iter().map(|p| dot(axis, *p)).collect(), share).unwrap_or([-10.0, 10.0]))
}

/// As [`spans`] of all groups: a small one is no stray beside a large one.
pub(crate) fn spans_of_each(groups: &[&[V3]], axes: [V3; 3], share: f64) -> [[f64; 2]; 3] {
    let each = groups.iter().filter(|places| !places.is_empty()).map(|places| spans(places, axes, share));
    let both = |a: [[f64; 2]; 3], b: [[f64; 2]; 3]| [0, 1, 2].map(|k| [a[k][0].min(b[k][0]), a[k][1].max(b[k][1])]);
    each.reduce(both).unwrap_or_else(|| spans(&[], axes, share))
}

/// A parallel view along the last axis that the places fill.
pub(crate) fn fitted(places: &[V3], axes: [V3; 3], share: f64) -> Camera {
    fitted_to_each(&[places], axes, share)
}

/// As [`fitted`], with most of each group.
pub(crate) fn fitted_to_each(groups: &[&[V3]], axes: [V3; 3], share: f64) -> Camera {
    let bounds = spans_of_each(groups, axes, share);
    let most = bounds.iter().map(|[low, high]| high - low).fold(1e-6, f64::max);
    let [across, along, _] =
        bounds.map(|[low, high]| (0.5 * low + 0.5 * high, ((high - low) * (1.0 + 2.0 * AIR)).max(1e-3 * most)));
    Camera::parallel(axes, [across.0, along.0], [across.1, along.1])
}

/// A view on most of the surface of clouds, at an angle, in which far points fade.
pub(crate) fn at_an_angle(groups: &[&[V3]], share: f64) -> Camera {
    let axes = oblique(facing(spans_of_each(groups, ABOVE, share).map(|[low, high]| high - low)));
    let depths = spans_of_each(groups, axes, share)[2];
    fitted_to_each(groups, axes, share).fading([depths[0], depths[1].max(depths[0] + 1e-6)])
}

/// Right, up and ahead: the view is along the axis of the least extent, where most of a surface
/// faces the camera.
fn facing(extent: V3) -> [V3; 3] {
    let [x, y, z] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let back = |v: V3| v.map(|e| -e);
    let least = (1..3).fold(0, |least, k| if extent[k] < extent[least] { k } else { least });
    match least {
        0 => [y, z, back(x)],
        1 => [x, z, y],
        _ => [x, y, back(z)],
    }
}

/// The axes of a camera that was turned aside and lifted.
fn oblique([right, up, ahead]: [V3; 3]) -> [V3; 3] {
    let mix = |a: V3, b: V3, angle: f64| {
        let (sin, cos) = (libm::sin(angle), libm::cos(angle));
        ([0, 1, 2].map(|k| cos * a[k] + sin * b[k]), [0, 1, 2].map(|k| cos * b[k] - sin * a[k]))
    };
    let (right, ahead) = mix(right, ahead, ASIDE);
    let (up, ahead) = mix(up, ahead, LIFTED);
    [right, up, ahead]
}

/// How far a sweep reaches along x, if the origin is among the places, as a sensor is among those
/// of its sweep. Nothing at all is a sweep without points.
pub(crate) fn sweep_reach(places: &[V3]) -> Option<f64> {
    if places.is_empty() {
        return Some(EMPTY);
    }
    let span = |k: usize| quantiles(places.iter().map(|p| p[k]).collect(), 0.03).map_or([0.0; 2], |q| [q[1], q[2]]);
    let spans = [span(0), span(1)];
    let reach = spans.map(|[low, high]| high.max(-low));
    let is_around = spans.iter().all(|[low, high]| *low <= NEAR && *high >= -NEAR);
    (is_around && (SWEEP[0]..=SWEEP[1]).contains(&reach[0].max(reach[1]))).then_some(reach[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of 40 x 40 points on a slope, `size` wide, one corner at `x, y`.
    fn slope(size: f64, x: f64, y: f64) -> Vec<V3> {
        let at = |i: u16| (f64::from(i % 40) / 39.0, f64::from(i / 40) / 39.0);
        (0..1600).map(at).map(|(a, b)| [x + size * a, y + size * b, 0.2 * size * a]).collect()
    }

    #[test]
    fn any_cloud_fills_both_pictures() {
        for (size, x, y) in [(0.16, -0.08, 0.02), (1200.0, 1.8, 935.0), (30.0, 4e6, -5e6)] {
            let cloud = slope(size, x, y);
            assert_eq!(sweep_reach(&cloud), None);
            for (camera, height) in [(fitted(&cloud, ABOVE, 0.005), 414), (at_an_angle(&[&cloud], 0.005), 526)] {
                let view = camera.view(792, height);
                let places: Vec<_> = cloud.iter().map(|p| view.project(*p).unwrap()).collect();
                let is_inside =
                    |p: &&crate::camera::Projected| (0.0..792.0).contains(&p.x) && (0.0..height.into()).contains(&p.y);
                assert!(places.iter().filter(is_inside).count() > 1550, "{size}");
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
    fn far_points_fade_and_strays_do_not_widen_the_view() {
        let mut cloud = slope(30.0, 400.0, -20.0);
        let camera = at_an_angle(&[&cloud], 0.005);
        let view = camera.view(100, 100);
        let light: Vec<f64> = cloud.iter().map(|p| view.haze(view.project(*p).unwrap().depth)).collect();
        let [low, high] = [f64::min, f64::max].map(|of| light.iter().copied().fold(0.5, of));
        assert!(low < 0.35 && high > 0.95, "{low} {high}");
        cloud[7] = [-1e7, 3e6, 0.0];
        assert!(at_an_angle(&[&cloud], 0.005).view(100, 100).pixels_per_metre(1.0) > 0.7 * view.pixels_per_metre(1.0));
    }

    #[test]
    fn a_small_cloud_beside_a_large_one_is_in_the_view() {
        let (large, small) = (slope(30.0, 0.0, 0.0), vec![[90.0, 5.0, 1.0]; 3]);
        for camera in [fitted_to_each(&[&large, &[], &small], ABOVE, 0.005), at_an_angle(&[&large, &small], 0.005)] {
            let at = camera.view(400, 300).project(small[0]).unwrap();
            assert!((0.0..400.0).contains(&at.x) && (0.0..300.0).contains(&at.y), "{at:?}");
        }
        assert_eq!(fitted_to_each(&[], ABOVE, 0.005), fitted(&[], ABOVE, 0.005));
    }

    #[test]
    fn a_sweep_is_seen_from_its_sensor() {
        for (size, x, y, sweep) in [
            (80.0, -40.0, -35.0, true),
            (80.0, 10.0, -35.0, false),
            (6.0, -3.0, -3.0, false),
            (2000.0, -1000.0, -1000.0, false),
        ] {
            assert_eq!(sweep_reach(&slope(size, x, y)).is_some(), sweep, "{size} {x} {y}");
        }
        assert!(sweep_reach(&[]).is_some());
    }

    #[test]
    fn axes_are_unit_and_look_at_the_surface() {
        let dot = |a: V3, b: V3| (0..3).map(|k| a[k] * b[k]).sum::<f64>();
        for least in 0..3 {
            let mut extent = [1.0; 3];
            extent[least] = 0.1;
            let axes = oblique(facing(extent));
            for i in 0..3 {
                for j in 0..3 {
                    assert!((dot(axes[i], axes[j]) - f64::from(u8::from(i == j))).abs() < 1e-12);
                }
            }
            // The view is more along the short axis than across it, and what is up stays up.
            assert!(axes[2][least].abs() > 0.7 && axes[1][if least == 2 { 1 } else { 2 }] > 0.8, "{axes:?}");
        }
    }
}
