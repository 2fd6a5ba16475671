//! Public clouds that are registered without a guess, where they are: the Stanford bunny's views and
//! a pair of LiDAR scans.

use pointmill::registration::global::{RegisterParams, Registered, Verdict, register};
use pointmill::{Device, PointCloud, Pose, Rows};
use std::path::{Path, PathBuf};

/// Where public clouds lie; beside the repository, or where `POINTMILL_TEST_DATA` says.
fn data(folder: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("POINTMILL_TEST_DATA").map_or_else(beside, PathBuf::from).join(folder);
    folder.is_dir().then_some(folder)
}

fn read(path: PathBuf) -> PointCloud {
    pointmill_io::read(path, &pointmill_io::ReadOptions::default()).unwrap().cloud
}

/// The pose and by how many metres and radians it is off, with the source turned by an angle first.
fn turned(source: &PointCloud, target: &PointCloud, truth: &Pose, yaw: f64, voxel_size: f64) -> (Registered, [f64; 2]) {
    let turn = Pose::from_xyzrpy([0.0, 0.0, 0.0, 0.0, 0.0, yaw]).unwrap();
    let points = Rows::from(source).moved(&turn).unwrap();
    let params = RegisterParams { voxel_size, ..RegisterParams::default() };
    let found = register(Rows::f64(&points, 3).unwrap(), target, &params, &Device::cpu()).unwrap();
    let error = truth.compose(&turn.inverse()).inverse().compose(&found.target_from_source);
    (found, [error.translation(), error.rotation_vector()].map(|v| v.iter().map(|x| x * x).sum::<f64>().sqrt()))
}

#[test]
fn views_of_the_bunny_are_found() {
    let Some(folder) = data("bunny") else { return };
    let [source, target] = ["bun045.ply", "bun000.ply"].map(|name| read(folder.join(name)));
    // bun.conf, with the quaternion conjugated as that file means it.
    let (t, q) = ([-0.052_021_1, -0.000_383_981, -0.010_922_3], [-0.005_484_49, 0.294_635, 0.003_855_5, 0.955_586]);
    let truth = Pose::from_quaternion(t, q).unwrap();
    for yaw in [0.0, 2.0] {
        let (found, [metres, radians]) = turned(&source, &target, &truth, yaw, 0.002);
        assert_eq!(found.verdict, Verdict::Found, "yaw {yaw}: {metres} m, {radians} rad, {found:?}");
        assert!(metres < 5e-4 && radians < 0.01, "yaw {yaw}: {metres} m, {radians} rad");
    }
}

#[test]
fn a_pair_of_scans_is_found() {
    let Some(folder) = data("pair") else { return };
    let [source, target] = ["source.ply", "target.ply"].map(|name| read(folder.join(name)));
    let text = std::fs::read_to_string(folder.join("target_from_source.txt")).unwrap();
    let values: Vec<f64> = text.split_whitespace().map(|x| x.parse().unwrap()).collect();
    let truth = Pose::from_matrix(&std::array::from_fn(|i| std::array::from_fn(|k| values[4 * i + k]))).unwrap();
    for yaw in [0.0, 2.0] {
        let (found, [metres, radians]) = turned(&source, &target, &truth, yaw, 0.3);
        assert_eq!(found.verdict, Verdict::Found, "yaw {yaw}: {metres} m, {radians} rad, {found:?}");
        assert!(metres < 0.2 && radians < 0.02, "yaw {yaw}: {metres} m, {radians} rad");
    }
}
