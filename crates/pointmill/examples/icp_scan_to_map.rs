//! Tracks scans against a target that is made ready once:
//! `cargo run --release -p pointmill --example icp_scan_to_map`.

use pointmill::icp::{IcpParams, Metric, Target};
use pointmill::{Device, Pose, Result, Rows};
use pointmill_synth::RabbitScans;

fn main() -> Result<()> {
    let scans = RabbitScans::with_spacing(0.002, 0);
    let params = IcpParams { metric: Metric::Gicp, ..IcpParams::default() };
    // The tree and the normals of the target are made here, once for all scans.
    let stream = Device::auto().stream()?;
    let target = Target::new(&stream, Rows::f32(scans.target.data(), 3)?, &params)?;

    // The rotation of the first guess is a few degrees off.
    let mut pose = Pose::from_matrix(&[
        [0.8, 0.0, 0.6, 0.0], //
        [0.0, 1.0, 0.0, 0.0],
        [-0.6, 0.0, 0.8, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ])?;
    for (name, part) in [("all", 1), ("every second", 2), ("every fourth", 4)] {
        let rows = scans.source.data().chunks_exact(3).step_by(part);
        let source: Vec<f32> = rows.flatten().copied().collect();
        let found = target.align(Rows::f32(&source, 3)?, &pose)?;
        let (status, steps, fit) = (found.status, found.iterations, &found.fit);
        let rank = fit.observability.rank();
        println!(
            "{name}: {status} after {steps} steps, {} pairs, rmse {:.4} m, rank {rank}",
            fit.num_inliers, fit.inlier_rmse
        );
        for iteration in fit.trace.iter().take(2) {
            println!("  {} pairs, rmse {:.4} m", iteration.pairs, iteration.rmse);
        }
        // Each pose is the guess of the next scan.
        if found.converged() {
            pose = found.target_from_source;
        }
    }
    Ok(())
}
