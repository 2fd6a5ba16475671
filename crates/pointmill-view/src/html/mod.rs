//! Scenes as one HTML file, to be turned and stepped through in a browser.

mod base64;
mod record;

use crate::chart::Chart;
use crate::scene::{Layer, Paint, Scene};
use crate::{BACKGROUND, turbo};
use base64::base64;
use miniz_oxide::deflate::compress_to_vec_zlib;
use record::Record;
use serde::Serialize;

/// What surrounds the scene, and the script that draws it.
const PAGE: &str = include_str!("page.html");
const VIEWER: &str = include_str!("viewer.js");
/// Where the colours begin: those below are as dark as the background.
const DARKEST: f32 = 0.08;
/// How well zlib packs: beyond this a tenth of the size takes three times as long.
const LEVEL: u8 = 6;

/// The scene as the script takes it.
#[derive(Debug, Serialize)]
struct Header<'a> {
    frames: &'a [String],
    frame_ms: u32,
    /// The frame that is shown first.
    start: usize,
    paint: Paint,
    background: [u8; 3],
    /// The colours from low to high, red, green and blue as two hexadecimal digits each.
    palette: String,
    /// The middle of the scene in global coordinates, which all else is about.
    origin: [f64; 3],
    radius: f64,
    heights: [f64; 2],
    /// What values are, in the list of colours.
    values: &'a str,
    /// The units of lengths along x and y, and along z.
    units: [&'a str; 2],
    /// The axis that is up: 0, 1 or 2.
    up: usize,
    intensities: [f64; 2],
    layers: Vec<Record<'a>>,
}

impl Scene {
    /// The scene as one HTML file, which draws itself with WebGL 2 and needs neither a server nor a
    /// network.
    ///
    /// The reader steps through frames with a slider, with the arrow keys, or by playing them. The
    /// left button turns the view, the right one or shift moves it, the wheel zooms; `?` lists the
    /// rest. A drive begins to play, except where the address ends in `#still`. Chrome 85, Firefox
    /// 113, Safari 16.4 or later. A point takes 4 to 6 bytes of the file. Titles, names and
    /// labels may hold any text, which is shown as it is.
    pub fn page(&self) -> Vec<u8> {
        self.page_of("")
    }

    /// As [`page`](Self::page), with the command line that made it below the title.
    pub fn page_of(&self, command: &str) -> Vec<u8> {
        let layers: Vec<_> = self.layers.iter().map(Layer::thinned).collect();
        let (origin, radius, heights) = self.extent();
        let palette = (0..64)
            .flat_map(|i| turbo(DARKEST + (1.0 - DARKEST) * i as f32 / 63.0))
            .map(|c| format!("{c:02x}"))
            .collect();
        let header = Header {
            frames: &self.frames,
            frame_ms: self.frame_ms,
            start: self.start,
            paint: self.paint,
            background: BACKGROUND,
            palette,
            origin: [0, 1, 2].map(|axis| origin[axis] + self.about[axis]),
            radius,
            heights,
            values: &self.values,
            units: self.units.each_ref().map(|unit| &**unit),
            up: self.up,
            intensities: self.intensities(),
            layers: layers.iter().map(|layer| layer.record()).collect(),
        };
        let json = serde_json::to_string(&header).expect("numbers and text are JSON");
        let mut arrays = Vec::new();
        layers.iter().for_each(|layer| layer.arrays(origin, &mut arrays));
        let arrays = base64(&compress_to_vec_zlib(&arrays, LEVEL));
        let [r, g, b] = BACKGROUND;
        let fields = [
            ("{title}", escaped(&self.title)),
            ("{command}", escaped(command)),
            ("{background}", format!("#{r:02x}{g:02x}{b:02x}")),
            // No text of the scene ends its element or begins a comment.
            ("{scene}", json.replace('<', "\\u003c")),
            ("{arrays}", arrays),
            ("{chart}", self.chart.as_ref().map(Chart::html).unwrap_or_default()),
            ("{viewer}", VIEWER.to_owned()),
        ];
        filled(PAGE, &fields).into_bytes()
    }
}

/// Text as HTML shows it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ => out.push(c),
        }
    }
    out
}

/// The template with its fields, in one pass, so that no field is looked for in another.
fn filled(template: &str, fields: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match fields.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                out.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests;
