//! The covariance of a pose as `nav_msgs` counts it: x, y, z of the origin of the child frame, then
//! rotations about the fixed axes x, y, z of the parent frame.

use pointmill::Pose;

type Matrix<const N: usize> = [[f64; N]; N];

/// Of the covariance of a translation and a rotation vector about `pivot`: that of a pose whose
/// origin is at `at`, in the frame that `turn` turns the axes to.
pub(super) fn of_twist(covariance: &Matrix<6>, pivot: [f64; 3], at: [f64; 3], turn: &Matrix<3>) -> Matrix<6> {
    let lever = [0, 1, 2].map(|axis| at[axis] - pivot[axis]);
    congruent(&adjoint(turn, lever), covariance)
}

/// Of the covariance of x, y, z, roll, pitch, yaw of a pose `from`: that of a pose that is fixed to
/// it, and whose origin is at `at`.
pub(super) fn of_xyzrpy(covariance: &Matrix<6>, from: &Pose, at: [f64; 3]) -> Matrix<6> {
    let [x, y, z, roll, pitch, _] = from.xyzrpy();
    let ((sr, cr), (sp, cp)) = (roll.sin_cos(), pitch.sin_cos());
    let mut rates = [[0.0; 6]; 6];
    (0..3).for_each(|axis| rates[axis][axis] = 1.0);
    // The rotation is Rx(roll) * Ry(pitch) * Rz(yaw).
    let rotation = [[1.0, 0.0, sp], [0.0, cr, -sr * cp], [0.0, sr, cr * cp]];
    (0..3).for_each(|row| rates[row + 3][3..].copy_from_slice(&rotation[row]));
    of_twist(&congruent(&rates, covariance), [x, y, z], at, &Pose::IDENTITY.rotation())
}

/// How a twist about a point is one about another point, `lever` away, in turned axes.
fn adjoint(turn: &Matrix<3>, [x, y, z]: [f64; 3]) -> Matrix<6> {
    // The rotation w moves the lever by w x lever.
    let cross = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]];
    let mut all = [[0.0; 6]; 6];
    for (row, column) in (0..9).map(|i| (i / 3, i % 3)) {
        all[row][column] = turn[row][column];
        all[row + 3][column + 3] = turn[row][column];
        all[row][column + 3] = (0..3).map(|k| turn[row][k] * cross[k][column]).sum();
    }
    all
}

/// A C Aᵀ, symmetric to the bit.
fn congruent(a: &Matrix<6>, c: &Matrix<6>) -> Matrix<6> {
    let product = |x: &Matrix<6>, y: &dyn Fn(usize, usize) -> f64| -> Matrix<6> {
        std::array::from_fn(|i| std::array::from_fn(|j| (0..6).map(|k| x[i][k] * y(k, j)).sum()))
    };
    let half = product(a, &|k, j| c[k][j]);
    let all = product(&half, &|k, j| a[j][k]);
    std::array::from_fn(|i| std::array::from_fn(|j| 0.5 * (all[i][j] + all[j][i])))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A covariance of full rank.
    fn some() -> Matrix<6> {
        let root: Matrix<6> =
            std::array::from_fn(|i| std::array::from_fn(|j| ((7 * i + 3 * j) % 5) as f64 * 0.1 + 0.2));
        let mut all = congruent(&root, &std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j)))));
        (0..6).for_each(|i| all[i][i] += 0.5);
        all
    }

    /// The Jacobian of `of` at 0 by differences: x, y, z of the origin, then the rotation vector.
    fn jacobian(of: impl Fn([f64; 6]) -> Pose) -> Matrix<6> {
        let (h, start) = (1e-6, of([0.0; 6]));
        let columns: [[f64; 6]; 6] = std::array::from_fn(|k| {
            let by = |sign: f64| of(std::array::from_fn(|i| if i == k { sign * h } else { 0.0 }));
            let (plus, minus) = (by(1.0), by(-1.0));
            let turn = |pose: &Pose| pose.compose(&start.inverse()).rotation_vector();
            let (a, b) = (turn(&plus), turn(&minus));
            std::array::from_fn(|i| match i {
                0..3 => (plus.translation()[i] - minus.translation()[i]) / (2.0 * h),
                _ => (a[i - 3] - b[i - 3]) / (2.0 * h),
            })
        });
        std::array::from_fn(|i| std::array::from_fn(|j| columns[j][i]))
    }

    fn assert_near(a: &Matrix<6>, b: &Matrix<6>) {
        for (x, y) in a.as_flattened().iter().zip(b.as_flattened()) {
            assert!((x - y).abs() < 1e-6 * (1.0 + y.abs()), "{a:?}\n{b:?}");
        }
    }

    #[test]
    fn a_twist_about_a_pivot_moves_the_origin_by_its_lever() {
        let (pivot, pose) = ([3.0, -2.0, 1.0], Pose::from_xyzrpy([10.0, 4.0, 2.0, 0.3, -0.2, 1.1]).unwrap());
        let world = Pose::from_xyzrpy([1.0, 2.0, 3.0, -0.4, 0.5, 2.0]).unwrap();
        let about = Pose::from_translation(pivot);
        let moved = |[x, y, z, a, b, c]: [f64; 6]| {
            let turn = about.compose(&Pose::exp(&[0.0, 0.0, 0.0, a, b, c])).compose(&about.inverse());
            world.compose(&Pose::from_translation([x, y, z]).compose(&turn).compose(&pose))
        };
        let wanted = congruent(&jacobian(moved), &some());
        assert_near(&of_twist(&some(), pivot, pose.translation(), &world.rotation()), &wanted);
    }

    #[test]
    fn angles_become_rotations_about_fixed_axes() {
        let start = [10.0, 4.0, 2.0, 0.3, -0.6, 2.1];
        let (sensor, fixed) =
            (Pose::from_xyzrpy(start).unwrap(), Pose::from_xyzrpy([0.5, 0.1, -1.7, 0.1, 0.0, 0.3]).unwrap());
        let moved =
            |by: [f64; 6]| Pose::from_xyzrpy(std::array::from_fn(|i| start[i] + by[i])).unwrap().compose(&fixed);
        let wanted = congruent(&jacobian(moved), &some());
        assert_near(&of_xyzrpy(&some(), &sensor, sensor.compose(&fixed).translation()), &wanted);
    }
}
