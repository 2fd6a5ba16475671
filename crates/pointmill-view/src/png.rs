//! PNG files.

use crate::file::write_whole;
use crate::{Image, ViewError};
use std::path::Path;

impl Image {
    /// The image as the bytes of a PNG file; the same image gives the same bytes.
    pub fn encode_png(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.width(), self.height());
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let written = encoder.write_header().and_then(|mut w| {
            w.write_image_data(self.rgb())?;
            w.finish()
        });
        written.expect("a vector takes all bytes, and the size of an image is valid");
        out
    }

    /// Writes a PNG file, whole or not at all: a temporary beside it is written, synced and
    /// renamed.
    ///
    /// # Errors
    /// The file cannot be written; the error names it.
    pub fn write_png(&self, path: impl AsRef<Path>) -> Result<(), ViewError> {
        write_whole(path.as_ref(), &self.encode_png())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_survive() {
        let mut image = Image::new(37, 11).unwrap();
        for i in 0..37 * 11 {
            image.set(i % 37, i / 37, [(i * 7) as u8, (i / 3) as u8, 255 - i as u8]);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        image.write_png(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut rgb).unwrap();
        assert_eq!(rgb, image.rgb());
        assert_eq!(bytes, image.encode_png());
    }
}
