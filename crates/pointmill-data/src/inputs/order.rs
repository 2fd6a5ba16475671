//! The order of names: numbers in them by their value.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::path::Path;

/// Compares paths part by part, and in each part runs of digits by their value: `a/2.bin` before
/// `a/10.bin`.
///
/// ```
/// use std::cmp::Ordering;
/// use std::path::Path;
/// assert_eq!(pointmill_data::natural_order(Path::new("2.bin"), Path::new("10.bin")), Ordering::Less);
/// ```
pub fn natural_order(a: &Path, b: &Path) -> Ordering {
    let parts = |path: &Path| path.components().map(|c| c.as_os_str().to_owned()).collect::<Vec<_>>();
    let (a_parts, b_parts) = (parts(a), parts(b));
    let by_parts = a_parts.iter().zip(&b_parts).map(|(a, b)| natural_part(a, b)).find(|o| o.is_ne());
    // `1` and `01` are alike so far; the order must still be one.
    by_parts.unwrap_or_else(|| a_parts.len().cmp(&b_parts.len())).then_with(|| a.cmp(b))
}

fn natural_part(a: &OsStr, b: &OsStr) -> Ordering {
    let (mut a, mut b) = (a.as_encoded_bytes(), b.as_encoded_bytes());
    loop {
        let (Some(x), Some(y)) = (a.first(), b.first()) else { return a.len().cmp(&b.len()) };
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (m, n) = (take_number(&mut a), take_number(&mut b));
            // Numbers of any length: the longer is larger, of equally long ones the first different
            // digit decides.
            match m.len().cmp(&n.len()).then_with(|| m.cmp(n)) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
        } else if x == y {
            (a, b) = (&a[1..], &b[1..]);
        } else {
            return x.cmp(y);
        }
    }
}

/// Takes a run of digits off the front; its digits without leading zeros.
fn take_number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    *text = rest;
    &number[number.iter().take_while(|&&b| b == b'0').count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_by_value() {
        let sorted =
            ["", "a", "a1", "a01", "a2", "a2b", "a10", "a10/x", "a18446744073709551616", "a18446744073709551617", "b"];
        let mut paths: Vec<_> = sorted.iter().rev().map(Path::new).collect();
        paths.sort_by(|a, b| natural_order(a, b));
        let at = |name: &str| paths.iter().position(|p| *p == Path::new(name)).unwrap();
        assert!(at("a1").abs_diff(at("a01")) == 1);
        let without: Vec<_> = paths.iter().filter(|p| **p != Path::new("a01")).collect();
        let wanted: Vec<_> = sorted.iter().filter(|p| **p != "a01").map(Path::new).collect();
        assert!(without.into_iter().copied().eq(wanted));
    }
}
