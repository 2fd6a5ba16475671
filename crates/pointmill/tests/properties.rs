//! What must hold for any points: their order makes no difference to a set, whole cells can be
//! shifted, parts add up to the whole.

use pointmill::icp::{Search, Searcher};
use pointmill::ndt::NdtMoments;
use pointmill::roi_pool::{BoxParams, PointsInBoxes, Scene};
use pointmill::voxelize::{RowOrder, VoxelArrays, VoxelizeParams, voxelize};
use pointmill::{Aabb, Device, Points, Rows};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Rows on a lattice of 1/64, so that shifts by whole cells are exact.
fn coordinate() -> impl Strategy<Value = f32> {
    (-512i32..512).prop_map(|n| n as f32 / 64.0)
}

fn cloud() -> impl Strategy<Value = Vec<[f32; 4]>> {
    let x = prop_oneof![20 => coordinate(), 1 => Just(f32::NAN), 1 => Just(f32::INFINITY)];
    let point = (x, coordinate(), coordinate(), coordinate()).prop_map(|(x, y, z, i)| [x, y, z, i]);
    prop::collection::vec(point, 0..120)
}

/// The points, and the same in another order with where each came from.
fn shuffled() -> impl Strategy<Value = (Vec<[f32; 4]>, Vec<usize>)> {
    cloud().prop_flat_map(|cloud| {
        let order = Just((0..cloud.len()).collect::<Vec<_>>()).prop_shuffle();
        (Just(cloud), order)
    })
}

fn params(order: RowOrder) -> VoxelizeParams {
    let range = Aabb::new([-6.0, -6.0, -4.0], [6.0, 6.0, 4.0]);
    VoxelizeParams { order, ..VoxelizeParams::dynamic([0.5, 0.5, 1.0], range) }
}

fn voxels(cloud: &[[f32; 4]], params: &VoxelizeParams) -> VoxelArrays {
    let points = Points::new(cloud.as_flattened(), 4).unwrap();
    voxelize(points, params, &Device::cpu()).unwrap().read().unwrap()
}

/// The points of each cell, as bits, sorted.
fn contents(cloud: &[[f32; 4]], found: &VoxelArrays) -> BTreeMap<Vec<i32>, Vec<[u32; 4]>> {
    let mut cells: BTreeMap<Vec<i32>, Vec<[u32; 4]>> = BTreeMap::new();
    for (point, &row) in cloud.iter().zip(found.point_to_voxel.as_ref().unwrap()) {
        if row >= 0 {
            let cell = found.coords[3 * row as usize..][..3].to_vec();
            cells.entry(cell).or_default().push(point.map(f32::to_bits));
        }
    }
    cells.values_mut().for_each(|points| points.sort_unstable());
    cells
}

fn moments(cloud: &[[f32; 4]]) -> NdtMoments {
    let mut moments = NdtMoments::new(2.0).unwrap();
    moments.add(Rows::f32(cloud.as_flattened(), 4).unwrap()).unwrap();
    moments
}

/// For each point the lowest box that holds it, and for each box how many points it holds.
fn inside(boxes: &[[f32; 7]], cloud: &[[f32; 4]]) -> (Vec<i32>, Vec<i32>) {
    let scene = Scene::new(Rows::new(boxes.as_flattened(), 7).unwrap(), Rows::new(cloud.as_flattened(), 4).unwrap());
    let stream = Device::cpu().stream().unwrap();
    let mut inside = PointsInBoxes::new(&stream, BoxParams::default()).unwrap();
    let (mut part, mut count) = (stream.alloc(0).unwrap(), stream.alloc(0).unwrap());
    inside.part(scene, &mut part).unwrap();
    inside.count(scene, &mut count).unwrap();
    (part.read(cloud.len()).unwrap(), count.read(boxes.len()).unwrap())
}

