//! Whether scan and map determine a pose.

use super::cpu;
use super::sample::mixed;
use crate::{Result, memory};
use pointmill_core::linear::{Square, eigen};
use pointmill_core::ndt::{NdtHold, NdtLimits};
use pointmill_core::rigid::{Rigid, add, cross, dot, subtract};

/// Directions whose stiffness is at most this part of the greatest are not determined. Cells say
/// little of shifts along the surface that they are part of: only their normals count. Edges of a
/// corridor give a part of up to 1e-3; streets and buildings give 0.02 and more once enough points are seen.
const DETERMINED: f64 = 3e-3;
/// Points after which the normals are looked at for the first time; then after twice as many.
const FIRST: usize = 32;

/// What meets the map at a pose.
#[derive(Default)]
struct Met {
    /// Places, each with a direction across the surface there.
    normals: Vec<([f64; 3], [f64; 3])>,
    sum: [f64; 3],
}

/// Whether the surfaces that points of a scan meet at a pose determine all six directions, together
/// with what holds the pose.
pub(super) fn is_determined(map: &cpu::Grid, sample: &[[f64; 3]], pose: &Rigid, limits: &NdtLimits) -> Result<bool> {
    let mut met = Met::default();
    let mut next = FIRST;
    for (i, p) in mixed(sample).enumerate() {
        let x = pose.apply(p);
        if let Some(normal) = map.normal_around(x) {
            memory::push(&mut met.normals, (x, normal))?;
            met.sum = add(met.sum, x);
        }
        if i + 1 == next {
            if met.is_determined(pose, &limits.hold) {
                return Ok(true);
            }
            next *= 2;
        }
    }
    Ok(met.is_determined(pose, &limits.hold))
}

impl Met {
    fn is_determined(&self, pose: &Rigid, hold: &NdtHold) -> bool {
        let n = self.normals.len() as f64;
        if n == 0.0 {
            return false;
        }
        let middle = self.sum.map(|x| x / n);
        let arms = |x: [f64; 3]| subtract(x, middle);
        let squares: f64 = self.normals.iter().map(|(x, _)| dot(arms(*x), arms(*x))).sum();
        // Turns in metres, so that they compare with shifts.
        let length = (squares / n).sqrt();
        let mut stiffness = [[0.0; 6]; 6];
        let mut count = |arm: [f64; 3], along: [f64; 3], weight: f64| {
            let turn = cross(arm, along).map(|x| if length > 0.0 { x / length } else { 0.0 });
            let row = [along[0], along[1], along[2], turn[0], turn[1], turn[2]];
            (0..36).for_each(|k| stiffness[k / 6][k % 6] += weight * row[k / 6] * row[k % 6]);
        };
        self.normals.iter().for_each(|(x, normal)| count(arms(*x), *normal, 1.0));
        if hold.weight > 0.0 {
            count(arms(pose.translation), [hold.along[0], hold.along[1], 0.0], n);
        }
        let (values, _): ([f64; 6], Square<6>) = eigen(&stiffness);
        values[0] > DETERMINED * values[5]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(normals: Vec<([f64; 3], [f64; 3])>) -> Met {
        let sum = normals.iter().fold([0.0; 3], |sum, (x, _)| add(sum, *x));
        Met { normals, sum }
    }

    #[test]
    fn three_walls_determine_a_pose_wherever_they_are_and_a_plane_none() {
        let (mut plane, mut room) = (Vec::new(), Vec::new());
        for i in 0..100 {
            let (a, b) = (f64::from(i % 10) + 5e5, f64::from(i / 10) + 4e6);
            plane.push(([a, b, 0.0], [0.0, 0.0, 1.0]));
            room.extend([([a, b, 0.0], [0.0, 0.0, 1.0]), ([5e5, b, a - 5e5], [1.0, 0.0, 0.0])]);
            room.push(([a, 4e6, b - 4e6], [0.0, 1.0, 0.0]));
        }
        let corridor = room.iter().copied().filter(|(_, normal)| normal[0] == 0.0).collect();
        let [plane, room, corridor] = [plane, room, corridor].map(met);
        let free = NdtHold::default();
        let held = NdtHold { along: [1.0, 0.0], weight: 1.0, ..free };
        let pose = Rigid { rotation: Rigid::IDENTITY.rotation, translation: [5e5, 4e6, 0.0] };
        assert!(room.is_determined(&pose, &free) && !plane.is_determined(&pose, &held));
        assert!(!corridor.is_determined(&pose, &free) && corridor.is_determined(&pose, &held));
        assert!(!Met::default().is_determined(&pose, &free));
        let one = met(vec![([1.0; 3], [0.0, 0.0, 1.0]), ([1.0; 3], [1.0, 0.0, 0.0]), ([1.0; 3], [0.0, 1.0, 0.0])]);
        assert!(!one.is_determined(&pose, &free), "a point does not hold a turn about it");
    }
}
