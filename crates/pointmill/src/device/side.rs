//! The two ways an operator can go: the CPU's, or that of kernels.

use super::{Output, Stream};
use crate::Result;

/// What an operator keeps between calls, for the device that it works on.
#[derive(Debug)]
pub(crate) enum Side<C, G> {
    /// On the CPU.
    Cpu(Box<C>),
    /// Where kernels run.
    Gpu(Box<G>),
}

impl<C: Send, G> Side<C, G> {
    /// The side of the stream's device.
    pub(crate) fn new(
        stream: &Stream,
        cpu: impl FnOnce() -> Result<C>,
        gpu: impl FnOnce() -> Result<G>,
    ) -> Result<Self> {
        Ok(if stream.device().is_cpu() { Self::Cpu(Box::new(cpu()?)) } else { Self::Gpu(Box::new(gpu()?)) })
    }

    /// Runs one of two ways of work, which uses memory of the streams `inputs`, in order with what
    /// they do; on the CPU with the device's threads.
    pub(crate) fn run<R: Send>(
        &mut self,
        stream: &Stream,
        inputs: &[Option<&Stream>],
        cpu: impl FnOnce(&mut C) -> Result<R> + Send,
        gpu: impl FnOnce(&mut G) -> Result<R>,
    ) -> Result<R> {
        stream.in_order(inputs, || match self {
            Self::Cpu(own) => stream.device().install(|| cpu(own)),
            Self::Gpu(own) => gpu(own),
        })
    }

    /// [`Side::run`] for work that fills `out`, which belongs to `stream` meanwhile.
    pub(crate) fn fill<O: Output + Send, R: Send>(
        &mut self,
        stream: &Stream,
        inputs: &[Option<&Stream>],
        out: &mut O,
        cpu: impl FnOnce(&mut C, &mut O) -> Result<R> + Send,
        gpu: impl FnOnce(&mut G, &mut O) -> Result<R>,
    ) -> Result<R> {
        stream.in_order_with(inputs, out, |out| match self {
            Self::Cpu(own) => stream.device().install(|| cpu(own, out)),
            Self::Gpu(own) => gpu(own, out),
        })
    }
}
