//! The GPU path: allocates and launches. Arguments are already validated; the arithmetic is in the kernels.

mod cells;
mod grid;
mod table;

pub(super) use grid::Grid;
pub(super) use table::Table;

use super::cloud::NdtCloud;
use crate::Result;
use crate::coordinates::Values;
use crate::device::Buffer;
use pointmill_kernels::ndt::{Points, kind};

/// A cloud as kernels take it; one of the host is first copied to `staging`.
fn points(cloud: &NdtCloud<'_>, staging: &mut Buffer<u8>) -> Result<Points> {
    let mut stage = |bytes: &[u8]| -> Result<*const u8> {
        staging.reserve(bytes.len())?;
        staging.write(bytes)?;
        Ok(staging.pointer().cast_const())
    };
    let (values, double) = match cloud.values() {
        Values::F32(values) => (stage(bytemuck::cast_slice(values))?, false),
        Values::F64(values) => (stage(bytemuck::cast_slice(values))?, true),
        Values::Device { address, double, .. } => (address as *const u8, double),
    };
    let kind = match (double, cloud.origin()) {
        (true, _) => kind::F64,
        (false, None) => kind::F32,
        (false, Some(_)) => kind::ABOUT,
    };
    let origin = cloud.origin().unwrap_or_default();
    Ok(Points { values, columns: cloud.columns() as u32, n: cloud.len() as u32, kind, origin })
}
