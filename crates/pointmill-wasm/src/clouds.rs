//! Clouds from the bytes of files.

use crate::thrown;
use pointmill_data::inputs::{Inputs, Source};
use pointmill_data::sort_naturally;
use pointmill_io::{LocalOrigin, ReadOptions, Scan};
use pointmill_synth::{Drive, DriveParams};
use std::path::{Path, PathBuf};
use wasm_bindgen::prelude::*;

/// How files are read: as the command reads them without a flag.
pub(crate) fn options() -> ReadOptions {
    ReadOptions { origin: LocalOrigin::Auto, ..ReadOptions::default() }
}

/// Names of files in the order in which the command takes those of a folder.
#[wasm_bindgen(js_name = naturalOrder)]
pub fn order(mut names: Vec<String>) -> Vec<String> {
    sort_naturally(&mut names, |name| Path::new(name));
    names
}

/// The clouds of a file: one, or those of a bag.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Clouds {
    sources: Vec<Source>,
    inputs: Inputs,
}

#[wasm_bindgen]
impl Clouds {
    /// Takes the bytes of a file. Its format is the one of the name, else the one of the content.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, bytes: Vec<u8>) -> Result<Self, JsError> {
        let sources = Inputs::held(PathBuf::from(name), bytes, &options()).map_err(thrown)?;
        let inputs = Inputs::of(&sources, options());
        Ok(Self { sources, inputs })
    }

    /// The sweeps of the built-in synthetic drive, which the command takes without an input.
    pub fn drive() -> Self {
        let (sources, inputs) = Inputs::of_drive(Drive::new(DriveParams::default()));
        Self { sources, inputs }
    }

    /// The number of clouds.
    #[wasm_bindgen(getter)]
    pub fn length(&self) -> usize {
        self.sources.len()
    }

    /// Reads the cloud of this number, from 0.
    pub fn read(&self, number: usize) -> Result<Cloud, JsError> {
        let Some(source) = self.sources.get(number) else {
            return Err(thrown(format!("number: expected one below {}, got {number}", self.sources.len())));
        };
        let (scan, _) = self.inputs.read(source).map_err(thrown)?;
        Ok(Cloud { name: source.name(), scan })
    }

    pub(crate) fn into_parts(self) -> (Vec<Source>, Inputs) {
        (self.sources, self.inputs)
    }
}

/// A cloud that was read.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Cloud {
    pub(crate) name: String,
    pub(crate) scan: Scan,
}

#[wasm_bindgen]
impl Cloud {
    /// The name of the file, of a bag with the number of the cloud.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// The number of points.
    #[wasm_bindgen(getter)]
    pub fn length(&self) -> usize {
        self.scan.cloud.len()
    }

    /// The names of the columns; the first three are x, y, z.
    #[wasm_bindgen(getter)]
    pub fn columns(&self) -> Vec<String> {
        self.scan.fields.iter().map(|field| field.name.clone()).collect()
    }

    /// The rows as `f32`, `[length, columns]` row-major, about `origin`, in metres.
    #[wasm_bindgen(getter)]
    pub fn data(&self) -> Vec<f32> {
        self.scan.cloud.data().to_vec()
    }

    /// What the points are about, in metres.
    #[wasm_bindgen(getter)]
    pub fn origin(&self) -> Vec<f64> {
        self.scan.cloud.origin().to_vec()
    }

    /// What is unusual about the file.
    #[wasm_bindgen(getter)]
    pub fn warnings(&self) -> Vec<String> {
        self.scan.warnings.iter().map(ToString::to_string).collect()
    }
}

impl Cloud {
    /// The scan about another origin, as a run has one origin for all its inputs.
    pub(crate) fn about(&self, origin: [f64; 3]) -> Scan {
        self.scan.clone().about(if origin == [0.0; 3] { LocalOrigin::None } else { LocalOrigin::At(origin) })
    }
}
