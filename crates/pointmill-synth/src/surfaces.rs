//! Points on analytic surfaces: inputs whose right answers are known.
//!
//! Every cloud is `[n, 3]`, metres, uniform over the surface's area, a function of `n` and `seed`
//! alone: point i of a seed is the same for every `n`, and the same bits on every machine.
//!
//! ```
//! use pointmill_synth::surfaces;
//! let ball = surfaces::sphere(1000, 2.0, 7);
//! assert!(ball.points().iter_xyz().all(|p| (p.iter().map(|v| v * v).sum::<f32>().sqrt() - 2.0).abs() < 1e-5));
//! ```

use crate::hash::{Stream, unit};
use pointmill_core::PointCloud;

/// Three uniform numbers in 0..1 for every point.
fn cloud(n: usize, seed: u64, name: u64, point: impl Fn([f64; 3]) -> [f64; 3]) -> PointCloud {
    let stream = Stream::new(seed, name);
    let mut data = Vec::with_capacity(3 * n);
    for i in 0..n as u64 {
        let p = point([0, 1, 2].map(|k| unit(stream.bits(3 * i + k))));
        data.extend(p.map(|v| v as f32));
    }
    PointCloud::new(data, 3).expect("rows of three values")
}

fn turn(u: f64) -> [f64; 2] {
    let angle = u * core::f64::consts::TAU;
    [libm::cos(angle), libm::sin(angle)]
}

/// `n` points of the rectangle `size` (x, y edges in metres) at z = 0, centred at the origin.
pub fn plane(n: usize, size: [f32; 2], seed: u64) -> PointCloud {
    let [x, y] = size.map(f64::from);
    cloud(n, seed, 101, |[u, v, _]| [(u - 0.5) * x, (v - 0.5) * y, 0.0])
}

/// `n` points of the sphere of this radius (metres) around the origin.
pub fn sphere(n: usize, radius: f32, seed: u64) -> PointCloud {
    let r = f64::from(radius);
    cloud(n, seed, 102, |[u, v, _]| {
        // Archimedes: equal heights of a sphere have equal areas.
        let z = 2.0 * u - 1.0;
        let level = (1.0 - z * z).sqrt();
        let [c, s] = turn(v);
        [r * level * c, r * level * s, r * z]
    })
}

/// `n` points of the six faces of the box of these edge lengths (metres), centred at the origin.
pub fn cuboid(n: usize, size: [f32; 3], seed: u64) -> PointCloud {
    let [x, y, z] = size.map(f64::from);
    let (across_x, across_y, across_z) = (y * z, x * z, x * y);
    let total = across_x + across_y + across_z;
    cloud(n, seed, 103, |[face, u, v]| {
        // Which pair of faces, by area; then which of the two.
        let at = face * total;
        let (axis, share) = if at < across_x {
            (0, at / across_x)
        } else if at < across_x + across_y {
            (1, (at - across_x) / across_y)
        } else {
            (2, (at - across_x - across_y) / across_z)
        };
        let side = if share < 0.5 { -0.5 } else { 0.5 };
        let (u, v) = (u - 0.5, v - 0.5);
        match axis {
            0 => [side * x, u * y, v * z],
            1 => [u * x, side * y, v * z],
            _ => [u * x, v * y, side * z],
        }
    })
}

/// `n` points of the side of the cylinder of this radius and height (metres) along z, centred at
/// the origin, without its ends.
pub fn cylinder(n: usize, radius: f32, height: f32, seed: u64) -> PointCloud {
    let (r, h) = (f64::from(radius), f64::from(height));
    cloud(n, seed, 104, |[u, v, _]| {
        let [c, s] = turn(u);
        [r * c, r * s, (v - 0.5) * h]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_on_their_surface() {
        let n = 5000;
        for p in plane(n, [4.0, 2.0], 1).points().iter_xyz() {
            assert!(p[0].abs() <= 2.0 && p[1].abs() <= 1.0 && p[2] == 0.0);
        }
        for p in cylinder(n, 0.5, 3.0, 1).points().iter_xyz() {
            assert!((p[0].hypot(p[1]) - 0.5).abs() < 1e-6 && p[2].abs() <= 1.5);
        }
        let half = [0.5, 1.0, 1.5];
        let mut faces = [0; 3];
        for p in cuboid(n, [1.0, 2.0, 3.0], 1).points().iter_xyz() {
            let on = (0..3).filter(|&k| p[k].abs() == half[k]).collect::<Vec<_>>();
            assert!(!on.is_empty() && (0..3).all(|k| p[k].abs() <= half[k]));
            faces[on[0]] += 1;
        }
        // Areas 6, 3, 2 of 11.
        assert!((faces[0] as f64 / n as f64 - 6.0 / 11.0).abs() < 0.03, "{faces:?}");
    }

    #[test]
    fn a_longer_cloud_starts_with_the_shorter() {
        let (short, long) = (sphere(10, 1.0, 5), sphere(20, 1.0, 5));
        assert_eq!(short.data(), &long.data()[..30]);
        assert_ne!(short, sphere(10, 1.0, 6));
        assert!(sphere(0, 1.0, 5).is_empty());
    }
}
