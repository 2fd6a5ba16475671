//! The GPU kernels of pointmill, in plain Rust.
//!
//! `rustc` compiles this crate three ways:
//! - for `nvptx64`: every kernel becomes an entry of the PTX of its [`Module`], which is committed
//!   and embedded (`cargo xtask ptx` makes it);
//! - for the host: what a launcher needs, the names, block sizes and argument structs; nothing runs
//!   the kernels;
//! - for the host with the feature `twin`: `simt::twin` runs the kernels, with every GPU thread a
//!   fiber.
//!
//! A kernel takes one `repr(C)` struct by value, so that both launchers pass the same thing.
//! Layout: [`simt`] is the machine (threads, barriers, warp operations, shared memory, atomics),
//! [`prim`] the parallel primitives, and one folder per operator holds that operator's kernels,
//! their PTX beside them.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]

#[cfg(not(target_arch = "nvptx64"))]
pub mod cubin;
#[cfg(not(target_arch = "nvptx64"))]
pub mod dependent;
#[macro_use]
mod kernel;
#[macro_use]
mod plain;
#[macro_use]
mod properties;
pub mod boxes;
pub mod cloud;
pub mod icp;
mod module;
pub mod ndt;
pub mod odometry;
pub mod points;
pub mod prim;
pub mod registration;
pub mod roi_pool;
#[cfg(all(test, not(target_arch = "nvptx64")))]
mod rules;
pub mod scatter;
pub mod simt;
pub mod sparse;
pub mod voxelize;

pub use kernel::{Kernel, MAX_SHARED_BYTES};
#[cfg(not(target_arch = "nvptx64"))]
pub use module::{MODULES, Module};
pub use properties::Properties;
