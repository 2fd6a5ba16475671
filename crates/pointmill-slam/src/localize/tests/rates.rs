//! How often a map of another place has a fix, and how often the right place has none: printed for
//! several values of `min_explained`.
//!
//! Synthetic drives, and real ones where `POINTMILL_TEST_DATA` or `../shared/data` has them. Maps
//! are of the even sweeps, scans are the odd ones. With `ONE` maps are of the first sweep alone, and
//! scans are those 5 to 25 m from it.

use super::*;
use crate::odometry::{Odometry, OdometryParams};
use pointmill::internals::testing::{Random, repository};
use pointmill_io::{ReadOptions, read};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The values of `min_explained` that are compared.
const LIMITS: [f64; 7] = [0.5, 0.55, 0.58, 0.6, 0.65, 0.7, 0.75];

/// A map, and scans with their poses in it.
struct Site {
    kind: &'static str,
    name: String,
    grid: Arc<NdtGrid>,
    scans: Vec<(Vec<[f64; 3]>, Pose)>,
}

/// What a scan was tried with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trial {
    OtherStart,
    OtherSearch,
    SameFarStart,
    SameStart,
    SameSearch,
}

impl Site {
    fn new(kind: &'static str, name: String, sweeps: Vec<Vec<[f64; 3]>>, poses: &[Pose]) -> Self {
        let mut moments = NdtMoments::new(2.0).unwrap();
        let mut scans = Vec::new();
        for (i, (sweep, pose)) in sweeps.into_iter().zip(poses).enumerate() {
            let is_map = if of_one_sweep() { i == 0 } else { i % 2 == 0 };
            if is_map {
                let world: Vec<_> = sweep.iter().map(|p| pose.apply(*p)).collect();
                moments.add(Rows::from(&world[..])).unwrap();
            } else if !of_one_sweep() || (5.0..=25.0).contains(&errors(&poses[0], pose)[0]) {
                scans.push((sweep, *pose));
            }
        }
        Self { kind, name, grid: Arc::new(grid(&moments, &Device::cpu())), scans }
    }

    /// A synthetic drive, with its true poses.
    fn synthetic(scene: Scene, seed: u64) -> Self {
        let sweeps = if of_one_sweep() { 25 } else { 12 };
        let drive = Drive::new(DriveParams { scene, seed, sweeps, azimuth_steps: 1000, ..DriveParams::default() });
        let poses: Vec<_> = (0..drive.len()).map(|i| truth(&drive, i)).collect();
        let kind = scene.as_str();
        Self::new(kind, format!("{kind} {seed}"), (0..drive.len()).map(|i| scan(&drive, i)).collect(), &poses)
    }

    /// Sweeps of a folder, with the poses of odometry.
    fn real(folder: &Path) -> Option<Self> {
        let mut files: Vec<_> = std::fs::read_dir(folder).ok()?.map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|end| end == "laz"));
        files.sort();
        let stream = Device::cpu().stream().unwrap();
        let mut odometry = Odometry::new(&stream, &OdometryParams::default()).unwrap();
        let (mut sweeps, mut poses) = (Vec::new(), Vec::new());
        for file in files {
            let cloud = read(&file, &ReadOptions::default()).unwrap().cloud;
            poses.push(odometry.push(&cloud, None).unwrap().world_from_sensor);
            let rows = Rows::from(&cloud);
            sweeps.push((0..rows.len()).map(|k| rows.point(k)).collect());
        }
        let name = folder.file_name()?.to_string_lossy().into_owned();
        Some(Self::new("real", name, sweeps, &poses))
    }
}

/// Whether maps are of the first sweep alone.
fn of_one_sweep() -> bool {
    measure::of("ONE", 0) == 1
}

/// The real drives of a measurement: those of `DRIVES`, or all.
fn real_sites() -> Vec<Site> {
    let data = std::env::var_os("POINTMILL_TEST_DATA").map_or_else(|| repository("../shared/data"), Into::into);
    let names = std::env::var("DRIVES").unwrap_or_else(|_| "drive kitti04 kaist03 apollo".into());
    names.split_whitespace().filter_map(|name| Site::real(&data.join(name))).collect()
}

