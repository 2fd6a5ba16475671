//! A picture in memory.

use crate::error::{MAX_SIDE, ViewError};
use embedded_graphics::mono_font::{MonoTextStyle, ascii::FONT_6X10, ascii::FONT_10X20};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::primitives::Rectangle;
use embedded_graphics::text::{Baseline, Text};
use std::convert::Infallible;

/// The dark grey-blue that pictures are drawn on.
pub const BACKGROUND: [u8; 3] = [13, 16, 23];

/// The left end and the row of each line of pixels under a comma.
const COMMA_TAIL: [(i32, i32); 2] = [(2, 17), (1, 18)];

/// A picture: `height` rows of `width` pixels of red, green and blue, the first row at the top.
///
/// It is a `DrawTarget` of the `embedded-graphics` crate, so anything that draws there draws here.
///
/// ```
/// use pointmill_view::{BACKGROUND, Image};
/// let mut image = Image::new(64, 32)?;
/// image.set(3, 4, [255, 0, 0]);
/// assert_eq!((image.get(3, 4), image.get(0, 0)), ([255, 0, 0], BACKGROUND));
/// # Ok::<(), pointmill_view::ViewError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

impl Image {
    /// An image of nothing but [`BACKGROUND`].
    ///
    /// # Errors
    /// A side of 0 or more than [`MAX_SIDE`] pixels.
    pub fn new(width: u32, height: u32) -> Result<Self, ViewError> {
        if !(1..=MAX_SIDE).contains(&width) || !(1..=MAX_SIDE).contains(&height) {
            return Err(ViewError::Size { width, height });
        }
        Ok(Self::filled(width, height, BACKGROUND))
    }

    /// An image of one colour. The sides are already validated.
    pub(crate) fn filled(width: u32, height: u32, colour: [u8; 3]) -> Self {
        Self { width, height, rgb: colour.repeat(width as usize * height as usize) }
    }

    /// Pixels in a row.
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Rows.
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// All bytes: red, green and blue of the first row's pixels from left to right, then the next
    /// row's.
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// The colour of the pixel `x` from the left and `y` from the top. Panics outside the image.
    pub fn get(&self, x: u32, y: u32) -> [u8; 3] {
        assert!(
            x < self.width && y < self.height,
            "pixel: expected one of {} x {}, got {x}, {y}",
            self.width,
            self.height
        );
        let i = 3 * (y as usize * self.width as usize + x as usize);
        [self.rgb[i], self.rgb[i + 1], self.rgb[i + 2]]
    }

    /// Colours the pixel `x` from the left and `y` from the top; outside the image nothing happens.
    pub fn set(&mut self, x: u32, y: u32, colour: [u8; 3]) {
        if x < self.width && y < self.height {
            let i = 3 * (y as usize * self.width as usize + x as usize);
            self.rgb[i..i + 3].copy_from_slice(&colour);
        }
    }

    /// Covers a part of a pixel, 0 to 1, which is in the image.
    pub(crate) fn mix(&mut self, x: u32, y: u32, colour: [u8; 3], cover: f64) {
        let under = self.get(x, y);
        let of = |k: usize| {
            let (old, new) = (f64::from(under[k]), f64::from(colour[k]));
            (old + (new - old) * cover + 0.5) as u8
        };
        self.set(x, y, [of(0), of(1), of(2)]);
    }

    /// Copies `other` with its upper left corner at `x`, `y`; what falls outside is cut off.
    pub fn paste(&mut self, other: &Self, x: u32, y: u32) {
        if x >= self.width || y >= self.height {
            return;
        }
        let bytes = 3 * other.width.min(self.width - x) as usize;
        for row in 0..other.height.min(self.height - y) {
            let from = 3 * row as usize * other.width as usize;
            let to = 3 * ((y + row) as usize * self.width as usize + x as usize);
            self.rgb[to..to + bytes].copy_from_slice(&other.rgb[from..from + bytes]);
        }
    }

