//! Memory on a device.

use super::block::Block;
use super::queue::Queue;
use super::stream::Stream;
use crate::memory::filled;
use crate::{Argument, Error, Result, ensure};
use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;
use web_time::Instant;

/// An array of `T` on a device.
///
/// Reading and writing are ordered with the work of the stream that the buffer was made on.
/// Dropping a buffer gives its memory back once that work is done.
pub struct Buffer<T> {
    memory: Memory<T>,
    len: usize,
    stream: Stream,
    _elements: PhantomData<T>,
}

enum Memory<T> {
    Host(Vec<T>),
    Device(Block),
}

impl Stream {
    /// Memory for `len` elements, with nothing in particular in it.
    ///
    /// # Errors
    /// Out of memory.
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::new(self, len, Queue::alloc)
    }

    /// A buffer with a copy of `data`.
    ///
    /// # Errors
    /// Out of memory, or a failed copy.
    pub fn upload<T: Pod>(&self, data: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.alloc(data.len())?;
        buffer.write(data)?;
        Ok(buffer)
    }
}

impl<T: Pod> Buffer<T> {
    /// A buffer with memory that `alloc` takes from a GPU.
    fn new(stream: &Stream, len: usize, alloc: impl FnOnce(&Queue, usize) -> Result<Block>) -> Result<Self> {
        let too_much = || Error::OutOfMemory { device: stream.device().to_string(), bytes: u64::MAX };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(too_much)?;
        let more = format_args!("{bytes} bytes more");
        stream.check_not_capturing(Argument::Memory, "enough from a call before", more)?;
        let memory = match stream.queue() {
            None => Memory::Host(filled(len, T::zeroed())?),
            Some(queue) => Memory::Device(alloc(queue, bytes)?),
        };
        Ok(Self { memory, len, stream: stream.clone(), _elements: PhantomData })
    }

    /// A buffer without memory, also while the stream is being captured.
    pub(crate) fn none(stream: &Stream) -> Self {
        let memory = match stream.queue() {
            None => Memory::Host(Vec::new()),
            Some(_) => Memory::Device(Block::NONE),
        };
        Self { memory, len: 0, stream: stream.clone(), _elements: PhantomData }
    }

