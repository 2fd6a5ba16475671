//! `info`, `devices`, `synth`, `man`, `completions`, `--quiet`, and help.

use crate::{names, run, write_cloud};
use std::fs;
use std::path::Path;

#[test]
fn info_tells_what_is_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 10);
    let told = run(folder.path(), "info a.bin --json").expect(0);
    assert_eq!(told.err, "warning: a.bin: 1 of 10 points are not finite\n");
    let data = told.data("frame").remove(0);
    assert_eq!((&data["format"], &data["points"]), (&"kitti".into(), &10.into()));
    assert_eq!(data["columns"][3], serde_json::json!({"name": "intensity", "type": "f32"}));
    assert_eq!(data["nonfinite"], 1);
    assert_eq!(data["bounds"]["min"][2], -1.0);
    let told = run(folder.path(), "info a.bin --format bin --columns 5").expect(0);
    assert!(told.out.contains("columns    5: x f32, y f32, z f32, column3 f32, column4 f32"), "{}", told.out);
}

#[test]
fn info_of_an_empty_file_has_no_bounds() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.bin"), "").unwrap();
    let told = run(folder.path(), "info a.bin --json").expect(0);
    assert!(told.data("frame")[0]["bounds"].is_null());
    run(folder.path(), "info a.bin").expect(0);
}

#[test]
fn devices_lists_the_cpu_first() {
    let folder = tempfile::tempdir().unwrap();
    let told = run(folder.path(), "devices --json").expect(0);
    let cpu = &told.data("summary")[0]["devices"][0];
    assert_eq!(cpu["device"], "cpu");
    assert!(cpu["threads"].as_u64().unwrap() > 0);
    let summary = told.data("summary").remove(0);
    assert_eq!((&summary["ptx_target"], &summary["ptx_version"]), (&"sm_70".into(), &"7.8".into()));
    let known =
        ["compute_capability", "driver", "driver_cuda", "free_bytes", "memory_bytes", "multiprocessors", "name"];
    assert!(known.iter().all(|key| cpu.get(key).is_some_and(serde_json::Value::is_null)), "{cpu}");
    assert!(run(folder.path(), "devices").expect(0).out.starts_with("cpu "));
}

#[test]
fn synth_writes_sweeps_and_poses_that_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let told = run(folder.path(), "synth --out d --sweeps 2").expect(0);
    assert!(told.out.ends_with("read with --columns 6\n"), "{}", told.out);
    assert_eq!(names(&folder.path().join("d")), ["poses.txt", "sweep_000.bin", "sweep_001.bin"]);
    let poses = fs::read_to_string(folder.path().join("d/poses.txt")).unwrap();
    let poses: Vec<Vec<f64>> = poses.lines().map(|row| row.split(' ').map(|v| v.parse().unwrap()).collect()).collect();
    assert!(poses.len() == 2 && poses.iter().all(|row| row.len() == 16 && row[12..] == [0.0, 0.0, 0.0, 1.0]));
    let told = run(folder.path(), "voxelize d --columns 6 --json").expect(0);
    assert_eq!(told.data("summary")[0]["done"], 2);
}

#[test]
fn synth_writes_the_first_sweep_of_the_built_in_drive() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "synth --out a.npy").expect(0);
    let scan = pointmill_io::read(folder.path().join("a.npy"), &Default::default()).unwrap();
    let drive = pointmill_synth::Drive::new(pointmill_synth::DriveParams::default());
    // All points are of one instant: nothing is distorted.
    let wanted: Vec<f32> = drive.sweep(0).data().chunks(6).flat_map(|p| [p[0], p[1], p[2], p[3], p[4], 0.0]).collect();
    assert!(scan.cloud.data() == wanted);
    let told = run(folder.path(), "synth --out b.bin --seed 1 --json").expect(0);
    assert_eq!(told.data("summary")[0]["seed"], 1);
    assert_ne!(fs::metadata(folder.path().join("b.bin")).unwrap().len(), 4 * scan.cloud.data().len() as u64);
}

#[test]
fn synth_writes_npy_to_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "synth --out d --sweeps 1 --format npy").expect(0);
    assert_eq!(names(&folder.path().join("d")), ["poses.txt", "sweep_000.npy"]);
}

