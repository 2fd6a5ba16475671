//! `icp` of many sources onto one target.

use crate::icp::{sheet, write_points};
use crate::{MANIFEST, Run, contents, indices, names, run};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A sheet `t.npy`, and `n` of it in `s/`, each moved a little further.
fn setup(folder: &Path, n: usize) {
    write_points(folder, "t.npy", &sheet(25));
    fs::create_dir(folder.join("s")).unwrap();
    (0..n).for_each(|i| source(folder, i, 0.002 * i as f64));
}

fn source(folder: &Path, i: usize, by: f64) {
    let points: Vec<[f64; 3]> =
        sheet(25).iter().skip(i).step_by(2).map(|p| [p[0] + by, p[1] - by, p[2] + 0.5 * by]).collect();
    write_points(folder, &format!("s/{i}.npy"), &points);
}

/// What is found of a source, without times and names.
fn found(data: &Value) -> Value {
    let mut found = data.clone();
    let fields = found.as_object_mut().unwrap();
    let other = ["ms", "read_ms", "write_ms", "prepare_ms", "index", "input", "out", "warnings", "command", "version"];
    let more = ["device", "device_name", "target_points", "picture", "plot"];
    other.iter().chain(&more).for_each(|name| drop(fields.remove(*name)));
    for look in fields["trace"].as_array_mut().unwrap() {
        let look = look.as_object_mut().unwrap();
        ["search_ms", "reduce_ms", "solve_ms"].iter().for_each(|name| assert!(look.remove(*name).is_some()));
    }
    found
}

fn counts(told: &Run) -> [u64; 5] {
    let [inputs, done, kept, failed] = crate::counts(told);
    [inputs, done, kept, failed, told.data("summary")[0]["converged"].as_u64().unwrap()]
}

const ICP: &str = "icp s t.npy --max-distance 0.3 --json";

#[test]
fn each_source_is_what_it_is_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 11);
    for flags in
        ["--metric gicp --schedule 0.2:1,0:0.3", "--metric point-to-point --search lbvh", "--robust huber:0.05"]
    {
        let told = run(at, &format!("icp s t.npy {flags} --out o --json")).expect(0);
        assert_eq!(counts(&told), [11, 11, 0, 0, 11], "{flags}");
        assert_eq!(
            (told.data("begin")[0]["inputs"].clone(), told.data("begin")[0]["source"].clone()),
            (json!(11), json!("s"))
        );
        for i in [0, 2, 10] {
            let frame = &told.data("frame")[i];
            // In natural order: 2 before 10.
            assert_eq!((&frame["index"], &frame["input"]), (&json!(i), &json!(format!("s/{i}.npy"))));
            let alone = run(at, &format!("icp s/{i}.npy t.npy {flags} --out a.ply --json")).expect(0);
            assert_eq!(found(frame), found(&alone.data("frame")[0]), "{flags}: {i}");
            assert!(fs::read(at.join("a.ply")).unwrap() == fs::read(at.join(format!("o/{i}.ply"))).unwrap(), "{i}");
        }
        // Several at a time, from a pattern.
        let many = run(at, &format!("icp s/*.npy t.npy {flags} --out many --jobs 3 --json")).expect(0);
        let all = |told: &Run| told.data("frame").iter().map(found).collect::<Vec<_>>();
        assert_eq!(all(&many), all(&told), "{flags}");
        assert!(contents(&at.join("many")) == contents(&at.join("o")), "{flags}");
    }
    let told = run(at, "icp s t.npy").expect(0);
    let lines: Vec<_> = told.out.lines().collect();
    assert!(lines.len() == 13 && lines[3].starts_with("s/2.npy") && lines[3].contains("step-below"), "{}", told.out);
    assert!(lines[12].starts_with("11 sources, 11 converged, ") && lines[12].contains(" onto 625 "), "{}", told.out);
}

