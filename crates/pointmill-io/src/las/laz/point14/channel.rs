//! The models of the points of one scanner channel, and the decoder of its next point.

use super::layers::{Decoder, Layers};
use super::predict::{LEVELS, Median, RETURN_KINDS, kind, level};
use super::record::Point;
use crate::las::laz::gps::Sequences;
use laz::decompressors::{IntegerDecompressor, IntegerDecompressorBuilder};
use laz::models::{ArithmeticModel, ArithmeticModelBuilder};
use std::io::Result;

/// Bits of the code that tells which fields of a point change. The lowest two bits are for the
/// return number.
pub(super) mod changed {
    /// The return number: the same, one more, one less, or another.
    pub(in super::super) const NUMBER: u32 = 3;
    pub(in super::super) const RETURNS: u32 = 1 << 2;
    pub(in super::super) const ANGLE: u32 = 1 << 3;
    pub(in super::super) const TIME: u32 = 1 << 4;
    pub(in super::super) const SOURCE: u32 = 1 << 5;
    pub(in super::super) const CHANNEL: u32 = 1 << 6;
}

/// Models of one kind. A model is created at its first use, because a chunk needs only few of them.
struct Models<const N: usize> {
    symbols: u32,
    models: [Option<ArithmeticModel>; N],
}

impl<const N: usize> Models<N> {
    fn new(symbols: u32) -> Self {
        Self { symbols, models: [const { None }; N] }
    }

    fn decode(&mut self, decoder: &mut Decoder, context: usize) -> Result<u32> {
        let symbols = self.symbols;
        let model = self.models[context].get_or_insert_with(|| ArithmeticModelBuilder::new(symbols).build());
        decoder.decode_symbol(model)
    }
}

/// A channel of the scanner.
pub(super) struct Channel {
    pub(super) last: Point,
    /// Whether the time of the last point differed from the time of the point before it.
    time_changed: bool,
    // The last values of fields, for each context.
    heights: [i32; LEVELS],
    intensities: [u16; 8],
    steps_x: [Median; 2 * RETURN_KINDS],
    steps_y: [Median; 2 * RETURN_KINDS],
    // Models of codes.
    changes: Models<8>,
    ahead: Models<1>,
    returns: Models<16>,
    numbers: Models<16>,
    number_steps: Models<1>,
    classifications: Models<64>,
    flags: Models<64>,
    users: Models<64>,
    // Models of differences.
    x: IntegerDecompressor,
    y: IntegerDecompressor,
    z: IntegerDecompressor,
    intensity: IntegerDecompressor,
    angle: IntegerDecompressor,
    source: IntegerDecompressor,
    times: Sequences,
}

impl Channel {
    /// Starts with the first point of the channel, or with the last point of the previous channel.
    pub(super) fn new(point: &Point) -> Self {
        let differences =
            |bits, contexts| IntegerDecompressorBuilder::new().bits(bits).contexts(contexts).build_initialized();
        let mut times = Sequences::new(false);
        times.start(point.time);
        Self {
            last: *point,
            time_changed: false,
            heights: [point.z; LEVELS],
            intensities: [point.intensity; 8],
            steps_x: [Median::new(); 2 * RETURN_KINDS],
            steps_y: [Median::new(); 2 * RETURN_KINDS],
            changes: Models::new(128),
            ahead: Models::new(3),
            returns: Models::new(16),
            numbers: Models::new(16),
            number_steps: Models::new(13),
            classifications: Models::new(256),
            flags: Models::new(64),
            users: Models::new(256),
            x: differences(32, 2),
            y: differences(32, 22),
            z: differences(32, 20),
            intensity: differences(16, 4),
            angle: differences(16, 2),
            source: differences(16, 1),
            times,
        }
    }

    /// Decodes which fields the next point changes. It is not known yet whether the point is of
    /// this channel.
    pub(super) fn changes(&mut self, first: &mut Decoder) -> Result<u32> {
        let (is_first, is_last) = self.last.ends();
        let context = usize::from(is_first) | usize::from(is_last) << 1 | usize::from(self.time_changed) << 2;
        self.changes.decode(first, context)
    }

