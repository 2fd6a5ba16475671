//! The CPU path: boxes over threads for lists, boxes or rows over threads for pooling, points over
//! threads for gradients.

mod backward;
mod inside;
mod locate;
mod pool;
mod transposed;

pub(super) use inside::{all, bits, count, crop, part};
pub(super) use locate::Workspace;

use crate::device::Buffer;

fn host<T: bytemuck::Pod>(buffer: &mut Buffer<T>) -> &mut [T] {
    buffer.host_mut().expect("the CPU path has CPU buffers")
}
