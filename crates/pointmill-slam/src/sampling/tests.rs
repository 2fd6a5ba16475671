//! Every device takes the points that a plain set of cells takes, in their order.

use super::*;
use pointmill::internals::testing::{Random, devices};
use pointmill_core::odometry::view::{BINS, seen, step};
use std::collections::HashSet;

const PLAIN: Sampling = Sampling { range: [1.0, 100.0], cell_size: 1.0, keypoint_cell_size: None, view: true };

/// The samples by their definition, and the number of usable points.
fn wanted(points: &Rows<'_>, sampling: &Sampling) -> (Vec<[f64; 3]>, usize) {
    let [least, largest] = sampling.range.map(|range| range * range);
    let in_range = |p: &[f64; 3]| (least..=largest).contains(&(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]));
    let usable: Vec<_> = (0..points.len()).map(|i| points.point(i)).filter(in_range).collect();
    let mut cells = HashSet::new();
    let is_first = |p: &&[f64; 3]| cells.insert(p.map(|x| (x / sampling.cell_size).floor() as i64));
    (usable.iter().filter(is_first).copied().collect(), usable.len())
}

/// The view by its definition.
fn wanted_view(points: &Rows<'_>, sampling: &Sampling) -> Vec<[u64; 2]> {
    let mut view = vec![[f64::INFINITY, 0.0]; BINS];
    for i in (0..points.len()).step_by(step(points.len())) {
        if let Some((bin, range)) = seen(points.point(i), sampling.squares()) {
            view[bin] = [view[bin][0].min(range), view[bin][1].max(range)];
        }
    }
    view.iter().map(|reach| reach.map(f64::to_bits)).collect()
}

/// Takes sweeps one after the other on each device. Returns the numbers of samples.
fn assert_samples(sweeps: &[Rows<'_>], sampling: &Sampling) -> Vec<usize> {
    sampling.validate().unwrap();
    let wanted: Vec<_> = sweeps.iter().map(|points| wanted(points, sampling)).collect();
    for (name, device) in devices() {
        let mut sampler = Sampler::new(&device.stream().unwrap()).unwrap();
        for (i, (points, (samples, usable))) in sweeps.iter().zip(&wanted).enumerate() {
            let sampled = device.install(|| sampler.sample(points, None, sampling)).unwrap();
            let got = sampler.samples().unwrap();
            assert_eq!((sampled.usable, got.len(), sampled.times), (*usable, samples.len(), None), "{name}, {i}");
            let bits = |points: &[[f64; 3]]| points.iter().map(|p| p.map(f64::to_bits)).collect::<Vec<_>>();
            assert!(bits(&got) == bits(samples), "{name}, {i}");
            let view: Vec<_> = sampler.view().unwrap().iter().map(|reach| reach.map(f64::to_bits)).collect();
            assert!(view == wanted_view(points, sampling), "{name}, {i}");
        }
    }
    wanted.iter().map(|(samples, _)| samples.len()).collect()
}

/// Points in a box about zero with edges of `2 * reach` metres.
fn cloud(seed: u64, points: usize, reach: f64) -> Vec<[f64; 3]> {
    let mut random = Random(seed);
    (0..points).map(|_| [0; 3].map(|_| reach * (random.below(1 << 40) as f64 * (-39f64).exp2() - 1.0))).collect()
}

#[test]
fn first_points_of_cells_are_samples() {
    let dense = cloud(1, 30_000, 12.0);
    // More cells than points that share one, so that tables are as full as they get.
    let sparse = cloud(2, 9000, 99.0);
    let again: Vec<_> = dense.iter().flat_map(|p| [*p, *p, p.map(|x| -x)]).collect();
    let sweeps = [&dense[..], &[], &sparse, &again, &dense[..1]].map(Rows::from);
    let samples = assert_samples(&sweeps, &PLAIN);
    assert!(samples[0] < 14_000 && samples[1] == 0 && samples[2] > 4000 && samples[3] >= samples[0], "{samples:?}");
    assert_samples(&sweeps, &Sampling { cell_size: 0.37, ..PLAIN });
    assert_samples(&sweeps, &Sampling { range: [0.0, 9.0], cell_size: 1e3, ..PLAIN });
}

#[test]
fn points_that_say_nothing_are_left_out() {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 0.0, -0.0, f64::MIN_POSITIVE, 2.0, -2.0];
    let all: Vec<_> = (0..1000).map(|i| [i / 100, i / 10 % 10, i % 10].map(|k| odd[k])).collect();
    let nowhere = vec![[f64::NAN, 3.0, 4.0]; 3000];
    let one = vec![[7.25, -3.5, 0.0]; 5000];
    let samples = assert_samples(&[&all[..], &nowhere, &one].map(Rows::from), &PLAIN);
    assert!(samples[0] > 20 && samples[1..] == [0, 1], "{samples:?}");
}

