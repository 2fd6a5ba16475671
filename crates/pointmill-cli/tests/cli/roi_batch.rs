//! `roi-pool` of many scenes: what belongs together, what fails among them, what is kept, several
//! at a time.

use crate::{MANIFEST, Run, contents, counts, indices, names, run};
use pointmill_io::{ArrayView, write_bin, write_npy};
use pointmill_synth::RoiScene;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;

const BOXES: usize = 9;
const CHANNELS: usize = 2;
/// Flags that take all scenes of [`scenes`].
const ALL: &str = "--points p --boxes b --features f";
const SMALL: &str = "--out-size 3 --max-points 4";

/// Scenes `1`, `2`, ... in folders of points `p`, boxes `b` and features `f`, of different sizes.
fn scenes(folder: &Path, n: usize) {
    ["p", "b", "f"].iter().for_each(|name| fs::create_dir(folder.join(name)).unwrap());
    (1..=n).for_each(|i| scene(folder, i));
}

fn scene(folder: &Path, i: usize) {
    let points = 200 + 100 * (i % 5);
    let scene = RoiScene::street(BOXES, points, i as u64);
    let features = scene.features(CHANNELS);
    let cloud = pointmill::PointCloud::new(scene.points.clone(), 3).unwrap();
    write_npy(folder.join(format!("p/{i}.npy")), &ArrayView::f32(&[points, 3], cloud.data())).unwrap();
    write_npy(folder.join(format!("b/{i}.npy")), &ArrayView::f32(&[BOXES, 7], &scene.boxes)).unwrap();
    write_npy(folder.join(format!("f/{i}.npy")), &ArrayView::f32(&[points, CHANNELS], &features)).unwrap();
}

fn pool(folder: &Path, args: &str) -> Run {
    run(folder, &format!("roi-pool {args} --json"))
}

#[test]
fn each_scene_is_what_it_is_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    scenes(at, 11);
    let told = pool(at, &format!("{ALL} {SMALL} --compare-cpu --out o")).expect(0);
    assert_eq!(counts(&told), [11, 11, 0, 0]);
    let begin = told.data("begin").remove(0);
    assert_eq!((&begin["files"], &begin["inputs"]), (&json!(["b", "p", "f"]), &json!(11)));
    // In natural order: 2 before 10.
    let inputs: Vec<_> = told.data("frame").iter().map(|f| f["input"].as_str().unwrap().to_owned()).collect();
    assert_eq!(inputs, (1..=11).map(|i| format!("p/{i}.npy")).collect::<Vec<_>>());
    assert_eq!(told.data("frame")[1]["files"], json!(["b/2.npy", "p/2.npy", "f/2.npy"]));
    for i in [1, 2, 11] {
        run(at, &format!("roi-pool --points p/{i}.npy --boxes b/{i}.npy --features f/{i}.npy {SMALL} --out a.npz"))
            .expect(0);
        assert!(fs::read(at.join("a.npz")).unwrap() == fs::read(at.join(format!("o/{i}.npz"))).unwrap(), "scene {i}");
    }
    let summary = told.data("summary").remove(0);
    assert_eq!((&summary["boxes"], &summary["cpu"]["equal"]), (&json!(11 * BOXES), &json!(true)));
    // People get a line for each scene.
    let told = run(at, &format!("roi-pool {ALL} {SMALL}")).expect(0);
    let lines: Vec<_> = told.out.lines().collect();
    assert!(lines.len() == 13 && lines[0].starts_with("input") && lines[2].starts_with("p/2.npy"), "{}", told.out);
    assert!(lines[12].starts_with("11 scenes, 99 boxes, "), "{}", lines[12]);
}

#[test]
fn points_in_boxes_and_one_file_for_all_scenes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    scenes(at, 3);
    let part = |args: &str| pool(at, &format!("--inside part {args} --out o")).expect(0);
    assert_eq!(counts(&part("--points p/*.npy --boxes b/1.npy")), [3, 3, 0, 0]);
    run(at, "roi-pool --inside part --points p/3.npy --boxes b/1.npy --out a.npz").expect(0);
    assert!(fs::read(at.join("a.npz")).unwrap() == fs::read(at.join("o/3.npz")).unwrap());
    // Several sets of boxes of one cloud: the boxes name the scenes.
    let told = part("--points p/1.npy --boxes b");
    assert_eq!(told.data("frame")[2]["input"], "b/3.npy");
    // And with one file of features, whose rows belong to these points.
    let told = pool(at, &format!("--points p/1.npy --boxes b --features f/1.npy {SMALL} --out o")).expect(0);
    assert_eq!(counts(&told), [3, 3, 0, 0]);
    // Points of any format that is read, found by the same name.
    let cloud = pointmill::PointCloud::new([0.5; 4].repeat(300), 4).unwrap();
    fs::remove_file(at.join("p/1.npy")).unwrap();
    write_bin(at.join("p/1.bin"), cloud.points()).unwrap();
    assert_eq!(part("--points p --boxes b").data("frame")[0]["input"], "p/1.bin");
}

