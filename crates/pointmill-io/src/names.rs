//! Names of columns as the header of a format can hold them.

use crate::field::{Field, PADDING, XYZ};
use crate::format::Format;
use crate::warning::Warning;
use std::collections::BTreeSet;

/// The most bytes of the name of an extra column of LAS.
const LONGEST_EXTRA: usize = 32;

/// Names that LAS has for fields that no column of a cloud is written to: other programs refuse
/// extra bytes of these names.
const OF_LAS: [&str; 13] = [
    "x",
    "y",
    "z",
    "bit_fields",
    "raw_classification",
    "scan_angle_rank",
    "synthetic",
    "key_point",
    "withheld",
    "overlap",
    "wavepacket_index",
    "wavepacket_offset",
    "wavepacket_size",
];

/// The names of columns in files of a format. What the format cannot hold is replaced by `_`, an
/// empty name by `column3` and the like.
pub(crate) fn written(fields: &[Field], format: Format) -> Vec<String> {
    let mut taken: BTreeSet<String> = fields.iter().map(|field| field.name.clone()).collect();
    let name = |(j, field): (usize, &Field)| {
        let held = held(&field.name, j, format);
        if held == field.name {
            return held;
        }
        let others = (2..).map(|n| format!("{held}_{n}"));
        let free = std::iter::once(held.clone()).chain(others).find(|name| taken.insert(name.clone()));
        free.unwrap_or(held)
    };
    fields.iter().enumerate().map(name).collect()
}

/// A warning, if names change in files of a format.
pub(crate) fn changed(fields: &[Field], format: Format) -> Option<Warning> {
    let names = fields.iter().map(|field| field.name.clone()).zip(written(fields, format));
    let names: Vec<_> = names.filter(|(from, to)| from != to).collect();
    (!names.is_empty()).then_some(Warning::Renamed { names })
}

/// Whether a word is a number, as `1.5`, `-2e3`, `nan` and `inf` are, or is meant to be one, as
/// `1,5` is.
pub(crate) fn is_number(word: &[u8]) -> bool {
    let parsed = str::from_utf8(word).is_ok_and(|word| word.parse::<f64>().is_ok());
    parsed || (word.iter().any(u8::is_ascii_digit) && word.iter().all(|b| b.is_ascii_digit() || b"+-.,eE".contains(b)))
}

/// The name of column `j` in a format, or the nearest that it can hold.
fn held(name: &str, j: usize, format: Format) -> String {
    if j < XYZ.len() {
        return name.into();
    }
    let is_word = matches!(format, Format::Ply | Format::Pcd);
    if matches!(format, Format::Bin | Format::Npy | Format::Npz | Format::Xyz) {
        return name.into(); // None of these has names in a header.
    }
    let bad = |c: char| {
        c.is_control()
            || (is_word && c.is_ascii_whitespace())
            || (format == Format::Csv && matches!(c, ',' | ';' | '"'))
    };
    let mut held = name.replace(bad, "_");
    if format == Format::Las && held.len() > LONGEST_EXTRA {
        // With room for a number behind it.
        held.truncate(held.floor_char_boundary(LONGEST_EXTRA - 4));
    }
    if format == Format::Las && OF_LAS.iter().any(|name| held.eq_ignore_ascii_case(name)) {
        held.push_str("_extra");
    }
    match &*held {
        "" => format!("column{j}"),
        PADDING if format == Format::Pcd => format!("column{j}"),
        text if format == Format::Csv && text.trim() != text => {
            let (start, end) = (text.len() - text.trim_start().len(), text.len() - text.trim_end().len());
            format!("{}{}{}", "_".repeat(start), text.trim(), "_".repeat(end.min(text.len() - start)))
        }
        text if format == Format::Csv && j >= XYZ.len() && is_number(text.as_bytes()) => format!("_{text}"),
        text => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointmill_core::array::Dtype;

    #[test]
    fn numbers_are_no_names() {
        for (word, number) in [("1,5", true), ("-1e3", true), ("nan", true), ("2d", false), ("e", false), ("", false)] {
            assert_eq!(is_number(word.as_bytes()), number, "{word}");
        }
    }

    #[test]
    fn names_become_what_a_format_holds() {
        let names = ["x", "y", "z", "gps time", "", "gps_time", "a,b", "7", " q", "_", "a\nb"];
        let fields = names.map(|name| Field { name: name.into(), dtype: Dtype::F32 });
        let told = |format| written(&fields, format)[3..].join("|");
        assert_eq!(told(Format::Ply), "gps_time_2|column4|gps_time|a,b|7|_q|_|a_b");
        assert_eq!(told(Format::Pcd), "gps_time_2|column4|gps_time|a,b|7|_q|column9|a_b");
        assert_eq!(told(Format::Csv), "gps time|column4|gps_time|a_b|_7|_q|_|a_b_2");
        assert_eq!(told(Format::Feather), "gps time|column4|gps_time|a,b|7| q|_|a_b");
        assert_eq!(written(&fields, Format::Npz), names);
        let warning = changed(&fields[..4], Format::Ply).unwrap();
        assert_eq!(
            warning.to_string(),
            "the format cannot hold some names of columns: `gps time` is written as `gps_time`"
        );
        assert_eq!(changed(&fields[..4], Format::Csv), None);
    }
}
