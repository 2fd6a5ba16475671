//! How far a cloud's ground is from level.

use pointmill_core::eigen::{ENTRIES, eigen};
use pointmill_core::icp::neighbourhood::is_normal;
use pointmill_core::rigid::{dot, wide};

/// Least cosine of the angle between two directions that stand for up: of 10 degrees.
const LEAST_COSINE: f64 = 0.9848;
/// The ground's normals are looked for up to 40 degrees from z, then 25 and 15 from the mean of
/// those that were found: cosines.
const WITHIN: [f64; 3] = [0.766, 0.906, 0.966];
/// Least share of all normals that must be the ground's.
const LEAST_SHARE: f64 = 0.1;

/// Whether two directions that stand for up differ by more than 10 degrees.
pub(super) fn is_tilted(cosine: f64) -> bool {
    cosine < LEAST_COSINE
}

/// The cosine of the angle between z and the normal of the ground; none where too few normals
/// agree on one.
pub(super) fn of_ground(normals: &[[f32; 3]]) -> Option<f64> {
    let all = || normals.iter().filter(|n| is_normal(**n)).map(|n| wide(*n));
    let mut up = [0.0, 0.0, 1.0];
    let mut found = 0;
    for least in WITHIN {
        let mut products = [0.0; 6];
        found = 0;
        for n in all().filter(|n| dot(*n, up).abs() >= least) {
            for (product, (i, j)) in products.iter_mut().zip(ENTRIES) {
                *product += n[i] * n[j];
            }
            found += 1;
        }
        if found == 0 {
            return None;
        }
        up = eigen(products).vectors[2];
    }
    (f64::from(found) >= LEAST_SHARE * all().count() as f64).then(|| up[2].abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normals of a floor and of two walls, the floor turned about x by the angle of a sine.
    fn room(sine: f32) -> Vec<[f32; 3]> {
        let cosine = (1.0 - sine * sine).sqrt();
        let floor = [0.0, -sine, cosine];
        (0..300).map(|i| [floor, [1.0, 0.0, 0.0], [0.0, cosine, sine], [0.0; 3]][i % 4]).collect()
    }

    #[test]
    fn the_floor_is_found_among_walls() {
        for sine in [0.0, 0.1, -0.17, 0.3, 0.5] {
            let cosine = of_ground(&room(sine)).unwrap();
            assert!((cosine - (1.0 - f64::from(sine).powi(2)).sqrt()).abs() < 1e-6, "{sine}: {cosine}");
            assert_eq!(is_tilted(cosine), sine > 0.2, "{sine}");
        }
    }

    #[test]
    fn walls_alone_and_nothing_have_no_ground() {
        assert_eq!(of_ground(&[]), None);
        assert_eq!(of_ground(&[[0.0; 3]; 9]), None);
        assert_eq!(of_ground(&[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), None);
        let mut few = vec![[0.0, 1.0, 0.0]; 99];
        few.push([0.0, 0.0, 1.0]);
        assert_eq!(of_ground(&few), None);
    }
}
