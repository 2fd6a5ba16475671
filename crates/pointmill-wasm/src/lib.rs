//! pointmill for JavaScript, in a browser and in node: a door over the libraries, without an
//! algorithm and without a file format.
//!
//! A result holds the bytes of the file that the command writes for it, and their SHA-256. So
//! `sha256sum` of the command's file tells whether both are the same. Errors are the library's
//! messages. All work is on the CPU, on the caller's thread.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(unsafe_code)]

pub mod clouds;
pub mod icp;
pub mod ndt;
pub mod odometry;
pub mod output;
mod params;
pub mod voxels;

use pointmill::{Device, Error, Stream};
use std::fmt::Display;
use wasm_bindgen::prelude::*;

/// Throws the message of a panic, which else would be `unreachable`. The program cannot be used
/// after it.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|info| wasm_bindgen::throw_str(&format!("pointmill ended: {info}"))));
}

/// An error as JavaScript throws it.
fn thrown(error: impl Display) -> JsError {
    JsError::new(&error.to_string())
}

/// Where all work is queued.
fn stream() -> Result<Stream, Error> {
    Device::cpu().stream()
}
