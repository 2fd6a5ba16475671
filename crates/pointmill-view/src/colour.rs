//! What colour a point has.

use pointmill_core::Points;

/// How points are coloured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Colour {
    /// One colour.
    Constant([u8; 3]),
    /// By z, from `low` to `high` metres.
    Height {
        /// Height of the first colour.
        low: f32,
        /// Height of the last colour.
        high: f32,
    },
    /// By a column of the cloud (3 is often the intensity), from `low` to `high`, dark to bright.
    Column {
        /// Which column, from 0. A cloud that has no such column is drawn at `low`.
        column: usize,
        /// Value of the darkest colour.
        low: f32,
        /// Value of the brightest colour.
        high: f32,
    },
    /// By z, and brighter where a column is higher: heights and road markings in one picture.
    HeightAndColumn {
        /// Height of the first colour.
        low: f32,
        /// Height of the last colour.
        high: f32,
        /// Which column. A cloud that has no such column is drawn at full brightness.
        column: usize,
        /// Value of full brightness; 0 is the darkest.
        full: f32,
    },
}

impl Colour {
    /// The colour of point `i`.
    pub(crate) fn of(&self, points: &Points, i: usize) -> [u8; 3] {
        let row = points.row(i);
        match *self {
            Self::Constant(colour) => colour,
            Self::Height { low, high } => turbo(share(row[2], low, high)),
            Self::Column { column, low, high } => {
                // The dark end of the map is as dark as the background.
                turbo(0.08 + 0.84 * row.get(column).map_or(0.0, |&v| share(v, low, high)))
            }
            Self::HeightAndColumn { low, high, column, full } => {
                let light = row.get(column).map_or(1.0, |&v| share(v, 0.0, full));
                // The square root lifts dark surfaces, most of a street, off the background.
                scaled(turbo(0.13 + 0.74 * share(row[2], low, high)), 0.5 + 0.5 * f64::from(light).sqrt())
            }
        }
    }
}

/// Where `v` is between `low` and `high`, 0..1; 0 for what is not a number.
fn share(v: f32, low: f32, high: f32) -> f32 {
    let s = (v - low) / (high - low);
    if s.is_nan() { 0.0 } else { s.clamp(0.0, 1.0) }
}

/// A colour made darker, `light` from 0 to 1.
pub(crate) fn scaled(colour: [u8; 3], light: f64) -> [u8; 3] {
    colour.map(|c| (f64::from(c) * light + 0.5) as u8)
}

/// A colour `light` of the way from the background to itself.
pub(crate) fn faded(colour: [u8; 3], light: f64) -> [u8; 3] {
    let mut out = colour;
    for k in 0..3 {
        let back = f64::from(crate::BACKGROUND[k]);
        out[k] = (back + (f64::from(colour[k]) - back) * light + 0.5) as u8;
    }
    out
}

/// The Turbo colour map at `t` from 0 (dark blue) over green to 1 (dark red), by its authors' polynomial.
///
/// Source: A. Mikhailov, "Turbo, an improved rainbow colormap", 2019; the approximation of degree 5 published with it.
///
/// ```
/// let [r, g, b] = pointmill_view::turbo(0.5);
/// assert!(g > r && g > b);
/// ```
pub fn turbo(t: f32) -> [u8; 3] {
    const RGB: [[f64; 6]; 3] = [
        [0.135_721_38, 4.615_392_60, -42.660_322_58, 132.131_082_34, -152.942_393_96, 59.286_379_43],
        [0.091_402_61, 2.194_188_39, 4.842_966_58, -14.185_033_33, 4.277_298_57, 2.829_566_04],
        [0.106_673_30, 12.641_946_08, -60.582_048_36, 110.362_767_71, -89.903_109_12, 27.348_249_73],
    ];
    let t = if t.is_nan() { 0.0 } else { f64::from(t.clamp(0.0, 1.0)) };
    RGB.map(|c| {
        let v = c.iter().rev().fold(0.0, |sum, c| sum * t + c);
        (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turbo_runs_from_blue_to_red() {
        let [r, g, b] = turbo(0.1);
        assert!(b > r && b > g);
        let [r, g, b] = turbo(0.9);
        assert!(r > g && r > b);
        assert_eq!(turbo(f32::NAN), turbo(-3.0));
    }

    #[test]
    fn missing_columns_and_empty_ranges_are_no_error() {
        let data = [0.0, 0.0, f32::NAN];
        let points = Points::new(&data, 3).unwrap();
        for colour in [
            Colour::Height { low: 1.0, high: 1.0 },
            Colour::Column { column: 7, low: 0.0, high: f32::NAN },
            Colour::HeightAndColumn { low: 2.0, high: 1.0, column: 9, full: 0.0 },
        ] {
            colour.of(&points, 0);
        }
    }
}
