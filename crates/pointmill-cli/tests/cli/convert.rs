//! `convert`, and the formats with names in the other commands.

use crate::{cloud, command, finished, run, write_cloud};
use pointmill_io::{Field, NamedPoints, ReadOptions, Scan, read, read_npy, write_pcd, write_ply};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

fn scan(path: &Path) -> Scan {
    let columns = path.extension().is_some_and(|e| e == "bin").then_some(6);
    read(path, &ReadOptions { columns, ..ReadOptions::default() }).unwrap()
}

/// Two points on a map, with colours of a byte and a time.
fn write_map(path: &Path) -> [f64; 6] {
    let xyz = [691_764.1, 5_335_880.1, 520.1, 691_765.2, 5_335_881.2, 521.2];
    let rows: Vec<f32> =
        xyz.chunks(3).flat_map(|p| [p[0] as f32, p[1] as f32, p[2] as f32, 255.0, 7.0, 0.25]).collect();
    let points = pointmill::Points::new(&rows, 6).unwrap();
    let mut cloud = NamedPoints::new(points, &["x", "y", "z", "red", "ring", "t"]);
    let field = |name: &str, dtype| Field { name: name.into(), dtype };
    cloud.fields.to_mut()[3] = field("red", pointmill_io::Dtype::U8);
    cloud.fields.to_mut()[4] = field("ring", pointmill_io::Dtype::U16);
    cloud.xyz_f64 = Some(&xyz);
    write_ply(path, &cloud).unwrap();
    xyz
}

#[test]
fn every_format_holds_the_points() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let xyz = write_map(&at("a.ply"));
    let wanted = scan(&at("a.ply")).cloud;
    let moved = "warning: a.ply: coordinates moved by up to 0.200 m when they were cast to f32\n";
    for (out, keeps, types) in [
        ("b.npy", false, "f32 f32 f32 f32 f32 f32"),
        ("b.npz", true, "f32 f32 f32 f32 f32 f32"),
        ("b.ply", true, "f64 f64 f64 u8 u16 f32"),
        ("b.PCD", true, "f64 f64 f64 u8 u16 f32"),
        ("b.bin", false, "f32 f32 f32 f32 f32 f32"),
    ] {
        let told = run(
            folder.path(),
            &format!(
                "convert a.ply --out {out} --local-origin none --json{}",
                if out == "b.bin" { " --all-columns" } else { "" }
            ),
        )
        .expect(0);
        assert_eq!(told.err.contains(moved), !keeps, "{out}: {}", told.err);
        let summary = &told.data("frame")[0];
        assert_eq!((&summary["points"], &summary["out"], &summary["format"]), (&2.into(), &out.into(), &"ply".into()));
        assert_eq!(summary["columns"], serde_json::json!(["x", "y", "z", "red", "ring", "t"]));
        let back = scan(&at(out));
        assert_eq!(back.cloud, wanted, "{out}");
        assert_eq!(back.xyz_f64.as_deref(), keeps.then_some(&xyz[..]), "{out}");
        let found: Vec<_> = back.fields.iter().map(|f| f.dtype.as_str()).collect();
        assert_eq!(found.join(" "), types, "{out}");
    }
    let array = read_npy(at("b.npy")).unwrap();
    assert_eq!((array.shape(), array.as_f32().unwrap()), (&[2, 6][..], wanted.data()));
    let told = run(folder.path(), "convert b.npz --out c.pcd.bin --local-origin none").expect(0);
    assert_eq!(
        told.out,
        "c.pcd.bin  2 points: x, y, z, column3, column4, column5\nread with --format bin --columns 6\n"
    );
    assert_eq!(fs::read(at("c.pcd.bin")).unwrap(), fs::read(at("b.bin")).unwrap());
}

#[test]
fn errors_of_one_input_have_their_classes() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cut.npy"), "").unwrap();
    let told = run(folder.path(), "convert cut.npy --out b.ply --json").expect(3);
    assert_eq!(
        (&told.data("error")[0]["class"], &told.data("error")[1]["class"]),
        (&"Truncated".into(), &"PartialFailure".into())
    );
    let told = run(folder.path(), "convert missing.bin --out b.ply --json").expect(2);
    assert_eq!((told.data("error").len(), &told.data("error")[0]["class"]), (1, &"InvalidArgument".into()));
}

