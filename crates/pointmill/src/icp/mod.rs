//! Iterative closest point: the pose that brings one cloud onto another.
//!
//! [`align`] aligns two clouds with one of three [`Metric`]s, robust weights, and stages from coarse to fine. Its [`Registration`] holds the pose, why the alignment ended, and
//! which directions are in doubt. [`Aligner`] keeps its memory between calls; [`align_many`] aligns
//! many pairs in one call; [`Target`] keeps the tree and the normals of one target for many
//! sources. Exact neighbours and normals are public too: [`Searcher`] and [`normals`].
//!
//! **Units and frames**: metres; `target_from_source` takes points of the source's frame to the
//! target's.
//!
//! **Determinism**: the same bits on every device, for any number of threads and any search.
//! Squared distances in `f32` decide about neighbours, and of equal ones the lowest index; sums are
//! `f64`, added in one tree.
//!
//! **Source**: Besl and McKay, A Method for Registration of 3-D Shapes, 1992; Chen and Medioni,
//! Object Modelling by Registration of Multiple Range Images, 1992; Segal, Haehnel and Thrun,
//! Generalized-ICP, 2009.
//!
//! ```
//! use pointmill::icp::{IcpParams, Metric, align};
//! use pointmill::registration::Status;
//! use pointmill::{Rows, Device, Pose};
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
//! let (source, target) = (Rows::f64(&aside, 3)?, Rows::f64(&sheet, 3)?);
//! let found = align(source, target, &Pose::IDENTITY, &params, &Device::auto())?;
//! assert_eq!(found.status, Status::Fixed);
//! assert!((found.target_from_source.translation()[0] + 0.015).abs() < 1e-6);
//! assert!(found.fit.inlier_rmse < 1e-6 && found.fit.fitness == 1.0);
//! # Ok::<(), pointmill::Error>(())
//! ```

mod aligner;
mod cloud;
mod cpu;
mod gpu;
mod many;
mod params;
mod register;
mod result;
mod searcher;
mod target;
#[cfg(test)]
mod tests;

pub use aligner::{Aligner, align};
pub use many::{Pair, align_many};
pub use params::{IcpParams, MAX_POINTS, Metric, Robust, Search, Stage};
pub use pointmill_core::icp::neighbour_set::MAX_NEIGHBOURS;
pub use result::{Dropped, Fit, Iteration, Observability, Registration, Timing};
pub(crate) use searcher::{HostIndex, Kept, Searched};
pub use searcher::{MAX_NEIGHBOURS_ON_CPU, Neighbour, NeighbourLists, Searcher, normals};
pub use target::Target;
