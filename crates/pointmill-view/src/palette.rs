//! 256 colours for a picture of many: median cut, in whole numbers.

/// Bits of red, green and blue that the cut looks at.
const BITS: u32 = 5;
const CELLS: usize = 1 << (3 * BITS);

/// At most 256 colours and which of them stands for a colour.
#[derive(Debug)]
pub(crate) struct Palette {
    /// Red, green and blue of each colour in turn.
    pub(crate) colours: Vec<u8>,
    index: Vec<u8>,
}

const fn cell(c: [u8; 3]) -> usize {
    let s = 8 - BITS;
    ((c[0] >> s) as usize) << (2 * BITS) | ((c[1] >> s) as usize) << BITS | (c[2] >> s) as usize
}

/// A cell's red, green or blue.
const fn part(cell: usize, channel: usize) -> usize {
    cell >> ((2 - channel) as u32 * BITS) & ((1 << BITS) - 1)
}

/// How many pixels a cell has, and the sums of their red, green and blue.
#[derive(Clone, Copy, Default)]
struct Tally {
    pixels: u64,
    sums: [u64; 3],
}

impl Palette {
    /// The palette of all pixels of some images. The order of the pixels does not matter.
    pub(crate) fn of<'a>(images: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut tallies = vec![Tally::default(); CELLS];
        for rgb in images {
            for c in rgb.as_chunks::<3>().0 {
                let tally = &mut tallies[cell(*c)];
                tally.pixels += 1;
                for k in 0..3 {
                    tally.sums[k] += u64::from(c[k]);
                }
            }
        }
        let used: Vec<usize> = (0..CELLS).filter(|&c| tallies[c].pixels > 0).collect();
        let mut boxes = if used.is_empty() { vec![] } else { vec![used] };
        while boxes.len() < 256 {
            // The box with the largest squared spread times pixels is cut; ties go to the first.
            let Some((worst, channel)) = worst(&boxes, &tallies) else { break };
            let cells = &mut boxes[worst];
            cells.sort_by_key(|&c| (part(c, channel), c));
            let half = cells.iter().map(|&c| tallies[c].pixels).sum::<u64>() / 2;
            let mut seen = 0;
            let cut = cells.iter().position(|&c| {
                seen += tallies[c].pixels;
                seen > half
            });
            let cut = cut.unwrap_or(1).clamp(1, cells.len() - 1);
            let upper = cells.split_off(cut);
            boxes.push(upper);
        }
        let mut palette = Self { colours: vec![], index: vec![0; CELLS] };
        for (i, cells) in boxes.iter().enumerate() {
            let pixels = cells.iter().map(|&c| tallies[c].pixels).sum::<u64>();
            for k in 0..3 {
                let sum = cells.iter().map(|&c| tallies[c].sums[k]).sum::<u64>();
                palette.colours.push(((sum + pixels / 2) / pixels) as u8);
            }
            for &c in cells {
                palette.index[c] = i as u8;
            }
        }
        palette
    }

    /// The number of the colour that stands for each pixel.
    pub(crate) fn indices(&self, rgb: &[u8]) -> Vec<u8> {
        rgb.as_chunks::<3>().0.iter().map(|&c| self.index[cell(c)]).collect()
    }
}

/// The box most worth cutting and the channel to cut it along; `None` if every box is one cell.
fn worst(boxes: &[Vec<usize>], tallies: &[Tally]) -> Option<(usize, usize)> {
    let mut best = None;
    let mut most = 0;
    for (i, cells) in boxes.iter().enumerate() {
        let pixels = cells.iter().map(|&c| tallies[c].pixels).sum::<u64>();
        for channel in 0..3 {
            let parts = || cells.iter().map(|&c| part(c, channel));
            let spread = (parts().max().unwrap_or(0) - parts().min().unwrap_or(0)) as u64;
            // The root of the count: rare bright colours deserve entries next to a common
            // background.
            let worth = spread * spread * (1 + pixels.isqrt());
            if spread > 0 && worth > most {
                (most, best) = (worth, Some((i, channel)));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_colours_are_kept() {
        let rgb: Vec<u8> = [[0, 0, 0], [255, 255, 255], [200, 16, 48], [0, 0, 0]].concat();
        let palette = Palette::of([&rgb[..]]);
        assert_eq!(palette.colours.len(), 3 * 3);
        let indices = palette.indices(&rgb);
        for (i, c) in indices.iter().zip(rgb.chunks(3)) {
            assert_eq!(&palette.colours[3 * usize::from(*i)..][..3], c);
        }
    }

    #[test]
    fn many_colours_are_near() {
        let rgb: Vec<u8> = (0..=255u8).flat_map(|r| (0..64u8).flat_map(move |g| [r, g * 4, 255 - r])).collect();
        let palette = Palette::of([&rgb[..]]);
        assert_eq!(palette.colours.len(), 3 * 256);
        let worst = palette.indices(&rgb).into_iter().zip(rgb.chunks(3)).map(|(i, c)| {
            let p = &palette.colours[3 * usize::from(i)..][..3];
            (0..3).map(|k| p[k].abs_diff(c[k])).max().unwrap()
        });
        assert!(worst.max().unwrap() <= 24);
        assert!(Palette::of([&[][..]]).colours.is_empty());
    }
}