#[test]
fn synth_writes_two_scans_of_a_rabbit() {
    let folder = tempfile::tempdir().unwrap();
    let told = run(folder.path(), "synth --shape rabbit --out r").expect(0);
    assert!(told.out.ends_with("3 columns: x, y, z\n"), "{}", told.out);
    assert_eq!(names(&folder.path().join("r")), ["source.ply", "target.ply", "target_from_source.txt"]);
    let scans = pointmill_synth::RabbitScans::new(0);
    let scan = |name: &str| pointmill_io::read(folder.path().join(name), &Default::default()).unwrap().cloud;
    assert!(scan("r/source.ply") == scans.source && scan("r/target.ply") == scans.target);
    for cloud in [&scans.source, &scans.target] {
        assert!((35_000..45_000).contains(&cloud.len()), "{}", cloud.len());
    }
    let text = fs::read_to_string(folder.path().join("r/target_from_source.txt")).unwrap();
    let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert_eq!(numbers, scans.target_from_source.as_flattened());
    // A sweep as PLY has names.
    run(folder.path(), "synth --out s.ply").expect(0);
    let told = run(folder.path(), "info s.ply --json").expect(0);
    assert_eq!(told.data("frame")[0]["columns"][4]["name"], "ring");
}

#[test]
fn completions_and_help_name_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let completions = run(folder.path(), "completions bash").expect(0).out;
    let help = run(folder.path(), "--help").expect(0).out;
    for command in ["demo", "voxelize", "roi-pool", "info", "convert", "devices", "synth", "man", "completions"] {
        assert!(completions.contains(command) && help.contains(command), "{command}");
    }
    assert!(help.contains("130  interrupted"), "{help}");
    let version = run(folder.path(), "--version").expect(0).out;
    assert_eq!(version, format!("pointmill {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn devices_explains_what_a_gpu_needs() {
    let folder = tempfile::tempdir().unwrap();
    let told = run(folder.path(), "devices -v").expect(0);
    for wanted in
        ["embedded kernels for sm_70 and newer, PTX 7.8", "  voxelize ", "  prim ", "machine code", "driver cache: "]
    {
        assert!(told.out.contains(wanted), "{wanted}: {}", told.out);
    }
    let cache = |folder: &Path, off: &str| {
        let mut command = crate::command(folder, "devices -v");
        command.env("CUDA_CACHE_PATH", folder).env("CUDA_CACHE_DISABLE", off);
        crate::finished(command.output().unwrap()).expect(0).out
    };
    assert!(cache(folder.path(), "0").contains(&format!("driver cache: {}\n", folder.path().display())));
    assert!(cache(folder.path(), "1").contains("driver cache: off (CUDA_CACHE_DISABLE)"));
    let summary = run(folder.path(), "devices --json").expect(0).data("summary").remove(0);
    assert!(summary["modules"].as_array().unwrap().iter().all(|module| module["bytes"].as_u64().unwrap() > 1000));
}

#[test]
fn synth_writes_no_folder_with_the_name_of_a_file_and_over_an_older_drive() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "synth --out s.pcd").expect(0);
    assert!(folder.path().join("s.pcd").is_file());
    run(folder.path(), "synth --out d --sweeps 2").expect(0);
    run(folder.path(), "synth --out d --sweeps 2 --seed 1").expect(0);
    assert_eq!(names(folder.path()), ["d", "s.pcd"]);
}

#[test]
fn man_writes_a_page_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // What a killed run left goes away.
    fs::create_dir(at.join("man")).unwrap();
    fs::write(at.join("man/.pointmill-x1y2z3.tmp"), "half").unwrap();
    let page = run(at, "man").expect(0).out;
    assert!(page.contains(".TH pointmill 1") && page.contains("pointmill\\-voxelize(1)"), "{page}");
    run(at, "man --out man").expect(0);
    let found = names(&at.join("man"));
    for name in ["pointmill.1", "pointmill-voxelize.1", "pointmill-ndt-build.1"] {
        assert!(found.iter().any(|page| page == name), "{found:?}");
    }
    assert!(!found.iter().any(|name| name.starts_with(".pointmill")), "{found:?}");
    let page = fs::read_to_string(at.join("man/pointmill-odometry.1")).unwrap();
    assert!(page.contains("POSES.txt") && page.contains("Examples:"), "{page}");
}

/// Sweeps without motion have no times from which one would be taken out.
#[test]
fn sweeps_of_synth_without_distortion_are_not_deskewed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "synth --out d --sweeps 3 --format ply --poses truth.txt").expect(0);
    let told = run(at, "odometry d --out poses.txt").expect(0);
    assert!(told.err.contains("no per-point timestamps found"), "{}", told.err);
    let told = run(at, "evaluate poses.txt truth.txt --align se3 --json").expect(0);
    let error = told.data("summary")[0]["absolute"]["translation"]["rmse"].as_f64().unwrap();
    assert!(error < 0.01, "{error}");
}

#[test]
fn quiet_prints_nothing_but_errors_and_json() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 50);
    for args in ["info a.bin -q", "voxelize a.bin -q", "devices -q"] {
        let told = run(folder.path(), args).expect(0);
        assert_eq!((told.out.as_str(), told.err.as_str()), ("", ""), "{args}");
    }
    assert_eq!(run(folder.path(), "info a.bin -q --json").expect(0).data("frame").len(), 1);
    assert!(run(folder.path(), "info b.bin -q").expect(2).err.starts_with("error: "));
}

