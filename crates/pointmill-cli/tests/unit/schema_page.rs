//! The generated part of `docs/json.md`: what lines share once, then what each command adds.

#[path = "schema_read.rs"]
mod read;

use super::{Kin, Line};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write;

/// The name of a field, and its schema.
type Field<'a> = (&'a str, &'a Value);

/// A record of fewer fields is listed wherever it stands.
const SHORT: usize = 3;

/// A heading with the fields of a kind of line, or of the lines of a command.
struct Section<'a> {
    title: String,
    parts: Vec<Part<'a>>,
}

/// Fields of one kind of line.
struct Part<'a> {
    kind: &'a str,
    /// What the first row of the part says.
    head: String,
    fields: Vec<Field<'a>>,
}

/// Where the fields of a record are listed.
struct Place {
    depth: usize,
    /// The kind of line and the path, such as `frame.poses[]`.
    label: String,
    anchor: String,
}

type Places = HashMap<String, Place>;

/// The text behind the mark.
pub(super) fn text(lines: &[Line], shared: &[(&str, Value)]) -> String {
    let common = common(lines, shared);
    let commands = commands(lines, shared);
    let places = places(common.iter().chain(&commands));
    let mut text = String::from(
        "
## How to read the tables

The `data` of a line has the fields that [lines of its type share](#fields-that-commands-share), and those that its
[command adds](#fields-of-each-command). The order of fields has no meaning. `a.b` is field `b` of the object `a`;
`a[].b` is field `b` of each object in the list `a`. `[3 x number]` is a list of three numbers. An object \"as X\" has
the fields that are listed below X, where the link leads.

## Fields that commands share
",
    );
    for Section { title, parts } in &common {
        let Part { kind, head, fields } = &parts[0];
        writeln!(text, "\n### {title}\n\n{head}\n\n| field | type | what |\n|---|---|---|").unwrap();
        rows(&mut text, (kind, &anchor(title)), "", fields, &places);
    }
    let links: Vec<_> =
        commands.iter().map(|section| format!("[{0}](#{1})", section.title, anchor(&section.title))).collect();
    writeln!(text, "\n## Fields of each command\n\n{}.", links.join(", ")).unwrap();
    for Section { title, parts } in &commands {
        writeln!(text, "\n### {title}\n\n| field | type | what |\n|---|---|---|").unwrap();
        for Part { kind, head, fields } in parts {
            writeln!(text, "| **`{kind}`** | | {head} |").unwrap();
            rows(&mut text, (kind, &anchor(title)), "", fields, &places);
        }
    }
    text
}

fn anchor(title: &str) -> String {
    title.replace(' ', "-")
}

/// What every command may print, and what lines of several commands have.
fn common<'a>(lines: &'a [Line], shared: &'a [(&str, Value)]) -> Vec<Section<'a>> {
    let section = |title: &'a str, when: &str, schema: &'a Value| {
        let kind = title.split(' ').next().unwrap_or_default();
        let head = format!("{}{when}", schema["description"].as_str().unwrap_or_default());
        Section { title: title.into(), parts: vec![Part { kind, head, fields: properties(schema) }] }
    };
    let any = lines.iter().filter_map(|line| match line.kin {
        Kin::Alone(when) if line.command == "any" => {
            Some(section(line.kind, &format!(" It comes {when}."), &line.schema))
        }
        _ => None,
    });
    shared.iter().map(|(title, schema)| section(title, "", schema)).chain(any).collect()
}

/// The commands; two that print the same lines have one section.
fn commands<'a>(lines: &'a [Line], shared: &'a [(&str, Value)]) -> Vec<Section<'a>> {
    let of_commands: Vec<_> = lines.iter().filter(|line| line.command != "any").collect();
    let mut sections: Vec<Section<'a>> = Vec::new();
    let mut before: &[&Line] = &[];
    for group in of_commands.chunk_by(|a, b| a.command == b.command) {
        let same = |(a, b): (&&Line, &&Line)| (a.kind, a.kin, &a.schema) == (b.kind, b.kin, &b.schema);
        match sections.last_mut() {
            Some(last) if group.len() == before.len() && group.iter().zip(before).all(same) => {
                write!(last.title, " and {}", group[0].command).unwrap();
            }
            _ => sections.push(Section {
                title: group[0].command.into(),
                parts: group.iter().map(|line| part(line, shared)).collect(),
            }),
        }
        before = group;
    }
    sections
}

/// What a line of a command adds to what it shares.
fn part<'a>(line: &'a Line, shared: &'a [(&str, Value)]) -> Part<'a> {
    let Line { kind, kin, schema, .. } = line;
    let name = match kin {
        Kin::Shares(name) => name,
        Kin::Alone(when) => {
            let head = format!("{} It comes {when}.", schema["description"].as_str().unwrap_or_default());
            return Part { kind, head, fields: properties(schema) };
        }
    };
    let (_, common) = shared.iter().find(|(title, _)| title == name).expect("a shared record");
    let mut fields = properties(schema);
    fields.retain(|&(field, rule)| common["properties"].get(field) != Some(rule));
    let more = if fields.is_empty() { " alone." } else { ", and:" };
    Part { kind, head: format!("The fields of [`{name}`](#{}){more}", anchor(name)), fields }
}

/// Where each record is listed: where it stands least deep, and there first.
fn places<'a>(sections: impl Iterator<Item = &'a Section<'a>>) -> Places {
    let mut places = Places::new();
    for Section { title, parts } in sections {
        for Part { kind, fields, .. } in parts {
            walk("", fields, &mut |path, record| {
                let (depth, label) = (path.split('.').count(), format!("{kind}.{path}"));
                let place = Place { depth, label, anchor: anchor(title) };
                let known = places.get(&key(record)).is_some_and(|known| known.depth <= depth);
                if !known {
                    places.insert(key(record), place);
                }
            });
        }
    }
    places
}

/// All records that are the only one of their field, with their paths.
fn walk(within: &str, fields: &[Field<'_>], see: &mut impl FnMut(&str, &Value)) {
    for &(field, rule) in fields {
        let records = records(rule);
        for &(record, is_list) in &records {
            let path = path(within, field, is_list);
            if records.len() == 1 && properties(record).len() >= SHORT {
                see(&path, record);
            }
            walk(&format!("{path}."), &properties(record), see);
        }
    }
}

/// A row for each field. The fields of a record follow it where the record has its place.
fn rows(text: &mut String, here: (&str, &str), within: &str, fields: &[Field<'_>], places: &Places) {
    for &(field, rule) in fields {
        let records = records(rule);
        let of = |&(record, is_list): &(&Value, bool)| {
            let place = places.get(&key(record)).filter(|_| records.len() == 1)?;
            let label = format!("{}.{}", here.0, path(within, field, is_list));
            (place.label != label || place.anchor != here.1).then_some(place)
        };
        let elsewhere = records.first().and_then(of);
        let link = elsewhere.map_or_else(String::new, |place| format!("{AS}{}`](#{})", place.label, place.anchor));
        writeln!(text, "| `{within}{field}` | {}{link} | {} |", type_of(rule), what(rule)).unwrap();
        for (i, &(record, is_list)) in records.iter().enumerate().filter(|_| elsewhere.is_none()) {
            let path = path(within, field, is_list);
            if records.len() > 1 {
                writeln!(text, "| `{path}` | {} | {} |", if i == 0 { EITHER } else { OR }, what(record)).unwrap();
            }
            rows(text, here, &format!("{path}."), &properties(record), places);
        }
    }
}

/// Before the place where the fields of a record are listed.
const AS: &str = ", as [`";
const EITHER: &str = "*either*";
const OR: &str = "*or*";

fn path(within: &str, field: &str, is_list: bool) -> String {
    format!("{within}{field}{}", if is_list { "[]" } else { "" })
}

/// What makes two records the same one.
fn key(record: &Value) -> String {
    record["properties"].to_string()
}

fn properties(schema: &Value) -> Vec<Field<'_>> {
    schema["properties"].as_object().into_iter().flatten().map(|(field, rule)| (field.as_str(), rule)).collect()
}

fn what(rule: &Value) -> String {
    rule["description"].as_str().unwrap_or_default().replace('|', "\\|")
}

/// The records that a field may hold, and whether in a list.
fn records(rule: &Value) -> Vec<(&Value, bool)> {
    if rule.get("properties").is_some() {
        return vec![(rule, false)];
    }
    let any = rule["anyOf"].as_array().into_iter().flatten().flat_map(records);
    let items = rule.get("items").into_iter().flat_map(records).map(|(record, _)| (record, true));
    let mut found: Vec<(&Value, bool)> = any.chain(items).collect();
    found.dedup_by_key(|(record, _)| key(record));
    found
}

fn type_of(rule: &Value) -> String {
    let one = |name: &Value| match name.as_str().unwrap_or_default() {
        "array" => {
            let tuple =
                rule["prefixItems"].as_array().into_iter().flatten().map(type_of).collect::<Vec<_>>().join(", ");
            let n = rule.get("maxItems").map_or_else(String::new, |n| format!("{n} x "));
            if tuple.is_empty() { format!("[{n}{}]", type_of(&rule["items"])) } else { format!("[{tuple}]") }
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

/// Path, type and description of every field of a line, those of its records too.
pub(super) fn fields(schema: &Value) -> Vec<[String; 3]> {
    let mut all = Vec::new();
    let mut left = vec![(String::new(), schema)];
    while let Some((within, record)) = left.pop() {
        for (field, rule) in properties(record) {
            all.push([format!("{within}{field}"), type_of(rule), what(rule)]);
            let below = records(rule).into_iter();
            left.extend(below.map(|(record, is_list)| (format!("{}.", path(&within, field, is_list)), record)));
        }
    }
    all
}
