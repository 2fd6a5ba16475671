//! Memory on a device.

use super::stream::{Queue, Stream};
use crate::{Argument, Error, Result};
use bytemuck::Pod;
#[cfg(feature = "cuda")]
use cudarc::driver::result;
use std::fmt;
use std::marker::PhantomData;

/// An array of `T` on a device.
///
/// Reading and writing are ordered with the work of the stream that the buffer was made on. Dropping a buffer gives its memory back once that
/// work is done.
pub struct Buffer<T> {
    memory: Memory<T>,
    len: usize,
    stream: Stream,
    _elements: PhantomData<T>,
}

enum Memory<T> {
    Host(Vec<T>),
    #[cfg(feature = "cuda")]
    Cuda {
        pointer: cudarc::driver::sys::CUdeviceptr,
        owned: bool,
    },
    /// Memory of the host that the GPU can write to.
    #[cfg(feature = "cuda")]
    Pinned(super::cuda::Pinned),
    #[cfg(feature = "twin")]
    Twin(super::twin::Memory),
}

impl<T: Pod> Buffer<T> {
    pub(super) fn alloc(stream: &Stream, len: usize) -> Result<Self> {
        let out_of_memory = |bytes| Error::OutOfMemory { device: stream.device().to_string(), bytes };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| out_of_memory(u64::MAX))?;
        stream.check_not_capturing(
            Argument::Memory,
            "enough from a call before",
            format_args!("{bytes} bytes more"),
        )?;
        let memory = match &stream.0 {
            Queue::Cpu(_) => {
                let mut data = Vec::new();
                data.try_reserve_exact(len).map_err(|_| out_of_memory(bytes as u64))?;
                data.resize(len, T::zeroed());
                Memory::Host(data)
            }
            #[cfg(feature = "cuda")]
            // An allocation of nothing is an error to the driver.
            Queue::Cuda(q) => Memory::Cuda { pointer: q.alloc(bytes.max(16))?, owned: true },
            #[cfg(feature = "twin")]
            Queue::Twin(_) => {
                super::twin::check(super::TwinFault::OutOfMemory, bytes)?;
                Memory::Twin(super::twin::Memory::new(bytes))
            }
        };
        Ok(Self { memory, len, stream: stream.clone(), _elements: PhantomData })
    }

    /// Memory that both the host and the device can reach: the host reads without a copy what the device wrote, once the stream's work is done.
    /// For the device it is slow; a few words at the end of a call are what it is for.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn alloc_shared(stream: &Stream, len: usize) -> Result<Self> {
        match &stream.0 {
            #[cfg(feature = "cuda")]
            Queue::Cuda(q) => Ok(Self {
                memory: Memory::Pinned(super::cuda::Pinned::new(&q.gpu, len * size_of::<T>())?),
                len,
                stream: stream.clone(),
                _elements: PhantomData,
            }),
            _ => Self::alloc(stream, len),
        }
    }

    /// A buffer over GPU memory that somebody else owns, such as a tensor. The twin takes memory of the host.
    ///
    /// As a result it must have room for all of it: a buffer of pointmill's own grows as needed, this one is an error where it is too short.
    ///
    /// # Safety
    /// `pointer` is valid for `len` elements on the stream's GPU, aligned for `T`, and outlives the result and the work queued with it. Until that work is done nobody else uses the memory, unless in
    /// the order of the stream.
    ///
    /// # Errors
    /// A stream that is not of a GPU.
    pub unsafe fn from_raw_cuda(stream: &Stream, pointer: u64, len: usize) -> Result<Self> {
        match &stream.0 {
            #[cfg(feature = "cuda")]
            Queue::Cuda(_) => Ok(Self {
                memory: Memory::Cuda { pointer, owned: false },
                len,
                stream: stream.clone(),
                _elements: PhantomData,
            }),
            #[cfg(feature = "twin")]
            Queue::Twin(_) => Ok(Self {
                memory: Memory::Twin(super::twin::Memory::foreign(pointer as *mut u8)),
                len,
                stream: stream.clone(),
                _elements: PhantomData,
            }),
            Queue::Cpu(_) => {
                let _ = (pointer, len);
                Err(Error::argument(Argument::Stream, "one of a GPU", stream.device()))
            }
        }
    }

    /// Looks at the first element of memory that the device writes to, until `found` has what it wants of it or time is up; `None` at once where the host cannot see it.
    #[cfg_attr(not(feature = "cuda"), expect(unused_variables))]
    pub(crate) fn look<R>(&self, found: impl Fn(T) -> Option<R>, time: std::time::Duration) -> Option<R> {
        match &self.memory {
            #[cfg(feature = "cuda")]
            Memory::Pinned(memory) => {
                let start = std::time::Instant::now();
                loop {
                    let value = found(memory.read_whole());
                    if value.is_some() || start.elapsed() > time {
                        return value;
                    }
                    std::hint::spin_loop();
                }
            }
            _ => None,
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

    /// Makes the buffer belong to another stream of its device, which has been put in order with its own.
    pub(crate) fn set_stream(&mut self, stream: &Stream) {
        self.stream = stream.clone();
    }

    /// The elements, if they are in the CPU's memory.
    pub fn as_slice(&self) -> Option<&[T]> {
        match &self.memory {
            Memory::Host(data) => Some(data),
            #[cfg(any(feature = "cuda", feature = "twin"))]
            _ => None,
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

    /// The vector behind a CPU buffer; its length becomes the buffer's at the next [`Buffer::sync_len`].
    pub(crate) fn host_mut(&mut self) -> Option<&mut Vec<T>> {
        match &mut self.memory {
            Memory::Host(data) => Some(data),
            #[cfg(any(feature = "cuda", feature = "twin"))]
            _ => None,
        }
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
    pub(crate) fn pointer(&self) -> *mut T {
        match &self.memory {
            Memory::Host(data) => data.as_ptr().cast_mut(),
            #[cfg(feature = "cuda")]
            Memory::Cuda { pointer, .. } => *pointer as *mut T,
            #[cfg(feature = "cuda")]
            Memory::Pinned(memory) => memory.device_pointer().cast(),
            #[cfg(feature = "twin")]
            Memory::Twin(memory) => memory.pointer().cast(),
        }
    }

    /// Whether the memory is somebody else's.
    pub(crate) const fn is_foreign(&self) -> bool {
        match &self.memory {
            #[cfg(feature = "cuda")]
            Memory::Cuda { owned, .. } => !*owned,
            #[cfg(feature = "twin")]
            Memory::Twin(memory) => memory.is_foreign(),
            _ => false,
        }
    }

    /// Makes room for at least `len` elements; what was there is lost if there was less. Returns whether the memory is new.
    ///
    /// # Errors
    /// Out of memory, or too short a buffer whose memory is somebody else's, who would never see the result; then the buffer is as it was.
    pub(crate) fn reserve(&mut self, len: usize) -> Result<bool> {
        if len <= self.len {
            return Ok(false);
        }
        if self.is_foreign() {
            let expected = format!("room for {len} elements in memory that is not pointmill's own");
            return Err(Error::argument(Argument::Buffer, expected, self.len));
        }
        *self = self.stream.alloc(len)?;
        Ok(true)
    }

    /// Copies `data` to the front of the buffer.
    ///
    /// # Errors
    /// More elements than the buffer has, a stream that is being captured, or a failed copy.
    pub fn write(&mut self, data: &[T]) -> Result<()> {
        if data.len() > self.len {
            return Err(Error::argument(Argument::Data, format!("at most {} elements", self.len), data.len()));
        }
        let got = format_args!("{} elements", data.len());
        self.stream.check_not_capturing(Argument::Data, "nothing from the host", got)?;
        match &mut self.memory {
            Memory::Host(memory) => memory[..data.len()].copy_from_slice(data),
            #[cfg(feature = "cuda")]
            Memory::Pinned(memory) => {
                self.stream.synchronize()?;
                memory.write(bytemuck::cast_slice(data));
            }
            #[cfg(feature = "cuda")]
            Memory::Cuda { pointer, .. } => {
                let Queue::Cuda(q) = &self.stream.0 else { unreachable!("CUDA memory on a CUDA stream") };
                if !data.is_empty() {
                    // SAFETY: room was checked; the driver has copied pageable memory aside when the call returns.
                    q.call("copy to the device", |raw| unsafe { result::memcpy_htod_async(*pointer, data, raw) })?;
                }
            }
            #[cfg(feature = "twin")]
            Memory::Twin(memory) => {
                #[cfg(test)]
                self.stream.note(super::Step::Write);
                // SAFETY: room was checked; the twin runs nothing at the same time.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), memory.pointer().cast(), data.len()) };
            }
        }
        Ok(())
    }

    /// Queues a copy of the first `len` elements of another buffer of the same device.
    ///
    /// # Errors
    /// Buffers that are too short or on different devices, or a failed call.
    pub fn copy_from(&mut self, other: &Self, len: usize) -> Result<()> {
        self.copy_part(other, 0, len)
    }

    /// [`Buffer::copy_from`], of the elements from `start` on.
    pub(crate) fn copy_part(&mut self, other: &Self, start: usize, len: usize) -> Result<()> {
        let most = self.len.min(other.len.saturating_sub(start));
        if len > most {
            return Err(Error::argument(Argument::Len, format!("at most {most}"), len));
        }
        // Memory of another device is refused below.
        let same = self.stream.device().same_memory(&other.stream.device());
        self.stream.clone().in_order(&[same.then_some(&other.stream)], || self.copy_queued(other, start, len))
    }

    /// Queues a copy of elements that are there.
    fn copy_queued(&mut self, other: &Self, start: usize, len: usize) -> Result<()> {
        match (&mut self.memory, &other.memory) {
            (Memory::Host(to), Memory::Host(from)) => to[..len].copy_from_slice(&from[start..start + len]),
            #[cfg(feature = "cuda")]
            (Memory::Cuda { pointer: to, .. }, Memory::Cuda { pointer: from, .. })
                if self.stream.device().same_memory(&other.stream.device()) =>
            {
                let Queue::Cuda(q) = &self.stream.0 else { unreachable!("CUDA memory on a CUDA stream") };
                let from = *from + (start * size_of::<T>()) as u64;
                // SAFETY: both have room.
                let copy = |raw| unsafe { result::memcpy_dtod_async(*to, from, len * size_of::<T>(), raw) };
                q.call("copy on the device", copy)?;
            }
            #[cfg(feature = "twin")]
            (Memory::Twin(to), Memory::Twin(from)) => {
                // SAFETY: `other` has so many elements.
                let (from, to) = (unsafe { from.pointer().cast::<T>().add(start) }, to.pointer().cast::<T>());
                // SAFETY: both have room; the twin runs nothing at the same time.
                self.stream.on_twin(move || unsafe { std::ptr::copy(from, to, len) })?;
            }
            #[cfg(any(feature = "cuda", feature = "twin"))]
            _ => {
                return Err(Error::argument(
                    Argument::Other,
                    format!("memory of {}", self.stream.device()),
                    other.stream.device(),
                ));
            }
        }
        Ok(())
    }

    /// Sets the first `words` 32-bit words of the buffer to `value`.
    ///
    /// # Errors
    /// A failed call.
    pub(crate) fn fill_words(&mut self, value: u32, words: usize) -> Result<()> {
        assert!(words * 4 <= self.len * size_of::<T>(), "fill_words past the end");
        match &mut self.memory {
            Memory::Host(data) => bytemuck::cast_slice_mut::<T, u32>(data)[..words].fill(value),
            #[cfg(feature = "cuda")]
            Memory::Pinned(memory) => {
                self.stream.synchronize()?;
                memory.write(bytemuck::cast_slice(&vec![value; words]));
            }
            #[cfg(feature = "cuda")]
            Memory::Cuda { pointer, .. } => {
                let Queue::Cuda(q) = &self.stream.0 else { unreachable!("CUDA memory on a CUDA stream") };
                if words > 0 {
                    // SAFETY: room was checked.
                    let fill =
                        |raw| unsafe { cudarc::driver::sys::cuMemsetD32Async(*pointer, value, words, raw).result() };
                    q.call("fill memory", fill)?;
                }
            }
            #[cfg(feature = "twin")]
            Memory::Twin(memory) => {
                #[cfg(test)]
                self.stream.note(super::Step::Fill);
                let memory = memory.pointer().cast::<u32>();
                // SAFETY: room was checked; the twin runs nothing at the same time.
                self.stream.on_twin(move || unsafe { std::slice::from_raw_parts_mut(memory, words) }.fill(value))?;
            }
        }
        Ok(())
    }

    /// The first `len` elements, copied to the host once all earlier work of the stream is done.
    ///
    /// # Errors
    /// More elements than the buffer has, whatever the earlier work ran into, or host memory that is not there.
    pub fn read(&self, len: usize) -> Result<Vec<T>> {
        if len > self.len {
            return Err(Error::argument(Argument::Len, format!("at most {}", self.len), len));
        }
        let mut out = Vec::new();
        let bytes = (len * size_of::<T>()) as u64;
        out.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { device: "cpu".into(), bytes })?;
        out.resize(len, T::zeroed());
        self.read_into(&mut out)?;
        Ok(out)
    }

    /// Fills `out` from the front of the buffer once all earlier work of the stream is done.
    ///
    /// # Errors
    /// As [`Buffer::read`].
    pub fn read_into(&self, out: &mut [T]) -> Result<()> {
        if out.len() > self.len {
            return Err(Error::argument(Argument::Len, format!("at most {}", self.len), out.len()));
        }
        self.stream.check_not_capturing(Argument::Buffer, "one that can be awaited", "a read")?;
        match &self.memory {
            Memory::Host(data) => out.copy_from_slice(&data[..out.len()]),
            #[cfg(feature = "cuda")]
            Memory::Pinned(memory) => {
                self.stream.synchronize()?;
                memory.read(bytemuck::cast_slice_mut(out));
            }
            #[cfg(feature = "cuda")]
            Memory::Cuda { pointer, .. } => {
                let Queue::Cuda(q) = &self.stream.0 else { unreachable!("CUDA memory on a CUDA stream") };
                // SAFETY: room was checked, and the copy is awaited before `out` is used.
                q.call("copy from the device", |raw| unsafe {
                    if !out.is_empty() {
                        result::memcpy_dtoh_async(out, *pointer, raw)?;
                    }
                    result::stream::synchronize(raw)
                })?;
            }
            #[cfg(feature = "twin")]
            Memory::Twin(memory) => {
                // SAFETY: room was checked; the twin runs nothing at the same time.
                unsafe { std::ptr::copy_nonoverlapping(memory.pointer().cast(), out.as_mut_ptr(), out.len()) };
            }
        }
        Ok(())
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        #[cfg(feature = "cuda")]
        if let (Memory::Cuda { pointer, owned: true }, Queue::Cuda(q)) = (&self.memory, &self.stream.0) {
            // An error here has nobody left to hear it.
            // SAFETY: the memory came from this stream's pool and is freed once; who used it on another stream had this one wait for that.
            let _ = unsafe { q.free(*pointer) };
        }
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer<{}>({} on {:?})", std::any::type_name::<T>(), self.len, self.stream)
    }
}
