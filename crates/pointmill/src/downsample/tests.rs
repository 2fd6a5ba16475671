//! All devices against a brute-force twin, and against `voxelize`.

use super::*;
use crate::testing::{Random, devices};
use crate::voxelize::voxelize;
use crate::{AnyArray, Points};
use std::collections::BTreeMap;

const KEEPS: [Keep; 4] = [Keep::Mean, Keep::First, Keep::Centre, Keep::Random];

/// The points of each voxel in first-seen order, by a map over cells of the grid around them.
type Cells = Vec<([u32; 3], Vec<u32>)>;

fn voxels_of(data: &[f32], columns: usize, size: [f32; 3]) -> Option<(VoxelGrid, Cells)> {
    let points = Points::new(data, columns).unwrap();
    let grid = VoxelGrid::around(size, Aabb::around(points.iter_xyz())?).unwrap();
    let mut rows = BTreeMap::new();
    let mut voxels: Vec<([u32; 3], Vec<u32>)> = Vec::new();
    for (i, p) in points.iter_xyz().enumerate().filter(|(_, p)| p.iter().all(|c| c.is_finite())) {
        let cell = grid.cell(p).expect("the grid has every point");
        let row = *rows.entry(cell).or_insert(voxels.len());
        if row == voxels.len() {
            voxels.push((cell, vec![]));
        }
        voxels[row].1.push(i as u32);
    }
    Some((grid, voxels))
}

/// What each voxel keeps, from its definition.
fn kept(keep: Keep, seed: u64, grid: &VoxelGrid, cell: [u32; 3], points: &[u32], xyz: &dyn Fn(u32) -> [f32; 3]) -> u32 {
    let distance = |&point: &u32| {
        let offset = [0, 1, 2].map(|k| {
            let centre = f64::from(grid.range().min[k]) + (f64::from(cell[k]) + 0.5) * f64::from(grid.size()[k]);
            f64::from(xyz(point)[k]) - centre
        });
        offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2]
    };
    match keep {
        Keep::Centre => *points.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap(),
        Keep::Random => {
            let draw = u64::from(pointmill_core::hash::Seed::new(seed).spread(u64::from(points[0])));
            points[((draw * points.len() as u64) >> 32) as usize]
        }
        _ => points[0],
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// All devices and ways to keep, twice each with a worker that had another cloud before.
fn check(data: &[f32], columns: usize, size: [f32; 3], what: &str) {
    let found = voxels_of(data, columns, size);
    let row = |point: u32| &data[point as usize * columns..][..columns];
    for (name, device) in devices() {
        for keep in KEEPS {
            let params = DownsampleParams { keep, seed: 7, ..DownsampleParams::new(size) };
            let mut downsampler = Downsampler::new(&device.stream().unwrap(), &params).unwrap();
            downsampler.run(&[[0.0f32, 1.0, 9.0], [-40.0, 1.0, 2.0]]).unwrap();
            let thin = downsampler.run(Points::new(data, columns).unwrap()).unwrap();
            let what = format!("{what}, {keep} on {name}");
            let Some((grid, voxels)) = &found else {
                assert_eq!((thin.read().unwrap().len(), thin.report.kept), (0, 0), "{what}");
                assert_eq!(thin.report.non_finite, data.len() / columns, "{what}");
                continue;
            };
            let xyz = |point| [row(point)[0], row(point)[1], row(point)[2]];
            let kept: Vec<_> = voxels.iter().map(|(cell, of)| kept(keep, 7, grid, *cell, of, &xyz)).collect();
            assert_eq!(thin.kept_indices().unwrap(), kept, "{what}");
            let inside: usize = voxels.iter().map(|(_, of)| of.len()).sum();
            let report = DownsampleReport {
                points: data.len() / columns,
                kept: kept.len(),
                non_finite: data.len() / columns - inside,
            };
            assert_eq!(thin.report, report, "{what}");
            let want = if keep == Keep::Mean {
                // The bits of voxelize, and close to the mean in f64.
                let dynamic = VoxelizeParams::dynamic(size, *grid.range());
                let made = voxelize(Points::new(data, columns).unwrap(), &dynamic, &Device::cpu()).unwrap();
                let Some(AnyArray::F32(mean)) = made.read().unwrap().mean else { panic!("means") };
                for ((_, of), mean) in voxels.iter().zip(mean.chunks_exact(columns)) {
                    for (k, got) in mean.iter().enumerate() {
                        let exact = of.iter().map(|&i| f64::from(row(i)[k])).sum::<f64>() / of.len() as f64;
                        let near = (exact - f64::from(*got)).abs() <= 1e-4 * exact.abs().max(1.0);
                        assert!(near || !(exact.is_finite() || got.is_finite()), "{what}");
                    }
                }
                let lists = thin.lists().unwrap();
                assert_eq!(lists[1], voxels.iter().flat_map(|(_, of)| of.clone()).collect::<Vec<_>>(), "{what}");
                mean
            } else {
                kept.iter().flat_map(|&point| row(point).to_vec()).collect()
            };
            assert_eq!(bits(&thin.read().unwrap()), bits(&want), "{what}");
        }
    }
}

#[test]
fn random_points_of_many_columns() {
    let mut random = Random(3);
    for (columns, count) in [(3, 900), (4, 700), (9, 300)] {
        let data: Vec<f32> = (0..columns * count).map(|_| random.between(-4.0, 4.0)).collect();
        check(&data, columns, [0.5, 1.0, 2.0], &format!("{columns} columns"));
    }
}

#[test]
fn points_on_the_faces_of_voxels() {
    // Multiples of half a voxel, of a size that f32 does not hold.
    let mut random = Random(5);
    let data: Vec<f32> = (0..3 * 600).map(|_| (random.below(21) as f32 - 10.0) * 0.05).collect();
    check(&data, 3, [0.1; 3], "faces");
}

#[test]
fn odd_points() {
    check(&[], 4, [1.0; 3], "none");
    check(&[1.0, 2.0, 3.0, 4.0], 4, [1.0; 3], "one");
    check(&[f32::NAN; 12], 3, [1.0; 3], "nothing but NaN");
    check(&[1.5; 300], 3, [1.0; 3], "one point a hundred times");
    let mut random = Random(9);
    let inside: Vec<f32> = (0..1200).map(|_| random.between(0.0, 0.999)).collect();
    check(&inside, 3, [1.0; 3], "one voxel");
    let mut holes = inside;
    for (i, bad) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY].into_iter().cycle().take(60).enumerate() {
        holes[i * 19] = bad;
    }
    check(&holes, 4, [0.3; 3], "holes, also in the fourth column");
}

