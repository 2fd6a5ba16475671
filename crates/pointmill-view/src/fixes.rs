//! Fixes of a sensor in a map: the status of each, how uncertain it is, and its rivals.

use crate::NdtEllipsoids;
use crate::framing::{ABOVE, spans};
use crate::scene::Layer;
use pointmill_core::Pose;

type V3 = [f64; 3];

/// The most rings and the most ellipses.
const RINGS: usize = 200;
const ELLIPSES: usize = 15;
/// The radius of a ring and of a middling ellipse, by the extent of the drive with its map.
const RING: f64 = 0.01;
/// How many times as large as they are ellipses may be drawn.
const FACTORS: [u32; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const COVARIANCE: [u8; 3] = [90, 190, 255];
/// The most cells of the map, which a phone can still turn, and their colour.
const CELLS: usize = 20_000;
const CELL: [u8; 3] = [62, 88, 112];
const RIVAL: [u8; 3] = [190, 240, 110];

/// What became of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveStatus {
    /// Its pose is a fix.
    Fix,
    /// It has no fix; its pose is the one that was expected.
    Rejected,
    /// It has no fix, and where the sensor is is not known.
    Lost,
}

impl DriveStatus {
    /// Its name and its colour; the three differ in brightness, too.
    const fn key(self) -> (&'static str, [u8; 3]) {
        match self {
            Self::Fix => ("fix", [255, 255, 255]),
            Self::Rejected => ("no fix: rejected", [255, 150, 50]),
            Self::Lost => ("no fix: lost", [225, 60, 150]),
        }
    }
}

/// A pose of a drive in a map.
///
/// ```
/// use pointmill_core::Pose;
/// use pointmill_view::{DriveFix, DriveScene, DriveStatus, NdtEllipsoids};
/// let covariance = Some([1e-4, 0.0, 0.0, 1e-4, 0.0, 4e-4]);
/// let fix = DriveFix { map_from_sensor: Pose::IDENTITY, status: DriveStatus::Fix, covariance };
/// let mut drive = DriveScene::new(0);
/// let cells = NdtEllipsoids { means: &[[5.0, 1.0, -1.7]], covariances: &[[0.3, 0.0, 0.0, 0.3, 0.0, 0.01]] };
/// drive.fixes(vec![fix], cells);
/// drive.rivals(Some(0.83), vec![([40.0, 2.0, 0.0], 0.61)]);
/// assert_eq!(drive.finish("1 fix", &[[5.0, 1.0, -1.7]], &[Pose::IDENTITY]).picture().width(), 1600);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveFix {
    /// The pose.
    pub map_from_sensor: Pose,
    /// What became of the scan.
    pub status: DriveStatus,
    /// The covariance of the position in the map: xx, xy, xz, yy, yz, zz in square metres.
    pub covariance: Option<[f64; 6]>,
}

/// The other places of a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rivals {
    /// The score of the fix; none where no place became one.
    pub(crate) best: Option<f64>,
    /// The places and their scores.
    pub(crate) places: Vec<(V3, f64)>,
}

impl Rivals {
    /// A cross at each place, smaller than a ring around a pose without a fix.
    pub(crate) fn layers(&self, around: &[V3]) -> Vec<Layer> {
        let highest = self.places.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
        let name = match (self.places.len(), self.best) {
            (n, Some(best)) => format!("rivals of the fix: {n}, best {highest:.2} of {best:.2}"),
            (n, None) => format!("places without a fix: {n}, best {highest:.2}"),
        };
        let reach = 0.6 * RING * extent(around.iter().copied());
        let arms = self.places.iter().flat_map(|([x, y, z], _)| {
            [1.0, -1.0].map(|side| [-1.0, 1.0].map(|end| [x + end * reach, y + end * side * reach, *z]))
        });
        arms.map(|arm| Layer::line(&name, &arm).colour(RIVAL).width(4.0)).collect()
    }
}

/// The larger side of the ground that most of some places cover, in metres.
fn extent(places: impl Iterator<Item = V3>) -> f64 {
    let all: Vec<V3> = places.collect();
    spans(&all, ABOVE, 0.01).into_iter().map(|[low, high]| high - low).fold(1.0, f64::max)
}

/// The cells of a map that are near fixes.
pub(crate) fn cells(map: NdtEllipsoids<'_>, is_near: impl Fn(&V3) -> bool) -> Layer {
    let near: Vec<_> = map.means.iter().zip(map.covariances).filter(|(mean, _)| is_near(mean)).collect();
    let (means, covariances): (Vec<V3>, Vec<[f64; 6]>) = evenly(&near, CELLS).map(|(mean, c)| (**mean, **c)).unzip();
    let shown = NdtEllipsoids { means: &means, covariances: &covariances };
    Layer::ellipsoids_by("cells, 2 sigma", shown, |_| CELL).colour(CELL).beneath()
}