    /// Decodes how many channels ahead the next point is.
    pub(super) fn ahead(&mut self, first: &mut Decoder) -> Result<usize> {
        Ok(self.ahead.decode(first, 0)? as usize + 1)
    }

    /// Decodes the next point of this channel.
    pub(super) fn next(&mut self, changes: u32, layers: &mut Layers) -> Result<&Point> {
        self.time_changed = changes & changed::TIME != 0;
        if let Some(first) = &mut layers.first {
            self.place_in_pulse(changes, first)?;
            self.xy(first)?;
        }
        if let Some(layer) = &mut layers.z {
            self.z(layer)?;
        }
        let (is_first, is_last) = self.last.ends();
        if let Some(layer) = &mut layers.classification {
            let context = usize::from(self.last.classification & 0x1f) << 1 | usize::from(is_first && is_last);
            self.last.classification = self.classifications.decode(layer, context)? as u8;
        }
        if let Some(layer) = &mut layers.flags {
            self.last.flags = self.flags.decode(layer, self.last.flags.into())? as u8;
        }
        if let Some(layer) = &mut layers.intensity {
            let context = u32::from(is_last) | u32::from(is_first) << 1;
            let last = &mut self.intensities[context as usize * 2 + usize::from(self.time_changed)];
            *last = self.intensity.decompress(layer, (*last).into(), context)? as u16;
            self.last.intensity = *last;
        }
        if let Some(layer) = &mut layers.angle
            && changes & changed::ANGLE != 0
        {
            let near = self.last.angle.into();
            self.last.angle = self.angle.decompress(layer, near, self.time_changed.into())? as i16;
        }
        if let Some(layer) = &mut layers.user {
            self.last.user = self.users.decode(layer, usize::from(self.last.user) / 4)? as u8;
        }
        if let Some(layer) = &mut layers.source
            && changes & changed::SOURCE != 0
        {
            self.last.source = self.source.decompress(layer, self.last.source.into(), 0)? as u16;
        }
        if let Some(layer) = &mut layers.time
            && self.time_changed
        {
            self.last.time = self.times.next(layer)?;
        }
        Ok(&self.last)
    }

    /// Decodes the number of returns and which of them the point is.
    fn place_in_pulse(&mut self, changes: u32, first: &mut Decoder) -> Result<()> {
        let last = &mut self.last;
        if changes & changed::RETURNS != 0 {
            last.returns = self.returns.decode(first, last.returns.into())? as u8;
        }
        last.number = match changes & changed::NUMBER {
            0 => last.number,
            1 => (last.number + 1) % 16,
            2 => (last.number + 15) % 16,
            _ if self.time_changed => self.numbers.decode(first, last.number.into())? as u8,
            // Steps of one have their own codes.
            _ => (last.number + self.number_steps.decode(first, 0)? as u8 + 2) % 16,
        };
        Ok(())
    }

    /// Decodes x and y, each by its step from the last point.
    fn xy(&mut self, first: &mut Decoder) -> Result<()> {
        let last = &mut self.last;
        let (single, kind) = (u32::from(last.returns == 1), kind(last.returns, last.number));
        let context = 2 * kind + usize::from(self.time_changed);
        let steps = &mut self.steps_x[context];
        let step = self.x.decompress(first, steps.get(), single)?;
        last.x = last.x.wrapping_add(step);
        steps.add(step);
        let steps = &mut self.steps_y[context];
        let step = self.y.decompress(first, steps.get(), single + even(self.x.k(), 20))?;
        last.y = last.y.wrapping_add(step);
        steps.add(step);
        Ok(())
    }

    /// Decodes z by its difference from the last z of the same level.
    fn z(&mut self, layer: &mut Decoder) -> Result<()> {
        let single = u32::from(self.last.returns == 1);
        let height = &mut self.heights[level(self.last.returns, self.last.number)];
        *height = self.z.decompress(layer, *height, single + even((self.x.k() + self.y.k()) / 2, 18))?;
        self.last.z = *height;
        Ok(())
    }
}

/// The largest even number that is at most `bits`, the length of a step in bits, and at most
/// `most`.
fn even(bits: u32, most: u32) -> u32 {
    bits.min(most) & !1
}
