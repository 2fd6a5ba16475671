//! Many inputs: folders, what fails among them, what is kept, several at a time, and runs that are
//! killed.

use crate::{MANIFEST, cloud, command, contents, counts, finished, indices, names, run, write_boxes, write_cloud};
use pointmill_io::{ArrayView, write_npy};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// `in/` with clouds `0.bin`, `1.bin`, ... of different sizes; boxes and a target beside it.
fn inputs(folder: &Path, n: usize) {
    write_boxes(folder);
    let target = cloud(300);
    write_npy(folder.join("t.npy"), &ArrayView::f32(&[300, 4], target.data())).unwrap();
    fs::create_dir(folder.join("in")).unwrap();
    (0..n).for_each(|i| drop(write_cloud(folder, &format!("in/{i}.bin"), 100 + 700 * (i % 7))));
}

/// The commands that make a file of each input, with the folder they write to.
const COMMANDS: [&str; 5] = [
    "voxelize in --out OUT",
    "ndt build in --out OUT/ --min-points 3",
    "convert in --to ply --out OUT",
    "roi-pool --inside crop --points in --boxes b.npy --out OUT",
    "icp in t.npy --metric point-to-point --out OUT",
];

fn into(template: &str, out: &str) -> String {
    template.replace("OUT", out)
}

#[test]
fn every_command_takes_folders_and_patterns_and_leaves_out_what_is_bad() {
    let folder = tempfile::tempdir().unwrap();
    inputs(folder.path(), 3);
    fs::write(folder.path().join("in/1.bin"), [0; 15]).unwrap();
    for inputs in ["in", "in/*.bin"] {
        for template in COMMANDS.into_iter().chain(["info in"]) {
            let told = run(folder.path(), &(into(template, "o").replace("in ", &format!("{inputs} ")) + " --json"));
            let told = told.expect(3);
            let kinds: Vec<_> = told.lines().into_iter().map(|(kind, _)| kind).collect();
            assert_eq!(kinds, ["begin", "frame", "error", "frame", "summary", "error"], "{template}");
            let error = told.data("error").remove(0);
            assert_eq!((&error["index"], &error["class"]), (&json!(1), &json!("SizeMismatch")), "{template}");
            assert_eq!((&error["file"], &error["offset"]), (&json!("in/1.bin"), &json!(0)), "{template}");
            assert!(told.err.contains("in/1.bin: length: expected a multiple of 16 bytes"), "{}", told.err);
            assert_eq!(counts(&told), [3, 2, 0, 1], "{template}");
            assert_eq!(told.data("error")[1]["exit_code"], 3);
            if template.contains("OUT") {
                assert_eq!(names(&folder.path().join("o")).len(), 2, "{template}");
                fs::remove_dir_all(folder.path().join("o")).unwrap();
            }
        }
    }
}

#[test]
fn a_run_resumes_where_its_files_were_moved() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = ["before", "after"].map(|name| folder.path().join(name));
    for template in COMMANDS {
        fs::create_dir(&before).unwrap();
        inputs(&before, 2);
        run(&before, &into(template, "o")).expect(0);
        // Inputs and outputs together, as on a disk that is mounted elsewhere.
        fs::rename(&before, &after).unwrap();
        let resumed = run(&after, &(into(template, "o") + " --resume --json")).expect(0);
        assert_eq!(counts(&resumed), [2, 0, 2, 0], "{template}");
        fs::remove_dir_all(&after).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn paths_that_are_not_utf8_are_read_and_written() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("in")).unwrap();
    let name = |extension: &[u8]| OsStr::from_bytes(&[b"a\xff.", extension].concat()).to_owned();
    fs::rename(write_cloud(at, "a.bin", 50), at.join("in").join(name(b"bin"))).unwrap();
    for input in [Path::new("in").join(name(b"bin")), "in".into()] {
        let mut convert = command(at, "convert --to ply --json --out o");
        let told = finished(convert.arg(input).output().unwrap()).expect(0);
        assert_eq!(told.data("frame")[0]["input"], "in/a\u{fffd}.bin");
        assert!(at.join("o").join(name(b"ply")).is_file());
        fs::remove_dir_all(at.join("o")).unwrap();
    }
    let mut voxelize = command(at, "voxelize in");
    finished(voxelize.arg("--out").arg(name(b"npz")).output().unwrap()).expect(0);
    assert!(at.join(name(b"npz")).is_file());
}

