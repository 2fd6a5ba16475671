//! Pairs of real drives without a guess: what becomes of them, printed.

use super::super::candidates::{alike, candidates};
use super::super::evidence::{View, overlaps};
use super::super::surface::Surface;
use super::super::types::Limits;
use super::*;
use crate::testing::repository;
use pointmill_core::registration::pose::residual;
use pointmill_core::rigid::Rigid;
use pointmill_io::{ReadOptions, read};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

fn of(name: &str, or: f64) -> f64 {
    std::env::var(name).map_or(or, |n| n.parse().unwrap())
}

fn data() -> PathBuf {
    std::env::var_os("POINTMILL_TEST_DATA").map_or_else(|| repository("../shared/data"), PathBuf::from)
}

/// A sweep as the variables `THIN` (every so many points one is kept), `CROP` (metres) and `NOISE` (metres)
/// make it worse.
fn sweep(path: PathBuf, seed: u64) -> Vec<[f64; 3]> {
    let cloud = read(path, &ReadOptions::default()).unwrap().cloud;
    let (thin, crop, noise) = (of("THIN", 1.0) as usize, of("CROP", 1e9), of("NOISE", 0.0) as f32);
    let rows = Rows::from(&cloud);
    let mut random = Random(seed);
    let points = (0..rows.len()).step_by(thin).map(|k| rows.point(k));
    let near = points.filter(|p| p.iter().map(|x| x * x).sum::<f64>() < crop * crop);
    near.map(|p| p.map(|x| x + f64::from(random.between(-noise, noise)))).collect()
}

/// The sweeps of a drive, and their poses.
fn drive(name: &str, poses: &str) -> (Vec<Vec<[f64; 3]>>, Vec<Pose>) {
    let folder = data().join(name);
    let text = std::fs::read_to_string(folder.join(poses)).unwrap();
    let row = |line: &str| {
        let m: Vec<f64> = line.split_ascii_whitespace().map(|x| x.parse().unwrap()).collect();
        let rotation = [0, 1, 2].map(|i| [0, 1, 2].map(|k| m[4 * i + k]));
        let (rotation, _) = pointmill_core::rigid::nearest_rotation(&rotation);
        Pose::from(Rigid { rotation, translation: [m[3], m[7], m[11]] })
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "laz"));
    files.sort();
    let [from, to] = [("FROM", 0.0), ("TO", 1e9)].map(|(name, or)| of(name, or) as usize);
    let wanted = |i: &usize| (from..=to).contains(i);
    let every = of("EVERY_SWEEP", 1.0) as usize;
    let poses: Vec<Pose> = text.lines().filter(|line| !line.trim().is_empty()).map(row).collect();
    let chosen: Vec<usize> = (0..files.len()).filter(wanted).step_by(every).collect();
    (chosen.iter().map(|&i| sweep(files[i].clone(), i as u64)).collect(), chosen.iter().map(|&i| poses[i]).collect())
}

/// How the pairs of a drive end, by distance: found and right, found and wrong, verdicts, and of the rest what
/// the features found. `DRIVE`, `POSES`, `APART` (metres, with commas), `YAWS`, `TILT` (radians), `VOXEL`,
/// `LEVEL`, `FROM` and `TO` (sweeps).
#[test]
#[ignore = "takes minutes; needs ../shared/data, and a build with the feature pointmill-io/laz"]
fn measure_pairs() {
    let text = |name: &str, or: &str| std::env::var(name).unwrap_or_else(|_| or.into());
    let (sweeps, poses) = drive(&text("DRIVE", "kitti04"), &text("POSES", "poses.txt"));
    let device = Device::cpu();
    let params =
        RegisterParams { voxel_size: of("VOXEL", 0.3), level: of("LEVEL", 0.0) != 0.0, ..RegisterParams::default() };
    let (yaws, within) = (of("YAWS", 4.0) as usize, of("WITHIN", 1.0));
    let targets: Vec<Target> = sweeps.iter().map(|sweep| Target::new(&sweep[..], &params, &device).unwrap()).collect();
    for apart in text("APART", "10,20,30").split(',').map(|x| x.parse::<f64>().unwrap()) {
        let (mut tries, mut right, mut wrong, mut ms) = (0, 0, 0, Vec::new());
        let mut ends: BTreeMap<String, usize> = BTreeMap::new();
        for (a, b) in (0..sweeps.len()).flat_map(|a| (0..sweeps.len()).map(move |b| (a, b))) {
            let truth = poses[a].inverse().compose(&poses[b]);
            let length = |v: [f64; 3]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
            if (length(truth.translation()) - apart).abs() > within {
                continue;
            }
            for k in 0..yaws {
                let tilt = of("TILT", 0.0);
                let yaw = k as f64 * std::f64::consts::TAU / yaws as f64;
                let turn = Pose::from_xyzrpy([0.0, 0.0, 0.0, tilt, -0.5 * tilt, yaw]).unwrap();
                let source = moved(&sweeps[b], &turn);
                let start = Instant::now();
                let found = targets[a].register(&source[..]).unwrap();
                ms.push(start.elapsed().as_secs_f64() * 1e3);
                let error = truth.compose(&turn.inverse()).inverse().compose(&found.target_from_source);
                let is_right = length(error.translation()) < 2.0 && length(error.rotation_vector()).to_degrees() < 5.0;
                tries += 1;
                if found.verdict == Verdict::Found {
                    right += usize::from(is_right);
                    wrong += usize::from(!is_right);
                } else {
                    *ends
                        .entry(format!("{} {}", found.verdict, ["wrong", "right"][usize::from(is_right)]))
                        .or_default() += 1;
                }
                if found.verdict == Verdict::Found && is_right && of("ALL", 0.0) == 0.0 {
                    continue;
                }
                println!(
                    "  {a}-{b} yaw {k}: {} {is_right}, {} of {} matches, {} candidates, share {:.2} {:.2}, extent {:.2} {:.2}, margin {:.2}, {:.0} ms{}",
                    found.verdict,
                    found.inliers,
                    found.matches,
                    found.candidates,
                    found.source_overlap.share(),
                    found.target_overlap.share(),
                    found.source_overlap.extent(),
                    found.target_overlap.extent(),
                    found.margin,
                    ms[ms.len() - 1],
                    if params.level {
                        String::new()
                    } else {
                        stages([&source, &sweeps[a]], &truth.compose(&turn.inverse()), &params)
                    },
                );
            }
        }
        ms.sort_by(f64::total_cmp);
        let Some(most) = ms.last() else { continue };
        println!(
            "{apart} m: {tries} pairs; right {right}, wrong {wrong}; {ends:?}; median {:.0} ms, most {most:.0}",
            ms[ms.len() / 2]
        );
    }
}

