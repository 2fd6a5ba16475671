//! Commands that work through inputs. One input is a batch of one; an input that fails leaves the others alone, and what is done stays done.
//!
//! - [`Job`] runs a [`Command`]: it prints `begin`, every `frame` and the `summary`;
//! - [`Station`] runs an operator on a device, on the CPU beside it, and on the CPU where memory was short;
//! - inside, an engine takes inputs through lanes and reports them in order;
//! - [`Ledger`] knows which inputs are done: a manifest in the folder of the outputs, which is locked meanwhile;
//! - [`prelude`] has what every command uses;
//! - [`Trouble`] is an input that cannot be used, or a failure that ends the command.

mod command;
mod engine;
mod ledger;
mod manifest;
pub mod prelude;
mod station;
mod table;
mod trouble;

pub use command::{Command, Job, not_converged};
pub use ledger::Ledger;
pub(crate) use manifest::remove_empty as remove_empty_manifest;
pub use station::{Called, Shared, Station};
pub use table::Cell;
pub use trouble::{Refused, Trouble};
