//! Records of LAS points of every format that try their coders: fields that rest, creep and jump,
//! channels in turn, and times of several sequences.

use super::random::Random;

/// Bytes of a record, by format.
pub(crate) const RECORDS: [usize; 11] = [20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67];

/// Points that are alike in how they change.
const PHASE: usize = 37;

/// The last times of four sequences and what they grow by.
struct Times {
    times: [i64; 4],
    steps: [i64; 4],
    current: usize,
}

impl Times {
    fn new(random: &mut Random) -> Self {
        let steps = [1, 10, -7, 4_000_000];
        Self { times: [1, 2, 3, 4].map(|i| (i << 60) + (random.next() >> 8) as i64), steps, current: 0 }
    }

    /// The next time: at rest, evenly, in turns, at a multiple of the step, a jump of 32 bits, or
    /// any 64 bits.
    fn next(&mut self, kind: usize, random: &mut Random) -> i64 {
        let (jump, noise) = (random.next() as i32, random.below(3) as i64 - 1);
        if kind >= 2 {
            self.current = random.below(4);
        }
        let step = self.steps[self.current];
        let time = &mut self.times[self.current];
        match kind {
            0 => {}
            1 | 2 => *time += step,
            3 => *time += step * (random.below(640) as i64 - 20) + noise,
            4 => *time = time.wrapping_add(jump.into()),
            _ => *time = (random.next() >> 2) as i64,
        }
        *time
    }
}

/// `n` records of a format with `extra` bytes. Fields of which the bit in `resting` is set keep the
/// value of the first point: intensity, returns, flags, classification, user data, angle, source,
/// time, color, infrared, wave packets, extra bytes.
pub(crate) fn records(format: u8, extra: usize, n: usize, resting: u32, random: &mut Random) -> Vec<u8> {
    let (old, size) = (format < 6, RECORDS[usize::from(format)]);
    let (mut times, mut record, mut out) = (Times::new(random), vec![0; size + extra], vec![]);
    let (mut colour, mut wave) = (0, 0);
    for (at, place) in [(20, [2, 3, 5].contains(&format)), (30, [7, 8, 10].contains(&format))] {
        colour += if place { at + if [3, 5].contains(&format) { 8 } else { 0 } } else { 0 };
    }
    if let 4 | 5 | 9 | 10 = format {
        wave = size - 29;
    }
    for i in 0..n {
        let moves = |field: u32| i == 0 || resting >> field & 1 == 0;
        let (kind, wild) = (i / PHASE % 6, random.below(50) == 0);
        for axis in 0..3 {
            let place = &mut record[4 * axis..4 * axis + 4];
            let step = if wild { random.next() as i32 } else { random.below(2000) as i32 - 900 };
            let value = i32::from_le_bytes(place.try_into().unwrap()).wrapping_add(step);
            place.copy_from_slice(&value.to_le_bytes());
        }
        // Others change in every third point, so that each changes alone and with others.
        let change = |field: u32, place: &mut [u8], random: &mut Random| {
            if moves(field) && random.below(3) == 0 {
                match random.below(3) {
                    0 => place[0] = place[0].wrapping_add(1),
                    1 => place[0] = random.next() as u8,
                    _ => place.fill_with(|| random.next() as u8),
                }
            }
        };
        change(0, &mut record[12..14], random);
        change(1, &mut record[14..15], random);
        if old {
            change(3, &mut record[15..16], random);
            change(5, &mut record[16..17], random);
            change(4, &mut record[17..18], random);
            change(6, &mut record[18..20], random);
        } else {
            change(2, &mut record[15..16], random);
            change(3, &mut record[16..17], random);
            change(4, &mut record[17..18], random);
            change(5, &mut record[18..20], random);
            change(6, &mut record[20..22], random);
            // Channels in turn for a while, else the one there was.
            if i / PHASE % 4 == 1 {
                record[15] = record[15] & 0xcf | (random.below(4) as u8) << 4;
            }
        }
        if moves(7) && (!old || ![0, 2].contains(&format)) {
            let (time, at) = (times.next(kind, random), if old { 20 } else { 22 });
            // A channel keeps its time now and then.
            if kind == 1 || random.below(4) > 0 {
                record[at..at + 8].copy_from_slice(&time.to_le_bytes());
            }
        }
        if colour > 0 {
            change(8, &mut record[colour..colour + 6], random);
        }
        if let 8 | 10 = format {
            change(9, &mut record[36..38], random);
        }
        if wave > 0 {
            change(10, &mut record[wave..wave + 9], random);
            change(10, &mut record[wave + 9..wave + 29], random);
        }
        if extra > 0 {
            change(11, &mut record[size..], random);
        }
        out.extend(&record);
    }
    out
}
