//! PTX, the text of Leica's scanners: scans one after the other, each with its size, its pose, and
//! the points of its grid.
//!
//! A scan begins with ten lines: columns, rows, the place and the three axes of the scanner, and a
//! matrix that takes rows `x y z 1` to the frame of the file. A line of a point has x, y, z, the
//! intensity, and perhaps red, green, blue. Where the scanner got no echo, x, y and z are 0 in the
//! file and become NaN: a pose would make a point of them.

use crate::error::{IoError, excerpt};
use crate::fault::{bail, fault};
use crate::limits::Bounds;
use crate::records::{Columns, Entry, Table, split};
use crate::rows::Rows;
use crate::source::Source;
use crate::warning::Warning;
use crate::window::Window;
use pointmill_core::array::Dtype;
use std::ops::Range;

/// The numbers of each of the lines before the points.
const HEAD: [usize; 10] = [1, 1, 3, 3, 3, 3, 4, 4, 4, 4];
/// The columns, and how many of them a line without colours has.
const COLUMNS: [(&str, Dtype); 7] = [
    ("x", Dtype::F64),
    ("y", Dtype::F64),
    ("z", Dtype::F64),
    ("intensity", Dtype::F32),
    ("red", Dtype::U8),
    ("green", Dtype::U8),
    ("blue", Dtype::U8),
];
const WIDTHS: [usize; 3] = [3, 4, 7];

/// Whether a text begins as a scan does.
pub(crate) fn is_ptx(first: &[u8]) -> bool {
    let mut lines = first.split(|b| matches!(b, b'\n' | b'\r')).filter(|line| !line.trim_ascii().is_empty());
    let numbers = |line: &[u8]| -> Option<Vec<f64>> {
        line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(number).collect()
    };
    HEAD.iter().enumerate().all(|(i, &count)| {
        let found = lines.next().and_then(numbers).filter(|found| found.len() == count);
        found.is_some_and(|found| match i {
            0 | 1 => found[0] >= 0.0 && found[0].fract() == 0.0,
            6..=8 => found[3] == 0.0,
            9 => found[3] == 1.0,
            _ => true,
        })
    })
}

fn number(word: &[u8]) -> Option<f64> {
    str::from_utf8(word).ok()?.parse().ok()
}

/// What comes before the points of a scan.
struct Head {
    points: u64,
    /// The matrix, whose rows are multiplied from the left.
    matrix: [[f64; 4]; 4],
}

impl Head {
    /// Reads the lines before points; `None` at the end of the file.
    fn read(window: &mut Window<'_, '_>, tokens: &mut Vec<Range<usize>>) -> Result<Option<Self>, IoError> {
        let mut numbers = [[0.0; 4]; HEAD.len()];
        for (i, &count) in HEAD.iter().enumerate() {
            let Some(line) = next_line(window, tokens)? else {
                if i == 0 {
                    return Ok(None);
                }
                bail!(window, Truncated, "header", "10 lines before the points of a scan", "{i}");
            };
            let line = window.at(&line);
            let found = || tokens.iter().map(|token| number(&line[token.clone()]).filter(|v| v.is_finite()));
            if tokens.len() != count || found().any(|v| v.is_none()) {
                let wanted = format!("{} (line {} of 10 before the points of a scan)", counted(count), i + 1);
                bail!(window, BadHeader, ("line {}", window.line_number()), wanted, excerpt(line));
            }
            numbers[i].iter_mut().zip(found().flatten()).for_each(|(to, v)| *to = v);
        }
        let [columns, rows] = [numbers[0][0], numbers[1][0]];
        let size = |v: f64| (v >= 0.0 && v.fract() == 0.0 && v <= f64::from(u32::MAX)).then_some(v as u64);
        let (Some(columns), Some(rows)) = (size(columns), size(rows)) else {
            bail!(window, BadHeader, "columns and rows", "whole numbers below 2^32", "{columns} and {rows}");
        };
        let matrix = [numbers[6], numbers[7], numbers[8], numbers[9]];
        Ok(Some(Self { points: columns * rows, matrix }))
    }

