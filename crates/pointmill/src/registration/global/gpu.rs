//! The work where kernels run.

mod thin;

pub(super) use thin::thinned;

use super::types::{Limit, Limits, Probe, Radii};
use crate::device::{Buffer, Stream};
use crate::icp::{Searched, Searcher};
use crate::{Result, memory};
use pointmill_core::icp::nearest;
use pointmill_core::registration::feature::VALUES;
use pointmill_core::registration::pose::Agreement;
use pointmill_core::registration::{Match, PART};
use pointmill_core::rigid::Rigid;
use pointmill_kernels::icp::Place4;
use pointmill_kernels::registration as kernels;
use pointmill_kernels::registration::{
    BLOCK, FEATURES_OF_BLOCK, NONE, QUERIES_OF_BLOCK, SURFACE_BLOCK, StoredAgreement,
};

/// A match as numbers.
type MatchWords = [f32; 6];

/// The points around each point.
#[derive(Debug)]
pub(super) struct Surroundings<'a> {
    stream: &'a Stream,
    on: Searched<'a>,
    radii: Radii,
    normals: Buffer<Place4>,
}

impl<'a> Surroundings<'a> {
    pub(super) fn new(searcher: &'a Searcher, on: Searched<'a>, radii: Radii) -> Result<Self> {
        let stream = searcher.stream();
        Ok(Self { stream, on, radii, normals: stream.alloc(on.points.len())? })
    }

    /// The normal of each point, and how rough its surroundings are.
    pub(super) fn places(&mut self) -> Result<Vec<([f32; 3], f64)>> {
        let len = self.on.points.len();
        let mut roughness = self.stream.alloc::<f64>(len)?;
        // A point that is not finite is in no tree.
        self.normals.fill_words(0, 4 * len)?;
        roughness.fill_words(0, 2 * len)?;
        let args = kernels::PlacesArgs {
            tree: self.on.tree,
            points: self.on.points.pointer(),
            radius: self.radii.feature as f32,
            near: self.radii.near(),
            limit: nearest::limit(self.radii.feature),
            normals: self.normals.pointer(),
            roughness: roughness.pointer(),
        };
        if self.on.tree.n > 0 {
            // SAFETY: the tree has points, and there is room for each.
            unsafe { self.stream.launch::<kernels::Places>(self.on.tree.n.div_ceil(SURFACE_BLOCK), args) }?;
        }
        let (normals, roughness) = (self.normals.read(len)?, roughness.read(len)?);
        memory::collect(normals.iter().zip(roughness).map(|(n, roughness)| ([n[0], n[1], n[2]], roughness)))
    }

    /// The features of some points.
    pub(super) fn features(&self, keys: &[u32]) -> Result<FeatureTable> {
        let len = keys.len() as u32;
        let features = self.stream.alloc(keys.len() * VALUES)?;
        if len == 0 {
            return Ok(FeatureTable { features, len });
        }
        let (simple, keys) = (self.stream.alloc(self.on.points.len() * VALUES)?, self.stream.upload(keys)?);
        let (points, limit) = (self.on.points.pointer(), nearest::limit(self.radii.feature));
        let counting = kernels::SimpleArgs {
            tree: self.on.tree,
            points,
            normals: self.normals.pointer(),
            limit,
            simple: simple.pointer(),
        };
        let adding = kernels::FeaturesArgs {
            tree: self.on.tree,
            points,
            simple: simple.pointer(),
            keys: keys.pointer(),
            len,
            radius: self.radii.feature as f32,
            limit,
            features: features.pointer(),
        };
        // SAFETY: keys are rows of points of the tree; there is room for each.
        unsafe {
            self.stream.launch::<kernels::Simple>(self.on.tree.n.div_ceil(SURFACE_BLOCK), counting)?;
            self.stream.launch::<kernels::Features>(len.div_ceil(FEATURES_OF_BLOCK), adding)?;
        }
        Ok(FeatureTable { features, len })
    }
}

/// Features.
#[derive(Debug)]
pub(super) struct FeatureTable {
    features: Buffer<f32>,
    len: u32,
}

impl FeatureTable {
    /// Of each row of this table the nearest row of `other`.
    pub(super) fn nearest_of(&self, other: &Self) -> Result<Vec<Option<u32>>> {
        let stream = self.features.stream();
        let nearest = stream.alloc(self.len as usize)?;
        let args = kernels::NearestFeatureArgs {
            queries: self.features.pointer(),
            len: self.len,
            features: other.features.pointer(),
            n: other.len,
            nearest: nearest.pointer(),
        };
        if self.len > 0 {
            // SAFETY: so many rows, and room for a number each.
            unsafe { stream.launch::<kernels::NearestFeature>(self.len.div_ceil(QUERIES_OF_BLOCK), args) }?;
        }
        memory::collect(nearest.read(self.len as usize)?.into_iter().map(|row| Some(row).filter(|&row| row != NONE)))
    }
}

