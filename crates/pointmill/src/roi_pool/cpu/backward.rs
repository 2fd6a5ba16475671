//! The gradient of the features: lists turned round, then each point's terms added in the order of
//! the boxes.

use super::locate::{Located, Workspace};
use super::transposed::Transposed;
use crate::arrays::{AnyBuffer, Value};
use crate::device::Buffer;
use crate::roi_pool::arrays::Extent;
use crate::roi_pool::{PoolMode, RoiArray, RoiLayout, RoiPooled};
use crate::rows::Feature;
use crate::{ElementType, Result, Rows, bf16, f16, par};
use rayon::prelude::*;

/// Points that a thread handles at a time.
const POINTS: usize = 256;

impl Workspace {
    pub(in crate::roi_pool) fn backward(
        &mut self,
        pooled: &RoiPooled,
        grad: &Rows<'_>,
        out: &mut AnyBuffer,
    ) -> Result<()> {
        let extent = &pooled.extent;
        out.reserve(grad.dtype(), extent.points * extent.channels)?;
        let located = &self.located;
        let lists = (0..located.rows.len()).map(|r| located.list(r));
        self.transposed.make(&located.indices, lists, extent.points)?;
        let argmax = pooled.arrays.get(RoiArray::Argmax).and_then(AnyBuffer::typed::<i32>).and_then(Buffer::as_slice);
        let argmax = argmax.unwrap_or_default();
        let (located, transposed) = (&self.located, &self.transposed);
        match grad.element() {
            ElementType::F32 => backward::<f32>(located, transposed, extent, grad, argmax, out),
            ElementType::F16 => backward::<f16>(located, transposed, extent, grad, argmax, out),
            ElementType::Bf16 => backward::<bf16>(located, transposed, extent, grad, argmax, out),
        }
        Ok(())
    }
}

fn backward<E: Feature + Value>(
    located: &Located,
    transposed: &Transposed,
    extent: &Extent,
    grad: &Rows<'_>,
    argmax: &[i32],
    out: &mut AnyBuffer,
) {
    let channels = extent.channels;
    let grad = grad.host::<E>().expect("values of the CPU");
    let out = out.typed_mut::<E>().expect("a buffer of the gradient's type");
    let out = &mut super::host(out)[..extent.points * channels];
    out.par_chunks_mut(POINTS * channels).with_min_len(par::grain(1)).enumerate().for_each(|(part, out)| {
        par::check();
        let mut sums = vec![0.0f32; channels];
        for (k, out) in out.chunks_exact_mut(channels).enumerate() {
            let i = part * POINTS + k;
            sums.fill(0.0);
            for &r in transposed.of(i) {
                let r = r as usize;
                let at = if extent.layout == RoiLayout::Sparse { r } else { located.rows[r].slot as usize } * channels;
                let grad = &grad[at..at + channels];
                match extent.mode {
                    PoolMode::Max => {
                        for ((sum, g), from) in sums.iter_mut().zip(grad).zip(&argmax[at..]) {
                            if *from == i as i32 {
                                *sum += g.widen();
                            }
                        }
                    }
                    PoolMode::Mean => {
                        let count = located.list(r).len() as f32;
                        sums.iter_mut().zip(grad).for_each(|(sum, g)| *sum += g.widen() / count);
                    }
                }
            }
            out.iter_mut().zip(&sums).for_each(|(out, &sum)| *out = E::narrow(sum));
        }
    });
}
