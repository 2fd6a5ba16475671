//! Words that the host keeps on a device.

use super::buffer::Buffer;
use super::stream::Stream;
use crate::{Argument, Result};

/// Words on a device that are copied there only when they change, so that calls with the same ones
/// can be recorded.
#[derive(Debug)]
pub(crate) struct Uploaded {
    words: Buffer<u32>,
    /// What was copied.
    host: Vec<u32>,
    /// Whether a graph may read the words.
    recorded: bool,
    /// Words of graphs, which later calls with other words must leave as they are.
    of_graphs: Vec<Buffer<u32>>,
}

impl Uploaded {
    pub(crate) fn new(stream: &Stream) -> Result<Self> {
        Ok(Self { words: stream.alloc(0)?, host: Vec::new(), recorded: false, of_graphs: Vec::new() })
    }

    /// Makes the words these, which come from `argument`.
    ///
    /// # Errors
    /// Other words than before while the stream is captured; out of memory; a failed copy.
    pub(crate) fn set(&mut self, argument: Argument, words: impl Iterator<Item = u32> + Clone) -> Result<()> {
        let stream = self.words.stream();
        let same = self.host.iter().copied().eq(words.clone());
        if !same {
            stream.check_not_capturing(argument, "those of the call before", "others")?;
            let words: Vec<u32> = words.collect();
            if self.recorded {
                let own = stream.alloc(words.len())?;
                self.of_graphs.push(std::mem::replace(&mut self.words, own));
                self.recorded = false;
            }
            self.host.clear();
            self.words.put(&words)?;
            self.host = words;
        } else if stream.is_capturing()? {
            self.recorded = true;
        }
        Ok(())
    }

    pub(crate) fn pointer(&self) -> *mut u32 {
        self.words.pointer()
    }
}
