//! Maps about an origin.

use crate::ndt::{NdtAlignParams, NdtBuilder, NdtGrid, NdtMoments, NdtParams, Neighbourhood, ndt_grid};
use crate::testing::devices;
use crate::{Device, PointCloud, Pose, Rows};

const ORIGIN: [f64; 3] = [515_000.0, 4_918_000.0, 0.0];

/// A floor and two walls near the origin, a point every ten centimetres, with coordinates that are
/// exact in `f32`.
fn corner() -> Vec<f64> {
    let mut points = Vec::new();
    for i in 0..48 {
        for j in 0..48 {
            let (a, b) = (f64::from(i) * 0.125 + 0.0625, f64::from(j) * 0.125 + 0.0625);
            points.extend([a, b, 0.0, /**/ 0.0, a, b, /**/ a, 0.0, b]);
        }
    }
    points
}

/// The same on the map.
fn global(local: &[f64]) -> Vec<f64> {
    local.iter().enumerate().map(|(i, v)| v + ORIGIN[i % 3]).collect()
}

#[test]
fn cells_and_means_are_about_the_origin() {
    let local = corner();
    let (far, single): (_, Vec<f32>) = (global(&local), local.iter().map(|v| *v as f32).collect());
    let cloud = PointCloud::new(single.clone(), 3).unwrap().with_origin(ORIGIN);
    for (name, device) in devices() {
        let wanted = ndt_grid(Rows::f64(&local, 3).unwrap(), 1.0, &NdtParams::default(), &device).unwrap();
        let cells = wanted.read().unwrap();
        let about = |rows: Rows<'_>| {
            let stream = device.stream().unwrap();
            let builder = NdtBuilder::new(&stream, 1.0, &NdtParams::default()).unwrap();
            let mut builder = builder.about(ORIGIN).unwrap();
            builder.add(rows).unwrap();
            let grid = builder.finish().unwrap();
            assert_eq!((grid.lattice().origin(), grid.read().unwrap()), (ORIGIN, cells.clone()), "{name}");
            builder.moments().unwrap()
        };
        let moments = about(Rows::f64(&far, 3).unwrap());
        assert_eq!(about(Rows::f64(&far, 3).unwrap().about(ORIGIN).unwrap()), moments, "{name}");
        assert_eq!(about(Rows::f32(&single, 3).unwrap().about(ORIGIN).unwrap()), moments, "{name}");
        // About another origin: both are subtracted.
        let nearer = single.iter().enumerate().map(|(i, v)| if i % 3 == 0 { v - 8.0 } else { *v });
        let nearer: Vec<f32> = nearer.collect();
        let moved = [ORIGIN[0] + 8.0, ORIGIN[1], ORIGIN[2]];
        assert_eq!(about(Rows::f32(&nearer, 3).unwrap().about(moved).unwrap()), moments, "{name}");
        let grid = ndt_grid(&cloud, 1.0, &NdtParams::default(), &device).unwrap();
        assert_eq!((grid.lattice().origin(), grid.read().unwrap()), (ORIGIN, cells), "{name}");
        // Points to look for come as they are.
        let around = |grid: &NdtGrid, rows: Rows<'_>| {
            let found = grid.neighbours(rows, Neighbourhood::Seven).unwrap();
            let (splits, len) = (found.row_splits.len(), found.len());
            (found.row_splits.read(splits).unwrap(), found.rows.read(len).unwrap())
        };
        let near = around(&wanted, Rows::f64(&local, 3).unwrap());
        assert_eq!(around(&grid, Rows::f64(&far, 3).unwrap()), near, "{name}");
        assert_eq!(around(&grid, Rows::from(&cloud)), near, "{name}");
        assert_eq!(NdtMoments::from_table(&moments.table().unwrap()).unwrap(), moments);
    }
}

