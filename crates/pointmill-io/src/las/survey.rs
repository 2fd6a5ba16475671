//! What a LAS file says of its points, and what other files do not keep of that.

use super::header::{Header, NEWEST_MINOR};
use super::layout::has_waves;
use super::vlr::Records;
use crate::format::Format;
use crate::survey::{Grid, Survey};
use crate::warning::{SHOWN, Warning};

/// What a file says of its points, by its header and its records.
pub(super) fn of(header: &Header, records: &Records) -> Survey {
    let grid = Some(Grid { scale: header.scale, shift: header.shift });
    Survey {
        crs: records.crs.clone(),
        grid,
        format: Some(header.format),
        encoding: header.encoding,
        minor: header.minor,
        others: records.others.clone(),
        ..Survey::default()
    }
}

/// What a file of a format does not keep of the points.
pub(crate) fn lost(survey: &Survey, format: Format) -> Option<Warning> {
    let mut parts = vec![];
    if format == Format::Las {
        if (1..NEWEST_MINOR).contains(&survey.minor) || (survey.minor == 0 && survey.format.is_some()) {
            parts.push(format!("version 1.{} (1.{NEWEST_MINOR} is written)", survey.minor));
        }
    } else {
        parts.extend(system(survey));
    }
    all_parts(parts, survey)
}

/// The same of points that are moved to another frame.
pub(crate) fn lost_when_moved(survey: &Survey, format: Format) -> Option<Warning> {
    let mut parts: Vec<_> =
        system(survey).map(|system| format!("{system} (points are in the frame of the poses)")).into_iter().collect();
    if format == Format::Las && survey.grid.is_some() {
        parts.push("scale and offset (those of the moved points are written)".into());
    }
    all_parts(parts, survey)
}

/// The coordinate reference system, where there is one.
fn system(survey: &Survey) -> Option<String> {
    let name = survey.crs_name().map(|name| format!(" {name}")).unwrap_or_default();
    (!survey.crs.is_empty()).then(|| format!("the coordinate reference system{name}"))
}

/// With what no file keeps.
fn all_parts(mut parts: Vec<String>, survey: &Survey) -> Option<Warning> {
    if survey.flags > 0 {
        let points = if survey.flags == 1 { "1 point".into() } else { format!("{} points", survey.flags) };
        parts.push(format!("scan_direction_flag and edge_of_flight_line ({points} with one set)"));
    }
    if survey.format.is_some_and(has_waves) {
        parts.push("wave packets".into());
    }
    if survey.extra > 0 {
        parts.push(format!("extra bytes that no record describes ({} a point)", survey.extra));
    }
    if !survey.others.is_empty() {
        let shown = survey.others.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if survey.others.len() > SHOWN { ", ..." } else { "" };
        let word = if survey.others.len() == 1 { "record" } else { "records" };
        parts.push(format!("{} {word} ({shown}{more})", survey.others.len()));
    }
    (!parts.is_empty()).then_some(Warning::NotKept { parts })
}