#[test]
fn fail_fast_begins_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    inputs(folder.path(), 9);
    fs::write(folder.path().join("in/2.bin"), [0; 15]).unwrap();
    for template in COMMANDS.into_iter().chain(["info in"]) {
        let told = run(folder.path(), &(into(template, "o") + " --fail-fast --json")).expect(3);
        let summary = told.data("summary").remove(0);
        assert_eq!((&summary["done"], &summary["failed"]), (&json!(2), &json!(1)), "{template}");
        assert!(told.err.contains("6 of 9 inputs were not started"), "{}", told.err);
        if template.contains("OUT") {
            // The rest is done later, and only the rest.
            assert_eq!(names(&folder.path().join("o")).len(), 2, "{template}");
            let told = run(folder.path(), &(into(template, "o") + " --resume --json")).expect(3);
            let summary = told.data("summary").remove(0);
            let counts = ["inputs", "done", "kept", "failed"].map(|key| summary[key].as_u64().unwrap());
            assert_eq!(counts, [9, 6, 2, 1], "{template}");
            fs::remove_dir_all(folder.path().join("o")).unwrap();
        }
    }
}

#[test]
fn jobs_change_neither_files_nor_the_order_of_records() {
    let folder = tempfile::tempdir().unwrap();
    inputs(folder.path(), 24);
    fs::write(folder.path().join("in/5.bin"), [0; 15]).unwrap();
    let order = |told: &crate::Run| {
        let all = told.lines().into_iter().filter(|(kind, _)| kind != "begin" && kind != "summary");
        all.map(|(kind, data)| (kind, data["index"].as_u64())).collect::<Vec<_>>()
    };
    for template in COMMANDS.into_iter().chain(["info in"]) {
        let done = |jobs: &str| run(folder.path(), &format!("{} --json --jobs {jobs}", into(template, jobs))).expect(3);
        let (one, others) = (done("1"), ["5", "auto"].map(done));
        for (other, jobs) in others.iter().zip(["5", "auto"]) {
            assert_eq!(order(&one), order(other), "{template}");
            if template.contains("OUT") {
                let [one, many] = ["1", jobs].map(|name| contents(&folder.path().join(name)));
                assert_eq!(one.len(), 23);
                assert!(one == many, "{template} --jobs {jobs}");
            }
        }
        ["1", "5", "auto"].iter().for_each(|name| drop(fs::remove_dir_all(folder.path().join(name))));
    }
    // All inputs in one grid: each job sums up its own, and sums are whole numbers.
    let all =
        |out: &str, jobs: &str| format!("ndt build in --out {out}.npz --moments {out}.arrow --jobs {jobs} --json");
    let reports = [("a", "1"), ("b", "5"), ("c", "auto")]
        .map(|(out, jobs)| run(folder.path(), &all(out, jobs)).expect(3).data("summary").remove(0)["report"].take());
    assert!(reports.iter().all(|report| *report == reports[0]));
    for extension in ["npz", "arrow"] {
        let [a, b, c] =
            ["a", "b", "c"].map(|name| fs::read(folder.path().join(format!("{name}.{extension}"))).unwrap());
        assert!(a == b && a == c, "{extension}");
    }
}

