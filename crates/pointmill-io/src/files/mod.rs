//! The one place where files are opened, made and listed.
//!
//! A path means: do not follow links, and open nothing but a regular file. Following is what must
//! be asked for, by [`Place::named`] or [`open_named`], and is meant for what the user has named.
//! A lint refuses the functions of `std` everywhere else.
#![allow(clippy::disallowed_methods)]

mod folder;
mod open;
mod place;
mod same;
mod unfinished;
mod whole;

pub use crate::error::excerpt;
pub use crate::feather::{Layout, read_table, write_table};
pub use crate::npz::{ORIGIN, finite_origin, npz_has};
pub(crate) use folder::new_folder;
pub use open::{entries_of, is_own_folder, kind_of_file, open_at, open_in_folder, open_named, open_own};
pub use place::{Destination, Place};
pub(crate) use same::SameFile;
pub use unfinished::{abandon_writes, remove_abandoned};
pub(crate) use whole::write_to;
pub use whole::{write_first, write_synced, write_whole};