#[test]
fn poses_are_global() {
    let local = corner();
    let far = global(&local);
    let scan: Vec<f64> = local.chunks_exact(3).step_by(7).flatten().copied().collect();
    let far_scan = global(&scan);
    let truth = Pose::from_xyzrpy([20.0, -30.0, 0.5, 0.0, 0.0, 0.7]).unwrap();
    let sensor: Vec<f64> = scan.chunks_exact(3).flat_map(|p| truth.inverse().apply([p[0], p[1], p[2]])).collect();
    for (name, device) in devices() {
        let plain = ndt_grid(Rows::f64(&local, 3).unwrap(), 1.0, &NdtParams::default(), &device).unwrap();
        let map = Rows::f64(&far, 3).unwrap().about(ORIGIN).unwrap();
        let map = ndt_grid(map, 1.0, &NdtParams::default(), &device).unwrap();
        let params = NdtAlignParams::default();
        // A scan in the frame of the map, about its origin: what a map about zero says, bit for
        // bit.
        let shift = Pose::from_translation([0.25, -0.125, 0.0625]);
        let rows = Rows::f64(&far_scan, 3).unwrap().about(ORIGIN).unwrap();
        let near = &plain.align(Rows::f64(&scan, 3).unwrap(), &[shift], &params).unwrap()[0];
        let found = &map.align(rows, &[shift], &params).unwrap()[0];
        assert!(found.converged() && found.fit == near.fit && found.hessian == near.hessian, "{name}");
        let all = [Pose::IDENTITY, shift];
        let scores = plain.score(Rows::f64(&scan, 3).unwrap(), &all).unwrap();
        assert_eq!(map.score(rows, &all).unwrap(), scores, "{name}");
        assert_eq!(
            map.point_scores(rows, &shift).unwrap(),
            plain.point_scores(Rows::f64(&scan, 3).unwrap(), &shift).unwrap(),
            "{name}"
        );
        // A scan in the frame of its sensor, from a guess 30 cm away.
        let on_map = truth.about([0.0; 3], ORIGIN.map(|o| -o));
        let guess = Pose::from_translation([0.2, -0.2, 0.1]) * on_map;
        let found = &map.align(Rows::f64(&sensor, 3).unwrap(), &[guess], &params).unwrap()[0];
        let near = guess.about([0.0; 3], ORIGIN);
        let near = &plain.align(Rows::f64(&sensor, 3).unwrap(), &[near], &params).unwrap()[0];
        assert!(found.converged() && near.converged(), "{name}: {found:?}");
        let local = found.target_from_source.about([0.0; 3], ORIGIN).translation();
        let off = (0..3).map(|i| (local[i] - near.target_from_source.translation()[i]).abs());
        assert!(off.fold(0.0, f64::max) < 1e-8, "{name}: {found:?}");
    }
}

#[test]
fn moments_about_other_origins_are_refused() {
    let mut moments = NdtMoments::new(1.0).unwrap().about(ORIGIN).unwrap();
    let told = moments.merge(&NdtMoments::new(1.0).unwrap()).unwrap_err().to_string();
    assert_eq!(told, "origin: expected [515000.0, 4918000.0, 0.0], got [0.0, 0.0, 0.0]");
    assert!(moments.subtract(&NdtMoments::new(1.0).unwrap()).is_err());
    let stream = Device::cpu().stream().unwrap();
    let builder = NdtBuilder::new(&stream, 1.0, &NdtParams::default()).unwrap();
    assert!(builder.about([f64::INFINITY, 0.0, 0.0]).is_err());
    assert!(NdtMoments::new(1.0).unwrap().about([f64::NAN, 0.0, 0.0]).is_err());
}

#[test]
fn points_of_f64_on_a_device_have_no_other_origin() {
    let twin = Device::twin().stream().unwrap();
    let buffer = twin.upload(&[515_000.5f64, 4_918_000.5, 0.5]).unwrap();
    let mut builder = NdtBuilder::new(&twin, 1.0, &NdtParams::default()).unwrap().about(ORIGIN).unwrap();
    let told = builder.add(Rows::on_device(&buffer, 1, 3).unwrap()).unwrap_err().to_string();
    let wanted = "points: expected points of f64 in host memory, or points of f32, about an origin";
    assert!(told.starts_with(wanted), "{told}");
    builder.add(Rows::f64(&[515_000.5, 4_918_000.5, 0.5], 3).unwrap()).unwrap();
}
