//! Pairs of points whose features are nearest to each other.

use super::feature::VALUES;
use crate::{Result, memory, par};
use rayon::prelude::*;

/// Features that are compared at a time.
const LANES: usize = 16;
/// Values that are compared before the next look at the best so far.
const PART: usize = VALUES / 3;

/// Features by value, [`LANES`] at a time.
#[derive(Debug)]
pub(super) struct Columns(Vec<[[f32; LANES]; VALUES]>);

impl Columns {
    pub(super) fn new(features: &[[f32; VALUES]]) -> Result<Self> {
        let mut blocks = memory::filled(features.len().div_ceil(LANES), [[f32::INFINITY; LANES]; VALUES])?;
        for (i, feature) in features.iter().enumerate() {
            (0..VALUES).for_each(|k| blocks[i / LANES][k][i % LANES] = feature[k]);
        }
        Ok(Self(blocks))
    }

    /// The nearest feature: of equally near ones the first. Squares are added in the order of the
    /// values, and no longer than it takes to see that none of a block is nearer.
    fn nearest(&self, feature: &[f32; VALUES]) -> Option<u32> {
        let mut best = (f32::INFINITY, None);
        for (b, block) in self.0.iter().enumerate() {
            let mut sums = [0.0f32; LANES];
            for (part, columns) in feature.chunks_exact(PART).zip(block.chunks_exact(PART)) {
                for (x, column) in part.iter().zip(columns) {
                    for lane in 0..LANES {
                        let d = x - column[lane];
                        sums[lane] += d * d;
                    }
                }
                if !sums.iter().fold(false, |nearer, sum| nearer | (*sum < best.0)) {
                    break;
                }
            }
            for (lane, sum) in sums.iter().enumerate() {
                if *sum < best.0 {
                    best = (*sum, Some((b * LANES + lane) as u32));
                }
            }
        }
        best.1
    }

    fn nearest_of(&self, features: &[[f32; VALUES]]) -> Result<Vec<Option<u32>>> {
        memory::collect_parallel(features.par_iter().with_min_len(par::grain(16)).map(|f| self.nearest(f)))
    }
}

/// Pairs of features of a source and a target that are each the other's nearest, by source.
pub(super) fn matches(
    [source, target]: [&[[f32; VALUES]]; 2],
    [source_columns, target_columns]: [&Columns; 2],
) -> Result<Vec<[u32; 2]>> {
    let forth = target_columns.nearest_of(source)?;
    // Only what is some source's nearest can match.
    let mut asked: Vec<u32> = forth.iter().copied().flatten().collect();
    asked.sort_unstable();
    asked.dedup();
    let features = memory::collect(asked.iter().map(|&t| target[t as usize]))?;
    let back = source_columns.nearest_of(&features)?;
    let mut found: Vec<[u32; 2]> = Vec::new();
    for (&t, s) in asked.iter().zip(back) {
        if let Some(s) = s.filter(|&s| forth[s as usize] == Some(t)) {
            memory::push(&mut found, [s, t])?;
        }
    }
    found.sort_unstable();
    Ok(found)
}
