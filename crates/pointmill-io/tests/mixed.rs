//! Rows cut at the wrong number of columns are noticed, and rows that are cut right never: synthetic sweeps of many kinds, and real ones where they are.
//!
//! `POINTMILL_SWEEPS` sets the number of synthetic sweeps.

use pointmill_io::{Format, ReadOptions, Warning, read, read_from};
use pointmill_synth::{Drive, DriveParams, Scene};
use std::path::Path;

/// Rows of which the length divides by every number of columns, so that nothing but their values tells it.
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

/// Sweeps of 3 to 8 columns: the first of x, y, z, intensity, ring and time, then the range and a column of zeros.
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
