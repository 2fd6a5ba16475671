//! `--config` and `--print-config`: flags from a TOML file.
//!
//! The keys are the names of the flags, `device` at the top and the others in a table named like
//! the command:
//!
//! ```toml
//! device = "auto"
//!
//! [voxelize]
//! voxel-size = [0.1, 0.1, 0.15]
//! max-points = 5
//!
//! [ndt.build]
//! resolution = 1.0
//! ```
//!
//! The values of a file become arguments. Where the command line gives the same flag, or one that
//! excludes it, the command line wins.

use super::parse::message;
use crate::failure::Failure;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use pointmill_io::files::open_named;
use std::ffi::OsString;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// The most bytes of a file.
const MOST: u64 = 1 << 20;
/// Flags that a file cannot give.
const OWN: [&str; 6] = ["config", "print-config", "json", "quiet", "help", "version"];
/// Flags that exclude each other by their values, which clap does not know.
const EXCLUSIVE: [[&str; 2]; 1] = [["dynamic", "max-points"]];

/// The subcommand that was asked for, with its names and what the command line gives it.
pub(super) struct Subcommand<'a> {
    pub(super) command: &'a Command,
    pub(super) matches: &'a ArgMatches,
    path: Vec<&'a str>,
}

/// A key of a file with its value, and where both stand.
struct Entry<'a> {
    key: &'a str,
    key_at: Range<usize>,
    value: &'a DeValue<'a>,
    value_at: Range<usize>,
}

impl<'a> Subcommand<'a> {
    pub(super) fn of(mut command: &'a Command, mut matches: &'a ArgMatches) -> Self {
        let mut path = Vec::new();
        while let Some((name, below)) = matches.subcommand() {
            path.push(name);
            command = command.find_subcommand(name).expect("clap has found it");
            matches = below;
        }
        Self { command, matches, path }
    }

    fn flag(&self, name: &str) -> Option<&'a Arg> {
        let is_named = |arg: &&Arg| {
            arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
        };
        self.command.get_arguments().filter(|_| !OWN.contains(&name)).find(is_named)
    }

    /// Whether the command line gives a flag.
    fn gives(&self, arg: &Arg) -> bool {
        self.matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
    }

    /// Whether the command line gives this flag, or one that excludes it.
    fn overrides(&self, arg: &Arg) -> bool {
        let conflicts =
            |a: &Arg, b: &Arg| self.command.get_arg_conflicts_with(a).iter().any(|c| c.get_id() == b.get_id());
        let excludes = |other: &&Arg| {
            let pair = [arg, *other].map(|arg| arg.get_long().unwrap_or_default());
            let exclusive = EXCLUSIVE.iter().any(|&[a, b]| pair == [a, b] || pair == [b, a]);
            exclusive || conflicts(arg, other) || conflicts(other, arg)
        };
        self.gives(arg) || self.command.get_arguments().filter(excludes).any(|other| self.gives(other))
    }

    /// What clap has against arguments of this command.
    fn check(&self, arguments: &[String]) -> Result<(), String> {
        let command = self.command.clone().mut_args(|arg| arg.required(false));
        let line = std::iter::once(self.command.get_name()).chain(arguments.iter().map(String::as_str));
        command.try_get_matches_from(line).map(drop).map_err(|e| message(&e))
    }
}

/// Adds the flags of the file that `--config` names to the arguments.
///
/// # Errors
/// A file that cannot be read. A key that is no flag and a value that its flag refuses, with the
/// line.
pub fn apply(command: &Command, given: &mut Vec<OsString>) -> Result<(), Failure> {
    if !given.iter().any(|arg| arg.to_string_lossy().starts_with("--config")) {
        return Ok(());
    }
    // Required arguments may be in the file, so that errors are found in the second parse.
    let Ok(matches) = command.clone().ignore_errors(true).try_get_matches_from(&*given) else { return Ok(()) };
    let asked = Subcommand::of(command, &matches);
    let Some(file) = asked.matches.try_get_one::<PathBuf>("config").ok().flatten() else { return Ok(()) };
    let text = read(file)?;
    let fault = |at: usize, what: &str| {
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        Failure::Usage(format!("{}: line {line}: {what}", file.display()))
    };
    let table = DeTable::parse(&text).map_err(|e| fault(e.span().map_or(0, |span| span.start), e.message()))?;
    let end = given.iter().position(|arg| arg == "--").unwrap_or(given.len());
    let mut added = Vec::new();
    for entry in entries(table.get_ref(), &asked).map_err(|(at, what)| fault(at, &what))? {
        let unknown = || {
            fault(
                entry.key_at.start,
                &format!("unknown key `{}`; --print-config prints those of the command", entry.key),
            )
        };
        let flag = asked.flag(entry.key).ok_or_else(unknown)?;
        let arguments = arguments(flag, entry.value);
        asked.check(&arguments).map_err(|e| fault(entry.value_at.start, &e))?;
        if !asked.overrides(flag) {
            added.extend(arguments.into_iter().map(OsString::from));
        }
    }
    given.splice(end..end, added);
    Ok(())
}

