//! The header of a PCD file: lines with a key and its values. The last line is `DATA`.

use crate::error::{IoError, excerpt};
use crate::fault::{bail, fault};
use crate::field::PADDING;
use crate::field::XYZ;
use crate::records::{MAX_RECORD, bad_line, name, whole_number};
use crate::values::whole_type;
use crate::warning::Warning;
use crate::window::Window;
use pointmill_core::array::Dtype;
use std::ops::Range;

/// Maximum number of fields, padding included.
const MAX_FIELDS: usize = 2048;

/// The encoding of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Encoding {
    Ascii,
    Binary,
    Compressed,
}

/// The values of a header.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) encoding: Encoding,
    /// The number of points, as `POINTS` says or else `WIDTH` times `HEIGHT`.
    pub(super) points: u64,
    /// `WIDTH` times `HEIGHT`, if that is another number than `POINTS`.
    pub(super) product: Option<u64>,
    /// What is odd about the header.
    pub(super) warnings: Vec<Warning>,
    pub(super) fields: Vec<Field>,
    /// Size of a point in bytes, at most [`MAX_RECORD`].
    pub(super) record: usize,
}

/// A field: one number or several.
#[derive(Debug, PartialEq)]
pub(super) struct Field {
    /// `None` for padding.
    pub(super) name: Option<String>,
    pub(super) dtype: Dtype,
    pub(super) count: usize,
    /// Offset in a record.
    pub(super) place: Range<usize>,
}

/// The accepted keys, in their usual order. `COLUMNS` is an old name of `FIELDS`.
const KEYS: [&str; 10] =
    ["VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS", "DATA"];

/// The values of each key.
struct Lines([Option<Vec<Vec<u8>>>; KEYS.len()]);

impl Lines {
    fn read(window: &mut Window<'_, '_>) -> Result<Self, IoError> {
        let mut lines = [const { None }; KEYS.len()];
        let mut empty = true;
        while lines[KEYS.len() - 1].is_none() {
            let Some(line) = window.header_line()? else {
                let found = if empty { "an empty file" } else { "the end of the file" };
                bail!(window, Truncated, "header", "`DATA`", found);
            };
            empty = false;
            let text = window.at(&line);
            let mut words = text.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
            let Some(key) = words.next().filter(|key| !key.starts_with(b"#")) else { continue };
            let key = if key == b"COLUMNS" { b"FIELDS" } else { key };
            let Some(at) = KEYS.iter().position(|k| k.as_bytes() == key) else {
                let wanted = format!("one of {}", KEYS.join(", "));
                return Err(bad_line(window, &wanted, text));
            };
            if lines[at].is_some() {
                return Err(bad_line(window, &format!("{} once", KEYS[at]), text));
            }
            let values: Vec<_> = words.take(MAX_FIELDS + 1).map(<[u8]>::to_vec).collect();
            if values.len() > MAX_FIELDS {
                bail!(window, LimitExceeded, (KEYS[at]), "at most {MAX_FIELDS} values", "more");
            }
            lines[at] = Some(values);
        }
        Ok(Self(lines))
    }

    fn get(&self, key: &str) -> Option<&[Vec<u8>]> {
        let at = KEYS.iter().position(|k| *k == key);
        at.and_then(|at| self.0[at].as_deref())
    }

    /// Returns the values of a required key.
    fn need(&self, window: &Window<'_, '_>, key: &str) -> Result<&[Vec<u8>], IoError> {
        self.get(key).ok_or_else(|| fault!(window, MissingField, "header", key, "none"))
    }

    /// Returns the values of a key that has one value for each of `fields` fields.
    fn each(&self, window: &Window<'_, '_>, key: &str, fields: usize) -> Result<&[Vec<u8>], IoError> {
        let values = self.need(window, key)?;
        if values.len() != fields {
            bail!(window, BadHeader, key, "{fields} values, one for each field", values.len());
        }
        Ok(values)
    }

