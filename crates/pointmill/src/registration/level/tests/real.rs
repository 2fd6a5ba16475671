//! Pairs of a real drive without a guess: printed, with the times.

use super::*;
use crate::Pose;
use crate::testing::repository;
use pointmill_io::{ReadOptions, read};
use std::path::PathBuf;
use std::time::Instant;

fn of(name: &str, or: f64) -> f64 {
    std::env::var(name).map_or(or, |n| n.parse().unwrap())
}

/// All pairs of KITTI 04 that are 10, 20 and 30 m apart, from 12 yaws each: of how many the first
/// candidate, or one of all, is within 2 m and 5 degrees.
#[test]
#[ignore = "takes minutes; needs ../shared/data, and a build with the feature pointmill-io/laz"]
fn measure_pairs() {
    let data = std::env::var_os("POINTMILL_TEST_DATA").map_or_else(|| repository("../shared/data"), PathBuf::from);
    let folder = data.join("kitti04");
    let text = std::fs::read_to_string(folder.join("poses.txt")).unwrap();
    let poses: Vec<Pose> = text
        .lines()
        .map(|line| {
            let m: Vec<f64> = line.split_ascii_whitespace().map(|x| x.parse().unwrap()).collect();
            let row = |i: usize| [m[4 * i], m[4 * i + 1], m[4 * i + 2], m[4 * i + 3]];
            Pose::from_matrix(&[row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]]).unwrap()
        })
        .collect();
    let (unit, metres) = (of("UNIT", 2.0), of("METRES", 80.0));
    let sweeps: Vec<Vec<[f64; 3]>> = (0..25)
        .map(|i| {
            let cloud = read(folder.join(format!("{i:06}.laz")), &ReadOptions::default()).unwrap().cloud;
            let rows = Rows::from(&cloud);
            (0..rows.len()).map(|k| rows.point(k)).collect()
        })
        .collect();
    let device = Device::cpu();
    let params = LevelTargetParams {
        step: std::env::var("STEP").ok().map(|x| x.parse().unwrap()),
        range: of("RANGE", 40.0),
        region: Some([-metres, -metres, metres, metres]),
        ground: of("GROUND", 1.0) != 0.0,
    };
    let mut ms = Vec::new();
    let targets: Vec<LevelTarget> = sweeps
        .iter()
        .map(|sweep| {
            let grid = ndt_grid(Rows::from(&sweep[..]), unit, &NdtParams::default(), &device).unwrap();
            let start = Instant::now();
            let target = LevelTarget::new(&grid, &params).unwrap();
            ms.push(start.elapsed().as_secs_f64() * 1e3);
            target
        })
        .collect();
    ms.sort_by(f64::total_cmp);
    println!("prepare: median {:.0} ms, most {:.0}", ms[ms.len() / 2], ms[ms.len() - 1]);
    let params = LevelParams { turn: of("TURN", 2.0).to_radians(), ..LevelParams::default() };
    for apart in [10.0, 20.0, 30.0] {
        let (mut tries, mut first, mut any, mut ms, mut share) = (0, 0, 0, Vec::new(), Vec::new());
        for (a, b) in (0..25).flat_map(|a| (0..25).map(move |b| (a, b))) {
            let truth = poses[a].inverse().compose(&poses[b]);
            let off = truth.translation().iter().map(|x| x * x).sum::<f64>().sqrt();
            if (off - apart).abs() > 1.0 {
                continue;
            }
            for k in 0..12 {
                let turn = Pose::from_xyzrpy([0.0, 0.0, 0.0, 0.0, 0.0, f64::from(k) * PI / 6.0]).unwrap();
                if !(a + b + k as usize).is_multiple_of(of("EVERY", 1.0) as usize) {
                    continue;
                }
                let source: Vec<_> = sweeps[b].iter().map(|p| turn.apply(*p)).collect();
                let start = Instant::now();
                let found = targets[a].search(Rows::from(&source[..]), &params).unwrap();
                ms.push(start.elapsed().as_secs_f64() * 1e3);
                share.push(found.evaluated as f64 / found.places as f64);
                let right = |one: &LevelCandidate| {
                    let off = truth.compose(&turn.inverse()).inverse().compose(&one.target_from_source);
                    let length = |v: [f64; 3]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
                    length(off.translation()) < 2.0 && length(off.rotation_vector()).to_degrees() < 5.0
                };
                tries += 1;
                first += usize::from(found.candidates.first().is_some_and(right));
                any += usize::from(found.candidates.iter().any(right));
            }
        }
        ms.sort_by(f64::total_cmp);
        share.sort_by(f64::total_cmp);
        println!(
            "{apart} m: {tries} searches; first {first}, any of 10 {any}; median {:.0} ms, most {:.0}; looked at {:.3} of all places, most {:.3}",
            ms[ms.len() / 2],
            ms[ms.len() - 1],
            share[share.len() / 2],
            share[share.len() - 1]
        );
    }
}