#[test]
fn cells_reach_as_far_as_ranges_may() {
    // The farthest cells that have a key, and borders of cells, to both sides of zero.
    let sampling = Sampling { range: [0.0, 1_048_575.0], cell_size: 1.0, keypoint_cell_size: None, view: true };
    let far = [1_048_574.999, 1_048_574.0, 1_048_573.999, 524_288.0, 3.0, 2.999_999_999_999_999_6];
    let along = |axis: usize, x: f64| [0, 1, 2].map(|k| if k == axis { x } else { 0.0 });
    let points: Vec<_> =
        (0..3).flat_map(|axis| far.iter().flat_map(move |x| [along(axis, *x), along(axis, -x)])).collect();
    assert_eq!(assert_samples(&[Rows::from(&points[..])], &sampling), [27]);
    for (largest, cell_size) in [(1_048_576.0, 1.0), (100.0, 9e-5), (1.0, 1.0), (f64::NAN, 1.0), (f64::INFINITY, 1.0)] {
        let message = Sampling { range: [1.0, largest], cell_size, ..PLAIN }.validate().unwrap_err().to_string();
        let farthest = 1_048_576.0 * cell_size;
        let expected = format!("max_range: expected above min_range, 1 m, and below {farthest} m, got {largest}");
        assert_eq!(message, expected);
    }
}

#[test]
fn rows_of_any_type_and_width_are_the_same_points() {
    let points = cloud(3, 9000, 40.0);
    for columns in [3, 4, 5, 6, 11] {
        let wide: Vec<f64> = points
            .iter()
            .flat_map(|p| p.iter().copied().chain(std::iter::repeat_n(f64::NAN, columns - 3)).collect::<Vec<_>>())
            .collect();
        let single: Vec<f32> = wide.iter().map(|x| *x as f32).collect();
        let rows = Rows::f32(&single, columns).unwrap();
        let sweeps = [Rows::f64(&wide, columns).unwrap(), rows, rows.about([0.3, -20.0, 5.0]).unwrap()];
        let samples = assert_samples(&sweeps, &PLAIN);
        assert!(samples.iter().all(|n| *n > 4000), "{columns}: {samples:?}");
    }
}

#[test]
fn keypoints_are_first_samples_and_times_count() {
    let points = cloud(4, 20_000, 15.0);
    let times: Vec<f64> = (0..points.len()).map(|i| if i % 3 == 0 { f64::NAN } else { -(i as f64) }).collect();
    let sampling = Sampling { cell_size: 0.5, keypoint_cell_size: Some(1.3), ..PLAIN };
    let timed: Vec<_> = points.iter().zip(&times).filter(|(_, time)| time.is_finite()).map(|(p, _)| *p).collect();
    let (samples, usable) = wanted(&Rows::from(&timed[..]), &sampling);
    let (keypoints, _) = wanted(&Rows::from(&samples[..]), &Sampling { cell_size: 1.3, ..PLAIN });
    let mut marks = Vec::new();
    for (name, device) in devices() {
        let mut sampler = Sampler::new(&device.stream().unwrap()).unwrap();
        let points = Rows::from(&points[..]);
        let got = device.install(|| sampler.sample(&points, Some(&times), &sampling)).unwrap();
        assert_eq!((got.usable, got.keypoints), (usable, keypoints.len()), "{name}");
        assert!(sampler.samples().unwrap() == samples && got.times.unwrap()[1] < 0.0, "{name}");
        marks.push((got.mark, got.times));
    }
    assert!(marks.iter().all(|mark| *mark == marks[0]) && keypoints.len() > 1000);
}
