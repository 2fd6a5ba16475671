//! The GPU kernels of pointmill, in plain Rust.
//!
//! `rustc` compiles this crate three ways:
//! - for `nvptx64`: every kernel becomes an entry of [`PTX`], which is committed and embedded (`cargo xtask ptx` makes it);
//! - for the host: only what a launcher needs, the names, block sizes and argument structs;
//! - for the host with the feature `twin`: the kernel bodies as well, run by `simt::twin` with every GPU thread a fiber.
//!
//! A kernel takes one `repr(C)` struct by value, so that both launchers pass the same thing. Layout: [`simt`] is the
//! machine (threads, barriers, warp operations, shared memory, atomics), [`prim`] the parallel primitives, and one file
//! per operator holds that operator's kernels.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]

#[macro_use]
mod kernel;
pub mod icp;
pub mod ndt;
pub mod points;
pub mod prim;
pub mod roi_pool;
pub mod simt;
pub mod voxelize;

pub use kernel::{Kernel, MAX_SHARED_BYTES};

/// The kernels as PTX text for compute capability 7.0 and later; the driver translates it for the GPU at hand.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: &str = include_str!("kernels.ptx");
