//! The twin: the kernels on the host, in the thread that queues them, for tests.

mod calls;
mod fault;
mod memory;
mod queue;

pub(in crate::device) use calls::Twin;
#[cfg(test)]
pub(in crate::device) use calls::take_steps;
pub use fault::TwinFault;
pub(in crate::device) use fault::fail;
#[cfg(test)]
pub(crate) use queue::Step;
