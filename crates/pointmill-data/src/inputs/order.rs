//! The order of names: numbers in them by their value.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::path::Path;

/// Compares paths part by part, and in each part runs of digits by their value: `a/2.bin` before
/// `a/10.bin`. The decimals of a stamp of nine digits or more are a fraction: `1700000000.05`
/// before `1700000000.1`.
///
/// ```
/// use std::cmp::Ordering;
/// use std::path::Path;
/// assert_eq!(pointmill_data::natural_order(Path::new("2.bin"), Path::new("10.bin")), Ordering::Less);
/// ```
pub fn natural_order(a: &Path, b: &Path) -> Ordering {
    ordered(a, b, STAMP)
}

/// Digits before the point from which on a number is a stamp.
const STAMP: usize = 9;

/// Sorts by the paths of items in natural order. Two numbers with a point between them are one
/// decimal number, as `0.05` before `0.1`, unless the paths show that both count: some end in a
/// zero as `1.10` does, none begins with one, and they have different numbers of digits.
///
/// ```
/// use std::path::Path;
/// let mut names = ["0.1.bin", "0.15.bin", "0.05.bin"];
/// pointmill_data::sort_naturally(&mut names, |name| Path::new(name));
/// assert_eq!(names, ["0.05.bin", "0.1.bin", "0.15.bin"]);
/// ```
pub fn sort_naturally<T>(items: &mut [T], path: impl Fn(&T) -> &Path) {
    let mut second = Seconds::default();
    for item in &*items {
        path(item).components().for_each(|part| second.look(part.as_os_str().as_encoded_bytes()));
    }
    let least = if second.count() { STAMP } else { 0 };
    items.sort_by(|a, b| ordered(path(a), path(b), least));
}

/// What the numbers behind a point look like, of those behind fewer digits than stamps have.
#[derive(Default)]
struct Seconds {
    begins_with_zero: bool,
    ends_in_zero: bool,
}

impl Seconds {
    fn look(&mut self, mut part: &[u8]) {
        while !part.is_empty() {
            if !part[0].is_ascii_digit() {
                part = &part[1..];
                continue;
            }
            let first = take_digits(&mut part);
            let Some(second) = take_fraction(&mut part).filter(|_| significant(first).len() < STAMP) else { continue };
            self.begins_with_zero |= second.len() > 1 && second[0] == b'0';
            self.ends_in_zero |= second.len() > 1 && second.ends_with(b"0");
        }
    }

    const fn count(&self) -> bool {
        self.ends_in_zero && !self.begins_with_zero
    }
}

/// Natural order, where numbers of `least` digits or more have decimals behind a point.
fn ordered(a: &Path, b: &Path, least: usize) -> Ordering {
    let parts = |path: &Path| path.components().map(|c| c.as_os_str().to_owned()).collect::<Vec<_>>();
    let (a_parts, b_parts) = (parts(a), parts(b));
    let by_parts = a_parts.iter().zip(&b_parts).map(|(a, b)| natural_part(a, b, least)).find(|o| o.is_ne());
    // `1` and `01` are alike so far; the order must still be one.
    by_parts.unwrap_or_else(|| a_parts.len().cmp(&b_parts.len())).then_with(|| a.cmp(b))
}

fn natural_part(a: &OsStr, b: &OsStr, least: usize) -> Ordering {
    let (mut a, mut b) = (a.as_encoded_bytes(), b.as_encoded_bytes());
    loop {
        let (Some(x), Some(y)) = (a.first(), b.first()) else { return a.len().cmp(&b.len()) };
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (m, n) = (significant(take_digits(&mut a)), significant(take_digits(&mut b)));
            // Numbers of any length: the longer is larger, of equally long ones the first different
            // digit decides.
            match m.len().cmp(&n.len()).then_with(|| m.cmp(n)) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
            if m.len() >= least {
                // No decimals are a fraction of 0. Zeros at the end do not count.
                let [m, n] = [&mut a, &mut b].map(|text| decimals(take_fraction(text).unwrap_or_default()));
                match m.cmp(n) {
                    Ordering::Equal => {}
                    unequal => return unequal,
                }
            }
        } else if x == y {
            (a, b) = (&a[1..], &b[1..]);
        } else {
            return x.cmp(y);
        }
    }
}

