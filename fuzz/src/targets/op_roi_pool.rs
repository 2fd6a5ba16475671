//! Pooling in boxes, and points in boxes, against loops over boxes and points.
use crate::{Draw, canonical, cpu};
use pointmill::roi_pool::{BoxParams, PointsInBoxes, PoolMode, RoiPoolParams, Scene, roi_pool};
use pointmill::{AnyArray, Rows};
use pointmill_core::{BoxOrigin, OrientedBox};

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    let params = RoiPoolParams {
        out_size: std::array::from_fn(|_| 1 + draw.below(4) as u32),
        max_points_per_voxel: 1 + draw.below(5) as u32,
        mode: if draw.below(2) == 0 { PoolMode::Max } else { PoolMode::Mean },
        origin: if draw.below(2) == 0 { BoxOrigin::BottomCenter } else { BoxOrigin::Center },
        margin: [0.0, 0.5, draw.value()][draw.below(3)],
        ..RoiPoolParams::default()
    };
    let count = draw.below(9);
    let boxes: Vec<f32> = (0..7 * count).map(|i| if i % 7 < 3 { draw.value() } else { draw.value().abs() }).collect();
    let channels = 1 + draw.below(3);
    let rows = draw.rows(3 + channels, 200);
    let (mut points, mut features) = (vec![], vec![]);
    for row in rows.chunks_exact(3 + channels) {
        points.extend_from_slice(&row[..3]);
        features.extend_from_slice(&row[3..]);
    }
    let scene = Scene::new(Rows::new(&boxes, 7).expect("rows"), Rows::new(&points, 3).expect("rows"));
    let device = cpu(rows.len() % 2 == 1);
    let found = match roi_pool(scene, Rows::new(&features, channels).expect("rows"), &params, device) {
        Ok(pooled) => pooled.read().expect("memory"),
        Err(e) => return assert!(!(params.margin.is_finite() && params.margin >= 0.0), "{e}"),
    };

    let point = |i: usize| [points[3 * i], points[3 * i + 1], points[3 * i + 2]];
    let n = points.len() / 3;
    let [ox, oy, oz] = params.out_size.map(|n| n as usize);
    let (mut pooled, mut argmax, mut lists) = (vec![], vec![], vec![]);
    let (mut part, mut counts) = (vec![-1; n], vec![0; count]);
    let most = params.max_points_per_voxel as usize;
    for b in 0..count {
        let row = std::array::from_fn(|i| boxes[7 * b + i]);
        let oriented = OrientedBox::new(row, params.origin, params.margin);
        let grid = oriented.grid(params.out_size);
        let mut kept = vec![vec![]; ox * oy * oz];
        for i in (0..n).filter(|&i| oriented.contains(point(i))) {
            counts[b] += 1;
            if part[i] < 0 {
                part[i] = b as i32;
            }
            let [x, y, z] = oriented.voxel(point(i), &grid).map(|v| v as usize);
            let list: &mut Vec<usize> = &mut kept[(x * oy + y) * oz + z];
            if list.len() < most {
                list.push(i);
            }
        }
        for list in kept {
            for c in 0..channels {
                let value = |i: usize| features[i * channels + c];
                match params.mode {
                    PoolMode::Max => {
                        let mut best = None;
                        for &i in list.iter().filter(|&&i| value(i) > f32::NEG_INFINITY) {
                            if best.is_none_or(|best| value(i) > value(best)) {
                                best = Some(i);
                            }
                        }
                        pooled.push(best.map_or(0.0, value));
                        argmax.push(best.map_or(-1, |i| i as i32));
                    }
                    PoolMode::Mean => {
                        let sum = list.iter().fold(0.0, |sum, &i| sum + value(i));
                        pooled.push(if list.is_empty() { 0.0 } else { sum / list.len() as f32 });
                    }
                }
            }
            lists.push(list.len() as i32);
            lists.extend(list.iter().map(|&i| i as i32));
            lists.resize(lists.len() + most - list.len(), 0);
        }
    }
    let AnyArray::F32(values) = found.pooled else { panic!("features of f32") };
    assert_eq!(canonical(&values), canonical(&pooled));
    assert_eq!(found.argmax, (params.mode == PoolMode::Max).then_some(argmax));
    assert_eq!(found.point_indices, Some(lists));

    let stream = device.stream().expect("a stream of the CPU");
    let mut inside =
        PointsInBoxes::new(&stream, BoxParams { origin: params.origin, margin: params.margin }).expect("checked");
    let mut out = stream.alloc(0).expect("memory");
    inside.part(scene, &mut out).expect("a scene that was pooled");
    assert_eq!(out.read(n).expect("memory"), part);
    inside.count(scene, &mut out).expect("a scene that was pooled");
    assert_eq!(out.read(count).expect("memory"), counts);
}