    /// Returns the integer of a key with one value, if the key exists.
    fn number(&self, window: &Window<'_, '_>, key: &str) -> Result<Option<u64>, IoError> {
        match self.get(key) {
            None => Ok(None),
            Some([value]) => whole(window, key, value).map(Some),
            Some(values) => Err(fault!(window, BadHeader, key, "one number", values.len())),
        }
    }
}

impl Header {
    /// Reads a header. The window is then at the data.
    pub(super) fn read(window: &mut Window<'_, '_>) -> Result<Self, IoError> {
        let lines = Lines::read(window)?;
        let mut warnings = vec![];
        if let Some(version) = lines.get("VERSION") {
            // Files of older versions without `TYPE` cannot be read, and lack it.
            let known = [".5", ".6", ".7", "0.5", "0.6", "0.7"];
            if !matches!(version, [one] if known.iter().any(|k| k.as_bytes() == one)) {
                let said = excerpt(&version.join(&b' '));
                warnings.push(Warning::LaterVersion { said, read: "0.7".into() });
            }
        }
        if let Some(viewpoint) = lines.get("VIEWPOINT") {
            let number = |v: &Vec<u8>| str::from_utf8(v).ok()?.parse::<f64>().ok();
            if viewpoint.len() != 7 || !viewpoint.iter().all(|v| number(v).is_some()) {
                Warning::left_out(
                    &mut warnings,
                    "VIEWPOINT",
                    format!("no 7 numbers: {}", excerpt(&viewpoint.join(&b' '))),
                );
            }
        }
        let (fields, record) = fields(window, &lines, &mut warnings)?;
        let encoding = match lines.need(window, "DATA")? {
            [one] if one == b"ascii" => Encoding::Ascii,
            [one] if one == b"binary" => Encoding::Binary,
            [one] if one == b"binary_compressed" => Encoding::Compressed,
            other => {
                let wanted = "`ascii`, `binary` or `binary_compressed`";
                bail!(window, BadHeader, "DATA", wanted, excerpt(&other.join(&b' ')));
            }
        };
        let (points, product) = points(window, &lines)?;
        Ok(Self { encoding, points, product, warnings, fields, record })
    }
}

/// Returns the fields and the size of a record in bytes. Fields of an unknown type or with a name
/// that cannot be shown are padding, unless they are x, y or z.
fn fields(window: &Window<'_, '_>, lines: &Lines, warnings: &mut Vec<Warning>) -> Result<(Vec<Field>, usize), IoError> {
    let names = lines.need(window, "FIELDS")?;
    let sizes = lines.each(window, "SIZE", names.len())?;
    let types = lines.each(window, "TYPE", names.len())?;
    let counts = lines.get("COUNT").map(|_| lines.each(window, "COUNT", names.len())).transpose()?;
    let mut record = 0usize;
    let mut fields = Vec::with_capacity(names.len());
    for (i, called) in names.iter().enumerate() {
        let name = name(window, called).ok();
        let size = whole(window, "SIZE", &sizes[i])?;
        let dtype = match (&*types[i], size) {
            (b"I", size) => whole_type(size, true),
            (b"U", size) => whole_type(size, false),
            (b"F", 4) => Some(Dtype::F32),
            (b"F", 8) => Some(Dtype::F64),
            _ => None,
        };
        let shown = name.clone().unwrap_or_else(|| String::from_utf8_lossy(called).chars().take(32).collect());
        let (name, dtype) = match (name, dtype) {
            (Some(name), Some(dtype)) => (Some(name), dtype),
            (name, None) => {
                let found = format!("{} of {size} bytes", excerpt(&types[i]));
                if XYZ.iter().any(|axis| shown.eq_ignore_ascii_case(axis)) {
                    let wanted = "I or U of 1, 2, 4 or 8 bytes or F of 4 or 8";
                    bail!(window, BadHeader, "field `{shown}`", wanted, found);
                }
                if name.as_deref() != Some(PADDING) {
                    Warning::left_out(warnings, &*shown, format!("of the unknown type {found}"));
                }
                (None, Dtype::U8)
            }
            (None, Some(dtype)) => {
                Warning::left_out(warnings, &*shown, "a name that cannot be shown");
                (None, dtype)
            }
        };
        let count = counts.map_or(Ok(1), |counts| whole(window, "COUNT", &counts[i]))?;
        let bytes = count.saturating_mul(size).saturating_add(record as u64);
        if bytes > MAX_RECORD as u64 {
            let wanted = format!("at most {MAX_RECORD} bytes a point");
            bail!(window, LimitExceeded, "SIZE and COUNT", wanted, "{bytes} with field `{shown}`");
        }
        let place = record..bytes as usize;
        record = place.end;
        fields.push(Field { name: name.filter(|name| name != PADDING), dtype, count: count as usize, place });
    }
    Ok((fields, record))
}

