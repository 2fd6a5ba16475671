//! What the tests of all rooms share.

use crate::Device;
#[cfg(test)]
use crate::{Stream, device::Step};
use std::path::{Path, PathBuf};
#[cfg(test)]
use std::sync::RwLock;

/// Held for reading by `Stream::capture`, and for writing by a test that waits for the whole device,
/// which the driver allows nobody meanwhile. A test that captures must not hold it too: its second
/// reading would wait for a writer that waits for the first.
#[cfg(test)]
pub(crate) static CAPTURES: RwLock<()> = RwLock::new(());

/// The devices that can be tested here: the CPU with one thread and with several, the host twin,
/// and a GPU where `POINTMILL_TEST_GPU` is set, which then must answer.
pub fn devices() -> Vec<(&'static str, Device)> {
    let mut devices = vec![
        ("cpu, 1 thread", Device::cpu_with_threads(1).unwrap()),
        ("cpu, 3 threads", Device::cpu_with_threads(3).unwrap()),
        ("twin", Device::twin()),
    ];
    devices.extend(gpu().map(|gpu| ("gpu", gpu)));
    devices
}

/// The GPU, if the tests are asked to use it.
pub fn gpu() -> Option<Device> {
    std::env::var_os("POINTMILL_TEST_GPU").map(|_| Device::cuda(0).expect("POINTMILL_TEST_GPU asks for a GPU"))
}

/// The devices that run kernels.
pub fn kernel_devices() -> Vec<(&'static str, Device)> {
    let mut devices = vec![("twin", Device::twin())];
    devices.extend(gpu().map(|gpu| ("gpu", gpu)));
    devices
}

/// The twin's stream `own` waits for each of `others` before anything else, and each of them for
/// `own` and does nothing else.
#[cfg(test)]
pub(crate) fn assert_in_order(own: &Stream, others: &[&Stream], what: &str) {
    let steps = own.take_steps();
    let (waits, work) = steps.split_at(others.len());
    for other in others {
        assert!(waits.contains(&other.awaited()), "{what}: {steps:?}");
        assert_eq!(other.take_steps(), [own.awaited()], "{what}");
    }
    assert!(work.iter().any(|step| matches!(step, Step::Kernel(_))), "{what}: {steps:?}");
    assert!(!work.iter().any(|step| matches!(step, Step::WaitFor(_))), "{what}: {steps:?}");
}

/// A path in the repository. The folder of the crate is asked for at run time too, so that a test
/// binary can be carried to another machine.
pub fn repository(path: &str) -> PathBuf {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&folder).join("../..").join(path)
}

/// A small generator of test values.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "it is no iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// From `start` to `end`.
    pub fn between(&mut self, start: f32, end: f32) -> f32 {
        start + (end - start) * (self.next() >> 40) as f32 / (1 << 24) as f32
    }
}
