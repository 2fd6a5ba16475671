//! Times of up to four interleaved sequences, as version 2 of the field and point formats 6 to 10
//! code them.

use laz::decoders::ArithmeticDecoder;
use laz::decompressors::{IntegerDecompressor, IntegerDecompressorBuilder};
use laz::models::{ArithmeticModel, ArithmeticModelBuilder};
use std::io::{Error, ErrorKind, Read, Result};

const SEQUENCES: usize = 4;

/// The range of factors. The codes of negative factors follow the code of the largest factor.
const MOST: i32 = 500;
const LEAST: i32 = -10;
/// The number of codes for factors.
const FACTORS: u32 = (MOST - LEAST + 1) as u32;

/// The meaning of a code of a time.
enum Code {
    /// The time equals the previous time.
    Same,
    /// A 32-bit difference follows, the first of its sequence.
    First,
    /// A difference follows. It is near the last difference times this factor.
    Factor(u32),
    /// The whole time follows and starts a sequence.
    New,
    /// The time belongs to another sequence: the one that is this number after the current one.
    Other(usize),
}

/// After more than this number of factors at an end of their range, the difference that they
/// multiply is replaced.
const PATIENCE: u8 = 3;

/// The last time of a sequence, and its last difference.
#[derive(Clone, Copy, Debug, Default)]
struct Sequence {
    time: i64,
    /// The difference that factors multiply; 0 before the first difference.
    difference: i32,
    /// Number of factors at an end of their range since the last other factor.
    strained: u8,
}

impl Sequence {
    fn advance(&mut self, difference: i32) {
        self.time = self.time.wrapping_add(difference.into());
    }

    /// Counts a factor at an end of its range; `difference` is the difference coded with it.
    fn strain(&mut self, difference: i32) {
        self.strained += 1;
        if self.strained > PATIENCE {
            (self.difference, self.strained) = (difference, 0);
        }
    }
}

/// The last times of four sequences and the models of their codes.
pub(in crate::las::laz) struct Sequences {
    /// 1 if there is a code for a time that equals the previous time, else 0. Points of formats 6
    /// to 10 code this elsewhere.
    same: u32,
    /// Models of the codes: `firsts` if the last difference is 0, `factors` otherwise.
    firsts: ArithmeticModel,
    factors: ArithmeticModel,
    differences: IntegerDecompressor,
    sequences: [Sequence; SEQUENCES],
    current: usize,
    newest: usize,
}

impl Sequences {
    /// Creates the models. `same`: whether there is a code for a time that equals the previous
    /// time.
    pub(in crate::las::laz) fn new(same: bool) -> Self {
        let (same, others) = (u32::from(same), SEQUENCES as u32 - 1);
        Self {
            same,
            firsts: ArithmeticModelBuilder::new(same + 2 + others).build(),
            factors: ArithmeticModelBuilder::new(FACTORS + same + 1 + others).build(),
            differences: IntegerDecompressorBuilder::new().bits(32).contexts(9).build_initialized(),
            sequences: Default::default(),
            current: 0,
            newest: 0,
        }
    }

    /// Starts with the time of the first point.
    pub(in crate::las::laz) fn start(&mut self, time: i64) {
        self.sequences[0].time = time;
    }

    /// Decodes the next time.
    pub(in crate::las::laz) fn next(&mut self, decoder: &mut ArithmeticDecoder<impl Read>) -> Result<i64> {
        let mut code = self.code(decoder)?;
        if let Code::Other(ahead) = code {
            self.current = (self.current + ahead) % SEQUENCES;
            code = self.code(decoder)?;
        }
        let sequence = &mut self.sequences[self.current];
        match code {
            Code::Same => {}
            Code::First => {
                sequence.difference = self.differences.decompress(decoder, 0, 0)?;
                sequence.advance(sequence.difference);
            }
            Code::Factor(code) => {
                let (factor, context) = factor(code);
                let near = sequence.difference.wrapping_mul(factor);
                let difference = self.differences.decompress(decoder, near, context)?;
                sequence.advance(difference);
                match factor {
                    1 => sequence.strained = 0,
                    0 | MOST | LEAST => sequence.strain(difference),
                    _ => {}
                }
            }
            Code::New => {
                let upper = self.differences.decompress(decoder, (sequence.time >> 32) as i32, 8)?;
                let time = i64::from(upper) << 32 | i64::from(decoder.read_int()?);
                self.newest = (self.newest + 1) % SEQUENCES;
                self.current = self.newest;
                self.sequences[self.current] = Sequence { time, ..Sequence::default() };
            }
            Code::Other(_) => {
                return Err(Error::new(ErrorKind::InvalidData, "a GPS time that changes its sequence twice"));
            }
        }
        Ok(self.sequences[self.current].time)
    }

    /// Decodes a code. The two models number the codes differently.
    fn code(&mut self, decoder: &mut ArithmeticDecoder<impl Read>) -> Result<Code> {
        let (symbol, new) = if self.sequences[self.current].difference == 0 {
            let symbol = decoder.decode_symbol(&mut self.firsts)?;
            if symbol < self.same {
                return Ok(Code::Same);
            }
            if symbol == self.same {
                return Ok(Code::First);
            }
            (symbol, self.same + 1)
        } else {
            let symbol = decoder.decode_symbol(&mut self.factors)?;
            if symbol < FACTORS {
                return Ok(Code::Factor(symbol));
            }
            (symbol, FACTORS + self.same)
        };
        Ok(match symbol.checked_sub(new) {
            None => Code::Same,
            Some(0) => Code::New,
            Some(ahead) => Code::Other(ahead as usize),
        })
    }
}

/// The factor of a code, and the context of the difference that follows. The code is below
/// `FACTORS`.
fn factor(code: u32) -> (i32, u32) {
    let code = code as i32;
    let factor = if code <= MOST { code } else { MOST - code };
    let context = match factor {
        0 => 7,
        1 => 1,
        2..10 => 2,
        10..MOST => 3,
        MOST.. => 4,
        LEAST => 6,
        _ => 5,
    };
    (factor, context)
}
