//! Colours that tell a voxel from its neighbours.

use crate::colour::{scaled, turbo};

/// How bright voxels of even and odd iz, ix and iy are, in steps: a voxel's 26 neighbours have the
/// other seven.
const STEPS: [[[u8; 2]; 2]; 2] = [[[7, 1], [3, 5]], [[4, 6], [0, 2]]];
/// The darkest, and how much a step adds.
const DARKEST: f64 = 0.44;
const STEP: f64 = 0.08;

/// (ix, iy, iz) of a voxel by its id `(ix * oy + iy) * oz + iz`.
pub(super) fn cell(voxel: u32, [_, oy, oz]: [u32; 3]) -> [u32; 3] {
    let (oy, oz) = (oy.max(1), oz.max(1));
    [voxel / oz / oy, voxel / oz % oy, voxel % oz]
}

/// The colour of a voxel by its id: from blue below to orange above, light and dark in turn.
pub(super) fn colour(voxel: u32, out_size: [u32; 3]) -> [u8; 3] {
    let [ix, iy, iz] = cell(voxel, out_size);
    let height = (iz as f32 + 0.5) / out_size[2].max(1) as f32;
    let step = STEPS[(iz & 1) as usize][(ix & 1) as usize][(iy & 1) as usize];
    scaled(turbo(0.12 + 0.68 * height), DARKEST + STEP * f64::from(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_differ() {
        let out = [5, 4, 12];
        let id = |x: u32, y: u32, z: u32| (x * out[1] + y) * out[2] + z;
        let around = |v: u32, n: u32| v.saturating_sub(1)..(v + 2).min(n);
        for voxel in 0..id(4, 3, 11) + 1 {
            let (z, y, x) = (voxel % 12, voxel / 12 % 4, voxel / 48);
            for a in around(x, 5) {
                for b in around(y, 4) {
                    for c in around(z, 12) {
                        let other = id(a, b, c);
                        let (p, q) = (colour(voxel, out), colour(other, out));
                        let most = (0..3).map(|k| p[k].abs_diff(q[k])).max();
                        assert!(other == voxel || most >= Some(12), "{voxel} {p:?}, {other} {q:?}");
                    }
                }
            }
        }
        colour(u32::MAX, [0; 3]);
    }
}
