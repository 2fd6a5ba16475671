//! The drive: a spinning sensor on a car in the street.

use crate::hash::{self, Stream};
use crate::shape::{Body, Hit, Ray};
use crate::world::{Scene, World};
use pointmill_core::PointCloud;

/// Height of the sensor above the ground, metres: that of the cars of the KITTI data set.
pub const SENSOR_HEIGHT: f64 = 1.73;

/// How a drive is made.
///
/// ```
/// use pointmill_synth::DriveParams;
/// let params = DriveParams { seed: 7, sweeps: 3, ..DriveParams::default() };
/// assert_eq!((params.beams, params.azimuth_steps), (64, 2000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveParams {
    /// What is driven through; default the street.
    pub scene: Scene,
    /// Which houses, traffic and noise; default 0.
    pub seed: u64,
    /// Turns of the sensor; default 10.
    pub sweeps: usize,
    /// Beams, from -24.8 to +2.0 degrees: the upper half dense, the lower half wide; default 64, 2
    /// to 1,024.
    pub beams: usize,
    /// Firings a turn; default 2,000, 1 to 100,000.
    pub azimuth_steps: usize,
    /// Turns a second in Hz; default 10.
    pub rate_hz: f64,
    /// Speed of the car in m/s; default 10.
    pub speed: f64,
    /// Range beyond which nothing comes back, in metres; default 120, at most 1,000.
    pub max_range: f64,
    /// Standard deviation of the range in metres; default 0.015. The noise never exceeds 3.47 times
    /// this.
    pub range_noise: f64,
    /// Factor on the share of rays that are lost; default 1, 0 for none.
    pub dropout: f64,
    /// Whether the car's own motion is taken out of a sweep; default true. See [`Drive::sweep`].
    pub motion_compensated: bool,
}

impl Default for DriveParams {
    fn default() -> Self {
        Self {
            scene: Scene::Street,
            seed: 0,
            sweeps: 10,
            beams: 64,
            azimuth_steps: 2000,
            rate_hz: 10.0,
            speed: 10.0,
            max_range: 120.0,
            range_noise: 0.015,
            dropout: 1.0,
            motion_compensated: true,
        }
    }
}

/// A drive of a car with a 64-beam sensor through a [`Scene`]: a street of houses, parked and
/// moving cars, people, trees, lamps and junctions, a way round a block, or a tunnel.
///
/// Sweeps are independent of each other: any of them can be made alone, in any order, on any
/// thread.
///
/// **Determinism.** A sweep is a function of the parameters and its index, the same bits on every
/// machine: the arithmetic is IEEE `+ - * /` and square root in a fixed order, the trigonometry and
/// logarithm are those of the `libm` crate, and the random numbers are hashes of (seed, sweep,
/// ray).
///
/// ```
/// use pointmill_synth::{Drive, DriveParams};
/// let drive = Drive::new(DriveParams { azimuth_steps: 200, ..DriveParams::default() });
/// let sweep = drive.sweep(3);
/// assert_eq!((drive.len(), sweep.columns()), (10, 6));
/// assert!(sweep.len() > 10_000);
/// assert_eq!(sweep, drive.sweep(3));
/// ```
#[derive(Clone, Debug)]
pub struct Drive {
    params: DriveParams,
    /// Cosine and sine of each beam's elevation, the lowest beam first.
    beams: Vec<[f64; 2]>,
    world: World,
}

/// Where the sensor is: position and heading in the world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SensorPose {
    pub(crate) at: [f64; 3],
    pub(crate) heading: [f64; 2],
}

impl SensorPose {
    /// A point of the world in the sensor's frame.
    pub(crate) fn local(&self, p: [f64; 3]) -> [f64; 3] {
        let [c, s] = self.heading;
        let [x, y] = rotate([c, -s], [p[0] - self.at[0], p[1] - self.at[1]]);
        [x, y, p[2] - self.at[2]]
    }
}

impl Drive {
    /// Lays out the scene.
    ///
    /// # Panics
    /// If a parameter is outside the limits said there, a rate is not positive, a value is not
    /// finite, or the drive is longer than 100 km or 100,000 s.
    pub fn new(params: DriveParams) -> Self {
        let p = &params;
        assert!((2..=1024).contains(&p.beams), "beams: expected 2 to 1024, got {}", p.beams);
        let steps = p.azimuth_steps;
        assert!((1..=100_000).contains(&steps), "azimuth_steps: expected 1 to 100000, got {steps}");
        assert!(p.rate_hz.is_finite() && p.rate_hz > 0.0, "rate_hz: expected > 0 Hz, got {}", p.rate_hz);
        assert!(p.speed.is_finite() && p.speed >= 0.0, "speed: expected >= 0 m/s, got {}", p.speed);
        let range = p.max_range;
        assert!(range > 0.0 && range <= 1000.0, "max_range: expected above 0 to 1000 m, got {range}");
        assert!(p.range_noise.is_finite() && p.dropout.is_finite(), "range_noise, dropout: expected finite values");
        let seconds = p.sweeps as f64 / p.rate_hz;
        let length = p.speed * seconds;
        // Everything in the scene is laid out at once, and the oncoming traffic of all that time.
        assert!(
            length <= 1e5 && seconds <= 1e5,
            "drive: expected at most 100 km and 100000 s, got {length} m, {seconds} s"
        );
        let world = World::new(p.scene, p.seed, length, seconds, p.max_range);
        Self { params, beams: elevations(p.beams), world }
    }

