//! What each scene of a drive promises: the same bits, poses that fit the points, a closed loop, a
//! tunnel without marks.

use pointmill_core::{PointCloud, Pose};
use pointmill_synth::{Drive, DriveParams, Scene};
use std::collections::HashSet;

fn drive(scene: Scene, motion_compensated: bool) -> Drive {
    Drive::new(DriveParams { scene, sweeps: 300, azimuth_steps: 300, motion_compensated, ..DriveParams::default() })
}

fn pose(drive: &Drive, seconds: f64) -> Pose {
    Pose::from_matrix(&drive.world_from_sensor_at(seconds)).unwrap()
}

fn xyz(row: &[f32]) -> [f64; 3] {
    [0, 1, 2].map(|k| f64::from(row[k]))
}

fn rows(cloud: &PointCloud) -> impl Iterator<Item = &[f32]> {
    (0..cloud.len()).map(|i| cloud.points().row(i))
}

/// 64-bit FNV-1a of the values' bits, little-endian.
fn fnv(cloud: &PointCloud) -> u64 {
    let bytes = cloud.data().iter().flat_map(|v| v.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[test]
fn bits_are_those_of_every_machine() {
    let hashes = [Scene::Loop, Scene::Tunnel].map(|scene| {
        let drive = drive(scene, false);
        format!("{:016x} {:016x}", fnv(&drive.sweep(0)), fnv(&drive.sweep(150)))
    });
    assert_eq!(hashes, ["625019b9009a2084 623eb010e649309c", "17592b6d1be11c86 e04bdceb2aaf94d6"]);
}

#[test]
fn a_distorted_sweep_is_the_other_one_at_each_points_time() {
    for scene in Scene::ALL {
        let (still, moving) = (drive(*scene, true), drive(*scene, false));
        let i = 37;
        let (still_sweep, sweep) = (still.sweep(i), moving.sweep(i));
        assert!(sweep.len() == still_sweep.len() && sweep.len() > 8000, "{scene}: {}", sweep.len());
        let start = i as f64 / 10.0;
        let first = pose(&moving, start).inverse();
        let mut farthest = 0f64;
        for (own, compensated) in rows(&sweep).zip(rows(&still_sweep)) {
            assert_eq!(own[3..], compensated[3..]);
            let there = first.compose(&pose(&moving, start + f64::from(own[5]))).apply(xyz(own));
            let off = (0..3).map(|k| (there[k] - f64::from(compensated[k])).abs()).fold(0.0, f64::max);
            assert!(off < 1e-4, "{scene}: {off}");
            farthest = farthest.max((0..3).map(|k| f64::from((own[k] - compensated[k]).abs())).fold(0.0, f64::max));
        }
        assert!(farthest > 0.9, "{scene}: {farthest}");
    }
}

#[test]
fn sweeps_of_the_loop_fit_each_other_by_their_poses() {
    let drive = drive(Scene::Loop, true);
    let cells = |i: usize| -> HashSet<[i64; 3]> {
        let world = pose(&drive, i as f64 / 10.0);
        let sweep = drive.sweep(i);
        rows(&sweep).map(|row| world.apply(xyz(row)).map(|x| (x / 0.5).round() as i64)).collect()
    };
    let first = cells(0);
    // The last sweep is taken where the first one was, and fits as well as the second.
    let common = |i: usize| cells(i).intersection(&first).count() as f64 / first.len() as f64;
    let (next, last, half) = (common(1), common(299), common(150));
    assert!(next > 0.5 && last > 0.8 * next && half < 0.3 * next, "{next} {last} {half}");
    let people = drive.sweep(20);
    assert!(rows(&people).all(|row| row[..3].iter().all(|x| x.is_finite())));
}

#[test]
fn the_tunnel_shows_walls_ceiling_road_and_cars_alone() {
    let drive = drive(Scene::Tunnel, true);
    let world = pose(&drive, 5.0);
    let sweep = drive.sweep(50);
    let smooth = rows(&sweep).filter(|row| {
        let [_, y, z] = world.apply(xyz(row));
        (y.abs() - 5.2).abs() < 0.06 || z.abs() < 0.06 || (z - 5.4).abs() < 0.06
    });
    let share = smooth.count() as f64 / sweep.len() as f64;
    assert!((0.85..1.0).contains(&share), "{share}");
}
