//! How often a search is right, and how often it is wrong and says that it is right: printed, with
//! the time. On the GPU where `POINTMILL_TEST_GPU` is set.

use super::*;
use pointmill::internals::testing::Random;
use std::sync::Arc;

pub(super) fn of(name: &str, or: usize) -> usize {
    std::env::var(name).map_or(or, |n| n.parse().unwrap())
}

fn device() -> Device {
    pointmill::internals::testing::gpu().unwrap_or_else(Device::cpu)
}

/// The drives that are measured on, with their maps.
fn drives() -> impl Iterator<Item = (Scene, Drive, Arc<NdtGrid>)> {
    let (seed, sweeps) = (of("SEED", 1) as u64, of("SWEEPS", 100));
    [Scene::Street, Scene::Loop].into_iter().map(move |scene| {
        let drive = Drive::new(DriveParams { scene, seed, sweeps, azimuth_steps: 1000, ..DriveParams::default() });
        let grid = Arc::new(grid(&moments(&drive), &device()));
        (scene, drive, grid)
    })
}

fn is_right(truth: &Pose, pose: &Pose) -> bool {
    let [metres, degrees] = errors(truth, pose);
    metres < 0.5 && degrees < 2.0
}

/// Searches in +-20 m and all yaws, of which the truth is anywhere.
#[test]
#[ignore = "takes minutes; STARTS, SEED and SWEEPS set how many"]
fn measure_starts() {
    let (starts, cpu) = (of("STARTS", 20), device().stream().unwrap());
    for (scene, drive, grid) in drives() {
        let mut random = Random(of("SEED", 1) as u64);
        let (mut found, mut first, mut false_fixes, mut ms) = (0, 0, 0, Vec::new());
        for start in 0..starts {
            let i = 2 * random.below(drive.len() as u64 / 2 - 1) as usize + 1;
            let [dx, dy, yaw] = [20.0, 20.0, std::f32::consts::PI].map(|by| f64::from(random.between(-by, by)));
            let turn = Pose::from_xyzrpy([0.0, 0.0, 0.0, 0.0, 0.0, yaw]).unwrap();
            let truth = truth(&drive, i) * turn.inverse();
            let [x, y, _] = truth.translation();
            let region = Some([x + dx - 20.0, y + dy - 20.0, x + dx + 20.0, y + dy + 20.0]);
            let params = LocalizerParams { region, ..LocalizerParams::default() };
            let mut localizer = Localizer::new(&cpu, Arc::clone(&grid), &params).unwrap();
            let fix = localizer.push(Rows::from(&moved(&drive, i, &turn)[..]), None).unwrap();
            let right = |one: &Candidate| is_right(&truth, &one.registration.target_from_source);
            let best = fix.candidates.first().is_some_and(right);
            first += usize::from(best);
            found += usize::from(best && fix.status.is_fix());
            false_fixes += usize::from(!best && fix.status.is_fix());
            ms.push(fix.timing.search_ms);
            if !(best && fix.status.is_fix()) {
                println!("{scene} {start}, sweep {i}: {:?}, margin {:?}", fix.rejection, fix.margin);
                for one in fix.candidates.iter().take(2) {
                    let off = errors(&truth, &one.registration.target_from_source);
                    println!("   off {off:.2?}, {:.3}, {:?}", one.score, one.evidence);
                }
            }
        }
        ms.sort_by(f64::total_cmp);
        println!(
            "{scene}: of {starts} starts {first} are right, {found} of them fixes; {false_fixes} false fixes; {:.0} ms, most {:.0}",
            ms[ms.len() / 2],
            ms[ms.len() - 1]
        );
    }
}

/// Starts with a guess that is up to 20 m and 20 degrees off: how often tracking says that a wrong
/// place is right.
#[test]
#[ignore = "takes minutes; STARTS, SEED and SWEEPS set how many"]
fn measure_wrong_guesses() {
    let starts = of("STARTS", 200);
    for (scene, drive, grid) in drives() {
        let mut random = Random(of("SEED", 1) as u64);
        let params = LocalizerParams::default();
        let mut localizer = Localizer::new(&device().stream().unwrap(), grid, &params).unwrap();
        let (mut fixes, mut false_fixes) = (0, 0);
        for _ in 0..starts {
            let i = 2 * random.below(drive.len() as u64 / 2 - 1) as usize + 1;
            let [dx, dy, yaw] = [20.0, 20.0, 0.35].map(|by| f64::from(random.between(-by, by)));
            let truth = truth(&drive, i);
            localizer.start(&(truth * Pose::from_xyzrpy([dx, dy, 0.0, 0.0, 0.0, yaw]).unwrap())).unwrap();
            let fix = localizer.push(&drive.sweep(i), None).unwrap();
            fixes += usize::from(fix.status.is_fix());
            if fix.status.is_fix() && !is_right(&truth, &fix.map_from_sensor) {
                false_fixes += 1;
                println!("{scene}, sweep {i}: {:.2?} {:?}", errors(&truth, &fix.map_from_sensor), fix.evidence);
            }
        }
        println!("{scene}: of {starts} wrong guesses {fixes} fixes, {false_fixes} of them false");
    }
}

/// How often the truth is within two standard deviations.
#[test]
#[ignore = "takes minutes; TRIALS and SEED set how many"]
fn measure_coverage() {
    let trials = of("TRIALS", 200);
    for (scene, drive, grid) in drives() {
        for method in CovarianceMethod::ALL {
            let params = LocalizerParams { covariance: *method, ..LocalizerParams::default() };
            let mut localizer = Localizer::new(&device().stream().unwrap(), Arc::clone(&grid), &params).unwrap();
            let mut random = Random(of("SEED", 1) as u64);
            let (mut fixes, mut covered, mut squares, mut sigmas, mut ms) = (0usize, [0; 6], [0.0; 6], [0.0; 6], 0.0);
            let trials = if *method == CovarianceMethod::MultiNdt { trials / 8 } else { trials };
            for _ in 0..trials {
                let i = 2 * random.below(drive.len() as u64 / 2 - 1) as usize + 1;
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
