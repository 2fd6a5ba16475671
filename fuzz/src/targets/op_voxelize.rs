//! Voxelization against a loop over points and a map of cells.
use crate::{Draw, canonical, cpu};
use pointmill::AnyArray;
use pointmill::voxelize::{Outputs, Pick, RowOrder, VoxelizeParams, voxelize};
use pointmill::{Aabb, Points, VoxelGrid};
use std::collections::{HashMap, HashSet};

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    let size = std::array::from_fn(|_| [0.1, 0.25, 1.0, 3.0, draw.value()][draw.below(5)]);
    let (low, high) = (std::array::from_fn(|_| draw.value()), std::array::from_fn(|_| draw.value()));
    let dynamic = draw.below(4) == 0;
    let mut params = VoxelizeParams {
        max_voxels: 1 + draw.byte() as u32,
        max_points_per_voxel: (!dynamic).then(|| 1 + draw.below(6) as u32),
        order: if draw.below(2) == 0 { RowOrder::FirstSeen } else { RowOrder::Sorted },
        strict_range: draw.below(2) == 0,
        outputs: Outputs { voxels: !dynamic, lists: true, ..Outputs::default() },
        ..VoxelizeParams::new(size, Aabb::new(low, high))
    };
    let columns = 3 + draw.below(3);
    let data = draw.rows(columns, 400);
    // Last, so that what is drawn before stays as it was.
    params.pick = match draw.below(3) {
        0 => Pick::First,
        1 => Pick::Random { seed: draw.byte() as u64 },
        _ => Pick::RoundRobin { column: draw.below(columns) as u32 },
    };
    let points = Points::new(&data, columns).expect("whole rows");
    let device = cpu(data.len() % 2 == 1);
    let voxels = match voxelize(points, &params, device) {
        Ok(voxels) => voxels.read().expect("memory"),
        // Parameters that make no grid; the grid says so too.
        Err(e) => return assert!(VoxelGrid::new(size, params.range).is_err(), "{e}"),
    };

    let grid = VoxelGrid::new(size, params.range).expect("a grid of a call that went well");
    let dims = grid.dims();
    let cell = |p: [f32; 3]| -> Option<[i64; 3]> {
        let mut cell = [0; 3];
        for axis in 0..3 {
            let q = ((p[axis] - low[axis]) / size[axis]).floor();
            let strict = !params.strict_range || (low[axis] <= p[axis] && p[axis] < high[axis]);
            if !(p[axis].is_finite() && q >= 0.0 && q < dims[axis] as f32 && strict) {
                return None;
            }
            cell[2 - axis] = q as i64;
        }
        Some(cell)
    };
    let cells: Vec<_> = points.iter_xyz().map(cell).collect();
    let mut rows: Vec<[i64; 3]> = vec![];
    let mut seen = HashSet::new();
    for cell in cells.iter().flatten() {
        if seen.insert(*cell) {
            rows.push(*cell);
        }
    }
    if params.order == RowOrder::Sorted {
        rows.sort_unstable();
    }
    rows.truncate(params.max_voxels as usize);
    let row_of: HashMap<_, _> = rows.iter().enumerate().map(|(row, cell)| (*cell, row)).collect();
    let point_to_voxel: Vec<i32> =
        cells.iter().map(|c| c.and_then(|c| row_of.get(&c)).map_or(-1, |&row| row as i32)).collect();
    let mut kept = vec![vec![]; rows.len()];
    for (i, &row) in point_to_voxel.iter().enumerate().filter(|(_, row)| **row >= 0) {
        let list: &mut Vec<usize> = &mut kept[row as usize];
        list.push(i);
    }
    assert_eq!(voxels.coords, rows.iter().flatten().map(|&c| c as i32).collect::<Vec<_>>());
    assert_eq!(voxels.point_to_voxel, Some(point_to_voxel));
    let (splits, indices) = voxels.row_splits.zip(voxels.indices).expect("lists were asked for");
    assert_eq!(splits.len(), rows.len() + 1);
    for (row, list) in kept.iter_mut().enumerate() {
        choose(list, &params, points, &indices[splits[row] as usize..splits[row + 1] as usize]);
    }
    assert_eq!(indices, kept.iter().flatten().map(|&i| i as u32).collect::<Vec<_>>());
    assert_eq!(voxels.num_points, kept.iter().map(|k| k.len() as i32).collect::<Vec<_>>());
    let mut mean = vec![];
    for list in &kept {
        for j in 0..columns {
            let sum = list.iter().fold(0.0f32, |sum, &i| sum + points.row(i)[j]);
            mean.push(sum / list.len() as f32);
        }
    }
    let Some(AnyArray::F32(found)) = voxels.mean else { panic!("means were asked for") };
    assert_eq!(canonical(&found), canonical(&mean));
    if let (Some(found), Some(most)) = (voxels.voxels, params.max_points_per_voxel) {
        let mut padded = vec![0.0; rows.len() * most as usize * columns];
        for (row, list) in kept.iter().enumerate() {
            for (slot, &i) in list.iter().enumerate() {
                let at = (row * most as usize + slot) * columns;
                padded[at..at + columns].copy_from_slice(points.row(i));
            }
        }
        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(&padded));
    }
}

/// Leaves the points of a row that stay. Which stay by chance is taken from the result.
fn choose(list: &mut Vec<usize>, params: &VoxelizeParams, points: Points<'_>, found: &[u32]) {
    let most = params.max_points_per_voxel.map_or(usize::MAX, |most| most as usize);
    match params.pick {
        _ if list.len() <= most => {}
        Pick::RoundRobin { column } => {
            let value = |i: usize| points.row(i)[column as usize];
            let same = |a: f32, b: f32| a == b || (a.is_nan() && b.is_nan());
            let turn = |i: usize| list.iter().filter(|&&j| j < i && same(value(i), value(j))).count();
            let mut turns: Vec<_> = list.iter().map(|&i| (turn(i), i)).collect();
            turns.sort_unstable();
            *list = turns[..most].iter().map(|&(_, i)| i).collect();
            list.sort_unstable();
        }
        Pick::Random { .. } => list.retain(|&i| found.contains(&(i as u32))),
        _ => list.truncate(most),
    }
    assert!(list.len() == found.len() && list.len() <= most);
}