fn boxes() -> impl Strategy<Value = Vec<[f32; 7]>> {
    let one = (prop::array::uniform3(coordinate()), prop::array::uniform3(0.5f32..6.0), -3.2f32..3.2);
    prop::collection::vec(one.prop_map(|([x, y, z], [dx, dy, dz], heading)| [x, y, z, dx, dy, dz, heading]), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_points_does_not_change_the_voxels((cloud, order) in shuffled(), sorted: bool) {
        let params = params(if sorted { RowOrder::Sorted } else { RowOrder::FirstSeen });
        let again: Vec<_> = order.iter().map(|&i| cloud[i]).collect();
        let (one, two) = (voxels(&cloud, &params), voxels(&again, &params));
        prop_assert_eq!(contents(&cloud, &one), contents(&again, &two));
        prop_assert_eq!(one.report.voxels, two.report.voxels);
        if sorted {
            prop_assert_eq!((one.coords, one.num_points), (two.coords, two.num_points));
        }
    }

    #[test]
    fn whole_cells_can_be_shifted(cloud in cloud(), cells in prop::array::uniform3(-20i32..20)) {
        let before = params(RowOrder::FirstSeen);
        let shift = |axis: usize| cells[axis] as f32 * before.voxel_size[axis];
        let moved: Vec<_> = cloud.iter().map(|p| [p[0] + shift(0), p[1] + shift(1), p[2] + shift(2), p[3]]).collect();
        let corner = |corner: [f32; 3]| std::array::from_fn(|axis| corner[axis] + shift(axis));
        let after = VoxelizeParams { range: Aabb::new(corner(before.range.min), corner(before.range.max)), ..before.clone() };
        let (one, two) = (voxels(&cloud, &before), voxels(&moved, &after));
        // The same cells of the shifted grid, with the same points.
        prop_assert_eq!(one.coords, two.coords);
        prop_assert_eq!((one.point_to_voxel, one.indices), (two.point_to_voxel, two.indices));
        prop_assert_eq!(one.row_splits, two.row_splits);
    }

    #[test]
    fn a_smaller_cap_keeps_the_first_points_and_rows(cloud in cloud(), points in 1u32..5, rows in 1u32..30) {
        let all = voxels(&cloud, &params(RowOrder::FirstSeen));
        let capped = VoxelizeParams { max_points_per_voxel: Some(points), max_voxels: rows, ..params(RowOrder::FirstSeen) };
        let few = voxels(&cloud, &capped);
        let kept = (rows as usize).min(all.num_voxels);
        prop_assert_eq!(&few.coords[..], &all.coords[..3 * kept]);
        let (all_splits, all_points) = (all.row_splits.unwrap(), all.indices.unwrap());
        let (splits, indices) = (few.row_splits.unwrap(), few.indices.unwrap());
        for row in 0..kept {
            let of = |splits: &[u32]| splits[row] as usize..splits[row + 1] as usize;
            let wanted = &all_points[of(&all_splits)];
            prop_assert_eq!(&indices[of(&splits)], &wanted[..wanted.len().min(points as usize)]);
        }
    }

    #[test]
    fn moments_of_parts_add_up_in_any_order((cloud, order) in shuffled(), cuts in prop::array::uniform2(any::<prop::sample::Index>())) {
        let whole = moments(&cloud);
        let again: Vec<_> = order.iter().map(|&i| cloud[i]).collect();
        let mut at = cuts.map(|cut| cut.index(cloud.len() + 1));
        at.sort_unstable();
        let [a, b, c] = [&again[..at[0]], &again[at[0]..at[1]], &again[at[1]..]].map(moments);
        let mut sum = c.clone();
        sum.merge(&a).unwrap();
        sum.merge(&b).unwrap();
        prop_assert_eq!(&sum, &whole);
        sum.subtract(&a).unwrap();
        sum.subtract(&c).unwrap();
        prop_assert_eq!(sum, b);
    }

    #[test]
    fn moments_move_by_whole_cells(cloud in cloud(), cells in prop::array::uniform3(-50i32..50)) {
        let moved: Vec<_> = cloud.iter().map(|p| {
            let by = cells.map(|n| 2.0 * n as f32);
            [p[0] + by[0], p[1] + by[1], p[2] + by[2], p[3]]
        }).collect();
        let (one, two) = (moments(&cloud), moments(&moved));
        let shifted = one.cells().map(|(c, sums)| (std::array::from_fn(|axis| c[axis] + cells[axis]), *sums));
        prop_assert!(shifted.eq(two.cells().map(|(c, sums)| (c, *sums))));
    }

    #[test]
    fn points_find_their_boxes_in_any_order((cloud, order) in shuffled(), boxes in boxes(), cut in any::<prop::sample::Index>()) {
        let (part, count) = inside(&boxes, &cloud);
        let again: Vec<_> = order.iter().map(|&i| cloud[i]).collect();
        let (part_again, count_again) = inside(&boxes, &again);
        prop_assert!(order.iter().map(|&i| part[i]).eq(part_again));
        prop_assert_eq!(&count_again, &count);
        // Points of two parts are those of the whole.
        let (front, back) = again.split_at(cut.index(again.len() + 1));
        let sums = inside(&boxes, front).1.into_iter().zip(inside(&boxes, back).1).map(|(a, b)| a + b);
        prop_assert!(sums.eq(count));
    }

    #[test]
    fn neighbours_are_as_near_in_any_order((cloud, order) in shuffled(), queries in prop::collection::vec(prop::array::uniform3(coordinate()), 1..20)) {
        let points: Vec<_> = cloud.iter().map(|p| [p[0], p[1], p[2]]).collect();
        let again: Vec<_> = order.iter().map(|&i| points[i]).collect();
        let distances = |points: &[[f32; 3]], search| -> Vec<Vec<f32>> {
            let cloud = Rows::f32(points.as_flattened(), 3).unwrap();
            let searcher = Searcher::new(&Device::cpu().stream().unwrap(), cloud, search).unwrap();
            let found = searcher.neighbours(&queries, 4, None).unwrap();
            found.iter().map(|list| list.iter().map(|n| n.distance_squared).collect()).collect()
        };
        prop_assert_eq!(distances(&points, Search::KdTree), distances(&again, Search::KdTree));
        prop_assert_eq!(distances(&points, Search::Lbvh), distances(&again, Search::Brute));
    }
}
