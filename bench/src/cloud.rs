//! Input clouds.

use pointmill::icp::{IcpParams, Metric, align};
use pointmill::{Device, PointCloud, Pose, Result, Rows};
use pointmill_synth::{Drive, DriveParams, RabbitScans, RoiScene};

/// A cloud and the voxels it is cut into.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What to call it.
    pub name: String,
    /// The points.
    pub cloud: PointCloud,
    /// Edge lengths of a voxel in metres.
    pub voxel_size: [f32; 3],
}

/// Clouds that need no file: one sweep of the synthetic drive at 0.2 m, and ten sweeps together,
/// five columns, at 0.075 m, thinned to the size that detectors see.
pub fn builtin() -> Vec<Sweep> {
    let drive = Drive::new(DriveParams::default());
    let first = drive.sweep(0);
    let columns = first.columns();
    let one: Vec<f32> = first.data().chunks_exact(columns).flat_map(|p| p[..4].to_vec()).collect();
    let mut ten = Vec::new();
    for i in 0..drive.len() {
        // Every fourth point, with the sweep's age in the fifth column, as merged clouds carry it.
        for p in drive.sweep(i).data().chunks_exact(columns).skip(i % 4).step_by(4) {
            ten.extend_from_slice(&[p[0], p[1], p[2], p[3], i as f32 * 0.1]);
        }
    }
    let cloud = |data, columns| PointCloud::new(data, columns).expect("whole rows");
    vec![
        Sweep { name: "synthetic sweep".into(), cloud: cloud(one, 4), voxel_size: [0.2; 3] },
        Sweep { name: "10 synthetic sweeps".into(), cloud: cloud(ten, 5), voxel_size: [0.075, 0.075, 0.2] },
    ]
}

/// `points` points: the cloud again and again, each point moved by up to a metre, so that no two
/// copies fall together.
pub fn replicated(sweep: &Sweep, points: usize) -> Sweep {
    let columns = sweep.cloud.columns();
    let mut data = Vec::with_capacity(points * columns);
    let mut state = 1u64;
    for p in sweep.cloud.data().chunks_exact(columns).cycle().take(points) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let jitter = |shift: u32| ((state >> shift) & 0xffff) as f32 / 32768.0 - 1.0;
        data.extend_from_slice(&[p[0] + jitter(16), p[1] + jitter(32), p[2] + jitter(48) * 0.1]);
        data.extend_from_slice(&p[3..]);
    }
    let cloud = PointCloud::new(data, columns).expect("whole rows");
    Sweep { name: format!("{} x {}", sweep.name, points / sweep.cloud.len().max(1)), cloud, ..sweep.clone() }
}

/// Boxes, points and features.
#[derive(Clone, Debug)]
pub struct RoiCase {
    /// What to call it.
    pub name: String,
    /// `[B, 7]`, `cz` of the bottom face.
    pub boxes: Vec<f32>,
    /// `[N, 3]`.
    pub points: Vec<f32>,
    /// `[N, channels]`.
    pub features: Vec<f32>,
    /// Values a feature has.
    pub channels: usize,
}

/// Scenes that need no file: what a second stage pools on a street, the same with all points in few
/// boxes, and many boxes in a whole sweep.
pub fn roi_scenes() -> Vec<RoiCase> {
    let scene = |name: &str, scene: RoiScene| RoiCase {
        name: name.into(),
        features: scene.features(16),
        boxes: scene.boxes,
        points: scene.points,
        channels: 16,
    };
    vec![
        scene("street, 128 boxes", RoiScene::street(128, 16_000, 0)),
        scene("crowded, 128 boxes", RoiScene::crowded(128, 16_000, 0)),
        scene("street, 512 boxes", RoiScene::street(512, 200_000, 0)),
    ]
}

/// A cloud whose cells become normal distributions.
#[derive(Clone, Debug)]
pub struct NdtCase {
    /// What to call it.
    pub name: String,
    /// `[N, 3]`.
    pub points: Vec<f32>,
}

/// Clouds that need no file, of 100 thousand, 1 million and 10 million points: a sweep; a street of
/// ten sweeps, 100 m apart, again and again; and the same in no order, as maps are.
pub fn ndt_maps() -> Vec<NdtCase> {
    let drive = Drive::new(DriveParams::default());
    let mut all = Vec::new();
    for i in 0..10 {
        let sweep = drive.sweep(i % drive.len());
        let x = 100.0 * i as f32;
        all.extend(sweep.data().chunks_exact(sweep.columns()).take(100_000).flat_map(|p| [p[0] + x, p[1], p[2]]));
    }
    let case = |name: &str, points: Vec<f32>| NdtCase { name: name.into(), points };
    let mut many = all.clone();
    let mut state = 1u64;
    for copy in 1..10 {
        for x in &all {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            many.push(x + ((state >> 40) as f32 / (1 << 24) as f32 - 0.5) * 0.1 * copy as f32);
        }
    }
    vec![
        case("sweep", all[..300_000].to_vec()),
        case("street, 1 M", all.clone()),
        case("street, 1 M, in no order", shuffled(all)),
        case("street, 10 M", many.clone()),
        case("street, 10 M, in no order", shuffled(many)),
    ]
}

