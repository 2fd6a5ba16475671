//! Results as named arrays: what a result is made of, on its device and on the host.
//!
//! An operator lists its arrays in an enum ([`ArrayName`]) with type and shape of each. Stream
//! order, exchange with the caller's memory, reading back, files, comparisons and the Python
//! package go through that list.

mod any;
mod outputs;

pub use any::{AnyArray, AnyBuffer, Value};
pub use outputs::{ArrayLender, Counted, DeviceArrays};
pub(crate) use outputs::{outputs, read_cut, replace};

use crate::device::{Buffer, Output, Stream};
use crate::{Argument, Result, ensure};
use pointmill_core::array::{Dtype, NamedArrays, Values};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Deref;

/// The arrays of an operator's result, in the order that files and bindings have.
pub trait ArrayName: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// Every array.
    const ALL: &'static [Self];
    /// The name in `.npz` files and in Python.
    fn name(self) -> &'static str;
    /// The doc comment.
    fn doc(self) -> &'static str;
}

/// Declares the arrays of a result: an enum with the name of each, which is an [`ArrayName`].
macro_rules! array_names {
    ($(#[$meta:meta])* pub enum $type:ident { $($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $type {
            $($(#[doc = $doc])+ $variant,)+
        }

        pointmill_core::names!($type { $($variant = $name),+ });

        impl crate::arrays::ArrayName for $type {
            const ALL: &'static [Self] = Self::ALL;

            fn name(self) -> &'static str {
                self.as_str()
            }

            fn doc(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc, "\n"),+)),+ }
            }
        }
    };
}
pub(crate) use array_names;

/// A shape of at most five axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    axes: [usize; 5],
    len: usize,
}

impl Shape {
    /// The number of values, at most `usize::MAX`.
    pub fn num_values(&self) -> usize {
        self.iter().fold(1, |all, &n| all.saturating_mul(n))
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(shape: [usize; N]) -> Self {
        let mut axes = [0; 5];
        axes[..N].copy_from_slice(&shape);
        Self { axes, len: N }
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.axes[..self.len]
    }
}

/// One array of a result: which it is, its type and its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArraySpec<K> {
    /// Which array it is.
    pub array: K,
    /// The type of its values.
    pub dtype: Dtype,
    /// Its shape.
    pub shape: Shape,
    /// Values that memory for it must have room for: those of the shape, or one more.
    pub room: usize,
}

/// Memory of a result's arrays on one stream. An array that nobody has put there is made by the
/// call that fills it.
#[derive(Debug)]
pub struct Arrays<K> {
    stream: Stream,
    buffers: Vec<Option<AnyBuffer>>,
    keys: PhantomData<K>,
}

impl<K: ArrayName> Arrays<K> {
    /// No arrays, for a result on this stream.
    pub fn new(stream: &Stream) -> Self {
        Self { stream: stream.clone(), buffers: K::ALL.iter().map(|_| None).collect(), keys: PhantomData }
    }

    fn at(array: K) -> usize {
        K::ALL.iter().position(|&one| one == array).expect("ALL has every array")
    }

    /// An array, if it is there.
    pub fn get(&self, array: K) -> Option<&AnyBuffer> {
        self.buffers[Self::at(array)].as_ref()
    }

    /// Puts an array there.
    pub fn set(&mut self, array: K, buffer: impl Into<AnyBuffer>) {
        self.buffers[Self::at(array)] = Some(buffer.into());
    }

    /// Takes an array out.
    pub fn take(&mut self, array: K) -> Option<AnyBuffer> {
        self.buffers[Self::at(array)].take()
    }

    /// Puts other arrays in place of these and returns these.
    ///
    /// # Errors
    /// Arrays of another stream; then nothing has changed.
    pub(crate) fn exchange(&mut self, other: Self) -> Result<Self> {
        let own =
            |stream: &Stream| self.stream.same_queue(stream) && self.stream.device().same_memory(&stream.device());
        let streams = other.buffers.iter().flatten().map(AnyBuffer::stream);
        let expected = "arrays of the stream of the result";
        ensure(streams.chain([&other.stream]).all(own), Argument::Arrays, expected, "arrays of another one")?;
        Ok(std::mem::replace(self, other))
    }

    /// Refuses arrays of other types than these, in the order of the names.
    pub(crate) fn check_types(&self, dtypes: &[Dtype]) -> Result<()> {
        let there = self.buffers.iter().zip(dtypes).filter_map(|(buffer, dtype)| Some((buffer.as_ref()?, dtype)));
        for (buffer, &dtype) in there {
            ensure(buffer.dtype() == dtype, Argument::Arrays, dtype, buffer.dtype())?;
        }
        Ok(())
    }

    /// Makes room for an array of this type. What it held is lost if it was shorter or of another
    /// type.
    pub(crate) fn reserve(&mut self, array: K, dtype: Dtype, len: usize) -> Result<()> {
        match &mut self.buffers[Self::at(array)] {
            Some(buffer) => buffer.reserve(dtype, len),
            none => {
                *none = Some(AnyBuffer::with_len(&self.stream, dtype, len)?);
                Ok(())
            }
        }
    }

