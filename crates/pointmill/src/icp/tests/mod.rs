mod align;
mod bad;
mod fixtures;
mod many;
mod parity;
mod real;
mod search;
mod target;
mod visits;

use super::{Aligner, IcpParams, Registration, Search, Searcher, Timing};
use crate::device::Stream;
use crate::testing::{Random, kernel_devices};
use crate::{Device, Pose, Result, Rows};
use pointmill_core::rigid::Rigid;

/// Points on a bumpy surface, so that neighbourhoods have normals.
fn cloud_of(n: usize, seed: u64) -> Vec<[f32; 3]> {
    let mut random = Random(seed);
    (0..n)
        .map(|_| {
            let (x, y) = (random.between(-1.0, 1.0), random.between(-1.0, 1.0));
            [x, y, 0.3 * (2.0 * x).sin() * (3.0 * y).cos() + 0.2 * x * x]
        })
        .collect()
}

fn on_threads<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

/// Everything but times.
fn strip(mut got: Registration) -> Registration {
    got.fit.prepare_ms = 0.0;
    got.fit.trace.iter_mut().for_each(|entry| entry.timing = Timing::default());
    got
}

fn f64_cloud(points: &[[f32; 3]]) -> Vec<f64> {
    points.as_flattened().iter().map(|x| f64::from(*x)).collect()
}

fn moved(points: &[f64], by: &Rigid) -> Vec<f64> {
    points.as_chunks::<3>().0.iter().flat_map(|p| by.apply(*p)).collect()
}

/// An alignment on the CPU from the identity.
fn align(source: Rows<'_>, target: Rows<'_>, params: &IcpParams) -> Result<Registration> {
    super::align(source, target, &Pose::IDENTITY, params, &Device::cpu())
}

fn searcher_on(stream: &Stream, points: &[[f32; 3]], search: Search) -> Searcher {
    Searcher::new(stream, Rows::f32(points.as_flattened(), 3).unwrap(), search).unwrap()
}

fn searcher(points: &[[f32; 3]], search: Search) -> Searcher {
    searcher_on(&Device::cpu().stream().unwrap(), points, search)
}

/// The largest difference of rotations and of translations.
fn off(got: &Pose, truth: &Rigid) -> (f64, f64) {
    let (got, wanted) = (got.matrix(), truth.matrix());
    let difference = |i: usize| (got[i / 4][i % 4] - wanted[i / 4][i % 4]).abs();
    let largest = |part: fn(usize) -> bool| (0..12).filter(|i| part(*i)).map(difference).fold(0.0, f64::max);
    (largest(|i| i % 4 != 3), largest(|i| i % 4 == 3))
}

/// Without what depends on the search: which neighbours it can prove to be the same.
fn without_searched(mut got: Registration) -> Registration {
    got.fit.trace.iter_mut().for_each(|entry| entry.searched = 0);
    got
}

/// An alignment on the CPU, after it was made sure that all devices give the same.
fn align_everywhere(source: Rows<'_>, target: Rows<'_>, guess: &Pose, params: &IcpParams) -> Registration {
    let got = super::align(source, target, guess, params, &Device::cpu()).unwrap();
    let wanted = without_searched(strip(got.clone()));
    for (name, device) in kernel_devices() {
        let mut aligner = Aligner::new(&device.stream().unwrap(), params).unwrap();
        let there = aligner.align(source, target, guess).unwrap();
        assert_eq!(without_searched(strip(there)), wanted, "{name}: {params:?}");
    }
    got
}
