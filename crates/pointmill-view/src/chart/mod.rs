//! Plots of lines over whole numbers, as SVG and as PNG from one drawing.

mod axis;
mod drawing;
mod panel;

use crate::file::write_whole;
use crate::{Image, ViewError};
pub(crate) use drawing::{Anchor, Drawing};
pub(crate) use panel::{Panel, Series, draw};
use std::path::Path;

/// A plot: what [`icp_plot`](crate::icp_plot) draws, as a picture of pixels or of lines.
///
/// The same plot gives the same bytes.
#[derive(Clone, Debug)]
pub struct Plot {
    drawing: Drawing,
}

impl Plot {
    pub(crate) const fn new(drawing: Drawing) -> Self {
        Self { drawing }
    }

    /// The plot in pixels.
    pub fn image(&self) -> Image {
        self.drawing.image()
    }

    /// The plot as the text of an SVG file, which needs no font but a common one.
    pub fn encode_svg(&self) -> String {
        self.drawing.svg()
    }

    /// Writes a PNG file, whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written; the error names it.
    pub fn write_png(&self, path: impl AsRef<Path>) -> Result<(), ViewError> {
        self.image().write_png(path)
    }

    /// Writes an SVG file, whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written; the error names it.
    pub fn write_svg(&self, path: impl AsRef<Path>) -> Result<(), ViewError> {
        write_whole(path.as_ref(), self.encode_svg().as_bytes())
    }
}