/// Returns the number of points. The header may have it twice; the second number if it is another.
fn points(window: &Window<'_, '_>, lines: &Lines) -> Result<(u64, Option<u64>), IoError> {
    let [points, width, height] = ["POINTS", "WIDTH", "HEIGHT"].map(|key| lines.number(window, key));
    let (points, width, height) = (points?, width?, height?.unwrap_or(1));
    // Compute with 128 bits, so that the product cannot overflow.
    let product = width.map(|width| u128::from(width) * u128::from(height));
    match (points, product) {
        (Some(points), product) => {
            let product = product.map(|product| u64::try_from(product).unwrap_or(u64::MAX));
            Ok((points, product.filter(|product| *product != points)))
        }
        (None, Some(product)) => u64::try_from(product)
            .map(|product| (product, None))
            .map_err(|_| fault!(window, LimitExceeded, "WIDTH times HEIGHT", "less than 2^64", product)),
        (None, None) => Err(fault!(window, MissingField, "header", "POINTS or WIDTH", "none")),
    }
}

impl Header {
    /// Decides between two numbers of points: the one that `fits` the data. None or both are an
    /// error.
    pub(super) fn decide(&mut self, window: &Window<'_, '_>, fits: impl Fn(u64) -> bool) -> Result<(), IoError> {
        let Some(product) = self.product.take() else { return Ok(()) };
        let points = self.points;
        let (field, said) = match (fits(points), fits(product)) {
            (true, false) => ("WIDTH times HEIGHT", product),
            (false, true) => ("POINTS", points),
            _ => bail!(window, SizeMismatch, "POINTS", "{product} (WIDTH times HEIGHT)", points),
        };
        self.points = if said == points { product } else { points };
        let used = self.points.to_string();
        self.warnings.push(Warning::Overruled { field: field.into(), said: said.to_string(), used });
        Ok(())
    }
}

