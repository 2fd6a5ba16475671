//! What stands under pictures: meanings of colours, and bars that tell the scale.

use crate::Image;

pub(crate) const FRAME: [u8; 3] = [30, 36, 47];
pub(crate) const INK: [u8; 3] = [226, 232, 240];
pub(crate) const FAINT: [u8; 3] = [140, 152, 170];

/// Writes a coloured square with its meaning behind it; the x after it.
pub(crate) fn entry(picture: &mut Image, x: u32, y: u32, colour: [u8; 3], text: &str) -> u32 {
    picture.paste(&Image::filled(16, 16, colour), x, y + 2);
    picture.text(text, x as i32 + 24, y as i32, FAINT);
    x + 24 + 10 * text.len() as u32 + 26
}

/// Draws a bar of a round number of metres that is 60 to 200 pixels long, its right end at `x`, its text left of it.
pub(crate) fn scale_bar(picture: &mut Image, x: u32, y: u32, pixels_per_metre: f64) {
    let lengths = (-3..7).flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * libm::pow(10.0, f64::from(e))));
    let Some(metres) = lengths.into_iter().find(|m| (60.0..=200.0).contains(&(m * pixels_per_metre))) else { return };
    let length = (metres * pixels_per_metre + 0.5) as u32;
    picture.paste(&Image::filled(length, 3, INK), x - length, y + 9);
    for end in [x - length, x - 3] {
        picture.paste(&Image::filled(3, 11, INK), end, y + 5);
    }
    let text = format!("{metres} m");
    picture.text(&text, (x - length) as i32 - 12 - 10 * text.len() as i32, y as i32, INK);
}