/// Rows of three in another order.
fn shuffled(mut points: Vec<f32>) -> Vec<f32> {
    let mut state = 7u64;
    for i in (1..points.len() / 3).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let j = (state >> 33) as usize % (i + 1);
        (0..3).for_each(|k| points.swap(i * 3 + k, j * 3 + k));
    }
    points
}

/// Two clouds, and the pose between them.
#[derive(Clone, Debug)]
pub struct IcpCase {
    /// What to call it.
    pub name: String,
    /// The cloud that is moved.
    pub source: Vec<[f32; 3]>,
    /// The cloud that it is moved onto.
    pub target: Vec<[f32; 3]>,
    /// The pose of the passes that are called aligned.
    pub target_from_source: Pose,
}

impl IcpCase {
    /// Clouds whose pose is what generalized ICP finds from the identity.
    ///
    /// # Errors
    /// Clouds beyond the limits of alignment.
    pub fn found(name: String, source: Vec<[f32; 3]>, target: Vec<[f32; 3]>) -> Result<Self> {
        let [from, onto] = [&source, &target].map(|cloud| Rows::f32(cloud.as_flattened(), 3));
        let params = IcpParams { metric: Metric::Gicp, ..IcpParams::default() };
        let found = align(from?, onto?, &Pose::IDENTITY, &params, &Device::cpu())?;
        Ok(Self { name, source, target, target_from_source: found.target_from_source })
    }

    /// The source in the frame of the target.
    pub fn aligned(&self) -> Vec<[f32; 3]> {
        let moved = |p: &[f32; 3]| self.target_from_source.apply(p.map(f64::from)).map(|x| x as f32);
        self.source.iter().map(moved).collect()
    }
}

/// Pairs that need no file, of about 4 and 40 thousand points each: two scans of a small figure
/// from 32 degrees apart. The larger ones also with copies, in both clouds: a tenth and half of
/// their rows at zero, as sensors give where nothing came back, and each point twice.
pub fn icp_pairs() -> Vec<IcpCase> {
    let pair = |name: &str, scans: RabbitScans| IcpCase {
        name: name.into(),
        source: scans.source.points().iter_xyz().collect(),
        target: scans.target.points().iter_xyz().collect(),
        target_from_source: Pose::from_matrix(&scans.target_from_source).expect("the pose of the scans is rigid"),
    };
    let large = pair("rabbit, 40 k", RabbitScans::new(0));
    let changed = |name: &str, [source, target]: [Vec<[f32; 3]>; 2]| IcpCase {
        name: format!("{}, {name}", large.name),
        source,
        target,
        ..large.clone()
    };
    let both = [&large.source, &large.target];
    let zeros = [("10 % at zero", 9), ("50 % at zero", 1)]
        .map(|(name, every)| changed(name, both.map(|cloud| with_zeros(cloud, every))));
    let twice = changed("50 %, each point twice", both.map(|cloud| [&cloud[..], cloud].concat()));
    let small = pair("rabbit, 4 k", RabbitScans::with_spacing(0.001_85, 0));
    [small, large].into_iter().chain(zeros).chain([twice]).collect()
}

/// A point at zero in front of every so many.
fn with_zeros(points: &[[f32; 3]], every: usize) -> Vec<[f32; 3]> {
    points.chunks(every).flat_map(|part| std::iter::once([0.0; 3]).chain(part.iter().copied())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_the_copies_that_their_names_say() {
        let pairs = icp_pairs();
        let share = |cloud: &[[f32; 3]]| {
            let mut places: Vec<[u32; 3]> = cloud.iter().map(|p| p.map(f32::to_bits)).collect();
            places.sort_unstable();
            places.dedup();
            (
                1.0 - places.len() as f64 / cloud.len() as f64,
                cloud.iter().filter(|p| **p == [0.0; 3]).count() as f64 / cloud.len() as f64,
            )
        };
        let wanted = [(0.0, 0.0), (0.0, 0.0), (0.1, 0.1), (0.5, 0.5), (0.5, 0.0)];
        for (pair, wanted) in pairs.iter().zip(wanted) {
            for cloud in [&pair.source, &pair.target] {
                let got = share(cloud);
                assert!((got.0 - wanted.0).abs() < 1e-3 && (got.1 - wanted.1).abs() < 1e-3, "{}: {got:?}", pair.name);
            }
        }
        assert_eq!(pairs.len(), wanted.len());
    }
}
