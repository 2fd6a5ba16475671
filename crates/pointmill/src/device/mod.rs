//! Devices, streams and memory: where an operator runs.
//!
//! - [`Device`] names a processor: the CPU, or an NVIDIA GPU;
//! - [`Stream`] is a queue of work on it, in order;
//! - [`Buffer`] is memory on it.
//!
//! On the CPU work is done before a call returns and a buffer is a vector. On a GPU calls return
//! once their work is queued.

mod block;
mod buffer;
mod embedded;
mod event;
mod gate;
mod graph;
mod machine;
mod name;
mod notice;
mod order;
mod process;
mod processor;
mod queue;
mod side;
mod stream;
mod team;
#[cfg(test)]
mod tests;
mod threads;
#[cfg(feature = "twin")]
mod twin;
mod uploaded;
mod workspace;

pub use buffer::Buffer;
pub use embedded::{Embedded, EmbeddedModule};
pub use event::Event;
pub use graph::Graph;
pub use machine::DeviceInfo;
pub(crate) use notice::Notice;
pub(crate) use order::Output;
pub use process::{PerProcess, count_forks};
pub use processor::Device;
pub(crate) use side::Side;
pub use stream::Stream;
pub use team::{Stop, Team};
pub(crate) use threads::on_threads;
pub use threads::{MAX_THREADS, in_this_thread, num_threads, set_num_threads};
#[cfg(test)]
pub(crate) use twin::Step;
#[cfg(feature = "twin")]
pub use twin::TwinFault;
pub(crate) use uploaded::Uploaded;
pub(crate) use workspace::{OnStream, workspace};
