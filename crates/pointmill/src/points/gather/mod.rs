//! Weighted sums of features of the rows that neighbours name, and their gradients; for bindings.
//!
//! `out[m]` is the sum over `k`, in order, of `weights[m, k] * features[index[m, k]]`, from zero on and
//! without a fused multiplication; without weights the features of one row. A gradient adds up in the
//! order of places or of channels. So bits are the same with any number of threads, and on a GPU
//! ([`GatherWorker`]).

mod gpu;

pub use gpu::GatherWorker;

use crate::scatter::{RowLists, RowNumber, Scattered, blocks, check};
use crate::{Argument, Result, bf16, ensure, f16, memory};
use bytemuck::Pod;
use pointmill_core::reduction::Number;
use pointmill_kernels::Kernel;
use pointmill_kernels::points::{self as kernels, GatherArgs};
use pointmill_kernels::prim::{BLOCK, sort};

/// A type of features: `f32`, `f64`, `f16` or `bf16`. Weights are `f64` for `f64`, else `f32`.
pub trait Gathered: Scattered<Wide: Pod> {
    /// Its kernels.
    #[doc(hidden)]
    type Gather: Kernel<Args = GatherArgs<Self::Stored>>;
    #[doc(hidden)]
    type Gradient: Kernel<Args = GatherArgs<Self::Stored>>;
    #[doc(hidden)]
    type Long: Kernel<Args = GatherArgs<Self::Stored>>;
    #[doc(hidden)]
    type Weights: Kernel<Args = GatherArgs<Self::Stored>>;
}

macro_rules! gathered {
    ($($type:ty: $gather:ident, $gradient:ident, $long:ident, $weights:ident;)+) => {$(
        impl Gathered for $type {
            type Gather = kernels::$gather;
            type Gradient = kernels::$gradient;
            type Long = kernels::$long;
            type Weights = kernels::$weights;
        }
    )+};
}

gathered! {
    f32: GatherF32, GradientF32, LongF32, WeightsF32;
    f64: GatherF64, GradientF64, LongF64, WeightsF64;
    f16: GatherF16, GradientF16, LongF16, WeightsF16;
    bf16: GatherBf16, GradientBf16, LongBf16, WeightsBf16;
}

/// The sizes of a gather.
#[derive(Clone, Copy, Debug)]
pub struct Gather {
    /// Items of a batch.
    pub items: usize,
    /// Values of a row.
    pub channels: usize,
    /// Rows of an item.
    pub rows: usize,
    /// Sums of an item.
    pub count: usize,
    /// Neighbours of a sum; 1 where there are no weights.
    pub k: usize,
    /// Features are `[items, rows, channels]` and sums `[items, count, channels]`, not
    /// `[items, channels, rows]` and `[items, channels, count]`.
    pub channels_last: bool,
}

impl Gather {
    /// How many values features have.
    const fn features(&self) -> usize {
        self.items.saturating_mul(self.rows).saturating_mul(self.channels)
    }

    /// How many values sums have.
    const fn sums(&self) -> usize {
        self.items.saturating_mul(self.count).saturating_mul(self.channels)
    }

    /// How many rows are named.
    const fn places(&self) -> usize {
        self.items.saturating_mul(self.count).saturating_mul(self.k)
    }

    /// Refuses more than kernels can count, and arrays of other sizes, of each of which there are the
    /// one it has and the one it is to have.
    fn check(&self, weights: Option<usize>, index: usize, arrays: [(Argument, usize, usize); 2]) -> Result<()> {
        let most = sort::MAX_LEN as usize;
        ensure(self.places() <= most, Argument::Index, format_args!("at most {most} rows"), self.places())?;
        ensure(self.k > 0 || self.count == 0, Argument::Index, "a neighbour of each sum at least", 0)?;
        ensure(weights.is_some() || self.k <= 1, Argument::Weights, "weights of several neighbours", "None")?;
        let lines = self.items.saturating_mul(self.rows.max(self.count).max(self.channels));
        ensure(lines < i32::MAX as usize, Argument::Features, "fewer than 2^31 - 1 rows", lines)?;
        let values = self.features().max(self.sums());
        ensure(values.div_ceil(BLOCK as usize) < 1 << 31, Argument::Features, "fewer than 2^39 values", values)?;
        let of_places = [(Argument::Index, Some(index)), (Argument::Weights, weights)];
        let of_places = of_places.into_iter().filter_map(|(argument, len)| Some((argument, len?, self.places())));
        for (argument, got, wanted) in arrays.into_iter().chain(of_places) {
            ensure(got == wanted, argument, format_args!("{wanted} values"), got)?;
        }
        Ok(())
    }

    /// Where the value of a channel of a row is, of so many rows of an item.
    #[inline(always)]
    const fn at(&self, [item, channel, row]: [usize; 3], len: usize) -> usize {
        if self.channels_last {
            (item * len + row) * self.channels + channel
        } else {
            (item * self.channels + channel) * len + row
        }
    }

