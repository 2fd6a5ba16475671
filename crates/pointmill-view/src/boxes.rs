//! Oriented boxes.

use pointmill_core::trig::sin_cos;

type V3 = [f64; 3];

/// A box as its centre and the vectors from there to the middles of its front, left and upper face.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Solid {
    pub(crate) centre: V3,
    pub(crate) axes: [V3; 3],
}

impl Solid {
    /// `None` for what holds nothing.
    pub(crate) fn new(row: [f32; 7]) -> Option<Self> {
        if !row.iter().all(|v| v.is_finite()) || !row[3..6].iter().all(|&v| v > 0.0) {
            return None;
        }
        let (s, c) = sin_cos(row[6]);
        let [cx, cy, cz, dx, dy, dz, _] = row.map(f64::from);
        let (s, c) = (f64::from(s), f64::from(c));
        let axes = [[c * dx / 2.0, s * dx / 2.0, 0.0], [-s * dy / 2.0, c * dy / 2.0, 0.0], [0.0, 0.0, dz / 2.0]];
        Some(Self { centre: [cx, cy, cz], axes })
    }

    /// Its length, width or height.
    pub(crate) fn length(&self, axis: usize) -> f64 {
        2.0 * self.axes[axis].iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    /// Its eight corners.
    pub(crate) fn corners(&self) -> impl Iterator<Item = V3> {
        (0..8).map(|k| self.at([0, 1, 2].map(|axis| if k >> axis & 1 == 0 { -1.0 } else { 1.0 })))
    }

    /// The point so many half lengths, half widths and half heights from the centre.
    pub(crate) fn at(&self, t: V3) -> V3 {
        [0, 1, 2].map(|k| self.centre[k] + t[0] * self.axes[0][k] + t[1] * self.axes[1][k] + t[2] * self.axes[2][k])
    }

    /// The lines between the voxels of a face, which is at an end of an axis: two lines to and fro.
    pub(crate) fn grid(&self, axis: usize, side: f64, voxels: [u32; 3]) -> [Vec<V3>; 2] {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        [(u, v), (v, u)].map(|(along, across)| {
            let ends = |k: u32| if k.is_multiple_of(2) { [-1.0, 1.0] } else { [1.0, -1.0] };
            let at = |k: u32, end: f64| {
                let mut at = [side; 3];
                (at[along], at[across]) = (end, 2.0 * f64::from(k) / f64::from(voxels[across].max(1)) - 1.0);
                self.at(at)
            };
            (0..=voxels[across]).flat_map(|k| ends(k).map(|end| at(k, end))).collect()
        })
    }
}
