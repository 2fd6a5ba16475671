//! What downsampling leaves of a scan.

use pointmill::Error;
use pointmill::downsample::{Downsampled, Keep};
use pointmill_io::Scan;

/// What is left of a scan, with all its columns. `keep` is what `thin` was made with.
///
/// # Errors
/// What reading a result from its device returns.
pub fn thinned(scan: &Scan, thin: &Downsampled, keep: Keep) -> Result<Scan, Error> {
    if keep != Keep::Mean {
        return Ok(scan.select(&thin.kept_indices()?));
    }
    let [splits, indices] = thin.lists()?;
    Ok(scan.with_means(&thin.read()?, [&splits, &indices]))
}
