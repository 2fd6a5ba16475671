//! Commands that work through inputs. One input is a batch of one; an input that fails leaves the
//! others alone, and what is done stays done.
//!
//! - [`Job`] runs a [`Command`]: it prints `begin`, every `frame` and the `summary`;
//! - [`OperatorSlot`] runs an operator on a device, on the CPU beside it, and on the CPU where
//!   memory was short;
//! - inside, an engine takes inputs through workers and reports them in order;
//! - [`ResumeLog`] knows which inputs are done: a manifest in the folder of the outputs, which is
//!   locked meanwhile;
//! - [`prelude`] has what every command uses;
//! - [`InputError`] is an input that cannot be used, or a failure that ends the command.

mod at_once;
mod command;
mod engine;
mod input_error;
mod manifest;
pub mod prelude;
mod resume_log;
mod slot;
mod table;
mod warnings;

pub use at_once::at_once;
pub use command::{Command, Job, not_converged};
pub use input_error::{InputError, InputIssue};
pub use resume_log::ResumeLog;
pub use slot::{Called, OperatorSlot, Shared};
pub use table::Cell;