    /// The number of sweeps.
    pub const fn len(&self) -> usize {
        self.params.sweeps
    }

    /// Whether there is no sweep.
    pub const fn is_empty(&self) -> bool {
        self.params.sweeps == 0
    }

    /// The parameters the drive was made with.
    pub const fn params(&self) -> &DriveParams {
        &self.params
    }

    /// The pose of the sensor at the start of sweep `i`: rows of a 4 x 4 matrix that takes points
    /// of the sensor's frame to the world's, metres.
    ///
    /// Sensor frame: x forward, y left, z up, origin in the sensor. World: x along the road at the
    /// start, z = 0 the mean ground.
    pub fn world_from_sensor(&self, i: usize) -> [[f64; 4]; 4] {
        self.world_from_sensor_at(i as f64 / self.params.rate_hz)
    }

    /// When the pose of sweep `i` is taken, in seconds since the start of the drive: at the start of
    /// the sweep, or in the middle of the times of its points where they are distorted.
    pub fn seconds(&self, i: usize) -> f64 {
        let p = &self.params;
        let last = (p.azimuth_steps - 1) as f64 / p.azimuth_steps as f64;
        let within = if p.motion_compensated { 0.0 } else { 0.5 * last };
        (i as f64 + within) / p.rate_hz
    }

    /// The pose of the sensor `seconds` after the start of the drive, as
    /// [`Drive::world_from_sensor`].
    pub fn world_from_sensor_at(&self, seconds: f64) -> [[f64; 4]; 4] {
        let SensorPose { at, heading: [c, s] } = self.pose(seconds);
        [[c, -s, 0.0, at[0]], [s, c, 0.0, at[1]], [0.0, 0.0, 1.0, at[2]], [0.0, 0.0, 0.0, 1.0]]
    }

    fn pose(&self, seconds: f64) -> SensorPose {
        let lane = self.world.lane(self.params.speed * seconds);
        let [x, y, z] = lane.at;
        SensorPose { at: [x, y, SENSOR_HEIGHT + z], heading: lane.heading }
    }

    /// Sweep `i`: `[N, 6]` rows of x, y, z, intensity, ring, time; about 120,000 of them.
    ///
    /// **Units and frames.** x, y, z in metres in the sensor's frame (x forward, y left, z up).
    /// With `motion_compensated` it is the frame at the sweep's start, so
    /// [`Drive::world_from_sensor`] of `i` takes every point to its place in the world; without, it
    /// is the frame at the point's own time, as the sensor measures, and the pose is
    /// [`Drive::world_from_sensor_at`] of `i / rate_hz + time`. Things that move are where they
    /// were at the point's own time, in both cases. Intensity is 0..1, in steps of 1/255. Ring 0 is
    /// the lowest beam. Time is in seconds since the sweep's start.
    ///
    /// **Order.** By firing, then by ring: time ascends, and ring ascends among points of one time.
    /// The turn starts behind the car and goes clockwise seen from above. A ray that hits nothing,
    /// or whose echo is lost, gives no row.
    ///
    /// # Panics
    /// If there is no sweep `i`.
    pub fn sweep(&self, i: usize) -> PointCloud {
        assert!(i < self.len(), "sweep: expected an index below {}, got {i}", self.len());
        let p = &self.params;
        let start = i as f64 / p.rate_hz;
        let first = self.pose(start);
        let bodies = self.world.near([first.at[0], first.at[1]], p.max_range + 2.0 * p.speed / p.rate_hz, start);
        let stream = Stream::new(p.seed, 1000 + i as u64);
        let mut rows = Vec::with_capacity(6 * self.beams.len() * p.azimuth_steps);
        let mut candidates = Vec::new();
        for step in 0..p.azimuth_steps {
            let turn = step as f64 / p.azimuth_steps as f64;
            let time = turn / p.rate_hz;
            let pose = self.pose(start + time);
            let azimuth = core::f64::consts::PI * (1.0 - 2.0 * turn);
            let beam = [libm::cos(azimuth), libm::sin(azimuth)];
            let level = rotate(pose.heading, beam);
            in_the_way(&mut candidates, &bodies, &pose, level, time, p.max_range);
            for (ring, &[c, s]) in self.beams.iter().enumerate() {
                let ray = Ray { origin: pose.at, dir: [c * level[0], c * level[1], s] };
                let noise = stream.bits((step * self.beams.len() + ring) as u64);
                let body = first_body(&ray, c, &candidates, &bodies, time, p.max_range, noise);
                let ground = self.world.ground(&ray, body.map_or(p.max_range, |hit| hit.t));
                let Some(hit) = ground.or(body) else { continue };
                let Some((range, intensity)) = self.echo(&hit, noise) else { continue };
                let own = [range * c * beam[0], range * c * beam[1], range * s];
                let xyz = if p.motion_compensated { moved(own, &pose, &first) } else { own };
                rows.extend(xyz.map(|v| v as f32));
                rows.extend([intensity, ring as f32, time as f32]);
            }
        }
        PointCloud::new(rows, 6).expect("rows of six values")
    }

