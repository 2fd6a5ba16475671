//! What downsampling leaves of a scan.

use pointmill::Error;
use pointmill::downsample::{Downsampled, Keep};
use pointmill_io::{Detail, IoError, Scan};
use std::collections::HashSet;
use std::hash::Hash;
use std::path::Path;

/// What is left of a scan, with all its columns. `keep` is what `thin` was made with.
///
/// # Errors
/// What reading a result from its device returns; memory that is refused.
pub fn thinned(scan: &Scan, thin: &Downsampled, keep: Keep) -> Result<Scan, Error> {
    let bytes = 4 * scan.cloud.data().len() as u64;
    let refused = |_: IoError| Error::OutOfMemory { device: "cpu".into(), bytes };
    if keep != Keep::Mean {
        return scan.select(&thin.kept_indices()?).map_err(refused);
    }
    let [splits, indices] = thin.lists()?;
    scan.with_means(&thin.read()?, [&splits, &indices]).map_err(refused)
}

/// Keeps the first point of each voxel of scans that come one after the other. A point that is not
/// finite is dropped.
///
/// Voxels begin at whole multiples of their edge. Memory grows with the voxels that have a point.
///
/// ```
/// use pointmill_core::PointCloud;
/// use pointmill_data::FirstOfVoxel;
/// let scan = pointmill_io::Scan::from(PointCloud::new(vec![0.1, 0.0, 0.0, 0.9, 0.0, 0.0, 1.0, 0.0, 0.0], 3)?);
/// let mut first = FirstOfVoxel::new(1.0, None);
/// assert_eq!(first.of("a.bin", &scan)?.cloud.data(), [0.1, 0.0, 0.0, 1.0, 0.0, 0.0]);
/// assert!(first.of("b.bin", &scan)?.cloud.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FirstOfVoxel {
    edge: f64,
    most: u64,
    /// The first voxel, which others are counted from.
    centre: Option<[f64; 3]>,
    /// Voxels that are fewer than [`NEAR`] from the first along each axis, and all others.
    near: HashSet<u64>,
    far: HashSet<[u64; 3]>,
}

/// So many voxels a number of 21 bits holds to either side.
const NEAR: f64 = (1 << 20) as f64;

impl FirstOfVoxel {
    /// With no point so far; `edge` is finite and positive. The voxels may take `max_memory` bytes.
    pub fn new(edge: f64, max_memory: Option<u64>) -> Self {
        let most = max_memory.unwrap_or(u64::MAX);
        Self { edge, most, centre: None, near: HashSet::new(), far: HashSet::new() }
    }

    /// The points of a scan whose voxels had no point before, in order; `name` is that of the scan
    /// in errors.
    ///
    /// # Errors
    /// More voxels than memory is allowed for; memory that is refused.
    pub fn of(&mut self, name: impl AsRef<Path>, scan: &Scan) -> Result<Scan, IoError> {
        let mut rows = Vec::new();
        rows.try_reserve_exact(scan.cloud.len()).map_err(|_| {
            let bytes = size_of::<u32>() * scan.cloud.len();
            IoError::OutOfMemory(Detail::new(name.as_ref(), "memory", format!("{bytes} bytes"), "a refusal"))
        })?;
        for (row, at) in (0..).zip(scan.iter_xyz()) {
            if at.iter().all(|x| x.is_finite()) && self.is_first(name.as_ref(), at)? {
                rows.push(row);
            }
        }
        scan.select(&rows)
    }

    /// Whether the voxel of a point had none before.
    fn is_first(&mut self, name: &Path, at: [f64; 3]) -> Result<bool, IoError> {
        // Zero is added, so that both zeros are one.
        let voxel = at.map(|x| (x / self.edge).floor() + 0.0);
        let centre = *self.centre.get_or_insert(voxel);
        let from_first = [0, 1, 2].map(|axis| voxel[axis] - centre[axis] + NEAR);
        // Beyond 2^53 a difference is no voxel's own.
        let is_near = from_first.iter().all(|v| (0.0..2.0 * NEAR).contains(v)) && voxel.iter().all(|v| v.abs() < 9e15);
        if is_near {
            let key = from_first.iter().fold(0, |key, v| key << 21 | *v as u64);
            return Ok(!self.near.contains(&key) && grown(&mut self.near, self.most, name)?.insert(key));
        }
        let key = voxel.map(f64::to_bits);
        Ok(!self.far.contains(&key) && grown(&mut self.far, self.most, name)?.insert(key))
    }
}

