//! The answers of `fixtures/register`, made by an independent program.
//!
//! Means, features, matches, scores and counts are equal: sums are of whole numbers or in a fixed
//! order, and both round each operation on `f32` once. Normals and poses come from other
//! decompositions, in `f64`: normals differ by a step of `f32` at most, poses by rounding.

use super::candidates::{alike, candidates};
use super::cpu::{Cores, Surroundings};
use super::evidence::{View, overlaps};
use super::surface::Surface;
use super::types::{Limits, Radii};
use super::{RegisterParams, register};
use crate::testing::repository;
use crate::{Argument, Device, Pose, Rows, Stream};
use pointmill_core::registration::Match;
use pointmill_core::rigid::Rigid;
use pointmill_io::{Array, read_npz};
use std::collections::BTreeMap;

/// Arrays of a file.
struct Case {
    name: String,
    arrays: BTreeMap<String, Array>,
}

impl Case {
    fn all() -> Vec<Self> {
        let folder = std::fs::read_dir(repository("fixtures/register")).unwrap();
        let cases: Vec<Self> = folder
            .map(|entry| entry.unwrap().path())
            .map(|path| Self { name: path.display().to_string(), arrays: read_npz(&path).unwrap() })
            .collect();
        assert_eq!(cases.len(), 3);
        cases
    }

    fn f32s(&self, name: &str) -> &[f32] {
        self.arrays[name].as_f32().unwrap()
    }

    fn f64s(&self, name: &str) -> &[f64] {
        self.arrays[name].as_f64().unwrap()
    }

    fn i32s(&self, name: &str) -> &[i32] {
        self.arrays[name].as_i32().unwrap()
    }

    fn i64s(&self, name: &str) -> &[i64] {
        self.arrays[name].as_i64().unwrap()
    }

    fn cloud(&self, name: &str) -> Rows<'_> {
        let array = &self.arrays[name];
        let columns = array.shape()[1];
        match array.as_f64() {
            Ok(values) => Rows::f64(values, columns).unwrap(),
            Err(_) => Rows::f32(array.as_f32().unwrap(), columns).unwrap(),
        }
    }

    fn params(&self) -> RegisterParams {
        RegisterParams { voxel_size: self.f64s("voxel_size")[0], ..RegisterParams::default() }
    }

    fn surface(&self, name: &str, stream: &Stream) -> Surface {
        Surface::new(&self.cloud(name), &self.params(), stream, Argument::Source).unwrap()
    }

    /// Matches by the program's own points.
    fn matches(&self) -> Vec<Match> {
        let point = |side: &str, row: i32| {
            let i = self.i32s(&format!("{side}_rough"))[row as usize] as usize;
            [0, 1, 2].map(|k| self.f32s(&format!("{side}_points"))[3 * i + k])
        };
        self.i32s("matches").chunks(2).map(|pair| [point("s", pair[0]), point("t", pair[1])]).collect()
    }

    /// The lengths that a registration uses, as its documentation says them.
    fn limits(&self) -> Limits {
        let voxel = self.params().voxel_size;
        Limits { tolerance: 1.5 * voxel as f32, shortest: 5.0 * voxel as f32, width: 2.0 * voxel }
    }

    fn pose(&self, seed: usize) -> Rigid {
        let rows: Vec<&[f64]> = self.f64s("pose")[12 * seed..12 * (seed + 1)].chunks(4).collect();
        Rigid { rotation: [0, 1, 2].map(|i| [0, 1, 2].map(|k| rows[i][k])), translation: [0, 1, 2].map(|i| rows[i][3]) }
    }
}

fn stream() -> Stream {
    Device::cpu().stream().unwrap()
}

