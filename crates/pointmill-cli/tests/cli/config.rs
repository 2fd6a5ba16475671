//! `--config` and `--print-config`.

use crate::{run, write_cloud};
use std::fs;

#[test]
fn what_is_printed_is_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for flags in [
        "",
        "--voxel-size 0.1,0.1,0.15 --range -1,-2,-3,4,5,6 --max-points 7 --order sorted --mean f16 --columns 6",
        "--dynamic --strict-range --format npy",
    ] {
        let printed = run(folder.path(), &format!("voxelize --print-config {flags}")).expect(0).out;
        fs::write(folder.path().join("c.toml"), &printed).unwrap();
        let again = run(folder.path(), "voxelize --config c.toml --print-config").expect(0).out;
        assert_eq!(printed, again);
        assert!(printed.starts_with("device = \"cpu\"\n"), "{printed}");
    }
}

#[test]
fn every_default_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    for (command, own) in [
        ("voxelize", "voxel-size = 0.2"),
        ("roi-pool", "mode = \"max\""),
        ("ndt build", "resolution = 2"),
        ("ndt merge a.arrow", "covariance = \"autoware\""),
        ("ndt score --map m --scan s --pose p", "eigen-ratio = 0.01"),
        ("ndt align --map m --scan s", "min-points = 6"),
        ("icp a b", "max-iterations = 100"),
    ] {
        let printed = run(folder.path(), &format!("{command} --print-config")).expect(0).out;
        let inputs = if command.starts_with("ndt merge") { "" } else { "max-input-points = 1073741824" };
        for line in [own, "jobs = \"auto\"", "on-oom = \"fail\"", "max-memory = \"16G\"", inputs] {
            assert!(printed.contains(line), "{command}: {line} is missing in {printed}");
        }
    }
}

#[test]
fn flags_override_the_file() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 20);
    let text = "device = \"cuda:99\"\n[voxelize]\nvoxel-size = 1\nrange = [-10, -10, -5, 10, 10, 5]\ndynamic = true\n";
    fs::write(folder.path().join("c.toml"), text).unwrap();
    let told = run(folder.path(), "voxelize a.bin --config c.toml --max-points 2 --voxel-size 0.5 --json").expect(0);
    let params = &told.data("begin")[0]["params"];
    assert_eq!(params["grid"], serde_json::json!([40, 40, 20]));
    assert_eq!((&params["max_points"], &params["max_voxels"]), (&2.into(), &160_000.into()));
}

#[test]
fn mistakes_in_the_file_are_2_and_told_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    for (text, told) in [
        ("[voxelize]\nmax_points = 3", "c.toml: line 2: unknown key `max_points`"),
        ("[voxelize]\n\nmean = \"f64\"", "c.toml: line 3: invalid value 'f64' for '--mean"),
        ("[voxelize]\nmax-points = -3", "c.toml: line 2: "),
        (
            "device = \"gpu\"",
            "c.toml: line 1: invalid value 'gpu' for '--device <DEVICE>': expected auto, cpu, cuda or cuda:N",
        ),
        ("[voxelize]\nformat = \"doc\"", "c.toml: line 2: invalid value 'doc' for '--format"),
        ("[voxelize]\ndynamic = true\nmax-points = 3", "which keeps all points"),
        ("[voxelize]\nmax-voxels = 0", "max_voxels: expected 1 to"),
        ("[voxelize", "c.toml: line 1: "),
    ] {
        fs::write(folder.path().join("c.toml"), text).unwrap();
        let run = run(folder.path(), "voxelize --config c.toml").expect(2);
        assert!(run.err.contains(told), "{text}: {}", run.err);
    }
}

#[test]
fn a_file_that_is_no_text_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("c.toml"), [0xff, 0xfe]).unwrap();
    fs::write(folder.path().join("long.toml"), vec![b'\n'; (1 << 20) + 1]).unwrap();
    for (name, found) in [("c.toml", "got bytes that are not UTF-8"), ("long.toml", "got more")] {
        let told = run(folder.path(), &format!("voxelize --config {name}")).expect(2);
        assert!(
            told.err.contains(&format!("{name}: expected a text of at most 1048576 bytes, {found}")),
            "{}",
            told.err
        );
    }
}

#[test]
fn every_operator_takes_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_cloud(at, "a.bin", 300);
    let text = "[ndt.build]\nresolution = 1.5\nmin-points = 3\n[icp]\nmetric = \"gicp\"\nschedule = \"1:2,0:1\"\n\
                [roi-pool]\nout-size = [3, 2, 1]\nlayout = \"sparse\"\n[ndt.align]\nguess = [\"p.txt\", \"q.txt\"]\n";
    fs::write(at.join("c.toml"), text).unwrap();
    let printed = |args: &str| run(at, &format!("{args} --config c.toml --print-config")).expect(0).out;
    let build = printed("ndt build a.bin --min-points 4");
    assert!(build.contains("[ndt.build]\n") && build.contains("resolution = 1.5\n"), "{build}");
    assert!(build.contains("min-points = 4\n"), "{build}");
    assert!(printed("ndt align --map m --scan s").contains("guess = [\"p.txt\", \"q.txt\"]\n"));
    // A flag that excludes one of the file wins over it.
    let icp = printed("icp a.bin a.bin --max-distance 2");
    assert!(
        icp.contains("metric = \"gicp\"\n") && !icp.contains("schedule") && icp.contains("max-distance = 2\n"),
        "{icp}"
    );
    let told = run(at, "roi-pool --config c.toml --json").expect(0);
    assert_eq!(told.data("begin")[0]["params"]["layout"], "sparse");
    let told = run(at, "roi-pool --config c.toml --inside part --json").expect(0);
    assert_eq!(told.data("begin")[0]["params"]["inside"], "part");
    fs::write(at.join("c.toml"), "resolution = 2").unwrap();
    let told = run(at, "ndt build a.bin --config c.toml").expect(2);
    assert!(told.err.contains("c.toml: line 1: unknown key `resolution`: outside of tables only `device` is known; flags of the command stand under [ndt.build]"), "{}", told.err);
}
