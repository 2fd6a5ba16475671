//! How often a search is right, and how often it is wrong and says that it is right: printed, with the time.

use super::*;
use crate::testing::Random;
use std::sync::Arc;

fn of(name: &str, or: usize) -> usize {
    std::env::var(name).map_or(or, |n| n.parse().unwrap())
}

#[test]
#[ignore = "takes minutes; STARTS, SEED and SWEEPS set how many"]
fn measure_starts() {
    let (starts, seed, sweeps) = (of("STARTS", 20), of("SEED", 1) as u64, of("SWEEPS", 100));
    let full = DriveParams { azimuth_steps: 1000, ..DriveParams::default() };
    for scene in [Scene::Street, Scene::Loop] {
        let drive = Drive::new(DriveParams { scene, seed, sweeps, ..full });
        let grid = Arc::new(grid(&moments(&drive), &Device::cpu()));
        let mut random = Random(seed);
        let (mut found, mut wrong, mut false_fixes, mut ms) = (0, 0, 0, Vec::new());
        for start in 0..starts {
            let i = 2 * random.below(sweeps as u64 / 2 - 1) as usize + 1;
            let truth = truth(&drive, i);
            // The region is off the truth, and the scan is turned.
            let [x, y, _] = truth.translation();
            let [dx, dy, yaw] = [20.0, 20.0, std::f32::consts::PI].map(|by| f64::from(random.between(-by, by)));
            let region = Some([x + dx - 20.0, y + dy - 20.0, x + dx + 20.0, y + dy + 20.0]);
            let turn = Pose::from_xyzrpy([0.0, 0.0, 0.0, 0.0, 0.0, yaw]).unwrap();
            let sweep = drive.sweep(i);
            let scan: Vec<[f64; 3]> = (0..sweep.len()).map(|k| turn.apply(Rows::from(&sweep).point(k))).collect();
            let params = LocalizerParams { region, ..LocalizerParams::default() };
            let mut localizer = Localizer::new(&Device::cpu().stream().unwrap(), Arc::clone(&grid), &params).unwrap();
            let fix = localizer.push(Rows::from(&scan[..]), None).unwrap();
            let best = fix.candidates.first();
            let off = best.map_or([f64::INFINITY; 2], |best| {
                errors(&(truth * turn.inverse()), &best.registration.target_from_source)
            });
            let right = off[0] < 0.5 && off[1] < 2.0;
            found += usize::from(right && fix.status.is_fix());
            wrong += usize::from(!right);
            false_fixes += usize::from(!right && fix.status.is_fix());
            ms.push(fix.timing.search_ms);
            if !right || !fix.status.is_fix() {
                println!(
                    "{scene} {start} sweep {i} off {off:?} {:?} margin {:?} {:?}",
                    fix.rejection,
                    fix.margin,
                    (dx, dy)
                );
                for one in fix.candidates.iter().take(3) {
                    let off = errors(&(truth * turn.inverse()), &one.registration.target_from_source);
                    println!(
                        "   {off:.2?} score {:.3} {:?} nvtl {:.2} {}",
                        one.score, one.evidence, one.registration.fit.nvtl, one.registration.status
                    );
                }
            } else if start % 10 == 0 {
                let e = &fix.candidates[0];
                println!(
                    "ok {off:.3?} margin {:.3} score {:.3} {:?} nvtl {:.2}",
                    fix.margin.unwrap(),
                    e.score,
                    e.evidence,
                    e.registration.fit.nvtl
                );
            }
        }
        ms.sort_by(f64::total_cmp);
        println!(
            "{scene}: {found} of {starts} fixes, {wrong} wrong places first, {false_fixes} false fixes; ms {:.0} median, {:.0} most",
            ms[ms.len() / 2],
            ms[ms.len() - 1]
        );
    }
}

#[test]
#[ignore = "takes minutes; TRIALS and SEED set how many"]
fn measure_coverage() {
    let (trials, seed) = (of("TRIALS", 200), of("SEED", 1) as u64);
    for scene in [Scene::Street, Scene::Loop] {
        let drive = Drive::new(DriveParams { scene, seed, sweeps: 100, azimuth_steps: 1000, ..DriveParams::default() });
        let grid = Arc::new(grid(&moments(&drive), &Device::cpu()));
        for method in CovarianceMethod::ALL {
            let params = LocalizerParams { covariance: *method, ..LocalizerParams::default() };
            let mut localizer = Localizer::new(&Device::cpu().stream().unwrap(), Arc::clone(&grid), &params).unwrap();
            let mut random = Random(seed);
            let (mut fixes, mut covered, mut squares, mut sigmas, mut ms) = (0usize, [0; 6], [0.0; 6], [0.0; 6], 0.0);
            let trials = if *method == CovarianceMethod::MultiNdt { trials / 8 } else { trials };
            for _ in 0..trials {
                let i = 2 * random.below(49) as usize + 1;
                let truth = truth(&drive, i);
                let mut by = |most: f32| f64::from(random.between(-most, most));
                let [dx, dy, yaw] = [by(0.7), by(0.7), by(0.05)];
                localizer.start(&(truth * Pose::from_xyzrpy([dx, dy, 0.0, 0.0, 0.0, yaw]).unwrap())).unwrap();
                let fix = localizer.push(&drive.sweep(i), None).unwrap();
                let Some(covariance) = fix.covariance.filter(|_| fix.status.is_fix()) else { continue };
                let (got, wanted) = (fix.map_from_sensor.xyzrpy(), truth.xyzrpy());
                fixes += 1;
                ms += fix.timing.align_ms;
                for k in 0..6 {
                    let off = got[k] - wanted[k];
                    let off = if k < 3 { off } else { off.sin() };
                    covered[k] += usize::from(off.abs() <= 2.0 * covariance[k][k].sqrt());
                    squares[k] += off * off;
                    sigmas[k] += covariance[k][k];
                }
            }
            let n = fixes as f64;
            println!("{scene}, {method}: {fixes} of {trials} fixes, {:.1} ms", ms / n);
            println!("   within 2 sigma {:.3?}", covered.map(|c| f64::from(c as u32) / n));
            println!(
                "   rms error {:.5?}, sigma {:.5?}",
                squares.map(|s| (s / n).sqrt()),
                sigmas.map(|s| (s / n).sqrt())
            );
        }
    }
}