/// Tries a scan of a site in the map of one, and returns the fix and whether it is right.
fn tried(trial: Trial, map: &Site, site: &Site, random: &mut Random) -> (Fix, bool) {
    let mut by = |most: f64| f64::from(random.between(-1.0, 1.0)) * most;
    let [a, b, c, far] = [by(1.0), by(1.0), by(1.0), by(1.0)];
    let mut pick = |count: usize| random.below(count as u64) as usize;
    let (scan, pose) = &site.scans[pick(site.scans.len())];
    // In a map of another place, where a vehicle may well have been.
    let about = if std::ptr::eq(map, site) { *pose } else { map.scans[pick(map.scans.len())].1 };
    // The shares of the scan that the map explains are looked at afterwards.
    let mut params = LocalizerParams { min_explained: 0.0, ..LocalizerParams::default() };
    let [x, y, _] = about.translation();
    if matches!(trial, Trial::OtherSearch | Trial::SameSearch) {
        params.region = Some([x + 6.0 * a - 7.0, y + 6.0 * b - 7.0, x + 6.0 * a + 7.0, y + 6.0 * b + 7.0]);
    }
    let mut localizer = Localizer::new(&Device::cpu().stream().unwrap(), Arc::clone(&map.grid), &params).unwrap();
    if params.region.is_none() {
        let [metres, degrees] = match (trial, far > 0.0) {
            (Trial::SameStart, _) => [std::f64::consts::FRAC_1_SQRT_2, 3.0],
            (_, true) => [14.0, 20.0],
            (_, false) => [3.0, 20.0],
        };
        let off = Pose::from_xyzrpy([metres * a, metres * b, 0.0, 0.0, 0.0, (degrees * c).to_radians()]).unwrap();
        localizer.start(&(about * off)).unwrap();
    }
    let fix = localizer.push(Rows::from(&scan[..]), None).unwrap();
    let [metres, degrees] = errors(pose, &fix.map_from_sensor);
    let right = std::ptr::eq(map, site) && metres < 0.5 && degrees < 2.0;
    (fix, right)
}

/// Fixes at each limit, right and wrong ones, of so many tries; and the extremes of what was
/// explained.
#[derive(Clone, Copy, Debug)]
struct Counts {
    tries: usize,
    right: [usize; LIMITS.len()],
    wrong: [usize; LIMITS.len()],
    least_right: f64,
    most_wrong: f64,
}