    /// The address of an array that was reserved; null if it is not there.
    pub(crate) fn pointer<T: Value>(&self, array: K) -> *mut T {
        self.get(array).map_or(std::ptr::null_mut(), AnyBuffer::pointer)
    }

    /// An array that is there and of this type.
    pub(crate) fn typed_mut<T: Value>(&mut self, array: K) -> Option<&mut Buffer<T>> {
        self.buffers[Self::at(array)].as_mut().and_then(AnyBuffer::typed_mut)
    }

    /// The number of values that an array has room for.
    pub(crate) fn room(&self, array: K) -> usize {
        self.get(array).map_or(0, AnyBuffer::len)
    }

    /// The slots of all arrays, for work on several at once.
    pub(crate) fn slots<const N: usize>(&mut self) -> (&Stream, &mut [Option<AnyBuffer>; N]) {
        (&self.stream, self.buffers.as_mut_slice().try_into().expect("a slot for each array"))
    }

    /// Takes over the lengths of the vectors that the CPU path filled.
    pub(crate) fn sync_len(&mut self) {
        self.buffers.iter_mut().flatten().for_each(AnyBuffer::sync_len);
    }

    /// Copies arrays to the host, each by its shape. Those that no call has `filled` are zeros.
    pub(crate) fn read(&self, specs: impl IntoIterator<Item = ArraySpec<K>>, filled: bool) -> Result<HostArrays<K>> {
        let mut arrays = HostArrays(K::ALL.iter().map(|_| None).collect(), PhantomData);
        for ArraySpec { array, dtype, shape, .. } in specs {
            let len = shape.num_values();
            arrays.0[Self::at(array)] = Some(match self.get(array) {
                Some(buffer) if filled => buffer.read(len)?,
                _ => AnyArray::zeros(dtype, len)?,
            });
        }
        Ok(arrays)
    }
}

impl<K: ArrayName> Output for Arrays<K> {
    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn set_stream(&mut self, stream: &Stream) {
        self.stream = stream.clone();
        self.buffers.iter_mut().flatten().for_each(|buffer| buffer.set_stream(stream));
    }
}

/// Arrays that were read.
pub(crate) struct HostArrays<K>(Vec<Option<AnyArray>>, PhantomData<K>);

impl<K: ArrayName> HostArrays<K> {
    pub(crate) fn take_any(&mut self, array: K) -> Option<AnyArray> {
        self.0[Arrays::at(array)].take()
    }

    pub(crate) fn take<T: Value>(&mut self, array: K) -> Option<Vec<T>> {
        self.take_any(array).and_then(T::from_array)
    }
}

/// The vector of a slot of the CPU path, which is made if it is not there.
pub(crate) fn vector<'a, T: Value>(slot: &'a mut Option<AnyBuffer>, stream: &Stream) -> Result<&'a mut Vec<T>> {
    if slot.is_none() {
        *slot = Some(AnyBuffer::with_len(stream, T::DTYPE, 0)?);
    }
    let buffer = slot.as_mut().expect("made above");
    buffer.reserve(T::DTYPE, 0)?;
    Ok(buffer.typed_mut().and_then(Buffer::host_mut).expect("the CPU path has CPU buffers"))
}

/// The names of the arrays that are not the same in two results: another type, shape or bit, or
/// only in one of them.
///
/// ```
/// use pointmill::voxelize::{VoxelizeParams, voxelize};
/// use pointmill::{Device, Rows, differences};
/// let [a, b] = [[[1.0f32, 2.0, 0.0]], [[1.0, 2.0, -0.0]]].map(|points| {
///     voxelize(&points, &VoxelizeParams::default(), &Device::cpu())?.read()
/// });
/// assert_eq!(differences(&a?, &b?), ["voxels"]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn differences(a: &impl NamedArrays, b: &impl NamedArrays) -> Vec<&'static str> {
    let (a, b) = (a.arrays(), b.arrays());
    let same = |name: &str| {
        let of = |arrays: &[(&'static str, pointmill_core::array::ArrayView<'_>)]| {
            arrays.iter().position(|(one, _)| *one == name)
        };
        of(&a).zip(of(&b)).is_some_and(|(i, j)| {
            let (a, b) = (&a[i].1, &b[j].1);
            a.dtype() == b.dtype() && a.shape() == b.shape() && bytes(a.values()) == bytes(b.values())
        })
    };
    let only_b = b.iter().filter(|(name, _)| !a.iter().any(|(other, _)| other == name));
    a.iter().chain(only_b).map(|&(name, _)| name).filter(|name| !same(name)).collect()
}

/// The bytes of values, so that NaN equals itself and 0 differs from -0.
fn bytes(values: Values<'_>) -> &[u8] {
    use bytemuck::cast_slice;
    match values {
        Values::F32(v) => cast_slice(v),
        Values::F64(v) => cast_slice(v),
        Values::F16(v) | Values::Bf16(v) | Values::U16(v) => cast_slice(v),
        Values::I8(v) => cast_slice(v),
        Values::I16(v) => cast_slice(v),
        Values::I32(v) => cast_slice(v),
        Values::I64(v) => cast_slice(v),
        Values::U8(v) => v,
        Values::U32(v) => cast_slice(v),
        Values::U64(v) => cast_slice(v),
        Values::Bool(v) => cast_slice(v),
    }
}
