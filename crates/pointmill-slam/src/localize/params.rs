//! Parameters of localization, and their checks.

use crate::sampling::Sampling;
use pointmill::ndt::NdtAlignParams;
use pointmill::{Argument, Error, Result};
use pointmill_core::names;
use pointmill_core::ndt::NdtScore;

/// Edge in metres of the cells for which likelihoods are given.
const USUAL_UNIT: f64 = 2.0;

/// The greatest term of cells of so many metres.
pub(super) fn greatest_term(unit: f64) -> f64 {
    -NdtScore::new(unit).d1
}

/// How the uncertainty of a fix is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CovarianceMethod {
    /// From the second derivatives of the score at the fix.
    #[default]
    Laplace,
    /// As `laplace`, and in x and y also the spread of where alignments end that start 0.5 and 1 m
    /// beside the fix.
    MultiNdt,
    /// As `laplace`, and in x and y also the spread of the places 0.5 and 1 m beside the fix, each
    /// weighted by the exponential of its score.
    MultiNdtScore,
}

names!(CovarianceMethod { Laplace = "laplace", MultiNdt = "multi-ndt", MultiNdtScore = "multi-ndt-score" });

/// Parameters of localization: plain values. [`validate`](Self::validate) checks them, as
/// [`Localizer::new`](super::Localizer::new) does.
///
/// ```
/// use pointmill_slam::localize::LocalizerParams;
/// let yard = LocalizerParams { region: Some([0.0, 0.0, 80.0, 40.0]), ..LocalizerParams::default() };
/// yard.validate()?;
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct LocalizerParams {
    /// A scan is thinned out to one point of each cube of this edge in metres. Default 1.
    pub voxel_size: f64,
    /// Most points of a scan that are aligned; of more, every k-th is taken. Default 5,000.
    pub max_points: usize,
    /// Points nearer to the sensor than these metres are left out. Default 1.
    pub min_range: f64,
    /// Points farther from the sensor than these metres are left out. Default 100, below 2^20 times
    /// `voxel_size`.
    pub max_range: f64,
    /// Limits of each alignment. One that makes all its steps goes on once more.
    pub align: NdtAlignParams,
    /// The nearest voxel transformation likelihood that a fix has at least, for cells of 2 m; for
    /// others it is scaled as the score is. Default 2.3.
    pub min_nvtl: f64,
    /// Metres that a fix is from its prediction at most. Default 3.
    pub max_distance: f64,
    /// The share of the scan above the ground, where the map covers the place, that the map explains
    /// at least. Default 0.6.
    pub min_explained: f64,
    /// The share of the map that the scan confirms at least, of what it confirms or sees through.
    /// Default 0.7.
    pub min_confirmed: f64,
    /// The part by which a fix that no fix led to is better than the best other place at least; half
    /// of the share of the scan that the map does not cover is added. Default 0.1.
    pub min_margin: f64,
    /// So many scans in succession that are rejected end the tracking. Default 5, at least 1.
    pub max_rejections: usize,
    /// How the uncertainty is estimated. Default from the second derivatives.
    pub covariance: CovarianceMethod,
    /// The part of the score that a metre from a base pose costs; see
    /// [`Localizer::set_base`](super::Localizer::set_base). Default 0.01.
    pub regularization_scale: f64,
    /// Where a search looks: least x and y, then largest, in metres of the map. Default none:
    /// around the last pose, or the whole map.
    pub region: Option<[f64; 4]>,
    /// Half the edge in metres of the square around the last pose that is searched without a
    /// region. Default 20.
    pub search_radius: f64,
    /// Least and largest yaw in radians that a search looks at. Default a full turn.
    pub yaw_range: [f64; 2],
    /// Height of the sensor above the ground in metres, for searches. Default none: from the scan.
    pub sensor_height: Option<f64>,
}