#[test]
fn info_of_several_files_has_a_row_for_each() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_cloud(at, "a.bin", 50);
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags/ouster_zstd.mcap"), at.join("b.mcap"))
        .unwrap();
    fs::write(at.join("c.txt"), "0 1 2 3 0 0 0 1\n0.5 1 2 3 0 0 0 1\n").unwrap();
    let told = run(at, "info a.bin b.mcap c.txt").expect(0);
    // As wide as the longest text, without columns that are empty.
    let wanted = "input   format  points               extent  columns\n\
        a.bin    kitti      50  119.5 x 0.5 x 0.0 m  x y z intensity\n\
        b.mcap    mcap                               /points (3 clouds)\n\
        c.txt    poses                               2 poses, TUM, 0 s to 0.5 s\n\
        3 inputs, 50 points\n";
    assert_eq!(told.out, wanted);
    // Lengths of any number of digits stand by themselves.
    for (name, extent) in [("street.xyz", "158.4 x 136.8 x 17.4"), ("map.xyz", "9999999.0 x 9999999.0 x 9999999.0")] {
        fs::write(at.join(name), format!("0 0 0\n{}\n", extent.replace(" x ", " "))).unwrap();
        let told = run(at, &format!("info a.bin {name}")).expect(0).out;
        assert!(told.contains(&format!(" {extent} ")), "{told}");
    }
    let told = run(at, "info a.bin c.txt --long").expect(0).out;
    assert!(told.contains("a.bin\n  format     kitti\n  points     50\n"), "{told}");
    assert!(told.contains("c.txt\n  format     poses\n             a file of poses: 2 poses, TUM, 0 s"), "{told}");
    let poses = run(at, "info c.txt --json").expect(0).data("frame").remove(0)["poses"].take();
    assert_eq!(poses, serde_json::json!({ "count": 2, "kind": "tum", "times": [0.0, 0.5] }));
    // The first bytes of the standard input tell its format.
    run(at, "convert a.bin --out a.pcd").expect(0);
    let mut stdin = crate::command(at, "info - --json");
    stdin.stdin(fs::File::open(at.join("a.pcd")).unwrap());
    assert_eq!(crate::finished(stdin.output().unwrap()).expect(0).data("frame")[0]["format"], "pcd");
}

#[test]
fn names_of_other_programs_say_what_to_use() {
    let folder = tempfile::tempdir().unwrap();
    for (name, instead) in [
        ("slam", "odometry"),
        ("map", "ndt build"),
        ("odom", "odometry"),
        ("view", "--visualize"),
        ("nms", "`pointmill.boxes.nms` of Python"),
        ("serialize", "`pointmill.sparse.grid_sample` and `serialize` of Python"),
    ] {
        let told = run(folder.path(), name).expect(2);
        assert!(told.err.contains("tip: use ") && told.err.contains(instead), "{}", told.err);
        assert!(!told.err.contains("similar"), "{}", told.err);
    }
}

#[test]
fn the_output_has_a_short_flag() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 40);
    run(folder.path(), "convert a.bin -o b.ply").expect(0);
    assert!(folder.path().join("b.ply").is_file());
}

#[test]
fn a_guess_in_too_few_numbers_says_how() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 400);
    let told = run(folder.path(), "icp a.bin a.bin --guess 0,0,0").expect(2);
    assert!(told.err.contains("or 6 numbers: \"X Y Z ROLL PITCH YAW\""), "{}", told.err);
    // The guess is taken; these few points determine no pose.
    let told = run(folder.path(), "icp a.bin a.bin --guess 0,0,0,0,0,0").expect(6);
    assert!(told.err.contains("degenerate"), "{}", told.err);
}

#[test]
fn a_map_is_known_as_one() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 500);
    run(folder.path(), "ndt build a.bin --resolution 1 --out map.npz").expect(0);
    let told = run(folder.path(), "info map.npz --json").expect(0);
    let map = &told.data("frame")[0]["map"];
    let cells = pointmill_io::read_npz(folder.path().join("map.npz")).unwrap()["coords"].shape()[0];
    assert_eq!((&map["cells"], &map["resolution"]), (&cells.into(), &1.0.into()));
    assert!(map["bounds"]["max"][0].as_f64().unwrap() > 50.0 && map["points"].as_u64().unwrap() > 100);
    let told = run(folder.path(), "info map.npz").expect(0);
    assert!(
        told.out.starts_with(&format!("format     ndt-map\n           NDT map: {cells} cells of 1 m, ")),
        "{}",
        told.out
    );
    assert!(run(folder.path(), "info map.npz a.bin").expect(0).out.contains("ndt-map"));
}
