//! Makes `docs/json.schema.json` and the records of `docs/json.md` from the types of the JSON
//! lines.
//!
//! `POINTMILL_WRITE_DOCS=1 cargo test -p pointmill-cli --lib schema` writes them; without
//! the variable the test compares.

use crate::json::{Begin, ErrorRecord, FileFrame, Frame, KeptRecord, Summary};
use crate::{
    clouds, convert, crop, demo, devices, downsample, evaluate, icp, info, localize, merge, ndt, odometry, register,
    roi_pool, synth, voxelize,
};
use pointmill_slam::trajectory;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The line of `docs/json.md` behind which everything is generated.
const MARK: &str = "<!-- Generated from the types by the test `schema` of pointmill-cli; do not edit below. -->\n";

const BEFORE: &str = "once, before the work";
const EACH: &str = "after each input that was done, in order";
const AFTER: &str = "once, after the work";

/// A line that a command prints: command, type, when, and the schema of its data.
type Line = (&'static str, &'static str, &'static str, Value);

fn lines() -> Vec<Line> {
    use ndt::records as ndt_records;
    fn of<B: JsonSchema, R: JsonSchema, T: JsonSchema>(command: &'static str) -> [Line; 3] {
        [
            (command, "begin", BEFORE, schema_of::<Begin<B>>()),
            (command, "frame", EACH, schema_of::<Frame<R>>()),
            (command, "summary", AFTER, schema_of::<Summary<T>>()),
        ]
    }
    fn without_device<B: JsonSchema, R: JsonSchema, T: JsonSchema>(command: &'static str) -> [Line; 3] {
        let frame = (command, "frame", EACH, schema_of::<FileFrame<'_, R>>());
        let [begin, _, summary] = of::<B, R, T>(command);
        [begin, frame, summary]
    }
    type Match = (ndt_records::MatchBegin, ndt_records::MatchRow, ndt_records::MatchTotals);
    fn matching<B: JsonSchema, R: JsonSchema, T: JsonSchema>(command: &'static str, _: Option<(B, R, T)>) -> [Line; 3] {
        of::<B, R, T>(command)
    }
    let all = "after each input that failed; last if the command fails";
    let kept = "with `--resume`: for each input that an earlier run has done";
    [
        vec![("any", "error", all, schema_of::<ErrorRecord>()), ("any", "kept", kept, schema_of::<KeptRecord>())],
        of::<voxelize::records::Begin, voxelize::records::Row, voxelize::records::Totals>("voxelize").into(),
        of::<roi_pool::records::Begin, roi_pool::records::Row, roi_pool::records::Totals>("roi-pool").into(),
        of::<ndt_records::BuildBegin, ndt_records::BuildRow, ndt_records::GridTotals>("ndt build").into(),
        without_device::<ndt_records::MergeBegin, ndt_records::MergeRow, ndt_records::GridTotals>("ndt merge").into(),
        matching("ndt score", None::<Match>).into(),
        matching("ndt align", None::<Match>).into(),
        of::<icp::records::Begin, icp::records::Row, icp::records::Totals>("icp").into(),
        of::<register::records::Begin, register::records::Row, register::records::Totals>("register").into(),
        of::<odometry::records::Begin, odometry::records::Row, odometry::records::Totals>("odometry").into(),
        of::<localize::records::Begin, localize::records::Row, localize::records::Totals>("localize").into(),
        vec![
            ("evaluate", "begin", BEFORE, schema_of::<Begin<evaluate::records::Begin>>()),
            ("evaluate", "frame", "after the work, for each pose", schema_of::<trajectory::Frame>()),
            ("evaluate", "summary", AFTER, schema_of::<Summary<evaluate::records::Totals>>()),
        ],
        vec![
            ("evaluate detections", "begin", BEFORE, schema_of::<Begin<evaluate::detections::records::Begin>>()),
            (
                "evaluate detections",
                "frame",
                "after the work, for each average precision",
                schema_of::<evaluate::detections::records::Precision>(),
            ),
            ("evaluate detections", "summary", AFTER, schema_of::<Summary<evaluate::detections::records::Totals>>()),
        ],
        without_device::<info::Begin, info::Row, info::Totals>("info").into(),
        without_device::<clouds::Begin, convert::Row, convert::Totals>("convert").into(),
        of::<downsample::Begin, downsample::Row, clouds::Kept>("downsample").into(),
        without_device::<clouds::Begin, crop::Row, clouds::Kept>("crop").into(),
        without_device::<clouds::Begin, merge::Row, merge::Totals>("merge").into(),
        vec![
            ("devices", "summary", "the only line", schema_of::<devices::Devices>()),
            ("demo", "summary", "the only line", schema_of::<demo::Summary>()),
            ("synth", "frame", "after each file", schema_of::<synth::Written>()),
            ("synth", "summary", AFTER, schema_of::<synth::Summary>()),
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

/// Leaves what a reader needs: types, descriptions, and that no other field comes.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(rule) => {
            let alternatives = rule.get("oneOf").and_then(Value::as_array);
            let names = alternatives.map(|all| all.iter().filter_map(|one| one.get("const").cloned()).collect());
            if let Some(names) = names.filter(|names: &Vec<Value>| !names.is_empty()) {
                rule.remove("oneOf");
                rule.insert("type".into(), "string".into());
                rule.insert("enum".into(), names.into());
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
    out + rest
}

/// What stands before the first link, its label and target, and what stands behind it.
fn next_link(text: &str) -> Option<(&str, [&str; 2], &str)> {
    let middle = text.find("](")?;
    let (start, end) = (text[..middle].rfind('[')?, middle + text[middle..].find(')')?);
    Some((&text[..start], [&text[start + 1..middle], &text[middle + 2..end]], &text[end + 1..]))
}

fn name(command: &str, kind: &str) -> String {
    format!("{command} {kind}")
}

/// The text of `docs/json.schema.json`.
fn file(lines: &[Line]) -> String {
    let (mut definitions, mut by_command) = (Map::new(), Map::new());
    let mut any = Vec::new();
    for (command, kind, _, schema) in lines {
        let name = name(command, kind);
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

/// The generated part of `docs/json.md`.
fn page(lines: &[Line]) -> String {
    let mut text = String::from("\n## Lines\n\n| command | `type` | when |\n|---|---|---|\n");
    for (command, kind, when, _) in lines {
        let anchor = name(command, kind).replace(' ', "-");
        writeln!(text, "| `{command}` | [`{kind}`](#{anchor}) | {when} |").unwrap();
    }
    text += "\n## Records\n";
    for (command, kind, _, schema) in lines {
        let what = schema["description"].as_str().unwrap_or_default();
        writeln!(text, "\n### {}\n\n{what}\n\n| field | type | what |\n|---|---|---|", name(command, kind)).unwrap();
        rows(&mut text, "", schema);
    }
    text
}

/// A row for each field. The fields of a record inside a field follow it.
fn rows(text: &mut String, within: &str, schema: &Value) {
    for (field, rule) in schema["properties"].as_object().into_iter().flatten() {
        let what = rule["description"].as_str().unwrap_or_default().replace('|', "\\|");
        writeln!(text, "| `{within}{field}` | {} | {what} |", type_of(rule)).unwrap();
        for record in records(rule) {
            let brackets = if record.1 { "[]" } else { "" };
            rows(text, &format!("{within}{field}{brackets}."), record.0);
        }
    }
}

/// The records that a field may hold, and whether in an array.
fn records(rule: &Value) -> Vec<(&Value, bool)> {
    if rule.get("properties").is_some() {
        return vec![(rule, false)];
    }
    let any = rule["anyOf"].as_array().into_iter().flatten().flat_map(records);
    let items = rule.get("items").into_iter().flat_map(records).map(|(record, _)| (record, true));
    any.chain(items).collect()
}

fn type_of(rule: &Value) -> String {
    let one = |name: &Value| match name.as_str().unwrap_or_default() {
        "array" => {
            let n = rule.get("maxItems").map_or_else(String::new, |n| format!("{n} x "));
            format!("[{n}{}]", type_of(&rule["items"]))
        }
        "string" if rule.get("enum").is_some() => {
            let names = rule["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
            names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        }
        name => name.to_owned(),
    };
    match (&rule["type"], &rule["anyOf"]) {
        (Value::Array(names), _) => names.iter().map(one).collect::<Vec<_>>().join(" or "),
        (Value::String(_), _) => one(&rule["type"]),
        (_, Value::Array(rules)) => {
            let mut names: Vec<_> = rules.iter().map(type_of).collect();
            names.dedup();
            names.join(" or ")
        }
        _ => String::new(),
    }
}

#[test]
fn the_documents_are_those_of_the_types() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let lines = lines();
    let [schema_path, page_path] = ["json.schema.json", "json.md"].map(|name| docs.join(name));
    let old = fs::read_to_string(&page_path).unwrap();
    let (intro, _) = old.split_once(MARK).expect("the page has the mark");
    for (path, wanted) in [(schema_path, file(&lines)), (page_path, format!("{intro}{MARK}{}", page(&lines)))] {
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
    for (command, kind, _, schema) in lines() {
        let mut text = String::new();
        rows(&mut text, "", &schema);
        let bare: Vec<_> = text.lines().filter(|row| row.contains("|  |")).collect();
        assert!(bare.is_empty(), "{command} {kind}: {bare:#?}");
    }
}

#[test]
fn links_to_items_lose_their_paths() {
    let text = "A [`map`](super::Odometry::map), [a page](ndt.md) and [`Fix`](crate::Fix).";
    assert_eq!(without_paths(text), "A `map`, [a page](ndt.md) and `Fix`.");
    assert!(!lines().iter().any(|(.., schema)| schema.to_string().contains("](super::")));
}