impl Default for LocalizerParams {
    fn default() -> Self {
        Self {
            voxel_size: 1.0,
            max_points: 5000,
            min_range: 1.0,
            max_range: 100.0,
            align: NdtAlignParams::default(),
            min_nvtl: 2.3,
            max_distance: 3.0,
            min_explained: 0.6,
            min_confirmed: 0.7,
            min_margin: 0.1,
            max_rejections: 5,
            covariance: CovarianceMethod::default(),
            regularization_scale: 0.01,
            region: None,
            search_radius: 20.0,
            yaw_range: [-std::f64::consts::PI, std::f64::consts::PI],
            sensor_height: None,
        }
    }
}

impl LocalizerParams {
    /// How many metres from a prediction, or from a region to search, cells of the map can matter,
    /// in a map whose cells have edges of `resolution` metres: the range of the scan, how far an
    /// alignment goes, and the places beside it that are looked at. A map of tiles with this radius
    /// gives the poses of the whole map.
    pub fn reach(&self, resolution: f64) -> f64 {
        // An alignment that made all its steps goes on once more, and so does one of a place beside
        // it.
        let steps = 2.0 * self.align.max_iterations as f64 * self.align.step_size;
        self.max_range + 2.0 * (steps + self.max_distance) + 4.0 * resolution
    }

    /// The likelihood that a fix has at least in a map whose cells have edges of `resolution`
    /// metres: [`min_nvtl`](Self::min_nvtl), scaled as the score is.
    ///
    /// ```
    /// use pointmill_slam::localize::LocalizerParams;
    /// let least = |resolution| LocalizerParams::default().least_nvtl(resolution);
    /// assert!(least(2.0) == 2.3 && least(1.0) < 2.3);
    /// ```
    pub fn least_nvtl(&self, resolution: f64) -> f64 {
        self.min_nvtl * (greatest_term(resolution) / greatest_term(USUAL_UNIT))
    }

    /// Which points of a scan are aligned, before there are too many.
    pub(super) const fn sampling(&self) -> Sampling {
        Sampling {
            range: [self.min_range, self.max_range],
            cell_size: self.voxel_size,
            keypoint_cell_size: None,
            view: true,
        }
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn validate(&self) -> Result<()> {
        self.align.validate()?;
        let positive = |argument, x: f64| match x.is_finite() && x > 0.0 {
            true => Ok(()),
            false => Err(Error::argument(argument, "a finite number > 0", x)),
        };
        positive(Argument::VoxelSize, self.voxel_size)?;
        positive(Argument::MaxDistance, self.max_distance)?;
        positive(Argument::SearchRadius, self.search_radius)?;
        let from_zero = |argument, x: f64| match x.is_finite() && x >= 0.0 {
            true => Ok(()),
            false => Err(Error::argument(argument, "a finite number >= 0", x)),
        };
        from_zero(Argument::MinRange, self.min_range)?;
        from_zero(Argument::MinNvtl, self.min_nvtl)?;
        from_zero(Argument::Scale, self.regularization_scale)?;
        self.sampling().validate()?;
        for (argument, share) in [
            (Argument::MinExplained, self.min_explained),
            (Argument::MinConfirmed, self.min_confirmed),
            (Argument::MinMargin, self.min_margin),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::argument(argument, "0 to 1", share));
            }
        }
        for (argument, count) in
            [(Argument::MaxPoints, self.max_points), (Argument::MaxRejections, self.max_rejections)]
        {
            if count == 0 {
                return Err(Error::argument(argument, "at least 1", 0));
            }
        }
        if let Some(region) = self.region
            && !(region.iter().all(|x| x.is_finite()) && region[0] <= region[2] && region[1] <= region[3])
        {
            let expected = "finite metres x0, y0, x1, y1 with x0 <= x1 and y0 <= y1";
            return Err(Error::argument(Argument::Region, expected, format!("{region:?}")));
        }
        let [from, to] = self.yaw_range;
        if !(from.is_finite() && to.is_finite() && from <= to && from.abs() <= 10.0 && to.abs() <= 10.0) {
            let expected = "two ascending angles within 10 rad";
            return Err(Error::argument(Argument::YawRange, expected, format!("{:?}", self.yaw_range)));
        }
        match self.sensor_height {
            Some(height) if !height.is_finite() => {
                Err(Error::argument(Argument::SensorHeight, "finite metres", height))
            }
            _ => Ok(()),
        }
    }
}
