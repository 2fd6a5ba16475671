//! Iterative closest point: the pose that brings one cloud onto another.
//!
//! [`align`] does it, with one of three [`Metric`]s, weights against outliers, and stages from coarse to fine; a [`Registration`] says where it ended, why, and which
//! directions are in doubt. A [`Target`] is made ready once for many sources. Below it stand exact neighbours, [`Searcher`], and [`normals`].
//!
//! **Units and frames**: metres; `target_from_source` takes points of the source's frame to the target's.
//!
//! **Determinism**: the same bits for any number of threads and any search. Neighbours are decided by squared distances in `f32`, of equal ones by the lowest index; sums are
//! `f64`, added in one tree. [`align`] and [`normals`] run on the CPU, on the threads of rayon's current pool; [`Aligner`], [`Target`] and [`Searcher::on`] run on the
//! device of a stream, with the same bits.
//!
//! **Source**: Besl and McKay, A Method for Registration of 3-D Shapes, 1992; Chen and Medioni, Object Modelling by Registration of Multiple Range Images, 1992; Segal, Haehnel
//! and Thrun, Generalized-ICP, 2009.
//!
//! ```
//! use pointmill::Coordinates;
//! use pointmill::icp::{IcpParams, Metric, Status, align};
//!
//! // A bumpy sheet, and the same sheet two centimetres aside.
//! let sheet: Vec<f64> = (0..2500)
//!     .flat_map(|i| {
//!         let (x, y) = (f64::from(i % 50) * 0.04, f64::from(i / 50) * 0.04);
//!         [x, y, 0.2 * (3.0 * x).sin() * (2.0 * y).cos()]
//!     })
//!     .collect();
//! let aside: Vec<f64> = sheet.chunks_exact(3).flat_map(|p| [p[0] + 0.015, p[1] - 0.01, p[2] + 0.005]).collect();
//! let params = IcpParams { metric: Metric::PointToPoint, ..IcpParams::default() };
//! let found = align(Coordinates::f64(&aside, 3)?, Coordinates::f64(&sheet, 3)?, &params)?;
//! assert_eq!(found.status, Status::Fixed);
//! assert!((found.target_from_source[3] + 0.015).abs() < 1e-6);
//! assert!(found.inlier_rmse < 1e-6 && found.fitness == 1.0);
//! # Ok::<(), pointmill::Error>(())
//! ```

mod aligner;
mod cloud;
mod gpu;
mod normals;
mod pairs;
mod params;
mod register;
mod result;
mod search;
mod stage;
mod target;
#[cfg(test)]
mod tests;

pub use aligner::Aligner;
pub use normals::normals;
pub use params::{IcpParams, Metric, Robust, Stage};
pub use register::align;
pub use result::{Dropped, Iteration, Observability, Registration, Status, Timing};
pub use search::{MAX_NEIGHBOURS, MAX_POINTS, Neighbour, Search, Searcher};
pub use target::Target;
