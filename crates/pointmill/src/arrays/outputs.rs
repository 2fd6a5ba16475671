//! Results that are declared once: their arrays with types and shapes, on a device and on the host.

use super::{AnyBuffer, ArrayName, ArraySpec, Arrays, Shape, Value};
use crate::device::Buffer;
use crate::{Argument, Error, Result};
use std::fmt;

/// A result of several arrays on its device, declared with `outputs!`: what a door needs of any.
pub trait DeviceArrays {
    /// The names of its arrays.
    type Array: ArrayName;
    /// What a call counts besides the sizes of arrays.
    type Report: Send;

    /// The arrays of the last call at the size that they can have at most. Nothing waits.
    fn bounds(&self) -> Vec<ArraySpec<Self::Array>>;

    /// The arrays of the last call as they are, and what it counted. On a GPU this waits.
    ///
    /// # Errors
    /// Those of reading the result: rows in memory of a GPU that the operator refuses, and whatever
    /// the queued work ran into.
    fn counted(&self) -> Result<Counted<Self>>;

    /// The address of an array on the device, and how many values there is room for.
    fn memory(&self, array: Self::Array) -> (u64, usize);

    /// Has each call write to memory that `lender` makes for it; `None` ends that. Where `padded`,
    /// calls also fill the rows behind those that count, with -1 or what the array says.
    fn lend(&mut self, lender: Option<ArrayLender<Self::Array>>, padded: bool);

    /// Puts other arrays in place of those of the result and returns these. Until the next call the
    /// result has no rows.
    ///
    /// # Errors
    /// Arrays of another stream or type; then the result is as it was.
    fn exchange(&mut self, arrays: Arrays<Self::Array>) -> Result<Arrays<Self::Array>>;
}

/// The arrays of a call as they are, and what it counted.
pub type Counted<R> = (Vec<ArraySpec<<R as DeviceArrays>::Array>>, <R as DeviceArrays>::Report);

type Lend<K> = dyn FnMut(&[ArraySpec<K>]) -> Result<Arrays<K>> + Send + Sync;

/// Makes memory for the arrays of a call, once it is known how large they can be.
pub struct ArrayLender<K>(Box<Lend<K>>);

impl<K> ArrayLender<K> {
    /// `lend` learns type and size of each array, and may leave some to the result.
    pub fn new(lend: impl FnMut(&[ArraySpec<K>]) -> Result<Arrays<K>> + Send + Sync + 'static) -> Self {
        Self(Box::new(lend))
    }

    pub(crate) fn lend(&mut self, bounds: &[ArraySpec<K>]) -> Result<Arrays<K>> {
        (self.0)(bounds)
    }
}

impl<K> fmt::Debug for ArrayLender<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ArrayLender")
    }
}

/// Puts an array in place of a buffer of its type, an empty one where there is none.
pub(crate) fn replace<T: Value>(buffer: &mut Buffer<T>, by: Option<AnyBuffer>) -> Result<AnyBuffer>
where
    AnyBuffer: From<Buffer<T>>,
{
    let new = match by {
        Some(given) => {
            let got = given.dtype();
            given.into_typed().ok_or_else(|| Error::argument(Argument::Arrays, T::DTYPE.as_str(), got))?
        }
        None => Buffer::none(buffer.stream()),
    };
    Ok(std::mem::replace(buffer, new).into())
}

/// An array on the host without what is behind the rows that count. It has the shape `bound` on the
/// device.
pub(crate) fn read_cut<T: Value>(buffer: &Buffer<T>, bound: Shape, shape: Shape) -> Result<Vec<T>> {
    if bound[1..] == shape[1..] {
        return buffer.read(shape.num_values());
    }
    let mut values = buffer.read(bound.num_values())?;
    cut_rows(&mut values, bound[1], shape[1]);
    Ok(values)
}

/// Leaves the first `to` values of each row of `from`.
fn cut_rows<T: Copy>(values: &mut Vec<T>, from: usize, to: usize) {
    let rows = values.len() / from.max(1);
    (1..rows).for_each(|row| values.copy_within(row * from..row * from + to, row * to));
    values.truncate(rows * to);
}

impl<K: ArrayName> Arrays<K> {
    /// Packs arrays whose rows are shorter than there was room for.
    ///
    /// # Errors
    /// Out of memory, a lost device.
    pub fn cut(&mut self, bounds: &[ArraySpec<K>], specs: &[ArraySpec<K>]) -> Result<()> {
        for (bound, spec) in bounds.iter().zip(specs) {
            if bound.shape[1..] != spec.shape[1..]
                && let Some(buffer) = &mut self.buffers[Self::at(spec.array)]
            {
                buffer.cut(spec.shape[0], bound.shape[1], spec.shape[1])?;
            }
        }
        Ok(())
    }
}