fn whole(window: &Window<'_, '_>, key: &str, value: &[u8]) -> Result<u64, IoError> {
    whole_number(value)
        .ok_or_else(|| fault!(window, BadHeader, key, "a whole number from 0 to 2^64 - 1", excerpt(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    fn read(text: &str) -> Result<Header, String> {
        let mut reader = text.as_bytes();
        let mut source = Source::new("h".as_ref(), &mut reader, None);
        Header::read(&mut Window::new(&mut source)).map_err(|e| format!("{}: {e}", e.class()))
    }

    #[test]
    fn headers_are_understood() {
        let text =
            "# a\r\n\r\nWIDTH 2\r\nCOLUMNS x _ n\r\nSIZE 8 2 4\r\nTYPE F U I\r\nCOUNT 1 3 2\r\nDATA ascii\r\nrest";
        let header = read(text).unwrap();
        assert_eq!((header.encoding, header.points, header.record), (Encoding::Ascii, 2, 22));
        let field = |name: Option<&str>, dtype, count, place| Field { name: name.map(Into::into), dtype, count, place };
        let wanted = [
            field(Some("x"), Dtype::F64, 1, 0..8),
            field(None, Dtype::U16, 3, 8..14),
            field(Some("n"), Dtype::I32, 2, 14..22),
        ];
        assert_eq!(header.fields, wanted);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let good = "VERSION 0.7\nFIELDS x y\nSIZE 4 4\nTYPE F F\nCOUNT 1 1\nWIDTH 3\nHEIGHT 2\n\
                    VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 6\nDATA binary\n";
        assert_eq!(read(good).unwrap().points, 6);
        for (from, to, told) in [
            ("FIELDS x y\n", "", "MissingField: h: header: expected FIELDS, got none"),
            ("SIZE 4 4", "SIZE 4", "BadHeader: h: SIZE: expected 2 values, one for each field, got 1"),
            ("SIZE 4 4", "SIZE -4 4", "BadHeader: h: SIZE: expected a whole number from 0 to 2^64 - 1, got `-4`"),
            ("SIZE 4 4", "SIZE 4 2", "BadHeader: h: field `y`: expected I or U"),
            (
                "TYPE F F",
                "TYPE F X",
                "BadHeader: h: field `y`: expected I or U of 1, 2, 4 or 8 bytes or F of 4 or 8, got `X` of 4 bytes",
            ),
            (
                "COUNT 1 1",
                "COUNT 1 18446744073709551615",
                "LimitExceeded: h: SIZE and COUNT: expected at most 65536 bytes a point",
            ),
            ("POINTS 6\n", "WIDTH 6\n", "BadHeader: h: line 9: expected WIDTH once, got `WIDTH 6`"),
            ("WIDTH 3", "WIDTH 3 4", "BadHeader: h: WIDTH: expected one number, got 2"),
            (
                "DATA binary",
                "DATA zip",
                "BadHeader: h: DATA: expected `ascii`, `binary` or `binary_compressed`, got `zip`",
            ),
            ("VERSION 0.7", "VERSOIN 0.7", "BadHeader: h: line 1: expected one of VERSION"),
            ("DATA binary\n", "", "Truncated: h: header: expected `DATA`, got the end of the file"),
        ] {
            let e = read(&good.replace(from, to)).unwrap_err();
            assert!(e.starts_with(told), "{e}");
        }
        for (from, to, told) in [
            ("0.7", "0.8", "version `0.8` is not known; the file was read as 0.7"),
            ("VIEWPOINT 0", "VIEWPOINT", "1 field was left out: `VIEWPOINT` (no 7 numbers: `0 0 1 0 0 0`)"),
            (
                "FIELDS x y\nSIZE 4 4\nTYPE F F",
                "FIELDS x a\nSIZE 4 2\nTYPE F F",
                "1 field was left out: `a` (of the unknown type `F` of 2 bytes)",
            ),
            ("FIELDS x y", "FIELDS x a\u{7}", r"1 field was left out: `a\u{7}` (a name that cannot be shown)"),
        ] {
            let warnings = read(&good.replace(from, to)).unwrap().warnings;
            assert_eq!(warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), [told]);
        }
        let neither = good.replace("POINTS 6\n", "").replace("WIDTH 3\n", "");
        assert_eq!(read(&neither).unwrap_err(), "MissingField: h: header: expected POINTS or WIDTH, got none");
        let huge = good.replace("POINTS 6\n", "").replace("WIDTH 3\nHEIGHT 2", "WIDTH 9223372036854775808\nHEIGHT 2");
        assert!(read(&huge).unwrap_err().starts_with("LimitExceeded: h: WIDTH times HEIGHT"));
        assert_eq!(read("").unwrap_err(), "Truncated: h: header: expected `DATA`, got an empty file");
        let many = format!("FIELDS {}\n", "_ ".repeat(MAX_FIELDS + 1));
        assert_eq!(read(&many).unwrap_err(), "LimitExceeded: h: FIELDS: expected at most 2048 values, got more");
    }
}
