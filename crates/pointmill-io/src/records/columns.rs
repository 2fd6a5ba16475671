//! The columns of a table: names, types, and where in a record each value is.

use crate::error::{IoError, excerpt};
use crate::fault::{bail, fault};
use crate::limits::Bounds;
use crate::warning::Warning;
use crate::window::{WINDOW, Window};
use pointmill_core::array::Dtype;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The longest record. A window must hold one.
pub(crate) const MAX_RECORD: usize = 64 << 10;
const _: () = assert!(MAX_RECORD <= WINDOW);

/// The longest name of a column, in bytes.
pub(crate) const LONGEST_NAME: usize = 256;

/// A number of a record that becomes a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    /// Which value of a line of text it is.
    pub(crate) token: usize,
    /// Where in the record the field starts that it belongs to, and the field's length, in bytes.
    pub(crate) field: Range<usize>,
    /// Where in the field it starts.
    pub(crate) within: usize,
    pub(crate) coding: Coding,
}

/// How the bytes of a value become a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Coding {
    /// A number of the column's type.
    Plain,
    /// A whole number of 32 bits, or of 16 if `is_short`, times `scale` plus `shift`.
    Scaled { is_short: bool, scale: f64, shift: f64 },
    /// A number of a type, times `scale` plus `shift`.
    Linear { from: Dtype, scale: f64, shift: f64 },
    /// `count` bits of a byte, of which `lowest` is the first.
    Bits { lowest: u8, count: u8 },
}

impl Entry {
    /// A plain number that starts at a byte of the record.
    pub(crate) fn new(name: impl Into<String>, dtype: Dtype, token: usize, start: usize) -> Self {
        let field = start..start + dtype.bytes();
        Self { name: name.into(), dtype, token, field, within: 0, coding: Coding::Plain }
    }

    /// The numbers of a field; of several the names are `name_0`, `name_1`, ...
    pub(crate) fn of_field(
        name: &str,
        dtype: Dtype,
        count: usize,
        token: usize,
        start: usize,
    ) -> impl Iterator<Item = Self> {
        let field = start..start + count * dtype.bytes();
        (0..count).map(move |i| {
            let name = if count == 1 { name.into() } else { format!("{name}_{i}") };
            Self { field: field.clone(), within: i * dtype.bytes(), ..Self::new(name, dtype, token + i, 0) }
        })
    }
}

/// The columns, x, y, z first and the others in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    pub(super) entries: Vec<Entry>,
    /// Bytes of a record.
    pub(crate) record: usize,
    /// What is odd about the columns.
    pub(crate) warnings: Vec<Warning>,
}

impl Columns {
    /// Orders the entries of a record of `record` bytes and checks their names. `X`, `Y` and `Z`
    /// are x, y and z where no other name differs from them by case alone; without any of these
    /// `Points:0`, `Points:1` and `Points:2` are. Of several columns of one name, which must be none
    /// of the axes, the later ones get other names; a field that stands twice counts once.
    pub(crate) fn new(
        window: &Window<'_, '_>,
        bounds: &Bounds,
        mut entries: Vec<Entry>,
        record: usize,
    ) -> Result<Self, IoError> {
        bounds.check_columns(window.source(), entries.len())?;
        let mut warnings = vec![];
        without_repeats(window, &mut entries, &mut warnings)?;
        if let Some(names) = numbered_axes(&mut entries) {
            warnings.push(Warning::Axes { names });
        }
        for (place, axis) in ["x", "y", "z"].into_iter().enumerate() {
            let Some(at) = find(&entries, axis) else {
                let found: Vec<_> = entries.iter().take(16).map(|e| &*e.name).collect();
                let more = if entries.len() > found.len() { ", ..." } else { "" };
                let found = if found.is_empty() { "none".into() } else { format!("{}{more}", found.join(", ")) };
                if ["qw", "qx", "qy", "qz"].iter().all(|name| entries.iter().any(|e| e.name == *name)) {
                    bail!(window, MissingField, "columns", "a cloud with x, y and z", "a file of poses: {found}");
                }
                bail!(window, MissingField, "field `{axis}`", "x, y and z", found);
            };
            entries[place..=at].rotate_right(1);
            entries[place].name = axis.into();
        }
        Ok(Self { entries, record, warnings })
    }
}

