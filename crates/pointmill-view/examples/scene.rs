//! Draws a synthetic drive: `cargo run -r --example scene -- drive.html` as a page, `-- drive.gif`
//! as an animation with a frame for each sweep, `-- drive.png` as a picture of the first.

use pointmill_core::Pose;
use pointmill_synth::{Drive, DriveParams};
use pointmill_view::{Layer, Paint, Scene};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "drive.html".into());
    let drive = Drive::new(DriveParams::default());
    let mut scene = Scene::new("a synthetic drive", Paint::Height);
    for i in 0..drive.len() {
        let frame = scene.frame(&format!("sweep {i}"));
        let points: Vec<[f64; 3]> = drive.sweep(i).points().iter_xyz().map(|p| p.map(f64::from)).collect();
        let world_from_sensor = Pose::from_matrix(&drive.world_from_sensor(i))?;
        scene.push(Layer::points("sweeps", &points).moving(&[world_from_sensor]).at(frame));
    }
    if path.ends_with(".html") {
        std::fs::write(&path, scene.page())?;
    } else if path.ends_with(".gif") {
        scene.animation().write(&path)?;
    } else {
        scene.picture().write_png(&path)?;
    }
    println!("{path}");
    Ok(())
}
