//! Plots of lines over whole numbers, as SVG and as PNG from one drawing.

mod axis;
mod drawing;
mod panel;

use crate::file::write_whole;
use crate::{Image, ViewError};
pub(crate) use axis::{round_step, told};
pub(crate) use drawing::{Anchor, Drawing};
pub(crate) use panel::{GRID, Panel, Series, draw};
use std::path::Path;

/// A plot of a page, whose values belong to the frames.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) title: &'static str,
    drawing: Drawing,
    /// Left, top, width and height of the lines.
    area: [f64; 4],
}

impl Chart {
    /// A value for each frame, by its logarithm.
    pub(crate) fn new(title: &'static str, below: &str, colour: [u8; 3], values: &[f64]) -> Self {
        const SIZE: [f64; 2] = [480.0, 230.0];
        let mut drawing = Drawing::new(SIZE[0] as u32, SIZE[1] as u32);
        let panel = Panel { at: [0.0; 2], size: SIZE, title: "", below };
        let area = draw(&mut drawing, panel, &[Series { colour, values }]);
        Self { title, drawing, area }
    }

    /// The plot with a line at the frame that is shown, which the page moves.
    pub(crate) fn html(&self) -> String {
        let [x, y, w, h] = self.area;
        let now = format!(
            "<line id=\"now\" data-room=\"{w:.1}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{y:.1}\" y2=\"{:.1}\" \
             stroke=\"#e2e8f0\"/></svg>",
            y + h
        );
        let svg = self.drawing.svg(false).replace("</svg>", &now);
        format!("<details id=\"chart\" open><summary>{}</summary>{svg}</details>", self.title)
    }
}

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
        self.drawing.svg(true)
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
