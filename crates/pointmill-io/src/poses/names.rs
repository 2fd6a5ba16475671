//! What the names of a header say about the columns of poses.

use super::columns::{Columns, Unit};
use crate::error::excerpt;

/// Most names of a header that are looked at.
const MOST: usize = 256;
/// Columns that have an axis and are neither a position nor a rotation.
const OTHER: [&str; 11] =
    ["twist", "cov", "covariance", "linear", "angular", "velocity", "vel", "v", "acc", "acceleration", "b"];
const POSITION: [&str; 8] = ["position", "pos", "translation", "trans", "location", "loc", "p", "t"];
const ROTATION: [&str; 7] = ["quaternion", "quat", "orientation", "rotation", "rot", "q", "r"];

/// What a header says.
#[derive(Debug, PartialEq)]
pub(super) enum Header {
    /// Where the columns are.
    Columns(Columns),
    /// Nothing about poses.
    Other,
    /// Names of poses from which no choice follows: what was expected and what was found.
    Unclear(String, String),
}

/// What a column has.
#[derive(Clone, Debug, PartialEq)]
enum Role {
    /// A time: the words before its unit, and how many of the unit a second has.
    Time(String, Option<f64>),
    /// A coordinate, by its axis.
    Position(usize),
    /// A part of the quaternion, by its axis, and whether the name may also be of a rotation vector.
    Rotation(usize, bool),
    /// An angle.
    Angle,
}

/// What separates the names of a header: semicolons, commas or tabs, wherever there is one, else
/// blanks.
pub(super) fn separator(line: &[u8]) -> Option<u8> {
    b";,\t".iter().copied().find(|separator| line.contains(separator))
}

/// The parts of a line between separators, without the blanks round them; the last is left out if it
/// is empty.
pub(super) fn split(line: &[u8], separator: Option<u8>) -> impl Iterator<Item = &[u8]> {
    let last = line.trim_ascii_end().len();
    let line = match separator {
        Some(byte) if line[..last].ends_with(&[byte]) => &line[..last - 1],
        _ => &line[..last],
    };
    let is_end = move |byte: &u8| separator.map_or(byte.is_ascii_whitespace(), |separator| *byte == separator);
    line.split(is_end).map(<[u8]>::trim_ascii).filter(move |word| separator.is_some() || !word.is_empty())
}

/// Reads a header. In a comment words that end in a colon may stand before the names.
pub(super) fn header(line: &[u8], is_comment: bool) -> Header {
    let by = separator(line);
    let words = split(line, by).skip_while(|word| is_comment && word.ends_with(b":"));
    let mut found = Found::default();
    for (place, word) in words.enumerate() {
        if place == MOST {
            return Header::Other;
        }
        found.numbers += 1;
        if let Some(role) = str::from_utf8(word).ok().and_then(role) {
            found.roles.push((place, role));
        }
    }
    found.settle(line)
}

#[derive(Default)]
struct Found {
    numbers: usize,
    roles: Vec<(usize, Role)>,
}

impl Found {
    fn settle(&self, line: &[u8]) -> Header {
        let places = |wanted: &dyn Fn(&Role) -> bool| -> Vec<usize> {
            self.roles.iter().filter(|(_, role)| wanted(role)).map(|(place, _)| *place).collect()
        };
        let position: [Vec<usize>; 3] = [0, 1, 2].map(|axis| places(&|role| *role == Role::Position(axis)));
        if position.iter().any(Vec::is_empty) {
            return Header::Other;
        }
        let has_w = !places(&|role| matches!(role, Role::Rotation(3, _))).is_empty();
        let of_rotation = |axis: usize| {
            places(
                &|role| matches!(role, Role::Rotation(at, may_be_vector) if *at == axis && (has_w || !may_be_vector)),
            )
        };
        let rotation = [0, 1, 2, 3].map(of_rotation);
        let unclear = |wanted: &str| Header::Unclear(wanted.into(), excerpt(line));
        if position.iter().chain(&rotation).any(|places| places.len() > 1) {
            return unclear("one column each of x, y, z, qx, qy, qz and qw");
        }
        let any_rotation = rotation.iter().any(|places| !places.is_empty())
            || self.roles.iter().any(|(_, role)| matches!(role, Role::Angle | Role::Rotation(_, true)));
        let whole = rotation.iter().all(|places| !places.is_empty());
        if any_rotation && !whole {
            return unclear("columns of a quaternion, such as qx, qy, qz and qw");
        }
        let is_euroc = line.to_ascii_lowercase().windows(8).any(|name| name == b"p_rs_r_x");
        let Some((time, nanoseconds, unit)) = self.time(is_euroc) else {
            return unclear("one column of times, or two of seconds and nanoseconds");
        };
        Header::Columns(Columns {
            numbers: self.numbers,
            time,
            nanoseconds,
            position: position.map(|places| places[0]),
            rotation: whole.then(|| rotation.map(|places| places[0])),
            unit,
        })
    }

