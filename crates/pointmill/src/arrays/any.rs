//! Arrays of any element type.

use crate::device::{Buffer, Output, Stream};
use crate::{Argument, Error, Result, bf16, ensure, f16, memory};
use bytemuck::{Pod, Zeroable};
use pointmill_core::array::{ArrayView, Dtype, Values};

/// A type that an array of a result can have.
pub trait Value: Pod + Send + Sync + sealed::Value {
    /// The type's name as a value.
    const DTYPE: Dtype;
}

pub(super) mod sealed {
    use super::{AnyArray, AnyBuffer, Buffer};

    pub trait Value: Sized {
        fn buffer(buffer: &AnyBuffer) -> Option<&Buffer<Self>>;
        fn buffer_mut(buffer: &mut AnyBuffer) -> Option<&mut Buffer<Self>>;
        fn into_buffer(buffer: AnyBuffer) -> Option<Buffer<Self>>;
        fn from_array(array: AnyArray) -> Option<Vec<Self>>;
    }
}

/// Runs an expression for the array of any type.
macro_rules! each {
    ($array:expr, $a:ident => $e:expr) => {
        match $array {
            Self::F32($a) => $e,
            Self::F16($a) => $e,
            Self::Bf16($a) => $e,
            Self::I32($a) => $e,
            Self::I64($a) => $e,
            Self::U32($a) => $e,
            Self::U64($a) => $e,
        }
    };
}

macro_rules! arrays_of {
    ($($variant:ident: $type:ty),*) => {
        /// An array of a result on its device.
        #[derive(Debug)]
        #[allow(missing_docs, reason = "each is the name of its type")]
        pub enum AnyBuffer {
            $($variant(Buffer<$type>)),*
        }

        /// An array of a result on the host.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "each is the name of its type")]
        pub enum AnyArray {
            $($variant(Vec<$type>)),*
        }

        impl AnyBuffer {
            /// A buffer of so many values.
            pub(crate) fn with_len(stream: &Stream, dtype: Dtype, len: usize) -> Result<Self> {
                match dtype {
                    $(Dtype::$variant => Ok(Self::$variant(stream.alloc(len)?)),)*
                    other => Err(no_such_type(other)),
                }
            }

            /// The type of the values.
            pub const fn dtype(&self) -> Dtype {
                match self {
                    $(Self::$variant(_) => Dtype::$variant),*
                }
            }

            /// The first `len` values, copied to the host once all earlier work of the stream is
            /// done.
            ///
            /// # Errors
            /// More values than there are, whatever the earlier work ran into, or no memory.
            pub fn read(&self, len: usize) -> Result<AnyArray> {
                Ok(match self {
                    $(Self::$variant(buffer) => AnyArray::$variant(buffer.read(len)?)),*
                })
            }
        }

        impl AnyArray {
            /// So many zeros.
            pub(crate) fn zeros(dtype: Dtype, len: usize) -> Result<Self> {
                match dtype {
                    $(Dtype::$variant => Ok(Self::$variant(memory::filled(len, Zeroable::zeroed())?)),)*
                    other => Err(no_such_type(other)),
                }
            }
        }

        fn no_such_type(dtype: Dtype) -> Error {
            let expected = [$(Dtype::$variant.as_str()),*].join(", ");
            Error::argument(Argument::Buffer, format!("one of the types {expected}"), dtype)
        }

        $(
            impl Value for $type {
                const DTYPE: Dtype = Dtype::$variant;
            }

            impl sealed::Value for $type {
                fn buffer(buffer: &AnyBuffer) -> Option<&Buffer<Self>> {
                    if let AnyBuffer::$variant(buffer) = buffer { Some(buffer) } else { None }
                }
                fn buffer_mut(buffer: &mut AnyBuffer) -> Option<&mut Buffer<Self>> {
                    if let AnyBuffer::$variant(buffer) = buffer { Some(buffer) } else { None }
                }
                fn into_buffer(buffer: AnyBuffer) -> Option<Buffer<Self>> {
                    if let AnyBuffer::$variant(buffer) = buffer { Some(buffer) } else { None }
                }
                fn from_array(array: AnyArray) -> Option<Vec<Self>> {
                    if let AnyArray::$variant(array) = array { Some(array) } else { None }
                }
            }

            impl From<Buffer<$type>> for AnyBuffer {
                fn from(buffer: Buffer<$type>) -> Self {
                    Self::$variant(buffer)
                }
            }

            impl From<Vec<$type>> for AnyArray {
                fn from(array: Vec<$type>) -> Self {
                    Self::$variant(array)
                }
            }
        )*
    };
}
arrays_of!(F32: f32, F16: f16, Bf16: bf16, I32: i32, I64: i64, U32: u32, U64: u64);

