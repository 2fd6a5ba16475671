//! Streams of GPUs, until they are retired.

use super::block::Block;
use super::gate::Gate;
use super::machine::{Machine, RawStream};
use crate::Result;

/// A stream of a machine. Everything that uses the stream passes its gate.
pub(super) struct Queue {
    machine: &'static dyn Machine,
    raw: RawStream,
    /// Whether the stream was created here.
    owned: bool,
    gate: Gate,
}

impl Queue {
    /// A new stream.
    pub(super) fn new(machine: &'static dyn Machine) -> Result<Self> {
        Ok(Self { machine, raw: machine.create_stream()?, owned: true, gate: Gate::default() })
    }

    /// A stream that somebody else made.
    ///
    /// # Safety
    /// It is one of this machine, and outlives the queue or is there until [`Queue::retire`] has
    /// returned.
    pub(super) unsafe fn adopt(machine: &'static dyn Machine, raw: usize) -> Result<Self> {
        // SAFETY: the caller's promise.
        let raw = unsafe { machine.adopt_stream(raw) }?;
        Ok(Self { machine, raw, owned: false, gate: Gate::default() })
    }

    pub(super) const fn machine(&self) -> &'static dyn Machine {
        self.machine
    }

    /// Calls the machine with the stream, which is alive meanwhile.
    ///
    /// # Errors
    /// A process that cannot use the machine, a stream that was retired, and those of the call.
    pub(super) fn pass<T>(&self, call: impl FnOnce(&'static dyn Machine, RawStream) -> Result<T>) -> Result<T> {
        // Before the gate, whose lock another thread may have held when the process was forked.
        self.machine.check_process()?;
        self.gate.pass(|| call(self.machine, self.raw))
    }

    /// Memory, ordered with the stream's work.
    pub(super) fn alloc(&self, bytes: usize) -> Result<Block> {
        // SAFETY: the stream is alive.
        let address = self.pass(|machine, raw| unsafe { machine.alloc(raw, bytes) })?;
        Ok(Block::own(address, bytes))
    }

    /// Memory that host and device reach.
    pub(super) fn alloc_shared(&self, bytes: usize) -> Result<Block> {
        let (address, host) = self.machine.alloc_shared(bytes)?;
        // SAFETY: the machine promises memory of this size and alignment.
        Ok(unsafe { Block::shared(address, host, bytes) })
    }

    /// Gives memory back behind the work queued so far. Of a retired stream it is freed at once;
    /// where its work may still run, it stays.
    ///
    /// # Safety
    /// The block is one of this machine, and this is its last use. The stream waits for other
    /// streams that use it.
    pub(super) unsafe fn free(&self, block: &Block) -> Result<()> {
        if !block.is_to_be_freed() {
            return Ok(());
        }
        let (address, bytes) = (block.address(), block.bytes());
        if let Some(shared) = block.host() {
            // SAFETY: the caller's promise.
            return unsafe { self.machine.free_shared(shared.address(), bytes) };
        }
        // SAFETY: the caller's promise; the stream is alive while the gate is open, and its work is
        // done once it is closed.
        let free = |stream| unsafe { self.machine.free(stream, address, bytes) };
        self.machine.check_process()?;
        self.gate.open_or_done(|| free(Some(self.raw)), || free(None))
    }

    /// Refuses all work from now on, and waits for that of the device.
    pub(super) fn retire(&self) -> Result<()> {
        self.machine.check_process()?;
        self.gate.close(|| self.machine.finish())
    }

    /// Whether both are the same stream. A retired one may be gone, and its handle that of a new
    /// one.
    pub(super) fn is(&self, other: &Self) -> bool {
        let alike = || self.raw == other.raw && self.machine.name() == other.machine.name();
        std::ptr::eq(self, other) || (alike() && self.gate.is_open() && other.gate.is_open())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: this was the last handle of a stream that was created here. Its queued work
            // is still done.
            unsafe { self.machine.destroy_stream(self.raw) };
        }
    }
}
