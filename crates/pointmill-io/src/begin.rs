//! When a sweep begins, from the first part of its file where that tells it.

use crate::error::IoError;
use crate::files::open_named;
use crate::read::{ReadOptions, read, read_from};
use crate::times::{Times, is_named, unit_of};
use pointmill_core::LocalOrigin;
use std::io::Read;
use std::path::Path;

/// So many bytes are looked at first: more than a chunk of LAZ mostly has, less than a sweep.
const HEAD: u64 = 384 << 10;
/// Seconds since 1970 from 2001 on.
const SINCE_1970: std::ops::Range<f64> = 1e9..1e10;

/// The earliest time of the points of a file, in seconds as [`Scan::times`](crate::Scan::times) counts; `None` where
/// points have no times.
///
/// Of formats that are read from front to back, such as LAZ and binary PCD, 384 KiB are read:
/// the earliest time in it. Of others, and where the unit of the times is known only from how long
/// a whole sweep takes, the file is read whole.
///
/// # Errors
/// As [`read`].
///
/// ```
/// use pointmill_core::Points;
/// use pointmill_io::{NamedPoints, ReadOptions, begin_seconds, write_ply};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-begin.ply", std::process::id()));
/// let points = Points::new(&[1.0, 2.0, 3.0, 0.5, 1.0, 2.0, 3.0, 0.75], 4)?;
/// write_ply(&path, &NamedPoints::new(points, &["x", "y", "z", "time"]))?;
/// assert_eq!(begin_seconds(&path, &ReadOptions::default())?, Some(0.5));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn begin_seconds(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Option<f64>, IoError> {
    let path = path.as_ref();
    let whole = ReadOptions { area: None, origin: LocalOrigin::None, ..options.clone() };
    let (file, length) = open_named(path)?;
    if length.is_none() {
        // What is no file is read once.
        return Ok(None);
    }
    let head = ReadOptions { salvage: true, ..whole.clone() };
    if let Ok(scan) = read_from(file.take(HEAD), &path.to_string_lossy(), &head) {
        match scan.times() {
            Some(times) if is_sure(&times) => return Ok(Some(times.start)),
            None if !scan.fields.iter().any(|field| is_named(&field.name)) => return Ok(None),
            _ => {}
        }
    }
    Ok(read(path, &whole)?.times().map(|times| times.start))
}

/// Whether the unit of times is known from a part of a sweep.
fn is_sure(times: &Times) -> bool {
    unit_of(&times.name).is_some() || SINCE_1970.contains(&times.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NamedPoints, WriteOptions, write};
    use pointmill_core::Points;

    /// A sweep of so many points with a column of times from `start` on, 10 us apart.
    fn sweep(path: &Path, name: &str, n: usize, start: f64, step: f64) {
        let data: Vec<f32> = (0..n).flat_map(|i| [i as f32, 1.0, 2.0, 0.0]).collect();
        let times: Vec<f64> = (0..n).map(|i| start + step * i as f64).collect();
        let mut points = NamedPoints::new(Points::new(&data, 4).unwrap(), &["x", "y", "z", name]);
        points.fields.to_mut()[3].dtype = pointmill_core::array::Dtype::F64;
        points.wide = vec![std::sync::Arc::new(crate::WideColumn::new(3, times))];
        write(path, points, &WriteOptions::default()).unwrap();
    }

    #[test]
    fn a_part_of_a_file_tells_when_it_begins() {
        let folder = tempfile::tempdir().unwrap();
        for ending in ["pcd", "ply", "csv", "feather"] {
            let path = folder.path().join(format!("a.{ending}"));
            // More than is looked at, of seconds since 1970, and of milliseconds whose first part looks like
            // seconds.
            for (name, start, step, wanted) in
                [("timestamp", 1.5e9, 1e-6, 1.5e9), ("t", 40.0, 1e-3, 0.04), ("t", 5.0, 1e-6, 5.0)]
            {
                sweep(&path, name, 100_000, start, step);
                let found = begin_seconds(&path, &ReadOptions::default()).unwrap();
                let whole = read(&path, &ReadOptions::default()).unwrap().times().map(|times| times.start);
                assert_eq!((found, found), (whole, Some(wanted)), "{ending} {name}");
            }
        }
        let path = folder.path().join("a.bin");
        std::fs::write(&path, [0; 1600]).unwrap();
        assert_eq!(begin_seconds(&path, &ReadOptions::default()).unwrap(), None);
        assert!(begin_seconds(folder.path().join("missing.pcd"), &ReadOptions::default()).is_err());
    }
}