/// The trajectory in the colours of the statuses, a ring around each pose without a fix, and some of
/// the covariances as ellipsoids. `places` are those of the map.
pub(crate) fn layers(fixes: &[DriveFix], places: &[V3]) -> Vec<Layer> {
    let at = |fix: &DriveFix| fix.map_from_sensor.translation();
    let extent = extent(places.iter().copied().chain(fixes.iter().map(at)));
    // Below the trajectory.
    let mut layers: Vec<Layer> = covariances(fixes, RING * extent).into_iter().collect();
    for pieces in fixes.chunk_by(|a, b| a.status == b.status && a.status != DriveStatus::Lost) {
        let (name, colour) = pieces[0].status.key();
        layers.push(Layer::line(name, &pieces.iter().map(at).collect::<Vec<_>>()).colour(colour).width(4.0));
    }
    for pair in fixes.windows(2).filter(|pair| pair[0].status != pair[1].status && pair[0].status != DriveStatus::Lost)
    {
        let (name, colour) = pair[1].status.key();
        layers.push(Layer::line(name, &[at(&pair[0]), at(&pair[1])]).colour(colour).width(4.0));
    }
    for fix in evenly(&fixes.iter().filter(|fix| fix.status != DriveStatus::Fix).collect::<Vec<_>>(), RINGS) {
        let ([x, y, z], (name, colour)) = (at(fix), fix.status.key());
        let around = |k: i32| {
            let (sin, cos) = libm::sincos(f64::from(k) * std::f64::consts::PI / 8.0);
            [x + RING * extent * cos, y + RING * extent * sin, z]
        };
        layers.push(Layer::line(name, &(0..=16).map(around).collect::<Vec<_>>()).colour(colour).width(2.5));
    }
    layers
}

/// Ellipsoids of two standard deviations, as many times as large as lets a middling one have about
/// this radius.
fn covariances(fixes: &[DriveFix], radius: f64) -> Option<Layer> {
    let known: Vec<(V3, [f64; 6])> =
        fixes.iter().filter_map(|fix| Some((fix.map_from_sensor.translation(), fix.covariance?))).collect();
    let shown: Vec<_> = evenly(&known, ELLIPSES).collect();
    let mut radii: Vec<f64> = shown.iter().map(|(_, c)| 2.0 * c[0].max(c[3]).sqrt()).filter(|r| *r > 0.0).collect();
    radii.sort_unstable_by(f64::total_cmp);
    let middling = *radii.get(radii.len() / 2)?;
    let factor = FACTORS.into_iter().rev().find(|factor| f64::from(*factor) * middling <= radius).unwrap_or(1);
    let square = f64::from(factor * factor);
    let (means, covariances): (Vec<V3>, Vec<[f64; 6]>) =
        shown.into_iter().map(|(mean, c)| (*mean, c.map(|v| square * v))).unzip();
    let times = if factor > 1 { format!(" x {factor}") } else { String::new() };
    let cells = NdtEllipsoids { means: &means, covariances: &covariances };
    Some(Layer::ellipsoids_by(&format!("covariance, 2 sigma{times}"), cells, |_| COVARIANCE).colour(COVARIANCE))
}

/// Some of many.
fn evenly<T>(all: &[T], most: usize) -> impl Iterator<Item = &T> {
    all.iter().step_by(all.len().div_ceil(most).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_those_near_fixes() {
        let means: Vec<V3> = (0..50_000).map(|k| [f64::from(k), 0.0, 0.0]).collect();
        let mut covariances = vec![[0.3, 0.0, 0.0, 0.3, 0.0, 0.01]; 50_000];
        covariances[3] = [f64::NAN; 6];
        let map = NdtEllipsoids { means: &means, covariances: &covariances };
        let layer = cells(map, |mean| mean[0] < 10.0);
        assert_eq!((layer.len(), layer.is_beneath, layer.shape), (9, true, crate::scene::Shape::Ball));
        assert!((15_000..=CELLS).contains(&cells(map, |_| true).len()));
        assert_eq!(cells(NdtEllipsoids { means: &[], covariances: &[] }, |_| true).len(), 0);
    }

    #[test]
    fn statuses_and_covariances_have_layers() {
        let fix = |k: u32, status, sigma: f64| DriveFix {
            map_from_sensor: Pose::from_translation([f64::from(k), 0.0, 0.0]),
            status,
            covariance: Some([sigma * sigma, 0.0, 0.0, sigma * sigma, 0.0, sigma * sigma]),
        };
        let mut fixes: Vec<DriveFix> = (0..101).map(|k| fix(k, DriveStatus::Fix, 0.01)).collect();
        fixes[40].status = DriveStatus::Rejected;
        fixes[41].status = DriveStatus::Lost;
        fixes[50].covariance = None;
        let layers = layers(&fixes, &[]);
        let count = |name: &str| layers.iter().filter(|layer| layer.name == name).map(Layer::len).collect::<Vec<_>>();
        // Until 40 and from 42 on; no line leads away from where the sensor was lost.
        assert_eq!(count("fix"), [40, 59]);
        assert_eq!(count("no fix: rejected"), [1, 2, 17]);
        assert_eq!(count("no fix: lost"), [1, 2, 17]);
        assert_eq!(count("covariance, 2 sigma x 50"), [15]);
        assert!(covariances(&[], 1.0).is_none() && super::layers(&[], &[]).is_empty());
        let places = vec![([9.0, 1.0, 0.0], 0.4), ([50.0, f64::NAN, 0.0], 0.614)];
        let rivals = Rivals { best: Some(0.83), places }.layers(&[[0.0; 3], [100.0, 0.0, 0.0]]);
        assert!(rivals.iter().all(|layer| layer.name == "rivals of the fix: 2, best 0.61 of 0.83"));
        assert_eq!(rivals.iter().map(Layer::len).collect::<Vec<_>>(), [2, 2, 0, 0]);
        let lone = Rivals { best: None, places: vec![([0.0; 3], 0.2)] }.layers(&[]);
        assert_eq!(lone[0].name, "places without a fix: 1, best 0.20");
        assert!(Rivals::default().layers(&[]).is_empty());
        let odd = [fix(0, DriveStatus::Fix, f64::NAN), fix(1, DriveStatus::Lost, f64::INFINITY)];
        super::layers(&odd, &[[f64::NAN; 3]]);
    }
}