/// The matches of a graph, each with its best neighbours.
#[derive(Debug)]
pub(super) struct Cores {
    matches: Buffer<MatchWords>,
    len: u32,
    best: Buffer<u64>,
    scores: Buffer<u32>,
}

impl Cores {
    /// Of at least one match.
    pub(super) fn new(stream: &Stream, matches: &[Match], limits: &Limits) -> Result<Self> {
        let (len, words) = (matches.len() as u32, matches.len().div_ceil(32) as u32);
        let matches: Buffer<MatchWords> = stream.upload(bytemuck::cast_slice(matches))?;
        let rows = stream.alloc((len * words) as usize)?;
        let (best, scores) = (stream.alloc(len as usize * PART)?, stream.alloc(len as usize)?);
        let joining = kernels::JoinArgs {
            matches: matches.pointer().cast_const().cast(),
            len,
            words,
            tolerance: limits.tolerance,
            shortest: limits.shortest,
            rows: rows.pointer(),
        };
        let choosing =
            kernels::BestArgs { rows: rows.pointer(), len, words, best: best.pointer(), scores: scores.pointer() };
        // SAFETY: room was made for all rows; there are no more matches than features of a cloud.
        unsafe {
            stream.launch::<kernels::Join>((len * words).div_ceil(BLOCK), joining)?;
            stream.launch::<kernels::Best>(len, choosing)?;
        }
        Ok(Self { matches, len, best, scores })
    }

    /// The number of neighbours that each match has in common with its sixth; 0 where it has fewer.
    pub(super) fn scores(&self) -> Result<Vec<u32>> {
        self.scores.read(self.len as usize)
    }

    /// The pose of each seed.
    pub(super) fn agree(&self, seeds: &[u32], width: f64) -> Result<Vec<Agreement>> {
        if seeds.is_empty() {
            return Ok(Vec::new());
        }
        let stream = self.matches.stream();
        let (num_seeds, seeds) = (seeds.len() as u32, stream.upload(seeds)?);
        let out: Buffer<StoredAgreement> = stream.alloc(seeds.len())?;
        let args = kernels::AgreeArgs {
            matches: self.matches.pointer().cast_const().cast(),
            len: self.len,
            seeds: seeds.pointer(),
            best: self.best.pointer(),
            width,
            out: out.pointer(),
        };
        // SAFETY: seeds and their neighbours are matches; there is room for each.
        unsafe { stream.launch::<kernels::Agree>(num_seeds, args) }?;
        memory::collect(out.read(seeds.len())?.into_iter().map(|stored| stored.0))
    }
}

/// How many of the probes are seen, and met, at each pose.
pub(super) fn counts(
    probes: &Buffer<Probe4>,
    poses: &[Rigid],
    surface: (&Searched<'_>, Limit),
    rough: (&Searched<'_>, Limit),
) -> Result<Vec<[u32; 2]>> {
    let (stream, len, num_poses) = (probes.stream(), probes.len() as u32, poses.len() as u32);
    let mut counts: Buffer<u32> = stream.alloc(2 * poses.len())?;
    counts.fill_words(0, 2 * poses.len())?;
    if len > 0 && num_poses > 0 {
        let poses: Vec<[f64; 12]> = memory::collect(poses.iter().map(words))?;
        let poses = stream.upload(&poses)?;
        let args = kernels::OverlapsArgs {
            probes: probes.pointer(),
            len,
            poses: poses.pointer().cast_const().cast(),
            num_poses,
            surface: surface.0.tree,
            rough: rough.0.tree,
            seen: nearest::limit(surface.1),
            met: nearest::limit(rough.1),
            counts: counts.pointer(),
        };
        // SAFETY: so many probes and poses; the trees are of clouds that the caller holds.
        unsafe { stream.launch::<kernels::Overlaps>(num_poses * len.div_ceil(kernels::OVERLAPS_BLOCK), args) }?;
        return memory::collect(counts.read(2 * poses.len())?.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
    }
    memory::filled(poses.len(), [0; 2])
}

/// Points that are looked at, on the device.
pub(super) type Probe4 = Place4;

/// Copies probes to the device.
pub(super) fn probes(stream: &Stream, probes: &[Probe]) -> Result<Buffer<Probe4>> {
    let places: Vec<Place4> = memory::collect(probes.iter().map(|p| [p[0], p[1], p[2], 0.0]))?;
    stream.upload(&places)
}

fn words(pose: &Rigid) -> [f64; 12] {
    let (r, t) = (pose.rotation.as_flattened(), pose.translation);
    std::array::from_fn(|k| if k < 9 { r[k] } else { t[k - 9] })
}
