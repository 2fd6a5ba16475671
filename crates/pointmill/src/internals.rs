//! What the crates of this workspace share with the operators. It is not part of the API and
//! changes without notice.
//!
//! Methods that these crates need are public and hidden where they are defined.

pub use crate::ndt::pivot_of;
pub use crate::prim::{Pairs, fold, passes_for, sum};
pub use crate::registration::check_pose;
pub use crate::seed::seed;

/// Memory of the host that is sized by input.
pub mod memory {
    pub use crate::memory::{available, collect, collect_parallel, extend, filled, push, resize, room};
}

/// Work that is split over threads.
pub mod par {
    pub use crate::par::{check, grain};
}

/// What tests share.
#[cfg(feature = "testing")]
pub mod testing {
    pub use crate::testing::{Random, devices, gpu, kernel_devices, repository};
}
