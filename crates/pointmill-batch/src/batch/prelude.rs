//! What every command that works through inputs uses.

pub use super::{Called, Cell, Command, InputError, Job, OperatorSlot, ResumeLog, not_converged};
pub use crate::failure::Failure;
pub use crate::inputs::{
    Inputs, ReadInput, Source, is_one_file, is_stdin, rows, tell_origin, warnings, warnings_of_rows,
};
pub use crate::interrupt::{self, undivided};
pub use crate::json::{Counts, Frame, Notes, Summary, differences};
pub use crate::outputs::{Outputs, plan_file};
pub use crate::picture::{plan, require_one};
pub use crate::printer::Printer;
pub use crate::stats::{since, timed};
pub use crate::text::{counted, grouped, percentiles, shown, written};
pub use crate::{device, stderr};
