//! Motion within a sweep.

use crate::rigid::{add, cross};

/// Terms of the exponential series. A quarter turn in half a sweep is off by 2e-4 of a point's
/// distance, a tenth of that turn by 2e-13.
pub const TERMS: usize = 8;

/// The moment that points are moved to, and the motion a second of the sensor.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// Translation, then rotation vector, in the frame of the sensor.
    pub twist: [f64; 6],
    /// In seconds of the clock of the points.
    pub moment: f64,
}

impl Motion {
    /// Points stay where they are.
    pub const NONE: Self = Self { twist: [0.0; 6], moment: 0.0 };

    /// A point as it is seen from where the sensor is at the moment, by the series of the
    /// exponential map.
    #[inline(always)]
    pub fn apply(&self, p: [f64; 3], time: f64) -> [f64; 3] {
        let t = &self.twist;
        let (v, w) = ([t[0], t[1], t[2]], [t[3], t[4], t[5]]);
        let seconds = time - self.moment;
        let mut term = add(v, cross(w, p));
        term = [seconds * term[0], seconds * term[1], seconds * term[2]];
        let mut to = add(p, term);
        let mut n = 2;
        while n <= TERMS {
            let by = seconds / n as f64;
            term = cross(w, term);
            term = [by * term[0], by * term[1], by * term[2]];
            to = add(to, term);
            n += 1;
        }
        to
    }
}

/// What sample `i` of a sweep adds to a number that tells sweeps apart. The sum wraps around.
#[inline(always)]
pub const fn mark(i: u32, p: [f64; 3]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mark = i as u64;
    let mut k = 0;
    while k < 3 {
        mark = (mark ^ p[k].to_bits()).wrapping_mul(FACTOR);
        mark ^= mark >> 32;
        k += 1;
    }
    mark
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pose;

    #[test]
    fn marks_depend_on_each_number_and_its_place() {
        let p = [1.0, -2.0, 3.5];
        let others = [[1.0 + f64::EPSILON, -2.0, 3.5], [1.0, 2.0, 3.5], [1.0, -2.0, 3.25], [-2.0, 1.0, 3.5]];
        assert!(others.iter().all(|q| mark(7, *q) != mark(7, p)) && mark(8, p) != mark(7, p));
    }

    #[test]
    fn points_move_as_the_exponential_map_says() {
        let p = [30.0, -12.0, 1.5];
        for (speed, within) in [(0.5, 1e-8), (3.0, 5e-3)] {
            let twist = [12.0, -0.3, 0.1, 0.2 * speed, -0.1 * speed, speed];
            for seconds in [-0.5, -0.05, 0.0, 0.02, 0.3] {
                let wanted = Pose::exp(&twist.map(|x| x * seconds)).apply(p);
                let got = Motion { twist, moment: 7.0 }.apply(p, 7.0 + seconds);
                assert!((0..3).all(|k| (got[k] - wanted[k]).abs() < within), "{got:?} {wanted:?}");
            }
        }
        assert_eq!(Motion::NONE.apply(p, 123.0), p);
    }
}
