//! Parameters of a sparse convolution.

use crate::{Argument, Result, ensure};
use pointmill_core::sparse::{MAX_OFFSETS, MAX_SPAN, Window};

pub use pointmill_core::sparse::ConvKind;

/// Parameters of a sparse convolution; all triples along z, y, x.
///
/// ```
/// use pointmill::sparse::{ConvKind, ConvParams};
/// let params = ConvParams { kind: ConvKind::Strided, stride: [2; 3], padding: [1; 3], ..ConvParams::default() };
/// assert!(params.validate().is_ok());
/// let refused = ConvParams { kernel: [3, 2, 3], ..ConvParams::default() }.validate().unwrap_err();
/// assert_eq!(refused.to_string(), "kernel: expected odd sizes for a submanifold layer, got [3, 2, 3]");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConvParams {
    /// The size of the kernel; default 3, 3, 3.
    pub kernel: [u32; 3],
    /// Default 1; a submanifold layer has no other.
    pub stride: [u32; 3],
    /// Default 0. A submanifold layer is centred, whatever stands here.
    pub padding: [u32; 3],
    /// Default 1.
    pub dilation: [u32; 3],
    /// What the layer does; default submanifold.
    pub kind: ConvKind,
    /// Most outputs of a strided or a transposed layer; default as many as there are. With it no
    /// call waits. Outputs beyond it are dropped from the end of their order, and counted.
    pub capacity: Option<u32>,
    /// Whether each output gets a bit for each offset that it has a pair of; default no.
    pub masks: bool,
    /// Whether each offset gets a list of its pairs; default no.
    pub lists: bool,
}

impl Default for ConvParams {
    fn default() -> Self {
        Self {
            kernel: [3; 3],
            stride: [1; 3],
            padding: [0; 3],
            dilation: [1; 3],
            kind: ConvKind::default(),
            capacity: None,
            masks: false,
            lists: false,
        }
    }
}

impl ConvParams {
    /// Checks everything that does not depend on the cells.
    ///
    /// # Errors
    /// A kernel, stride or dilation of 0, or too large; an even kernel or a stride of a submanifold
    /// layer; a capacity of 0, or of a layer whose outputs are given.
    pub fn validate(&self) -> Result<()> {
        let all = [
            (Argument::Kernel, self.kernel, 1),
            (Argument::Stride, self.stride, 1),
            (Argument::Padding, self.padding, 0),
            (Argument::Dilation, self.dilation, 1),
        ];
        for (argument, sizes, least) in all {
            let fits = sizes.iter().all(|&size| size >= least && size <= MAX_SPAN);
            ensure(fits, argument, format_args!("sizes of {least} to 2^29"), format_args!("{sizes:?}"))?;
        }
        let offsets = self.window().offsets().filter(|&offsets| offsets <= MAX_OFFSETS);
        let kernel = format_args!("{:?}", self.kernel);
        ensure(offsets.is_some(), Argument::Kernel, format_args!("at most {MAX_OFFSETS} offsets"), kernel)?;
        let dilation = format_args!("{:?}", self.dilation);
        ensure(self.window().fits(), Argument::Dilation, "a kernel that spans at most 2^29 cells", dilation)?;
        if self.kind == ConvKind::Submanifold {
            let odd = self.kernel.iter().all(|size| size % 2 == 1);
            ensure(odd, Argument::Kernel, "odd sizes for a submanifold layer", kernel)?;
            let stride = format_args!("{:?}", self.stride);
            ensure(self.stride == [1; 3], Argument::Stride, "1 for a submanifold layer", stride)?;
        }
        let capacity = self.capacity.unwrap_or(1);
        ensure((1..1 << 30).contains(&capacity), Argument::Capacity, "1 to 2^30 - 1", capacity)?;
        let free = matches!(self.kind, ConvKind::Strided | ConvKind::Transposed);
        let expected = format_args!("none for an {} layer, whose outputs are given", self.kind);
        ensure(free || self.capacity.is_none(), Argument::Capacity, expected, capacity)
    }

    /// The kernel; that of a submanifold layer is centred.
    pub(super) fn window(&self) -> Window {
        let Self { kernel, stride, padding, dilation, .. } = *self;
        let centred = [0, 1, 2].map(|a| (kernel[a].wrapping_sub(1) / 2).wrapping_mul(dilation[a]));
        let padding = if self.kind == ConvKind::Submanifold { centred } else { padding };
        Window { kernel, stride, padding, dilation }
    }

    /// Whether the inputs are the coarse cells.
    pub(super) const fn is_transposed(&self) -> bool {
        matches!(self.kind, ConvKind::Inverse | ConvKind::Transposed)
    }
}