/// What the features of a pair found of the truth.
fn stages([source, target]: [&[[f64; 3]]; 2], truth: &Pose, params: &RegisterParams) -> String {
    let (stream, voxel) = (Device::cpu().stream().unwrap(), params.voxel_size);
    let [s, t] =
        [source, target].map(|cloud| Surface::new(&Rows::from(cloud), params, &stream, Argument::Source).unwrap());
    let [sv, tv] = [&s, &t].map(|surface| View::new(surface, &stream).unwrap());
    let truth = truth.about(s.centre, t.centre);
    let matches = Surface::matches(&s, &t).unwrap();
    let limit = (3.0 * voxel).powi(2);
    let true_matches = matches.iter().filter(|of| residual(truth.rigid(), of) < limit).count();
    let limits = Limits { tolerance: 1.5 * voxel as f32, shortest: 5.0 * voxel as f32, width: 2.0 * voxel };
    let (kept, _) = candidates(&stream, &matches, &limits, sv.middle).unwrap();
    let at = kept.iter().position(|k| alike([&k.pose, truth.rigid()], sv.middle, 2.0, 0.1));
    let inliers = at.map(|at| kept[at].inliers);
    let [forth, back] = overlaps((&sv, &s), (&tv, &t), &[*truth.rigid()], voxel).unwrap()[0];
    format!(
        "; true matches {true_matches}, true candidate {at:?} with {inliers:?} (best {}); truth: share {:.2} {:.2}, extent {:.2} {:.2}",
        kept.first().map_or(0, |k| k.inliers),
        forth.share(),
        back.share(),
        forth.extent(),
        back.extent()
    )
}

/// Clouds of different places: none may be found. `LEVEL` as above.
#[test]
#[ignore = "takes minutes; needs ../shared/data, and a build with the feature pointmill-io/laz"]
fn measure_different_places() {
    let name = |folder: &str, file: &str| data().join(folder).join(file);
    let sets: Vec<Vec<PathBuf>> = vec![
        ["000000.laz", "000008.laz", "000016.laz", "000024.laz"].map(|f| name("kitti04", f)).to_vec(),
        ["0000000000.laz", "0000000011.laz", "0000000021.laz"].map(|f| name("drive", f)).to_vec(),
        ["000000.laz", "000010.laz", "000020.laz"].map(|f| name("kaist03", f)).to_vec(),
        ["000.laz", "006.laz", "013.laz"].map(|f| name("apollo", f)).to_vec(),
        ["source.ply", "target.ply"].map(|f| name("pair", f)).to_vec(),
        ["000000.laz", "000100.laz"].map(|f| name("livox_hku2", f)).to_vec(),
        vec![name("kitti", "000000000.bin")].into_iter().filter(|p| p.exists()).collect(),
    ];
    let clouds: Vec<(usize, Vec<[f64; 3]>)> = sets
        .into_iter()
        .enumerate()
        .flat_map(|(set, files)| files.into_iter().map(move |file| (set, sweep(file, set as u64))))
        .collect();
    let params =
        RegisterParams { voxel_size: of("VOXEL", 0.3), level: of("LEVEL", 0.0) != 0.0, ..RegisterParams::default() };
    let (mut tries, mut wrong, mut ms, mut ends) = (0, 0, Vec::new(), BTreeMap::<String, usize>::new());
    for (a, target) in &clouds {
        let target = Target::new(&target[..], &params, &Device::cpu()).unwrap();
        for (b, source) in clouds.iter().filter(|(b, _)| a != b) {
            let start = Instant::now();
            let found = target.register(&source[..]).unwrap();
            ms.push(start.elapsed().as_secs_f64() * 1e3);
            tries += 1;
            *ends.entry(found.verdict.to_string()).or_default() += 1;
            let [s, t] = [found.source_overlap, found.target_overlap];
            let worst = s.extent().min(t.extent());
            if found.verdict == Verdict::Found || worst > 0.15 {
                wrong += usize::from(found.verdict == Verdict::Found);
                println!(
                    "  {a}-{b}: {} share {:.2} {:.2} extent {:.2} {:.2} margin {:.2}",
                    found.verdict,
                    s.share(),
                    t.share(),
                    s.extent(),
                    t.extent(),
                    found.margin
                );
            }
        }
    }
    ms.sort_by(f64::total_cmp);
    println!("{tries} pairs, found {wrong}; {ends:?}; median {:.0} ms, most {:.0}", ms[ms.len() / 2], ms[ms.len() - 1]);
}