/// The largest difference of two poses' entries.
fn apart(a: &Rigid, b: &Rigid) -> f64 {
    let entries = |p: &Rigid| p.matrix().concat();
    entries(a).iter().zip(entries(b)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn points_normals_and_features() {
    for case in Case::all() {
        let params = case.params();
        let radii = Radii { normal: params.normal_radius(), feature: params.feature_radius() };
        for (cloud, side) in [("source", "s"), ("target", "t")] {
            let what = format!("{} {cloud}", case.name);
            let found = case.surface(cloud, &stream());
            let of = |name: &str| format!("{side}_{name}");
            assert_eq!(found.centre[..], *case.f64s(&of("centre")), "{what}");
            assert_eq!(found.usable as i64, case.i64s(&of("usable"))[0], "{what}");
            assert_eq!(found.points.concat(), case.f32s(&of("points")), "{what}");
            let rough: Vec<i32> = found.rough.iter().map(|&i| i as i32).collect();
            assert_eq!(rough, case.i32s(&of("rough")), "{what}");
            for (i, (got, want)) in found.normals.iter().zip(case.f32s(&of("normals")).chunks(3)).enumerate() {
                let off = |sign: f32| (0..3).map(|k| (sign * got[k] - want[k]).abs()).fold(0.0, f32::max);
                assert!(off(1.0).min(off(-1.0)) <= 1.2e-7, "{what}, point {i}: {got:?}, wanted {want:?}");
            }
            let around = Surroundings::new(&found.points, &found.searcher, radii).unwrap();
            let features = around.features(&found.normals, &found.rough).unwrap();
            for (i, (got, want)) in features.rows.iter().zip(case.f32s(&of("features")).chunks(33)).enumerate() {
                assert_eq!(got[..], *want, "{what}, feature {i}");
            }
            assert_eq!(features.rows.len(), rough.len());
        }
    }
}

#[test]
fn matches_and_scores() {
    for case in Case::all() {
        let [source, target] = ["source", "target"].map(|name| case.surface(name, &stream()));
        let (wanted, limits) = (case.matches(), case.limits());
        assert_eq!(Surface::matches(&source, &target).unwrap(), wanted, "{}", case.name);
        let scores = Cores::new(&wanted, &limits).unwrap().scores().unwrap();
        let scores: Vec<i32> = scores.into_iter().map(|score| score as i32).collect();
        assert_eq!(scores, case.i32s("scores"), "{}", case.name);
    }
}

#[test]
fn poses_and_candidates() {
    for case in Case::all() {
        let (matches, limits) = (case.matches(), case.limits());
        let seeds: Vec<u32> = case.i32s("seeds").iter().map(|&seed| seed as u32).collect();
        let tried = Cores::new(&matches, &limits).unwrap().agree(&seeds, limits.width).unwrap();
        assert_eq!(tried.len(), case.i64s("inliers").len());
        for (i, got) in tried.iter().enumerate() {
            let (want, micrometres) = (case.pose(i), case.i64s("micrometres")[i] as u64);
            assert_eq!(got.inliers as i64, case.i64s("inliers")[i], "{}, seed {i}", case.name);
            assert!(apart(&got.pose, &want) < 1e-9, "{}, seed {i}: {:?}, wanted {want:?}", case.name, got.pose);
            assert!(got.micrometres.abs_diff(micrometres) <= 1, "{}, seed {i}", case.name);
        }
        let (kept, capped) = candidates(&stream(), &matches, &limits, [0.0; 3]).unwrap();
        let wanted = case.i32s("kept");
        assert_eq!((kept.len(), capped), (wanted.len(), false), "{}", case.name);
        for (got, &want) in kept.iter().zip(wanted) {
            assert_eq!(got.inliers as i64, case.i64s("inliers")[want as usize], "{}", case.name);
            assert!(apart(&got.pose, &case.pose(want as usize)) < 1e-9, "{}", case.name);
        }
    }
}

#[test]
fn overlaps_at_candidates() {
    for case in Case::all() {
        let stream = stream();
        let surfaces = ["source", "target"].map(|name| case.surface(name, &stream));
        let views = surfaces.each_ref().map(|surface| View::new(surface, &stream).unwrap());
        let poses: Vec<Rigid> = case.i32s("kept").iter().map(|&seed| case.pose(seed as usize)).collect();
        let [source, target] = [0, 1].map(|i| (&views[i], &surfaces[i]));
        let found = overlaps(source, target, &poses, case.params().voxel_size).unwrap();
        let found: Vec<i64> =
            found.iter().flatten().flat_map(|o| [o.probes, o.seen, o.met].map(|n| n as i64)).collect();
        assert_eq!(found, case.i64s("overlap"), "{}", case.name);
    }
}

/// Within half a voxel. The verdict is not compared: the yards are 20 voxels wide, so that a pose
/// beside the right one may fit nearly as well, which is `ambiguous`.
#[test]
fn poses_are_the_truth() {
    for case in Case::all() {
        let found = register(case.cloud("source"), case.cloud("target"), &case.params(), &Device::cpu()).unwrap();
        let rows: Vec<[f64; 4]> = case.f64s("truth").chunks(4).map(|row| row.try_into().unwrap()).collect();
        let truth = Pose::from_matrix(&rows.try_into().unwrap()).unwrap();
        // Poses are compared where the source is: far from the origin angles move everything.
        let [from, to] = ["s_centre", "t_centre"].map(|name| case.f64s(name).try_into().unwrap());
        let [got, want] = [&found.target_from_source, &truth].map(|pose| pose.about(from, to));
        let off = want.inverse().compose(&got);
        assert_eq!(found.matches, case.i32s("matches").len() / 2);
        assert!(
            alike([off.rigid(), &Rigid::IDENTITY], [0.0; 3], 0.5 * case.params().voxel_size, 0.06),
            "{}: {:?}, {off:?}",
            case.name,
            found.verdict
        );
    }
}
