//! Boxes of detections: the layouts of their files, and what is wrong named with its place.

use pointmill_io::detections::{
    ATTRIBUTES, Detections, check_same_kitti_files, read_argoverse, read_kitti, read_nuscenes,
};
use pointmill_io::{IoError, Limits};
use std::f64::consts::FRAC_PI_2;
use std::fs;
use std::path::{Path, PathBuf};

type Reader = fn(&Path, &Limits) -> Result<Detections, IoError>;

/// Reads a text; the class of an error and its message without the file's name.
fn read(reader: Reader, name: &str, text: &str) -> Result<Detections, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    reader(&path, &Limits::default())
        .map_err(|e| format!("{} {e}", e.class()).replacen(&format!("{}: ", path.display()), "", 1))
}

fn kitti(text: &str) -> Result<Detections, String> {
    read(|path, limits| read_kitti(path, limits), "000007.txt", text)
}

fn nuscenes(text: &str) -> Result<Detections, String> {
    read(|path, limits| read_nuscenes(path, limits), "truth.json", text)
}

const LABEL: &str = "Car 0.25 1 -1.7 600 170 680 230 1.6 1.7 3.2 0.8 1.7 20 0.5";

#[test]
fn layouts_of_kitti_are_told_apart() {
    let row = [20.0, -0.8, 0.8 - 1.7, 3.2, 1.7, 1.6, -0.5 - FRAC_PI_2];
    let object = kitti(&format!("{LABEL}\r\n\n")).unwrap();
    assert_eq!((object.frames, object.boxes, object.scores), (vec!["000000".to_owned()], vec![row], vec![1.0]));
    let image = object.image[0];
    assert_eq!((image.corners, image.truncation, image.occlusion), ([600.0, 170.0, 680.0, 230.0], 0.25, 1.0));
    assert_eq!(kitti(&format!("{LABEL} -0.5")).unwrap().scores, [-0.5]);
    let tracking = kitti(&format!("12 3 {LABEL}\n2 -1 {LABEL}\n12 4 {LABEL}\n")).unwrap();
    assert_eq!(tracking.frames, ["000002", "000012"]);
    assert_eq!((tracking.splits, tracking.boxes), (vec![0, 1, 3], vec![row; 3]));
    let found = kitti("5,2,600,170,680,230,9.5,1.6,1.7,3.2,0.8,1.7,20,0.5,-1.7\n").unwrap();
    assert_eq!((found.boxes, found.scores), (vec![row], vec![9.5]));
    assert_eq!(found.classes[found.class[0] as usize], "Car");
    // An empty file is a frame without boxes.
    assert_eq!(kitti("").unwrap().splits, [0, 0]);
    let nowhere = kitti("DontCare -1 -1 -10 1 2 3 4 -1 -1 -1 -1000 -1000 -1000 -10").unwrap();
    assert_eq!(nowhere.boxes, [[0.0; 7]]);
}

#[test]
fn files_of_one_name_in_folders_are_one_sequence() {
    let folder = tempfile::tempdir().unwrap();
    for (class, number) in [("Car", 2), ("Pedestrian", 1)] {
        fs::create_dir(folder.path().join(class)).unwrap();
        let line = format!("5,{number},600,170,680,230,9.5,1.6,1.7,3.2,0.8,1.7,20,0.5,-1.7\n");
        fs::write(folder.path().join(class).join("0006.txt"), line).unwrap();
    }
    let found = read_kitti(folder.path(), &Limits::default()).unwrap();
    assert_eq!((found.frames, found.splits), (vec!["0006/000005".to_owned()], vec![0, 2]));
    let cars = folder.path().join("Car");
    let told = check_same_kitti_files(&cars.join("0006.txt"), folder.path()).unwrap_err().to_string();
    assert!(told.ends_with("predictions: expected a folder, as the truth is, got a file"), "{told}");
    assert!(check_same_kitti_files(&cars, &folder.path().join("Pedestrian")).is_ok());
    fs::write(cars.join("0007.txt"), "").unwrap();
    let told = check_same_kitti_files(folder.path(), &folder.path().join("Pedestrian")).unwrap_err().to_string();
    assert!(told.contains("Pedestrian: files: expected a file 0007.txt, as the other side has"), "{told}");
    fs::remove_file(folder.path().join("Pedestrian/0006.txt")).unwrap();
    let told = read_kitti(folder.path().join("Pedestrian"), &Limits::default()).unwrap_err().to_string();
    assert!(told.ends_with("files: expected files named *.txt, or folders of them, got none"), "{told}");
}

