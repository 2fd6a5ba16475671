//! Rows cut at the wrong number of columns are noticed, and rows that are cut right never:
//! synthetic sweeps of many kinds, and real ones where they are.
//!
//! `POINTMILL_SWEEPS` sets the number of synthetic sweeps.

use pointmill_io::{Format, ReadOptions, Warning, read, read_from};
use pointmill_synth::{Drive, DriveParams, Scene};
use std::path::Path;

/// Rows of which the length divides by every number of columns, so that nothing but their values
/// tells it.
const EACH: usize = 840;

/// The number that a warning names for rows of `columns`, read as `asked`.
fn likely(rows: &[f32], asked: usize) -> Option<usize> {
    let options = ReadOptions { format: Some(Format::Bin), columns: Some(asked), ..ReadOptions::default() };
    let scan = read_from(bytemuck::cast_slice(rows), "a", &options).unwrap();
    scan.warnings.iter().find_map(|warning| match warning {
        Warning::MixedColumns { columns, likely } => {
            assert_eq!(*columns, asked);
            Some(*likely)
        }
        _ => None,
    })
}

/// Sweeps of 3 to 8 columns: the first of x, y, z, intensity, ring and time, then the range and a
/// column of zeros.
fn rows(sweep: &[f32], columns: usize) -> Vec<f32> {
    let whole = sweep.len() / 6 / EACH * EACH;
    let row = |row: &[f32]| {
        let range = row[..3].iter().map(|v| v * v).sum::<f32>().sqrt();
        [row[0], row[1], row[2], row[3], row[4], row[5], range, 0.0].into_iter().take(columns)
    };
    sweep.chunks_exact(6).take(whole).flat_map(|r| row(r).collect::<Vec<_>>()).collect()
}

#[test]
fn synthetic_sweeps_raise_no_false_alarm_and_wrong_numbers_are_found() {
    let sweeps: usize = std::env::var("POINTMILL_SWEEPS").map_or(60, |text| text.parse().expect("a whole number"));
    let (mut wrong, mut found, mut named) = (0, 0, 0);
    for i in 0..sweeps {
        let scene = [Scene::Street, Scene::Loop, Scene::Tunnel][i % 3];
        let (beams, azimuth_steps) = ([16, 32, 64][i / 3 % 3], 150 + 37 * (i % 11));
        let params = DriveParams { scene, seed: i as u64 / 9, beams, azimuth_steps, ..DriveParams::default() };
        let sweep = Drive::new(params).sweep(i % 10);
        for columns in 3..=8 {
            let rows = rows(sweep.data(), columns);
            assert_eq!(likely(&rows, columns), None, "sweep {i} of {columns} columns");
            for asked in (3..=8).filter(|&asked| asked != columns) {
                let told = likely(&rows, asked);
                wrong += 1;
                found += u32::from(told.is_some());
                named += u32::from(told == Some(columns));
            }
        }
    }
    println!("{sweeps} sweeps: {wrong} read wrong, {found} found, {named} with the right number");
    assert!(f64::from(found) >= 0.95 * f64::from(wrong), "{found} of {wrong}");
    assert!(f64::from(named) >= 0.8 * f64::from(wrong), "{named} of {wrong}");
}

#[test]
fn real_sweeps_raise_no_false_alarm() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let (mut wrong, mut found) = (0, 0);
    for folder in ["kitti", "nuscenes"] {
        for file in std::fs::read_dir(shared.join(folder)).into_iter().flatten() {
            let path = file.unwrap().path();
            let scan = read(&path, &ReadOptions::default()).unwrap();
            let alarm = |w: &Warning| matches!(w, Warning::MixedColumns { .. });
            assert!(!scan.warnings.iter().any(alarm), "{}", path.display());
            let columns = scan.cloud.columns();
            let rows = &scan.cloud.data()[..scan.cloud.len() / EACH * EACH * columns];
            assert_eq!(likely(rows, columns), None, "{}", path.display());
            for asked in (3..=8).filter(|&asked| asked != columns) {
                wrong += 1;
                found += u32::from(likely(rows, asked).is_some());
            }
        }
    }
    assert!(f64::from(found) >= 0.95 * f64::from(wrong), "{found} of {wrong}");
}

#[test]
fn lasers_that_fire_in_turn_raise_no_false_alarm() {
    // Every other row is nearer than the next: a shortened file of such rows divides by 8 values
    // too.
    let mut state = 1u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state as f32 / 4_294_967_296.0
    };
    let row = |i: u32| {
        let (angle, turn) = (i as f32 * 0.002 * std::f32::consts::PI, (i % 2) as f32);
        [(10.0 + turn) * angle.cos(), (10.0 + turn) * angle.sin(), 2.0 * random() + turn, random()]
    };
    let rows: Vec<f32> = (0..20_000).flat_map(row).collect();
    assert_eq!(likely(&rows, 4), None);
    let told = Warning::MixedColumns { columns: 5, likely: 4 }.to_string();
    assert_eq!(told, "5 values per point is probably wrong; try --columns 4");
}

#[test]
fn shortened_real_sweeps_raise_no_false_alarm() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/kitti");
    for file in std::fs::read_dir(shared).into_iter().flatten() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for length in (96_000..bytes.len()).step_by(96_000) {
            let rows: Vec<f32> = bytes[..length].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
            assert_eq!(likely(&rows, 4), None, "{length} bytes");
        }
    }
}
