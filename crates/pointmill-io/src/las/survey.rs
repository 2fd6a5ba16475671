//! What a LAS file says of its points, and what other files do not keep of that.

use super::header::{Header, NEWEST_WRITTEN, OFFSET_TIME};
use super::layout::has_waves;
use super::vlr::Records;
use crate::format::Format;
use crate::survey::{Grid, OtherRecord, Survey};
use crate::warning::{SHOWN, Warning};

/// What a file says of its points, by its header and its records.
pub(super) fn of(header: &Header, records: &mut Records) -> Survey {
    let grid = Some(Grid { scale: header.scale, shift: header.shift });
    Survey {
        crs: records.crs.clone(),
        grid,
        format: Some(header.format),
        encoding: header.encoding,
        minor: header.minor,
        head: header.head.clone(),
        kept: std::mem::take(&mut records.others),
        ..Survey::default()
    }
}

/// What a file of a format does not keep of the points.
pub(crate) fn lost(survey: &Survey, format: Format) -> Option<Warning> {
    let mut parts = vec![];
    if format == Format::Las {
        if survey.minor > NEWEST_WRITTEN {
            parts.push(format!("version 1.{} (1.{NEWEST_WRITTEN} is written)", survey.minor));
        }
        if survey.encoding & OFFSET_TIME != 0 {
            parts.push("the time offset, which gps_time is relative to".into());
        }
    } else {
        let is_beside = format.has_prj() && survey.wkt().is_some();
        let why = if format.has_prj() { " (of GeoTIFF keys; a .prj has WKT)" } else { "" };
        parts.extend(system(survey).filter(|_| !is_beside).map(|system| system + why));
    }
    all_parts(parts, survey, format == Format::Las)
}

/// The same of points that are moved to another frame.
pub(crate) fn lost_when_moved(survey: &Survey, format: Format) -> Option<Warning> {
    let mut parts: Vec<_> =
        system(survey).map(|system| format!("{system} (points are in the frame of the poses)")).into_iter().collect();
    if format == Format::Las && survey.grid.is_some() {
        parts.push("scale and offset (those of the moved points are written)".into());
    }
    all_parts(parts, survey, false)
}

/// The coordinate reference system, where there is one.
fn system(survey: &Survey) -> Option<String> {
    let name = survey.crs_name().map(|name| format!(" {name}")).unwrap_or_default();
    (!survey.crs.is_empty()).then(|| format!("the coordinate reference system{name}"))
}

/// With what no file keeps, and other records unless they are kept.
fn all_parts(mut parts: Vec<String>, survey: &Survey, keeps_records: bool) -> Option<Warning> {
    if survey.format.is_some_and(has_waves) {
        parts.push("wave packets".into());
    }
    if survey.extra > 0 {
        parts.push(format!("extra bytes that no record describes ({} a point)", survey.extra));
    }
    let kept = survey.kept.iter().filter(|_| !keeps_records).map(OtherRecord::name);
    let others: Vec<_> = survey.others.iter().cloned().chain(kept).collect();
    if !others.is_empty() {
        let shown = others[..others.len().min(SHOWN)].join(", ");
        let more = if others.len() > SHOWN { ", ..." } else { "" };
        let word = if others.len() == 1 { "record" } else { "records" };
        parts.push(format!("{} {word} ({shown}{more})", others.len()));
    }
    (!parts.is_empty()).then_some(Warning::NotKept { parts })
}
