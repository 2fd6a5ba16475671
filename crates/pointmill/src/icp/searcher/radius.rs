//! All points within a radius.

use super::{Neighbour, Searcher, Side, neighbour};
use crate::icp::cpu::{Many, Scratch};
use crate::prim::BLOCK;
use crate::{Argument, Error, Result, ensure, memory, par};
use pointmill_core::icp::nearest::limit;
use rayon::prelude::*;

/// The neighbours of some queries, one list after the other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NeighbourLists {
    /// Where the list of each query starts in `neighbours`, and the length of all lists.
    pub row_splits: Vec<usize>,
    /// The lists, in each the nearest point first, of equally near ones that of the lowest index.
    pub neighbours: Vec<Neighbour>,
}

/// What a thread finds for some queries: the length of each list, and the lists.
type Part = Result<(Vec<usize>, Vec<Neighbour>)>;

impl Searcher {
    /// All points within an inclusive radius in metres of each query, or the nearest `max_results`
    /// of them. **Order**: as the queries, in each list the nearest point first.
    ///
    /// The square of the radius is rounded once to `f32`, as the squared distances are. It works on
    /// the CPU alone.
    ///
    /// # Errors
    /// A radius that is negative or NaN, no results, a searcher on a GPU; out of memory.
    ///
    /// ```
    /// use pointmill::icp::{Search, Searcher};
    /// use pointmill::Device;
    /// let points = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]];
    /// let searcher = Searcher::new(&Device::cpu().stream()?, &points, Search::Auto)?;
    /// let found = searcher.radius_search(&[[1.0, 0.0, 0.0], [9.0, 0.0, 0.0]], 2.0, None)?;
    /// assert_eq!(found.row_splits, [0, 3, 3]);
    /// assert_eq!(found.neighbours.iter().map(|n| n.index).collect::<Vec<_>>(), [1, 0, 2]);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    pub fn radius_search(
        &self,
        queries: &[[f32; 3]],
        radius: f64,
        max_results: Option<usize>,
    ) -> Result<NeighbourLists> {
        ensure(radius >= 0.0, Argument::Radius, "0 m or more", radius)?;
        let most = max_results.unwrap_or(usize::MAX);
        ensure(most != 0, Argument::MaxResults, "1 or more, or None for all points", most)?;
        let Side::Host { index, .. } = &self.side else {
            let expected = "points on the CPU: a GPU has no search within a radius";
            return Err(Error::argument(Argument::Points, expected, self.stream.device()));
        };
        let limit = limit(radius);
        let part = |(scratch, many): &mut (Scratch, Many), queries: &[[f32; 3]]| -> Part {
            let (mut lengths, mut found) = (Vec::new(), Vec::new());
            memory::room(&mut lengths, queries.len())?;
            for q in queries {
                par::check();
                many.begin(limit, most);
                index.find(*q, many, scratch);
                let keys = many.sorted()?;
                lengths.push(keys.len());
                memory::extend(&mut found, keys.iter().map(|key| neighbour(*key)))?;
            }
            Ok((lengths, found))
        };
        let parts = queries.par_chunks(BLOCK).with_min_len(par::grain(1)).map_init(<(Scratch, Many)>::default, part);
        self.stream.device().install(|| {
            let parts = memory::collect_parallel(parts)?.into_iter().collect::<Result<Vec<_>>>()?;
            let mut row_splits = Vec::new();
            memory::room(&mut row_splits, queries.len() + 1)?;
            row_splits.push(0);
            let mut end = 0;
            for length in parts.iter().flat_map(|(lengths, _)| lengths) {
                end += length;
                row_splits.push(end);
            }
            Ok(NeighbourLists { row_splits, neighbours: memory::joined(parts.iter().map(|(_, found)| &found[..]))? })
        })
    }
}
