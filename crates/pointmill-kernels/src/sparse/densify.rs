//! Points of several sweeps in one frame.

use super::BLOCK;
use crate::prim::last_where;
use crate::simt::*;
use pointmill_core::rigid::Rigid;

/// Words of 32 bits of a [`Sweep`].
pub const SWEEP_WORDS: usize = size_of::<Sweep>() / 4;

/// One sweep.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// From the sweep's frame to that of the result.
    pub transform: Rigid,
    /// `[n, columns]` of `f32`.
    pub values: u64,
    /// The row of the result that its points begin at.
    pub first: u32,
    /// What the last column of its points is.
    pub time_lag: f32,
}

/// Arguments of [`Densify`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DensifyArgs {
    /// At least one, in order.
    pub sweeps: *const Sweep,
    /// How many.
    pub num_sweeps: u32,
    /// Points of all sweeps.
    pub n: u32,
    /// Columns of a point.
    pub columns: u32,
    /// `[n, columns + 1]`.
    pub out: *mut f32,
}

kernel! {
    /// Moves points and appends the time lag. One thread a point.
    Densify = "sparse_densify", block BLOCK, shared 0, cooperative false,
    fn(a: DensifyArgs) {
        let i = global_index();
        if i >= a.n {
            return;
        }
        // The last sweep that begins at or before this row. Empty ones begin where the next does.
        let sweep = a.sweeps.add(last_where(a.num_sweeps, |sweep| (*a.sweeps.add(sweep as usize)).first <= i) as usize);
        let columns = a.columns as usize;
        let from = ((*sweep).values as *const f32).add((i - (*sweep).first) as usize * columns);
        let to = a.out.add(i as usize * (columns + 1));
        let point = [*from as f64, *from.add(1) as f64, *from.add(2) as f64];
        let moved = (*sweep).transform.apply(point);
        for k in 0..3 {
            *to.add(k) = moved[k] as f32;
        }
        let mut k = 3;
        while k < columns {
            *to.add(k) = *from.add(k);
            k += 1;
        }
        *to.add(columns) = (*sweep).time_lag;
    }
}