#[test]
fn resume_does_what_is_new_changed_or_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    inputs(folder.path(), 6);
    let path = |name: &str| folder.path().join(name);
    for template in COMMANDS {
        let args = into(template, "o");
        let done = |args: &str| {
            let told = run(folder.path(), &format!("{args} --json")).expect(0);
            let of = |kind| told.data(kind).iter().map(|d| d["index"].as_u64().unwrap()).collect::<Vec<_>>();
            (of("frame"), of("kept"))
        };
        assert_eq!(done(&args), ((0..6).collect(), vec![]), "{template}");
        let whole = contents(&path("o"));
        assert_eq!(done(&format!("{args} --resume")), (vec![], (0..6).collect()), "{template}");
        let file = |i: usize| path("o").join(whole.keys().nth(i).unwrap());
        // One is gone, one is shorter, one input was touched.
        fs::remove_file(file(1)).unwrap();
        File::options().write(true).open(file(2)).unwrap().set_len(100).unwrap();
        let touched = File::options().write(true).open(path("in/4.bin")).unwrap();
        touched.set_modified(std::time::SystemTime::now() + Duration::from_secs(5)).unwrap();
        assert_eq!(done(&format!("{args} --resume --jobs 3")), (vec![1, 2, 4], vec![0, 3, 5]), "{template}");
        assert!(contents(&path("o")) == whole, "{template}");
        // Other parameters make other files, and a run that does not resume begins anew.
        let other = ["voxelize", "ndt", "convert", "roi-pool", "icp"].map(|c| template.starts_with(c));
        let more = ["--max-points 3", "--eigen-ratio 0.5", "--columns 4", "--margin 0.5", "--max-distance 400"];
        let more = more[other.iter().position(|&x| x).unwrap()];
        assert_eq!(done(&format!("{args} --resume {more}")).0.len(), 6, "{template}");
        assert_eq!(done(&args).0.len(), 6, "{template}");
        assert!(contents(&path("o")) == whole, "{template}");
        fs::remove_dir_all(path("o")).unwrap();
    }
}

#[test]
fn the_manifest_has_the_documented_fields() {
    let folder = tempfile::tempdir().unwrap();
    inputs(folder.path(), 1);
    run(folder.path(), "ndt build in --out o/ --moments m/").expect(0);
    let text = fs::read_to_string(folder.path().join("o").join(MANIFEST)).unwrap();
    let entry: Value = serde_json::from_str(text.strip_suffix('\n').unwrap()).unwrap();
    let keys: Vec<_> = entry.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["input", "input_bytes", "input_from_here", "input_modified_ns", "outputs", "parameters"]);
    assert_eq!(entry["input_bytes"], 1600);
    assert!(entry["input"].as_str().unwrap().ends_with("/in/0.bin"));
    assert_eq!(
        (&entry["input_from_here"], &entry["outputs"][1]["file"]),
        (&json!("../in/0.bin"), &json!("../m/0.arrow"))
    );
    assert_eq!(entry["parameters"].as_str().unwrap().len(), 16);
    let size = |name: &str| fs::metadata(folder.path().join(name)).unwrap().len();
    assert_eq!(entry["outputs"][0], json!({"file": "0.npz", "bytes": size("o/0.npz")}));
    assert_eq!(entry["outputs"][1]["bytes"], size("m/0.arrow"));
    // Both folders are locked, and the second has no lines.
    assert_eq!(size(&format!("m/{MANIFEST}")), 0);
}

/// Starts a run that holds the folder `o`, waiting for a cloud on its standard input.
#[cfg(unix)]
fn holding(folder: &Path) -> std::process::Child {
    let mut waiting = command(folder, "voxelize in/0.bin - --format kitti --out o");
    let child = waiting.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !folder.join("o/0.npz").exists() {
        assert!(Instant::now() < deadline, "the first input is not done");
        sleep(Duration::from_millis(5));
    }
    child
}

