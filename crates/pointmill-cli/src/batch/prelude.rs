//! What every command that works through inputs uses.

pub(crate) use super::{Called, Cell, Command, Job, Ledger, Station, Trouble, not_converged};
pub(crate) use crate::failure::Failure;
pub(crate) use crate::inputs::{Inputs, Source, is_one_file, is_stdin, rows, warnings, warnings_of_rows};
pub(crate) use crate::interrupt::{self, undivided};
pub(crate) use crate::json::{Counts, Frame, Summary, differences};
pub(crate) use crate::outputs::{Outputs, plan_file};
pub(crate) use crate::picture::{plan, require_one};
pub(crate) use crate::printer::Printer;
pub(crate) use crate::stats::{since, timed};
pub(crate) use crate::text::{counted, grouped, percentiles, shown, written};
pub(crate) use crate::{device, say};
