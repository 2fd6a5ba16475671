//! What a picture of boxes shows.

use pointmill_core::Points;

/// What a picture of boxes shows.
pub(super) struct RoiView<'a> {
    pub(super) points: Points<'a>,
    pub(super) boxes: &'a [[f32; 7]],
    pub(super) voxels: &'a [Option<(u32, u32)>],
    pub(super) out_size: [u32; 3],
}

impl RoiView<'_> {
    /// The box and voxel of a point, if there are such.
    pub(super) fn voxel(&self, i: usize) -> Option<(usize, u32)> {
        let (b, voxel) = self.voxels.get(i).copied().flatten()?;
        let voxels = self.out_size.iter().fold(1, |product: u64, &n| product.saturating_mul(u64::from(n)));
        ((b as usize) < self.boxes.len() && u64::from(voxel) < voxels).then_some((b as usize, voxel))
    }

    pub(super) fn colour(&self, voxel: u32) -> [u8; 3] {
        super::palette::colour(voxel, self.out_size)
    }
}