/// Takes the decimals off the front: a point and digits, behind which no further point and digits
/// follow, as they do in versions and dates.
fn take_fraction<'a>(text: &mut &'a [u8]) -> Option<&'a [u8]> {
    let is_next = |text: &[u8]| matches!(text, [b'.', digit, ..] if digit.is_ascii_digit());
    if !is_next(text) {
        return None;
    }
    let mut rest = &text[1..];
    let digits = take_digits(&mut rest);
    if is_next(rest) {
        return None;
    }
    *text = rest;
    Some(digits)
}

/// Takes a run of digits off the front.
fn take_digits<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    *text = rest;
    number
}

/// Digits without leading zeros.
fn significant(digits: &[u8]) -> &[u8] {
    &digits[digits.iter().take_while(|&&b| b == b'0').count()..]
}

/// Decimals without zeros at their end.
fn decimals(digits: &[u8]) -> &[u8] {
    &digits[..digits.iter().rposition(|&b| b != b'0').map_or(0, |at| at + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What sorting makes of names that are given in the wanted order.
    fn sorted(names: &str) -> String {
        let mut paths: Vec<_> = names.split(' ').rev().map(Path::new).collect();
        sort_naturally(&mut paths, |path| path);
        paths.iter().map(|path| path.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn stamps_and_other_decimals_are_fractions() {
        for wanted in [
            // As Python prints them, without zeros at the end.
            "1700000000.0.bin 1700000000.05.bin 1700000000.1.bin 1700000000.15.bin 1700000000.2.bin 1700000001.bin",
            "a/1700000000.05.pcd.bin a/1700000000.1.pcd.bin b/1700000000.0.pcd.bin",
            "lidar_1311868229.576.ply lidar_1311868229.5761.ply lidar_1311868229.58.ply",
            "0.0.bin 0.05.bin 0.1.bin 0.15.bin 0.2.bin 1.0.bin 10.05.bin",
            "0.5.npy 0.55.npy 0.6.npy",
            "9.95.pcd 10.05.pcd 10.5.pcd 100.25.pcd",
            "1403715.25.pcd 1403715.3.pcd 1403716.05.pcd",
            "1.25.pcd 1.5.pcd",
            // Counters, versions, dates.
            "run1.1.bin run1.2.bin run1.9.bin run1.10.bin run1.11.bin",
            "v1.2.3.las v1.2.10.las v1.10.1.las",
            "2024.1.5.bin 2024.1.30.bin 2024.12.1.bin",
            "315966265259836000.feather 315966265359836000.feather 1315966265259836000.feather",
            "1700000000_5.bin 1700000000_40.bin",
            "scan.1.bin scan.2.bin scan.10.bin",
        ] {
            assert_eq!(sorted(wanted), wanted);
        }
    }

    #[test]
    fn the_order_is_one() {
        let names = [
            "1.5",
            "1.50",
            "01.5",
            "1.5.2",
            "1",
            "1.",
            "1.a",
            "1.05",
            "1.5a",
            "1700000000.1",
            "1700000000",
            "1700000000.10",
            "1700000000.1.bin",
            "1700000000.05.bin",
            "a",
            "",
            "a1.2",
            "a1.10",
            "000000001.5",
            "1700000000.1.5",
        ];
        for least in [0, STAMP] {
            let order = |a: &str, b: &str| ordered(Path::new(a), Path::new(b), least);
            for (a, b) in names.iter().flat_map(|a| names.map(|b| (a, b))) {
                assert_eq!(order(a, b), order(b, a).reverse(), "{a} {b}");
                for c in names {
                    assert!(order(a, b).is_gt() || order(b, c).is_gt() || order(a, c).is_le(), "{a} {b} {c}");
                }
            }
        }
    }

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
