//! What a drive promises: the same bits, a plausible sensor, a street in front of it.

use pointmill_core::PointCloud;
use pointmill_synth::{Drive, DriveParams, SENSOR_HEIGHT};

/// 64-bit FNV-1a of the values' bits, little-endian.
fn fnv(cloud: &PointCloud) -> u64 {
    cloud
        .data()
        .iter()
        .flat_map(|v| v.to_bits().to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn default_drive() -> Drive {
    Drive::new(DriveParams::default())
}

/// The point in the world, for a motion-compensated sweep.
fn world(pose: &[[f64; 4]; 4], p: &[f32]) -> [f64; 3] {
    let p = [f64::from(p[0]), f64::from(p[1]), f64::from(p[2])];
    [0, 1, 2].map(|r| pose[r][0] * p[0] + pose[r][1] * p[1] + pose[r][2] * p[2] + pose[r][3])
}

/// These hashes are the promise of the same bits on every machine: a change here changes
/// everybody's pictures and numbers.
#[test]
fn bits_are_those_of_every_machine() {
    let drive = default_drive();
    assert_eq!(
        format!("{:016x} {:016x}", fnv(&drive.sweep(0)), fnv(&drive.sweep(9))),
        "8c683acfacda112f d10bb7936d783e3d"
    );
}

#[test]
fn sweeps_do_not_depend_on_order_or_thread() {
    let drive = Drive::new(DriveParams { azimuth_steps: 300, ..DriveParams::default() });
    let there: Vec<_> = (0..drive.len()).map(|i| drive.sweep(i)).collect();
    let back: Vec<_> = std::thread::scope(|scope| {
        let drive = &drive;
        let threads: Vec<_> = (0..drive.len()).rev().map(|i| scope.spawn(move || drive.sweep(i))).collect();
        threads.into_iter().rev().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(there, back);
    let other = Drive::new(DriveParams { seed: 1, ..*drive.params() });
    assert_ne!(there[0], other.sweep(0));
    // A longer drive starts with the shorter one's sweeps only where the street is the same: the
    // pose is.
    assert_eq!(drive.world_from_sensor(4), other.world_from_sensor(4));
}

#[test]
fn rows_are_what_a_spinning_sensor_delivers() {
    let drive = default_drive();
    for i in [0, 5, 9] {
        let sweep = drive.sweep(i);
        assert_eq!(sweep.columns(), 6);
        assert!((110_000..=128_000).contains(&sweep.len()), "sweep {i}: {} points", sweep.len());
        let (mut last_time, mut last_ring) = (0.0, -1.0);
        for k in 0..sweep.len() {
            let row = sweep.points().row(k);
            assert!(row.iter().all(|v| v.is_finite()));
            let range = row[..3].iter().map(|v| v * v).sum::<f32>().sqrt();
            // The frame is that of the sweep's start: the car drives on by up to a metre.
            assert!((1.0..121.5).contains(&range), "{range}");
            assert!((0.0..=1.0).contains(&row[3]));
            assert!((0.0..64.0).contains(&row[4]) && row[4].fract() == 0.0);
            assert!((0.0..0.1).contains(&row[5]));
            assert!(row[5] > last_time || (row[5] == last_time && row[4] > last_ring), "row {k}");
            (last_time, last_ring) = (row[5], row[4]);
        }
    }
}

#[test]
fn the_road_lies_under_the_sensor() {
    let drive = default_drive();
    let sweep = drive.sweep(2);
    let near =
        (0..sweep.len()).map(|k| sweep.points().row(k)).filter(|r| r[0] > 2.0 && r[0] < 12.0 && r[1].abs() < 1.2);
    let mut heights: Vec<f32> = near.map(|r| r[2]).collect();
    heights.sort_by(f32::total_cmp);
    assert!(heights.len() > 1000);
    assert!((heights[heights.len() / 2] + SENSOR_HEIGHT as f32).abs() < 0.03);
}

#[test]
fn still_things_stay_where_they_are_in_the_world() {
    // The front walls of one stretch of houses, seen by two sweeps 0.8 s (8 m) apart: nothing but
    // noise between them.
    let drive = Drive::new(DriveParams { range_noise: 0.0, dropout: 0.0, ..DriveParams::default() });
    let cells = |i: usize| {
        let (sweep, pose) = (drive.sweep(i), drive.world_from_sensor(i));
        let mut cells: Vec<[i64; 3]> = (0..sweep.len())
            .map(|k| world(&pose, sweep.points().row(k)))
            .filter(|p| (0.0..20.0).contains(&p[0]) && p[1].abs() < 25.0 && p[2] > 0.3)
            .map(|p| p.map(|v| (v / 0.25).floor() as i64))
            .collect();
        cells.sort_unstable();
        cells.dedup();
        cells
    };
    let (a, b) = (cells(0), cells(8));
    let both = a.iter().filter(|c| b.binary_search(c).is_ok()).count();
    assert!(both * 2 > a.len().min(b.len()), "{both} of {} and {} cells", a.len(), b.len());
}

#[test]
fn compensation_is_the_poses_of_the_firings() {
    let made = |motion_compensated| {
        Drive::new(DriveParams { motion_compensated, azimuth_steps: 100, range_noise: 0.0, ..DriveParams::default() })
    };
    let (still, raw) = (made(true), made(false));
    let (a, b) = (still.sweep(3), raw.sweep(3));
    assert_eq!(a.len(), b.len());
    for k in 0..a.len() {
        let (p, q) = (a.points().row(k), b.points().row(k));
        assert_eq!(p[3..], q[3..]);
        let time = 0.3 + f64::from(p[5]);
        let (p, q) = (world(&still.world_from_sensor(3), p), world(&raw.world_from_sensor_at(time), q));
        assert!((0..3).all(|i| (p[i] - q[i]).abs() < 1e-4), "{p:?} {q:?}");
    }
}

#[test]
fn there_is_a_street_to_see() {
    let drive = default_drive();
    let (sweep, pose) = (drive.sweep(0), drive.world_from_sensor(0));
    let mut bands = [0; 4];
    for k in 0..sweep.len() {
        let p = world(&pose, sweep.points().row(k));
        let from_middle = (p[1] + 1.0).abs();
        let band = match p[2] {
            z if z < 0.25 => 0,
            z if z < 1.6 && from_middle < 7.0 => 1,
            z if z < 2.4 => 2,
            _ => 3,
        };
        bands[band] += 1;
    }
    let [ground, cars, walls, high] = bands;
    assert!(ground > 50_000 && cars > 8_000 && walls > 10_000 && high > 1_500, "{bands:?}");
}

#[test]
fn odd_sensors_work() {
    let small = DriveParams { beams: 2, azimuth_steps: 1, sweeps: 1, speed: 0.0, ..DriveParams::default() };
    assert!(Drive::new(small).sweep(0).len() <= 2);
    let drive = Drive::new(DriveParams { sweeps: 0, ..DriveParams::default() });
    assert!(drive.is_empty());
    let long = Drive::new(DriveParams { sweeps: 3000, azimuth_steps: 100, ..DriveParams::default() });
    assert!(long.sweep(2999).len() > 4000);
}

#[test]
fn every_seed_makes_a_street() {
    for seed in 1..20 {
        let drive = Drive::new(DriveParams { seed, sweeps: 1, ..DriveParams::default() });
        let points = drive.sweep(0).len();
        assert!((105_000..=128_000).contains(&points), "seed {seed}: {points} points");
    }
}
