//! Pages of many sweeps, a frame each.

use crate::drive::WAY;
use crate::html::{Layer, Page, Paint};
use pointmill_core::{Aabb, PointCloud, Points, Pose};

type V3 = [f64; 3];

/// The most points that all sweeps of a page have, the most of one sweep of a drive, and the most voxels of all sweeps.
const MOST_POINTS: usize = 3_000_000;
const MOST_OF_SWEEP: usize = 10_000;
const MOST_VOXELS: usize = 1_000_000;
/// The sensor from above, its front along x; in metres.
const SENSOR: [V3; 5] = [[2.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [-0.4, 0.0, 0.0], [-1.0, -1.0, 0.0], [2.0, 0.0, 0.0]];
const SENSOR_COLOUR: [u8; 3] = [255, 110, 104];

/// A page of a drive: its sweeps, a frame each, the map, and the trajectory of the sensor.
///
/// **Shapes.** `sweeps` is about how many sweeps there will be; each keeps 10,000 points at most, and all together keep about 3,000,000. **Units and frames.** Metres, z up;
/// sweeps in the frame of the sensor. **Order and determinism, limits.** As [`Page`] and [`Layer`].
///
/// ```
/// use pointmill_core::{PointCloud, Pose};
/// use pointmill_view::DrivePage;
/// let mut drive = DrivePage::new(1);
/// drive.push("000000.bin", &PointCloud::new(vec![5.0, 1.0, -1.7, 0.5], 4)?, Some(3));
/// let page = drive.finish("1 sweep", &[[5.0, 1.0, -1.7]], &[Pose::IDENTITY]);
/// assert_eq!(page.frames(), 1);
/// # Ok::<(), pointmill_core::CloudError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DrivePage {
    page: Page,
    sweeps: Vec<Layer>,
    most: usize,
}

impl DrivePage {
    /// A page for about so many sweeps.
    pub fn new(sweeps: usize) -> Self {
        let most = (MOST_POINTS / sweeps.max(1)).clamp(1, MOST_OF_SWEEP);
        Self { page: Page::new("", Paint::Height), sweeps: Vec::new(), most }
    }

    /// Adds the next sweep, with a column of values such as the intensity. A sweep that could not be used has no points.
    pub fn push(&mut self, label: &str, cloud: &PointCloud, values: Option<usize>) {
        let frame = self.page.frame(label);
        self.sweeps.push(thinned("sweeps", cloud.points(), cloud.origin(), values, self.most).at(frame));
    }

    /// The page with the points of the map and the pose of each sweep.
    pub fn finish(self, title: &str, map: &[[f64; 3]], world_from_sensor: &[Pose]) -> Page {
        let mut page = Page { title: title.to_owned(), ..self.page };
        let trajectory: Vec<V3> = world_from_sensor.iter().map(Pose::translation).collect();
        page.push(Layer::points("map", map));
        for (sweep, pose) in self.sweeps.into_iter().zip(world_from_sensor) {
            page.push(sweep.moving(&[*pose]));
        }
        page.push(Layer::line("trajectory", &trajectory).colour(WAY));
        page.push(Layer::line("sensor", &SENSOR).colour(SENSOR_COLOUR).moving(world_from_sensor));
        page
    }
}

/// A page of inputs and their voxels, a frame for each input.
///
/// **Shapes.** `inputs` is about how many there will be; all together keep about 3,000,000 points and 1,000,000 voxels. **Units and frames.** Metres, z up.
/// **Order and determinism, limits.** As [`Page`] and [`Layer`]. Points outside of the range are not drawn.
///
/// ```
/// use pointmill_core::{Aabb, Points};
/// use pointmill_view::VoxelPage;
/// let mut page = VoxelPage::new("voxels of 0.2 m", 1);
/// let points = Points::new(&[5.0, 1.0, -1.7, 0.5, 5.1, 1.1, -1.6, 0.3], 4)?;
/// let mean = Points::new(&[5.05, 1.05, -1.65, 0.4], 4)?;
/// page.push("000000.bin", points, mean, [0.2; 3], Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]));
/// assert_eq!(page.page().frames(), 1);
/// # Ok::<(), pointmill_core::CloudError>(())
/// ```
#[derive(Clone, Debug)]
pub struct VoxelPage {
    page: Page,
    inputs: usize,
}

impl VoxelPage {
    /// A page for about so many inputs.
    pub fn new(title: &str, inputs: usize) -> Self {
        Self { page: Page::new(title, Paint::Height), inputs: inputs.max(1) }
    }

    /// The coordinates of all inputs are relative to this origin, in metres; zero by default.
    pub const fn about(&mut self, origin: [f64; 3]) {
        self.page.about(origin);
    }

    /// Adds an input and the means of its voxels; column 3 of both, if there is one, is the intensity.
    pub fn push(&mut self, label: &str, input: Points, means: Points, voxel_size: [f32; 3], range: Aabb) {
        let frame = self.page.frame(label);
        let most = |all: usize| (all / self.inputs).max(1);
        let inside: Vec<f32> =
            (0..input.len()).filter(|&i| range.contains(input.xyz(i))).flat_map(|i| input.row(i)).copied().collect();
        let column = |points: Points| (points.columns() > 3).then_some(3);
        let inside = Points::new(&inside, input.columns()).unwrap_or(input);
        let points = thinned("points", inside, [0.0; 3], column(inside), most(MOST_POINTS)).hidden().at(frame);
        // A little smaller than the voxel, so that neighbours show as two.
        let middle = |p: f64, k: usize| {
            let (low, size) = (f64::from(range.min[k]), f64::from(voxel_size[k]));
            low + (libm::floor((p - low) / size) + 0.5) * size
        };
        let (rows, values) = kept(means, [0.0; 3], column(means), most(MOST_VOXELS));
        let centres: Vec<V3> = rows.iter().map(|p| [0, 1, 2].map(|k| middle(p[k], k))).collect();
        let voxels = Layer::voxels("voxels", &centres, voxel_size.map(|v| 0.92 * v)).at(frame);
        self.page.push(values.iter().fold(voxels, |layer, values| layer.values(values)));
        self.page.push(points);
    }

    /// The page so far.
    pub const fn page(&self) -> &Page {
        &self.page
    }
}

/// Points about an origin with the values of a column, at most so many.
fn thinned(name: &str, points: Points, origin: V3, values: Option<usize>, most: usize) -> Layer {
    let (xyz, values) = kept(points, origin, values, most);
    values.iter().fold(Layer::points(name, &xyz), |layer, values| layer.values(values))
}

/// Every so many of the points, so that at most `most` are left, with their values.
fn kept(points: Points, origin: V3, values: Option<usize>, most: usize) -> (Vec<V3>, Option<Vec<f32>>) {
    let every = points.len().div_ceil(most).max(1);
    let rows = || (0..points.len()).step_by(every);
    let of = |column: usize| rows().map(|i| points.row(i).get(column).copied().unwrap_or(f32::NAN)).collect();
    let place = |i| {
        let p = points.xyz(i);
        [0, 1, 2].map(|k| origin[k] + f64::from(p[k]))
    };
    (rows().map(place).collect(), values.map(of))
}
