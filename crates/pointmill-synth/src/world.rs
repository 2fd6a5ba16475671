//! What a drive goes through.

use crate::block::Block;
use crate::props::Place;
use crate::road;
use crate::shape::{Body, Hit, Ray};
use crate::street::{self, Street};
use crate::tunnel::{self, Tunnel};

/// What a drive goes through.
///
/// ```
/// use pointmill_synth::{Drive, DriveParams, Scene};
/// let round = Drive::new(DriveParams { scene: Scene::Loop, sweeps: 301, azimuth_steps: 10, ..DriveParams::default() });
/// let [first, last] = [0, 299].map(|i| round.world_from_sensor(i));
/// let apart = (first[0][3] - last[0][3]).hypot(first[1][3] - last[1][3]);
/// assert!(apart < 3.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scene {
    /// A main street of gentle bends, with junctions.
    #[default]
    Street,
    /// Round a block of houses, left turn after left turn. Where the way is 180 to 600 m long it
    /// goes round once and ends where it began; the curves have a radius of 15 m.
    Loop,
    /// A straight tunnel of smooth walls: no fixed surface shows how far along it the car is.
    Tunnel,
}

pointmill_core::names!(Scene { Street = "street", Loop = "loop", Tunnel = "tunnel" });

/// The bodies, the ground and the way of a scene.
#[derive(Clone, Debug)]
pub(crate) enum World {
    Street(Street),
    Loop(Block),
    Tunnel(Tunnel),
}

impl World {
    /// The scene of this seed, for a car that drives `length` metres in `seconds` and sees `view`
    /// metres far.
    pub(crate) fn new(scene: Scene, seed: u64, length: f64, seconds: f64, view: f64) -> Self {
        match scene {
            Scene::Street => Self::Street(Street::new(seed, length, seconds, view)),
            Scene::Loop => Self::Loop(Block::new(seed, length)),
            Scene::Tunnel => Self::Tunnel(Tunnel::new(seed, length, seconds, view)),
        }
    }

    /// Where the car is after so many metres.
    pub(crate) fn lane(&self, along: f64) -> Place {
        match self {
            Self::Street(_) => street::lane(along),
            Self::Loop(block) => block.lane(along),
            Self::Tunnel(_) => tunnel::lane(along),
        }
    }

    /// All bodies whose circle from above comes within `view` metres of a point, at a time since
    /// the start of the drive.
    pub(crate) fn near(&self, at: [f64; 2], view: f64, time: f64) -> Vec<Body> {
        let mut out = match self {
            Self::Street(street) => return street.near(at, view, time),
            Self::Loop(block) => block.bodies(time),
            Self::Tunnel(tunnel) => tunnel.bodies(time),
        };
        out.retain(|body| body.is_within(at, view));
        out
    }

    /// Where a ray meets the ground, no further than `limit` metres.
    pub(crate) fn ground(&self, ray: &Ray, limit: f64) -> Option<Hit> {
        match self {
            Self::Street(_) => road::hit(ray, limit),
            Self::Loop(block) => block.ground(ray, limit),
            Self::Tunnel(_) => tunnel::ground(ray, limit),
        }
    }
}