#[test]
fn what_is_wrong_in_kitti_is_named_with_its_line() {
    let with = |at: usize, word: &str| {
        let mut words: Vec<&str> = LABEL.split(' ').collect();
        words[at] = word;
        kitti(&format!("{LABEL}\n{}\n", words.join(" "))).unwrap_err()
    };
    for (told, wanted) in [
        (with(4, "x"), "BadValue line 2: image box: expected a number, got `x`"),
        (with(0, "Car Car"), "BadValue line 2: expected 15 words, as in the first line, got 16 words"),
        (kitti("Car 1 2").unwrap_err(), "BadValue line 1: expected 15 to 18 words, or 15 with commas, got 3 words"),
        (
            kitti(&format!("x 1 {LABEL}")).unwrap_err(),
            "BadValue line 1: frame: expected a whole number below 1e9, got `x`",
        ),
    ] {
        assert!(told.starts_with(wanted), "{told}");
    }
}

fn json_box(change: &str) -> String {
    let mut text = r#""sample_token": "b", "translation": [1, 2, 3], "size": [2, 4, 1.5], "rotation": [1, 0, 0, 1],
        "velocity": [0.5, NaN], "ego_translation": [7, 8, 9], "num_pts": 4, "detection_name": "car",
        "detection_score": -1.0, "attribute_name": "vehicle.parked", "more": {"x": "NaN \" NaN"}"#
        .to_owned();
    if let Some((name, value)) = change.split_once('=') {
        let start = text.find(&format!("\"{name}\"")).unwrap();
        let rest = &text[start..];
        let end = start + [", \"", ",\n"].iter().filter_map(|end| rest.find(end)).min().unwrap();
        text.replace_range(start..end, &format!("\"{name}\": {value}"));
    }
    format!("{{{text}}}")
}