#[test]
fn a_scene_that_is_not_whole_or_bad_is_told_and_the_rest_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    scenes(at, 7);
    fs::remove_file(at.join("b/2.npy")).unwrap();
    fs::remove_file(at.join("f/2.npy")).unwrap();
    fs::remove_file(at.join("p/3.npy")).unwrap();
    fs::write(at.join("b/4.npy"), "text").unwrap();
    fs::copy(at.join("f/1.npy"), at.join("f/5.npy")).unwrap();
    fs::remove_file(at.join("f/7.npy")).unwrap();
    write_npy(at.join("p/6.npy"), &ArrayView::f32(&[300, 2], &[0.0; 600])).unwrap();
    for args in [format!("{ALL} {SMALL}"), format!("--points p/* --boxes b/* --features f/* {SMALL}")] {
        let told = pool(at, &format!("{args} --out o")).expect(3);
        assert_eq!(counts(&told), [7, 1, 0, 6]);
        let errors = told.data("error");
        let of = |i: usize| ["index", "class", "input", "file"].map(|key| errors[i][key].clone());
        assert_eq!(of(0), [json!(1), json!("MissingField"), json!("p/2.npy"), json!("p/2.npy")]);
        assert!(
            errors[0]["message"].as_str().unwrap().starts_with("p/2.npy: boxes and features: expected a file 2.* in b")
        );
        assert_eq!(of(1)[..3], [json!(2), json!("MissingField"), json!("b/3.npy")]);
        assert!(
            errors[1]["message"].as_str().unwrap().contains("b/3.npy: points: expected a file 3.* in p"),
            "{}",
            errors[1]
        );
        assert_eq!(of(2)[3], "b/4.npy");
        assert_eq!((&of(3)[1], &of(3)[3]), (&json!("ShapeMismatch"), &json!("f/5.npy")));
        assert_eq!((&of(4)[1], &of(4)[3]), (&json!("ShapeMismatch"), &json!("p/6.npy")));
        assert!(errors[5]["message"].as_str().unwrap().starts_with("p/7.npy: features: expected a file 7.* in f"));
        assert_eq!((&errors[6]["class"], &errors[6]["exit_code"]), (&json!("PartialFailure"), &json!(3)));
        assert_eq!(names(&at.join("o")), ["1.npz"]);
    }
    let told = pool(at, &format!("{ALL} {SMALL} --out o2 --fail-fast")).expect(3);
    assert_eq!(counts(&told), [7, 1, 0, 1]);
    assert!(told.err.contains("5 of 7 inputs were not started"), "{}", told.err);
}

#[test]
fn jobs_change_neither_files_nor_the_order_of_records() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    scenes(at, 20);
    fs::write(at.join("p/7.npy"), "text").unwrap();
    let order = |told: &Run| {
        let all = told.lines().into_iter().filter(|(kind, _)| kind == "frame" || kind == "error");
        all.map(|(kind, data)| (kind, data["index"].as_u64())).collect::<Vec<_>>()
    };
    let told = |out: &str, jobs: usize| pool(at, &format!("{ALL} {SMALL} --jobs {jobs} --out {out}")).expect(3);
    assert_eq!(order(&told("one", 1)), order(&told("many", 3)));
    assert_eq!(contents(&at.join("one")).len(), 19);
    assert!(contents(&at.join("one")) == contents(&at.join("many")));
}

#[test]
fn resume_does_what_is_new_changed_or_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    scenes(at, 6);
    let args = format!("{ALL} {SMALL} --out o");
    let done = |more: &str| indices(&pool(at, &format!("{args} {more}")).expect(0));
    assert_eq!(done(""), [(0..6).collect(), vec![]]);
    let whole = contents(&at.join("o"));
    assert_eq!(done("--resume"), [vec![], (0..6).collect()]);
    // A file of each kind is written again, an output is gone.
    let touch = |file: &str, seconds: u64| {
        let file = fs::File::options().write(true).open(at.join(file)).unwrap();
        file.set_modified(std::time::SystemTime::now() + Duration::from_secs(seconds)).unwrap();
    };
    touch("p/1.npy", 5);
    touch("b/2.npy", 5);
    touch("f/4.npy", 5);
    fs::remove_file(at.join("o/6.npz")).unwrap();
    assert_eq!(done("--resume --jobs 3"), [vec![0, 1, 3, 5], vec![2, 4]]);
    assert!(contents(&at.join("o")) == whole);
    // A line that was being written when the process ended is none; with one job it is that of the
    // last input.
    assert_eq!(done("--jobs 1")[0].len(), 6);
    let manifest = at.join("o").join(MANIFEST);
    let lines = fs::read(&manifest).unwrap();
    fs::write(&manifest, &lines[..lines.len() - 3]).unwrap();
    assert_eq!(done("--resume"), [vec![5], (0..5).collect()]);
    assert!(contents(&at.join("o")) == whole);
    // Other parameters make other files.
    assert_eq!(done("--resume --mode mean")[0].len(), 6);
    assert_eq!(done("--resume")[0].len(), 6);
    // One file for all: where it changes, all are done again.
    let one =
        |more: &str| indices(&pool(at, &format!("--inside count --points p --boxes b/1.npy --out n {more}")).expect(0));
    assert_eq!(one("")[0].len(), 6);
    assert_eq!(one("--resume")[1].len(), 6);
    touch("b/1.npy", 9);
    assert_eq!(one("--resume")[0].len(), 6);
    // A scene that has lost a file is not kept.
    fs::remove_file(at.join("f/3.npy")).unwrap();
    let told = pool(at, &format!("{args} --resume")).expect(3);
    assert_eq!(told.data("error")[0]["index"], 2);
}

#[test]
fn the_manifest_has_the_documented_fields() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    scenes(at, 1);
    pool(at, &format!("{ALL} {SMALL} --out o")).expect(0);
    let text = fs::read_to_string(at.join("o").join(MANIFEST)).unwrap();
    let entry: Value = serde_json::from_str(text.trim_end()).unwrap();
    let keys: Vec<_> = entry.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["input", "input_bytes", "input_from_here", "input_modified_ns", "outputs", "parameters"]);
    assert!(Path::new(entry["input"].as_str().unwrap()).ends_with("p/1.npy"));
    assert_eq!(entry["outputs"][0]["file"], "1.npz");
}