#[cfg(unix)]
#[test]
fn two_runs_into_one_folder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    inputs(folder.path(), 2);
    let mut first = holding(folder.path());
    for template in COMMANDS {
        for more in ["", "--resume"] {
            let told = run(folder.path(), &format!("{} {more} --json", into(template, "o"))).expect(1);
            assert!(told.err.contains("another run is writing into this folder"), "{}", told.err);
            let error = told.data("error").remove(0);
            assert_eq!((&error["class"], &error["exit_code"]), (&json!("Io"), &json!(1)), "{template}");
            assert!(error["file"].as_str().unwrap().ends_with("/o"), "{error}");
        }
    }
    assert_eq!(names(&folder.path().join("o")), ["0.npz"]);
    first.kill().unwrap();
    first.wait().unwrap();
    // The lock ends with its holder, however that ended.
    run(folder.path(), "voxelize in --out o --resume").expect(0);
}

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Runs `args` again and again, each time ended by a random signal after a random time, until one
/// comes to its end; the number of kills.
#[cfg(unix)]
fn killed_until_done(folder: &Path, args: &str, longest: Duration, random: &mut Random) -> usize {
    for kills in 0.. {
        let mut child = command(folder, args).spawn().unwrap();
        // In the end it is let through.
        let limit = longest.as_micros() as u64 * (kills as u64 + 10) / 20;
        let deadline = Instant::now() + Duration::from_micros(random.below(limit));
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if Instant::now() >= deadline {
                break None;
            }
            sleep(Duration::from_micros(200));
        };
        if ended.is_some() {
            finished(child.wait_with_output().unwrap()).expect(0);
            return kills;
        }
        let (signal, code) =
            [("KILL", None), ("KILL", None), ("INT", Some(130)), ("TERM", Some(143))][random.below(4) as usize];
        let sent = Instant::now();
        std::process::Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        let told = child.wait_with_output().unwrap();
        assert!(sent.elapsed() < Duration::from_secs(2), "{signal}: {:?}", sent.elapsed());
        // It may have come to its end, or not yet have taken over the signals.
        let early = told.status.code().is_none() && sent.elapsed() < Duration::from_millis(500);
        assert!(told.status.code() == code || told.status.success() || early, "{signal}: {:?}", told.status);
    }
    unreachable!("the loop has no end of its own")
}

/// Kills at random places leave whole files only, and what is resumed after any number of them is
/// what an undisturbed run makes.
///
/// `POINTMILL_TEST_KILLS` asks for more kills than a short test has.
#[cfg(unix)]
#[test]
fn runs_that_are_killed_and_resumed_make_the_same_files() {
    let wanted: usize = std::env::var("POINTMILL_TEST_KILLS").ok().map_or(8, |n| n.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    inputs(folder.path(), 40);
    let mut random = Random(0x706f_696e_746d_696c);
    let mut all = 0;
    for (i, template) in COMMANDS.into_iter().enumerate() {
        let start = Instant::now();
        run(folder.path(), &into(template, "whole")).expect(0);
        let longest = start.elapsed();
        let whole = contents(&folder.path().join("whole"));
        assert_eq!(whole.len(), 40);
        let mut kills = 0;
        while kills < wanted {
            let args = format!("{} --resume --jobs {}", into(template, "o"), 1 + random.below(4));
            kills += killed_until_done(folder.path(), &args, longest, &mut random);
            let got = contents(&folder.path().join("o"));
            assert!(got.keys().eq(whole.keys()), "{template}: {:?}", got.keys());
            assert!(got == whole, "{template}");
            fs::remove_dir_all(folder.path().join("o")).unwrap();
        }
        all += kills;
        println!("{}: {kills} kills", COMMANDS[i]);
        fs::remove_dir_all(folder.path().join("whole")).unwrap();
    }
    println!("{all} kills");
}

#[cfg(unix)]
#[test]
fn what_a_killed_run_left_unfinished_is_removed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    inputs(folder.path(), 2);
    fs::create_dir(folder.path().join("o")).unwrap();
    fs::write(folder.path().join("o/.pointmill-AbCdEf.tmp"), "half a file").unwrap();
    let told = run(folder.path(), "voxelize in --out o --resume").expect(0);
    assert!(told.err.contains("removed 1 unfinished file(s)"), "{}", told.err);
    assert_eq!(names(&folder.path().join("o")), ["0.npz", "1.npz"]);
}

