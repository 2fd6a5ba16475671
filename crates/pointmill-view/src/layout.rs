//! What a picture of a scene has: its panels, their areas, and the entries of a legend.

use crate::{Camera, Image};

pub(crate) const FRAME: [u8; 3] = [30, 36, 47];
pub(crate) const INK: [u8; 3] = [226, 232, 240];
pub(crate) const FAINT: [u8; 3] = [140, 152, 170];
/// Pixels between panels, of the line of titles, and of the legend.
pub(crate) const MARGIN: u32 = 8;
const TITLE: u32 = 36;
pub(crate) const LEGEND: u32 = 40;
/// A picture of a scene that says nothing of its panels.
pub(crate) const STILL: [u32; 2] = [1600, 900];
/// Pixels of a point, in halves.
pub(crate) const POINT: u32 = 4;

/// What a picture has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) size: [u32; 2],
    /// One for each column. Without titles there are those of the frames, or else that of the
    /// scene.
    pub(crate) titles: Vec<String>,
    pub(crate) panels: Vec<Panel>,
    /// Colours and what they mean, besides layers of one colour.
    pub(crate) keys: Vec<([u8; 3], &'static str)>,
    /// Whether the legend has the colours of all directions that a cell may face.
    pub(crate) has_facings: bool,
}

/// A view on the scene.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// From the left, from the top, width and height.
    pub(crate) area: [u32; 4],
    pub(crate) camera: Camera,
    /// A camera for each frame; without any one has all.
    pub(crate) cameras: Vec<Camera>,
    /// Whether layers of earlier frames stay, and lines that grow end at the frame.
    pub(crate) keeps: bool,
    /// One frame, or in an animation each.
    pub(crate) frame: Option<usize>,
    /// The layers; without names all that are shown.
    pub(crate) names: &'static [&'static str],
    /// Pixels of a point, in halves.
    pub(crate) point: u32,
    /// How much wider lines are than their layers say.
    pub(crate) pen: f64,
    /// Whether points and voxels that lie behind their neighbours are darker.
    pub(crate) is_shaded: bool,
    pub(crate) label: String,
    /// Letters beside places.
    pub(crate) marks: Vec<([f64; 3], &'static str)>,
}

impl Panel {
    pub(crate) const fn new(area: [u32; 4], camera: Camera, names: &'static [&'static str]) -> Self {
        Self {
            area,
            camera,
            cameras: Vec::new(),
            keeps: false,
            frame: None,
            names,
            point: POINT,
            pen: 1.0,
            is_shaded: false,
            label: String::new(),
            marks: Vec::new(),
        }
    }
}

/// The areas of panels in rows, each with its share of the height and its number of columns.
pub(crate) fn areas([width, height]: [u32; 2], rows: &[(u32, u32)]) -> Vec<[u32; 4]> {
    let room = height - TITLE - LEGEND - (rows.len() as u32 + 1) * MARGIN;
    let shares: u32 = rows.iter().map(|row| row.0).sum();
    let mut y = TITLE + MARGIN;
    let mut out = Vec::new();
    for (share, columns) in rows {
        let (w, h) = ((width - (columns + 1) * MARGIN) / columns, room * share / shares);
        out.extend((0..*columns).map(|k| [MARGIN + k * (w + MARGIN), y, w, h]));
        y += h + MARGIN;
    }
    out
}

/// Writes a coloured square with its meaning behind it; the x after it.
pub(crate) fn entry(picture: &mut Image, x: u32, y: u32, colour: [u8; 3], text: &str) -> u32 {
    picture.paste(&Image::filled(16, 16, colour), x, y + 2);
    picture.text(text, x as i32 + 24, y as i32, FAINT);
    x + 24 + 10 * text.len() as u32 + 26
}
