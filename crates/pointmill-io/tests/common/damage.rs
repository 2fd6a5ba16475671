//! Bad files made of good ones: every number of a header at its extremes, cuts at every boundary,
//! and random damage from a seed.

use super::random::Random;
use super::valid::Valid;

/// Numbers that readers stumble over, as 64 bits; narrower fields get their lowest bytes.
const EXTREMES: [u64; 14] = [
    0,
    1,
    2,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 40,
    1 << 62,
    i64::MAX as u64,
    u64::MAX,
];

/// The same as text, and what is no number.
const TEXTS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "007",
    "255",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "1000000000000",
    "4611686018427387904",
    "18446744073709551615",
    "18446744073709551616",
    "nan",
    "",
];

/// Floats that break sums and products: NaN, infinities, 0, the smallest and the largest.
const FLOATS: [f64; 8] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 5e-324, f64::MAX, -1e300];

/// Every number of the header at every extreme, one at a time.
pub(crate) fn extremes(valid: &Valid) -> impl Iterator<Item = Vec<u8>> + '_ {
    let numbers = valid.numbers.iter().flat_map(move |&(at, width)| {
        let near = [1, u64::MAX].map(|step| number(&valid.bytes, at, width).wrapping_add(step));
        let floats = FLOATS.iter().filter(move |_| width == 8).map(|v| v.to_bits());
        EXTREMES.into_iter().chain(near).chain(floats).map(move |value| {
            let mut bytes = valid.bytes.clone();
            bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
            bytes
        })
    });
    let texts = text_numbers(valid).into_iter().flat_map(move |(start, end)| {
        TEXTS.iter().map(move |text| [&valid.bytes[..start], text.as_bytes(), &valid.bytes[end..]].concat())
    });
    numbers.chain(texts)
}

/// The file cut at every boundary, and one byte to either side of it.
pub(crate) fn cuts(valid: &Valid) -> impl Iterator<Item = Vec<u8>> + '_ {
    let around = |&at: &usize| at.saturating_sub(1)..=(at + 1).min(valid.bytes.len() - 1);
    valid.boundaries.iter().flat_map(around).map(|end| valid.bytes[..end].to_vec())
}

/// The file with one to four wounds.
pub(crate) fn wounded(valid: &Valid, other: &Valid, random: &mut Random) -> Vec<u8> {
    let mut bytes = valid.bytes.clone();
    for _ in 0..1 + random.below(4) {
        wound(&mut bytes, valid, other, random);
    }
    bytes
}

fn wound(bytes: &mut Vec<u8>, valid: &Valid, other: &Valid, random: &mut Random) {
    if bytes.is_empty() {
        return bytes.push(random.next() as u8);
    }
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(64)).min(bytes.len());
    match random.below(9) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 => bytes[at..end].fill_with(|| random.next() as u8),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        5 => bytes.truncate(at),
        6 => {
            // A number of the header, where there is one, else four bytes anywhere.
            let (at, width) = *random.pick(&[&valid.numbers[..], &[(at, 4)]].concat());
            let value = random.pick(&EXTREMES).to_le_bytes();
            if let Some(place) = bytes.get_mut(at..at + width) {
                place.copy_from_slice(&value[..width]);
            }
        }
        7 => {
            if let Some(&(start, end)) = text_numbers(valid).first().filter(|_| bytes.len() >= valid.header) {
                let (start, end) = *random.pick(&[&text_numbers(valid)[..], &[(start, end)]].concat());
                if end <= bytes.len() {
                    bytes.splice(start..end, random.pick(&TEXTS).bytes());
                }
            } else {
                bytes.swap(at, end - 1);
            }
        }
        _ => {
            // A piece of another file of the format.
            let from = random.below(other.bytes.len());
            let piece = other.bytes[from..].iter().copied().take(end - at);
            bytes.splice(at..end, piece.collect::<Vec<_>>());
        }
    }
}

fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut wide = [0; 8];
    wide[..width].copy_from_slice(&bytes[at..at + width]);
    u64::from_le_bytes(wide)
}

/// Where in a header of text numbers stand.
fn text_numbers(valid: &Valid) -> Vec<(usize, usize)> {
    let header = if valid.text { &valid.bytes[..valid.header] } else { &[][..] };
    let (mut found, mut at) = (vec![], 0);
    while let Some(start) = header[at..].iter().position(u8::is_ascii_digit) {
        let start = at + start;
        let end = header[start..].iter().position(|b| !b.is_ascii_digit()).map_or(header.len(), |n| start + n);
        found.push((start, end));
        at = end;
    }
    found
}
