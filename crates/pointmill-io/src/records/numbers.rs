//! Numbers as text.

use super::fill::with_type;
use pointmill_core::array::Dtype;
use std::ops::Range;

/// A value of a line of text, as `f32` and as `f64`, each rounded once.
pub(super) fn number(token: &[u8], dtype: Dtype) -> Option<(f32, f64)> {
    if let Some(v) = short(token, dtype) {
        return Some(v);
    }
    let text = str::from_utf8(token).ok()?;
    macro_rules! parsed {
        ($type:ty) => {
            text.parse::<$type>().ok().map(|v| (v as f32, v as f64))
        };
    }
    with_type!(dtype, parsed)
}

/// Words that stand for a value that is not there, in small letters.
const MISSING: [&str; 10] = ["", "na", "n/a", "#n/a", "null", "none", "-", "--", "?", "missing"];

/// A word that programs write where they have no number: one of [`MISSING`], which is NaN, or what
/// runtimes of C call NaN and infinity, as `-nan(ind)` and `1.#INF`.
pub(super) fn no_number(token: &[u8]) -> Option<(f32, f64)> {
    let text = str::from_utf8(token).ok()?.to_ascii_lowercase();
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(&text);
    let is_nan = MISSING.contains(&&*text)
        || (unsigned.starts_with("nan(") && unsigned.ends_with(')'))
        || ["1.#qnan", "1.#snan", "1.#ind", "1.#nan", "nanq", "nans"].iter().any(|word| {
            // Printed with decimals, the words are cut or filled with zeros.
            unsigned.strip_prefix(word).is_some_and(|rest| rest.bytes().all(|b| b == b'0'))
        });
    let infinity = || {
        let rest = unsigned.strip_prefix("1.#inf")?;
        let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
        rest.bytes().all(|b| b == b'0').then_some(sign * f64::INFINITY)
    };
    let value = if is_nan { Some(f64::NAN) } else { infinity() };
    value.map(|v| (v as f32, v))
}

/// Powers of ten: each an `f64` holds, the first [`SINGLE_TENS`] an `f32` too.
const TENS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
const SINGLE_TENS: usize = 11;

/// As [`number`], of few digits without an exponent, and of type `f32` or `f64`. Such a number is a
/// quotient of two numbers that the type holds, so that one division rounds it right. `None` of
/// others, and of what is no number.
fn short(token: &[u8], dtype: Dtype) -> Option<(f32, f64)> {
    let (is_negative, text) = match token {
        [b'-', text @ ..] => (true, text),
        [b'+', text @ ..] | text => (false, text),
    };
    let (mut digits, mut count, mut decimals) = (0u64, 0, None);
    if text.len() > TENS.len() {
        return None;
    }
    for &byte in text {
        match (byte, &mut decimals) {
            (b'0'..=b'9', decimals) => {
                (digits, count) = (10 * digits + u64::from(byte - b'0'), count + 1);
                decimals.iter_mut().for_each(|n| *n += 1);
            }
            (b'.', decimals @ None) => *decimals = Some(0),
            _ => return None,
        }
    }
    let decimals: usize = decimals.unwrap_or_default();
    if !(1..TENS.len()).contains(&count) {
        return None;
    }
    match dtype {
        Dtype::F64 => {
            let v = digits as f64 / TENS[decimals];
            let v = if is_negative { -v } else { v };
            Some((v as f32, v))
        }
        Dtype::F32 if digits <= 1 << f32::MANTISSA_DIGITS && decimals < SINGLE_TENS => {
            let v = digits as f32 / TENS[decimals] as f32;
            let v = if is_negative { -v } else { v };
            Some((v, v.into()))
        }
        _ => None,
    }
}

