//! GIF animations.

use crate::file::write_whole;
use crate::palette::Palette;
use crate::{Image, ViewError};
use std::path::Path;

/// An animation of pictures of one size, repeated for ever.
///
/// One palette of 256 colours serves all frames, so still things do not flicker. The same frames
/// give the same bytes. Frames are kept in memory until they are written.
///
/// ```
/// use pointmill_view::{Gif, Image};
/// let mut gif = Gif::new(100);
/// gif.push(Image::new(32, 20)?)?;
/// gif.push(Image::new(32, 20)?)?;
/// assert_eq!(gif.encode()?[..6], *b"GIF89a");
/// # Ok::<(), pointmill_view::ViewError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gif {
    /// Each with the milliseconds that it is shown for.
    frames: Vec<(Image, u32)>,
    delay_ms: u32,
}

impl Gif {
    /// An animation that shows each frame for `delay_ms` milliseconds, rounded to the 10 ms that
    /// the format counts in, at least 20: browsers slow down anything faster.
    pub const fn new(delay_ms: u32) -> Self {
        Self { frames: Vec::new(), delay_ms }
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// It is not as large as the first one.
    pub fn push(&mut self, frame: Image) -> Result<(), ViewError> {
        self.push_for(frame, self.delay_ms)
    }

    /// Adds a frame with a time of its own, as [`Gif::new`] takes it.
    ///
    /// # Errors
    /// It is not as large as the first one.
    pub fn push_for(&mut self, frame: Image, delay_ms: u32) -> Result<(), ViewError> {
        let size = |image: &Image| [image.width(), image.height()];
        if let Some((first, _)) = self.frames.first()
            && size(first) != size(&frame)
        {
            return Err(ViewError::FrameSize { index: self.frames.len(), expected: size(first), got: size(&frame) });
        }
        self.frames.push((frame, delay_ms));
        Ok(())
    }

    /// The number of frames.
    pub const fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there is no frame.
    pub const fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The bytes of a GIF file.
    ///
    /// # Errors
    /// There is no frame.
    pub fn encode(&self) -> Result<Vec<u8>, ViewError> {
        let (first, _) = self.frames.first().ok_or(ViewError::NoFrames)?;
        // An image's sides are at most 16,384, so they fit the format's 16 bits.
        let (width, height) = (first.width() as u16, first.height() as u16);
        let palette = Palette::of(self.frames.iter().map(|(frame, _)| frame.rgb()));
        let mut out = Vec::new();
        self.write_frames(&mut out, width, height, &palette).expect("a vector takes all bytes");
        Ok(out)
    }

    fn write_frames(
        &self,
        out: &mut Vec<u8>,
        width: u16,
        height: u16,
        palette: &Palette,
    ) -> Result<(), gif::EncodingError> {
        let mut encoder = gif::Encoder::new(out, width, height, &palette.colours)?;
        encoder.set_repeat(gif::Repeat::Infinite)?;
        for (frame, delay_ms) in &self.frames {
            let mut frame = gif::Frame::from_indexed_pixels(width, height, palette.indices(frame.rgb()), None);
            frame.delay = (delay_ms.saturating_add(5) / 10).clamp(2, 65_535) as u16;
            encoder.write_frame(&frame)?;
        }
        Ok(())
    }

    /// Writes a GIF file, whole or not at all: a temporary beside it is written, synced and
    /// renamed.
    ///
    /// # Errors
    /// There is no frame, or the file cannot be written; the error names it.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), ViewError> {
        write_whole(path.as_ref(), &self.encode()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back() {
        let mut animation = Gif::new(104);
        assert!(matches!(animation.encode(), Err(ViewError::NoFrames)));
        for k in 0..3 {
            let mut image = Image::new(30, 20).unwrap();
            image.set(k, 7, [250, 40, 90]);
            if k == 2 { animation.push_for(image, 1_000) } else { animation.push(image) }.unwrap();
        }
        let error = animation.push(Image::new(30, 21).unwrap()).unwrap_err().to_string();
        assert_eq!(error, "frame 3: expected 30 x 20 pixels as in the first frame, got 30 x 21");
        let bytes = animation.encode().unwrap();
        assert_eq!(bytes, animation.encode().unwrap());
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(&bytes[..]).unwrap();
        let mut count = 0;
        while let Some(frame) = decoder.read_next_frame().unwrap() {
            assert_eq!(frame.delay, if count == 2 { 100 } else { 10 });
            let rgb: Vec<u8> = frame.buffer.chunks(4).flat_map(|c| c[..3].to_vec()).collect();
            assert_eq!(rgb, animation.frames[count].0.rgb());
            count += 1;
        }
        assert_eq!(count, 3);
    }
}
