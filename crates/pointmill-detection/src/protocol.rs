//! Parameters: whose rules an evaluation follows, and how much memory it takes.

use pointmill_core::names;
use pointmill_io::Limits;

/// Whose rules an evaluation follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// KITTI objects, 40 recalls: the benchmark since 2019.
    #[default]
    KittiR40,
    /// KITTI objects, 11 recalls.
    KittiR11,
    /// nuScenes' detection task, configuration `detection_cvpr_2019`.
    NuScenes,
    /// Argoverse 2's detection task, without pruning to the region of interest.
    Argoverse2,
}
names!(Protocol { KittiR40 = "kitti", KittiR11 = "kitti-r11", NuScenes = "nuscenes", Argoverse2 = "av2" });

/// Why a box does not count by the rules of a protocol.
pub(crate) type Reason = &'static str;

/// What [`evaluate`](crate::evaluate) does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetectionParams {
    /// Whose rules it follows.
    pub protocol: Protocol,
    /// The most bytes of memory beside the boxes, which is linear in them however many overlap; default
    /// 16 GiB, `None` for any number.
    pub max_memory: Option<u64>,
}

impl Default for DetectionParams {
    fn default() -> Self {
        Self { protocol: Protocol::default(), max_memory: Limits::default().max_memory }
    }
}
