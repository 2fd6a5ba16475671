//! Tests of `src/batch/manifest.rs`.

use super::*;
use std::fs;

fn entry(input: &str) -> Entry {
    let outputs = vec![Output { file: format!("{input}.npz"), bytes: 7 }];
    let input_from_here = format!("../{input}");
    Entry {
        input: input.into(),
        input_from_here,
        input_bytes: 3,
        input_modified_ns: 5,
        parameters: "0".repeat(16),
        outputs,
    }
}

#[test]
fn a_torn_last_line_is_dropped_wherever_it_is_torn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(MANIFEST);
    let manifest = Manifest::open(folder.path(), true).unwrap();
    ["a", "b"].iter().for_each(|input| manifest.append(&entry(input)).unwrap());
    drop(manifest);
    let whole = fs::read(&path).unwrap();
    let first = whole.iter().position(|&b| b == b'\n').unwrap() + 1;
    for end in first..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        let manifest = Manifest::open(folder.path(), true).unwrap();
        assert_eq!((manifest.has(&entry("a")), manifest.has(&entry("b"))), (true, false), "{end}");
        manifest.append(&entry("b")).unwrap();
        drop(manifest);
        assert_eq!(fs::read(&path).unwrap(), whole, "{end}");
    }
    // What a lost page leaves.
    fs::write(&path, [&whole[..first], &[0; 40]].concat()).unwrap();
    assert!(Manifest::open(folder.path(), true).unwrap().has(&entry("a")));
    assert_eq!(fs::read(&path).unwrap(), &whole[..first]);
}

#[cfg(unix)]
#[test]
fn what_is_no_manifest_of_ours_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [path, victim] = [MANIFEST, "victim"].map(|name| folder.path().join(name));
    let refused = |found: &str| {
        for keep in [false, true] {
            let e = Manifest::open(folder.path(), keep).unwrap_err();
            assert!(e.exit_code() == 1 && e.to_string().contains(found), "{e}");
        }
        assert!(!victim.exists() || fs::read(&victim).unwrap() == b"mine");
        fs::remove_file(&path).unwrap();
    };
    std::os::unix::fs::symlink(&victim, &path).unwrap();
    refused("got a symbolic link");
    fs::write(&victim, "mine").unwrap();
    std::os::unix::fs::symlink(&victim, &path).unwrap();
    refused("got a symbolic link");
    fs::hard_link(&victim, &path).unwrap();
    refused("got one with 2 names");
    // Opening a pipe without a writer would wait for one.
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    refused("got a FIFO; move it away");
    Manifest::open(folder.path(), true).unwrap();
}

#[test]
fn a_line_without_an_end_is_not_read_into_memory() {
    let folder = tempfile::tempdir().unwrap();
    File::create(folder.path().join(MANIFEST)).unwrap().set_len(1 << 40).unwrap();
    let e = Manifest::open(folder.path(), true).unwrap_err();
    assert!(e.exit_code() == 1 && e.to_string().contains("expected lines shorter than 1048576 bytes"), "{e}");
}

#[test]
fn a_folder_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let first = Manifest::open(folder.path(), false).unwrap();
    let told = Manifest::open(folder.path(), true).unwrap_err();
    assert!(told.to_string().ends_with("wait for it or use another folder") && told.exit_code() == 1, "{told}");
    drop(first);
    Manifest::open(folder.path(), true).unwrap();
}

#[test]
fn the_last_line_of_an_input_counts_and_a_new_run_forgets() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = Manifest::open(folder.path(), true).unwrap();
    let later = Entry { input_bytes: 4, ..entry("a") };
    [&entry("a"), &later].iter().for_each(|entry| manifest.append(entry).unwrap());
    drop(manifest);
    let manifest = Manifest::open(folder.path(), true).unwrap();
    assert!(manifest.has(&later) && !manifest.has(&entry("a")));
    for elsewhere in ["/mnt/a", "D:/a"] {
        assert!(manifest.has(&Entry { input: elsewhere.into(), ..later.clone() }));
        assert!(!manifest.has(&Entry { input: elsewhere.into(), input_from_here: elsewhere.into(), ..later.clone() }));
    }
    drop(manifest);
    assert!(!Manifest::open(folder.path(), false).unwrap().has(&later));
    assert_eq!(fs::read(folder.path().join(MANIFEST)).unwrap(), b"");
}
