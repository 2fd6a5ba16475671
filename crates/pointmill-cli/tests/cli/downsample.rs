//! `downsample`: a point for each voxel, with all columns.

use crate::{run, write_cloud};
use pointmill_io::{Field, NamedPoints, ReadOptions, Scan, WideColumn, read, write_ply};
use std::path::Path;

pub(crate) fn scan(path: &Path) -> Scan {
    read(path, &ReadOptions::default()).unwrap()
}

/// Three points on a map: two in one voxel of 1 m, and a class and a time each.
pub(crate) fn write_survey(path: &Path) {
    let xyz = [691_764.1, 5_335_880.1, 520.1, 691_764.3, 5_335_880.5, 520.3, 691_770.0, 5_335_880.0, 520.0];
    let times = vec![300_000_000.25, 300_000_000.75, 300_000_009.5];
    let row =
        |i: usize| [xyz[3 * i] as f32, xyz[3 * i + 1] as f32, xyz[3 * i + 2] as f32, i as f32 + 2.0, times[i] as f32];
    let rows: Vec<f32> = (0..3).flat_map(row).collect();
    let names = ["x", "y", "z", "classification", "gps_time"];
    let mut cloud = NamedPoints::new(pointmill::Points::new(&rows, 5).unwrap(), &names);
    cloud.fields.to_mut()[3] = Field { name: names[3].into(), dtype: pointmill_io::Dtype::U8 };
    (cloud.xyz_f64, cloud.wide) = (Some(&xyz[..]), vec![WideColumn::new(4, times.clone()).into()]);
    write_ply(path, &cloud).unwrap();
}

#[test]
fn columns_of_every_type_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    write_survey(&folder.path().join("a.ply"));
    for (keep, x, time) in [("mean", 691_764.2, 300_000_000.5), ("first", 691_764.1, 300_000_000.25)] {
        for out in ["b.ply", "b.pcd", "b.npz"] {
            let told = run(folder.path(), &format!("downsample a.ply --voxel-size 1 --keep {keep} --out {out} --json"));
            let told = told.expect(0);
            assert_eq!((&told.data("frame")[0]["kept"], &told.data("frame")[0]["points"]), (&2.into(), &3.into()));
            let thin = scan(&folder.path().join(out));
            assert!((thin.xyz()[0][0] - x).abs() < 1e-4 && thin.xyz()[1][0] == 691_770.0, "{keep} {out}");
            // Both points are as far from their mean, but for the last bit.
            let class = thin.cloud.points().row(0)[3];
            assert!(class == 2.0 || (keep == "mean" && class == 3.0), "{keep} {out}: {class}");
            let times: Vec<_> = thin.wide().map(|wide| wide.to_vec()).collect();
            assert!(out == "b.npz" || times == [[time, 300_000_009.5]], "{keep} {out}: {times:?}");
        }
    }
}

#[test]
fn points_that_are_dropped_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let csv = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    csv("some.csv", "x,y,z\n1,2,3\nnan,2,3\n1.05,2,3\n");
    csv("none.csv", "x,y,z\nnan,2,3\n");
    let told = run(folder.path(), "downsample some.csv --voxel-size 1 --out b.ply").expect(0);
    assert!(told.out.contains("not finite") && told.out.contains("1 of 3 points kept"), "{}", told.out);
    let told = run(folder.path(), "downsample none.csv --out c.ply").expect(0);
    assert!(told.err.contains("no point is left"), "{}", told.err);
    assert!(scan(&folder.path().join("c.ply")).cloud.is_empty());
}

#[test]
fn a_folder_is_resumed_and_devices_agree() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    (0..3).for_each(|i| drop(write_cloud(&folder.path().join("in"), &format!("{i}.bin"), 300 + i)));
    for keep in ["mean", "first", "centre", "random"] {
        let args = format!("downsample in --voxel-size 2 --keep {keep} --seed 3 --to ply --out {keep} --json");
        run(folder.path(), &format!("{args} --compare-cpu")).expect(0);
        let told = run(folder.path(), &format!("{args} --resume")).expect(0);
        assert_eq!((told.data("frame").len(), told.data("kept").len()), (0, 3), "{keep}");
    }
}
