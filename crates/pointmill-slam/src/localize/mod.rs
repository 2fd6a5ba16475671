//! Localization: where a sensor is in a map of normal distributions.
//!
//! [`Localizer::push`] takes one scan after the other and returns a [`Fix`] for each: the pose of the sensor in the map, or why there is none. Near a known pose a scan is aligned with
//! the map, from where the motion before leads. Without a known pose all places of a region are
//! searched.
//!
//! **A fix** converged, has a likelihood, is near its prediction, and is explained both ways: the
//! map explains what the scan sees above the ground, and the scan does not see through what the map
//! has there. A place that no fix led to, after a start, a rejection or a search, has also to win
//! against the best other place. A scan that fails one of these has a [`Rejection`]; its pose is
//! the prediction. After some rejections in succession the localizer is lost, and searches.
//!
//! **The search** is that of all places and has no random numbers. A lattice has a place every half
//! cell along x and y and every three degrees of yaw, at the height of the ground of the map. The
//! [best](pointmill::registration::level) 20 that are apart are aligned, and the best of these
//! judged. It takes the sensor to be level to a few degrees.
//!
//! **Units and frames**: metres, radians, seconds. `map_from_sensor` takes points of the sensor's
//! frame, z up, to the frame of the map.
//!
//! **Determinism**: everything but [`Fix::timing`] has the same bits on every device and for any
//! number of threads.
//!
//! **Source**: the names and limits of Autoware's `ndt_scan_matcher`.
//!
//! ```
//! use pointmill::ndt::{NdtParams, ndt_grid};
//! use pointmill_slam::localize::{FixStatus, Localizer, LocalizerParams};
//! use pointmill::{Device, Pose, Rows};
//!
//! // A yard of 30 by 20 m with walls around it and two blocks in it.
//! let wall = |x0: f64, y0: f64, x1: f64, y1: f64| {
//!     let n = ((x1 - x0).abs() + (y1 - y0).abs()) as usize * 5;
//!     (0..n * 20).map(move |i| {
//!         let t = (i / 20) as f64 / n as f64;
//!         [x0 + t * (x1 - x0), y0 + t * (y1 - y0), (i % 20) as f64 * 0.2]
//!     })
//! };
//! let ground = (0..15_000).map(|i| [(i % 150) as f64 * 0.2, (i / 150) as f64 * 0.2, 0.0]);
//! let walls = [(0.0, 0.0, 30.0, 0.0), (30.0, 0.0, 30.0, 20.0), (30.0, 20.0, 0.0, 20.0), (0.0, 20.0, 0.0, 0.0), (8.0, 5.0, 8.0, 11.0), (20.0, 14.0, 25.0, 14.0)];
//! let map: Vec<[f64; 3]> = ground.chain(walls.into_iter().flat_map(|(a, b, c, d)| wall(a, b, c, d))).collect();
//! let device = Device::auto();
//! let grid = ndt_grid(Rows::from(&map[..]), 2.0, &NdtParams::default(), &device)?;
//!
//! // The same yard, seen from a place in it; no guess.
//! let truth = Pose::from_xyzrpy([12.3, 7.9, 1.7, 0.0, 0.0, 0.7])?;
//! let scan: Vec<[f64; 3]> = map.iter().step_by(3).map(|p| truth.inverse().apply(*p)).collect();
//! let mut localizer = Localizer::new(&device.stream()?, grid, &LocalizerParams::default())?;
//! let fix = localizer.push(Rows::from(&scan[..]), None)?;
//! assert_eq!((fix.status, fix.rejection), (FixStatus::Found, None));
//! let off = truth.inverse().compose(&fix.map_from_sensor).translation();
//! assert!(off.iter().all(|x| x.abs() < 0.2), "{off:?}");
//! # Ok::<(), pointmill::Error>(())
//! ```

mod covariance;
mod fix;
mod ground;
mod judge;
mod localizer;
mod map;
mod params;
mod rivals;
mod scan;
mod search;
#[cfg(test)]
mod tests;

pub use fix::{Candidate, Evidence, Fix, FixStatus, FixTiming, Rejection};
pub use localizer::Localizer;
pub use map::{LocalizerMap, TileKey, TileSource};
pub use params::{CovarianceMethod, LocalizerParams};