#[test]
fn a_bad_source_is_told_and_the_rest_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 4);
    fs::write(at.join("s/1.npy"), "text").unwrap();
    for jobs in ["", "--jobs 3"] {
        let told = run(at, &format!("{ICP} --out o {jobs}")).expect(3);
        let kinds: Vec<_> = told.lines().into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, ["begin", "frame", "error", "frame", "frame", "summary", "error"]);
        let error = told.data("error").remove(0);
        assert_eq!((&error["index"], &error["file"]), (&json!(1), &json!("s/1.npy")));
        assert_eq!(counts(&told), [4, 3, 0, 1, 3]);
        assert_eq!(names(&at.join("o")), ["0.ply", "2.ply", "3.ply"]);
    }
    // A source that only the library refuses.
    write_points(at, "s/1.npy", &[[1e30, 0.0, 0.0], [0.0; 3], [0.0; 3]]);
    let told = run(at, &format!("{ICP} --fail-fast")).expect(3);
    assert_eq!((counts(&told), &told.data("error")[0]["class"]), ([4, 1, 0, 1, 1], &json!("BadValue")));
    assert!(told.err.contains("2 of 4 inputs were not started"), "{}", told.err);
    assert_eq!(counts(&run(at, "icp none* t.npy --json").expect(3)), [1, 0, 0, 1, 0]);
    // Without a target or a guess there is nothing to align.
    fs::write(at.join("bad.txt"), "1 2 3").unwrap();
    fs::write(at.join("bad.npy"), "text").unwrap();
    for (args, of) in [("s bad.npy", 5), ("s s", 5), ("s s/1.npy", 5), ("s t.npy --guess bad.txt", 6)] {
        let told = run(at, &format!("icp {args} --json")).expect(3);
        assert!(told.data("frame").is_empty() && told.data("summary").is_empty(), "{args}");
        assert!(told.err.ends_with(&format!("error: 1 of {of} inputs failed\n")), "{args}: {}", told.err);
    }
}

#[test]
fn a_source_that_does_not_converge_is_6_unless_one_failed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 3);
    source(at, 1, 900.0);
    fs::write(at.join("guess.txt"), "0 0 0 0 0 0").unwrap();
    let args = format!("{ICP} --guess guess.txt --out o");
    let told = run(at, &args).expect(6);
    assert_eq!(counts(&told), [3, 3, 0, 0, 2]);
    assert_eq!((&told.data("frame")[1]["status"], names(&at.join("o")).len()), (&json!("no-pairs"), 3));
    assert!(told.err.ends_with("error: not converged: 1 of 3 sources\n"), "{}", told.err);
    // A run that resumes has the same answer.
    let told = run(at, &format!("{args} --resume")).expect(6);
    assert_eq!((indices(&told), counts(&told)), ([vec![1], vec![0, 2]], [3, 1, 2, 0, 0]));
    fs::write(at.join("s/0.npy"), "text").unwrap();
    let told = run(at, &args).expect(3);
    assert_eq!(counts(&told), [3, 2, 0, 1, 1]);
}

#[test]
fn resume_does_what_is_new_changed_or_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    setup(at, 6);
    fs::write(at.join("guess.txt"), "0 0 0 0 0 0").unwrap();
    let args = format!("{ICP} --out o --guess guess.txt");
    let done = |more: &str| indices(&run(at, &format!("{args} {more}")).expect(0));
    let (all, none) = (|| (0..6).collect::<Vec<u64>>(), Vec::new);
    assert_eq!(done(""), [all(), none()]);
    let whole = contents(&at.join("o"));
    assert_eq!(done("--resume"), [none(), all()]);
    let touch = |file: &str| {
        let file = fs::File::options().write(true).open(at.join(file)).unwrap();
        file.set_modified(std::time::SystemTime::now() + Duration::from_secs(5)).unwrap();
    };
    touch("s/1.npy");
    fs::remove_file(at.join("o/4.ply")).unwrap();
    assert_eq!(done("--resume --jobs 3"), [vec![1, 4], vec![0, 2, 3, 5]]);
    assert!(contents(&at.join("o")) == whole);
    // Another target, another guess, other parameters: everything is done again.
    touch("t.npy");
    assert_eq!(done("--resume"), [all(), none()]);
    touch("guess.txt");
    assert_eq!(done("--resume"), [all(), none()]);
    assert_eq!(done("--resume --metric gicp"), [all(), none()]);
    assert_eq!(done("--jobs 1"), [all(), none()]);
    // A line that was being written when the process ended is none; with one job it is that of the
    // last input.
    let manifest = at.join("o").join(MANIFEST);
    let lines = fs::read(&manifest).unwrap();
    fs::write(&manifest, &lines[..lines.len() - 3]).unwrap();
    assert_eq!(done("--resume"), [vec![5], (0..5).collect()]);
    assert!(contents(&at.join("o")) == whole);
}
