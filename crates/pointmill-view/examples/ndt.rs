//! Draws cells of normal distributions: `cargo run -r --example ndt -- map.png` for a map of the synthetic drive, `-- alignment.png` for a scan before and after it was
//! aligned, `-- alignment.gif` for the same, blinking.

use pointmill_core::ndt::{CellStats, Covariance, Moments, NdtLattice, NdtScore, StatsParams};
use pointmill_synth::{Drive, DriveParams};
use pointmill_view::{NdtEllipsoids, NdtFitNote, ndt_alignment_scene, ndt_map_scene};
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Edge of a cell in metres, and how wrong the first guess is.
const RESOLUTION: f64 = 2.0;
const SHIFT: [f64; 2] = [0.9, -0.6];
const TURN: f64 = 0.035;
/// The sweep that is aligned.
const SCAN: usize = 5;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "map.png".into());
    let drive = Drive::new(DriveParams::default());
    // All sweeps in the frame of the world are the map.
    let sweeps: Vec<Vec<[f64; 3]>> = (0..drive.len()).map(|i| in_world(&drive, i)).collect();
    let points = sweeps.concat();
    let lattice = NdtLattice::new(RESOLUTION)?;
    let map = Map::new(&points, &lattice);
    let ellipsoids = NdtEllipsoids { means: &map.means, covariances: &map.covariances };
    // Every twentieth point of a sweep is the scan; it is turned about the sensor.
    let after: Vec<[f64; 3]> = sweeps[SCAN].iter().step_by(20).copied().collect();
    let [cx, cy] = [0, 1].map(|k| drive.world_from_sensor(SCAN)[k][3]);
    let (s, c) = (libm::sin(TURN), libm::cos(TURN));
    let before: Vec<_> = after
        .iter()
        .map(|&[x, y, z]| (x - cx, y - cy, z))
        .map(|(x, y, z)| [cx + x * c - y * s + SHIFT[0], cy + x * s + y * c + SHIFT[1], z])
        .collect();
    let off = (SHIFT[0] * SHIFT[0] + SHIFT[1] * SHIFT[1]).sqrt();
    let notes = [map.note(&lattice, &before, [off, TURN]), map.note(&lattice, &after, [0.0, 0.0])];
    let alignment = || ndt_alignment_scene("a scan", ellipsoids, &before, &after, notes);
    if path.ends_with(".gif") {
        alignment().animation().write(&path)?;
    } else if path.contains("alignment") {
        alignment().picture().write_png(&path)?;
    } else {
        let title = format!("map: {} points, {} cells of {RESOLUTION} m", points.len(), map.means.len());
        ndt_map_scene(&title, &points, ellipsoids).picture().write_png(&path)?;
    }
    println!("{path}");
    Ok(())
}

/// A sweep in the frame of the world.
fn in_world(drive: &Drive, i: usize) -> Vec<[f64; 3]> {
    let pose = drive.world_from_sensor(i);
    let placed = |p: [f32; 3]| {
        let [x, y, z] = p.map(f64::from);
        [0, 1, 2].map(|k| pose[k][0] * x + pose[k][1] * y + pose[k][2] * z + pose[k][3])
    };
    drive.sweep(i).points().iter_xyz().map(placed).collect()
}

/// Cells of six points and more.
struct Map {
    rows: BTreeMap<[i32; 3], usize>,
    means: Vec<[f64; 3]>,
    covariances: Vec<[f64; 6]>,
    inverses: Vec<[f64; 6]>,
}

impl Map {
    fn new(points: &[[f64; 3]], lattice: &NdtLattice) -> Self {
        let mut sums: BTreeMap<[i32; 3], Moments> = BTreeMap::new();
        for place in points.iter().filter_map(|&p| lattice.place(p)) {
            sums.entry(place.cell).or_default().add(place.offset);
        }
        let mut map = Self { rows: BTreeMap::new(), means: vec![], covariances: vec![], inverses: vec![] };
        let params = StatsParams { covariance: Covariance::Unbiased, eigen_ratio: 0.01 };
        for (cell, sum) in sums.iter().filter(|(_, sum)| sum.count >= 6) {
            if let Some(stats) = CellStats::new(sum, lattice, &params) {
                let centre = lattice.center(*cell);
                map.rows.insert(*cell, map.means.len());
                map.means.push([0, 1, 2].map(|k| centre[k] + stats.mean_local[k]));
                map.covariances.push(stats.covariance);
                map.inverses.push(stats.inverse);
            }
        }
        map
    }

    /// How well a scan fits that is `error` off.
    fn note(&self, lattice: &NdtLattice, scan: &[[f64; 3]], error: [f64; 2]) -> NdtFitNote {
        let score = NdtScore::new(lattice.unit());
        let (mut all, mut largest, mut hits) = (0.0, 0.0, 0.0);
        for p in scan {
            let Some(place) = lattice.place(*p) else { continue };
            let mut best: f64 = 0.0;
            for k in 0..27 {
                let cell = [0, 1, 2].map(|axis| place.cell[axis] + k / 3i32.pow(axis as u32) % 3 - 1);
                let Some(&row) = self.rows.get(&cell) else { continue };
                let away = [0, 1, 2].map(|axis| p[axis] - self.means[row][axis]);
                if away.iter().map(|v| v * v).sum::<f64>() < lattice.unit() * lattice.unit() {
                    let term = score.term(away, &self.inverses[row]);
                    all += term;
                    best = best.max(term);
                }
            }
            largest += best;
            hits += f64::from(u8::from(best > 0.0));
        }
        NdtFitNote {
            nvtl: largest / f64::max(hits, 1.0),
            transform_probability: all / scan.len() as f64,
            error: Some(error),
        }
    }
}
