//! How many inputs a run holds at a time where `--jobs` is not given.

use crate::inputs::Source;
use pointmill::Device;
use pointmill::internals::memory::available;
use pointmill_io::max_threads;
use std::path::Path;

/// Most inputs at a time, however many cores there are.
const MOST: u64 = 16;
/// Bytes of memory that an input may need for each byte of its file: a LAZ point of 4 bytes becomes
/// eleven columns and exact coordinates, and the results are as large again.
const GROWTH: u64 = 32;
/// Bytes that an input may need beside that.
const LEAST: u64 = 16 << 20;
/// The part of the memory that is free which inputs may take.
const SHARE: u64 = 4;
/// The memory of a system that does not say how much is free.
const UNKNOWN: u64 = 8 << 30;

/// One input for each core. Fewer where inputs as large as the largest would need more than a
/// quarter of the free memory of host or device.
pub fn at_once(sources: &[Source], device: Option<&Device>) -> usize {
    let cores = max_threads().min(sources.len()) as u64;
    if cores < 2 {
        return 1;
    }
    let on_device = device.and_then(|device| device.info().ok().flatten()).map(|info| info.free_bytes);
    let free = available().unwrap_or(UNKNOWN).min(on_device.unwrap_or(u64::MAX));
    let largest = sources.iter().map(|source| size(source, sources.len())).max().unwrap_or(0);
    let fit = free / SHARE / largest.saturating_mul(GROWTH).saturating_add(LEAST);
    fit.clamp(1, cores.min(MOST)) as usize
}

/// Bytes of the file of an input: of a bag the part of one of so many clouds.
fn size(source: &Source, clouds: usize) -> u64 {
    let bytes = |path: &Path| path.metadata().map_or(0, |file| file.len());
    match source {
        Source::File(path) => bytes(path),
        Source::Cloud(cloud) => bytes(cloud.bag.path()) / clouds.max(1) as u64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn large_inputs_are_fewer_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let of = |bytes: u64| {
            let path = folder.path().join(bytes.to_string());
            File::create(&path).unwrap().set_len(bytes).unwrap();
            [(); 40].map(|()| Source::File(path.clone()))
        };
        let cores = max_threads().min(MOST as usize);
        assert_eq!(at_once(&of(1 << 20), None), cores);
        // Such a file does not exist in memory even once.
        assert_eq!(at_once(&of(1 << 40), None), 1);
        assert_eq!(at_once(&of(0)[..1], None), 1);
        assert_eq!(at_once(&[], None), 1);
    }
}