#[test]
fn the_standard_input_is_converted() {
    let folder = tempfile::tempdir().unwrap();
    write_map(&folder.path().join("a.ply"));
    let mut child = command(folder.path(), "convert - --format ply --out b.pcd").stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(folder.path().join("a.ply")).unwrap()).unwrap();
    let told = finished(child.wait_with_output().unwrap()).expect(0);
    assert!(told.out.starts_with("b.pcd  2 points"), "{}", told.out);
    assert_eq!(scan(&folder.path().join("b.pcd")).xyz_f64, scan(&folder.path().join("a.ply")).xyz_f64);
}

#[test]
fn info_tells_names_types_and_exact_bounds() {
    let folder = tempfile::tempdir().unwrap();
    write_map(&folder.path().join("a.ply"));
    let told = run(folder.path(), "info a.ply --local-origin none --json").expect(0);
    let data = &told.data("frame")[0];
    assert_eq!((&data["format"], &data["points"], &data["nonfinite"]), (&"ply".into(), &2.into(), &0.into()));
    assert_eq!(data["columns"][0], serde_json::json!({"name": "x", "type": "f64"}));
    assert_eq!(data["columns"][3], serde_json::json!({"name": "red", "type": "u8"}));
    assert_eq!(data["bounds"]["min"], serde_json::json!([691_764.1, 5_335_880.1, 520.1]));
    assert!(told.err.contains("coordinates moved by up to 0.200 m"), "{}", told.err);
    let told = run(folder.path(), "info a.ply --local-origin none").expect(0);
    assert!(told.out.contains("x          691764.1 .. 691765.2 m\n"), "{}", told.out);
}

#[test]
fn operators_take_the_formats_with_names() {
    let folder = tempfile::tempdir().unwrap();
    let cloud = cloud(50);
    let named = NamedPoints::new(cloud.points(), &["x", "y", "z", "intensity"]);
    fs::create_dir(folder.path().join("in")).unwrap();
    write_ply(folder.path().join("in/1.ply"), &named).unwrap();
    write_pcd(folder.path().join("in/2.pcd"), &named).unwrap();
    write_cloud(&folder.path().join("in"), "3.bin", 50);
    let told = run(folder.path(), "voxelize in --out out/ --json").expect(0);
    let frames = told.data("frame");
    let formats: Vec<_> = frames.iter().map(|f| f["format"].as_str().unwrap()).collect();
    assert_eq!(formats, ["ply", "pcd", "kitti"]);
    let [one, two, three] = ["1", "2", "3"].map(|n| fs::read(folder.path().join(format!("out/{n}.npz"))).unwrap());
    assert!(one == two && two == three, "the same points, the same voxels");
}

#[test]
fn what_compressed_data_may_unpack_to_is_limited() {
    let folder = tempfile::tempdir().unwrap();
    // A thousand points of zeros in the shortest form: zeros once, then references to them.
    let mut packed = vec![0u8, 0];
    packed.extend([0xe0, 0xff, 0x00].repeat(45));
    let rest = 12_000 - 1 - 45 * 264;
    packed.extend([0xe0, (rest - 9) as u8, 0x00]);
    let header = "FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nPOINTS 1000\nDATA binary_compressed\n";
    let sizes = [packed.len() as u32, 12_000].map(u32::to_le_bytes).concat();
    fs::write(folder.path().join("a.pcd"), [header.as_bytes(), &sizes, &packed].concat()).unwrap();
    for command in ["info a.pcd", "voxelize a.pcd", "convert a.pcd --out b.npy"] {
        run(folder.path(), &format!("{command} --max-decoded-bytes 12000")).expect(0);
        let told = run(folder.path(), &format!("{command} --max-decoded-bytes 11999")).expect(3);
        assert!(told.err.contains("a.pcd: data unpacked: expected at most 11999 bytes"), "{}", told.err);
        run(folder.path(), &format!("{command} --max-input-points 1000 --max-memory 24K")).expect(0);
        let told = run(folder.path(), &format!("{command} --max-input-points 999")).expect(3);
        assert!(told.err.contains("--max-input-points"), "{}", told.err);
        let told = run(folder.path(), &format!("{command} --max-memory 23K")).expect(3);
        assert!(told.err.contains("--max-memory"), "{}", told.err);
    }
}

