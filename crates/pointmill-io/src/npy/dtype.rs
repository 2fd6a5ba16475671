//! Element types by the names that numpy gives them.

use pointmill_core::array::Dtype;

/// Numpy's code without the byte order, `f4`, `i8`, `b1`; `None` for a type that numpy does not
/// have.
const fn code(dtype: Dtype) -> Option<&'static str> {
    Some(match dtype {
        Dtype::Bool => "b1",
        Dtype::I8 => "i1",
        Dtype::I16 => "i2",
        Dtype::I32 => "i4",
        Dtype::I64 => "i8",
        Dtype::U8 => "u1",
        Dtype::U16 => "u2",
        Dtype::U32 => "u4",
        Dtype::U64 => "u8",
        Dtype::F16 => "f2",
        Dtype::F32 => "f4",
        Dtype::F64 => "f8",
        Dtype::Bf16 => return None,
    })
}

/// Numpy's `descr` of the type in little-endian order, `<f4`, `|b1`; `None` for a type that numpy
/// does not have.
pub(crate) fn descr(dtype: Dtype) -> Option<String> {
    let order = if dtype.bytes() == 1 { '|' } else { '<' };
    code(dtype).map(|code| format!("{order}{code}"))
}

/// The type that a `descr` names, and whether its bytes are big-endian; `None` for one that is not
/// read.
pub(crate) fn from_descr(descr: &str) -> Option<(Dtype, bool)> {
    let order = descr.chars().next()?;
    let dtype = Dtype::ALL.iter().copied().find(|&d| code(d) == Some(&descr[order.len_utf8()..]))?;
    match order {
        '<' => Some((dtype, false)),
        '>' => Some((dtype, true)),
        '=' => Some((dtype, cfg!(target_endian = "big"))),
        '|' if dtype.bytes() == 1 => Some((dtype, false)),
        _ => None,
    }
}

/// Bytes of a value of a type that is not read as a number: text, bytes, dates, complex numbers.
/// `None` of objects and of what is no type.
pub(crate) fn bytes_of_other(descr: &str) -> Option<usize> {
    let text = descr.strip_prefix(['<', '>', '|', '=']).unwrap_or(descr);
    let (kind, rest) = text.split_at_checked(1)?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (size, rest) = rest.split_at(digits);
    let size: usize = size.parse().ok()?;
    let is_date = |rest: &str| rest.is_empty() || (rest.starts_with('[') && rest.ends_with(']'));
    match kind {
        "S" | "V" | "a" | "c" | "f" if rest.is_empty() => Some(size),
        "U" if rest.is_empty() => size.checked_mul(4),
        "M" | "m" if size == 8 && is_date(rest) => Some(size),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descr_round_trips_and_refuses() {
        for &dtype in Dtype::ALL {
            let back = descr(dtype).map(|descr| from_descr(&descr));
            assert_eq!(back, (dtype != Dtype::Bf16).then_some(Some((dtype, false))));
        }
        assert_eq!(from_descr(">f8"), Some((Dtype::F64, true)));
        for (other, bytes) in [("|S4", 4), ("<U3", 12), ("|V8", 8), ("<c16", 16), ("<M8[ns]", 8), ("<f16", 16)] {
            assert_eq!(bytes_of_other(other), Some(bytes), "{other}");
        }
        for bad in ["", "|O", "<S", "<U99999999999999999999", "x4", "é", "<M4[ns]"] {
            assert_eq!(bytes_of_other(bad), None, "{bad}");
        }
        for bad in ["", "f4", "<f3", "|f4", "|O", "<U3", "<c8", "<M8[ns]", "é4", "<f4 ", "<"] {
            assert_eq!(from_descr(bad), None, "{bad}");
        }
    }
}