    /// A point in the frame of the file.
    fn apply(&self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let [a, b, c, d] = &self.matrix;
        [0, 1, 2].map(|axis| x * a[axis] + y * b[axis] + z * c[axis] + d[axis])
    }
}

fn counted(count: usize) -> String {
    if count == 1 { "a number".into() } else { format!("{count} numbers") }
}

/// The next line that is not blank, and where its values are.
fn next_line(window: &mut Window<'_, '_>, tokens: &mut Vec<Range<usize>>) -> Result<Option<Range<usize>>, IoError> {
    while let Some(line) = window.line()? {
        split(window.at(&line), tokens);
        if !tokens.is_empty() {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// Reads the points of all scans.
pub(crate) fn read_rows(source: &mut Source<'_>, bounds: &Bounds) -> Result<Rows, IoError> {
    let mut window = Window::new(source);
    window.begin_text()?;
    let mut tokens = vec![];
    let mut table: Option<Table> = None;
    let (mut width, mut points, mut silent, mut scans, mut colours) = (0, 0u64, 0usize, 0u64, 0u64);
    while let Some(head) = Head::read(&mut window, &mut tokens)? {
        scans += 1;
        bounds.check_points(window.source(), points.saturating_add(head.points))?;
        points += head.points;
        for point in 0..head.points {
            let Some(at) = next_line(&mut window, &mut tokens)? else {
                let wanted = format!("{} points of scan {scans}, as its size says", head.points);
                bail!(window, Truncated, "data", wanted, "{point}");
            };
            let line = window.at(&at);
            let place = || format!("line {}", window.line_number());
            if !WIDTHS.contains(&tokens.len()) {
                bail!(
                    window,
                    BadValue,
                    (place()),
                    "3, 4 or 7 values: x, y, z, intensity, red, green, blue",
                    tokens.len()
                );
            }
            let table = match &mut table {
                Some(table) => table,
                None => {
                    width = tokens.len();
                    let entries = COLUMNS[..width].iter().enumerate();
                    let entries = entries.map(|(j, (name, dtype))| Entry::new(*name, *dtype, j, 0)).collect();
                    table.insert(Table::new(Columns::new(&window, bounds, entries, 0)?))
                }
            };
            let value = |j: usize| {
                let Some(token) = tokens.get(j) else { return Ok(f64::NAN) };
                let word = &line[token.clone()];
                let field = || format!("{}: `{}`", place(), COLUMNS[j].0);
                number(word).ok_or_else(|| fault!(window, BadValue, (field()), "a number", excerpt(word)))
            };
            let xyz = [value(0)?, value(1)?, value(2)?];
            colours += u64::from(tokens.len() > width);
            let has_echo = xyz != [0.0; 3];
            silent += usize::from(!has_echo);
            let xyz = if has_echo { head.apply(xyz) } else { [f64::NAN; 3] };
            let both = |v: f64| (v as f32, v);
            table.add_row(&window, |j, _| if j < 3 { Ok(both(xyz[j])) } else { value(j).map(both) })?;
        }
    }
    let Some(table) = table else {
        if scans == 0 {
            bail!(window, Truncated, "header", "10 lines before the points of a scan", "an empty file");
        }
        let entries =
            COLUMNS[..4].iter().enumerate().map(|(j, (name, dtype))| Entry::new(*name, *dtype, j, 0)).collect();
        return Ok(Table::new(Columns::new(&window, bounds, entries, 0)?).into_rows(0));
    };
    let mut rows = table.into_rows(0);
    if silent > 0 {
        rows.warnings.push(Warning::NoEcho { count: silent, points: points as usize });
    }
    if colours > 0 {
        Warning::left_out(
            &mut rows.warnings,
            COLUMNS[width].0,
            format!("{colours} points have more values than the first one"),
        );
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scan at (100, 200, 300) that is turned by 90 degrees about z.
    const SCAN: &str = "2\r\n2\r\n100 200 300\r\n0 1 0\r\n-1 0 0\r\n0 0 1\r\n0 1 0 0\r\n-1 0 0 0\r\n0 0 1 0\r\n100 200 300 1\r\n\
                        1 0 0 0.5\r\n0 1 0 0.25\r\n0 0 0 0.5\r\n1 2 3 1\r\n";

    fn read(text: &str) -> Result<Rows, String> {
        let (mut reader, length) = (text.as_bytes(), text.len() as u64);
        let mut source = Source::new("a.ptx".as_ref(), &mut reader, Some(length));
        read_rows(&mut source, &Bounds::default()).map_err(|e| format!("{}: {e}", e.class()))
    }

    #[test]
    fn scans_are_read_in_the_frame_of_their_poses() {
        assert!(is_ptx(SCAN.as_bytes()) && is_ptx(SCAN.replace("\r\n", "\r").as_bytes()));
        let rows = read(SCAN).unwrap();
        let xyz = rows.xyz_f64.as_deref().unwrap();
        assert_eq!(xyz[..6], [100.0, 201.0, 300.0, 99.0, 200.0, 300.0]);
        assert!(xyz[6..9].iter().all(|v| v.is_nan()) && xyz[9..] == [98.0, 201.0, 303.0]);
        assert_eq!([rows.data[3], rows.data[7], rows.data[11], rows.data[15]], [0.5, 0.25, 0.5, 1.0]);
        assert_eq!(rows.warnings, [Warning::NoEcho { count: 1, points: 4 }]);
        // Two scans, the second with colours.
        let coloured = SCAN.replace("1 2 3 1", "1 2 3 1 7 8 9");
        let both = read(&format!("{SCAN}{coloured}")).unwrap();
        assert_eq!((both.len(), both.columns()), (8, 4));
        assert_eq!(both.warnings.len(), 2, "{:?}", both.warnings);
        let first = read(&format!("{}{SCAN}", coloured.replace("1 0 0 0.5", "1 0 0 0.5 4 5 6"))).unwrap();
        assert_eq!((first.len(), first.columns()), (8, 7));
        assert!(first.data[4..7] == [4.0, 5.0, 6.0] && first.data[7 + 4].is_nan());
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (from, to, told) in [
            ("1 2 3 1", "1 2 3 x", "BadValue: a.ptx: line 14: `intensity`: expected a number, got `x`"),
            ("1 2 3 1", "1 2", "BadValue: a.ptx: line 14: expected 3, 4 or 7 values"),
            ("1 2 3 1\r\n", "", "Truncated: a.ptx: data: expected 4 points of scan 1, as its size says, got 3"),
            ("2\r\n2\r\n", "4294967295\n4294967295\n", "LimitExceeded: a.ptx: points"),
            (
                "2\r\n2\r\n",
                "2.5\n2\n",
                "BadHeader: a.ptx: columns and rows: expected whole numbers below 2^32, got 2.5 and 2",
            ),
            ("0 0 1 0", "0 0 1", "BadHeader: a.ptx: line 9: expected 4 numbers (line 9 of 10"),
            ("100 200 300\r\n", "100 200 nan\r\n", "BadHeader: a.ptx: line 3: expected 3 numbers"),
        ] {
            let e = read(&SCAN.replacen(from, to, 1)).unwrap_err();
            assert!(e.starts_with(told), "{e}");
        }
        assert_eq!(
            read("").unwrap_err(),
            "Truncated: a.ptx: header: expected 10 lines before the points of a scan, got an empty file"
        );
        for text in
            ["", "1\n2\n", "4\n1 2 3\n", &SCAN.replace("300 1\r", "300 2\r"), &SCAN.replacen("2\r\n", "x\r\n", 1)]
        {
            assert!(!is_ptx(text.as_bytes()), "{text:?}");
        }
    }
}
