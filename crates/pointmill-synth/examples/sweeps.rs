//! Makes the sweeps of the default drive one after the other and says how long each took:
//! `cargo run -r --example sweeps`.

use pointmill_synth::{Drive, DriveParams};
use std::time::Instant;

fn main() {
    let start = Instant::now();
    let drive = Drive::new(DriveParams::default());
    println!("street: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    for i in 0..drive.len() {
        let start = Instant::now();
        let sweep = drive.sweep(i);
        println!("sweep {i}: {} points, {:.1} ms", sweep.len(), start.elapsed().as_secs_f64() * 1e3);
    }
}
