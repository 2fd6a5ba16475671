//! NVIDIA GPUs through the driver API.

mod calls;
mod compiling;
mod driver;
mod gpu;
mod modules;

pub(super) use gpu::Gpu;
