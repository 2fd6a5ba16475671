//! Colours of heights, of light and of distance.

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

/// The Turbo colour map at `t` from 0 (dark blue) over green to 1 (dark red), by its authors'
/// polynomial.
///
/// Source: A. Mikhailov, "Turbo, an improved rainbow colormap", 2019; the approximation of degree 5
/// published with it.
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

/// Colours of values from low to high, blue over grey to yellow, each brighter than those before:
/// those of a page that its list calls blue to yellow.
pub(crate) fn value_tone(share: f64) -> [u8; 3] {
    const STOPS: [[u8; 3]; 7] = [
        [0x3b, 0x6f, 0xb5],
        [0x5f, 0x83, 0xa8],
        [0x7f, 0x94, 0x9b],
        [0x9f, 0xa6, 0x8d],
        [0xbf, 0xb9, 0x7b],
        [0xdf, 0xcd, 0x62],
        [0xff, 0xe1, 0x3d],
    ];
    let at = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let k = (at as usize).min(STOPS.len() - 2);
    let part =
        |c: usize| f64::from(STOPS[k][c]) + (f64::from(STOPS[k + 1][c]) - f64::from(STOPS[k][c])) * (at - k as f64);
    [0, 1, 2].map(|c| (part(c) + 0.5) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_brighter() {
        let tones: Vec<u32> = (0..=60).map(|i| value_tone(f64::from(i) / 60.0).map(u32::from).iter().sum()).collect();
        assert_eq!([-1.0, 2.0].map(value_tone), [[59, 111, 181], [255, 225, 61]]);
        assert!(tones.windows(2).all(|pair| pair[0] <= pair[1]), "{tones:?}");
    }

    #[test]
    fn turbo_runs_from_blue_to_red() {
        let [r, g, b] = turbo(0.1);
        assert!(b > r && b > g);
        let [r, g, b] = turbo(0.9);
        assert!(r > g && r > b);
        assert_eq!(turbo(f32::NAN), turbo(-3.0));
    }
}