impl<T: Value> Buffer<T> {
    /// Leaves the first `to` values of each of `rows` rows of `from`.
    pub(crate) fn cut(&mut self, rows: usize, from: usize, to: usize) -> Result<()> {
        if let Some(values) = self.host_mut() {
            values.truncate(rows * from);
            cut_rows(values, from, to);
            self.sync_len();
            return Ok(());
        }
        let mut packed = self.stream().alloc(rows * to)?;
        for row in 0..rows {
            packed.copy_range(row * to, self, row * from, to)?;
        }
        *self = packed;
        Ok(())
    }
}

/// Declares a result: a struct of buffers whose names, types and shapes are known at run time
/// ([`DeviceArrays`]) and, where it is named, the struct of its arrays on the host
/// ([`NamedArrays`](crate::NamedArrays)).
///
/// `Variant = field: type [axes]` is an array; an axis is an expression of the sizes. `if size` leaves
/// an array out whose size is 0. `else 0` is what rows that are filled up have, -1 without it. `words`
/// are counters for the host with what they begin with, `state` is what else a result keeps. A method
/// `count`, by hand, waits, and gives the sizes that are and what else was counted.
macro_rules! outputs {
    (
        $(#[$meta:meta])*
        pub struct $name:ident of $array:ident by $sizes:ident { $($size:ident),+ } reports $report:ty { $($arrays:tt)* }
        words { $($words:tt)* }
        state { $($state:tt)* }
        $(#[$host_meta:meta])*
        pub struct $host:ident { $($rest:tt)* }
    ) => {
        outputs! {
            $(#[$meta])*
            pub struct $name of $array by $sizes { $($size),+ } reports $report { $($arrays)* }
            words { $($words)* }
            state { $($state)* }
        }
        outputs!(@host $name $array $sizes { $($arrays)* } $(#[$host_meta])* $host { $($rest)* });
    };
    (
        $(#[$meta:meta])*
        pub struct $name:ident of $array:ident by $sizes:ident { $($size:ident),+ } reports $report:ty {
            $(
                $(#[doc = $doc:literal])+
                $variant:ident = $field:ident: $type:ident [$($axis:expr),+] $(if $needed:ident)? $(else $pad:literal)?,
            )+
        }
        words { $($(#[$word_meta:meta])* $word:ident = $initial:expr,)* }
        state { $($(#[$state_meta:meta])* $state:ident: $state_type:ty = $state_initial:expr,)* }
    ) => {
        #[doc = concat!("An array of [`", stringify!($name), "`].")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $array {
            $(
                #[doc = concat!("`[", stringify!($($axis),+), "]` of `", stringify!($type), "`.")]
                $(#[doc = $doc])+
                $variant,
            )+
        }

        impl crate::arrays::ArrayName for $array {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($field)),+ }
            }

            fn doc(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!(
                        "`[", stringify!($($axis),+), "]` `", stringify!($type), "`.\n", $($doc, "\n"),+
                    )),+
                }
            }
        }

        /// The sizes of a result.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct $sizes {
            $(pub(crate) $size: usize,)+
        }

        impl $sizes {
            /// The shape of each array.
            fn shapes(self) -> [crate::arrays::Shape; <$array as crate::arrays::ArrayName>::ALL.len()] {
                let Self { $($size),+ } = self;
                [$(crate::arrays::Shape::from([$($axis),+])),+]
            }

            /// The arrays that a result of these sizes has.
            fn specs(self) -> Vec<crate::arrays::ArraySpec<$array>> {
                let shapes = self.shapes();
                let all = [$((true $(&& self.$needed > 0)?).then(|| {
                    let (array, dtype) = ($array::$variant, <$type as crate::arrays::Value>::DTYPE);
                    let shape = shapes[array as usize];
                    crate::arrays::ArraySpec { array, dtype, shape, room: shape.num_values() }
                })),+];
                all.into_iter().flatten().collect()
            }
        }

        $(#[$meta])*
        #[derive(Debug)]
        pub struct $name {
            $(pub(crate) $field: crate::Buffer<$type>,)+
            $($(#[$word_meta])* pub(crate) $word: crate::Buffer<u32>,)*
            $($(#[$state_meta])* pub(crate) $state: $state_type,)*
            pub(crate) sizes: $sizes,
            lender: Option<crate::arrays::ArrayLender<$array>>,
            padded: bool,
        }

        impl $name {
            /// A result that no call has filled.
            pub(crate) fn empty(stream: &crate::Stream) -> crate::Result<Self> {
                Ok(Self {
                    $($field: stream.alloc(0)?,)+
                    $($word: stream.upload(&$initial)?,)*
                    $($state: $state_initial,)*
                    sizes: $sizes::default(),
                    lender: None,
                    padded: false,
                })
            }

            /// Makes room for the arrays of a call.
            pub(crate) fn reserve(&mut self, sizes: $sizes) -> crate::Result<()> {
                self.sizes = $sizes::default();
                if let Some(lender) = &mut self.lender {
                    let mut lent = lender.lend(&sizes.specs())?;
                    $(if let Some(given) = lent.take($array::$variant) {
                        crate::arrays::replace(&mut self.$field, Some(given))?;
                    })+
                }
                let shapes = sizes.shapes();
                $(
                    let values = shapes[$array::$variant as usize].num_values();
                    self.$field.reserve(values)?;
                    if self.padded {
                        let pads = [$($pad,)? u32::MAX];
                        self.$field.fill_words(pads[0], values * (size_of::<$type>() / 4))?;
                    }
                )+
                self.sizes = sizes;
                Ok(())
            }

            $(
                #[doc = concat!("`[", stringify!($($axis),+), "]`:")]
                $(#[doc = $doc])+
                /// The buffer can be longer.
                pub const fn $field(&self) -> &crate::Buffer<$type> {
                    &self.$field
                }
            )+
        }

        impl crate::device::Output for $name {
            fn stream(&self) -> &crate::Stream {
                outputs!(@first self $($field)+).stream()
            }

            fn set_stream(&mut self, stream: &crate::Stream) {
                $(self.$field.set_stream(stream);)+
                $(self.$word.set_stream(stream);)*
            }
        }

        impl crate::arrays::DeviceArrays for $name {
            type Array = $array;
            type Report = $report;

            fn bounds(&self) -> Vec<crate::arrays::ArraySpec<$array>> {
                self.sizes.specs()
            }

            fn counted(&self) -> crate::Result<(Vec<crate::arrays::ArraySpec<$array>>, $report)> {
                let (sizes, report) = self.count()?;
                Ok((sizes.specs(), report))
            }

            fn memory(&self, array: $array) -> (u64, usize) {
                match array { $($array::$variant => (self.$field.device_pointer(), self.$field.len())),+ }
            }

            fn lend(&mut self, lender: Option<crate::arrays::ArrayLender<$array>>, padded: bool) {
                (self.lender, self.padded) = (lender, padded);
            }

            fn exchange(
                &mut self,
                arrays: crate::arrays::Arrays<$array>,
            ) -> crate::Result<crate::arrays::Arrays<$array>> {
                let mut given = crate::arrays::Arrays::new(crate::device::Output::stream(self));
                let mut own = given.exchange(arrays)?;
                given.check_types(&[$(<$type as crate::arrays::Value>::DTYPE),+])?;
                $(
                    let old = crate::arrays::replace(&mut self.$field, given.take($array::$variant))?;
                    own.set($array::$variant, old);
                )+
                self.sizes = $sizes::default();
                Ok(own)
            }
        }
    };
    (@first $self:ident $first:ident $($rest:ident)*) => { $self.$first };
    (
        @host $name:ident $array:ident $sizes:ident {
            $(
                $(#[doc = $doc:literal])+
                $variant:ident = $field:ident: $type:ident [$($axis:expr),+] $(if $needed:ident)? $(else $pad:literal)?,
            )+
        }
        $(#[$meta:meta])* $host:ident { $($(#[doc = $rest_doc:literal])+ $rest:ident: $rest_type:ty,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $host {
            $(
                #[doc = concat!("`[", stringify!($($axis),+), "]`:")]
                $(#[doc = $doc])+
                pub $field: Vec<$type>,
            )+
            $($(#[doc = $rest_doc])+ pub $rest: $rest_type,)*
            pub(crate) sizes: $sizes,
        }

        impl $name {
            /// The arrays on the host, without what is behind these sizes.
            fn host(&self, sizes: $sizes, $($rest: $rest_type),*) -> crate::Result<$host> {
                let (bounds, shapes) = (self.sizes.shapes(), sizes.shapes());
                $(
                    let at = $array::$variant as usize;
                    let $field = crate::arrays::read_cut(&self.$field, bounds[at], shapes[at])?;
                )+
                Ok($host { $($field,)+ $($rest,)* sizes })
            }
        }

        impl crate::NamedArrays for $host {
            fn arrays(&self) -> Vec<(&'static str, pointmill_core::array::ArrayView<'_>)> {
                let shapes = self.sizes.shapes();
                let all = [$((true $(&& self.sizes.$needed > 0)?).then(|| {
                    let shape = &shapes[$array::$variant as usize];
                    (stringify!($field), pointmill_core::array::ArrayView::$type(shape, &self.$field))
                })),+];
                all.into_iter().flatten().collect()
            }
        }
    };
}
pub(crate) use outputs;
