//! The envelopes of the JSON lines: what is the same for every command is defined here once.
//!
//! A command adds its own fields to an envelope by flattening. `docs/json.md` and
//! `docs/json.schema.json` are generated from these types and the types of the commands.

use crate::device;
use crate::failure::Failure;
use crate::stats::{Times, ratio};
use crate::text::{counted, short, shown};
use pointmill::Device;
use pointmill_io::Warning;
use serde::Serialize;
use std::io::ErrorKind;

/// The version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The command, the version and the device: the first fields of every `begin` and `summary`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// The command, such as `voxelize`.
    command: &'static str,
    /// The version of this program.
    version: &'static str,
    /// The device: `cpu`, `cuda:0`, ...; null for a command that uses none.
    device: Option<String>,
    /// The device with its product name or number of threads; null for a command that uses none.
    device_name: Option<String>,
}

impl Run {
    /// The run of a command, on a device if it uses one.
    pub fn new(command: &'static str, on: Option<&Device>) -> Self {
        let device = on.map(ToString::to_string);
        Self { command, version: VERSION, device, device_name: on.map(device::describe) }
    }

    /// The device for people.
    pub fn device_name(&self) -> &str {
        self.device_name.as_deref().unwrap_or_default()
    }
}

/// `begin`: one line before the work.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Begin<P> {
    /// Command, version and device.
    #[serde(flatten)]
    pub run: Run,
    /// The number of inputs.
    pub inputs: usize,
    /// What coordinates are relative to: x, y, z in metres, added to those of a result; absent if
    /// it is zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<[f64; 3]>,
    /// The fields of the command.
    #[serde(flatten)]
    pub of: P,
}

/// What is unusual about an input that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notes {
    /// What is unusual about the input.
    pub warnings: Vec<String>,
    /// Points that were read of an input that is damaged, with `--salvage`; of a bag in `info`,
    /// messages. Absent if the input is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub salvaged: Option<u64>,
}

impl Notes {
    /// The warnings of a reader.
    pub fn of<'a>(warnings: impl IntoIterator<Item = &'a Warning>) -> Self {
        let mut notes = Self::default();
        for warning in warnings {
            if let Warning::Salvaged { points, .. } = warning {
                notes.salvaged = Some(*points);
            }
            notes.warnings.push(warning.to_string());
        }
        notes
    }
}

/// `frame`: one line for each input that was done, in the order of the inputs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frame<R> {
    /// The number of the input, from 0. Inputs that failed have numbers too.
    pub index: usize,
    /// The name of the input.
    pub input: String,
    /// The device that did the work: the device of the command, or the CPU with `--on-oom cpu`.
    pub device: Option<String>,
    /// Time of the operator: upload, call, and waiting for its end.
    pub ms: Option<f64>,
    /// Time to read or generate the input.
    pub read_ms: f64,
    /// Time to read the results back and to write them; null if nothing is written.
    pub write_ms: Option<f64>,
    /// The file that was written; null if none was.
    pub out: Option<String>,
    /// What is unusual about the input.
    #[serde(flatten)]
    pub notes: Notes,
    /// The same work on the CPU; null without `--compare-cpu`.
    pub cpu: Option<FrameCpu>,
    /// The fields of the command.
    #[serde(flatten)]
    pub of: R,
}

impl<R> Frame<R> {
    /// The frame of an input that was read, before any work on it.
    pub const fn read(index: usize, input: String, read_ms: f64, notes: Notes, of: R) -> Self {
        Self { index, input, device: None, ms: None, read_ms, write_ms: None, out: None, notes, cpu: None, of }
    }
}

/// `frame` of a command that uses no device for an input.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileFrame<'a, R> {
    /// The number of the input, from 0. Inputs that failed have numbers too.
    index: usize,
    /// The name of the input.
    input: &'a str,
    /// Time to read the input.
    read_ms: f64,
    /// Time to write the results; null if nothing is written.
    write_ms: Option<f64>,
    /// The file that was written; null if none was.
    out: Option<&'a str>,
    /// What is unusual about the input.
    #[serde(flatten)]
    notes: &'a Notes,
    /// The fields of the command.
    #[serde(flatten)]
    of: &'a R,
}

impl<'a, R> From<&'a Frame<R>> for FileFrame<'a, R> {
    fn from(frame: &'a Frame<R>) -> Self {
        let Frame { index, read_ms, write_ms, .. } = *frame;
        let (input, out, notes) = (&frame.input, frame.out.as_deref(), &frame.notes);
        Self { index, input, read_ms, write_ms, out, notes, of: &frame.of }
    }
}

/// The same work on the CPU, for one input.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrameCpu {
    /// Threads of the CPU that were used.
    pub threads: usize,
    /// Time on the CPU.
    pub ms: f64,
    /// Time on the CPU divided by the time on the device.
    pub ratio: f64,
    /// Whether all arrays and the report are equal, bit for bit. Null where only the `summary` can
    /// compare.
    pub equal: Option<bool>,
    /// The names of the arrays that differ.
    pub differs: Vec<String>,
}

impl FrameCpu {
    /// The CPU beside a device that took so many milliseconds, and the names of what is not equal.
    pub fn new(threads: usize, ms: f64, device_ms: f64, differs: Vec<String>) -> Self {
        Self { threads, ms, ratio: ratio(ms, device_ms), equal: Some(differs.is_empty()), differs }
    }
}

