//! Parsers of flag values.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use pointmill::UnknownName;
use std::str::FromStr;

/// One of the names of a type of the library.
pub fn names<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = UnknownName> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse::<T>())
}

/// Edge lengths: one number or three.
pub fn parse_voxel_size(text: &str) -> Result<[f32; 3], String> {
    parse_one_or_three(text, "number")
}

/// Numbers of voxels: one or three.
pub fn parse_out_size(text: &str) -> Result<[u32; 3], String> {
    parse_one_or_three(text, "whole number")
}

fn parse_one_or_three<T: FromStr + Copy>(text: &str, kind: &str) -> Result<[T; 3], String> {
    if !text.contains(',') {
        return parse_values(text, kind).map(|[one]| [one; 3]);
    }
    parse_values(text, kind).map_err(|e| e.replacen("expected 3", "expected 1 or 3", 1))
}

/// A number of bytes; K, M and G count in 1024s.
pub(super) fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let bytes =
        digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift)).filter(|&n| i64::try_from(n).is_ok());
    bytes.ok_or_else(|| "expected a whole number of bytes, optionally followed by K, M or G".into())
}

/// Numbers with commas between them.
pub fn parse_numbers<const N: usize>(text: &str) -> Result<[f32; N], String> {
    parse_values(text, "number")
}

/// Numbers with commas between them, in `f64`: for places of maps.
pub fn parse_places<const N: usize>(text: &str) -> Result<[f64; N], String> {
    parse_values(text, "number")
}

/// A part of the plane: x0, y0, x1, y1.
pub(super) fn parse_area(text: &str) -> Result<[f64; 4], String> {
    let area @ [x0, y0, x1, y1] = parse_values(text, "number")?;
    if x0 <= x1 && y0 <= y1 { Ok(area) } else { Err("expected X0,Y0,X1,Y1 with X0 <= X1 and Y0 <= Y1".into()) }
}

/// A part of space: x0, y0, z0, x1, y1, z1. Sides may be infinite.
pub fn parse_box(text: &str) -> Result<[f64; 6], String> {
    let sides: [f64; 6] = parse_values(text, "number")?;
    let upright = (0..3).all(|axis| sides[axis] <= sides[axis + 3]);
    let expected = "expected X0,Y0,Z0,X1,Y1,Z1 with X0 <= X1, Y0 <= Y1 and Z0 <= Z1";
    if upright { Ok(sides) } else { Err(expected.into()) }
}

/// A distance in metres.
pub fn parse_distance(text: &str) -> Result<f64, String> {
    let [metres] = parse_values(text, "number")?;
    if metres >= 0.0 { Ok(metres) } else { Err("expected a number >= 0".into()) }
}

/// A range: six numbers, or `auto`, which is none.
pub fn parse_range(text: &str) -> Result<Range, String> {
    if text == "auto" {
        Ok(Range(None))
    } else {
        parse_numbers::<6>(text).map(|range| Range(Some((range, text.into()))))
    }
}

/// A range as flags give it: its numbers and their text, or none for one around the points.
#[derive(Clone, Debug, PartialEq)]
pub struct Range(pub Option<([f32; 6], String)>);

impl Range {
    /// The range relative to an origin, which is subtracted in `f64`.
    pub fn relative_to(&self, origin: [f64; 3]) -> Option<[f32; 6]> {
        let (range, text) = self.0.as_ref()?;
        match parse_values::<f64, 6>(text, "number") {
            Ok(exact) if origin != [0.0; 3] => Some(std::array::from_fn(|i| (exact[i] - origin[i % 3]) as f32)),
            _ => Some(*range),
        }
    }
}

fn parse_values<T: FromStr, const N: usize>(text: &str, kind: &str) -> Result<[T; N], String> {
    let values: Result<Vec<T>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    let expected = || if N == 1 { format!("a {kind}") } else { format!("{N} {kind}s separated by commas") };
    let values = values.map_err(|_| format!("expected {}", expected()))?;
    let count = values.len();
    values.try_into().map_err(|_| format!("expected {}, got {count}", expected()))
}

/// What clap has against arguments, in one line and without the usage text.
pub fn message(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:")).map(str::trim);
    let message = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    message.strip_prefix("error: ").map_or_else(|| message.clone(), str::to_owned)
}

#[cfg(test)]
#[path = "../../tests/unit/flags_parse.rs"]
mod tests;
