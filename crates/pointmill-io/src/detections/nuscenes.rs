//! nuScenes' JSON: submissions, and boxes as its devkit writes them.

use super::check::{Classes, LONGEST_NAME, LeftOut, Wrong, check_box, error, finite, yaw_of};
use super::{BoxState, Detections, out_of_memory, read_bytes, take};
use crate::error::IoError;
use crate::fault::{bail, fault};
use crate::files::Place;
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

/// Memory of a box in the columns, in bytes.
const BYTES: usize = size_of::<[f64; 7]>() + size_of::<BoxState>() + size_of::<[u64; 3]>();
/// The largest velocity in m/s that is known: far beyond all that moves on roads.
const FASTEST: f64 = 1e6;

/// Reads the boxes of a submission of nuScenes, `{"meta": .., "results": {token: [box, ..], ..}}`, or
/// of what `EvalBoxes.serialize()` of its devkit gives, `{token: [box, ..], ..}`.
///
/// **Units and frames**: metres, radians and m/s in the global frame. A quaternion becomes its yaw.
/// `NaN` is a velocity that is not known. Scores are those of the file; the devkit gives -1 to truth.
///
/// # Errors
/// What is no such JSON, with line and column; `results` or a sample twice. A box that cannot be used, as
/// one without a positive extent, is left out, and an attribute that nuScenes does not have is none;
/// [`Detections::warnings`] says so. Classes that nuScenes does not have are kept.
pub fn read_nuscenes(path: impl AsRef<Path>, limits: &Limits) -> Result<Detections, IoError> {
    let path = path.as_ref();
    let mut taken = 0;
    let mut bytes = read_bytes(Place::named(path), limits, &mut taken)?;
    taken += bytes.len() as u64;
    if memchr::memmem::find(&bytes, b"NaN").is_some() {
        bytes = without_nan(path, &bytes)?;
    }
    let mut state = State {
        out: Detections::default(),
        classes: Classes::new(&CLASSES),
        left_out: LeftOut::default(),
        wrong: None,
        limits: (path, limits, taken),
    };
    let mut json = serde_json::Deserializer::from_slice(&bytes);
    let read = Samples { state: &mut state, is_outer: true }.deserialize(&mut json).and_then(|()| json.end());
    if let Err(e) = read {
        return Err(match state.wrong.take() {
            Some(wrong) => wrong,
            None => {
                let place = format!("line {}, column {}", e.line(), e.column());
                let told = e.to_string();
                let told = told.rsplit_once(" at line ").map_or(&*told, |(told, _)| told);
                fault!(path, BadValue, place, "JSON with the boxes of samples", told)
            }
        });
    }
    let mut out = state.out;
    (out.classes, out.warnings) = (state.classes.into_names(), state.left_out.warnings());
    let frames = out.frames.len();
    out = out.sorted();
    if out.frames.len() < frames {
        bail!(path, BadValue, "samples", "each once", ("{} of them twice", frames - out.frames.len()));
    }
    Ok(out)
}

/// The text with `null` for each `NaN` outside of strings.
fn without_nan(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, IoError> {
    let (mut out, mut in_text, mut at) = (vec![], false, 0);
    let room = bytes.len() + bytes.len() / 3 + 4;
    out.try_reserve_exact(room).map_err(|_| out_of_memory(path, room))?;
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
    Ok(out)
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

/// What was read so far, and what ended it.
struct State<'p> {
    out: Detections,
    classes: Classes,
    left_out: LeftOut,
    wrong: Option<IoError>,
    /// The file, its limits, and the memory that is taken.
    limits: (&'p Path, &'p Limits, u64),
}

impl State<'_> {
    /// Adds the box of a sample, or leaves it out.
    fn push(&mut self, token: &str, index: usize, found: &JsonBox<'_>) -> Result<(), IoError> {
        let (path, limits, taken) = &mut self.limits;
        let place = || format!("sample `{token}`, box {index}");
        if found.sample_token != token {
            let wrong = ("sample_token".into(), format!("`{token}`"), format!("`{}`", found.sample_token));
            return Err(error(path, &place(), wrong));
        }
        take(path, limits, taken, BYTES)?;
        self.out.reserve(path, 1)?;
        self.out.num_points.try_reserve(1).map_err(|_| out_of_memory(path, BYTES))?;
        self.out.states.try_reserve(1).map_err(|_| out_of_memory(path, BYTES))?;
        if let Err(wrong) = self.add(found, &place) {
            self.left_out.a_box(&place(), wrong);
        }
        Ok(())
    }

    fn add(&mut self, found: &JsonBox<'_>, place: &dyn Fn() -> String) -> Result<(), Wrong> {
        let score = finite("detection_score", found.detection_score)?;
        if found.detection_name.len() > LONGEST_NAME {
            return Err(("detection_name".into(), format!("at most {LONGEST_NAME} bytes"), "more".into()));
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
                let at = ATTRIBUTES.iter().position(|known| *known == name);
                if at.is_none() {
                    let got = format!("`{}`", &name[..name.floor_char_boundary(LONGEST_NAME)]);
                    self.left_out.a_value(&place(), ("attribute_name".into(), ATTRIBUTES.join(", "), got));
                }
                at.map(|at| at as u8)
            }
        };
        self.out.class.push(self.classes.index(&found.detection_name));
        if let Some(x) = found.velocity.into_iter().flatten().find(|x| x.abs() > FASTEST) {
            self.left_out.a_value(&place(), ("velocity".into(), format!("at most {FASTEST:e} m/s"), format!("{x:e}")));
        }
        self.out.boxes.push(row);
        self.out.scores.push(score);
        self.out.num_points.push(found.num_pts.unwrap_or(-1));
        self.out.states.push(BoxState {
            velocity: found.velocity.map(|x| x.filter(|x| x.abs() <= FASTEST).unwrap_or(f64::NAN)),
            attribute,
            from_ego: found.ego_translation.map(|[x, y, _]| [x, y]),
        });
        Ok(())
    }
}

/// The object of samples, or the one around it.
struct Samples<'s, 'p> {
    state: &'s mut State<'p>,
    is_outer: bool,
}

impl<'de> DeserializeSeed<'de> for Samples<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Samples<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of samples")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_results = false;
        while let Some(token) = map.next_key::<String>()? {
            match (self.is_outer, &*token) {
                (true, "results") if has_results => return Err(A::Error::custom("`results` twice")),
                (true, "meta") => {
                    map.next_value::<IgnoredAny>()?;
                }
                (true, "results") => {
                    has_results = true;
                    map.next_value_seed(Samples { state: &mut *self.state, is_outer: false })?;
                }
                _ => {
                    let (path, limits, taken) = &mut self.state.limits;
                    if let Err(wrong) = take(path, limits, taken, 2 * size_of::<String>() + token.len()) {
                        self.state.wrong = Some(wrong);
                        return Err(A::Error::custom("a value"));
                    }
                    for (i, found) in map.next_value::<Vec<JsonBox<'_>>>()?.iter().enumerate() {
                        if let Err(wrong) = self.state.push(&token, i, found) {
                            self.state.wrong = Some(wrong);
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