    /// The image at half the size, each pixel the mean of four: what is drawn at twice the size
    /// comes out smooth.
    pub fn halved(&self) -> Self {
        let mut out = Self::filled((self.width / 2).max(1), (self.height / 2).max(1), BACKGROUND);
        for y in 0..out.height {
            for x in 0..out.width {
                let (x1, y1) = ((2 * x + 1).min(self.width - 1), (2 * y + 1).min(self.height - 1));
                let four = [(2 * x, 2 * y), (x1, 2 * y), (2 * x, y1), (x1, y1)].map(|(x, y)| self.get(x, y));
                let mean = |k: usize| (four.iter().map(|c| u32::from(c[k])).sum::<u32>() + 2) / 4;
                out.set(x, y, [mean(0) as u8, mean(1) as u8, mean(2) as u8]);
            }
        }
        out
    }

    /// Writes a line of ASCII text, its upper left corner at `x`, `y`, in letters of 10 x 20
    /// pixels.
    pub fn text(&mut self, text: &str, x: i32, y: i32, colour: [u8; 3]) {
        let style = MonoTextStyle::new(&FONT_10X20, Rgb888::new(colour[0], colour[1], colour[2]));
        let Ok(_) = Text::with_baseline(text, Point::new(x, y), style, Baseline::Top).draw(self);
        // The commas of the typeface are nearly full stops: these have a tail.
        for (k, _) in text.chars().enumerate().filter(|(_, c)| matches!(c, ',' | ';')) {
            for (left, row) in COMMA_TAIL {
                let at = Point::new(x.saturating_add(10 * k as i32 + left), y.saturating_add(row));
                let Ok(()) =
                    self.fill_solid(&Rectangle::new(at, Size::new(3, 1)), style.text_color.unwrap_or_default());
            }
        }
    }

    /// Writes a line of ASCII text in letters of 6 x 10 pixels.
    pub fn small_text(&mut self, text: &str, x: i32, y: i32, colour: [u8; 3]) {
        let style = MonoTextStyle::new(&FONT_6X10, Rgb888::new(colour[0], colour[1], colour[2]));
        let Ok(_) = Text::with_baseline(text, Point::new(x, y), style, Baseline::Top).draw(self);
    }
}

impl OriginDimensions for Image {
    fn size(&self) -> Size {
        Size::new(self.width, self.height)
    }
}

impl DrawTarget for Image {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(at, colour) in pixels {
            if let (Ok(x), Ok(y)) = (u32::try_from(at.x), u32::try_from(at.y)) {
                self.set(x, y, [colour.r(), colour.g(), colour.b()]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked() {
        let error = Image::new(0, 5).unwrap_err().to_string();
        assert_eq!(error, "image: expected 1 to 16384 pixels a side, got 0 x 5");
        assert!(Image::new(MAX_SIDE + 1, 1).is_err());
    }

    #[test]
    fn pasting_and_halving_keep_inside() {
        let mut image = Image::filled(5, 3, [0; 3]);
        image.paste(&Image::filled(4, 4, [200; 3]), 3, 1);
        image.paste(&Image::filled(4, 4, [200; 3]), 9, 9);
        assert_eq!(image.rgb().iter().filter(|&&v| v == 200).count(), 3 * 4);
        let half = image.halved();
        assert_eq!((half.width(), half.height()), (2, 1));
        assert_eq!(half.get(1, 0), [50; 3]);
        assert_eq!(Image::filled(1, 1, [9; 3]).halved().get(0, 0), [9; 3]);
    }

    #[test]
    fn text_leaves_ink_and_never_leaves_the_image() {
        let mut image = Image::filled(40, 20, [0; 3]);
        image.text("Hi \u{1f980}", 0, 0, [255; 3]);
        assert!(image.rgb().contains(&255));
        let ink = |text: &str| {
            let mut image = Image::filled(10, 20, [0; 3]);
            image.text(text, 0, 0, [255; 3]);
            (16..20).map(|y| (0..10).filter(|&x| image.get(x, y) == [255; 3]).count()).sum::<usize>()
        };
        assert!(ink(",") > ink(".") + 6 && ink(";") > ink(":") + 6, "a comma has a tail");
        image.text("far away,", i32::MAX - 100, i32::MIN + 100, [255; 3]);
        image.small_text("far away", -100, 15, [255; 3]);
    }
}
