//! Sizes past 2^31, past 255 and past two million.

use super::*;
use crate::testing::{devices, gpu};

/// Where the numbers of a dense result would pass 2^31, a sparse one does not.
fn many_voxels() -> (Vec<f32>, Vec<f32>, RoiPoolParams) {
    // 1,000,000 voxels a box, 3,000 boxes, 128 slots a voxel.
    let boxes: Vec<f32> = (0..3000).flat_map(|b| [b as f32 * 10.0, 0.0, 0.0, 8.0, 8.0, 8.0, 0.0]).collect();
    let points: Vec<f32> =
        (0..3000).flat_map(|b| [b as f32 * 10.0 + 3.9, 3.9, 7.9, b as f32 * 10.0 + 3.9, 3.9, 7.9]).collect();
    let params = RoiPoolParams { out_size: [100; 3], layout: RoiLayout::Sparse, ..RoiPoolParams::default() };
    (boxes, points, params)
}

#[test]
fn more_voxels_than_2_to_the_31() {
    let (boxes, points, params) = many_voxels();
    let features: Vec<f32> = (0..6000).map(|i| i as f32).collect();
    let scene = Scene::new(Rows::new(&boxes, 7).unwrap(), Rows::new(&points, 3).unwrap());
    let mut places = vec![("cpu", Device::cpu())];
    places.extend(gpu().map(|gpu| ("gpu", gpu)));
    for (name, device) in places {
        let got = roi_pool(scene, Rows::new(&features, 1).unwrap(), &params, &device).unwrap().read().unwrap();
        assert_eq!(got.report.voxels, 3000, "{name}");
        let coords: Vec<i32> = (0..3000).flat_map(|b| [b, 98, 98, 98]).collect();
        assert_eq!(got.coords.unwrap(), coords, "{name}");
        assert_eq!(got.argmax.unwrap(), (0..3000).map(|b| 2 * b + 1).collect::<Vec<_>>(), "{name}");
        assert_eq!(got.indices.unwrap(), (0..6000).collect::<Vec<_>>(), "{name}");
    }
}

/// A dense result of that size is refused with its bytes, not begun.
#[test]
fn a_result_that_fits_no_memory_is_an_error() {
    let (boxes, points, params) = many_voxels();
    let scene = Scene::new(Rows::new(&boxes, 7).unwrap(), Rows::new(&points, 3).unwrap());
    let params = RoiPoolParams { layout: RoiLayout::Dense, max_points_per_voxel: (1 << 20) - 1, ..params };
    let features = vec![0.0f32; 6000 * 4096];
    let Some(gpu) = gpu() else { return };
    let e = roi_pool(scene, Rows::new(&features, 4096).unwrap(), &params, &gpu).unwrap_err();
    assert!(matches!(e, Error::OutOfMemory { bytes: 49_152_000_000_000, .. }), "{e}");
    let small = RoiPoolParams { out_size: [1; 3], max_points_per_voxel: 1, ..params };
    assert!(roi_pool(scene, Rows::new(&features, 4096).unwrap(), &small, &gpu).is_ok());
}

#[test]
fn slots_count_in_64_bits() {
    let (boxes, points, params) = many_voxels();
    let scene = Scene::new(Rows::new(&boxes, 7).unwrap(), Rows::new(&points, 3).unwrap());
    let params = RoiPoolParams { lists: false, layout: RoiLayout::Csr, mode: PoolMode::Mean, ..params };
    // 3,000 million voxels of two bytes: more than 2^32 bytes. The last voxel is where it belongs.
    let Some(gpu) = gpu() else { return };
    let features = vec![f16::ONE; 6000];
    let pooled = roi_pool(scene, Rows::new(&features, 1).unwrap(), &params, &gpu).unwrap();
    let AnyArray::F16(all) = pooled.array(RoiArray::Pooled).unwrap().read(3_000_000_000).unwrap() else {
        panic!("f16")
    };
    let slot = |b: usize| ((b * 100 + 98) * 100 + 98) * 100 + 98;
    assert!((0..3000).all(|b| all[slot(b)] == f16::ONE));
    assert_eq!(all.iter().filter(|v| v.to_bits() != 0).count(), 3000);
}

#[test]
fn three_million_points_and_sizes_past_255() {
    let n = 3_000_000;
    let points: Vec<f32> = (0..n).flat_map(|i| [(i % 3000) as f32 * 0.01, (i / 3000) as f32 * 0.01, 0.5]).collect();
    let boxes = [15.0f32, 5.0, 0.0, 6.0, 3.0, 1.0, 0.5, /**/ 29.0, 9.0, 0.0, 3.0, 3.0, 1.0, -0.7];
    let params = RoiPoolParams {
        out_size: [600, 300, 1],
        max_points_per_voxel: 1,
        layout: RoiLayout::Sparse,
        ..RoiPoolParams::default()
    };
    let features: Vec<f32> = (0..n).map(|i| ((i * 31) % 1009) as f32).collect();
    let scene = Scene::new(Rows::new(&boxes, 7).unwrap(), Rows::new(&points, 3).unwrap());
    let run =
        |device: &Device| roi_pool(scene, Rows::new(&features, 1).unwrap(), &params, device).unwrap().read().unwrap();
    let want = run(&Device::cpu());
    assert!(want.report.voxels > 150_000 && want.report.dropped > 0, "{:?}", want.report);
    assert!(want.indices.as_ref().unwrap().iter().any(|&i| i > 2_500_000));
    // The twin would take minutes.
    for (name, device) in devices().into_iter().filter(|(name, _)| *name != "twin") {
        assert_eq!(run(&device), want, "{name}");
    }
}

/// Rows of more than 2^32 bytes.
#[test]
fn rows_are_measured_in_quads() {
    for (len, bytes) in
        [(4u32, 4u32), (8, 2), (128, 4), (1 << 30, 4), ((1 << 30) + 16, 4), ((1 << 31) - 8, 2), ((1 << 31) - 4, 4)]
    {
        let want = u64::from(len) * u64::from(bytes) / 16;
        assert_eq!(u64::from(pointmill_kernels::roi_pool::quads_of_row(len, bytes)), want, "{len} x {bytes}");
    }
}
