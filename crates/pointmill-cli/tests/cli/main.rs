//! The binary as a user runs it: arguments, files, exit codes, what is printed.

mod bag_folders;
mod bags;
mod batch;
mod changes;
mod commands;
mod convert;
mod crop;
mod demo;
mod downsample;
mod end;
mod evaluate;
mod failures;
mod faults;
#[cfg(unix)]
mod folder_files;
mod folders;
mod frames;
mod icp;
mod icp_batch;
mod info;
mod json;
mod las;
mod links;
mod localize;
mod merge;
mod messages;
mod ndt;
mod ndt_batch;
mod ndt_blocks;
mod ndt_blocks_frames;
mod nothing_read;
mod odometry;
mod pages;
mod pages_are_true;
mod register;
mod roi_batch;
mod roi_pool;
mod see;
mod sensor_pose;
mod survey;
mod threads;
mod voxelize;

use pointmill::PointCloud;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::{self, Formatter};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run left behind.
struct Run {
    code: i32,
    out: String,
    err: String,
}

/// JSON in which no object has a key twice.
struct Once(Value);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(OnceVisitor)
    }
}

struct OnceVisitor;

impl<'de> Visitor<'de> for OnceVisitor {
    type Value = Once;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Once, E> {
        Ok(Once(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Once, E> {
        Ok(Once(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Once, E> {
        Ok(Once(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Once, E> {
        Ok(Once(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Once, E> {
        Ok(Once(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Once, E> {
        Ok(Once(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Once, A::Error> {
        let mut all = Vec::new();
        while let Some(Once(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Once(all.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Once, A::Error> {
        let mut all = Map::new();
        while let Some((name, Once(value))) = fields.next_entry::<String, _>()? {
            if all.insert(name.clone(), value).is_some() {
                return Err(A::Error::custom(format!("the key {name} stands twice")));
            }
        }
        Ok(Once(all.into()))
    }
}

#[test]
fn a_key_that_stands_twice_is_found() {
    assert!(serde_json::from_str::<Once>(r#"{"a": [1, {"b": null, "c": -1.5}], "b": "x", "c": true}"#).is_ok());
    let error = serde_json::from_str::<Once>(r#"{"a": [{"b": 1, "b": 1}]}"#).err().unwrap().to_string();
    assert!(error.starts_with("the key b stands twice"), "{error}");
}

impl Run {
    /// The JSON lines, each with its type.
    fn lines(&self) -> Vec<(String, Value)> {
        let parsed = self.out.lines().map(|line| {
            let Once(mut line) = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
            assert_eq!(line.as_object().unwrap().len(), 2, "{line}");
            (line["type"].as_str().unwrap().to_owned(), line["data"].take())
        });
        parsed.collect()
    }

    /// The data of all lines of a type.
    fn data(&self, kind: &str) -> Vec<Value> {
        self.lines().into_iter().filter(|(k, _)| k == kind).map(|(_, data)| data).collect()
    }

    /// The run, if it ended with this code.
    #[track_caller]
    fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }
}

/// The command in a folder; the device is the CPU unless `args` name one.
fn command(folder: &Path, args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pointmill"));
    command.current_dir(folder).args(args.split_whitespace());
    if !args.contains("--device") {
        command.args(["--device", "cpu"]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(folder: &Path, args: &str) -> Run {
    finished(command(folder, args).output().unwrap())
}

/// A message as Unix has it: other platforms separate the parts of a path by `\`, and name the
/// program with its extension.
fn as_on_unix(text: String) -> String {
    if cfg!(windows) { text.replace('\\', "/").replace("pointmill.exe", "pointmill") } else { text }
}

fn finished(output: std::process::Output) -> Run {
    Run {
        code: output.status.code().expect("an exit code"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: as_on_unix(String::from_utf8(output.stderr).unwrap()),
    }
}

/// A cloud of `n` points with four columns, some outside the range, one not finite.
fn cloud(n: usize) -> PointCloud {
    let point = |i: usize| {
        let at = (i as f32 * 0.37).sin();
        [60.0 * at, 0.01 * i as f32, if i == 3 { f32::NAN } else { -1.0 }, 0.5]
    };
    PointCloud::new((0..n).flat_map(point).collect(), 4).unwrap()
}

fn write_cloud(folder: &Path, name: &str, n: usize) -> PathBuf {
    let path = folder.join(name);
    pointmill_io::write_bin(&path, cloud(n).points()).unwrap();
    path
}

/// A car of KITTI, as a label.
const LABEL: &str = "Car 0 0 0 600 170 680 230 1.6 1.7 3.2 0.8 1.7 20 0.5";

/// `b.npy`: two boxes that hold points of [`cloud`].
fn write_boxes(folder: &Path) {
    let boxes = [0.0, 1.0, -2.0, 30.0, 30.0, 4.0, 0.3, 10.0, 2.0, -2.0, 5.0, 5.0, 4.0, 0.0];
    pointmill_io::write_npy(folder.join("b.npy"), &pointmill_io::ArrayView::f32(&[2, 7], &boxes)).unwrap();
}

/// The manifest in a folder of outputs.
const MANIFEST: &str = ".pointmill.jsonl";

/// The names in a folder, sorted, but for the manifest's.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != MANIFEST);
    names.sort();
    names
}

/// The files of a folder with their bytes, but for the manifest.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    names(folder).into_iter().map(|name| (name.clone(), fs::read(folder.join(name)).unwrap())).collect()
}

/// Inputs, those done, kept and failed, as the summary counts them.
fn counts(told: &Run) -> [u64; 4] {
    let summary = told.data("summary").remove(0);
    ["inputs", "done", "kept", "failed"].map(|key| summary[key].as_u64().unwrap())
}

/// Numbers of the inputs that were done, and of those that were kept.
fn indices(told: &Run) -> [Vec<u64>; 2] {
    ["frame", "kept"].map(|kind| told.data(kind).iter().map(|d| d["index"].as_u64().unwrap()).collect())
}

/// The names of a line's fields, sorted.
fn fields(data: &Value) -> String {
    data.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// The pose of a line.
fn matrix(frame: &Value) -> [f64; 16] {
    let numbers = frame["target_from_source"].as_array().unwrap();
    std::array::from_fn(|i| numbers[i].as_f64().unwrap())
}

/// Where public clouds lie: beside the repository, or where `POINTMILL_TEST_DATA` says.
fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("POINTMILL_TEST_DATA").map_or_else(beside, PathBuf::from);
    if !folder.is_dir() {
        eprintln!("skipped: no shared test data");
        return None;
    }
    Some(folder.canonicalize().unwrap())
}
