//! Many scans in one call: each is aligned as it is alone.

use super::*;
use crate::TwinFault;
use crate::testing::{devices, kernel_devices};

/// A grid of a street on a device, about an origin.
fn grid_on(device: &Device, origin: [f64; 3]) -> NdtGrid {
    let params = NdtParams::default();
    let mut builder = NdtBuilder::new(&device.stream().unwrap(), 1.0, &params).unwrap().about(origin).unwrap();
    let points: Vec<f64> = street(9_000, 7).chunks_exact(3).flat_map(|p| [0, 1, 2].map(|i| origin[i] + p[i])).collect();
    builder.add(Rows::f64(&points, 3).unwrap()).unwrap();
    builder.finish().unwrap()
}

/// Scans of sizes around trees, and for each some guesses.
fn scans() -> Vec<(Vec<f32>, Vec<Pose>)> {
    let sizes = [700, 0, 64, 65, 1, 63, 900];
    let of = |(i, n): (usize, &usize)| {
        let scan = street(*n, 7 + i as u64 % 2).iter().map(|x| *x as f32).collect();
        let guess = |j: usize| [0.1 * j as f64 - 0.1 * i as f64, 0.2, 0.05, 0.0, 0.0, 0.01 * i as f64];
        (scan, poses_of(&(0..i % 4).map(guess).collect::<Vec<_>>()))
    };
    sizes.iter().enumerate().map(of).collect()
}

#[test]
fn scans_together_are_aligned_as_alone() {
    let scans = scans();
    let held = NdtRegularization { base: Pose::from_translation([0.3, 0.0, 0.0]), scale: 0.01 };
    let mut first = None;
    for (name, device) in devices() {
        let grid = grid_on(&device, [0.0; 3]);
        for regularization in [None, Some(held)] {
            let params = NdtAlignParams { regularization, ..NdtAlignParams::default() };
            let rows: Vec<(Rows<'_>, &[Pose])> =
                scans.iter().map(|(scan, guesses)| (Rows::f32(scan, 3).unwrap(), &guesses[..])).collect();
            let alone: Vec<_> =
                rows.iter().map(|(scan, guesses)| grid.align(*scan, guesses, &params).unwrap()).collect();
            let together = |rows: &[_]| -> Vec<_> {
                grid.align_many(rows, &params).unwrap().into_iter().map(Result::unwrap).collect()
            };
            assert_eq!(together(&rows), alone, "{name}");
            let back: Vec<_> = rows.iter().rev().copied().collect();
            let mut backwards = together(&back);
            backwards.reverse();
            assert_eq!(backwards, alone, "{name}");
            assert!(alone.iter().flatten().any(NdtRegistration::converged));
            if regularization.is_none() {
                assert_eq!(first.get_or_insert_with(|| alone.clone()), &alone, "{name}");
            }
        }
        assert!(grid.align_many(&[], &NdtAlignParams::default()).unwrap().is_empty());
    }
}

#[test]
fn a_scan_that_is_refused_leaves_the_others() {
    let origin = [515_000.0, 4_918_000.0, 0.0];
    let good: Vec<f32> = street(300, 7).iter().map(|x| *x as f32).collect();
    let bad = [Pose::from_translation([f64::NAN; 3])];
    let guesses = [Pose::from_translation(origin)];
    for (name, device) in devices() {
        let grid = grid_on(&device, origin);
        let scan = Rows::f32(&good, 3).unwrap();
        let narrow = Rows::f32(&good, 2).unwrap();
        let scans = [(scan, &guesses[..]), (scan, &bad[..]), (scan, &guesses[..]), (narrow, &guesses[..])];
        let found = grid.align_many(&scans, &NdtAlignParams::default()).unwrap();
        let wanted = grid.align(scan, &guesses, &NdtAlignParams::default()).unwrap();
        for (i, found) in found.into_iter().enumerate() {
            match i {
                0 | 2 => assert_eq!(found.unwrap(), wanted, "{name}"),
                1 => assert!(found.unwrap_err().to_string().starts_with("guess: "), "{name}"),
                _ => assert!(found.unwrap_err().to_string().starts_with("scan: expected at least 3 columns"), "{name}"),
            }
        }
        let params = NdtAlignParams { epsilon: 0.0, ..NdtAlignParams::default() };
        assert!(grid.align_many(&scans, &params).is_err(), "{name}");
    }
}

/// After a fault in any of its steps the next call gives what it should.
#[test]
fn a_call_that_fails_leaves_nothing_behind() {
    let (_, device) = kernel_devices().remove(0);
    let grid = grid_on(&device, [0.0; 3]);
    let scan: Vec<f32> = street(90, 7).iter().map(|x| *x as f32).collect();
    let guesses = [Pose::from_translation([0.1, 0.0, 0.0]), Pose::IDENTITY];
    let rows = [90, 0, 40].map(|n| (Rows::f32(&scan[..3 * n], 3).unwrap(), &guesses[..]));
    let params = NdtAlignParams { max_iterations: 1, ..NdtAlignParams::default() };
    let run = || grid.align_many(&rows, &params).map(|all| all.into_iter().map(Result::unwrap).collect::<Vec<_>>());
    let wanted = run().unwrap();
    for fault in [TwinFault::OutOfMemory, TwinFault::Lost] {
        for k in 0.. {
            Device::fail_twin(Some((fault, k)));
            let got = run();
            Device::fail_twin(None);
            assert_eq!(run().unwrap(), wanted, "{fault:?} {k}");
            if let Ok(got) = got {
                assert_eq!(got, wanted);
                assert!(k > 3 || fault == TwinFault::OutOfMemory);
                break;
            }
        }
    }
}
