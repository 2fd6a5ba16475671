//! Makes `docs/json.schema.json` and the records of `docs/json.md` from the types of the JSON
//! lines.
//!
//! `POINTMILL_WRITE_DOCS=1 cargo test -p pointmill-cli --lib schema` writes them; without
//! the variable the test compares.

#[path = "schema_page.rs"]
mod page;

use crate::json::{Begin, ErrorRecord, FileFrame, Frame, KeptRecord, Summary};
use crate::{
    clouds, convert, crop, demo, devices, downsample, evaluate, icp, info, localize, merge, ndt, odometry, register,
    roi_pool, synth, voxelize,
};
use pointmill_slam::trajectory;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

/// The line of `docs/json.md` behind which everything is generated.
const MARK: &str = "<!-- Generated from the types by the test `schema` of pointmill-cli; do not edit below. -->\n";

/// A line that a command prints.
#[derive(Clone, Debug)]
struct Line {
    command: &'static str,
    kind: &'static str,
    kin: Kin,
    /// Of its data.
    schema: Value,
}

/// What a line has in common with those of other commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kin {
    /// The fields of what [`shared`] has by this name.
    Shares(&'static str),
    /// Nothing; when it is printed.
    Alone(&'static str),
}

/// The fields of a command that adds none.
#[derive(JsonSchema)]
struct Nothing {}

const FILES: &str = "frame without a device";

/// The fields that lines of several commands have, by name.
fn shared() -> [(&'static str, Value); 4] {
    [
        ("begin", schema_of::<Begin<Nothing>>()),
        ("frame", schema_of::<Frame<Nothing>>()),
        (FILES, schema_of::<FileFrame<'_, Nothing>>()),
        ("summary", schema_of::<Summary<Nothing>>()),
    ]
}

fn shares<T: JsonSchema>(command: &'static str, kind: &'static str) -> Line {
    Line { command, kind, kin: Kin::Shares(kind), schema: schema_of::<T>() }
}

fn alone<T: JsonSchema>(command: &'static str, kind: &'static str, when: &'static str) -> Line {
    Line { command, kind, kin: Kin::Alone(when), schema: schema_of::<T>() }
}

fn lines() -> Vec<Line> {
    use ndt::records as ndt_records;
    fn of<B: JsonSchema, R: JsonSchema, T: JsonSchema>(command: &'static str) -> Vec<Line> {
        let frame = shares::<Frame<R>>(command, "frame");
        vec![shares::<Begin<B>>(command, "begin"), frame, shares::<Summary<T>>(command, "summary")]
    }
    fn without_device<B: JsonSchema, R: JsonSchema, T: JsonSchema>(command: &'static str) -> Vec<Line> {
        let frame = Line { kin: Kin::Shares(FILES), ..shares::<FileFrame<'_, R>>(command, "frame") };
        vec![shares::<Begin<B>>(command, "begin"), frame, shares::<Summary<T>>(command, "summary")]
    }
    type Match = (ndt_records::MatchBegin, ndt_records::MatchRow, ndt_records::MatchTotals);
    fn matching<B: JsonSchema, R: JsonSchema, T: JsonSchema>(command: &'static str, _: Option<(B, R, T)>) -> Vec<Line> {
        of::<B, R, T>(command)
    }
    [
        vec![
            alone::<ErrorRecord>("any", "error", "after each input that failed; last if the command fails"),
            alone::<KeptRecord>("any", "kept", "once for each such input"),
        ],
        of::<voxelize::records::Begin, voxelize::records::Row, voxelize::records::Totals>("voxelize"),
        of::<roi_pool::records::Begin, roi_pool::records::Row, roi_pool::records::Totals>("roi-pool"),
        of::<ndt_records::BuildBegin, ndt_records::BuildRow, ndt_records::GridTotals>("ndt build"),
        without_device::<ndt_records::MergeBegin, ndt_records::MergeRow, ndt_records::GridTotals>("ndt merge"),
        matching("ndt score", None::<Match>),
        matching("ndt align", None::<Match>),
        of::<icp::records::Begin, icp::records::Row, icp::records::Totals>("icp"),
        of::<register::records::Begin, register::records::Row, register::records::Totals>("register"),
        of::<odometry::records::Begin, odometry::records::Row, odometry::records::Totals>("odometry"),
        of::<localize::records::Begin, localize::records::Row, localize::records::Totals>("localize"),
        vec![
            shares::<Begin<evaluate::records::Begin>>("evaluate", "begin"),
            alone::<trajectory::Frame>("evaluate", "frame", "after the work, for each pose"),
            shares::<Summary<evaluate::records::Totals>>("evaluate", "summary"),
        ],
        vec![
            shares::<Begin<evaluate::detections::records::Begin>>("evaluate detections", "begin"),
            alone::<evaluate::detections::records::Precision>(
                "evaluate detections",
                "frame",
                "after the work, for each average precision",
            ),
            shares::<Summary<evaluate::detections::records::Totals>>("evaluate detections", "summary"),
        ],
        without_device::<info::records::Begin, info::records::Row, info::records::Totals>("info"),
        without_device::<clouds::Begin, convert::Row, convert::Totals>("convert"),
        of::<downsample::Begin, downsample::Row, clouds::Kept>("downsample"),
        without_device::<clouds::Begin, crop::Row, clouds::Kept>("crop"),
        without_device::<clouds::Begin, merge::Row, merge::Totals>("merge"),
        vec![
            alone::<devices::Devices>("devices", "summary", "as the only line"),
            alone::<demo::Summary>("demo", "summary", "as the only line"),
            alone::<synth::Written>("synth", "frame", "after each file"),
            alone::<synth::Summary>("synth", "summary", "once, after the work"),
        ],
    ]
    .concat()
}

fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    schema
}

/// A variant with fields, as an object with one field of its name: what is said of it is said of the field.
fn of_one_field(mut variant: Value) -> Value {
    let said = variant.as_object_mut().and_then(|rule| rule.remove("description"));
    if let (Some(said), Some(fields)) = (said, variant["properties"].as_object_mut()) {
        fields.values_mut().for_each(|field| field["description"] = said.clone());
    }
    variant
}

/// Leaves what a reader needs: types, descriptions, and that no other field comes.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(rule) => {
            let alternatives = rule.remove("oneOf");
            let all = alternatives.iter().filter_map(Value::as_array).flatten();
            let (names, others): (Vec<&Value>, Vec<&Value>) = all.partition(|one| one.get("const").is_some());
            let names: Vec<Value> = names.iter().map(|one| one["const"].clone()).collect();
            if others.is_empty() && !names.is_empty() {
                rule.insert("type".into(), "string".into());
                rule.insert("enum".into(), names.into());
            } else if !others.is_empty() {
                let words = json!({ "type": "string", "enum": names });
                let others = others.into_iter().cloned().map(of_one_field);
                rule.insert("anyOf".into(), std::iter::once(words).chain(others).collect());
            }
            for word in ["$schema", "title", "format", "minimum", "maximum", "default"] {
                // A field may have such a name: then it is a rule and no word of the schema.
                if rule.get(word).is_some_and(|value| !value.is_object()) {
                    rule.remove(word);
                }
            }
            if let Some(text) = rule.get("description").and_then(Value::as_str) {
                rule.insert(
                    "description".into(),
                    without_paths(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into(),
                );
            }
            if rule.contains_key("properties") || rule.get("type") == Some(&"object".into()) {
                rule.entry("properties").or_insert_with(|| json!({}));
                rule.entry("required").or_insert_with(|| json!([]));
                rule.insert("additionalProperties".into(), false.into());
                rule.remove("unevaluatedProperties");
            }
            rule.values_mut().for_each(tidy);
        }
        Value::Array(values) => values.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// The text of links to Rust items, which lead nowhere outside of rustdoc, without their paths.
fn without_paths(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, [label, target], after)) = next_link(rest) {
        out += before;
        out += &if target.contains("::") { label.to_owned() } else { format!("[{label}]({target})") };
        rest = after;
    }
    short_names(&(out + rest))
}

/// Links without a target, such as [`Keep::Random`], as the last name of their path, as JSON has it.
fn short_names(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += &match part.split_once("`]") {
            Some((path, after)) if !after.starts_with('(') => {
                let name = path.rsplit_once("::").map_or_else(|| path.to_owned(), |(_, name)| name.to_lowercase());
                format!("`{name}`{after}")
            }
            _ => format!("[`{part}"),
        };
    }
    out
}