    /// What the sensor makes of a hit: range and intensity, or nothing.
    fn echo(&self, hit: &Hit, noise: u64) -> Option<(f64, f32)> {
        let p = &self.params;
        let intensity = hit.material.intensity(hit.facing, hit.t);
        // Weak echoes are lost more often.
        let weak = 0.05 * (1.0 - intensity) * (hit.t / p.max_range);
        if hash::unit(hash::mix(noise ^ 1)) < p.dropout * (hit.material.loss + weak) {
            return None;
        }
        let range = hit.t + p.range_noise * hash::normal(hash::mix(noise ^ 2));
        let speckle = 1.0 + 0.06 * hash::normal(hash::mix(noise ^ 3));
        let level = (intensity * speckle * 255.0 + 0.5) as u8;
        (range > 0.0 && range <= p.max_range).then_some((range, f32::from(level) / 255.0))
    }
}

/// Cosine and sine of the beams' elevations, lowest first: an upper and a lower block as in a
/// Velodyne HDL-64E.
fn elevations(beams: usize) -> Vec<[f64; 2]> {
    let lower = beams / 2;
    let between = |a: f64, b: f64, k: usize, n: usize| if n < 2 { a } else { a + (b - a) * k as f64 / (n - 1) as f64 };
    (0..beams)
        .map(|k| {
            let degrees =
                if k < lower { between(-24.8, -8.83, k, lower) } else { between(-8.33, 2.0, k - lower, beams - lower) };
            let angle = degrees * (core::f64::consts::PI / 180.0);
            [libm::cos(angle), libm::sin(angle)]
        })
        .collect()
}

/// The vector `v` turned by a heading.
fn rotate([c, s]: [f64; 2], v: [f64; 2]) -> [f64; 2] {
    [c * v[0] - s * v[1], s * v[0] + c * v[1]]
}

/// A point of the frame `from` in the frame `to`.
fn moved(p: [f64; 3], from: &SensorPose, to: &SensorPose) -> [f64; 3] {
    let w = rotate(from.heading, [p[0], p[1]]);
    let [c, s] = to.heading;
    let [x, y] = rotate([c, -s], [w[0] + (from.at[0] - to.at[0]), w[1] + (from.at[1] - to.at[1])]);
    [x, y, p[2] + (from.at[2] - to.at[2])]
}

/// The bodies that the vertical plane of one firing meets, nearest first, each with a lower bound
/// of its level distance.
///
/// All beams of a firing share that plane, so a test of a circle against a line is paid once for 64
/// rays.
pub(crate) fn in_the_way(
    out: &mut Vec<(f64, u32)>,
    bodies: &[Body],
    pose: &SensorPose,
    level: [f64; 2],
    time: f64,
    max_range: f64,
) {
    out.clear();
    for (k, body) in bodies.iter().enumerate() {
        let x = body.centre[0] + body.velocity[0] * time - pose.at[0];
        let y = body.centre[1] + body.velocity[1] * time - pose.at[1];
        let along = x * level[0] + y * level[1];
        let beside = x * level[1] - y * level[0];
        if beside.abs() < body.reach && along > -body.reach && along - body.reach < max_range {
            out.push((along - body.reach, k as u32));
        }
    }
    out.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
}

/// The nearest of the bodies in the way. `level` is the cosine of the ray's elevation.
pub(crate) fn first_body(
    ray: &Ray,
    level: f64,
    candidates: &[(f64, u32)],
    bodies: &[Body],
    time: f64,
    max_range: f64,
    noise: u64,
) -> Option<Hit> {
    let mut limit = max_range;
    let mut best = None;
    for &(near, k) in candidates {
        if near > limit * level {
            break;
        }
        let noise = hash::mix(noise ^ (u64::from(k) << 32));
        if let Some(hit) = bodies[k as usize].hit(ray, time, noise)
            && hit.t < limit
        {
            limit = hit.t;
            best = Some(hit);
        }
    }
    best
}
