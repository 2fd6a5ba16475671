//! The front end of sparse detectors: cells in the order of curves.
//!
//! [`serialize`] orders cells along curves that fill the grid, as Point Transformer V3 takes them. A
//! [`Serializer`] keeps its memory between calls. The same input gives the same bits on every
//! device, in every run and with any number of threads.
//!
//! # Waiting
//! On a GPU the methods of workers only queue work, and can be recorded in a graph, unless a
//! parameter says otherwise. Where only the device knows how many cells there are, see
//! [`Cells::counted`].

mod cells;
mod params;
mod radix;
mod serialize;
#[cfg(test)]
mod tests;

pub use cells::{Cells, Ints};
pub use params::{MAX_DEPTH, MAX_ORDERS, Order, SerializeParams};
pub use serialize::{Serialized, SerializedArrays, Serializer};

use crate::{Device, Result};

/// Orders cells along curves.
///
/// **Shapes**: cells `[V, 3]`; codes `[k, V]` of `u64`, orders and their inverses `[k, V]` of `u32`,
/// for k curves.
///
/// **Arithmetic**: a code is the item of the batch, above the position on the curve, which has three
/// times as many bits as the depth. See [`Order`].
///
/// **Order and determinism**: ascending by code, and of equal codes by row; see the [module](self).
///
/// **Limits**: fewer than 2^30 cells; a depth of at most 16; codes of at most 63 bits.
///
/// # Errors
/// Parameters out of range; a coordinate below 0 or beyond the depth; an item that is not of the
/// batch; codes of too many bits; out of memory, a lost device.
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::{Cells, Order, SerializeParams, serialize};
/// let cells = Cells::new(&[[1, 1, 1], [0, 0, 0], [1, 0, 0]])?;
/// let params = SerializeParams { orders: vec![Order::Z], ..SerializeParams::default() };
/// let serialized = serialize(cells, &params, &Device::cpu())?.read()?;
/// assert_eq!((serialized.codes, serialized.order), (vec![7, 0, 4], vec![1, 2, 0]));
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn serialize(cells: Cells<'_>, params: &SerializeParams, device: &Device) -> Result<Serialized> {
    let mut serializer = Serializer::new(&device.stream()?, params)?;
    let mut out = serializer.output()?;
    serializer.run(cells, &mut out)?;
    Ok(out)
}

/// The values of a buffer of the CPU.
fn values<T: bytemuck::Pod>(buffer: &mut crate::Buffer<T>) -> &mut [T] {
    buffer.host_mut().map_or(&mut [], |values| values)
}
