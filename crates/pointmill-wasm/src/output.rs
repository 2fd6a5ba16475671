//! A result: the file that the command would write, its SHA-256, and a report.

use crate::thrown;
use pointmill_data::runs::sha256;
use serde::Serialize;
use wasm_bindgen::prelude::*;
use web_time::Instant;

/// A step and its milliseconds.
pub(crate) fn timed<T, E>(step: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let start = Instant::now();
    step().map(|done| (done, start.elapsed().as_secs_f64() * 1e3))
}

/// A result.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Output {
    file: Vec<u8>,
    report: String,
    ms: f64,
}

impl Output {
    pub(crate) fn new(file: Vec<u8>, report: &impl Serialize, ms: f64) -> Result<Self, JsError> {
        Ok(Self { file, report: serde_json::to_string(report).map_err(thrown)?, ms })
    }
}

#[wasm_bindgen]
impl Output {
    /// The bytes of the file that the command writes with `--out`: `.npz`, or lines of poses.
    #[wasm_bindgen(getter)]
    pub fn file(&self) -> Vec<u8> {
        self.file.clone()
    }

    /// The SHA-256 of the file, in hexadecimal digits.
    #[wasm_bindgen(getter)]
    pub fn sha256(&self) -> String {
        sha256(&self.file)
    }

    /// Milliseconds of the operator, without reading and without making the file.
    #[wasm_bindgen(getter)]
    pub fn ms(&self) -> f64 {
        self.ms
    }

    /// What the command reports of the result, as JSON.
    #[wasm_bindgen(getter)]
    pub fn report(&self) -> String {
        self.report.clone()
    }
}
