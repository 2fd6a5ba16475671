//! Patches of a fixed number of rows.

use crate::device::{Buffer, Stream};
use crate::{Argument, Device, NamedArrays, Result, ensure, memory};
use pointmill_core::array::ArrayView;

/// Which rows the patches of attention hold.
///
/// Its named arrays, of i32: `pad`, `unpad` and `cu_seqlens`.
///
/// ```
/// use pointmill::sparse::Patches;
/// let patches = Patches::new(&[5], 2)?;
/// assert_eq!((patches.pad, patches.cu_seqlens), (vec![0, 1, 2, 3, 4, 3], vec![0, 2, 4, 6]));
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patches {
    /// `[P]`: the row of each place of the patches.
    pub pad: Vec<i32>,
    /// `[V]`: the place of each row.
    pub unpad: Vec<i32>,
    /// Where patches start, and P.
    pub cu_seqlens: Vec<i32>,
}

/// [`Patches`] on a device.
#[derive(Debug)]
pub struct DevicePatches {
    /// `[P]`: the row of each place of the patches.
    pub pad: Buffer<i32>,
    /// `[V]`: the place of each row.
    pub unpad: Buffer<i32>,
    /// Where patches start, and P.
    pub cu_seqlens: Buffer<i32>,
}

impl Patches {
    /// See [`patches`](super::patches()).
    ///
    /// # Errors
    /// As [`patches`](super::patches()).
    pub fn new(offsets: &[usize], patch_size: usize) -> Result<Self> {
        let fits = (1..1 << 30).contains(&patch_size);
        ensure(fits, Argument::PatchSize, "1 or more, fewer than 2^30", patch_size)?;
        ensure(offsets.is_sorted(), Argument::Offsets, "ascending ends of items", format_args!("{offsets:?}"))?;
        let rows = offsets.last().copied().unwrap_or(0);
        let counts = offsets.iter().scan(0, |start, &end| Some(end - std::mem::replace(start, end)));
        let padded = |count: usize| if count <= patch_size { count } else { count.next_multiple_of(patch_size) };
        let places = rows.saturating_add(offsets.len().saturating_mul(patch_size));
        let all = || counts.clone().map(padded).fold(0usize, usize::saturating_add);
        let few = rows < 1 << 30 && (places < 1 << 31 || all() < 1 << 31);
        ensure(few, Argument::Offsets, "fewer than 2^30 rows and 2^31 places", rows)?;
        let (mut pad, mut unpad, mut cu_seqlens) = (Vec::new(), Vec::new(), Vec::new());
        memory::room(&mut pad, all())?;
        memory::room(&mut unpad, rows)?;
        memory::room(&mut cu_seqlens, all() / patch_size + offsets.len() + 1)?;
        let mut row = 0;
        for count in counts.clone() {
            let (start, len) = (pad.len(), padded(count));
            // The last patch is filled with the rows before it that stand at the same places.
            let row_at = |place: usize| row + if place < count { place } else { place - patch_size };
            pad.extend((0..len).map(|place| row_at(place) as i32));
            unpad.extend((0..count).map(|place| (start + place) as i32));
            cu_seqlens.extend((start..start + len).step_by(patch_size).map(|place| place as i32));
            row += count;
        }
        cu_seqlens.push(pad.len() as i32);
        Ok(Self { pad, unpad, cu_seqlens })
    }

    /// A copy on a device.
    ///
    /// # Errors
    /// Out of memory, a lost device.
    pub fn upload(&self, stream: &Stream) -> Result<DevicePatches> {
        Ok(DevicePatches {
            pad: stream.upload(&self.pad)?,
            unpad: stream.upload(&self.unpad)?,
            cu_seqlens: stream.upload(&self.cu_seqlens)?,
        })
    }
}

impl NamedArrays for Patches {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        let view = |values| ArrayView::i32(&[<[i32]>::len(values)], values);
        vec![("pad", view(&self.pad)), ("unpad", view(&self.unpad)), ("cu_seqlens", view(&self.cu_seqlens))]
    }
}

/// Which rows the patches of attention hold, on a device.
pub(super) fn on_device(offsets: &[usize], patch_size: usize, device: &Device) -> Result<DevicePatches> {
    Patches::new(offsets, patch_size)?.upload(&device.stream()?)
}