#[test]
fn raw_rows_are_those_that_every_command_reads() {
    let folder = tempfile::tempdir().unwrap();
    write_map(&folder.path().join("a.ply"));
    let told = run(folder.path(), "convert a.ply --to bin --out b --local-origin none").expect(0);
    assert!(told.out.contains("left out: red, ring, t; --all-columns keeps them\n"), "{}", told.out);
    assert_eq!(fs::read(folder.path().join("b/a.bin")).unwrap().len(), 2 * 16);
    run(folder.path(), "voxelize b --range auto").expect(0);
    run(folder.path(), "convert a.ply --to bin --out b --local-origin none --all-columns").expect(0);
    assert_eq!(fs::read(folder.path().join("b/a.bin")).unwrap().len(), 2 * 24);
}

#[test]
fn names_that_a_format_does_not_hold_end_no_batch() {
    let folder = tempfile::tempdir().unwrap();
    let points = pointmill::Points::new(&[1.0, 2.0, 3.0, 0.5, 0.25], 5).unwrap();
    let cloud = NamedPoints::new(points, &["x", "y", "z", "gps time", ""]);
    fs::create_dir(folder.path().join("in")).unwrap();
    for name in ["a", "b"] {
        let path = folder.path().join(format!("in/{name}.feather"));
        pointmill_io::write(path, cloud.clone(), &pointmill_io::WriteOptions::default()).unwrap();
    }
    for to in ["feather", "npz", "ply", "pcd", "csv", "xyz", "npy"] {
        let told = run(folder.path(), &format!("convert in --to {to} --out {to}")).expect(0);
        let renamed =
            "warning: 2 inputs: the format cannot hold some names of columns: `gps time` is written as `gps_time`";
        assert_eq!(told.err.contains(renamed), matches!(to, "ply" | "pcd"), "{to}: {}", told.err);
        let scan = scan(&folder.path().join(format!("{to}/b.{to}")));
        assert_eq!(scan.cloud.data(), [1.0, 2.0, 3.0, 0.5, 0.25], "{to}");
    }
}

#[test]
fn times_of_a_bag_stay_times() {
    let folder = tempfile::tempdir().unwrap();
    let bag = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags/hesai_zstd.mcap");
    fs::copy(bag, folder.path().join("h.mcap")).unwrap();
    for to in ["pcd", "ply", "npz", "feather", "csv"] {
        run(folder.path(), &format!("convert h.mcap --to {to} --out {to}")).expect(0);
        let told = run(folder.path(), &format!("info {to}/*.{to} --json")).expect(0);
        let first = &told.data("frame")[0];
        assert_eq!((&first["times"]["name"], &first["times"]["unit"]), (&"timestamp".into(), &"s".into()), "{to}");
        assert!(first["times"]["span"].as_f64().unwrap() > 0.01, "{to}: {first}");
    }
}

#[cfg(unix)]
#[test]
fn a_broken_link_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("gone", folder.path().join("x.bin")).unwrap();
    let told = run(folder.path(), "info x.bin").expect(3);
    assert!(told.err.contains("x.bin: link to gone, which does not exist"), "{}", told.err);
}

#[test]
fn decimals_of_las_are_shown_without_noise() {
    let folder = tempfile::tempdir().unwrap();
    let las = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/las/1.4_format7.las");
    fs::copy(las, folder.path().join("a.las")).unwrap();
    let told = run(folder.path(), "convert a.las --out a.csv").expect(0);
    assert!(!told.err.contains("origin") && !told.err.contains("relative"), "{}", told.err);
    let text = fs::read_to_string(folder.path().join("a.csv")).unwrap();
    let decimals = |number: &str| number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let coordinates = text.lines().skip(1).flat_map(|line| line.split(',').take(3));
    assert!(coordinates.map(decimals).max() <= Some(4), "{text:.300}");
    let told = run(folder.path(), "info a.las").expect(0);
    let bounds = told.out.lines().filter(|line| line.ends_with(" m")).flat_map(str::split_whitespace);
    assert!(bounds.map(decimals).max() <= Some(4), "{}", told.out);
}
