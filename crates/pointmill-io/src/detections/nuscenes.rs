//! nuScenes' JSON: submissions, and boxes as its devkit writes them.

use super::check::{Wrong, check_box, class_of, error, finite, yaw_of};
use super::{BoxState, Detections, read_bytes};
use crate::error::IoError;
use crate::fault::{bail, fault};
use crate::limits::Limits;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::path::Path;

/// The classes of nuScenes' detection task.
const CLASSES: [&str; 10] = [
    "car",
    "truck",
    "bus",
    "trailer",
    "construction_vehicle",
    "pedestrian",
    "motorcycle",
    "bicycle",
    "traffic_cone",
    "barrier",
];

/// The attributes that a box of nuScenes may have.
pub const ATTRIBUTES: [&str; 8] = [
    "pedestrian.moving",
    "pedestrian.sitting_lying_down",
    "pedestrian.standing",
    "cycle.with_rider",
    "cycle.without_rider",
    "vehicle.moving",
    "vehicle.parked",
    "vehicle.stopped",
];

/// Reads the boxes of a submission of nuScenes, `{"meta": .., "results": {token: [box, ..], ..}}`, or
/// of what `EvalBoxes.serialize()` of its devkit gives, `{token: [box, ..], ..}`.
///
/// **Units and frames**: metres, radians and m/s in the global frame. A quaternion becomes its yaw.
/// `NaN` is a velocity that is not known. A negative score, which the devkit gives to truth, becomes 1
/// where all scores are negative.
///
/// # Errors
/// What is no such JSON, with line and column; a class or attribute that nuScenes does not have, a
/// number that is not finite, an extent that is not positive, a sample twice, each with sample and box.
pub fn read_nuscenes(path: impl AsRef<Path>, limits: &Limits) -> Result<Detections, IoError> {
    let path = path.as_ref();
    let mut bytes = read_bytes(path, limits)?;
    if memchr::memmem::find(&bytes, b"NaN").is_some() {
        bytes = without_nan(&bytes);
    }
    let classes = CLASSES.map(str::to_owned).into();
    let mut state = State { out: Detections { classes, ..Detections::default() }, wrong: None };
    let mut json = serde_json::Deserializer::from_slice(&bytes);
    let read = Samples { state: &mut state, is_outer: true }.deserialize(&mut json).and_then(|()| json.end());
    if let Err(e) = read {
        return Err(match state.wrong.take() {
            Some((place, wrong)) => error(path, &place, wrong),
            None => {
                let place = format!("line {}, column {}", e.line(), e.column());
                let told = e.to_string();
                let told = told.rsplit_once(" at line ").map_or(&*told, |(told, _)| told);
                fault!(path, BadValue, place, "JSON with the boxes of samples", told)
            }
        });
    }
    let mut out = state.out;
    let frames = out.frames.len();
    if out.scores.iter().all(|&score| score < 0.0) {
        out.scores.fill(1.0);
    }
    out = out.sorted();
    if out.frames.len() < frames {
        bail!(path, BadValue, "samples", "each once", ("{} of them twice", frames - out.frames.len()));
    }
    Ok(out)
}

/// The text with `null` for each `NaN` outside of strings.
fn without_nan(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut in_text, mut at) = (Vec::with_capacity(bytes.len() + bytes.len() / 8), false, 0);
    while let Some(&byte) = bytes.get(at) {
        if !in_text && bytes[at..].starts_with(b"NaN") {
            out.extend(b"null");
            at += 3;
            continue;
        }
        // What is escaped, a quote perhaps, is copied with its backslash.
        let length = if in_text && byte == b'\\' { 2 } else { 1 };
        in_text ^= byte == b'"';
        out.extend(&bytes[at..bytes.len().min(at + length)]);
        at += length;
    }
    out
}

/// A box of the file; other fields are ignored, as the devkit does.
#[derive(Deserialize)]
struct JsonBox<'a> {
    #[serde(borrow)]
    sample_token: Cow<'a, str>,
    translation: [f64; 3],
    size: [f64; 3],
    rotation: [f64; 4],
    velocity: [Option<f64>; 2],
    ego_translation: Option<[f64; 3]>,
    num_pts: Option<i64>,
    #[serde(borrow)]
    detection_name: Cow<'a, str>,
    detection_score: f64,
    #[serde(borrow)]
    attribute_name: Cow<'a, str>,
}

/// What was read so far, and what is wrong with a value: its sample and box, and what it is.
struct State {
    out: Detections,
    wrong: Option<(String, Wrong)>,
}

impl State {
    fn push(&mut self, token: &str, found: &JsonBox<'_>) -> Result<(), Wrong> {
        if found.sample_token != token {
            return Err(("sample_token".into(), format!("`{token}`"), format!("`{}`", found.sample_token)));
        }
        let ([x, y, z], [w, l, h]) = (found.translation, found.size);
        let row = [x, y, z, l, w, h, yaw_of(found.rotation)?];
        check_box(&row)?;
        if found.size.contains(&0.0) {
            return Err(("size".into(), "positive extents".into(), format!("{:?}", found.size)));
        }
        let attribute = match &*found.attribute_name {
            "" => None,
            name => {
                let place = ATTRIBUTES.iter().position(|known| *known == name);
                let wrong = || ("attribute_name".into(), ATTRIBUTES.join(", "), format!("`{name}`"));
                Some(place.ok_or_else(wrong)? as u8)
            }
        };
        self.out.class.push(class_of(&CLASSES, &found.detection_name)?);
        self.out.boxes.push(row);
        self.out.scores.push(finite("detection_score", found.detection_score)?);
        self.out.num_points.push(found.num_pts.unwrap_or(-1));
        self.out.states.push(BoxState {
            velocity: found.velocity.map(|x| x.unwrap_or(f64::NAN)),
            attribute,
            from_ego: found.ego_translation.map(|[x, y, _]| [x, y]),
        });
        Ok(())
    }
}

/// The object of samples, or the one around it.
struct Samples<'s> {
    state: &'s mut State,
    is_outer: bool,
}

impl<'de> DeserializeSeed<'de> for Samples<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Samples<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of samples")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(token) = map.next_key::<String>()? {
            match (self.is_outer, &*token) {
                (true, "meta") => {
                    map.next_value::<IgnoredAny>()?;
                }
                (true, "results") => map.next_value_seed(Samples { state: &mut *self.state, is_outer: false })?,
                _ => {
                    for (i, found) in map.next_value::<Vec<JsonBox<'_>>>()?.iter().enumerate() {
                        if let Err(wrong) = self.state.push(&token, found) {
                            self.state.wrong = Some((format!("sample `{token}`, box {i}"), wrong));
                            return Err(A::Error::custom("a value"));
                        }
                    }
                    self.state.out.end_frame(token);
                }
            }
        }
        Ok(())
    }
}
