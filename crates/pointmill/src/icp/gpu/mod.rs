//! The GPU path: allocates and launches. Arguments are already validated; the arithmetic is in the kernels.

mod cloud;
mod ground;
mod kdtree;
mod searcher;
mod tree;

pub(super) use ground::Work;
pub(super) use searcher::Searcher;

use super::search::Search;

/// Points below which looking at all of them is faster than a tree.
const BRUTE_BELOW: usize = 1024;

/// The search for so many points.
fn chosen(search: Search, points: usize) -> Search {
    match search {
        Search::Auto if points < BRUTE_BELOW => Search::Brute,
        Search::Auto => Search::Lbvh,
        asked => asked,
    }
}
