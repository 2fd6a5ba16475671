//! The front of a house: bays, windows in recesses, doors.

use crate::V3;
use crate::material::Material;

/// Width of a bay of the facade, of its window, and the depth of the recess, metres.
const BAY: f64 = 2.7;
const WINDOW: f64 = 1.35;
const RECESS: f64 = 0.24;
/// Storey height, window sill and lintel above the floor; every fourth bay of the ground floor is a
/// door, metres.
const STOREY: f64 = 3.2;
const SILL: f64 = 0.95;
const LINTEL: f64 = 2.45;

/// A ray that enters a house's box through the face across `axis`: the wall, or on into a window.
pub(crate) fn facade(o: V3, d: V3, half: V3, enter: f64, axis: usize, wall: Material) -> (f64, f64, Material) {
    let outside = (enter, d[axis].abs(), wall);
    if axis == 2 {
        return outside;
    }
    let side = 1 - axis;
    let (u, v) = (o[side] + enter * d[side] + half[side], o[2] + enter * d[2] + half[2]);
    let bays = (2.0 * half[side] / BAY) as i64;
    let margin = half[side] - bays as f64 * BAY / 2.0;
    let bay = ((u - margin) / BAY) as i64;
    let floor = (v / STOREY) as i64;
    if u < margin || bay >= bays || v > 2.0 * half[2] - 0.5 {
        return outside;
    }
    let door = floor == 0 && bay % 4 == 2;
    let middle = margin + (bay as f64 + 0.5) * BAY - half[side];
    let base = floor as f64 * STOREY - half[2];
    let (low, high) = if door { (base, base + 2.2) } else { (base + SILL, base + LINTEL) };
    let (left, right) = (middle - WINDOW / 2.0, middle + WINDOW / 2.0);
    let (u, v) = (u - half[side], v - half[2]);
    if u < left || u > right || v < low || v > high {
        return outside;
    }
    // Inside the recess: the pane at its back, unless a side of it comes first.
    let pane = enter + RECESS / d[axis].abs();
    let leave = |p: f64, d: f64, low: f64, high: f64| match d {
        d if d > 0.0 => enter + (high - p) / d,
        d if d < 0.0 => enter + (low - p) / d,
        _ => f64::INFINITY,
    };
    let (jamb, soffit) = (leave(u, d[side], left, right), leave(v, d[2], low, high));
    if jamb < pane && jamb < soffit {
        (jamb, d[side].abs(), wall)
    } else if soffit < pane {
        (soffit, d[2].abs(), wall)
    } else {
        (pane, d[axis].abs(), if door { wall } else { Material::GLASS })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Body, Ray, Shape};

    const WALL: Material = Material::wall(0.5);

    #[test]
    fn windows_are_recessed() {
        // Six bays along y with a margin of 0.1; the third is a door, so aim at the middle of the
        // second.
        let house = Body::new(Shape::House { half: [5.0, 8.2, 6.4] }, [10.0, 0.0, 6.4], [1.0, 0.0], WALL);
        let at = |y: f64, z: f64| house.hit(&Ray { origin: [0.0, y, z], dir: [1.0, 0.0, 0.0] }, 0.0, 1).unwrap();
        assert_eq!(at(-8.0, 1.7).t, 5.0);
        assert_eq!(at(-8.1 + 1.5 * BAY, 0.5).t, 5.0);
        let pane = at(-8.1 + 1.5 * BAY, 1.7);
        assert!((pane.t - 5.0 - RECESS).abs() < 1e-12);
        assert_eq!(pane.material, Material::GLASS);
    }
}