/// How many inputs were done, kept or failed. Inputs that were not begun are the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// The number of inputs.
    pub inputs: usize,
    /// Inputs that were done.
    pub done: usize,
    /// Inputs of `done` that are damaged and were read in part, with `--salvage`.
    pub salvaged: usize,
    /// Inputs that an earlier run has done. They count in no other field.
    pub kept: usize,
    /// Inputs that failed.
    pub failed: usize,
}

impl Counts {
    /// [`Failure::Inputs`] if any failed.
    pub fn verdict(self) -> Result<(), Failure> {
        let Self { inputs, failed, .. } = self;
        if failed > 0 { Err(Failure::Inputs { failed, inputs }) } else { Ok(()) }
    }
}

/// `summary`: one line after the work, with the totals.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary<T> {
    /// Command, version and device.
    #[serde(flatten)]
    pub run: Run,
    /// How many inputs were done, kept or failed.
    #[serde(flatten)]
    pub counts: Counts,
    /// Statistics of the frames' `ms`; null if there are none. With `--compare-cpu`, each job makes
    /// one call before its first that is not timed.
    pub ms: Option<Times>,
    /// The same work on the CPU; null without `--compare-cpu`.
    pub cpu: Option<SummaryCpu>,
    /// The file or folder that was written; null if none was.
    pub out: Option<String>,
    /// The picture that was written; null without `--visualize`.
    pub picture: Option<String>,
    /// The fields of the command.
    #[serde(flatten)]
    pub of: T,
}

/// The same work on the CPU, for all inputs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SummaryCpu {
    /// Threads of the CPU that were used.
    pub threads: usize,
    /// Statistics of the times on the CPU.
    pub ms: Times,
    /// Mean time on the CPU divided by the mean time on the device.
    pub ratio: f64,
    /// Whether all results are equal, bit for bit.
    pub equal: bool,
}

impl SummaryCpu {
    /// The CPU beside a device with these times.
    pub fn new(threads: usize, ms: Times, device: &Times, equal: bool) -> Self {
        Self { threads, ms, ratio: ratio(ms.mean, device.mean), equal }
    }

    /// A line for people, beside the times of a device.
    pub fn line(&self, device: &Times, name: &str) -> String {
        format!(
            "mean {} ms on {name}, {} ms on the cpu with {}: {:.2} times as fast, {}",
            short(device.mean),
            short(self.ms.mean),
            counted(self.threads, "thread"),
            self.ratio,
            if self.equal { "all arrays equal" } else { "ARRAYS DIFFER" },
        )
    }
}

/// `kept`: an input that an earlier run has done, with `--resume`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeptRecord {
    /// The number of the input, from 0.
    pub index: usize,
    /// The name of the input.
    pub input: String,
    /// The files that were made of it.
    pub outputs: Vec<String>,
}

/// `error`: an input that failed, or the failure that ends the command.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorRecord {
    /// The number of the input; null if the error is about no input.
    pub index: Option<usize>,
    /// The name of the input; null if the error is about no input.
    pub input: Option<String>,
    /// The file that the error is about; null if there is none.
    pub file: Option<String>,
    /// How many bytes of the file had been read; null if that is not known.
    pub offset: Option<u64>,
    /// The class of the error, one word.
    pub class: &'static str,
    /// The message, with control bytes escaped.
    pub message: String,
    /// The exit code if the command ends with this error, else null.
    pub exit_code: Option<u8>,
}

/// The line of a type and its data, with the newline.
pub fn line_of(kind: &'static str, data: &impl Serialize) -> Result<Vec<u8>, Failure> {
    #[derive(Serialize)]
    struct Line<'a, T> {
        r#type: &'static str,
        data: &'a T,
    }
    pointmill_data::json_line(&Line { r#type: kind, data }).map_err(|e| match e.kind() {
        ErrorKind::OutOfMemory => Failure::OutOfMemory(format!("json: {e}")),
        _ => Failure::Io(format!("json: {e}")),
    })
}

impl ErrorRecord {
    /// The failure that ends the command.
    pub fn end(failure: &Failure) -> Self {
        Self {
            index: None,
            input: None,
            file: failure.file().map(shown),
            offset: None,
            class: failure.class(),
            message: pointmill_io::escape(&failure.to_string()),
            exit_code: Some(failure.exit_code()),
        }
    }
}

/// The names of the fields that differ between two results. Times, whose names end in `_ms`, are
/// left out.
pub fn differences(a: &impl Serialize, b: &impl Serialize) -> Vec<String> {
    let [a, b] = [fields(a), fields(b)];
    a.into_iter().zip(b).filter(|(a, b)| a != b).map(|((name, _), _)| name).collect()
}

/// The fields of a result as texts, which differ for -0 and 0 and keep every bit of a number.
fn fields(of: &impl Serialize) -> Vec<(String, String)> {
    let mut value = serde_json::to_value(of).unwrap_or_default();
    without_times(&mut value);
    let fields = value.as_object().into_iter().flatten();
    fields.map(|(name, value)| (name.clone(), value.to_string())).collect()
}

fn without_times(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            fields.retain(|name, _| !name.ends_with("_ms"));
            fields.values_mut().for_each(without_times);
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(without_times),
        _ => {}
    }
}

#[cfg(test)]
#[path = "../tests/unit/json.rs"]
mod tests;
