//! The runtimes of GPUs, behind one trait. A new one is a folder here and the functions that open
//! it.
// Without any runtime nothing here is ever made.
#![cfg_attr(not(any(feature = "cuda", feature = "twin")), expect(dead_code))]

#[cfg(feature = "cuda")]
mod cuda;
mod interface;
#[cfg(feature = "twin")]
pub(super) mod twin;

pub use interface::DeviceInfo;
pub(super) use interface::{Launch, Machine, RawEvent, RawGraph, RawStream};

use crate::Result;

/// The NVIDIA GPU with this number.
#[cfg(feature = "cuda")]
pub(super) fn cuda(index: usize) -> Result<&'static dyn Machine> {
    cuda::Gpu::open(index).map(|gpu| gpu as _)
}

/// The NVIDIA GPUs that answer.
#[cfg(feature = "cuda")]
pub(super) fn list_cuda() -> Result<Vec<DeviceInfo>> {
    cuda::Gpu::list()
}

#[cfg(not(feature = "cuda"))]
pub(super) fn cuda(index: usize) -> Result<&'static dyn Machine> {
    let reason = "built without the feature cuda".into();
    Err(crate::Error::DeviceUnavailable { device: format!("cuda:{index}"), reason })
}

#[cfg(not(feature = "cuda"))]
pub(super) fn list_cuda() -> Result<Vec<DeviceInfo>> {
    Ok(Vec::new())
}