/// Every operator runs the CPU beside its device, and is equal.
#[test]
fn every_operator_compares_with_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    inputs(at, 2);
    fs::write(at.join("pose.txt"), "0 0 0 0 0 0").unwrap();
    run(at, "ndt build in --min-points 3 --out map.npz --moments map.arrow").expect(0);
    for args in [
        "voxelize in",
        "ndt build in --out tiles/",
        "ndt score --map map.npz --scan in --pose pose.txt",
        "ndt align --map map.npz --scan in",
        "icp in t.npy --metric point-to-point",
        "roi-pool --inside crop --points in --boxes b.npy",
    ] {
        let told = run(at, &format!("{args} --compare-cpu --verbose --json"));
        assert!([0, 6].contains(&told.code), "{args}: {}", told.err);
        let frames = told.data("frame");
        assert_eq!(frames.len(), 2, "{args}: {}", told.err);
        assert!(frames.iter().all(|frame| frame["cpu"]["equal"] == true), "{args}: {}", told.out);
        assert_eq!(told.data("summary")[0]["cpu"]["equal"], true, "{args}");
        assert!(!told.err.contains("differ"), "{args}: {}", told.err);
    }
    // Where all inputs become one grid, only the grid can be compared.
    for args in ["ndt build in --min-points 3", "ndt merge map.arrow --min-points 3"] {
        let told = run(at, &format!("{args} --compare-cpu --json")).expect(0);
        assert!(told.data("frame").iter().all(|frame| frame["cpu"]["equal"].is_null()), "{args}");
        assert_eq!(told.data("summary")[0]["finish_cpu"]["equal"], true, "{args}");
    }
}

/// Whatever is wrong with one input, the others are done, and the run does not say that nothing
/// was.
#[test]
fn one_bad_input_of_three_ends_no_batch() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let point = |i: usize, value: f32| {
        if i == 1 { [value; 4] } else { [(i % 20) as f32, (i / 20) as f32, 0.1 * (i % 7) as f32, 0.5] }
    };
    let rows = |value: f32, points: usize| -> Vec<u8> {
        (0..points).flat_map(|i| point(i, value)).flat_map(f32::to_le_bytes).collect()
    };
    let kinds = [
        ("far", rows(3e9, 400)),
        ("farther", rows(1e38, 400)),
        ("infinite", rows(f32::INFINITY, 400)),
        ("nothing finite", vec![0xff; 1600]),
        ("empty", vec![]),
        ("two points", rows(1e9, 2)),
        ("cut", rows(1.0, 10)[..150].to_vec()),
    ];
    let commands = [
        "voxelize in --range auto --out NEW",
        "voxelize in --out NEW",
        "ndt build in --out NEW --min-points 3",
        "ndt build in --poses poses.txt --blocks 64 --out NEW",
        "convert in --to ply --out NEW",
        "roi-pool --inside crop --points in --boxes b.npy --out NEW",
        "icp in t.bin --metric point-to-point --out NEW",
        "odometry in",
        "info in",
    ];
    write_boxes(at);
    fs::write(at.join("poses.txt"), "1 0 0 0 0 1 0 0 0 0 1 0\n".repeat(3)).unwrap();
    fs::write(at.join("t.bin"), rows(1.0, 400)).unwrap();
    fs::create_dir(at.join("in")).unwrap();
    [0, 2].iter().for_each(|i| fs::write(at.join(format!("in/{i}.bin")), rows(1.0, 400)).unwrap());
    for (kind, bytes) in kinds {
        fs::write(at.join("in/1.bin"), bytes).unwrap();
        for command in commands {
            fs::remove_dir_all(at.join("NEW")).ok();
            let told = run(at, &format!("{command} --json"));
            assert!([0, 3, 6].contains(&told.code), "{command}, {kind}: {} {}", told.code, told.err);
            let [inputs, done, _, failed] = counts(&told);
            assert_eq!((inputs, done + failed), (3, 3), "{command}, {kind}");
            let [done, _] = indices(&told);
            assert!(done.contains(&0) && done.contains(&2), "{command}, {kind}: {done:?}");
            assert!(failed == 0 || told.err.contains("in/1.bin: "), "{command}, {kind}: {}", told.err);
            if (kind, command) == ("far", commands[0]) {
                let wanted = [
                    "in/1.bin: voxel_size: expected ",
                    " m or more for a grid",
                    "; --bounds leaves out points far away",
                ];
                assert!(wanted.iter().all(|wanted| told.err.contains(wanted)), "{}", told.err);
                assert_eq!(told.data("error")[0]["class"], "BadValue");
            }
        }
    }
}
