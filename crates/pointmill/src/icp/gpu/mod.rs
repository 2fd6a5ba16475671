//! The GPU path: allocates and launches. Arguments are already validated; the arithmetic is in the kernels.

mod cloud;
mod ground;
mod kdtree;
mod searcher;
mod tree;

pub(super) use ground::Work;
pub(super) use searcher::Searcher;

use super::search::Search;
use crate::Result;
use crate::device::Stream;
use pointmill_kernels::icp::{NearestBrute, NearestBruteArgs};

/// What is searched with. The tree along the curve was the fastest for alignments of 1,000 to 40,000 points on an H200, that it is made included.
fn chosen(search: Search) -> Search {
    if search == Search::Auto { Search::Lbvh } else { search }
}

/// Queues a look at every so many points for all queries.
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
