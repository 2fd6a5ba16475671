//! Structs that hosts write to and read from memory of a device as bytes.

/// Implements `Pod` for structs with parts of `pointmill-core`, where the derive of bytemuck cannot
/// see into them. Each stands with its size, which is the sum of the sizes of its numbers, so that
/// there is no gap.
macro_rules! plain {
    ($($Type:ty: $size:expr),+ $(,)?) => {
        $(
            const _: () = assert!(size_of::<$Type>() == $size);
            // SAFETY: numbers in the order of C without a gap, valid whatever their bits are.
            unsafe impl bytemuck::Zeroable for $Type {}
            // SAFETY: as above.
            unsafe impl bytemuck::Pod for $Type {}
        )+
    };
}