#[test]
fn both_forms_of_nuscenes_are_read() {
    let outer = format!(r#"{{"b": [{}], "a": []}}"#, json_box(""));
    let found = nuscenes(&outer).unwrap();
    assert_eq!((&found.frames[..], &found.splits[..]), (&["a".to_owned(), "b".to_owned()][..], &[0, 0, 1][..]));
    assert_eq!(found.boxes, [[1.0, 2.0, 3.0, 4.0, 2.0, 1.5, FRAC_PI_2]]);
    let state = found.states[0];
    assert_eq!(
        (state.attribute.map(|i| ATTRIBUTES[i as usize]), state.from_ego),
        (Some("vehicle.parked"), Some([7.0, 8.0]))
    );
    assert!(state.velocity[0] == 0.5 && state.velocity[1].is_nan());
    assert_eq!((&found.num_points[..], &found.scores[..]), (&[4][..], &[-1.0][..]));
    let inner = nuscenes(&format!(r#"{{"meta": {{"use_lidar": true}}, "results": {outer}}}"#)).unwrap();
    assert_eq!(format!("{inner:?}"), format!("{found:?}"));
}

#[test]
fn what_is_wrong_in_nuscenes_is_named_with_its_box() {
    let with = |change: &str| nuscenes(&format!(r#"{{"b": [{}, {}]}}"#, json_box(""), json_box(change))).unwrap_err();
    for (told, wanted) in [
        (with("sample_token=\"c\""), "BadValue sample `b`, box 1: sample_token: expected `b`, got `c`"),
        (with("translation=[1, 2]"), "BadValue line "),
        (with("detection_score=NaN"), "BadValue line "),
        (
            nuscenes("{\"b\": [").unwrap_err(),
            "BadValue line 1, column 7: expected JSON with the boxes of samples, got EOF",
        ),
        (nuscenes("{} x").unwrap_err(), "BadValue line 1, column 4: expected JSON"),
        (
            nuscenes(r#"{"results": {}, "results": {}}"#).unwrap_err(),
            "BadValue line 1, column 25: expected JSON with the boxes of samples, got `results` twice",
        ),
        (nuscenes(r#"{"b": [], "b": []}"#).unwrap_err(), "BadValue samples: expected each once, got 1 of them twice"),
    ] {
        assert!(told.starts_with(wanted), "{told}");
    }
}

fn table(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/detections/av2").join(name)
}

/// pandas wrote the table with LZ4 and large texts; the sums are those of pandas.
#[test]
fn tables_of_argoverse_are_read() {
    let truth = read_argoverse(table("truth.feather"), &Limits::default()).unwrap();
    assert_eq!((truth.num_points.len(), truth.splits.last().copied()), (truth.len(), Some(truth.len())));
    assert!(truth.frames.iter().all(|name| name.starts_with("log-0/0315966253")), "{:?}", truth.frames);
    assert_eq!(truth.frames.len(), 4);
    let found = read_argoverse(table("pred.feather"), &Limits::default()).unwrap();
    assert!(found.num_points.is_empty() && found.scores.iter().all(|score| (0.0..1.0).contains(score)));
}

/// Tables of pyarrow that have the same truth in other types, and a column that nobody needs.
fn other_types() -> [PathBuf; 5] {
    let folder = table("..").join("../feather/boxes");
    ["dictionary", "large", "views", "grown", "replaced"].map(|name| folder.join(format!("{name}.feather")))
}

#[test]
fn categories_may_be_those_of_dictionaries_or_views() {
    let of = |path: &Path| Detections { unscored: None, ..read_argoverse(path, &Limits::default()).unwrap() };
    let truth = of(&table("truth.feather"));
    for path in other_types() {
        assert_eq!(of(&path), truth, "{}", path.display());
    }
    // A number behind the last category: those of the first rows are 0, 1, 2.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("annotations.feather");
    let mut bytes = fs::read(&other_types()[4]).unwrap();
    let numbers: Vec<u8> = (0..3_u32).flat_map(u32::to_le_bytes).collect();
    let at = memchr::memmem::find(&bytes, &numbers).unwrap();
    for (number, told) in [(99_u32, "99"), (u32::MAX, "-1")] {
        bytes[at + 4..at + 8].copy_from_slice(&number.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        let e = read_argoverse(&path, &Limits::default()).unwrap_err();
        let e = (e.class(), e.to_string());
        assert!(e.0 == "BadValue" && e.1.contains("column `category`: row 1: expected a number of its "), "{e:?}");
        assert!(e.1.ends_with(&format!(" categories, got {told}")), "{e:?}");
    }
}

#[test]
fn what_is_wrong_in_a_table_is_named() {
    let fixtures = table("..").join("../feather");
    let told = read_argoverse(fixtures.join("log/city_SE3_egovehicle.feather"), &Limits::default()).unwrap_err();
    assert!(
        told.to_string().contains("column `length_m`: expected this column, got the columns timestamp_ns, "),
        "{told}"
    );
    let limits = Limits { max_memory: Some(4 << 10), ..Limits::default() };
    assert_eq!(read_argoverse(table("truth.feather"), &limits).unwrap_err().class(), "LimitExceeded");
    let folder = tempfile::tempdir().unwrap();
    let told = read_argoverse(folder.path(), &Limits::default()).unwrap_err().to_string();
    assert!(told.contains("expected files named *.feather, or folders with annotations.feather, got none"), "{told}");
}

/// Wherever a table is cut or a byte of it is another one, it is refused or read, and that is all.
#[test]
fn damaged_tables_end_in_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("annotations.feather");
    for from in other_types().into_iter().chain([table("truth.feather")]) {
        let good = fs::read(&from).unwrap();
        let is_file = good.starts_with(b"ARROW1");
        for at in (0..good.len()).step_by(37) {
            fs::write(&path, &good[..at]).unwrap();
            // A stream may end behind any of its messages.
            assert!(read_argoverse(&path, &Limits::default()).is_err() || !is_file, "{} {at}", from.display());
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            fs::write(&path, &bad).unwrap();
            let limits = Limits { max_memory: Some(64 << 20), ..Limits::default() };
            if let Ok(read) = read_argoverse(&path, &limits) {
                read.validate("damaged").unwrap();
            }
        }
    }
}

/// One box that cannot be used never refuses the others, and is never left out without a word.
#[test]
fn boxes_that_cannot_be_used_are_left_out_and_counted() {
    let words: Vec<&str> = LABEL.split(' ').collect();
    for (at, word, told) in [
        (11, "nan", "1 box is left out: box: expected a finite number (first 000007 line 2: NaN)"),
        (13, "1e30", "1 box is left out: box: x: expected -1e7 to 1e7 (first 000007 line 2: 1e30)"),
        (10, "-2", "1 box is left out: box: dx: expected 0e0 to 1e7 (first 000007 line 2: -2e0)"),
        (14, "1e9", "1 box is left out: box: yaw: expected "),
        (6, "599", "1 box is left out: image box: expected left <= right and top <= bottom (first 000007 line 2: "),
        (1, "inf", "1 box is left out: truncation: expected a finite number"),
    ] {
        let mut words = words.clone();
        words[at] = word;
        let found = kitti(&format!("{LABEL}\n{}\n{LABEL}\n", words.join(" "))).unwrap();
        assert_eq!(found.len(), 2, "{word}");
        assert!(found.warnings.len() == 1 && found.warnings[0].starts_with(told), "{:?}", found.warnings);
    }
    for (name, wanted) in [("cAR", "Car"), ("person", "Person_sitting"), ("DONTCARE", "DontCare"), ("CAR2", "CAR2")] {
        let found = kitti(&LABEL.replace("Car", name)).unwrap();
        assert_eq!(found.classes[found.class[0] as usize], wanted);
    }
    let found = kitti(&format!("{LABEL}\n{}\n", LABEL.replace("Car", "bicycle"))).unwrap();
    assert_eq!((found.len(), &*found.classes[found.class[1] as usize], found.warnings.len()), (2, "bicycle", 0));
    let found = kitti("5,4,600,170,680,230,9.5,1.6,1.7,3.2,0.8,1.7,20,0.5,0\n").unwrap();
    assert!(found.is_empty() && found.warnings[0].starts_with("1 box is left out: type: expected 1 (Pedestrian)"));
    for (change, told) in [
        ("translation=[1, 2, 1e9]", "1 box is left out: box: z: expected -1e7 to 1e7 (first sample `b`, box 1: 1e9)"),
        (
            "size=[1, 0, 1]",
            "1 box is left out: size: expected positive extents (first sample `b`, box 1: [1.0, 0.0, 1.0])",
        ),
        ("size=[1, -1, 1]", "1 box is left out: box: dx: expected 0e0 to 1e7 (first sample `b`, box 1: -1e0)"),
        ("rotation=[0, 0, 0, 0]", "1 box is left out: rotation: expected a quaternion w x y z"),
        ("attribute_name=\"red\"", "1 box is taken without this value: attribute_name: expected pedestrian.moving, "),
        ("velocity=[1e308, 0]", "1 box is taken without this value: velocity: expected at most 1e6 m/s"),
    ] {
        let found = nuscenes(&format!(r#"{{"b": [{}, {}]}}"#, json_box(""), json_box(change))).unwrap();
        let is_kept = told.contains("without this value");
        assert_eq!((found.len(), found.states.len()), if is_kept { (2, 2) } else { (1, 1) });
        assert!(found.warnings.len() == 1 && found.warnings[0].starts_with(told), "{:?}", found.warnings);
    }
    let tree = nuscenes(&format!(r#"{{"b": [{}]}}"#, json_box("detection_name=\"tree\""))).unwrap();
    assert_eq!(tree.classes[tree.class[0] as usize], "tree");
}

/// As shells and editors of other systems save them.
#[test]
fn texts_are_read_however_they_were_saved() {
    let two = format!("{LABEL}\n{LABEL}\n");
    let json = format!(r#"{{"b": [{}]}}"#, json_box(""));
    for (name, reader, text) in [
        ("1.txt", (|path, limits| read_kitti(path, limits)) as Reader, two),
        ("1.json", |path, limits| read_nuscenes(path, limits), json),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, &text).unwrap();
        let plain = reader(&path, &Limits::default()).unwrap();
        let units = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        for saved in [format!("\u{feff}{text}").into_bytes(), text.replace('\n', "\r").into_bytes(), units] {
            fs::write(&path, saved).unwrap();
            assert_eq!(format!("{:?}", reader(&path, &Limits::default()).unwrap()), format!("{plain:?}"));
        }
    }
}

/// In a folder nothing is opened but a regular file.
#[cfg(unix)]
#[test]
fn fifos_and_links_in_folders_are_refused_and_not_opened() {
    let readers: [(&str, Reader); 2] =
        [("txt", |path, limits| read_kitti(path, limits)), ("feather", |path, limits| read_argoverse(path, limits))];
    for (ending, reader) in readers {
        for what in ["fifo", "link", "folder"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(format!("000001.{ending}"));
            match what {
                "fifo" => assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success()),
                "link" => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
                _ => std::os::unix::fs::symlink("/tmp", &path).unwrap(),
            }
            let told = reader(folder.path(), &Limits::default()).unwrap_err().to_string();
            let wanted = match what {
                "fifo" => "got a FIFO",
                "link" => "got a symbolic link; ",
                _ => "got a symbolic link to one; ",
            };
            assert!(told.contains(wanted), "{told}");
        }
        use std::os::unix::ffi::OsStrExt as _;
        let folder = tempfile::tempdir().unwrap();
        let name = [b"\xff.", ending.as_bytes()].concat();
        fs::write(folder.path().join(std::ffi::OsStr::from_bytes(&name)), "").unwrap();
        let told = reader(folder.path(), &Limits::default()).unwrap_err().to_string();
        assert!(told.contains("files: expected names in UTF-8, got `"), "{told}");
    }
}

/// Rows and names count, not only bytes of files.
#[test]
fn rows_count_as_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("000000.txt");
    fs::write(&path, format!("{LABEL}\n").repeat(2000)).unwrap();
    let limits = |bytes| Limits { max_memory: Some(bytes), ..Limits::default() };
    let told = read_kitti(&path, &limits(200_000)).unwrap_err();
    assert_eq!(told.class(), "LimitExceeded");
    assert_eq!(read_kitti(&path, &limits(1 << 20)).unwrap().len(), 2000);
}
