//! A number that a kernel tells the host, while the device goes on.

use super::buffer::Buffer;
use super::stream::Stream;
use crate::{Argument, Error, Result};
use std::time::Duration;

/// How long the host itself looks for the number. A longer wait is left to the driver, which also
/// hears of errors.
const LOOK: Duration = Duration::from_micros(200);

/// A word of memory that host and device share. A kernel writes the number of its call in the upper
/// half and what it tells in the lower one, all at once (see
/// [`store_for_host`](pointmill_kernels::simt::store_for_host)), so the host knows it without
/// waiting for what is queued behind that kernel.
#[derive(Debug)]
pub(crate) struct Notice {
    word: Buffer<u64>,
    /// The number of the last call.
    call: u32,
    /// Whether a graph may write the word, always with the number of the call that was recorded.
    recorded: bool,
}

impl Notice {
    /// Nothing told but zero.
    pub(crate) fn new(stream: &Stream) -> Result<Self> {
        let mut word = Buffer::alloc_shared(stream, 1)?;
        word.write(&[0])?;
        Ok(Self { word, call: 0, recorded: false })
    }

    /// The number of the call that is about to be queued, or recorded for a graph.
    pub(crate) fn next_call(&mut self, recorded: bool) -> u32 {
        self.call = self.call.wrapping_add(1).max(1);
        self.recorded |= recorded;
        self.call
    }

    /// Where the kernel writes.
    pub(crate) fn pointer(&self) -> *mut u64 {
        self.word.pointer()
    }

    /// Tells from the host, on the CPU.
    pub(crate) fn tell(&mut self, value: u32) -> Result<()> {
        let call = self.next_call(false);
        self.word.write(&[u64::from(call) << 32 | u64::from(value)])
    }

    /// What the last call told.
    ///
    /// # Errors
    /// Whatever the work that was queued ran into.
    pub(crate) fn wait(&self) -> Result<u32> {
        self.word.stream().check_not_capturing(Argument::Buffer, "one that can be awaited", "a read")?;
        let told = |word: u64| (word >> 32 == u64::from(self.call)).then_some(word as u32);
        if !self.recorded
            && let Some(value) = self.word.look(told, LOOK)
        {
            return Ok(value);
        }
        let mut word = [0];
        self.word.read_into(&mut word)?;
        let missing = || Error::Internal { what: "a kernel ended without telling its number".into() };
        if self.recorded { Ok(word[0] as u32) } else { told(word[0]).ok_or_else(missing) }
    }

    pub(crate) fn set_stream(&mut self, stream: &Stream) {
        self.word.set_stream(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::devices;

    #[test]
    fn what_was_told_last_is_known() {
        for (name, device) in devices() {
            let mut notice = Notice::new(&device.stream().unwrap()).unwrap();
            assert_eq!(notice.wait().unwrap(), 0, "{name}");
            for value in [7, 7, 0, u32::MAX] {
                notice.tell(value).unwrap();
                assert_eq!(notice.wait().unwrap(), value, "{name}");
            }
        }
    }

    /// A call whose kernel never ran is not answered with the number of the one before, and nobody
    /// waits for ever.
    #[test]
    fn a_number_that_is_not_told_is_an_error() {
        for (name, device) in devices() {
            let mut notice = Notice::new(&device.stream().unwrap()).unwrap();
            notice.tell(7).unwrap();
            notice.next_call(false);
            let error = notice.wait().unwrap_err().to_string();
            assert!(error.contains("without telling its number"), "{name}: {error}");
        }
    }

    /// The number of a call wraps around, past the one that says that there was none.
    #[test]
    fn calls_are_numbered_for_ever() {
        let mut notice = Notice::new(&crate::Device::cpu().stream().unwrap()).unwrap();
        notice.call = u32::MAX;
        notice.tell(3).unwrap();
        assert_eq!((notice.call, notice.wait().unwrap()), (1, 3));
    }
}
