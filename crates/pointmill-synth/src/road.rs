//! The ground: a road with gentle bends, kerbs, pavements, markings and side streets.

use crate::material::Material;
use crate::shape::{Hit, Ray};

/// Half the width of the carriageway: two lanes of 3.7 m and two parking lanes of 2.3 m.
pub(crate) const HALF_ROAD: f64 = 6.0;
/// Distance of the middle of a lane from the middle of the road.
pub(crate) const LANE: f64 = 1.85;
/// Distance of the middle of a parking lane from the middle of the road.
pub(crate) const PARKING: f64 = 4.9;
/// Half the width of a side street.
pub(crate) const HALF_SIDE: f64 = 4.5;
/// Height of the pavement above the carriageway.
pub(crate) const KERB: f64 = 0.13;
/// Distance between side streets along the road, and where the first one is.
const SIDE_EVERY: f64 = 96.0;
const SIDE_FIRST: f64 = 27.0;

/// A wave of parabola arcs: period 1, values -1..1, slope continuous. It stands for a sine.
pub(crate) fn wave(x: f64) -> f64 {
    let u = 2.0 * (x - floor(x)) - 1.0;
    4.0 * u * (1.0 - u.abs())
}

/// Slope of [`wave`].
fn wave_slope(x: f64) -> f64 {
    let u = 2.0 * (x - floor(x)) - 1.0;
    8.0 * (1.0 - 2.0 * u.abs())
}

pub(crate) fn floor(x: f64) -> f64 {
    libm::floor(x)
}

/// The road's middle line: how far left (y) it is at x, in metres, and its slope dy/dx.
///
/// Arcs of 490 m radius, left and right in turn: the gentle curve of a main street.
pub(crate) fn middle(x: f64) -> (f64, f64) {
    const PERIOD: f64 = 280.0;
    const SWING: f64 = 5.0;
    let u = x / PERIOD + 0.08;
    (SWING * wave(u), SWING / PERIOD * wave_slope(u))
}

/// The unit heading of the road at x.
pub(crate) fn heading(x: f64) -> [f64; 2] {
    let slope = middle(x).1;
    let length = (1.0 + slope * slope).sqrt();
    [1.0 / length, slope / length]
}

/// How far the ground is above or below its plane, metres: a few centimetres over tens of metres.
pub(crate) fn undulation(x: f64, y: f64) -> f64 {
    0.025 * wave(x / 47.0 + y / 160.0) + 0.015 * wave(y / 31.0 - x / 120.0)
}

/// Signed distance along the road to the middle of the nearest side street.
pub(crate) fn from_side_street(x: f64) -> f64 {
    let u = (x - SIDE_FIRST) / SIDE_EVERY + 0.5;
    (u - floor(u) - 0.5) * SIDE_EVERY
}

/// Whether there is carriageway at a point, not pavement.
fn is_carriageway(x: f64, across: f64) -> bool {
    across.abs() < HALF_ROAD || from_side_street(x).abs() < HALF_SIDE
}

/// What the carriageway is made of, `across` metres left of its middle.
fn surface(x: f64, across: f64) -> Material {
    let side = from_side_street(x);
    let dash = |every: f64, share: f64| x / every - floor(x / every) < share;
    let on_line = |at: f64, width: f64| (across.abs() - at).abs() < width / 2.0;
    if across.abs() < HALF_ROAD && side.abs() > HALF_SIDE {
        let zebra = (side.abs() - HALF_SIDE - 2.6).abs() < 1.6 && { across - floor(across) < 0.5 };
        let clear = side.abs() > HALF_SIDE + 5.0;
        let middle_line = across.abs() < 0.1 && dash(6.0, 0.5) && clear;
        let parking_line = on_line(PARKING - 1.2, 0.16) && dash(1.0, 0.5) && clear;
        let stop_line = side.abs() > HALF_SIDE + 4.6
            && side.abs() < HALF_SIDE + 5.1
            && across * side > 0.0
            && across.abs() < PARKING - 1.2;
        if zebra || middle_line || parking_line || stop_line {
            return Material::MARKING;
        }
    } else if across.abs() > HALF_ROAD && across.abs() < HALF_ROAD + 22.0 && side.abs() < 0.08 {
        return Material::MARKING;
    }
    Material::ASPHALT
}

