//! What a picture of boxes shows.

use pointmill_core::Points;

/// What a picture of boxes shows.
pub(crate) struct RoiView<'a> {
    pub(crate) points: Points<'a>,
    pub(crate) boxes: &'a [[f32; 7]],
    pub(crate) voxels: &'a [Option<(u32, u32)>],
    pub(crate) out_size: [u32; 3],
}

impl RoiView<'_> {
    /// The box and voxel of a point, if there are such.
    pub(crate) fn voxel(&self, i: usize) -> Option<(usize, u32)> {
        let (b, voxel) = self.voxels.get(i).copied().flatten()?;
        let voxels = self.out_size.iter().fold(1, |product: u64, &n| product.saturating_mul(u64::from(n)));
        ((b as usize) < self.boxes.len() && u64::from(voxel) < voxels).then_some((b as usize, voxel))
    }

    pub(crate) fn colour(&self, voxel: u32) -> [u8; 3] {
        super::palette::colour(voxel, self.out_size)
    }
}
