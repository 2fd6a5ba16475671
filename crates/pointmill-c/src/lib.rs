//! The C and C++ library: handles, statuses and arrays in the caller's memory, around the operators
//! of `pointmill` and `pointmill-slam`.
//!
//! There is no formula and no rule of an operator here. Functions turn what C has into what the
//! library takes, and back. `include/pointmill.h` is made of these files.
//!
//! # What callers promise
//! Rust cannot check pointers of C. Each function counts on this:
//! - a handle is null, or came from the function that makes its kind and was not destroyed; it is
//!   used by one thread at a time unless the pointer is to a const handle;
//! - a struct is null, or has as many bytes as its `struct_size` says;
//! - memory is null, or has the values that the array or the count beside it says, until the work
//!   that the call queued is done.
//!
//! All else is checked: null, sizes, alignment, types, enumerators, lengths.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![allow(non_camel_case_types, reason = "types and enumerators have the names that they have in C")]
#![allow(clippy::doc_markdown, rustdoc::broken_intra_doc_links, reason = "the text is that of the header of C")]
#![allow(clippy::not_unsafe_ptr_arg_deref, reason = "C calls them, and promises what stands above")]

mod array;
mod boxes;
mod cloud;
mod dlpack;
mod error;
mod handle;
mod icp;
mod localize;
mod ndt;
mod ndt_file;
mod odometry;
mod pillars;
mod registration;
mod roi_pool;
mod scan;
mod sparse;
mod stream;
mod voxelize;
mod worker;

pub use array::*;
pub use boxes::*;
pub use cloud::*;
pub use dlpack::*;
pub use error::*;
pub use icp::*;
pub use localize::*;
pub use ndt::*;
pub use ndt_file::*;
pub use odometry::*;
pub use pillars::*;
pub use registration::*;
pub use roi_pool::*;
pub use scan::*;
pub use sparse::*;
pub use stream::*;
pub use voxelize::*;
pub use worker::*;
