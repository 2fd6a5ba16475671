//! Text over pictures.

/// As much of a caption as fits into so many pixels, in letters of ten; what is no letter becomes a
/// space.
pub(crate) fn shortened(caption: &str, pixels: u32) -> String {
    caption.chars().map(|c| if c.is_control() { ' ' } else { c }).take((pixels / 10) as usize).collect()
}

/// A number with commas.
pub(crate) fn grouped(n: usize) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", grouped(n / 1000), n % 1000) }
}

/// A number with about three digits.
pub(crate) fn digits(v: f64) -> String {
    let digits = if v.abs() >= 100.0 { 0 } else { 1 + usize::from(v.abs() < 10.0) + usize::from(v.abs() < 0.1) };
    format!("{v:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captions_are_cut_and_numbers_grouped() {
        assert_eq!(shortened("one\ntwo", 45), "one ");
        assert_eq!([7, 999, 1000, 1_234_567].map(grouped), ["7", "999", "1,000", "1,234,567"]);
        assert_eq!([1234.4, 12.34, 1.234, 0.01234].map(digits), ["1234", "12.3", "1.23", "0.012"]);
    }
}
