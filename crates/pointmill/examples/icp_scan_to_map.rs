//! Aligns scans to a target that is made ready once: `cargo run --release -p pointmill --example icp_scan_to_map`.

use pointmill::icp::{IcpParams, Metric, Target};
use pointmill::{Coordinates, Device, Result};
use pointmill_synth::RabbitScans;

fn main() -> Result<()> {
    let scans = RabbitScans::with_spacing(0.002, 0);
    let params = IcpParams {
        metric: Metric::Gicp,
        // The rotation of the guess is that of the true pose but for a few degrees.
        target_from_source: [
            [0.8, 0.0, 0.6, 0.0], //
            [0.0, 1.0, 0.0, 0.0],
            [-0.6, 0.0, 0.8, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
        .as_flattened()
        .try_into()
        .expect("16 numbers"),
        ..IcpParams::default()
    };
    // Search tree and normals of the target are made here, once for all scans.
    let stream = Device::auto().stream()?;
    let target = Target::new(&stream, Coordinates::f32(scans.target.data(), 3)?, &params)?;

    for (name, part) in [("all", 1), ("every second", 2), ("every fourth", 4)] {
        let rows = scans.source.data().chunks_exact(3).step_by(part);
        let source: Vec<f32> = rows.flatten().copied().collect();
        let found = target.align(Coordinates::f32(&source, 3)?)?;
        println!(
            "{name}: {:?} after {} steps, {} pairs, rmse {:.4} m, rank {}",
            found.status,
            found.iterations,
            found.num_inliers,
            found.inlier_rmse,
            found.observability.rank()
        );
        for turn in found.trace.iter().take(2) {
            println!("  {} pairs, rmse {:.4} m", turn.pairs, turn.rmse);
        }
    }
    Ok(())
}