/// `TRIES` times a number for each kind of trial, in groups of drives; `OUT` gets a line for each
/// fix without a limit.
#[test]
#[ignore = "takes minutes; TRIES, SEED and SITES set how many"]
fn measure_rates() {
    let (tries, seed, sites) =
        (measure::of("TRIES", 10), measure::of("SEED", 1) as u64, measure::of("SITES", 4) as u64);
    let scenes = [Scene::Street, Scene::Loop, Scene::Tunnel];
    let made = (0..sites * 3).into_par_iter().map(|k| Site::synthetic(scenes[(k % 3) as usize], 100 * seed + k / 3));
    let synthetic: Vec<Site> = made.collect();
    let real = real_sites();
    for site in synthetic.iter().chain(&real) {
        println!("# {}: {} cells, {} scans", site.name, site.grid.len(), site.scans.len());
    }

    // Pairs of a map and a site, by group.
    let mut jobs: Vec<(String, Trial, &Site, &Site)> = Vec::new();
    for (trial, times) in [
        (Trial::OtherStart, 20),
        (Trial::OtherSearch, 1),
        (Trial::SameFarStart, 5),
        (Trial::SameStart, 10),
        (Trial::SameSearch, 1),
    ] {
        for all in [&synthetic, &real] {
            for map in all {
                // Another drive through the same kind of scene is the hardest map of another place.
                let others: Vec<_> = all.iter().filter(|site| site.kind == map.kind && site.name != map.name).collect();
                let own = matches!(trial, Trial::SameFarStart | Trial::SameStart | Trial::SameSearch);
                // There are few real drives.
                let times = tries * times * if map.kind == "real" { (sites / 2).max(1) as usize } else { 1 };
                for k in 0..times {
                    let site = if own { map } else { others[k % others.len()] };
                    jobs.push((map.kind.to_owned(), trial, map, site));
                }
            }
        }
    }
    let run = |(k, (kind, trial, map, site)): (usize, &(String, Trial, &Site, &Site))| {
        let (fix, right) = tried(*trial, map, site, &mut Random(seed << 32 | k as u64));
        (kind.clone(), *trial, right, fix, format!("{} in {}", site.name, map.name))
    };
    let found: Vec<_> = jobs.par_iter().enumerate().map(run).collect();

    let mut all: BTreeMap<(Trial, String), Counts> = BTreeMap::new();
    let mut lines = String::new();
    for (kind, trial, right, fix, of) in found {
        let none = Counts { tries: 0, right: [0; 7], wrong: [0; 7], least_right: 1.0, most_wrong: 0.0 };
        let counts = all.entry((trial, kind)).or_insert(none);
        counts.tries += 1;
        let evidence = fix.evidence.unwrap_or_default();
        let nvtl = fix.registration.as_ref().map_or(0.0, |found| found.fit.nvtl);
        let share = evidence.confirmed_share();
        lines += &format!(
            "{trial:?},{of},{},{:?},{right},{:.4},{share:.4},{},{nvtl:.4},{:?}\n",
            fix.status, fix.rejection, evidence.explained, evidence.confirmed, fix.margin
        );
        if !fix.status.is_fix() {
            continue;
        }
        for (k, limit) in LIMITS.iter().enumerate() {
            let of = if right { &mut counts.right } else { &mut counts.wrong };
            of[k] += usize::from(evidence.explained >= *limit);
        }
        if right {
            counts.least_right = counts.least_right.min(evidence.explained);
        } else {
            counts.most_wrong = counts.most_wrong.max(evidence.explained);
        }
    }
    if let Ok(out) = std::env::var("OUT") {
        std::fs::write(out, lines).unwrap();
    }
    println!("limits {LIMITS:?}");
    for ((trial, kind), Counts { tries, right, wrong, least_right, most_wrong }) in all {
        println!(
            "{trial:?}, {kind}: {tries} tries; right {right:?}, wrong {wrong:?}; explained: right from {least_right:.3}, wrong to {most_wrong:.3}"
        );
    }
}

/// Searches of +-`METRES` and all yaws on real drives: how many are fixes, right and wrong, and how
/// long they take.
#[test]
#[ignore = "takes minutes; METRES and SCANS set how many"]
fn measure_real_searches() {
    let (metres, scans) = (measure::of("METRES", 80) as f64, measure::of("SCANS", 4));
    for site in real_sites() {
        for k in 0..scans {
            let (scan, pose) = &site.scans[k * site.scans.len() / scans];
            let turn = Pose::from_xyzrpy([0.0, 0.0, 0.0, 0.0, 0.0, k as f64]).unwrap();
            let scan: Vec<_> = scan.iter().map(|p| turn.apply(*p)).collect();
            let truth = *pose * turn.inverse();
            let [x, y, _] = truth.translation();
            let region = Some([x - metres, y - metres, x + metres, y + metres]);
            let params = LocalizerParams { region, ..LocalizerParams::default() };
            let mut localizer =
                Localizer::new(&Device::cpu().stream().unwrap(), Arc::clone(&site.grid), &params).unwrap();
            let fix = localizer.push(Rows::from(&scan[..]), None).unwrap();
            let off = fix.candidates.first().map(|one| errors(&truth, &one.registration.target_from_source));
            println!(
                "{} {k}: {} {:?}, first {off:.2?} off, margin {:.3?}, {:.0} ms",
                site.name, fix.status, fix.rejection, fix.margin, fix.timing.search_ms
            );
        }
    }
}
