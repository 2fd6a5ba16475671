//! Folders of rosbag2 as inputs: several files that are one bag.

use crate::{counts, names, run};
use std::fs;
use std::path::Path;

/// A folder of one bag in files of these names, with the topics of two sensors in each, and a list of
/// the files.
fn write_folder(at: &Path, files: &[&str], list: &str) {
    fs::create_dir(at).unwrap();
    let bags = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags");
    for file in files {
        let ending = file.rsplit_once('.').unwrap().1;
        fs::copy(bags.join(format!("joined.{ending}")), at.join(file)).unwrap();
    }
    let list = list.split(' ').map(|name| format!("    - {name}\n")).collect::<String>();
    let text = format!(
        "rosbag2_bagfile_information:\n  version: 9\n  relative_file_paths:\n{list}  duration:\n    nanoseconds: 1\n"
    );
    fs::write(at.join("metadata.yaml"), text).unwrap();
}

#[test]
fn files_of_a_folder_are_one_bag() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // In another order than that of the names.
    write_folder(&at.join("drive"), &["b_0.db3", "b_1.db3", "left.db3"], "b_1.db3 b_0.db3");
    let told = run(at, "info drive --json").expect(0);
    let frames = told.data("frame");
    assert_eq!((frames.len(), &frames[0]["input"]), (1, &"drive".into()));
    let topics = frames[0]["topics"].as_array().unwrap();
    let messages: Vec<_> = topics.iter().map(|topic| topic["messages"].as_u64().unwrap()).collect();
    assert_eq!(messages, [8, 6, 2]);
    let told = run(at, "convert drive --to npy --out out --topic /front").expect(0);
    assert!(told.err.is_empty(), "{}", told.err);
    let files = names(&at.join("out"));
    assert_eq!((files.len(), &*files[0], &*files[7]), (8, "drive_000000.npy", "drive_000007.npy"));
    // Both files have the same times, so that clouds come in pairs.
    let bytes: Vec<_> = files.iter().map(|name| fs::read(at.join("out").join(name)).unwrap()).collect();
    assert!(bytes.chunks(2).all(|two| two[0] == two[1]) && bytes[0] != bytes[2]);
    // Static transforms of all files are those of the bag.
    let told = run(at, "convert drive --to npy --out joined --topic /front,/rear --json").expect(0);
    assert_eq!(counts(&told), [8, 8, 0, 0]);
    assert!(told.data("frame")[0]["warnings"].to_string().contains("in the frame `base_link`: 8 sweeps"));
    let told = run(at, "voxelize drive#000003 --topic /front --out one.npz --json").expect(0);
    assert_eq!(told.data("frame")[0]["input"], "drive#000003");
    // A bag of one file keeps its name.
    write_folder(&at.join("one"), &["a_0.mcap"], "a_0.mcap");
    let told = run(at, "voxelize one --topic /front --out v --json").expect(0);
    assert_eq!(told.data("frame")[0]["input"], "one/a_0.mcap#000000");
}

#[test]
fn a_folder_without_a_list_is_files_and_a_bad_list_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_folder(&at.join("bag"), &["a.mcap", "b.mcap"], "a.mcap b.mcap");
    fs::rename(at.join("bag/metadata.yaml"), at.join("metadata.txt")).unwrap();
    let told = run(at, "info bag --json").expect(0);
    let inputs: Vec<_> = told.data("frame").iter().map(|frame| frame["input"].to_string()).collect();
    assert_eq!(inputs, ["\"bag/a.mcap\"", "\"bag/b.mcap\""]);
    // One of another program says nothing of bags.
    fs::write(at.join("bag/metadata.yaml"), "relative_file_paths:\n  - ../x\n").unwrap();
    assert_eq!(counts(&run(at, "info bag --json").expect(0)), [2, 2, 0, 0]);
    for (i, (list, wanted)) in [
        ("../a.mcap", "expected the name of a file in the folder of the bag"),
        ("/etc/passwd", "expected the name of a file in the folder of the bag"),
        ("a.mcap missing.mcap", "missing.mcap"),
        ("a.mcap a.mcap", "each file once"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("bad{i}");
        write_folder(&at.join(&name), &["a.mcap"], list);
        let told = run(at, &format!("convert {name} --to npy --out o --topic /front"));
        assert!(told.err.contains(wanted) && !at.join("o").exists(), "{}", told.err);
    }
}

#[cfg(unix)]
#[test]
fn links_in_a_folder_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_folder(&at.join("bag"), &["a.mcap"], "a.mcap b.mcap");
    fs::copy(at.join("bag/a.mcap"), at.join("out.mcap")).unwrap();
    std::os::unix::fs::symlink(at.join("out.mcap"), at.join("bag/b.mcap")).unwrap();
    let told = run(at, "convert bag --to npy --out o --topic /front").expect(3);
    assert!(told.err.contains("bag/b.mcap") && told.err.contains("link"), "{}", told.err);
    fs::rename(at.join("bag/metadata.yaml"), at.join("list.yaml")).unwrap();
    std::os::unix::fs::symlink(at.join("list.yaml"), at.join("bag/metadata.yaml")).unwrap();
    let told = run(at, "convert bag --to npy --out o --topic /front").expect(3);
    assert!(told.err.contains("metadata.yaml") && told.err.contains("link"), "{}", told.err);
}

#[test]
fn a_file_of_a_folder_that_was_cut_is_told_behind_the_clouds() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_folder(&at.join("bag"), &["a.db3", "b.db3"], "a.db3 b.db3");
    let bytes = fs::read(at.join("bag/b.db3")).unwrap();
    fs::write(at.join("bag/b.db3"), &bytes[..bytes.len() - 4096]).unwrap();
    let told = run(at, "convert bag --to npy --out o --topic /front --json").expect(3);
    let error = told.data("error").remove(0);
    assert_eq!(error["class"], "Truncated");
    assert!(names(&at.join("o")).len() >= 4);
}
