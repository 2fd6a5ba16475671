//! Which points of full voxels stay, against the definition.

use super::*;
use crate::testing::{Random, devices};
use pointmill_kernels::simt::twin::set_block_order;
use std::collections::BTreeMap;

const MOST: usize = 4;

/// Points in few cells, the last column of few values.
fn cloud(n: usize) -> Vec<f32> {
    let mut random = Random(3);
    let value = |random: &mut Random| [0.0, -0.0, 0.1, f32::NAN, -f32::NAN, 7.0][random.below(6) as usize];
    let point = |_| {
        let [x, y] = [0; 2].map(|_| random.between(-3.0, 3.0));
        [x, y, 0.5, value(&mut random)]
    };
    (0..n).flat_map(point).collect()
}

fn case<'a>(data: &'a [f32], row_splits: Option<&[usize]>, most: usize, pick: Pick) -> Case<'a> {
    let params = VoxelizeParams {
        max_points_per_voxel: Some(most as u32),
        pick,
        outputs: Outputs { lists: true, ..Outputs::default() },
        ..VoxelizeParams::new([1.0; 3], crate::Aabb::new([-3.0, -3.0, 0.0], [3.0, 3.0, 1.0]))
    };
    Case { points: Points::new(data, 4).unwrap(), row_splits: row_splits.map(<[usize]>::to_vec), params }
}

/// All points of each row.
fn lists(case: &Case<'_>) -> Vec<Vec<u32>> {
    let mut case = case.clone();
    case.params.max_points_per_voxel = None;
    case.params.outputs.voxels = false;
    rows(&run(&case, &Device::cpu_with_threads(1).unwrap()))
}

fn rows(of: &VoxelArrays) -> Vec<Vec<u32>> {
    let (splits, indices) = (of.row_splits.as_ref().unwrap(), of.indices.as_ref().unwrap());
    splits.windows(2).map(|s| indices[s[0] as usize..s[1] as usize].to_vec()).collect()
}

/// The arrays of the kept points are those of their indices.
fn assert_kept(got: &VoxelArrays, data: &[f32], most: usize) {
    let (voxels, Some(AnyArray::F32(mean))) = (got.voxels.as_ref().unwrap(), &got.mean) else { panic!("a mean") };
    for (row, kept) in rows(got).iter().enumerate() {
        assert!(kept.is_sorted() && kept.len() == got.num_points[row] as usize);
        let mut sums = [0.0; 4];
        for (k, &i) in kept.iter().enumerate() {
            let point = &data[4 * i as usize..][..4];
            assert_eq!(bits(&voxels[(row * most + k) * 4..][..4]), bits(point));
            (0..4).for_each(|c| sums[c] += point[c]);
        }
        let want = sums.map(|sum| pointmill_core::mean::mean_from_sum(sum, kept.len() as u32));
        assert_eq!(bits(&mean[4 * row..][..4]), bits(&want));
    }
}

#[test]
fn values_take_turns() {
    let data = cloud(700);
    for (splits, most) in [(None, MOST), (Some(&[0, 100, 100, 700][..]), MOST), (None, 1), (None, 20)] {
        let case = case(&data, splits, most, Pick::RoundRobin { column: 3 });
        let want: Vec<Vec<u32>> = lists(&case)
            .into_iter()
            .map(|list| {
                let mut times = BTreeMap::new();
                let mut turns: Vec<(usize, u32)> = list
                    .into_iter()
                    .map(|i| {
                        let value = data[4 * i as usize + 3];
                        // Of 0.0, 0.1, 7.0 and NaN.
                        let time = times.entry(format!("{}", value + 0.0)).or_insert(0);
                        *time += 1;
                        (*time, i)
                    })
                    .collect();
                turns.sort_unstable();
                turns.truncate(most);
                let mut kept: Vec<u32> = turns.into_iter().map(|(_, i)| i).collect();
                kept.sort_unstable();
                kept
            })
            .collect();
        for (name, device) in devices() {
            set_block_order(5);
            let got = run(&case, &device);
            assert_eq!(rows(&got), want, "{name}");
            assert_kept(&got, &data, most);
        }
    }
}

#[test]
fn chance_is_the_same_everywhere_and_differs_by_seed_and_cell() {
    let data = cloud(700);
    let splits = [0, 300, 700];
    let mut seen = Vec::new();
    for seed in [0, 1, u64::MAX] {
        let case = case(&data, Some(&splits), MOST, Pick::Random { seed });
        let all = lists(&case);
        let want = run(&case, &Device::cpu_with_threads(1).unwrap());
        for (kept, all) in rows(&want).iter().zip(&all) {
            assert_eq!(kept.len(), all.len().min(MOST));
            assert!(kept.iter().all(|i| all.contains(i)));
        }
        assert_kept(&want, &data, MOST);
        for (name, device) in devices() {
            assert_same(&run(&case, &device), &want, &format!("seed {seed} on {name}"));
        }
        // The numbers of the points that stay, of each row: not the same in all of them.
        let places: Vec<Vec<usize>> = rows(&want)
            .iter()
            .zip(&all)
            .map(|(kept, all)| kept.iter().map(|i| all.iter().position(|j| j == i).unwrap()).collect())
            .collect();
        assert!(places.windows(2).any(|pair| pair[0] != pair[1]));
        seen.push(places);
    }
    assert!(seen[0] != seen[1] && seen[1] != seen[2]);
}

/// One cell of many points, which is no reason to take long.
#[test]
fn a_cell_of_many_points() {
    let n = 60_000;
    let data: Vec<f32> = (0..n).flat_map(|i| [0.5, 0.5, 0.5, (i % 3) as f32]).collect();
    for pick in [Pick::Random { seed: 1 }, Pick::RoundRobin { column: 3 }, Pick::RoundRobin { column: 0 }] {
        let case = case(&data, None, 100, pick);
        let want = run(&case, &Device::cpu_with_threads(1).unwrap());
        assert_eq!((want.num_voxels, want.num_points[0], want.report.points_dropped_full_voxel), (1, 100, n - 100));
        for (name, device) in devices() {
            assert_same(&run(&case, &device), &want, name);
        }
    }
}

#[test]
fn a_column_that_is_none_is_refused() {
    let data = cloud(10);
    let case = case(&data, None, MOST, Pick::RoundRobin { column: 4 });
    for (name, device) in devices() {
        let e = voxelize(case.points, &case.params, &device).unwrap_err().to_string();
        assert_eq!(e, "pick: expected a column of the points, 0 to 3, got 4", "{name}");
    }
}
