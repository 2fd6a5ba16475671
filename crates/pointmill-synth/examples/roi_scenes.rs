//! Makes scenes with boxes and says how long each took and what its boxes hold:
//! `cargo run -r --example roi_scenes`.

use pointmill_core::{BoxOrigin, OrientedBox};
use pointmill_synth::RoiScene;
use std::time::Instant;

fn main() {
    for seed in 0..4 {
        for (boxes, points) in [(128, 16_000), (512, 200_000)] {
            let start = Instant::now();
            let scene = RoiScene::street(boxes, points, seed);
            print("street", &scene, start.elapsed().as_secs_f64());
            let start = Instant::now();
            let scene = RoiScene::crowded(boxes, points, seed);
            print("crowded", &scene, start.elapsed().as_secs_f64());
        }
    }
}

fn print(name: &str, scene: &RoiScene, seconds: f64) {
    let (boxes, points) = (scene.boxes.as_chunks::<7>().0, scene.points.as_chunks::<3>().0);
    let mut inside = vec![false; points.len()];
    let mut counts = vec![];
    let mut voxels = [0usize; 5];
    for row in boxes {
        let b = OrientedBox::new(*row, BoxOrigin::BottomCenter, 0.0);
        let grid = b.grid([12; 3]);
        let mut held = vec![0; 1728];
        let mut count = 0;
        for (i, p) in points.iter().enumerate() {
            if b.contains(*p) {
                held[grid.id(b.voxel(*p, &grid)) as usize] += 1;
                inside[i] = true;
                count += 1;
            }
        }
        for (k, least) in [1, 2, 4, 8, 16].into_iter().enumerate() {
            voxels[k] += held.iter().filter(|&&n| n >= least).count();
        }
        counts.push(count);
    }
    counts.sort_unstable();
    let mean = counts.iter().sum::<usize>() as f64 / boxes.len() as f64;
    let shares: Vec<String> =
        voxels.iter().map(|&v| format!("{:.1}", 100.0 * v as f64 / (1728.0 * boxes.len() as f64))).collect();
    let at = |share: f64| counts[(share * (boxes.len() - 1) as f64) as usize];
    let held = 100.0 * inside.iter().filter(|&&v| v).count() as f64 / points.len() as f64;
    println!(
        "{name:8} {:4} x {:7}: {:5.0} ms, a box holds {mean:.0} points (10, 50, 90 of 100: {}, {}, {}), {held:.0} % of the points in boxes, voxels with at least 1, 2, 4, 8, 16 points: {} %",
        boxes.len(),
        points.len(),
        seconds * 1e3,
        at(0.1),
        at(0.5),
        at(0.9),
        shares.join(", ")
    );
}
