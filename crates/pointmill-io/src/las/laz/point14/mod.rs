//! The points of formats 6 to 10: an own decoder. It replaces the decoder of the crate, which
//! recurses without end in GPS times.
//!
//! A chunk has its first point uncompressed, and then a layer for each group of fields of the other
//! points. Each channel of the scanner has its own models ([`Channel`]), which are created when the
//! channel first occurs.
//!
//! Source: the specification of LASzip for LAS 1.4, and its paper, named in [`super::gps`].

mod channel;
mod layers;
mod predict;
mod record;

use channel::{Channel, changed};
use layers::Layers;
use laz::DecompressionSelection;
use laz::record::LayeredFieldDecompressor;
use record::{Point, SIZE};
use std::io::{Error, ErrorKind, Read, Result, Seek};

const CHANNELS: usize = 4;

/// The field of versions 3 and 4.
pub(super) struct Point14 {
    /// Whether the decoders of the other fields get the channel of each point. In version 3 they
    /// get it only for a point that changes the channel; for other points they get the first
    /// channel. The encoded bytes depend on this.
    tells_each: bool,
    layers: Layers,
    channels: [Option<Box<Channel>>; CHANNELS],
    current: usize,
}

impl Point14 {
    pub(super) fn new(version: u16) -> Self {
        Self { tells_each: version > 3, layers: Layers::default(), channels: Default::default(), current: 0 }
    }
}

impl<R: Read + Seek> LayeredFieldDecompressor<R> for Point14 {
    fn size_of_field(&self) -> usize {
        SIZE
    }

    /// All fields are decoded.
    fn set_selection(&mut self, _: DecompressionSelection) {}

    fn init_first_point(&mut self, src: &mut R, first_point: &mut [u8], context: &mut usize) -> Result<()> {
        src.read_exact(first_point)?;
        let point = Point::from_bytes(first_point);
        self.current = point.channel.into();
        self.channels = Default::default();
        self.channels[self.current] = Some(Box::new(Channel::new(&point)));
        *context = self.current;
        Ok(())
    }

    fn decompress_field_with(&mut self, current_point: &mut [u8], context: &mut usize) -> Result<()> {
        let Self { layers, channels, current, .. } = self;
        let missing = || Error::new(ErrorKind::InvalidData, "points without a layer of x and y");
        let first = layers.first.as_mut().ok_or_else(missing)?;
        let channel = channels[*current].as_mut().ok_or_else(missing)?;
        let changes = channel.changes(first)?;
        if changes & changed::CHANNEL != 0 {
            let last = channel.last;
            *current = (*current + channel.ahead(first)?) % CHANNELS;
            channels[*current].get_or_insert_with(|| Box::new(Channel::new(&last))).last.channel = *current as u8;
        }
        if self.tells_each || changes & changed::CHANNEL != 0 {
            *context = *current;
        }
        let channel = channels[*current].as_mut().ok_or_else(missing)?;
        channel.next(changes, layers)?.put(current_point);
        Ok(())
    }

    fn read_layers_sizes(&mut self, src: &mut R) -> Result<()> {
        self.layers.read_lengths(src)
    }

    fn read_layers(&mut self, src: &mut R) -> Result<()> {
        self.layers.read(src)
    }
}
