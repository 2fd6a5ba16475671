//! What downsampling leaves of a scan.

use pointmill::Error;
use pointmill::downsample::{Downsampled, Keep};
use pointmill_io::{IoError, Scan};

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
