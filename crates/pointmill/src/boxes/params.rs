//! Parameters of overlaps and of suppression.

use crate::{Argument, BoxOrigin, Result, ensure};
use pointmill_core::params::Params as _;
use pointmill_core::{names, params};

pub use pointmill_core::boxes::{BoxLayout, IouKind};
pub use pointmill_kernels::boxes::NmsMetric;

/// Parameters of overlaps.
///
/// ```
/// use pointmill::boxes::{IouKind, IouParams};
/// assert_eq!(IouParams::default().kind, IouKind::Bev);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IouParams {
    /// What is measured; default the footprints, seen from above.
    pub kind: IouKind,
    /// Which pairs [`BoxIou::iou`](super::BoxIou::iou) measures; default all.
    pub pairs: Pairs,
    /// Which point of a box its z is; default the centre of its bottom.
    pub origin: BoxOrigin,
}

/// Which pairs are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairs {
    /// Each box of the first array with each of the second.
    #[default]
    All,
    /// Each box with the box of the same row.
    Aligned,
}

names!(Pairs { All = "all", Aligned = "aligned" });

params! {
    /// Parameters of suppression.
    ///
    /// ```
    /// use pointmill::boxes::{NmsMetric, NmsParams};
    /// let params = NmsParams { metric: NmsMetric::Circle, threshold: 4.0, ..NmsParams::default() };
    /// assert!(params.validate().is_ok());
    /// let refused = NmsParams { threshold: 1.5, ..NmsParams::default() }.validate().unwrap_err();
    /// assert_eq!(refused.to_string(), "threshold: expected an overlap from 0 to 1, got 1.5");
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct NmsParams {
        /// Overlap of footprints, seen from above; overlap of volumes; or the squared distance of
        /// centres, seen from above, which suppresses where it is at most the threshold.
        pub metric: NmsMetric = NmsMetric::Bev;
        /// A greater overlap with a kept box suppresses, 0 to 1. With circles a squared distance of at
        /// most this, in square metres, suppresses.
        pub threshold: f32 = 0.5;
        /// Boxes with a lower score are no candidates; default all are.
        pub score_threshold: Option<f32> = None, if |least| least.is_none_or(f32::is_finite) => "a finite score";
        /// Most candidates of an item, the best ones; default all.
        pub pre_max: Option<u32> = None, if |most| most != Some(0) => "1 or more";
        /// Most boxes that an item keeps; default all.
        pub post_max: Option<u32> = None, if |most| most != Some(0) => "1 or more";
        /// Which point of a box its z is.
        pub origin: BoxOrigin = BoxOrigin::BottomCenter;
    }
}

impl NmsParams {
    /// Checks everything that does not depend on the boxes.
    ///
    /// # Errors
    /// A threshold out of range, a score threshold that is not finite, a maximum of 0.
    pub fn validate(&self) -> Result<()> {
        if self.metric == NmsMetric::Circle {
            let fits = self.threshold >= 0.0 && self.threshold.is_finite();
            ensure(fits, Argument::Threshold, "a finite squared distance of 0 m2 or more", self.threshold)?;
        } else {
            check_threshold(self.threshold, IouKind::Bev)?;
        }
        Ok(self.check()?)
    }
}

/// Refuses a threshold that no overlap of this kind can have.
pub(super) fn check_threshold(threshold: f32, kind: IouKind) -> Result<()> {
    let (least, expected) = match kind {
        IouKind::Giou => (-1.0, "a generalized overlap from -1 to 1"),
        IouKind::Bev | IouKind::Volume => (0.0, "an overlap from 0 to 1"),
    };
    ensure((least..=1.0).contains(&threshold), Argument::Threshold, expected, threshold)
}