    /// Memory that both the host and the device can reach: the host reads without a copy what the
    /// device wrote, once the stream's work is done. For the device it is slow; a few words at the
    /// end of a call are what it is for.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn alloc_shared(stream: &Stream, len: usize) -> Result<Self> {
        Self::new(stream, len, Queue::alloc_shared)
    }

    /// A buffer over GPU memory that somebody else owns, such as a tensor. The twin takes memory of
    /// the host.
    ///
    /// As a result it must have room for all of it: a buffer of pointmill's own grows as needed,
    /// this one is an error where it is too short.
    ///
    /// # Safety
    /// `pointer` is valid for `len` elements on the stream's GPU, aligned for `T`, and outlives the
    /// result and the work queued with it. Until that work is done nobody else uses the memory,
    /// unless in the order of the stream.
    ///
    /// # Errors
    /// A stream that is not of a GPU.
    pub unsafe fn from_raw_cuda(stream: &Stream, pointer: u64, len: usize) -> Result<Self> {
        ensure(stream.queue().is_some(), Argument::Stream, "one of a GPU", stream.device())?;
        let memory = Memory::Device(Block::foreign(pointer, len.saturating_mul(size_of::<T>())));
        Ok(Self { memory, len, stream: stream.clone(), _elements: PhantomData })
    }

    /// Looks at the first element of memory that the device writes to, until `found` has what it
    /// wants of it or time is up; `None` at once where the host cannot see it.
    pub(crate) fn look<R>(&self, found: impl Fn(T) -> Option<R>, time: Duration) -> Option<R> {
        let Memory::Device(block) = &self.memory else { return None };
        let shared = block.host()?;
        let start = Instant::now();
        loop {
            let value = found(shared.read_whole());
            if value.is_some() || start.elapsed() > time {
                return value;
            }
            std::hint::spin_loop();
        }
    }

    /// The number of elements.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The stream the buffer belongs to.
    pub const fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Makes the buffer belong to another stream of its device, which has been put in order with
    /// its own.
    pub(crate) fn set_stream(&mut self, stream: &Stream) {
        self.stream = stream.clone();
    }

    /// The elements, if they are in the CPU's memory.
    pub fn as_slice(&self) -> Option<&[T]> {
        match &self.memory {
            Memory::Host(data) => Some(data),
            Memory::Device(_) => None,
        }
    }

    /// The vector of a buffer in the CPU's memory; `None` for one of a GPU.
    ///
    /// ```
    /// use pointmill::Device;
    /// assert_eq!(Device::cpu().stream()?.upload(&[1, 2, 3])?.into_vec(), Some(vec![1, 2, 3]));
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    pub fn into_vec(mut self) -> Option<Vec<T>> {
        self.host_mut().map(std::mem::take)
    }

    /// A buffer of a CPU's stream that has this vector; of another device one with a copy.
    ///
    /// # Errors
    /// As [`Stream::upload`].
    pub(crate) fn of_host(stream: &Stream, data: Vec<T>) -> Result<Self> {
        if stream.queue().is_some() {
            return stream.upload(&data);
        }
        let len = data.len();
        Ok(Self { memory: Memory::Host(data), len, stream: stream.clone(), _elements: PhantomData })
    }

    /// The vector behind a CPU buffer; its length becomes the buffer's at the next
    /// [`Buffer::sync_len`].
    pub(crate) fn host_mut(&mut self) -> Option<&mut Vec<T>> {
        match &mut self.memory {
            Memory::Host(data) => Some(data),
            Memory::Device(_) => None,
        }
    }

    /// The values of a buffer of the CPU; none on a GPU.
    pub(crate) fn host_values(&mut self) -> &mut [T] {
        self.host_mut().map_or(&mut [], |values| values)
    }

    /// Takes over the length of the vector behind a CPU buffer.
    pub(crate) fn sync_len(&mut self) {
        if let Some(data) = self.host_mut() {
            self.len = data.len();
        }
    }

    /// The address on the device; on the CPU that of the vector.
    pub fn device_pointer(&self) -> u64 {
        self.pointer() as u64
    }

    /// The address as kernels take it.
    #[doc(hidden)]
    pub fn pointer(&self) -> *mut T {
        match &self.memory {
            Memory::Host(data) => data.as_ptr().cast_mut(),
            Memory::Device(block) => block.address() as *mut T,
        }
    }

    /// Whether the memory is somebody else's.
    pub(crate) const fn is_foreign(&self) -> bool {
        matches!(&self.memory, Memory::Device(block) if block.is_foreign())
    }

    /// Makes room for at least `len` elements; what was there is lost if there was less. Returns
    /// whether the memory is new.
    ///
    /// # Errors
    /// Out of memory, or too short a buffer whose memory is somebody else's, who would never see
    /// the result; then the buffer is as it was.
    #[doc(hidden)]
    pub fn reserve(&mut self, len: usize) -> Result<bool> {
        if len <= self.len {
            return Ok(false);
        }
        let expected = format_args!("room for {len} elements in memory that is not pointmill's own");
        ensure(!self.is_foreign(), Argument::Buffer, expected, self.len)?;
        *self = self.stream.alloc(len)?;
        Ok(true)
    }

    /// Copies `data` to the front of the buffer.
    ///
    /// # Errors
    /// More elements than the buffer has, a stream that is being captured, or a failed copy.
    pub fn write(&mut self, data: &[T]) -> Result<()> {
        ensure(data.len() <= self.len, Argument::Data, format_args!("at most {} elements", self.len), data.len())?;
        let got = format_args!("{} elements", data.len());
        self.stream.check_not_capturing(Argument::Data, "nothing from the host", got)?;
        let data = bytemuck::cast_slice(data);
        match &mut self.memory {
            Memory::Host(memory) => bytemuck::cast_slice_mut(memory)[..data.len()].copy_from_slice(data),
            Memory::Device(block) => {
                if let Some(shared) = block.host_mut() {
                    self.stream.synchronize()?;
                    shared.write(data);
                    return Ok(());
                }
                let to = block.address();
                // SAFETY: stream and memory are alive and of the same machine, and room was
                // checked.
                self.stream.ask(|machine, raw| unsafe { machine.write(raw, to, data) })?;
            }
        }
        Ok(())
    }

    /// Writes elements, with more room where there is too little.
    pub(crate) fn put(&mut self, data: &[T]) -> Result<()> {
        self.reserve(data.len())?;
        self.write(data)
    }

    /// Queues a copy of the first `len` elements of another buffer of the same device.
    ///
    /// # Errors
    /// Buffers that are too short or on different devices, or a failed call.
    pub fn copy_from(&mut self, other: &Self, len: usize) -> Result<()> {
        self.copy_part(other, 0, len)
    }

    /// [`Buffer::copy_from`], of the elements from `start` on.
    #[doc(hidden)]
    pub fn copy_part(&mut self, other: &Self, start: usize, len: usize) -> Result<()> {
        self.copy_range(0, other, start, len)
    }

    /// [`Buffer::copy_part`] to the elements from `at` on.
    pub(crate) fn copy_range(&mut self, at: usize, other: &Self, start: usize, len: usize) -> Result<()> {
        let most = self.len.saturating_sub(at).min(other.len.saturating_sub(start));
        ensure(len <= most, Argument::Len, format_args!("at most {most}"), len)?;
        // Memory of another device is refused below.
        let same = self.stream.device().same_memory(&other.stream.device());
        self.stream.clone().in_order(&[same.then_some(&other.stream)], || self.copy_queued(at, other, start, len))
    }

    /// Queues a copy of elements that are there.
    fn copy_queued(&mut self, at: usize, other: &Self, start: usize, len: usize) -> Result<()> {
        match (&mut self.memory, &other.memory) {
            (Memory::Host(to), Memory::Host(from)) => to[at..at + len].copy_from_slice(&from[start..start + len]),
            (Memory::Device(to), Memory::Device(from)) if self.stream.device().same_memory(&other.stream.device()) => {
                let bytes = |elements: usize| (elements * size_of::<T>()) as u64;
                let (to, from) = (to.address() + bytes(at), from.address() + bytes(start));
                // SAFETY: stream and memory are alive and of the same machine, and both have so
                // many elements.
                self.stream.ask(|machine, raw| unsafe { machine.copy(raw, from, to, len * size_of::<T>()) })?;
            }
            _ => {
                let expected = format!("memory of {}", self.stream.device());
                return Err(Error::argument(Argument::Other, expected, other.stream.device()));
            }
        }
        Ok(())
    }

    /// Sets the first `words` 32-bit words of the buffer to `value`.
    ///
    /// # Errors
    /// A failed call.
    #[doc(hidden)]
    pub fn fill_words(&mut self, value: u32, words: usize) -> Result<()> {
        assert!(words * 4 <= self.len * size_of::<T>(), "fill_words past the end");
        match &mut self.memory {
            Memory::Host(data) => bytemuck::cast_slice_mut::<T, u32>(data)[..words].fill(value),
            Memory::Device(block) => {
                let to = block.address();
                // SAFETY: stream and memory are alive and of the same machine, and room was
                // checked.
                self.stream.ask(|machine, raw| unsafe { machine.fill(raw, to, value, words) })?;
            }
        }
        Ok(())
    }

    /// The first `len` elements, copied to the host once all earlier work of the stream is done.
    ///
    /// # Errors
    /// More elements than the buffer has, whatever the earlier work ran into, or host memory that
    /// is not there.
    pub fn read(&self, len: usize) -> Result<Vec<T>> {
        ensure(len <= self.len, Argument::Len, format_args!("at most {}", self.len), len)?;
        let mut out = filled(len, T::zeroed())?;
        self.read_into(&mut out)?;
        Ok(out)
    }

    /// Fills `out` from the front of the buffer once all earlier work of the stream is done.
    ///
    /// # Errors
    /// As [`Buffer::read`].
    pub fn read_into(&self, out: &mut [T]) -> Result<()> {
        ensure(out.len() <= self.len, Argument::Len, format_args!("at most {}", self.len), out.len())?;
        self.stream.check_not_capturing(Argument::Buffer, "one that can be awaited", "a read")?;
        match &self.memory {
            Memory::Host(data) => out.copy_from_slice(&data[..out.len()]),
            Memory::Device(block) => {
                let out = bytemuck::cast_slice_mut(out);
                if let Some(shared) = block.host() {
                    self.stream.synchronize()?;
                    shared.read(out);
                    return Ok(());
                }
                // SAFETY: stream and memory are alive and of the same machine, and there is so
                // much.
                self.stream.ask(|machine, raw| unsafe { machine.read(raw, block.address(), out) })?;
            }
        }
        Ok(())
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if let (Memory::Device(block), Some(queue)) = (&self.memory, self.stream.queue()) {
            // An error here has nobody left to hear it. SAFETY: the block is of this stream's
            // machine, and nobody has it after this; who used it on another stream had this one
            // wait for that.
            let _ = unsafe { queue.free(block) };
        }
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer<{}>({} on {:?})", std::any::type_name::<T>(), self.len, self.stream)
    }
}