impl AnyBuffer {
    /// An empty buffer, to be filled by a call.
    ///
    /// # Errors
    /// A type that no result has; out of memory.
    pub fn new(stream: &Stream, dtype: Dtype) -> Result<Self> {
        Self::with_len(stream, dtype, 0)
    }

    /// The buffer, if it has this type.
    pub fn typed<T: Value>(&self) -> Option<&Buffer<T>> {
        T::buffer(self)
    }

    /// The buffer by value, if it has this type.
    pub fn into_typed<T: Value>(self) -> Option<Buffer<T>> {
        T::into_buffer(self)
    }

    pub(crate) fn typed_mut<T: Value>(&mut self) -> Option<&mut Buffer<T>> {
        T::buffer_mut(self)
    }

    /// Leaves the first `to` values of each of `rows` rows of `from`.
    pub(super) fn cut(&mut self, rows: usize, from: usize, to: usize) -> Result<()> {
        each!(self, buffer => buffer.cut(rows, from, to))
    }

    /// The number of values that there is room for.
    pub const fn len(&self) -> usize {
        each!(self, buffer => buffer.len())
    }

    /// Whether there is room for none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The stream that the buffer belongs to.
    pub const fn stream(&self) -> &Stream {
        each!(self, buffer => buffer.stream())
    }

    /// The address on the device.
    pub fn device_pointer(&self) -> u64 {
        each!(self, buffer => buffer.device_pointer())
    }

    /// The address as kernels take it.
    ///
    /// # Panics
    /// A buffer of another type, which `reserve` has made impossible.
    pub(crate) fn pointer<T: Value>(&self) -> *mut T {
        self.typed::<T>().expect("a buffer of the type that was reserved").pointer()
    }

    /// Makes this a buffer of `dtype` with room for at least `len` values. Memory of somebody else
    /// must be both before.
    pub(crate) fn reserve(&mut self, dtype: Dtype, len: usize) -> Result<()> {
        if self.dtype() != dtype {
            let expected = format_args!("memory of type {dtype}, as it is not pointmill's own");
            ensure(!each!(self, buffer => buffer.is_foreign()), Argument::Buffer, expected, self.dtype())?;
            *self = Self::with_len(self.stream(), dtype, len)?;
        }
        each!(self, buffer => buffer.reserve(len).map(drop))
    }

    pub(crate) fn sync_len(&mut self) {
        each!(self, buffer => buffer.sync_len());
    }
}

impl Output for AnyBuffer {
    fn stream(&self) -> &Stream {
        self.stream()
    }

    fn set_stream(&mut self, stream: &Stream) {
        each!(self, buffer => buffer.set_stream(stream));
    }
}

impl AnyArray {
    /// The values in a shape.
    pub fn view(&self, shape: &[usize]) -> ArrayView<'_> {
        let values = match self {
            Self::F32(values) => Values::F32(values),
            Self::F16(values) => Values::F16(bytemuck::cast_slice(values)),
            Self::Bf16(values) => Values::Bf16(bytemuck::cast_slice(values)),
            Self::I32(values) => Values::I32(values),
            Self::I64(values) => Values::I64(values),
            Self::U32(values) => Values::U32(values),
            Self::U64(values) => Values::U64(values),
        };
        ArrayView::new(shape, values)
    }

    /// The number of values.
    pub const fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// Whether there is no value.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
