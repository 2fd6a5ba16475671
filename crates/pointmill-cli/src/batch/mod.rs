//! Many inputs, one after the other or several at a time: one that cannot be used leaves the others alone, and what is done stays done.
//!
//! - [`Batch`] takes inputs through lanes and tells of them in order;
//! - [`Ledger`] knows which are done: a manifest in the folder of the outputs, which is locked meanwhile;
//! - [`Trouble`] says whose fault it is that an input has no result.

mod args;
mod engine;
mod ledger;
mod manifest;
mod trouble;

pub(crate) use args::{BatchArgs, ResumeArgs};
pub(crate) use engine::{Batch, Counts};
pub(crate) use ledger::{Ledger, state_of};
pub(crate) use trouble::{Refused, Trouble};