/// Room for one more voxel, within so many bytes.
fn grown<'a, T: Eq + Hash>(set: &'a mut HashSet<T>, most: u64, name: &Path) -> Result<&'a mut HashSet<T>, IoError> {
    if set.len() == set.capacity() {
        // A table doubles, seven eighths of it are used, and each place has a byte beside it.
        let bytes = (set.capacity().max(4) as u64 * 16 / 7).saturating_mul(size_of::<T>() as u64 + 1);
        let detail = |wanted: String, got: String| Detail::new(name, "memory of voxels", wanted, got);
        if bytes > most {
            let wanted = format!("at most {most} bytes (the limit `max_memory`, --max-memory); take larger voxels");
            return Err(IoError::LimitExceeded(detail(wanted, format!("{bytes} bytes"))));
        }
        set.try_reserve(1).map_err(|_| IoError::OutOfMemory(detail(format!("{bytes} bytes"), "a refusal".into())))?;
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointmill_core::PointCloud;
    use std::collections::BTreeMap;

    fn scan(xyz: &[f64]) -> Scan {
        let cloud = PointCloud::from_f64(xyz, 3).unwrap();
        let mut scan = Scan::from(cloud);
        scan.xyz_f64 = Some(xyz.to_vec());
        scan
    }

    #[test]
    fn the_first_point_of_each_voxel_is_kept_however_far() {
        // Beside zero, at the ends of what is near, beyond it, and where no sum is exact.
        let places = [0.0, -0.0, -0.4, 0.4, 0.6, 524_287.6, 524_288.1, -524_288.4, 1e9, 1e9 + 0.7, 1e17, -1e300];
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            places[(state >> 33) as usize % places.len()]
        };
        let mut xyz: Vec<f64> = (0..3 * 5000).map(|_| random()).collect();
        xyz.extend([f64::NAN, 0.0, 0.0, 0.0, f64::INFINITY, 0.0]);
        let mut wanted = BTreeMap::new();
        for (i, p) in xyz.as_chunks::<3>().0.iter().enumerate().filter(|(_, p)| p.iter().all(|v| v.is_finite())) {
            wanted.entry(p.map(|v| ((v / 0.5).floor() + 0.0).to_bits())).or_insert(i);
        }
        let mut wanted: Vec<_> = wanted.into_values().map(|i| xyz.as_chunks::<3>().0[i]).collect();
        let mut first = FirstOfVoxel::new(0.5, None);
        let parts = xyz.chunks(3 * 700).flat_map(|part| first.of("a", &scan(part)).unwrap().xyz());
        let mut found: Vec<_> = parts.collect();
        assert!(found.len() > 700, "{}", found.len());
        let order = |a: &[f64; 3], b: &[f64; 3]| a.partial_cmp(b).unwrap();
        wanted.sort_by(order);
        found.sort_by(order);
        assert_eq!(found, wanted);
    }

    #[test]
    fn voxels_stay_within_their_memory() {
        let xyz: Vec<f64> = (0..300).map(f64::from).collect();
        let told = FirstOfVoxel::new(1.0, Some(1000)).of("a.bin", &scan(&xyz)).unwrap_err();
        assert_eq!(told.class(), "LimitExceeded");
        assert!(told.to_string().starts_with("a.bin: memory of voxels: expected at most 1000 bytes"), "{told}");
        assert_eq!(FirstOfVoxel::new(1.0, Some(10_000)).of("a.bin", &scan(&xyz)).unwrap().cloud.len(), 100);
        assert!(FirstOfVoxel::new(1.0, Some(0)).of("a.bin", &scan(&[])).unwrap().cloud.is_empty());
    }
}