/// Where a ray meets level ground at z = 0, no further than `limit` metres.
pub(crate) fn hit_level(ray: &Ray, limit: f64, material: impl Fn(f64, f64) -> Material) -> Option<Hit> {
    let down = -ray.dir[2];
    if down <= 0.0 || ray.origin[2] > down * limit {
        return None;
    }
    let t = ray.origin[2] / down;
    let [x, y, _] = ray.at(t);
    Some(Hit { t, facing: down, material: material(x, y) })
}

/// Where a ray meets the ground of the street, no further than `limit` metres.
pub(crate) fn hit(ray: &Ray, limit: f64) -> Option<Hit> {
    let down = -ray.dir[2];
    // Even the pavement's highest point is out of reach then.
    if down * limit < ray.origin[2] - KERB - 0.05 || down <= 0.0 {
        return None;
    }
    let across = |t: f64| {
        let p = ray.at(t);
        (p[0], p[1] - middle(p[0]).0)
    };
    let pavement = meet(ray, down, KERB);
    let (x, y) = across(pavement);
    if !is_carriageway(x, y) {
        return (pavement < limit).then_some(Hit { t: pavement, facing: down, material: Material::PAVING });
    }
    let road = meet(ray, down, 0.0);
    let (x, y) = across(road);
    if is_carriageway(x, y) {
        return (road < limit).then_some(Hit { t: road, facing: down, material: surface(x, y) });
    }
    // Over the carriageway at the pavement's height, under the pavement at the road's: the kerb is
    // in between.
    let (mut open, mut closed) = (pavement, road);
    for _ in 0..12 {
        let half = (open + closed) / 2.0;
        let (x, y) = across(half);
        if is_carriageway(x, y) {
            open = half;
        } else {
            closed = half;
        }
    }
    (open < limit).then_some(Hit { t: open, facing: 0.7, material: Material::KERB })
}

/// Range at which the ray is `height` above the undulating ground.
fn meet(ray: &Ray, down: f64, height: f64) -> f64 {
    let mut t = (ray.origin[2] - height) / down;
    // The ground's slope (below 0.006) is a fraction of the ray's wherever the ground is in range:
    // each round shrinks the error by that fraction.
    for _ in 0..3 {
        let p = ray.at(t);
        t = (ray.origin[2] - height - undulation(p[0], p[1])) / down;
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wave_is_smooth() {
        let mut last = wave(-1.0);
        for i in -999..1000 {
            let x = f64::from(i) / 1000.0;
            let v = wave(x);
            assert!(v.abs() <= 1.0 && (v - last).abs() <= 0.0081);
            let slope = (wave(x + 1e-6) - wave(x - 1e-6)) / 2e-6;
            assert!((slope - wave_slope(x)).abs() < 1e-4, "{x}: {slope}");
            last = v;
        }
    }

    #[test]
    fn rays_end_on_the_ground_they_claim() {
        let origin = [0.0, middle(0.0).0 - LANE, 1.73];
        let (mut kerbs, mut pavements) = (0, 0);
        for i in 0..2000 {
            let azimuth = f64::from(i) * 0.01;
            let (c, s) = (libm::cos(azimuth), libm::sin(azimuth));
            let down = 0.02 + 0.4 * f64::from(i % 97) / 97.0;
            let level = (1.0 - down * down).sqrt();
            let ray = Ray { origin, dir: [c * level, s * level, -down] };
            let Some(hit) = hit(&ray, 120.0) else { continue };
            let p = ray.at(hit.t);
            let above = p[2] - undulation(p[0], p[1]);
            match hit.material {
                Material::KERB => kerbs += 1,
                Material::PAVING => {
                    pavements += 1;
                    assert!((above - KERB).abs() < 0.01, "{above}");
                }
                _ => assert!(above.abs() < 0.01, "{above}"),
            }
            assert!((-0.01..KERB + 0.01).contains(&above));
        }
        assert!(kerbs > 20 && pavements > 200);
    }
}
