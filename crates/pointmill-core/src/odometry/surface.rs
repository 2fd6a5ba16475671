//! The surface about a point of the map.

use super::cells::{gap_to, squared};
use crate::icp::neighbourhood::Neighbourhood;

/// Points that a normal is made from at most, and at least.
const NEIGHBOURS: usize = 12;
const FEWEST: u32 = 5;
/// A neighbourhood is no surface if its least spread is more than this part of the second.
const FLAT: f64 = 0.25;

/// The normal of a point's surface; zeros where there is none.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Normal {
    /// Of length one; its sign is not said.
    pub direction: [f32; 3],
    /// The variance of its tilt, in radians squared, that the scatter of the points about the
    /// surface gives.
    pub tilt: f32,
}

/// The nearest points about a point, itself included; of equally near ones those that were offered
/// first.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    at: [f32; 3],
    near: [(f32, [f32; 3]); NEIGHBOURS],
    n: u32,
}

impl Near {
    /// Of points within a distance.
    #[inline(always)]
    pub const fn new(at: [f32; 3], within: f32) -> Self {
        Self { at, near: [(within * within, [0.0; 3]); NEIGHBOURS], n: 0 }
    }

    /// Whether points of the cell that is `by` beside can be among the nearest.
    #[inline(always)]
    pub fn reaches(&self, by: [i32; 3], size: f32) -> bool {
        gap_to(self.at, by, size) <= self.near[NEIGHBOURS - 1].0
    }

    /// A point by its offset from the corner of the cell.
    #[inline(always)]
    pub fn offer(&mut self, p: [f32; 3]) {
        let mut carried = (squared(p, self.at), p);
        if carried.0 >= self.near[NEIGHBOURS - 1].0 {
            return;
        }
        self.n += 1;
        let mut placed = false;
        let mut k = 0;
        while k < NEIGHBOURS {
            placed |= carried.0 < self.near[k].0;
            if placed {
                (self.near[k], carried) = (carried, self.near[k]);
            }
            k += 1;
        }
    }

    /// The normal of the points' surface.
    #[inline(always)]
    pub fn surface(&self) -> Normal {
        let none = Normal { direction: [0.0; 3], tilt: 0.0 };
        if self.n < FEWEST {
            return none;
        }
        let mut neighbourhood = Neighbourhood::default();
        let mut n = 0;
        while n < NEIGHBOURS {
            if (n as u32) < self.n {
                neighbourhood.add(self.at, self.near[n].1);
            }
            n += 1;
        }
        let n = if self.n < NEIGHBOURS as u32 { self.n } else { NEIGHBOURS as u32 };
        let Some(of) = neighbourhood.plane() else { return none };
        let [least, second, _] = of.values;
        if least > FLAT * second {
            return none;
        }
        let v = of.vectors[0];
        let least = if least > 0.0 { least } else { 0.0 };
        Normal { direction: [v[0] as f32, v[1] as f32, v[2] as f32], tilt: (least / (second * n as f64)) as f32 }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_nearest_are_kept_in_order(values in prop::collection::vec(0u8..12, 0..60)) {
            // Few distances, so that many are equal; y tells which was offered first.
            let points: std::vec::Vec<[f32; 3]> = values.iter().zip(0u8..).map(|(x, i)| [f32::from(*x), f32::from(i) * 1e-6, 0.0]).collect();
            let mut near = Near::new([0.0; 3], 9.5);
            points.iter().for_each(|p| near.offer(*p));
            let mut wanted: std::vec::Vec<_> = points.iter().map(|p| (squared(*p, [0.0; 3]), *p)).filter(|p| p.0 < 9.5 * 9.5).collect();
            wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
            prop_assert!(near.n as usize >= wanted.len().min(NEIGHBOURS));
            let n = wanted.len().min(NEIGHBOURS);
            prop_assert_eq!(&near.near[..n], &wanted[..n]);
        }

        #[test]
        fn planes_have_normals(slope in -2f32..2.0, noise in prop::collection::vec(-1f32..1.0, 12)) {
            let mut near = Near::new([0.0; 3], 9.0);
            for (i, noise) in noise.iter().enumerate() {
                let (x, y) = ((i % 4) as f32 - 1.5, (i / 4) as f32 - 1.0);
                near.offer([x, y, slope * x + 1e-3 * noise]);
            }
            let normal = near.surface();
            let wanted = [-slope, 0.0, 1.0].map(|x| x / (1.0 + slope * slope).sqrt());
            let along: f32 = (0..3).map(|k| wanted[k] * normal.direction[k]).sum();
            prop_assert!(along.abs() > 0.99999 && normal.tilt > 0.0 && normal.tilt < 1e-6, "{normal:?}");
        }
    }

    #[test]
    fn what_is_no_surface_has_no_normal() {
        let of = |points: &[[f32; 3]]| {
            let mut near = Near::new([0.0; 3], 9.0);
            points.iter().for_each(|p| near.offer(*p));
            near.surface()
        };
        let plane = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [2.0, 1.0, 0.0]];
        assert_eq!(of(&plane[..4]), Normal::default());
        assert_eq!(of(&plane).direction.map(f32::abs), [0.0, 0.0, 1.0]);
        assert_eq!(of(&[0.0f32, 1.0, 2.0, 3.0, 4.0].map(|x| [x, 0.0, 0.0])), Normal::default());
        assert_eq!(of(&[[1.0, 2.0, 3.0]; 12]), Normal::default());
        assert_eq!(
            of(&[[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]),
            Normal::default()
        );
    }
}