/// What stands before the first link, its label and target, and what stands behind it.
fn next_link(text: &str) -> Option<(&str, [&str; 2], &str)> {
    let middle = text.find("](")?;
    let (start, end) = (text[..middle].rfind('[')?, middle + text[middle..].find(')')?);
    Some((&text[..start], [&text[start + 1..middle], &text[middle + 2..end]], &text[end + 1..]))
}

/// The text of `docs/json.schema.json`.
fn file(lines: &[Line]) -> String {
    let (mut definitions, mut by_command) = (Map::new(), Map::new());
    let mut any = Vec::new();
    for Line { command, kind, schema, .. } in lines {
        let name = format!("{command} {kind}");
        let reference = json!({ "$ref": format!("#/$defs/{}", name.replace(' ', "%20")) });
        any.push(json!({ "properties": { "type": { "const": kind }, "data": reference } }));
        let command = by_command.entry(*command).or_insert_with(|| json!({}));
        command[*kind] = reference;
        definitions.insert(name, schema.clone());
    }
    let file = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "JSON lines of pointmill",
        "description": "A line that a command prints with --json. x-lines names the line of each command and type.",
        "type": "object",
        "required": ["type", "data"],
        "additionalProperties": true,
        "anyOf": any,
        "x-lines": by_command,
        "$defs": definitions,
    });
    let parts: Vec<_> = file.as_object().unwrap().iter().map(|(name, value)| part(name, value)).collect();
    format!("{{\n{}\n}}\n", parts.join(",\n"))
}