/// The device, and the entries of the table of the command.
fn entries<'a>(root: &'a DeTable<'a>, asked: &Subcommand<'_>) -> Result<Vec<Entry<'a>>, (usize, String)> {
    let of = |table: &'a DeTable<'a>| {
        table.iter().map(|(key, value)| Entry {
            key: key.get_ref(),
            key_at: key.span(),
            value: value.get_ref(),
            value_at: value.span(),
        })
    };
    let (tables, mut found): (Vec<_>, Vec<_>) = of(root).partition(|e| matches!(e.value, DeValue::Table(_)));
    if let Some(other) = found.iter().find(|e| e.key != "device") {
        let table = asked.path.join(".");
        let step = format!("outside of tables only `device` is known; flags of the command stand under [{table}]");
        return Err((other.key_at.start, format!("unknown key `{}`: {step}", other.key)));
    }
    let (Some(first), rest) = (asked.path.first(), asked.path.get(1..).unwrap_or_default()) else { return Ok(found) };
    let mut table = tables.into_iter().find(|e| e.key == *first).map(|e| e.value);
    for name in rest {
        table = match table {
            Some(DeValue::Table(table)) => of(table).find(|e| e.key == *name).map(|e| e.value),
            _ => None,
        };
    }
    if let Some(DeValue::Table(table)) = table {
        found.extend(of(table));
    }
    Ok(found)
}

/// A value as arguments of its flag.
fn arguments(flag: &Arg, value: &DeValue<'_>) -> Vec<String> {
    let name = flag.get_long().unwrap_or_default();
    let needs_no_value = flag.get_num_args().is_some_and(|n| n.min_values() == 0);
    match value {
        DeValue::Boolean(true) if needs_no_value => vec![format!("--{name}")],
        DeValue::Boolean(false) if needs_no_value => vec![],
        DeValue::Array(values) if matches!(flag.get_action(), ArgAction::Append) => {
            values.iter().map(|value| format!("--{name}={}", text(value.get_ref()))).collect()
        }
        value => vec![format!("--{name}={}", text(value))],
    }
}

/// A value as it is typed.
fn text(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(values) => values.iter().map(|v| text(v.get_ref())).collect::<Vec<_>>().join(","),
        DeValue::Table(_) => "a table".into(),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let usage = |found: &str| {
        Failure::Usage(format!("{}: expected a text of at most {MOST} bytes, got {found}", path.display()))
    };
    let mut bytes = Vec::new();
    let (file, _) = open_named(path)?;
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(Failure::io(path, "read"))?;
    if bytes.len() as u64 > MOST {
        return Err(usage("more"));
    }
    String::from_utf8(bytes).map_err(|_| usage("bytes that are not UTF-8"))
}

/// The flags in effect as a file, if `--print-config` asks for it.
pub fn printed(command: &Command, matches: &ArgMatches) -> Result<Option<String>, Failure> {
    let asked = Subcommand::of(command, matches);
    if !asked.matches.try_get_one::<bool>("print_config").is_ok_and(|asks| asks == Some(&true)) {
        return Ok(None);
    }
    let mut table = Table::new();
    for flag in asked.command.get_arguments() {
        let name = flag.get_long().unwrap_or_default();
        let values = asked.matches.get_raw(flag.get_id().as_str()).filter(|_| asked.flag(name).is_some());
        let mut values: Vec<Value> = values.into_iter().flatten().map(|v| typed(&v.to_string_lossy())).collect();
        match flag.get_action() {
            ArgAction::Append if !values.is_empty() => drop(table.insert(name.into(), Value::Array(values))),
            _ => drop(values.pop().map(|value| table.insert(name.into(), value))),
        }
    }
    let mut file = Table::new();
    file.extend(table.remove("device").map(|device| ("device".to_owned(), device)));
    let nested = asked
        .path
        .iter()
        .rev()
        .fold(Value::Table(table), |value, name| Value::Table(Table::from_iter([((*name).to_owned(), value)])));
    file.extend(nested.as_table().cloned().into_iter().flatten());
    toml::to_string(&file).map(Some).map_err(|e| Failure::Io(format!("config: {e}")))
}

/// A typed value in TOML's type.
fn typed(text: &str) -> Value {
    let number = |text: &str| {
        let text = text.trim();
        text.parse().map(Value::Integer).or_else(|_| text.parse().map(Value::Float))
    };
    let numbers = || text.split(',').map(number).collect::<Result<Vec<_>, _>>();
    match text {
        "true" | "false" => Value::Boolean(text == "true"),
        _ if text.contains(',') => numbers().map_or_else(|_| Value::String(text.into()), Value::Array),
        _ => number(text).unwrap_or_else(|_| Value::String(text.into())),
    }
}

#[cfg(test)]
#[path = "../../tests/unit/flags_config.rs"]
mod tests;
