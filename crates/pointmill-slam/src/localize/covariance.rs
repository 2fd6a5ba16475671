//! How uncertain a fix is.

use super::params::{CovarianceMethod, LocalizerParams};
use pointmill::ndt::{NdtGrid, NdtRegistration};
use pointmill::{Pose, Result, Rows};
use pointmill_core::float::exp;
use pointmill_core::linear::Square;

/// Metres beside a fix, ahead and to the left, where others start or are scored: Autoware's.
const OFFSETS: [[f64; 2]; 8] =
    [[0.5, 0.0], [-0.5, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -0.5], [0.0, 1.0], [0.0, -1.0]];
/// Likelihoods that differ by this have weights that differ by a factor of e: Autoware's.
const TEMPERATURE: f64 = 0.05;
/// The second derivatives take the points of a cell for independent; errors are larger by this
/// factor.
const DEPENDENCE: f64 = 1.5;
/// Standard deviations that the cells add, since each stands for all its points and other scans see
/// others of them: of x, y and z as a part of a cell's edge; of roll, pitch and yaw in radians.
/// These and the factor are measured on drives with known poses.
const CELL_ERROR: f64 = 0.003;
const ANGLE_ERRORS: [f64; 3] = [2e-4, 2e-4, 6e-4];

/// The uncertainty of a fix, by the method of the parameters; none where its Hessian has no
/// inverse.
pub(super) fn covariance(
    grid: &NdtGrid,
    scan: Rows<'_>,
    fix: &NdtRegistration,
    params: &LocalizerParams,
) -> Result<Option<Square<6>>> {
    let Some(inverse) = fix.covariance else { return Ok(None) };
    let laplace = inverse.map(|row| row.map(|x| DEPENDENCE * DEPENDENCE * x));
    let pose = &fix.target_from_source;
    let others = OFFSETS.map(|[x, y]| pose.compose(&Pose::from_translation([x, y, 0.0])));
    let (places, weights): (Vec<Pose>, Vec<f64>) = match params.covariance {
        CovarianceMethod::Laplace => (Vec::new(), Vec::new()),
        CovarianceMethod::MultiNdt => {
            let found = grid.align(scan, &others, &params.align)?;
            // The mean is one of the unknowns: n - 1 in place of n.
            let weight = 1.0 / OFFSETS.len() as f64;
            std::iter::once(*pose).chain(found.iter().map(|one| one.target_from_source)).map(|p| (p, weight)).unzip()
        }
        CovarianceMethod::MultiNdtScore => {
            let all: Vec<Pose> = std::iter::once(*pose).chain(others).collect();
            let fits = grid.score(scan, &all)?;
            let greatest = fits.iter().map(|fit| fit.nvtl).fold(0.0, f64::max);
            let weights: Vec<f64> = fits.iter().map(|fit| exp((fit.nvtl - greatest) / TEMPERATURE)).collect();
            let sum: f64 = weights.iter().sum();
            (all, weights.into_iter().map(|weight| weight / sum).collect())
        }
    };
    let mut all = laplace;
    if !places.is_empty() {
        let plane = spread(&places, &weights);
        (0..4).for_each(|k| all[k / 2][k % 2] += plane[k / 2][k % 2]);
    }
    let metres = CELL_ERROR * grid.lattice().unit();
    for (k, row) in all.iter_mut().enumerate() {
        let error = if k < 3 { metres } else { ANGLE_ERRORS[k - 3] };
        row[k] += error * error;
    }
    Ok(Some(all))
}

/// The weighted sum of squares of x and y about their weighted mean.
fn spread(places: &[Pose], weights: &[f64]) -> Square<2> {
    let sum: f64 = weights.iter().sum();
    let mut mean = [0.0; 2];
    for (place, weight) in places.iter().zip(weights) {
        let t = place.translation();
        (0..2).for_each(|k| mean[k] += weight * t[k] / sum);
    }
    let mut out = [[0.0; 2]; 2];
    for (place, weight) in places.iter().zip(weights) {
        let t = place.translation();
        let d = [t[0] - mean[0], t[1] - mean[1]];
        (0..4).for_each(|k| out[k / 2][k % 2] += weight * (d[k / 2] * d[k % 2]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_about_the_weighted_mean() {
        let places = [[0.0, 0.0], [2.0, 0.0], [0.0, 4.0]].map(|[x, y]| Pose::from_translation([x, y, 9.0]));
        let even = spread(&places, &[0.5; 3]);
        // About (2/3, 4/3), over n - 1 = 2.
        assert!((even[0][0] - 4.0 / 3.0).abs() < 1e-12 && (even[1][1] - 16.0 / 3.0).abs() < 1e-12);
        assert!((even[0][1] + 4.0 / 3.0).abs() < 1e-12 && even[0][1] == even[1][0]);
        assert_eq!(spread(&places, &[1.0, 0.0, 0.0]), [[0.0; 2]; 2]);
    }
}