    /// Fills an array with `one` of the item, channel and row of each value, of so many rows of an item.
    fn fill<O: Send>(&self, out: &mut [O], len: usize, work: usize, one: impl Fn([usize; 3]) -> O + Sync) {
        let (slow_len, fast_len) = if self.channels_last { (len, self.channels) } else { (self.channels, len) };
        blocks(out, &mut [], fast_len, work, |first, out, _| {
            for (line, out) in (first..).zip(out.chunks_mut(fast_len)) {
                let (item, slow) = (line / slow_len, line % slow_len);
                for (fast, out) in out.iter_mut().enumerate() {
                    *out = one(if self.channels_last { [item, fast, slow] } else { [item, slow, fast] });
                }
            }
        });
    }
}

/// A weighted value; itself where there are no weights.
#[inline(always)]
fn weighed<T: Scattered>(weights: Option<&[T::Wide]>, place: usize, value: T) -> T::Wide {
    weights.map_or(value.widen(), |weights| weights[place].times(value.widen()))
}

/// Adds up the weighted features of the rows that `index` `[items, count, k]` names, -1 for none.
///
/// ```
/// use pointmill::interop::{Gather, gather};
/// let of = Gather { items: 1, channels: 1, rows: 2, count: 1, k: 3, channels_last: false };
/// let mut out = [0.0f32];
/// gather(&[1.0, 3.0], Some(&[0.5, 0.25, 9.0]), &[0, 1, -1], of, &mut out)?;
/// assert_eq!(out, [1.25]);
/// # Ok::<(), pointmill::Error>(())
/// ```
///
/// # Errors
/// A number below -1 or of no row, arrays of other sizes, several neighbours without weights.
pub fn gather<T: Gathered, I: RowNumber>(
    features: &[T],
    weights: Option<&[T::Wide]>,
    index: &[I],
    of: Gather,
    out: &mut [T],
) -> Result<()> {
    let arrays = [(Argument::Features, features.len(), of.features()), (Argument::Out, out.len(), of.sums())];
    of.check(weights.map(<[_]>::len), index.len(), arrays)?;
    check(index, Some(of.rows))?;
    let row = |place: usize| usize::try_from(index[place].into()).ok();
    of.fill(out, of.count, of.sums().saturating_mul(of.k), |[item, channel, m]| {
        let first = (item * of.count + m) * of.k;
        let feature = |row: usize| features[of.at([item, channel, row], of.rows)];
        let Some(weights) = weights else { return row(first).map_or(T::narrow(T::Wide::ZERO), feature) };
        let sum = (first..first + of.k).fold(T::Wide::ZERO, |sum, place| {
            row(place).map_or(sum, |row| sum.plus(weighed(Some(weights), place, feature(row))))
        });
        T::narrow(sum.canonical())
    });
    Ok(())
}

/// The gradient of the features of [`gather`]: what each row gets of that of the sums, place after place.
///
/// # Errors
/// As there; out of memory.
pub fn gather_gradient<T: Gathered, I: RowNumber>(
    grad: &[T],
    weights: Option<&[T::Wide]>,
    index: &[I],
    of: Gather,
    out: &mut [T],
) -> Result<()> {
    let arrays = [(Argument::GradFeatures, grad.len(), of.sums()), (Argument::Out, out.len(), of.features())];
    of.check(weights.map(<[_]>::len), index.len(), arrays)?;
    check(index, Some(of.rows))?;
    let of_item = of.count * of.k;
    let keys = index.iter().enumerate().map(|(place, &row)| match row.into() {
        -1 => -1,
        row => (place / of_item * of.rows) as i64 + row,
    });
    let lists = RowLists::new(&memory::collect(keys)?, Some(of.items * of.rows))?;
    of.fill(out, of.rows, of.features().max(of.sums().saturating_mul(of.k)), |[item, channel, row]| {
        let places = lists.list(item * of.rows + row).iter().map(|&place| place as usize);
        let sum = places.fold(T::Wide::ZERO, |sum, place| {
            let at = of.at([item, channel, (place - item * of_item) / of.k], of.count);
            sum.plus(weighed(weights, place, grad[at]))
        });
        T::narrow(sum.canonical())
    });
    Ok(())
}

/// The gradient of the weights of [`gather`]: products of features and that of the sums, channel after channel.
///
/// # Errors
/// As there.
pub fn weights_gradient<T: Gathered, I: RowNumber>(
    grad: &[T],
    features: &[T],
    index: &[I],
    of: Gather,
    out: &mut [T::Wide],
) -> Result<()> {
    let arrays = [(Argument::GradFeatures, grad.len(), of.sums()), (Argument::Features, features.len(), of.features())];
    of.check(Some(out.len()), index.len(), arrays)?;
    check(index, Some(of.rows))?;
    blocks(out, &mut [], 1, of.places().saturating_mul(of.channels), |first, out, _| {
        for (place, out) in (first..).zip(out) {
            let (sum, item) = (place / of.k, place / of.k / of.count);
            *out = usize::try_from(index[place].into()).map_or(T::Wide::ZERO, |row| {
                let total = (0..of.channels).fold(T::Wide::ZERO, |total, channel| {
                    let feature = features[of.at([item, channel, row], of.rows)].widen();
                    let own = grad[of.at([item, channel, sum - item * of.count], of.count)].widen();
                    total.plus(feature.times(own))
                });
                total.canonical()
            });
        }
    });
    Ok(())
}
