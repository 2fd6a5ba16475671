//! Which matches keep the distance between their points.

use crate::{Result, memory, par};
use rayon::prelude::*;

/// Matches as nodes; an edge joins two whose points are equally far apart in both clouds.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) len: usize,
    words: usize,
    rows: Vec<u64>,
}

impl Graph {
    /// Edges between pairs of points: their distances differ by at most `tolerance`, and are at
    /// least `shortest`.
    pub(super) fn new(pairs: &[[[f32; 3]; 2]], tolerance: f32, shortest: f32) -> Result<Self> {
        let (len, words) = (pairs.len(), pairs.len().div_ceil(64));
        let mut rows = memory::filled(len * words, 0u64)?;
        let distance = |a: [f32; 3], b: [f32; 3]| {
            let d = [0, 1, 2].map(|k| a[k] - b[k]);
            (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt()
        };
        let fill = |(i, row): (usize, &mut [u64])| {
            for (j, pair) in pairs.iter().enumerate() {
                let [s, t] = [0, 1].map(|side| distance(pairs[i][side], pair[side]));
                let joined = (s - t).abs() <= tolerance && s.min(t) >= shortest;
                row[j / 64] |= u64::from(joined) << (j % 64);
            }
        };
        rows.par_chunks_mut(words.max(1)).enumerate().with_min_len(par::grain(16)).for_each(fill);
        Ok(Self { len, words, rows })
    }

    pub(super) fn row(&self, i: usize) -> &[u64] {
        &self.rows[i * self.words..(i + 1) * self.words]
    }

    /// The nodes that a node is joined to, ascending.
    pub(super) fn neighbours(&self, i: usize) -> impl Iterator<Item = usize> {
        self.row(i).iter().enumerate().flat_map(|(w, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    w * 64 + bit
                })
            })
        })
    }

    /// The number of nodes that both are joined to.
    pub(super) fn common(&self, i: usize, j: usize) -> u32 {
        self.row(i).iter().zip(self.row(j)).map(|(a, b)| (a & b).count_ones()).sum()
    }
}
