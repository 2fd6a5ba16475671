//! Normals of points, how rough their surroundings are, and their features.

use crate::icp::{Place4, Tree, load4, waiting_words, walk};
use crate::simt::*;
use pointmill_core::icp::nearest::{distance_of, index_of};
use pointmill_core::icp::neighbour_set::Within;
use pointmill_core::icp::neighbourhood::is_normal;
use pointmill_core::registration::feature::{BINS, VALUES, bins, scaled, value, weight};
use pointmill_core::registration::surface::{Offsets, normal_and_roughness};

/// Threads a block of the kernels here.
pub const SURFACE_BLOCK: u32 = 64;
const WAITING: u32 = waiting_words(SURFACE_BLOCK);
const HISTOGRAMS: u32 = VALUES as u32 * SURFACE_BLOCK;

/// The histogram of this thread.
#[derive(Clone, Copy)]
struct Histogram(Shared);

impl Histogram {
    #[inline(always)]
    fn new() -> Self {
        let of = Self(Shared::at(WAITING + thread_index()));
        for k in 0..VALUES {
            of.set(k, 0);
        }
        of
    }

    #[inline(always)]
    fn get(self, k: usize) -> u32 {
        self.0.get(k as u32 * SURFACE_BLOCK)
    }

    #[inline(always)]
    fn set(self, k: usize, value: u32) {
        self.0.set(k as u32 * SURFACE_BLOCK, value);
    }

    #[inline(always)]
    fn add(self, k: usize, value: u32) {
        self.set(k, self.get(k) + value);
    }
}

/// Arguments of [`Places`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PlacesArgs {
    /// The points.
    pub tree: Tree,
    /// The points by index.
    pub points: *const Place4,
    /// The radius of a feature.
    pub radius: f32,
    /// The square of the radius of a normal.
    pub near: f32,
    /// The key that neighbours are below.
    pub limit: u64,
    /// By index: the normal.
    pub normals: *mut Place4,
    /// By index: how rough it is.
    pub roughness: *mut f64,
}

kernel! {
    /// Normals and roughness. One thread a point.
    Places = "registration_places", block SURFACE_BLOCK, shared WAITING, cooperative true, carveout 60,
    fn(a: PlacesArgs) {
        let i = global_index();
        if i < a.tree.n {
            let (p, index) = load4(a.tree.points.add(i as usize));
            let (mut near, mut all) = (Offsets::default(), Offsets::default());
            let visit = |key: u64| {
                let q = load4(a.points.add(index_of(key) as usize)).0;
                if distance_of(key) <= a.near {
                    near.add(p, q, a.radius);
                }
                all.add(p, q, a.radius);
            };
            walk(&a.tree, p, &mut Within { limit: a.limit, visit }, Shared::at(0));
            let (n, roughness) = normal_and_roughness(&near, &all);
            *a.normals.add(index as usize) = [n[0], n[1], n[2], 0.0];
            *a.roughness.add(index as usize) = roughness;
        }
    }
}

/// Arguments of [`Simple`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SimpleArgs {
    /// The points.
    pub tree: Tree,
    /// The points by index.
    pub points: *const Place4,
    /// Their normals by index.
    pub normals: *const Place4,
    /// The key that neighbours are below.
    pub limit: u64,
    /// `[n, 33]`, by index.
    pub simple: *mut u32,
}

kernel! {
    /// The histogram of the pairs of a point with its neighbours. One thread a point.
    Simple = "registration_simple", block SURFACE_BLOCK, shared WAITING + HISTOGRAMS, cooperative true, carveout 60,
    fn(a: SimpleArgs) {
        let i = global_index();
        if i < a.tree.n {
            let (p, index) = load4(a.tree.points.add(i as usize));
            let normal = load4(a.normals.add(index as usize)).0;
            let (counts, mut pairs) = (Histogram::new(), 0);
            if is_normal(normal) {
                let visit = |key: u64| {
                    let j = index_of(key) as usize;
                    let (q, other) = (load4(a.points.add(j)).0, load4(a.normals.add(j)).0);
                    if let Some([x, y, z]) = bins(normal, other, [q[0] - p[0], q[1] - p[1], q[2] - p[2]]) {
                        counts.add(x, 1);
                        counts.add(y, 1);
                        counts.add(z, 1);
                        pairs += 1;
                    }
                };
                walk(&a.tree, p, &mut Within { limit: a.limit, visit }, Shared::at(0));
            }
            for k in 0..VALUES {
                *a.simple.add(index as usize * VALUES + k) = scaled(counts.get(k), pairs);
            }
        }
    }
}

/// Arguments of [`Features`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FeaturesArgs {
    /// The points.
    pub tree: Tree,
    /// The points by index.
    pub points: *const Place4,
    /// What [`Simple`] made.
    pub simple: *const u32,
    /// The indices of the points that get a feature.
    pub keys: *const u32,
    /// How many.
    pub len: u32,
    /// The radius of a feature.
    pub radius: f32,
    /// The key that neighbours are below.
    pub limit: u64,
    /// `[len, 33]`.
    pub features: *mut f32,
}

/// Features of a block of [`Features`].
pub const FEATURES_OF_BLOCK: u32 = SURFACE_BLOCK / WARP;
const FEATURE: u32 = VALUES as u32;
const _: () = assert!(VALUES == WARP as usize + 1);

kernel! {
    /// Features: weighted sums of the histograms of neighbours. One warp a feature: its lanes walk
    /// together and add a value each, and all of them the last one. (With one thread a feature the
    /// lanes of a warp found their neighbours in turn.)
    Features = "registration_features", block SURFACE_BLOCK, shared WAITING + FEATURES_OF_BLOCK * FEATURE, cooperative true, carveout 100,
    fn(a: FeaturesArgs) {
        let (feature, sums) = (block_index() * FEATURES_OF_BLOCK + warp(), Shared::at(WAITING + warp() * FEATURE));
        let (mut own, mut last) = (0, 0);
        if feature < a.len {
            let p = load4(a.points.add(*a.keys.add(feature as usize) as usize)).0;
            let visit = |key: u64| {
                let (weight, of) = (weight(distance_of(key), a.radius), a.simple.add(index_of(key) as usize * VALUES));
                own += weight * *of.add(lane() as usize);
                last += weight * *of.add(WARP as usize);
            };
            walk(&a.tree, p, &mut Within { limit: a.limit, visit }, Shared::at(0));
        }
        sums.set(lane(), own);
        sums.set(WARP, last);
        sync_warp();
        if feature < a.len {
            let mut k = lane();
            while k < FEATURE {
                let (mut total, first) = (0, k - k % BINS as u32);
                for bin in 0..BINS as u32 {
                    total += sums.get(first + bin);
                }
                *a.features.add((feature * FEATURE + k) as usize) = value(sums.get(k), total);
                k += WARP;
            }
        }
    }
}
