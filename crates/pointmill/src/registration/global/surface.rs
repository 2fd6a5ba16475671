//! A cloud made ready: voxel means, normals, and the features of those that are no plane.

use super::params::RegisterParams;
use super::thin::Thin;
use super::types::Radii;
use super::{cpu, gpu};
use crate::centre::{aside, centre_of, reach_of};
use crate::icp::{Search, Searcher};
use crate::{Argument, Result, Rows, Stream, memory};
use pointmill_core::registration::MOST_FEATURES;
use pointmill_core::rigid::wide;

/// Points that are so many times as far from the middle as half of all are no part of a cloud's shape.
const TOGETHER: f64 = 256.0;

/// A cloud made ready.
#[derive(Debug)]
pub(super) struct Surface {
    pub(super) centre: [f64; 3],
    pub(super) usable: usize,
    pub(super) points: Vec<[f32; 3]>,
    pub(super) normals: Vec<[f32; 3]>,
    pub(super) searcher: Searcher,
    /// The points that are no plane at the radius of a feature, ascending.
    pub(super) rough: Vec<u32>,
    /// The points that have a feature, ascending.
    keys: Vec<u32>,
    features: Features,
}

/// The features, where the work is done.
#[derive(Debug)]
enum Features {
    Host(cpu::FeatureTable),
    Device(gpu::FeatureTable),
}

impl Surface {
    pub(super) fn new(cloud: &Rows<'_>, params: &RegisterParams, stream: &Stream, argument: Argument) -> Result<Self> {
        let Thin { points, centre, usable } = thinned(cloud, params.voxel_size, argument, stream)?;
        let searcher = Searcher::new(stream, &points[..], Search::Auto)?;
        // The search of upright clouds compares no features.
        let most = if params.level { 0 } else { MOST_FEATURES };
        let radii = Radii { normal: params.normal_radius(), feature: params.feature_radius() };
        let (normals, rough, keys, features) = if let Some(on) = searcher.on_device() {
            let mut around = gpu::Surroundings::new(&searcher, on, radii)?;
            let (normals, rough, keys) = standing_out(&around.places()?, most)?;
            let features = Features::Device(around.features(&keys)?);
            (normals, rough, keys, features)
        } else {
            let around = cpu::Surroundings::new(&points, &searcher, radii)?;
            let (normals, rough, keys) = standing_out(&around.places()?, most)?;
            let features = Features::Host(around.features(&normals, &keys)?);
            (normals, rough, keys, features)
        };
        Ok(Self { centre, usable, points, normals, searcher, rough, keys, features })
    }

    /// The points without a few that are so far away that turns would be measured by them.
    pub(super) fn together(&self) -> Result<Vec<[f32; 3]>> {
        let all = memory::collect(self.points.iter().map(|p| wide(*p)))?;
        let centre = centre_of(&all);
        let most = TOGETHER * reach_of(&all, centre)?;
        let mut together = Vec::new();
        memory::room(&mut together, self.points.len())?;
        together.extend(self.points.iter().filter(|p| aside(wide(**p), centre) <= most));
        Ok(together)
    }

    /// The points of the features of two clouds that are each the other's nearest, by source.
    pub(super) fn matches(source: &Self, target: &Self) -> Result<Vec<[[f32; 3]; 2]>> {
        let (forth, back) = match (&source.features, &target.features) {
            (Features::Host(source), Features::Host(target)) => {
                let forth = source.nearest_of(target)?;
                // Only what is some source's nearest can match.
                let back = target.nearest_of_some(&forth, source)?;
                (forth, back)
            }
            (Features::Device(source), Features::Device(target)) => {
                (source.nearest_of(target)?, target.nearest_of(source)?)
            }
            _ => unreachable!("both clouds are on one stream"),
        };
        let mut found = Vec::new();
        for (s, t) in forth.iter().enumerate() {
            if let Some(t) = t.map(|t| t as usize).filter(|&t| back[t] == Some(s as u32)) {
                let [s, t] = [source.keys[s], target.keys[t]].map(|key| key as usize);
                memory::push(&mut found, [source.points[s], target.points[t]])?;
            }
        }
        Ok(found)
    }
}

/// Of the normal and the roughness of each point: the normals, the points that are rough, and those
/// of them that get a feature, the `most` roughest; both ascending.
#[expect(clippy::type_complexity, reason = "three lists of one use")]
fn standing_out(places: &[([f32; 3], f64)], most: usize) -> Result<(Vec<[f32; 3]>, Vec<u32>, Vec<u32>)> {
    let normals = memory::collect(places.iter().map(|place| place.0))?;
    let mut rough: Vec<u32> = Vec::new();
    memory::room(&mut rough, places.iter().filter(|place| place.1 > 0.0).count())?;
    rough.extend((0..places.len() as u32).filter(|&i| places[i as usize].1 > 0.0));
    let mut keys = memory::collect(rough.iter().copied())?;
    if keys.len() > most {
        let by = |i: u32| places[i as usize].1;
        // The same keys as a sort of all would find.
        keys.select_nth_unstable_by(most, |&a, &b| by(b).total_cmp(&by(a)).then(a.cmp(&b)));
        keys.truncate(most);
        keys.sort_unstable();
    }
    Ok((normals, rough, keys))
}

/// The means of a checked cloud, where the work of the stream is done.
pub(super) fn thinned(cloud: &Rows<'_>, voxel: f64, argument: Argument, stream: &Stream) -> Result<Thin> {
    if !stream.device().is_cpu()
        && let Some(thin) = stream.in_order(&[cloud.stream()], || gpu::thinned(cloud, voxel, argument, stream))?
    {
        return Ok(thin);
    }
    Thin::new(cloud, voxel, argument)
}
