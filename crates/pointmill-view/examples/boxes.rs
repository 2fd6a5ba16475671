//! Draws the voxels of the boxes of a synthetic street: `cargo run -r --example boxes -- boxes.png`.

use pointmill_core::{Points, trig};
use pointmill_synth::RoiScene;
use pointmill_view::roi_scene;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const OUT: [u32; 3] = [12, 12, 12];

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "boxes.png".into());
    let scene = RoiScene::street(128, 60_000, 0);
    let points = Points::new(&scene.points, 3)?;
    // The height of the centre for that of the bottom face.
    let boxes: Vec<[f32; 7]> =
        scene.boxes.as_chunks().0.iter().map(|&[x, y, z, dx, dy, dz, h]| [x, y, z + dz / 2.0, dx, dy, dz, h]).collect();
    let held: Vec<Vec<(usize, u32)>> = boxes.iter().map(|b| voxels(b, points)).collect();
    let pairs: usize = held.iter().map(Vec::len).sum();
    // A point that is in several boxes is drawn in the one that holds most, so that each object has one grid.
    let mut order: Vec<usize> = (0..boxes.len()).collect();
    order.sort_by_key(|&b| held[b].len());
    let mut voxel_of_point = vec![None; points.len()];
    for b in order {
        held[b].iter().for_each(|&(i, voxel)| voxel_of_point[i] = Some((b as u32, voxel)));
    }
    let left = format!("{} boxes, {} points", boxes.len(), grouped(points.len()));
    let right = format!("{} points in boxes, 12 x 12 x 12 voxels each", grouped(pairs));
    let title = format!("{left}; {right}");
    roi_scene(&title, points, &boxes, &voxel_of_point, OUT).picture().write_png(&path)?;
    println!("{path}");
    Ok(())
}

/// A number with commas.
fn grouped(n: usize) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", grouped(n / 1000), n % 1000) }
}

/// The points inside a box, in ascending order, each with its voxel.
fn voxels(row: &[f32; 7], points: Points) -> Vec<(usize, u32)> {
    let [cx, cy, cz, dx, dy, dz, heading] = *row;
    let (s, c) = trig::sin_cos(heading);
    let bin = |l: f32, d: f32, n: u32| (((l + d / 2.0) / (d / n as f32)) as u32).min(n - 1);
    let inside = points.iter_xyz().enumerate().filter_map(|(i, [x, y, z])| {
        let (x, y, z) = (x - cx, y - cy, z - cz);
        let (lx, ly) = (x * c + y * s, y * c - x * s);
        (z.abs() <= dz / 2.0 && lx.abs() < dx / 2.0 && ly.abs() < dy / 2.0)
            .then(|| (i, (bin(lx, dx, OUT[0]) * OUT[1] + bin(ly, dy, OUT[1])) * OUT[2] + bin(z, dz, OUT[2])))
    });
    inside.collect()
}
