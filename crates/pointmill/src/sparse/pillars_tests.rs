//! Sweeps and pillars on all devices, against plain programs.

use super::{Densifier, PillarEncoder, PillarParams, PillarPoints, densify, pillar_features};
use crate::testing::{Random, devices, kernel_devices};
use crate::voxelize::{VoxelizeParams, voxelize};
use crate::{Aabb, Device, Pose, Rows};

/// Features in `f64`, point by point.
fn plain(
    (points, columns): (&[f32], usize),
    slots: usize,
    num_points: &[i32],
    cells: &[i32],
    cell_columns: usize,
    params: &PillarParams,
) -> Vec<f32> {
    let centred = params.features as usize - columns - 3;
    let mut out = Vec::new();
    for (row, &n) in num_points.iter().enumerate() {
        let n = n.clamp(0, slots as i32) as usize;
        let point = |slot: usize| &points[(row * slots + slot) * columns..][..columns];
        let mean = [0, 1, 2].map(|a| (0..n).map(|slot| f64::from(point(slot)[a])).sum::<f64>() / n as f64);
        let cell = &cells[row * cell_columns..][..cell_columns];
        for slot in 0..slots {
            if slot >= n {
                out.extend(vec![0.0; columns + 3 + centred]);
                continue;
            }
            out.extend(point(slot));
            out.extend((0..3).map(|a| (f64::from(point(slot)[a]) - mean[a]) as f32));
            out.extend((0..centred).map(|a| {
                let at = f64::from(cell[cell_columns - 1 - a]) + 0.5;
                let center = at * f64::from(params.voxel_size[a]) + f64::from(params.origin[a]);
                (f64::from(point(slot)[a]) - center) as f32
            }));
        }
    }
    out
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn features_are_those_of_a_plain_program_everywhere() {
    let mut random = Random(12);
    let kinds = [(4, 9), (4, 10), (5, 10), (5, 11), (3, 8), (3, 9), (57, 63), (58, 63)];
    for (round, (columns, width)) in kinds.into_iter().cycle().take(24).enumerate() {
        let features = width as u32;
        let rows = [0, 1, 63, 64, 65, 200][random.below(6) as usize];
        let (slots, cell_columns) = ([1, 5, 32][round % 3], 3 + round % 2);
        let mut numbers = |n: usize| (0..n).map(|_| random.between(-60.0, 60.0)).collect::<Vec<f32>>();
        let mut points = numbers(rows * slots * columns);
        // What lies in empty slots is not looked at.
        let num_points: Vec<i32> = (0..rows).map(|_| random.below(slots as u64 + 4) as i32 - 2).collect();
        for (row, &n) in num_points.iter().enumerate() {
            let empty = n.clamp(0, slots as i32) as usize * columns..slots * columns;
            points[row * slots * columns..][empty].fill(f32::NAN);
        }
        let cells: Vec<i32> = (0..rows * cell_columns).map(|_| random.below(480) as i32).collect();
        let params = PillarParams { features, ..PillarParams::new([0.32, 0.3, 10.0], [-76.8, -76.8, -3.0]) };
        let want = plain((&points, columns), slots, &num_points, &cells, cell_columns, &params);
        for (name, device) in devices() {
            let voxels = Rows::new(&points, columns).unwrap();
            let pillars = PillarPoints::new(voxels, slots, &num_points, &cells).unwrap();
            let got = pillar_features(pillars, &params, &device).unwrap().read(rows * slots * width).unwrap();
            assert_eq!(bits(&got), bits(&want), "{name}, {features} of {columns} columns, {rows} pillars");
            let stream = device.stream().unwrap();
            let lent = stream.upload(&points).unwrap();
            let [num_points, cells] = [&num_points, &cells].map(|values| stream.upload(values).unwrap());
            let voxels = Rows::on_device(&lent, rows * slots, columns).unwrap();
            let pillars = PillarPoints::on_device(voxels, slots, &num_points, &cells, cell_columns).unwrap();
            let mut out = stream.alloc(0).unwrap();
            PillarEncoder::new(&stream, &params).unwrap().run(pillars, &mut out).unwrap();
            assert_eq!(bits(&out.read(want.len()).unwrap()), bits(&want), "{name}, lent");
        }
    }
}

/// The point of `autoware_universe#9795`: its x is below the range, yet a division in `f32` puts it
/// into the cell after the last one.
#[test]
fn a_point_at_the_edge_never_leaves_the_grid() {
    // The nearest `f32` to 76.8 is 76.800003.
    let range = Aabb::new([-76.8, -76.8, -4.0], [76.8, 76.8, 6.0]);
    let params = VoxelizeParams::new([0.32, 0.32, 10.0], range);
    let edge = 76.799_995f32;
    let cloud = [[edge, edge, 1.0, 0.5], [-edge, -edge, 1.0, 0.5], [edge, 0.0, 2.0, 0.5]];
    for (name, device) in devices() {
        let voxels = voxelize(&cloud, &params, &device).unwrap().read().unwrap();
        assert!(voxels.num_voxels > 0, "{name}");
        for cell in voxels.coords.chunks(3) {
            assert!(cell.iter().zip([1, 480, 480]).all(|(c, cells)| (0..cells).contains(c)), "{name}: {cell:?}");
        }
        let slots = Rows::new(voxels.voxels.as_ref().unwrap(), 4).unwrap();
        let pillars = PillarPoints::new(slots, voxels.max_points, &voxels.num_points, &voxels.coords).unwrap();
        let encoding = PillarParams::new(params.voxel_size, range.min);
        let len = voxels.num_voxels * voxels.max_points * 9;
        let features = pillar_features(pillars, &encoding, &device).unwrap().read(len).unwrap();
        let half = 0.16 + 1e-5;
        assert!(features.chunks(9).all(|f| f[7].abs() <= half && f[8].abs() <= half), "{name}");
    }
}

#[test]
fn sweeps_are_moved_and_carry_their_lag() {
    let mut random = Random(4);
    for columns in [3, 5] {
        let sizes = [7, 0, 300, 0, 0, 513, 1, 0];
        let sweeps: Vec<Vec<f32>> =
            sizes.map(|n| (0..n * columns).map(|_| random.between(-90.0, 90.0)).collect()).to_vec();
        let poses: Vec<Pose> = (0..sizes.len())
            .map(|_| Pose::from_xyzrpy([0; 6].map(|_| f64::from(random.between(-2.0, 2.0)))).unwrap())
            .collect();
        let lags: Vec<f32> = (0..sizes.len()).map(|i| i as f32 * 0.05).collect();
        let mut want = Vec::new();
        for ((sweep, pose), &lag) in sweeps.iter().zip(&poses).zip(&lags) {
            for point in sweep.chunks(columns) {
                want.extend(pose.apply([0, 1, 2].map(|k| f64::from(point[k]))).map(|x| x as f32));
                want.extend(&point[3..]);
                want.push(lag);
            }
        }
        for (name, device) in devices() {
            let rows: Vec<_> = sweeps.iter().map(|sweep| Rows::new(sweep, columns).unwrap()).collect();
            let out = densify(&rows, &poses, &lags, &device).unwrap();
            assert_eq!(bits(&out.read(want.len()).unwrap()), bits(&want), "{name}, {columns} columns");
            // Some of the host, some of the device.
            let stream = device.stream().unwrap();
            let lent: Vec<_> = sweeps.iter().map(|sweep| stream.upload(sweep).unwrap()).collect();
            let mixed: Vec<_> = (0..sizes.len())
                .map(|i| if i % 2 == 0 { Rows::on_device(&lent[i], sizes[i], columns).unwrap() } else { rows[i] })
                .collect();
            let out = densify(&mixed, &poses, &lags, &device).unwrap();
            assert_eq!(bits(&out.read(want.len()).unwrap()), bits(&want), "{name}, mixed");
        }
    }
}

#[test]
fn a_graph_gives_what_calls_give() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut random = Random(7);
        let mut points = || (0..40 * 4).map(|_| random.between(-9.0, 9.0)).collect::<Vec<f32>>();
        let mut lent = [stream.upload(&points()).unwrap(), stream.upload(&points()).unwrap()];
        let (num_points, cells) = (stream.upload(&[3; 20]).unwrap(), stream.upload(&[1; 60]).unwrap());
        let mut densifier = Densifier::new(&stream).unwrap();
        let mut encoder = PillarEncoder::new(&stream, &PillarParams::new([1.0; 3], [0.0; 3])).unwrap();
        let (mut all, mut features) = (stream.alloc(0).unwrap(), stream.alloc(0).unwrap());
        let poses = [Pose::IDENTITY, Pose::from_translation([1.0, 2.0, 3.0])];
        macro_rules! call {
            () => {{
                let [a, b] = [0, 1].map(|i| Rows::on_device(&lent[i], 40, 4).unwrap());
                densifier.run(&[a, b], &poses, &[0.0, 0.1], &mut all).unwrap();
                encoder.run(PillarPoints::on_device(a, 2, &num_points, &cells, 3).unwrap(), &mut features).unwrap();
            }};
        }
        call!();
        let graph = stream
            .capture(|| {
                call!();
                Ok::<(), crate::Error>(())
            })
            .unwrap();
        for _ in 0..4 {
            lent.iter_mut().for_each(|buffer| buffer.write(&points()).unwrap());
            call!();
            let want = (all.read(80 * 5).unwrap(), features.read(40 * 9).unwrap());
            // SAFETY: all memory of the recorded calls is alive.
            unsafe { graph.launch() }.unwrap();
            assert_eq!((all.read(80 * 5).unwrap(), features.read(40 * 9).unwrap()), want, "{name}");
        }
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let device = Device::cpu();
    let (four, five) = ([[0.0f32; 4]; 2], [[0.0f32; 5]; 2]);
    let (a, b) = (Rows::from(&four), Rows::from(&five));
    let pose = Pose::IDENTITY;
    let said = |sweeps: &[Rows<'_>], poses: &[Pose], lags: &[f32]| {
        densify(sweeps, poses, lags, &device).unwrap_err().to_string()
    };
    assert_eq!(said(&[], &[], &[]), "sweeps: expected at least 1 sweep, got 0");
    assert_eq!(said(&[a, a], &[pose], &[0.0; 2]), "transforms: expected 2, one for each sweep, got 1");
    assert_eq!(said(&[a], &[pose], &[0.0; 2]), "time_lags: expected 1, one for each sweep, got 2");
    assert_eq!(said(&[a, b], &[pose; 2], &[0.0; 2]), "sweeps: expected 4 columns, as in sweep 0, got 5 in sweep 1");
    assert_eq!(said(&[a], &[pose], &[f32::NAN]), "time_lags: expected finite numbers, got NaN of sweep 0");
    let narrow = Rows::from(&[[0.0f32; 2]]);
    let columns = "sweeps: expected at least 3 columns: x, y, z first, got 2 in sweep 0";
    assert_eq!(said(&[narrow], &[pose], &[0.0]), columns);
    let about = "sweeps: expected points about no origin: put it into the transform, got [1.0, 0.0, 0.0] in sweep 0";
    assert_eq!(said(&[a.about([1.0, 0.0, 0.0]).unwrap()], &[pose], &[0.0]), about);

    let params = PillarParams::default();
    let pillars = PillarPoints::new(b, 2, &[1], &[0; 3]).unwrap();
    let said = pillar_features(pillars, &params, &device).unwrap_err().to_string();
    assert_eq!(said, "voxels: expected 3 or 4 columns for 9 features, got 5");
    for (features, said) in [(7, "features: expected 8 to 63, got 7"), (64, "features: expected 8 to 63, got 64")] {
        assert_eq!(PillarParams { features, ..params }.validate().unwrap_err().to_string(), said);
    }
    let said = |slots, num_points: &[i32], cells: &[i32]| {
        PillarPoints::new(Rows::from(&four), slots, num_points, cells).unwrap_err().to_string()
    };
    assert_eq!(said(3, &[1], &[0; 3]), "voxels: expected whole pillars of 1 to 2^20 slots, got 2 slots of 3");
    assert_eq!(said(2, &[1, 1], &[0; 3]), "num_points: expected 1 numbers, as many as pillars, got 2");
    assert_eq!(said(2, &[1], &[0; 5]), "coords: expected 1 x 3 or 1 x 4 values, got 5");
    let flat = PillarParams { voxel_size: [0.1, 0.0, 1.0], ..params }.validate().unwrap_err().to_string();
    assert_eq!(flat, "voxel_size: expected three finite sizes above 0, got [0.1, 0.0, 1.0]");
}