    /// The columns of the time, and its unit; `None` if two have an equal claim.
    fn time(&self, is_euroc: bool) -> Option<(Option<usize>, Option<usize>, Unit)> {
        let times = || {
            self.roles.iter().filter_map(|(place, role)| match role {
                Role::Time(stem, unit) => Some((*place, stem, *unit)),
                _ => None,
            })
        };
        let seconds = |(.., unit): &(usize, &String, Option<f64>)| *unit == Some(1.0);
        for (place, stem, _) in times().filter(seconds) {
            if let Some((rest, ..)) = times().find(|(_, other, unit)| *other == stem && *unit == Some(1e9)) {
                return Some((Some(place), Some(rest), Unit::PerSecond(1.0)));
            }
        }
        let rank = |stem: &str| {
            let ranks: [&dyn Fn(&str) -> bool; 5] = [
                &|stem| stem.ends_with("header_stamp"),
                &|stem| stem.ends_with("timestamp"),
                &|stem| stem.ends_with("stamp"),
                &|stem| stem.ends_with("time"),
                &|stem| !stem.is_empty(),
            ];
            ranks.iter().position(|of| of(stem)).unwrap_or(ranks.len())
        };
        let Some(best) = times().map(|(_, stem, _)| rank(stem)).min() else {
            return Some((None, None, Unit::ByDigits));
        };
        let mut of_best = times().filter(|(_, stem, _)| rank(stem) == best);
        let (place, _, unit) = of_best.next()?;
        if of_best.next().is_some() {
            return None;
        }
        let unit = unit.map_or(if is_euroc { Unit::Euroc } else { Unit::ByDigits }, Unit::PerSecond);
        Some((Some(place), None, unit))
    }
}

/// What a name says.
fn role(name: &str) -> Option<Role> {
    let name = name.trim_matches(['"', '\'', '#', '%', ' ']).to_ascii_lowercase();
    let (base, unit) = match name.find(['[', '(']) {
        Some(at) => (&name[..at], name[at + 1..].trim_end_matches([']', ')', ' ']).trim()),
        None => (&*name, ""),
    };
    let mut words: Vec<&str> = base.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    if let Some(time) = time(&words, unit) {
        return Some(time);
    }
    if words.len() > 1 && words.last() == Some(&"m") {
        words.pop();
    }
    if matches!(words.last(), Some(&"roll" | &"pitch" | &"yaw" | &"heading")) {
        return Some(Role::Angle);
    }
    let last = words.pop()?;
    let axis = ["x", "y", "z", "w"].iter().position(|axis| last.ends_with(axis))?;
    let stuck = &last[..last.len() - 1];
    if !stuck.is_empty() {
        words.push(stuck);
    }
    let is_length = matches!(unit, "" | "m" | "meter" | "meters" | "metre" | "metres");
    let position = || (axis < 3 && is_length).then_some(Role::Position(axis));
    if words.is_empty() {
        return if axis == 3 { Some(Role::Rotation(3, false)) } else { position() };
    }
    if words.iter().any(|word| OTHER.contains(word)) {
        return None;
    }
    // The longest words say it, wherever they are; a letter only where it begins the name or is all of it.
    let known = |word: &&&str| POSITION.contains(*word) || ROTATION.contains(*word);
    let kind =
        words.iter().rev().filter(|word| word.len() > 1).find(known).or_else(|| words.first().filter(|w| known(w)));
    let kind = *kind?;
    if POSITION.contains(&kind) { position() } else { Some(Role::Rotation(axis, kind == "r")) }
}

/// A time, if the words of a name say so.
fn time(words: &[&str], unit: &str) -> Option<Role> {
    let of_unit = |word: &str| match word {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "ms" | "msec" | "milliseconds" => Some(1e3),
        "us" | "usec" | "microseconds" => Some(1e6),
        "ns" | "nsec" | "nsecs" | "nanosec" | "nanosecs" | "nanosecond" | "nanoseconds" => Some(1e9),
        _ => None,
    };
    let (last, before) = words.split_last()?;
    let is_time = |word: &str| matches!(word, "t" | "ts" | "time" | "times" | "stamp") || word.ends_with("timestamp");
    if is_time(last) {
        return Some(Role::Time(words.join("_"), of_unit(unit)));
    }
    let of_last = of_unit(last)?;
    let is_alone = before.is_empty() && last.len() > 2;
    (is_alone || before.last().is_some_and(|word| is_time(word))).then(|| Role::Time(before.join("_"), Some(of_last)))
}
