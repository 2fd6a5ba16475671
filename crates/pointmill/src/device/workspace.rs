//! Memory that calls use again, declared once.

use super::{Buffer, Stream, Uploaded};
use crate::Result;
use bytemuck::Pod;

/// What is made for the work of a stream, with nothing in it yet.
pub(crate) trait OnStream: Sized {
    fn on(stream: &Stream) -> Result<Self>;
}

impl OnStream for Stream {
    fn on(stream: &Stream) -> Result<Self> {
        Ok(stream.clone())
    }
}

impl<T: Pod> OnStream for Buffer<T> {
    fn on(stream: &Stream) -> Result<Self> {
        stream.alloc(0)
    }
}

impl OnStream for Uploaded {
    fn on(stream: &Stream) -> Result<Self> {
        Self::new(stream)
    }
}

/// Declares a struct with `new`, which makes each field for the stream: as [`OnStream`] does, or as
/// the field says.
macro_rules! workspace {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$key:ident: $bound:ident>)? ($stream:ident) {
            $($(#[doc = $doc:literal])* $(#[cfg($cfg:meta)])? $of:vis $field:ident: $type:ty $(= $first:expr)?,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        $vis struct $name $(<$key>)? {
            $($(#[doc = $doc])* $(#[cfg($cfg)])? $of $field: $type,)+
        }

        impl $(<$key: $bound>)? $name $(<$key>)? {
            /// One with nothing in it yet, for the work of a stream.
            ///
            /// # Errors
            /// Out of memory.
            $vis fn new($stream: &$crate::device::Stream) -> $crate::Result<Self> {
                Ok(Self { $($(#[cfg($cfg)])? $field: workspace!(@first $stream, $type $(, $first)?),)+ })
            }
        }

        impl $(<$key: $bound>)? $crate::device::OnStream for $name $(<$key>)? {
            fn on(stream: &$crate::device::Stream) -> $crate::Result<Self> {
                Self::new(stream)
            }
        }
    };
    (@first $stream:ident, $type:ty) => { <$type as $crate::device::OnStream>::on($stream)? };
    (@first $stream:ident, $type:ty, $first:expr) => { $first };
}
pub(crate) use workspace;
