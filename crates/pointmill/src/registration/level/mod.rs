//! Where an upright scan is in a map, without a guess: a search over x, y, z and yaw that finds
//! what the search of all places finds.
//!
//! [`LevelTarget`] prepares the cells of an [`NdtGrid`](crate::ndt::NdtGrid) once.
//! [`LevelTarget::search`] returns the best places of a source that are apart, best first.
//!
//! **Places** are on a lattice: steps along x, y and z, turns of yaw. **The score** of a place is a
//! sum of whole numbers: each point of the source adds the largest
//! [value](pointmill_core::ndt::LevelCell::value), 0 to 63, that a cell of the map has at the centre
//! of the point's cube of the lattice. **Order**: by score, of equal ones by yaw, y, x, z. The first
//! candidate is the first place; each next one is the first place that is apart from all before.
//!
//! **Method**: branch and bound. A block of places has the bound that each point adds the largest
//! value it meets at any place of the block. Blocks are opened best first, 8 x 8 at once, until the
//! first of all is a place. What is never opened cannot be better, so the answer is, bit for bit,
//! that of the search of all places.
//!
//! **With ground** the map's level cells of least height are its ground. Places are where it has
//! ground, at its height plus that of the sensor; ground itself does not score. **Without ground**
//! all heights between the map's lowest and highest cell are searched, and everything scores.
//!
//! **Units and frames**: metres and radians; z is up in both frames. **Determinism**: the same bits
//! on every device, for any number of threads. Where the cells are on a GPU, so are the sums; blocks
//! are chosen on the host. A map for which the GPU has no memory is searched on the host.
//!
//! ```
//! use pointmill::ndt::{NdtParams, ndt_grid};
//! use pointmill::registration::level::{LevelParams, LevelTarget, LevelTargetParams};
//! use pointmill::{Device, Pose, Rows};
//! // A yard of 40 by 30 m with walls on three sides and a shed.
//! let mut map: Vec<[f64; 3]> = Vec::new();
//! for i in 0..30_000 {
//!     let (a, b) = (f64::from(i % 200) * 0.2, f64::from(i / 200) * 0.2);
//!     map.push([a, b, 0.0]);
//!     if b < 4.0 {
//!         map.extend([[a, 0.0, b], [0.0, a * 0.75, b], [40.0, a * 0.75, b], [10.0 + a / 8.0, 20.0, b]]);
//!     }
//! }
//! let device = Device::auto();
//! let grid = ndt_grid(Rows::from(&map[..]), 2.0, &NdtParams::default(), &device)?;
//! let target = LevelTarget::new(&grid, &LevelTargetParams::default())?;
//! // What a sensor 1.7 m above the ground sees.
//! let truth = Pose::from_xyzrpy([14.0, 9.0, 1.7, 0.0, 0.0, 2.0])?;
//! let scan: Vec<[f64; 3]> = map.iter().step_by(3).map(|p| truth.inverse().apply(*p)).collect();
//! let found = target.search(Rows::from(&scan[..]), &LevelParams::default())?;
//! let off = truth.inverse().compose(&found.candidates[0].target_from_source);
//! assert!(off.translation().iter().all(|x| x.abs() < 1.0));
//! # Ok::<(), pointmill::Error>(())
//! ```

mod bounds;
mod device_field;
mod field;
mod gpu;
mod ground;
mod params;
mod queue;
mod search;
mod source;
mod target;
#[cfg(test)]
mod tests;
mod values;
mod work;

pub use params::{LevelParams, LevelTargetParams};
pub use search::{LevelCandidate, LevelSearch};
pub use target::LevelTarget;
