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
}