/// Where in a line its values are; `tokens` is used again from line to line.
pub(crate) fn split(line: &[u8], tokens: &mut Vec<Range<usize>>) {
    tokens.clear();
    let mut at = 0;
    while let Some(blanks) = line[at..].iter().position(|b| !b.is_ascii_whitespace()) {
        let start = at + blanks;
        let length = line[start..].iter().position(u8::is_ascii_whitespace);
        at = length.map_or(line.len(), |length| start + length);
        tokens.push(start..at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_strict_and_rounded_once() {
        assert_eq!(number(b"1.5", Dtype::F32), Some((1.5, 1.5)));
        assert_eq!(number(b"0.1", Dtype::F64), Some((0.1, 0.1)));
        // Halfway between two f32 as f64, but above it as text: rounding twice would go down.
        assert_eq!(number(b"1.00000005960464477540", Dtype::F32).unwrap().0, 1.000_000_1);
        assert_eq!(number(b"-inf", Dtype::F32).unwrap().0, f32::NEG_INFINITY);
        assert!(number(b"-nan", Dtype::F64).unwrap().0.is_nan());
        assert_eq!(number(b"-128", Dtype::I8), Some((-128.0, -128.0)));
        for (token, dtype) in [
            (&b"256"[..], Dtype::U8),
            (b"-1", Dtype::U32),
            (b"1.0", Dtype::I32),
            (b"1,5", Dtype::F32),
            (b"\xff", Dtype::F64),
        ] {
            assert_eq!(number(token, dtype), None);
        }
    }

    #[test]
    fn short_numbers_are_those_of_the_parser() {
        let mut state = 1u64;
        let mut next = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        let mut found = 0;
        for _ in 0..200_000 {
            let mut text = String::from(["", "-", "+"][next(3) as usize]);
            let (digits, point) = (next(18), next(18));
            for i in 0..digits {
                if i == point {
                    text.push('.');
                }
                text.push(char::from(b'0' + next(10) as u8));
            }
            let bits = |(single, double): (f32, f64)| (single.to_bits(), double.to_bits());
            if let Some(v) = short(text.as_bytes(), Dtype::F64) {
                let wanted: f64 = text.parse().unwrap();
                assert_eq!(bits(v), bits((wanted as f32, wanted)), "{text}");
                found += 1;
            }
            if let Some(v) = short(text.as_bytes(), Dtype::F32) {
                let wanted: f32 = text.parse().unwrap();
                assert_eq!(bits(v), bits((wanted, wanted.into())), "{text}");
                found += 1;
            }
        }
        assert!(found > 100_000, "{found}");
        assert_eq!(short(b"16777217", Dtype::F32), None);
        assert_eq!(short(b".5", Dtype::F64), Some((0.5, 0.5)));
        assert_eq!(short(b"5.", Dtype::F32), Some((5.0, 5.0)));
        for none in ["", "-", ".", "+.", "1.2.3", "--1", "1e5", "nan", "1,5", "1234567890123456"] {
            assert_eq!(short(none.as_bytes(), Dtype::F64), None, "{none}");
        }
        assert_eq!(short(b"1", Dtype::U8), None);
    }

    #[test]
    fn words_for_no_number_are_known() {
        for word in ["", "NA", "N/A", "#N/A", "null", "None", "-nan(ind)", "nan(snan)", "1.#QNAN", "-1.#IND00"] {
            assert!(no_number(word.as_bytes()).is_some_and(|(v, w)| v.is_nan() && w.is_nan()), "{word}");
        }
        assert_eq!(no_number(b"1.#INF"), Some((f32::INFINITY, f64::INFINITY)));
        assert_eq!(no_number(b"-1.#INF00"), Some((f32::NEG_INFINITY, f64::NEG_INFINITY)));
        for word in ["x", "1.5.2", "1,5", "nanometre", "1.#", "nan(", "\u{fffd}", "NAN1", "0x10"] {
            assert_eq!(no_number(word.as_bytes()), None, "{word}");
        }
    }

    #[test]
    fn lines_are_split_at_blanks() {
        let mut tokens = vec![0..9, 3..4];
        for (line, wanted) in [("", ""), (" \t ", ""), ("a", "a"), (" a\tbc  d ", "a,bc,d")] {
            split(line.as_bytes(), &mut tokens);
            let found: Vec<_> = tokens.iter().map(|t| &line[t.clone()]).collect();
            assert_eq!(found.join(","), wanted, "{line:?}");
        }
    }
}
