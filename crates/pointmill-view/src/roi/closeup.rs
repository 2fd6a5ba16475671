//! Which boxes are shown near, and from where.

use super::RoiView;
use crate::Camera;
use crate::boxes::Solid;
use pointmill_core::trig::sin_cos;
use std::collections::HashSet;

/// A box worth looking at.
#[derive(Clone, Debug)]
pub(super) struct Closeup {
    pub(super) index: usize,
    pub(super) row: [f32; 7],
    /// How many points are drawn in it, and in how many voxels.
    pub(super) points: usize,
    pub(super) voxels: usize,
    /// The mean of its points.
    mean: [f64; 2],
}

/// Width of what the camera sees, degrees.
const FIELD: f32 = 28.0;
/// Boxes larger than this are not shown near, metres.
const LARGEST: f32 = 1000.0;

/// The boxes with the most points, `count` at most, no two of them in the same place.
pub(super) fn choose(scene: &RoiView, count: usize) -> Vec<Closeup> {
    let mut counts = vec![0usize; scene.boxes.len()];
    for i in 0..scene.points.len() {
        if let Some((b, _)) = scene.voxel(i) {
            counts[b] += 1;
        }
    }
    let mut order: Vec<usize> = (0..counts.len()).filter(|&b| counts[b] > 0 && is_plain(&scene.boxes[b])).collect();
    order.sort_by_key(|&b| core::cmp::Reverse(counts[b]));
    let mut chosen: Vec<usize> = Vec::new();
    for b in order {
        if chosen.len() < count && chosen.iter().all(|&c| apart(&scene.boxes[b], &scene.boxes[c])) {
            chosen.push(b);
        }
    }
    chosen.into_iter().map(|b| closeup(scene, b, counts[b])).collect()
}

/// A box that a camera can stand in front of.
fn is_plain(row: &[f32; 7]) -> bool {
    row.iter().all(|v| v.abs() < 1e6) && row[3..6].iter().all(|&v| v > 1e-3 && v < LARGEST)
}

/// Whether two boxes are different things, not proposals for one.
fn apart(a: &[f32; 7], b: &[f32; 7]) -> bool {
    let (x, y) = (a[0] - b[0], a[1] - b[1]);
    let near = 0.5 * a[3].max(a[4]).max(b[3]).max(b[4]);
    x * x + y * y > near * near
}

fn closeup(scene: &RoiView, index: usize, points: usize) -> Closeup {
    let mut voxels = HashSet::new();
    let mut sum = [0.0; 2];
    for i in 0..scene.points.len() {
        if let Some((b, voxel)) = scene.voxel(i)
            && b == index
        {
            voxels.insert(voxel);
            let p = scene.points.xyz(i);
            (0..2).for_each(|k| sum[k] += f64::from(p[k]));
        }
    }
    let mean = sum.map(|s| s / points as f64);
    Closeup { index, row: scene.boxes[index], points, voxels: voxels.len(), mean }
}

impl Closeup {
    /// The signs of the box's front and left towards the corner that most points are at.
    pub(super) fn corner(&self) -> [f32; 2] {
        let (s, c) = sin_cos(self.row[6]);
        let (along, left) = (self.mean[0] as f32 - self.row[0], self.mean[1] as f32 - self.row[1]);
        [along * c + left * s, left * c - along * s].map(|v| if v < 0.0 { -1.0 } else { 1.0 })
    }

    /// From above that corner, so far away that the box fills the panel.
    pub(super) fn camera(&self, width: u32, height: u32) -> Camera {
        let [x, y, z, dx, dy, dz, heading] = self.row;
        let (s, c) = sin_cos(heading);
        let [along, left] = self.corner();
        // From the longer side rather than from an end.
        let (u, v) = (0.62 * along, 0.78 * left);
        let away = [u * c - v * s, u * s + v * c, 0.44];
        let camera =
            |distance: f32| Camera::perspective([0, 1, 2].map(|k| self.row[k] + distance * away[k]), [x, y, z], FIELD);
        let fits = |distance: f32| {
            let view = camera(distance).view(width, height);
            let edges =
                [0.07 * f64::from(width), 0.93 * f64::from(width), 0.09 * f64::from(height), 0.9 * f64::from(height)];
            Solid::new(self.row).is_some_and(|solid| {
                solid.corners().all(|corner| {
                    view.project(corner)
                        .is_some_and(|p| (edges[0]..edges[1]).contains(&p.x) && (edges[2]..edges[3]).contains(&p.y))
                })
            })
        };
        let size = dx + dy + dz;
        // Not at the eye, however small the box is.
        let (mut near, mut far) = (0.0, (10.0 * size).max(2.0));
        for _ in 0..20 {
            let half = 0.5 * (near + far);
            if fits(half) { far = half } else { near = half }
        }
        camera(far)
    }

    /// Fewer points are drawn larger; pixels of a panel of twice the size.
    pub(super) const fn point_size(&self) -> u32 {
        match self.points {
            0..500 => 10,
            500..2000 => 8,
            _ => 6,
        }
    }

    /// Whether a point belongs to the picture though not to the box.
    pub(super) fn surrounds(&self, p: [f32; 3]) -> bool {
        let [x, y, z, dx, dy, dz, _] = self.row;
        let (x, y) = (p[0] - x, p[1] - y);
        let far = 0.5 * (dx + dy);
        x * x + y * y < far * far && (p[2] - z).abs() < dz
    }
}
