//! Draws the synthetic drive beside its voxel means: `cargo run -r --example street -- street.png` for the first sweep,
//! `-- street.gif` for all.

use pointmill_core::{Aabb, PointCloud, Points, VoxelGrid};
use pointmill_synth::{Drive, DriveParams};
use pointmill_view::{Gif, Image, VoxelScene};
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "street.png".into());
    let drive = Drive::new(DriveParams::default());
    if path.ends_with(".gif") {
        let mut gif = Gif::new(100);
        for i in 0..drive.len() {
            gif.push(picture(&drive.sweep(i))?.halved())?;
        }
        gif.write(&path)?;
    } else {
        picture(&drive.sweep(0))?.write_png(&path)?;
    }
    println!("{path}");
    Ok(())
}

fn picture(sweep: &PointCloud) -> Result<Image> {
    let range = Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]);
    let size = [0.2; 3];
    let means = voxel_means(sweep.points(), &VoxelGrid::new(size, range)?)?;
    let input = format!("input: {} points", grouped(sweep.len()));
    let output = format!("voxel means: {} voxels, 0.2 m", grouped(means.len()));
    let mut scene = VoxelScene::new("street", 1);
    scene.push("sweep", [&input, &output], sweep.points(), means.points(), size, range);
    Ok(scene.scene().picture())
}

/// Mean of the first four columns of every voxel's points, ordered by voxel.
fn voxel_means(points: Points, grid: &VoxelGrid) -> Result<PointCloud> {
    let mut voxels: BTreeMap<u64, ([f64; 4], f64)> = BTreeMap::new();
    for i in 0..points.len() {
        if let Some(cell) = grid.cell(points.xyz(i)) {
            let (sum, count) = voxels.entry(grid.id(cell)).or_default();
            (0..4).for_each(|k| sum[k] += f64::from(points.row(i)[k]));
            *count += 1.0;
        }
    }
    Ok(PointCloud::new(voxels.values().flat_map(|(sum, n)| sum.map(|s| (s / n) as f32)).collect(), 4)?)
}

/// A number with commas.
fn grouped(n: usize) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", grouped(n / 1000), n % 1000) }
}