#[test]
fn the_order_of_points_moves_no_voxel() {
    let mut random = Random(11);
    let mut points: Vec<[f32; 3]> = (0..500).map(|_| [(); 3].map(|()| random.between(-3.0, 3.0))).collect();
    let counts = |points: &[[f32; 3]]| {
        let thin = downsample(points, &DownsampleParams::new([0.7; 3]), &Device::cpu()).unwrap();
        let mut counts: Vec<_> = thin.lists().unwrap()[0].windows(2).map(|w| w[1] - w[0]).collect();
        counts.sort_unstable();
        counts
    };
    let before = counts(&points);
    points.reverse();
    assert_eq!(counts(&points), before);
}

#[test]
fn another_seed_draws_other_points() {
    let mut random = Random(13);
    let points: Vec<[f32; 3]> = (0..4000).map(|_| [(); 3].map(|()| random.between(0.0, 4.0))).collect();
    let drawn = |seed| {
        let params = DownsampleParams { keep: Keep::Random, seed, ..DownsampleParams::new([1.0; 3]) };
        let thin = downsample(points.as_slice(), &params, &Device::cpu()).unwrap();
        let [splits, indices] = thin.lists().unwrap();
        let kept = thin.kept_indices().unwrap();
        let place = |row: usize| {
            let list = &indices[splits[row] as usize..splits[row + 1] as usize];
            list.iter().position(|&i| i == kept[row]).unwrap() as f64 / list.len() as f64
        };
        let mean = (0..kept.len()).map(place).sum::<f64>() / kept.len() as f64;
        (kept, mean)
    };
    let ((a, a_mean), (b, b_mean)) = (drawn(1), drawn(2));
    assert!(a != b && a == drawn(1).0);
    // 64 draws of a uniform distribution.
    assert!((0.35..0.65).contains(&a_mean) && (0.35..0.65).contains(&b_mean), "{a_mean} {b_mean}");
}

#[test]
fn points_that_lie_on_a_device() {
    let points = [[0.1f32, 0.1, 0.1], [0.3, 0.1, 0.1], [5.0, 0.1, 0.1]];
    for (name, device) in devices() {
        let stream = device.stream().unwrap();
        let lent = stream.upload(points.as_flattened()).unwrap();
        for keep in KEEPS {
            let params = DownsampleParams { keep, ..DownsampleParams::new([1.0; 3]) };
            let want = downsample(&points, &params, &Device::cpu()).unwrap();
            let rows = Rows::on_device(&lent, 3, 3).unwrap();
            let thin = Downsampler::new(&stream, &params).unwrap().run(rows).unwrap();
            assert_eq!(thin.read().unwrap(), want.read().unwrap(), "{keep} on {name}");
        }
    }
}

#[test]
fn what_is_refused() {
    let refused = |points: Rows<'_>, size| {
        downsample(points, &DownsampleParams::new(size), &Device::cpu()).unwrap_err().to_string()
    };
    let (near, far) = ([[0.0f32; 3]], [[-1e9f32, 0.0, 0.0], [1e9, 1.0, 1.0]]);
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(refused(Rows::from(&near), [1.0, 1.0, bad]).starts_with("voxel_size[2]: expected a finite size > 0 m"));
    }
    assert!(refused(Rows::from(&far), [0.1; 3]).starts_with("voxel_size: expected 0."));
    assert_eq!(refused(Rows::from(&[[0.0f32; 2]]), [1.0; 3]), "points: expected 3 to 64 columns, got 2");
    assert_eq!(refused(Rows::from(&[[0.0f64; 3]]), [1.0; 3]), "points: expected values of type f32, got f64");
}

/// Where cells are smaller than what coordinates of `f32` are apart, no point is lost.
#[test]
fn points_far_from_the_origin_are_kept() {
    let utm: Vec<f32> = (0..9u8).flat_map(|i| [691_000.0, 5_335_000.0, 500.0].map(|c| c + f32::from(i))).collect();
    check(&utm, 3, [0.2; 3], "UTM on whole metres");
    check(&utm[..3], 3, [0.02; 3], "one point");
}
