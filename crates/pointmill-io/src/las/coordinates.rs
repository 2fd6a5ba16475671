//! What the header says of all coordinates: the box they lie in, and their decimals.

use super::header::Header;

impl Header {
    /// The box of the header and a step around it, for the rounding of writers; `None` where the
    /// header gives none.
    pub(super) fn bbox(&self) -> Option<[[f64; 3]; 2]> {
        let boxed = (0..3).all(|axis| self.min[axis] <= self.max[axis]);
        let around =
            |corner: [f64; 3], sign: f64| std::array::from_fn(|axis| corner[axis] + sign * self.scale[axis].abs());
        boxed.then(|| [around(self.min, -1.0), around(self.max, 1.0)])
    }

    /// The decimals of all coordinates, where the scales are decimal numbers and the offsets have
    /// no more decimals.
    pub(super) fn decimals(&self) -> Option<u8> {
        let of = |axis: usize| {
            let is_of = |n: i32| {
                let steps = 10_f64.powi(n);
                let whole = (self.scale[axis] * steps).round();
                whole >= 1.0 && self.scale[axis] == whole / steps
            };
            let decimals = (0..=9).find(|&n| is_of(n))?;
            let shift = self.shift[axis] * 10_f64.powi(decimals);
            (shift.fract() == 0.0).then_some(decimals as u8)
        };
        (0..3).map(of).reduce(|a, b| Some(a?.max(b?)))?
    }
}
