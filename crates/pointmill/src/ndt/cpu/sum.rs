//! Points into sums, by cell.

use crate::ndt::cloud::{Found, NdtCloud, each};
use crate::{Error, Result, memory};
use pointmill_core::ndt::{MAX_CELL, MAX_COUNT, Moments, NdtLattice, cell_of, key_of};
use rayon::prelude::*;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Points that a thread takes at least; with fewer it costs more to put tables together.
const CHUNK: usize = 16_384;

/// The moments of cells, in the order of their keys.
pub(in crate::ndt) type Sums = Vec<(u64, Moments)>;

/// What a cloud adds up to.
#[derive(Debug, Default)]
pub(in crate::ndt) struct Summed {
    pub(in crate::ndt) sums: Sums,
    pub(in crate::ndt) nonfinite: u64,
}

/// Spreads keys that differ in few bits.
#[derive(Clone, Default)]
pub(in crate::ndt) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are u64")
    }

    fn write_u64(&mut self, key: u64) {
        let spread = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = spread ^ spread >> 29;
    }
}

/// A number for each cell.
pub(in crate::ndt) type Keyed = HashMap<u64, u32, BuildHasherDefault<Spread>>;

/// Sums of one thread: moments as they come, and where each cell's are.
#[derive(Default)]
struct Table {
    places: Keyed,
    sums: Sums,
    nonfinite: u64,
    /// The first point that has no cell.
    outside: Option<(usize, [f64; 3])>,
    /// A cell with too many points.
    full: Option<u64>,
    /// What of the memory was refused.
    refused: Option<Error>,
}

impl Table {
    fn of(cloud: &NdtCloud<'_>, first: usize, end: usize, lattice: &NdtLattice) -> Self {
        let mut table = Self::default();
        let mut index = first;
        // Points that follow each other mostly share a cell.
        let mut last = (u64::MAX, 0);
        each(cloud, first, end, lattice, |found| {
            match found {
                Found::At(place) => {
                    let key = key_of(place.cell);
                    if key != last.0 {
                        match table.place(key) {
                            Ok(place) => last = (key, place),
                            Err(refused) => {
                                table.refused = Some(refused);
                                return;
                            }
                        }
                    }
                    let moments = &mut table.sums[last.1].1;
                    if moments.count < MAX_COUNT {
                        moments.add(place.offset);
                    } else {
                        table.full = Some(key);
                    }
                }
                Found::NotFinite => table.nonfinite += 1,
                Found::Outside(p) => table.outside = table.outside.or(Some((index, p))),
            }
            index += 1;
        });
        table.sums.sort_unstable_by_key(|(key, _)| *key);
        table
    }

    fn place(&mut self, key: u64) -> Result<usize> {
        let next = self.sums.len() as u32;
        let len = self.places.len() + 1;
        self.places.try_reserve(1).map_err(|_| memory::refused::<(u64, u32)>(len))?;
        memory::room(&mut self.sums, len)?;
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.sums.push((key, Moments::default()));
        }
        Ok(place as usize)
    }
}

/// The sums of a cloud.
pub(in crate::ndt) fn sum(cloud: &NdtCloud<'_>, lattice: &NdtLattice) -> Result<Summed> {
    let n = cloud.len();
    let chunk = n.div_ceil(rayon::current_num_threads()).max(CHUNK);
    let tables: Vec<Table> = (0..n.div_ceil(chunk))
        .into_par_iter()
        .map(|c| Table::of(cloud, c * chunk, n.min((c + 1) * chunk), lattice))
        .collect();
    let mut all = Summed::default();
    for table in tables {
        if let Some(refused) = table.refused {
            return Err(refused);
        }
        if let Some((index, p)) = table.outside {
            return Err(outside(lattice, index, p));
        }
        if let Some(key) = table.full {
            return Err(too_many(key));
        }
        all.nonfinite += table.nonfinite;
        all.sums = if all.sums.is_empty() { table.sums } else { merge(&all.sums, &table.sums)? };
    }
    Ok(all)
}

/// The sums of both.
pub(in crate::ndt) fn merge(a: &Sums, b: &Sums) -> Result<Sums> {
    let mut out = Vec::new();
    memory::room(&mut out, a.len() + b.len())?;
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let ((key, left), (other, right)) = (a[i], b[j]);
        if key < other {
            out.push(a[i]);
            i += 1;
        } else if other < key {
            out.push(b[j]);
            j += 1;
        } else {
            out.push((key, left.merged(&right).ok_or_else(|| too_many(key))?));
            (i, j) = (i + 1, j + 1);
        }
    }
    out.extend_from_slice(&a[i..]);
    out.extend_from_slice(&b[j..]);
    Ok(out)
}

/// What is left of `all` without `part`.
pub(in crate::ndt) fn subtract(all: &Sums, part: &Sums) -> Result<Sums> {
    let mut out = Vec::new();
    memory::room(&mut out, all.len())?;
    let mut rest = part.iter().peekable();
    for &(key, moments) in all {
        match rest.next_if(|(other, _)| *other == key) {
            None => out.push((key, moments)),
            Some((_, part)) => {
                let left = moments.without(part).ok_or_else(|| not_in_it(key))?;
                if left.count > 0 {
                    out.push((key, left));
                }
            }
        }
    }
    // Keys ascend in both, so what is left over has no cell.
    match rest.next() {
        Some((key, _)) => Err(not_in_it(*key)),
        None => Ok(out),
    }
}

/// A point that has no cell.
pub(in crate::ndt) fn outside(lattice: &NdtLattice, index: usize, p: [f64; 3]) -> Error {
    let most = f64::from(MAX_CELL) * lattice.unit();
    let got = format!("({}, {}, {}) at point {index}", p[0], p[1], p[2]);
    Error::argument("points", format!("coordinates from -{most} to below {most} m"), got)
}

fn too_many(key: u64) -> Error {
    let [x, y, z] = cell_of(key);
    Error::argument("points", format!("at most {MAX_COUNT} points in a cell"), format!("more in cell ({x}, {y}, {z})"))
}

fn not_in_it(key: u64) -> Error {
    let [x, y, z] = cell_of(key);
    Error::argument("part", "moments of points that were added", format!("others in cell ({x}, {y}, {z})"))
}
