//! Points into sums, by cell.

use crate::ndt::cloud::{Found, each, outside};
use crate::seed::seed;
use crate::{Argument, Error, Result, Rows, memory, par};
use pointmill_core::hash::Seed;
use pointmill_core::ndt::{MAX_COUNT, Moments, NdtLattice, cell_of, key_of};
use rayon::prelude::*;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

/// Points that a thread takes at least; with fewer it costs more to put tables together.
const CHUNK: usize = 16_384;

/// The moments of cells, in the order of their keys.
pub(in crate::ndt) type Sums = Vec<(u64, Moments)>;

/// What a cloud adds up to.
#[derive(Debug, Default)]
pub(in crate::ndt) struct Summed {
    pub(in crate::ndt) sums: Sums,
    pub(in crate::ndt) non_finite: u64,
}

/// Spreads keys by a secret.
#[derive(Clone, Copy, Debug)]
pub(in crate::ndt) struct Spread(pub(in crate::ndt) Seed);

/// A key as [`Spread`] takes it.
#[derive(Debug)]
pub(in crate::ndt) struct Spreading {
    seed: Seed,
    spread: u32,
}

impl BuildHasher for Spread {
    type Hasher = Spreading;

    #[inline]
    fn build_hasher(&self) -> Spreading {
        Spreading { seed: self.0, spread: 0 }
    }
}

impl Hasher for Spreading {
    /// The same bits twice: a table takes some from above and some from below.
    #[inline]
    fn finish(&self) -> u64 {
        u64::from(self.spread) << 32 | u64::from(self.spread)
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are u64")
    }

    #[inline]
    fn write_u64(&mut self, key: u64) {
        self.spread = self.seed.spread(key);
    }
}

/// A number for each cell.
type Keyed = HashMap<u64, u32, Spread>;

/// Sums of one thread: moments as they come, and where each cell's are.
struct Table {
    places: Keyed,
    sums: Sums,
    non_finite: u64,
    /// The first point that has no cell.
    outside: Option<(usize, [f64; 3])>,
    /// A cell with too many points.
    full: Option<u64>,
    /// What of the memory was refused.
    refused: Option<Error>,
}

impl Table {
    fn of(cloud: &Rows<'_>, first: usize, end: usize, lattice: &NdtLattice, seed: Seed) -> Self {
        let (places, sums) = (HashMap::with_hasher(Spread(seed)), Sums::new());
        let mut table = Self { places, sums, non_finite: 0, outside: None, full: None, refused: None };
        let mut index = first;
        // Points that follow each other mostly share a cell.
        let mut last = (u64::MAX, 0);
        let mut take = |found| {
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
                Found::NotFinite => table.non_finite += 1,
                Found::Outside(p) => table.outside = table.outside.or(Some((index, p))),
            }
            index += 1;
        };
        for start in (first..end).step_by(CHUNK) {
            par::check();
            each(cloud, start, end.min(start + CHUNK), lattice, &mut take);
        }
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
pub(in crate::ndt) fn sum(cloud: &Rows<'_>, lattice: &NdtLattice) -> Result<Summed> {
    let (n, seed) = (cloud.len(), seed());
    let chunk = n.div_ceil(par::threads()).max(CHUNK);
    let tables: Vec<Table> = (0..n.div_ceil(chunk))
        .into_par_iter()
        .with_min_len(par::grain(1))
        .map(|c| Table::of(cloud, c * chunk, n.min((c + 1) * chunk), lattice, seed))
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
        all.non_finite += table.non_finite;
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

fn too_many(key: u64) -> Error {
    let [x, y, z] = cell_of(key);
    Error::argument(
        Argument::Points,
        format!("at most {MAX_COUNT} points in a cell"),
        format!("more in cell ({x}, {y}, {z})"),
    )
}

fn not_in_it(key: u64) -> Error {
    let [x, y, z] = cell_of(key);
    Error::argument(Argument::Part, "moments of points that were added", format!("others in cell ({x}, {y}, {z})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::tests::with_seed;
    use std::cell::Cell;
    use std::hash::Hash;

    thread_local! {
        static COMPARED: Cell<u64> = const { Cell::new(0) };
    }

    /// A key that counts with how many others it is compared.
    #[derive(Clone, Copy, Debug, Eq)]
    struct Counted(u64);

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    impl Hash for Counted {
        fn hash<H: Hasher>(&self, state: &mut H) {
            state.write_u64(self.0);
        }
    }

    /// Comparisons that a table of these keys takes.
    fn compared(keys: &[u64], seed: Seed) -> u64 {
        let mut table = HashMap::with_hasher(Spread(seed));
        COMPARED.set(0);
        for key in keys {
            table.entry(Counted(*key)).or_insert(0);
        }
        COMPARED.get()
    }

    /// Keys of cells that a function without a secret puts into one place of a table of up to 2^24
    /// places, with equal upper bits, so that all are compared.
    pub(in crate::ndt) fn meeting(n: usize) -> Vec<u64> {
        let factor = 0x9e37_79b9_7f4a_7c15u64;
        let inverse = (0..6).fold(factor, |x, _| x.wrapping_mul(2u64.wrapping_sub(factor.wrapping_mul(x))));
        let unspread = |spread: u64| {
            let key = (spread ^ spread >> 29 ^ spread >> 58).wrapping_mul(inverse);
            key ^ key >> 32
        };
        let wanted = (1u64..).map(|i| (0x55 << 57) | ((i.wrapping_mul(0x9_e377_79b1) % (1 << 33)) << 24) | 0x12_3456);
        let keys: Vec<u64> = wanted.map(unspread).filter(|key| key >> 63 == 0).take(n).collect();
        let spread = |key: u64| {
            let spread = (key ^ key >> 32).wrapping_mul(factor);
            spread ^ spread >> 29
        };
        assert!(keys.iter().all(|&key| spread(key) << 40 == 0x12_3456 << 40 && spread(key) >> 57 == 0x55));
        keys
    }

    #[test]
    fn cells_that_were_chosen_do_not_meet() {
        let keys = meeting(8000);
        for number in 0..20 {
            let seed = Seed::new(number);
            let compared = compared(&keys, seed);
            assert!(compared < keys.len() as u64 / 4, "seed {number}: {compared} comparisons");
        }
        // Were they chosen by one who knows the seed, they would; so what is counted is what it should be.
        let seed = Seed::new(3);
        let meet = |key: &u64| seed.spread(*key) & 0xfe00_0fff == 0;
        let known: Vec<u64> = (0..1 << 25).filter(meet).take(100).collect();
        assert!(known.len() > 40 && compared(&known, seed) > 700, "{}", compared(&known, seed));
    }

    /// Sums do not depend on the seed.
    #[test]
    fn any_seed_gives_the_same_sums() {
        let lattice = crate::ndt::moments::lattice_of(1.0).unwrap();
        let center = |key| cell_of(key).map(|c| f64::from(c) + 0.5);
        let mut points: Vec<f64> = meeting(300).into_iter().flat_map(center).collect();
        points.extend((0..3000).map(|i| f64::from(i % 97) * 0.31));
        let cloud = Rows::f64(&points, 3).unwrap();
        let sums = |number| with_seed(number, || sum(&cloud, &lattice).unwrap().sums);
        let first = sums(0);
        assert!(first.len() > 300 && (1..12).all(|number| sums(number) == first));
    }
}
