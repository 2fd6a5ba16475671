//! The GPU path: it allocates and launches. Arguments are already validated; the arithmetic is in
//! the kernels.

mod cloud;
mod kdtree;
mod many;
mod searcher;
mod stage;
mod tree;

pub(crate) use searcher::Searched;
pub(super) use searcher::Searcher;
pub(super) use stage::Workspace;

use super::params::Search;
use crate::Result;
use crate::device::Stream;
use pointmill_kernels::icp::{NearestBrute, NearestBruteArgs};

/// The search to use. For alignments of 1,000 to 40,000 points on an H200 the tree along the curve
/// was the fastest, its construction included.
fn chosen(search: Search) -> Search {
    if search == Search::Auto { Search::Lbvh } else { search }
}

/// Queues comparisons of all queries with every `stride`-th point.
///
/// # Safety
/// The arrays of the arguments are valid for their lengths, and there are points and queries.
unsafe fn nearest_brute(stream: &Stream, all: NearestBruteArgs) -> Result<()> {
    let mut first = 0;
    while first < all.len {
        let len = all.most_queries().min(all.len - first);
        // SAFETY: these queries are among all of them.
        unsafe {
            let (queries, keys) = (all.queries.add(first as usize), all.keys.add(first as usize));
            let part = NearestBruteArgs { queries, len, keys, ..all };
            stream.launch::<NearestBrute>(part.blocks(), part)?;
        }
        first += len;
    }
    Ok(())
}