/// Leaves out fields that stand twice, and gives columns of one name others.
fn without_repeats(
    window: &Window<'_, '_>,
    entries: &mut Vec<Entry>,
    warnings: &mut Vec<Warning>,
) -> Result<(), IoError> {
    let mut first: HashMap<String, usize> = HashMap::new();
    let repeats: Vec<usize> =
        (0..entries.len()).filter(|&j| *first.entry(entries[j].name.clone()).or_insert(j) != j).collect();
    if repeats.is_empty() {
        return Ok(());
    }
    let mut taken: HashSet<String> = first.keys().cloned().collect();
    let (mut same, mut names) = (vec![], vec![]);
    for j in repeats {
        let name = entries[j].name.clone();
        if entries[j] == entries[first[&name]] {
            Warning::left_out(warnings, &*name, "stands twice in one place");
            same.push(j);
            continue;
        }
        let is_needed = |axis: &&str| {
            *axis == name || (name.eq_ignore_ascii_case(axis) && !entries.iter().any(|entry| entry.name == **axis))
        };
        if ["x", "y", "z"].iter().any(is_needed) {
            bail!(window, BadHeader, "names", "names that differ", "`{name}` twice");
        }
        let free = (2..).map(|n| format!("{name}_{n}")).find(|other| !taken.contains(other)).expect("one is free");
        taken.insert(free.clone());
        entries[j].name.clone_from(&free);
        names.push((name, free));
    }
    let mut j = 0;
    entries.retain(|_| {
        j += 1;
        same.binary_search(&(j - 1)).is_err()
    });
    if !names.is_empty() {
        warnings.push(Warning::Repeated { names });
    }
    Ok(())
}

/// Takes columns of one stem and the numbers 0, 1, 2 for x, y, z, as `ParaView` and `VeloView` name the
/// parts of a vector: `Points:0`, `Points_m_XYZ:1`. Their names.
fn numbered_axes(entries: &mut [Entry]) -> Option<[String; 3]> {
    if entries.iter().any(|entry| ["x", "y", "z"].iter().any(|axis| entry.name.eq_ignore_ascii_case(axis))) {
        return None;
    }
    let stem_of = |entry: &Entry| {
        let stem = entry.name.strip_suffix('0')?.strip_suffix([':', '_'])?;
        stem.to_ascii_lowercase().starts_with("points").then(|| entry.name[..entry.name.len() - 1].to_owned())
    };
    let mut stems = entries.iter().filter_map(stem_of);
    let stem = stems.next().filter(|_| stems.next().is_none())?;
    let names = ["0", "1", "2"].map(|number| format!("{stem}{number}"));
    let places = names.each_ref().map(|name| entries.iter().position(|entry| entry.name == *name));
    let [Some(a), Some(b), Some(c)] = places else { return None };
    [a, b, c].into_iter().zip(["x", "y", "z"]).for_each(|(at, axis)| entries[at].name = axis.into());
    Some(names)
}

/// Where the entry of an axis is: the one of its name, else the only one whose name differs by case
/// alone.
fn find(entries: &[Entry], axis: &str) -> Option<usize> {
    let exact = entries.iter().position(|e| e.name == axis);
    exact.or_else(|| {
        let mut alike = entries.iter().enumerate().filter(|(_, e)| e.name.eq_ignore_ascii_case(axis));
        let (at, _) = alike.next()?;
        alike.next().is_none().then_some(at)
    })
}

/// Checks that a name of a header can be shown and written again.
pub(crate) fn name(window: &Window<'_, '_>, bytes: &[u8]) -> Result<String, IoError> {
    checked_name(window, &format!("line {}", window.line_number()), bytes)
}

/// As [`name`], of a part of a file.
pub(crate) fn checked_name(window: &Window<'_, '_>, part: &str, bytes: &[u8]) -> Result<String, IoError> {
    match str::from_utf8(bytes) {
        Ok(name) if name.len() <= LONGEST_NAME && !name.chars().any(char::is_control) => Ok(name.into()),
        _ => {
            let wanted = format!("a name of at most {LONGEST_NAME} bytes of UTF-8 without control characters");
            bail!(window, BadHeader, part, wanted, excerpt(bytes))
        }
    }
}

/// The error for the last line of a header.
pub(crate) fn bad_line(window: &Window<'_, '_>, wanted: &str, found: &[u8]) -> IoError {
    fault!(window, BadHeader, ("line {}", window.line_number()), wanted, excerpt(found))
}

/// A whole number of a header: digits alone, less than 2^64.
pub(crate) fn whole_number(word: &[u8]) -> Option<u64> {
    let digits = str::from_utf8(word).ok().filter(|word| word.bytes().all(|b| b.is_ascii_digit()));
    digits?.parse().ok()
}
