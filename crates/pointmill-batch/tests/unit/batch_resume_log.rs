//! Tests of `src/batch/resume_log.rs`.

use super::*;
use std::fs;
use std::time::{Duration, SystemTime};

#[test]
fn fingerprints_are_those_of_the_published_function() {
    assert_eq!(fingerprint(""), "cbf29ce484222325");
    assert_eq!(fingerprint("foobar"), "85944171f73967e8");
}

#[test]
fn only_what_is_unchanged_and_whole_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let [input, output] = ["a.bin", "a.npz"].map(|name| folder.path().join(name));
    fs::write(&input, "in").unwrap();
    fs::write(&output, "out").unwrap();
    let source = Source::File(input.clone());
    let open = |parameters: &str, resume| {
        ResumeLog::open(&[folder.path()], parameters, vec![vec![output.clone()]], resume).unwrap()
    };
    let keeps = |parameters: &str, resume| {
        let resume_log = open(parameters, resume);
        resume_log.stamp(0, &source).is_some_and(|stamp| resume_log.keeps(&stamp))
    };
    let note = || {
        let resume_log = open("p", false);
        resume_log.note(0, resume_log.stamp(0, &source).unwrap()).unwrap();
    };
    note();
    assert!(keeps("p", true));
    assert!(!keeps("q", true), "other parameters");
    fs::write(&output, "longer").unwrap();
    assert!(!keeps("p", true), "an output of another size");
    fs::remove_file(&output).unwrap();
    assert!(!keeps("p", true), "no output");
    fs::write(&output, "out").unwrap();
    assert!(keeps("p", true));
    let later = SystemTime::now() + Duration::from_secs(1);
    fs::File::options().write(true).open(&input).unwrap().set_modified(later).unwrap();
    assert!(!keeps("p", true), "an input that was written again");
    note();
    assert!(keeps("p", true));
    fs::write(&input, "other").unwrap();
    fs::File::options().write(true).open(&input).unwrap().set_modified(later).unwrap();
    assert!(!keeps("p", true), "an input of another size");
    note();
    assert!(!keeps("p", false), "a new run");
}

#[test]
fn paths_start_at_the_folder_of_the_manifest() {
    let within = |folder: &str, file: &str| path_from(folder.as_ref(), file.as_ref()).unwrap();
    assert_eq!(within("/data/out", "/data/out/a.npz"), "a.npz");
    assert_eq!(within("/data/out", "/data/in/0/a.bin"), "../in/0/a.bin");
    assert_eq!(within("/mnt/disk/out/x", "/mnt/disk/a.bin"), "../../a.bin");
    if cfg!(windows) {
        assert_eq!(within(r"C:\data\out", r"C:\data\in\a.bin"), "../in/a.bin");
        assert_eq!(within(r"C:\data\out", r"D:\in\a.bin"), "D:/in/a.bin");
    }
}
