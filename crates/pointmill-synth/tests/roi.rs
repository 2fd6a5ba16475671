//! What a scene with boxes promises: counts, the same bits, and boxes that hold what a detector's
//! proposals hold.

use pointmill_core::{BoxOrigin, OrientedBox};
use pointmill_synth::RoiScene;

/// 64-bit FNV-1a of the values' bits, little-endian.
fn fnv(values: &[f32]) -> u64 {
    values
        .iter()
        .flat_map(|v| v.to_bits().to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// What the boxes of a scene hold, each cut into 12 x 12 x 12 voxels.
struct Held {
    /// Points in each box.
    counts: Vec<usize>,
    /// Share of all voxels that have so many points or more: 1 and 4.
    voxels: [f64; 2],
    /// Share of the points that are in a box.
    points: f64,
}

fn held(scene: &RoiScene) -> Held {
    let (boxes, points) = (scene.boxes.as_chunks::<7>().0, scene.points.as_chunks::<3>().0);
    let (mut counts, mut voxels, mut inside) = (vec![], [0.0; 2], vec![false; points.len()]);
    for row in boxes {
        let b = OrientedBox::new(*row, BoxOrigin::BottomCenter, 0.0);
        let grid = b.grid([12; 3]);
        let mut tally = vec![0; 12 * 12 * 12];
        for (i, p) in points.iter().enumerate().filter(|(_, p)| b.contains(**p)) {
            tally[grid.id(b.voxel(*p, &grid)) as usize] += 1;
            inside[i] = true;
        }
        counts.push(tally.iter().sum());
        for (share, least) in voxels.iter_mut().zip([1, 4]) {
            *share += tally.iter().filter(|&&n| n >= least).count() as f64 / (tally.len() * boxes.len()) as f64;
        }
    }
    let points = inside.iter().filter(|&&v| v).count() as f64 / points.len() as f64;
    Held { counts, voxels, points }
}

impl Held {
    fn mean(&self) -> f64 {
        self.counts.iter().sum::<usize>() as f64 / self.counts.len() as f64
    }
}

/// These hashes are the promise of the same bits on every machine: a change here changes
/// everybody's numbers.
#[test]
fn bits_are_those_of_every_machine() {
    let (street, crowded) = (RoiScene::street(128, 16_000, 0), RoiScene::crowded(64, 4_000, 5));
    let parts = [&street.boxes, &street.points, &street.features(4), &crowded.boxes, &crowded.points];
    let hashes: Vec<String> = parts.iter().map(|v| format!("{:016x}", fnv(v))).collect();
    assert_eq!(
        hashes,
        ["78d9d350eb3bc8ce", "48f66abfe5a3050e", "8cec90e6ad552094", "7fd0d5e782651fbb", "c7de5629ffa093fd"]
    );
}

#[test]
fn counts_are_exact_and_values_finite() {
    for (boxes, points) in [(0, 0), (0, 500), (1, 0), (1, 1), (3, 700), (17, 333), (130, 5000), (1000, 20)] {
        for scene in [RoiScene::street(boxes, points, 3), RoiScene::crowded(boxes, points, 3)] {
            assert_eq!((scene.boxes.len(), scene.points.len()), (7 * boxes, 3 * points));
            assert!(scene.boxes.iter().chain(&scene.points).all(|v| v.is_finite()));
            assert!(scene.boxes.as_chunks::<7>().0.iter().all(|b| b[3..6].iter().all(|v| *v > 0.3)));
            assert!(scene.boxes.as_chunks::<7>().0.iter().all(|b| b[0].abs() < 75.0 && (-3.4..6.5).contains(&b[6])));
            assert!(scene.points.as_chunks::<3>().0.iter().all(|p| p[0].hypot(p[1]) < 80.0 && p[2] > -2.1));
            assert_eq!(scene.features(5).len(), 5 * points);
            assert!(scene.features(0).is_empty());
        }
    }
}

#[test]
fn seeds_and_counts_change_what_they_name() {
    let scene = RoiScene::street(128, 3000, 1);
    assert_eq!(scene, RoiScene::street(128, 3000, 1));
    assert_ne!(scene, RoiScene::street(128, 3000, 2));
    let longer = RoiScene::street(128, 5000, 1);
    assert_eq!((&longer.boxes, &longer.points[..9000]), (&scene.boxes, &scene.points[..]));
    // A point's place in the cloud says nothing of its place in the world.
    let mean = |p: &[f32]| p.as_chunks::<3>().0.iter().map(|p| f64::from(p[0])).sum::<f64>() / (p.len() / 3) as f64;
    assert!((mean(&scene.points[..4500]) - mean(&scene.points[4500..])).abs() < 3.0);
}

#[test]
fn boxes_of_a_street_hold_what_proposals_hold() {
    for seed in [0, 1, 9] {
        let held = held(&RoiScene::street(128, 16_000, seed));
        assert!((170.0..250.0).contains(&held.mean()), "seed {seed}: {}", held.mean());
        assert!((0.07..0.12).contains(&held.voxels[0]), "seed {seed}: {}", held.voxels[0]);
        assert!((0.4..0.65).contains(&held.points), "seed {seed}: {}", held.points);
        // Proposals on nothing are there, and most boxes are not those.
        let poor = held.counts.iter().filter(|&&n| n < 20).count();
        assert!((1..20).contains(&poor), "seed {seed}: {poor}");
    }
    let held = held(&RoiScene::street(512, 200_000, 0));
    assert!((2000.0..2700.0).contains(&held.mean()), "{}", held.mean());
    assert!((0.24..0.34).contains(&held.voxels[0]), "{}", held.voxels[0]);
}

#[test]
fn boxes_of_a_crowd_hold_thousands() {
    for seed in [0, 1, 9] {
        let held = held(&RoiScene::crowded(128, 16_000, seed));
        assert!(held.mean() > 3000.0 && held.points > 0.95, "seed {seed}: {}, {}", held.mean(), held.points);
        assert!(held.counts.iter().all(|&n| n > 200), "seed {seed}: {:?}", held.counts.iter().min());
        assert!(held.voxels[1] > 0.4 * held.voxels[0], "seed {seed}: {:?}", held.voxels);
    }
}

#[test]
fn features_are_smooth_with_noise_and_of_both_signs() {
    let scene = RoiScene::street(16, 4000, 2);
    let (four, one) = (scene.features(4), scene.features(1));
    assert!(four.iter().step_by(4).eq(one.iter()), "a channel does not depend on the number of channels");
    assert!(four.iter().all(|v| v.abs() < 1.9));
    let negative = four.iter().filter(|v| **v < 0.0).count() as f64 / four.len() as f64;
    assert!((0.3..0.7).contains(&negative), "{negative}");
    // Points within 20 cm of each other differ by the noise, others by the wave too.
    let points = scene.points.as_chunks::<3>().0;
    let (mut near, mut far) = (vec![], vec![]);
    for i in 0..1000 {
        for j in i + 1..1000 {
            let apart = (0..3).map(|k| (points[i][k] - points[j][k]).powi(2)).sum::<f32>().sqrt();
            let list = if apart < 0.2 { &mut near } else { &mut far };
            list.push((one[i] - one[j]).abs());
        }
    }
    let mean = |v: &[f32]| v.iter().sum::<f32>() / v.len() as f32;
    assert!(near.len() > 100 && mean(&near) < 0.5 * mean(&far), "{} {}", mean(&near), mean(&far));
}
