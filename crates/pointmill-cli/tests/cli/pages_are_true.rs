//! What the pages say of pointmill is so: counts come from the files, examples of Rust are tests, and nothing that exists
//! is said to be absent.

use crate::run;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The pages of a folder, by their names in the repository.
fn pages_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().file_name());
    let names = entries.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(".md"));
    names.map(|name| format!("{folder}/{name}")).collect()
}

#[test]
fn the_number_of_guides_is_that_of_the_files() {
    assert!(page("README.md").contains(&format!("[{} guides](docs/README.md#guides)", pages_in("docs/guides").len())));
}

#[test]
fn every_page_with_rust_is_tested() {
    let tested = page("crates/pointmill-data/src/lib.rs");
    for name in pages_in("docs").iter().map(String::as_str).chain(["README.md"]) {
        assert!(!page(name).contains("\n```rust\n") || tested.contains(&format!("/../../{name}\"")), "{name}");
    }
}

/// What the pages say is not there: the page, the words, and the names of commands, of the Python package or of the C
/// library that would make it untrue.
const ABSENT: [(&str, &str, &[&str]); 13] = [
    ("docs/comparison.md", "| segmentation, features, RANSAC | no |", &["segment", "ransac"]),
    ("docs/comparison.md", "| meshes, surfaces | no |", &["mesh", "poisson"]),
    ("docs/comparison.md", "| window for viewing | no, pictures and HTML pages |", &["view", "viewer"]),
    ("docs/comparison.md", "| in PyPI | not yet |", &[]),
    ("docs/comparison.md", "an IMU | a SLAM package; pointmill's odometry has none of them |", &["pose_graph", "imu"]),
    ("docs/faq.md", "**AMD, Apple, Intel GPUs?** No.", &["hip", "metal", "wgpu"]),
    ("docs/faq.md", "a packaged node does not exist", &["node"]),
    ("docs/faq.md", "**Does odometry use an IMU, or close loops?** No.", &["imu", "loop_closure"]),
    ("docs/faq.md", "they are not in the\npackage indexes yet", &[]),
    ("docs/coming_from.md", "| no window |", &["view", "viewer"]),
    (
        "docs/coming_from.md",
        "| ground filters, reprojection, rasters | not here: take PDAL |",
        &["ground", "reproject", "raster"],
    ),
    ("docs/coming_from.md", "| sparse layers: `SparseConvTensor`,", &["SubMConv3d", "SparseConv3d"]),
    ("docs/which_operator.md", "No command segments or classifies points.", &["segment", "classify"]),
];

/// How a page says that something is not there.
const DENIALS: [&str; 9] = [
    "?** No.",
    "| no |",
    "| no,",
    "| not yet |",
    "not here",
    "only read",
    "does not exist",
    "no layers",
    "has none of",
];

#[test]
fn nothing_that_exists_is_said_to_be_absent() {
    let commands = run(Path::new("."), "--help").expect(0).out;
    let python = page("bindings/python/python/pointmill/_pointmill.pyi");
    let c = page("crates/pointmill-c/include/pointmill.h");
    for (name, words, features) in ABSENT {
        assert!(page(name).contains(words), "{name}: no longer says {words:?}: take it out of the table");
        for feature in features {
            let is_command = commands.lines().any(|line| line.trim_start().starts_with(&format!("{feature} ")));
            let is_python = python.contains(&format!("def {feature}(")) || python.contains(&format!("class {feature}"));
            assert!(!is_command && !is_python && !c.contains(&format!("pointmill_{feature}")), "{name}: {words:?}");
        }
    }
    for name in ["docs/comparison.md", "docs/faq.md", "docs/coming_from.md", "docs/which_operator.md"] {
        for line in page(name).lines() {
            // A cell of another package says nothing of this one.
            let cells: Vec<_> = line.splitn(4, '|').take(3).collect();
            let of_this = if name == "docs/comparison.md" { format!("{}|", cells.join("|")) } else { line.to_owned() };
            let denies = DENIALS.iter().any(|denial| of_this.contains(denial));
            let is_known =
                ABSENT.iter().any(|(at, words, _)| *at == name && words.lines().any(|part| line.contains(part)));
            assert!(!denies || is_known, "{name}: {line:?} says that something is absent: put it into the table");
        }
    }
}
