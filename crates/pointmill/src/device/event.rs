//! Marks in a stream, to measure the time between them.

use super::machine::RawEvent;
use super::stream::Stream;
use crate::{Argument, Error, Result};
use std::fmt;
use web_time::Instant;

/// A mark in a stream: a moment that has come when all work queued before it is done.
pub struct Event {
    stream: Stream,
    mark: Mark,
}

enum Mark {
    /// On the CPU, where all work was done.
    Host(Instant),
    Device(RawEvent),
}

impl Stream {
    /// Queues a mark.
    ///
    /// # Errors
    /// A device that refuses; a stream that was retired.
    pub fn mark(&self) -> Result<Event> {
        let mark = match self.queue() {
            None => Mark::Host(Instant::now()),
            // SAFETY: the stream is alive.
            Some(queue) => Mark::Device(queue.pass(|machine, raw| unsafe { machine.record(raw, true) })?),
        };
        Ok(Event { stream: self.clone(), mark })
    }
}

impl Event {
    /// Milliseconds from an earlier mark of the same device to this one; waits for both.
    ///
    /// # Errors
    /// Marks of different devices; whatever the queued work ran into.
    pub fn ms_since(&self, earlier: &Self) -> Result<f64> {
        let (device, other) = (self.stream.device(), earlier.stream.device());
        match (&earlier.mark, &self.mark, device.machine()) {
            (Mark::Host(earlier), Mark::Host(later), _) => Ok(later.duration_since(*earlier).as_secs_f64() * 1e3),
            (Mark::Device(earlier), Mark::Device(later), Some(machine)) if device.same_memory(&other) => {
                // SAFETY: both marks are timed, alive, and of this machine.
                unsafe { machine.ms_between(*earlier, *later) }
            }
            _ => Err(Error::argument(Argument::Earlier, "a mark of the same device", other)),
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let (Mark::Device(mark), Some(machine)) = (&self.mark, self.stream.device().machine()) {
            // An error here has nobody left to hear it.
            // SAFETY: this is the only handle.
            let _ = unsafe { machine.destroy_event(*mark) };
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:?})", self.stream)
    }
}

#[cfg(test)]
mod tests {
    use crate::Device;

    #[test]
    fn marks_of_a_device_are_in_order() {
        for (name, device) in crate::testing::devices() {
            let stream = device.stream().unwrap();
            let first = stream.mark().unwrap();
            stream.upload(&[1u32; 1000]).unwrap();
            let second = device.stream().unwrap().mark().unwrap();
            assert!(
                stream.mark().unwrap().ms_since(&first).unwrap() >= 0.0 && second.ms_since(&second).unwrap() == 0.0,
                "{name}"
            );
        }
        let [cpu, twin] = [Device::cpu(), Device::twin()].map(|device| device.stream().unwrap().mark().unwrap());
        let refused = twin.ms_since(&cpu).unwrap_err().to_string();
        assert_eq!(refused, "earlier: expected a mark of the same device, got cpu");
    }
}