/// A part of the file. A record takes one line; the page has a row for each of its fields.
fn part(name: &str, value: &Value) -> String {
    let lines = |[open, close]: [&str; 2], lines: Vec<String>| format!("{open}\n{}\n  {close}", lines.join(",\n"));
    let text = match value {
        Value::Object(map) => {
            lines(["{", "}"], map.iter().map(|(name, v)| format!("    {}: {v}", json!(name))).collect())
        }
        Value::Array(items) if items[0].is_object() => {
            lines(["[", "]"], items.iter().map(|item| format!("    {item}")).collect())
        }
        _ => value.to_string(),
    };
    format!("  \"{name}\": {text}")
}

#[test]
fn the_documents_are_those_of_the_types() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let lines = lines();
    let [schema_path, page_path] = ["json.schema.json", "json.md"].map(|name| docs.join(name));
    let old = fs::read_to_string(&page_path).unwrap();
    let (intro, _) = old.split_once(MARK).expect("the page has the mark");
    for (path, wanted) in
        [(schema_path, file(&lines)), (page_path, format!("{intro}{MARK}{}", page::text(&lines, &shared())))]
    {
        if std::env::var_os("POINTMILL_WRITE_DOCS").is_some() {
            fs::write(&path, &wanted).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap();
        let how = "POINTMILL_WRITE_DOCS=1 cargo test -p pointmill-cli --lib schema";
        assert!(found == wanted, "{} is not what the types say; write it with: {how}", path.display());
    }
}

#[test]
fn every_field_is_described() {
    for Line { command, kind, schema, .. } in lines() {
        let bare: Vec<_> = page::fields(&schema).into_iter().filter(|[.., what]| what.is_empty()).collect();
        assert!(bare.is_empty(), "{command} {kind}: {bare:#?}");
    }
}

#[test]
fn links_to_items_lose_their_paths() {
    let text = "A [`map`](super::Odometry::map), [a page](ndt.md), [`Fix`](crate::Fix) and [`Keep::Random`].";
    assert_eq!(without_paths(text), "A `map`, [a page](ndt.md), `Fix` and `random`.");
    assert_eq!(without_paths("[`a`](b.md) [`C`] [`d"), "[`a`](b.md) `C` [`d");
    assert!(!lines().iter().any(|line| line.schema.to_string().contains("](super::")));
}
