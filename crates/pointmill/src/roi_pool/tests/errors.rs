//! What must be refused, and how it is told.

use super::*;
use crate::device::Step;

const BOX: [f32; 7] = [0.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0];

fn devices() -> [Device; 2] {
    [Device::cpu(), Device::twin()]
}

fn pooler(device: &Device) -> RoiPooler {
    RoiPooler::new(&device.stream().unwrap(), &RoiPoolParams::default()).unwrap()
}

/// One voxel a box.
fn small_pooler(device: &Device) -> RoiPooler {
    let params = RoiPoolParams { out_size: [1; 3], max_points_per_voxel: 3, ..RoiPoolParams::default() };
    RoiPooler::new(&device.stream().unwrap(), &params).unwrap()
}

#[test]
fn parameters_are_named_with_expected_and_got() {
    let with = |change: fn(&mut RoiPoolParams)| {
        let mut params = RoiPoolParams::default();
        change(&mut params);
        RoiPooler::new(&Device::cpu().stream().unwrap(), &params).unwrap_err().to_string()
    };
    assert_eq!(with(|p| p.out_size[1] = 0), "out_size[1]: expected 1 to 2147483647, got 0");
    let many = "out_size: expected at most 4294967295 voxels a box, got 4096 x 1024 x 1024";
    assert_eq!(with(|p| p.out_size = [4096, 1024, 1024]), many);
    assert!(with(|p| p.out_size[0] = u32::MAX).starts_with("out_size[0]: expected 1 to 2147483647"));
    let many = "max_points_per_voxel: expected 0 to 2147483646, got 2147483647";
    assert_eq!(with(|p| p.max_points_per_voxel = (1 << 31) - 1), many);
    assert_eq!(with(|p| p.margin = -0.1), "margin: expected a finite margin >= 0 m, got -0.1");
    assert!(with(|p| p.margin = f32::NAN).starts_with("margin: "));
    let margin = BoxParams { margin: f32::INFINITY, ..BoxParams::default() };
    let e = PointsInBoxes::new(&Device::cpu().stream().unwrap(), margin).unwrap_err();
    assert_eq!(e.to_string(), "margin: expected a finite margin >= 0 m, got inf");
}

#[test]
fn arrays_are_named_with_expected_and_got() {
    for device in devices() {
        let mut pooler = pooler(&device);
        let mut out = pooler.output().unwrap();
        let points = [0.0f32; 12];
        let (b, p) = (Rows::new(&BOX, 7).unwrap(), Rows::new(&points, 3).unwrap());
        let features = Rows::new(&points[..4], 1).unwrap();
        let mut e =
            |scene: Scene<'_>, features: Rows<'_>| pooler.run(scene, features, &mut out).unwrap_err().to_string();
        let six = Rows::new(&BOX[..6], 6).unwrap();
        let seven = "boxes: expected 7 columns (cx, cy, cz, dx, dy, dz, heading), got 6";
        assert_eq!(e(Scene::new(six, p), features), seven);
        let flat = Rows::new(&points, 2).unwrap();
        assert_eq!(e(Scene::new(b, flat), features), "points: expected 3 to 64 columns, got 2");
        let half = [f16::ONE; 12];
        let mixed = "points: expected the boxes' type f32, got f16";
        assert_eq!(e(Scene::new(b, Rows::new(&half, 3).unwrap()), features), mixed);
        let few = Rows::new(&points[..3], 1).unwrap();
        assert_eq!(e(Scene::new(b, p), few), "features: expected 4 rows, one for each point, got 3");
        let none = Rows::new(&points[..0], 3).unwrap();
        let wide = Rows::new::<f32>(&[], 1 << 31).unwrap();
        let many = "features: expected fewer than 2^31 channels, got 2147483648";
        assert_eq!(e(Scene::new(b, none), wide), many);
        for (boxes, points, name) in [
            (&[0, 2][..], &[0, 4][..], "box_splits: expected ascending values from 0 to 1, got [0, 2]"),
            (&[1], &[0, 4], "box_splits: expected ascending values from 0 to 1, got [1]"),
            (&[], &[0, 4], "box_splits: expected ascending values from 0 to 1, got nothing"),
            (&[0, 1, 1], &[0, 5, 4], "point_splits: expected ascending values from 0 to 4, got [0, 5, 4]"),
            (&[0, 1, 1], &[0, 4], "point_splits: expected as many values as box_splits, 3, got 2"),
        ] {
            assert_eq!(e(Scene::new(b, p).batch(boxes, points), features), name);
        }
        let e = Rows::new(&points, 5).unwrap_err().to_string();
        assert_eq!(e, "values: expected whole rows of 5 values ([N, 5] row-major), got 12");
        // No channels.
        assert!(Rows::new::<f32>(&[], 0).is_err());
        // After all that the pooler works.
        pooler.run(Scene::new(b, p), features, &mut out).unwrap();
        assert_eq!(out.report().unwrap().inside, 4);
    }
}

#[test]
fn gradients_belong_to_a_result() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut pooler = pooler(&device);
        let mut out = pooler.output().unwrap();
        let mut gradient = AnyBuffer::new(&stream, Dtype::F32).unwrap();
        let points = [0.0f32; 3];
        let scene = Scene::new(Rows::new(&BOX, 7).unwrap(), Rows::new(&points, 3).unwrap());
        let features = Rows::new(&points, 3).unwrap();
        let e = pooler.pool(features, PoolMode::Max, &mut out).unwrap_err().to_string();
        assert_eq!(e, "scene: expected a located scene (RoiPooler::locate), got none");
        pooler.run(scene, features, &mut out).unwrap();
        let grad = vec![0.0f32; 12 * 12 * 12 * 3];
        let mut e = |pooler: &mut RoiPooler, grad: Rows<'_>| {
            pooler.backward(&out, grad, &mut gradient).unwrap_err().to_string()
        };
        let short = Rows::new(&grad[3..], 3).unwrap();
        assert_eq!(e(&mut pooler, short), "grad_pooled: expected 1728 rows, got 1727");
        let narrow = Rows::new(&grad, 1).unwrap();
        assert_eq!(e(&mut pooler, narrow), "grad_pooled: expected 3 channels, got 1");
        let half = vec![f16::ONE; grad.len()];
        assert_eq!(e(&mut pooler, Rows::new(&half, 3).unwrap()), "grad_pooled: expected values of type f32, got f16");
        pooler.locate(scene).unwrap();
        let other = "pooled: expected a result pooled from the scene that was located last, got one of another scene";
        assert_eq!(e(&mut pooler, Rows::new(&grad, 3).unwrap()), other);
    }
}

#[test]
fn devices_are_not_mixed() {
    let (cpu, twin) = (Device::cpu().stream().unwrap(), Device::twin().stream().unwrap());
    let mut pooler = pooler(&Device::cpu());
    let mut out = pooler.output().unwrap();
    let points = [0.0f32; 3];
    let (b, p) = (Rows::new(&BOX, 7).unwrap(), Rows::new(&points, 3).unwrap());
    let foreign = twin.upload(&BOX).unwrap();
    let scene = Scene::new(Rows::on_device(&foreign, 1, 7).unwrap(), p);
    assert_eq!(pooler.run(scene, p, &mut out).unwrap_err().to_string(), "boxes: expected memory of cpu, got twin");
    let foreign = twin.upload(&points).unwrap();
    let e = pooler.run(Scene::new(b, p), Rows::on_device(&foreign, 1, 3).unwrap(), &mut out).unwrap_err();
    assert_eq!(e.to_string(), "features: expected memory of cpu, got twin");
    let mut on_twin = RoiPooler::new(&twin, &RoiPoolParams::default()).unwrap().output().unwrap();
    let e = pooler.run(Scene::new(b, p), p, &mut on_twin).unwrap_err();
    assert_eq!(e.to_string(), "pooled: expected memory of cpu, got twin");
    let mut part = twin.alloc(0).unwrap();
    let e = PointsInBoxes::new(&cpu, BoxParams::default()).unwrap().part(Scene::new(b, p), &mut part).unwrap_err();
    assert_eq!(e.to_string(), "out: expected memory of cpu, got twin");
    let mut inside = PointsInBoxes::new(&twin, BoxParams::default()).unwrap();
    let mut lists = PointsInBoxes::new(&cpu, BoxParams::default()).unwrap().lists().unwrap();
    for e in [inside.all(Scene::new(b, p), &mut lists), inside.crop(Scene::new(b, p), &mut lists)] {
        assert_eq!(e.unwrap_err().to_string(), "out: expected memory of twin, got cpu");
    }
    assert!(inside.all(Scene::new(b, p), &mut inside.lists().unwrap()).is_ok());
}

/// No boxes, no points, or neither: valid and empty.
#[test]
fn nothing_gives_nothing() {
    for device in devices() {
        for (boxes, points) in [(&[][..], &[0.0f32; 3][..]), (&BOX, &[]), (&[], &[])] {
            let scene = Scene::new(Rows::new(boxes, 7).unwrap(), Rows::new(points, 3).unwrap());
            for layout in [RoiLayout::Dense, RoiLayout::Csr, RoiLayout::Sparse] {
                let params = RoiPoolParams { layout, ..RoiPoolParams::default() };
                let got = roi_pool(scene, Rows::new(points, 3).unwrap(), &params, &device).unwrap().read().unwrap();
                let want = Report { boxes: boxes.len() / 7, points: points.len() / 3, ..Report::default() };
                assert_eq!(got.report, want);
                let rows = if layout == RoiLayout::Sparse { 0 } else { boxes.len() / 7 * 1728 };
                assert_eq!(got.pooled, AnyArray::F32(vec![0.0; rows * 3]));
                assert_eq!(got.argmax.unwrap(), vec![-1; rows * 3]);
                assert!(got.row_splits.is_none_or(|splits| splits == vec![0; rows + 1]));
            }
        }
    }
}

/// Equal boxes that all hold all points, one pair more than there may be (in tests; see
/// `MAX_PAIRS`).
fn crowd() -> (Vec<f32>, Vec<f32>) {
    (BOX.repeat(65), [0.5f32, 0.5, 0.5].repeat((1 << 14) - 252))
}

/// Past the pairs that offsets can count a GPU refuses; the CPU has no such limit.
#[test]
fn too_many_pairs_are_refused() {
    let (boxes, points) = crowd();
    let scene = Scene::new(Rows::new(&boxes, 7).unwrap(), Rows::new(&points, 3).unwrap());
    let features = Rows::new(&points, 3).unwrap();
    let pairs = boxes.len() / 7 * (points.len() / 3);
    let expected = format!("scene: expected at most 1048576 pairs of a box and a point inside, got {pairs}");
    assert_eq!(pairs, (1 << 20) + 4);
    for device in devices() {
        let mut inside = PointsInBoxes::new(&device.stream().unwrap(), BoxParams::default()).unwrap();
        let mut lists = inside.lists().unwrap();
        let mut pooler = small_pooler(&device);
        let mut out = pooler.output().unwrap();
        let (all, run) = (inside.all(scene, &mut lists), pooler.run(scene, features, &mut out));
        if device.is_cpu() {
            all.unwrap();
            run.unwrap();
            assert_eq!((lists.num_indices(), out.report().unwrap().inside), (pairs, pairs));
        } else {
            assert_eq!(all.unwrap_err().to_string(), expected);
            assert_eq!(run.unwrap_err().to_string(), expected);
        }
    }
}

/// A result that a call began to overwrite is no longer that of the call before.
#[test]
fn a_failed_call_leaves_an_empty_result() {
    let (boxes, points) = crowd();
    let few = Scene::new(Rows::new(&boxes[..14], 7).unwrap(), Rows::new(&points[..6], 3).unwrap());
    let many = Scene::new(Rows::new(&boxes, 7).unwrap(), Rows::new(&points, 3).unwrap());
    let features = |n: usize| Rows::new(&points[..n * 3], 3).unwrap();
    let device = Device::twin();
    for layout in [RoiLayout::Dense, RoiLayout::Csr, RoiLayout::Sparse] {
        let params = RoiPoolParams { out_size: [1; 3], max_points_per_voxel: 3, layout, ..RoiPoolParams::default() };
        let stream = device.stream().unwrap();
        let mut poolers = [0; 2].map(|_| RoiPooler::new(&stream, &params).unwrap());
        let mut out = poolers[0].output().unwrap();
        let nothing = out.read().unwrap();
        assert_eq!((nothing.report, nothing.row_splits.as_deref().unwrap_or(&[0])), (Report::default(), &[0][..]));
        poolers[0].run(few, features(2), &mut out).unwrap();
        assert_eq!(out.read().unwrap().report.inside, 4);
        poolers[1].run(many, features(points.len() / 3), &mut out).unwrap_err();
        let got = out.read().unwrap();
        assert_eq!((got.boxes, got.pooled), (0, AnyArray::F32(Vec::new())), "{layout:?}");
        assert_eq!(got.report, Report::default(), "{layout:?}");
        assert_eq!(out.num_voxels().unwrap(), 0);
        // Nor is it a result of the scene that the first pooler located.
        let mut gradient = AnyBuffer::new(&stream, Dtype::F32).unwrap();
        let e = poolers[0].backward(&out, features(2), &mut gradient).unwrap_err().to_string();
        assert!(e.ends_with("got one of another scene"), "{e}");
    }
}

/// Where no voxel keeps a point there are no lists, so any number of pairs will do, and no call
/// waits or grows.
#[test]
fn pairs_that_nothing_keeps_need_no_room() {
    let (boxes, points) = crowd();
    let scene = Scene::new(Rows::new(&boxes, 7).unwrap(), Rows::new(&points, 3).unwrap());
    for layout in [RoiLayout::Dense, RoiLayout::Csr, RoiLayout::Sparse] {
        let params = RoiPoolParams { out_size: [1; 3], max_points_per_voxel: 0, layout, ..RoiPoolParams::default() };
        let [want, got] = devices().map(|device| {
            let stream = device.stream().unwrap();
            let mut pooler = RoiPooler::new(&stream, &params).unwrap();
            let mut out = pooler.output().unwrap();
            pooler.run(scene, Rows::new(&points, 3).unwrap(), &mut out).unwrap();
            let emitted = stream.take_steps().into_iter().filter(|s| *s == Step::Kernel("roi_emit")).count();
            assert_eq!(emitted, usize::from(!device.is_cpu()));
            let mut gradient = AnyBuffer::new(&stream, Dtype::F32).unwrap();
            let grad = vec![1.0f32; if layout == RoiLayout::Sparse { 0 } else { 65 * 3 }];
            pooler.backward(&out, Rows::new(&grad, 3).unwrap(), &mut gradient).unwrap();
            assert_eq!(gradient.read(points.len()).unwrap(), AnyArray::F32(vec![0.0; points.len()]));
            out.read().unwrap()
        });
        assert_eq!(got, want, "{layout:?}");
        assert_eq!((got.report.inside, got.report.kept, got.report.dropped), ((1 << 20) + 4, 0, (1 << 20) + 4));
    }
}

/// A result that has more values than any array is an argument that makes no sense, and not memory
/// that is missing.
#[test]
fn impossible_sizes_are_arguments() {
    let (boxes, points, features) = (BOX.repeat(1 << 10), [0.5f32, 0.5, 0.5], vec![1.0f32; 1 << 20]);
    let scene = Scene::new(Rows::new(&boxes, 7).unwrap(), Rows::new(&points, 3).unwrap());
    let params = RoiPoolParams { out_size: [1 << 16, 1 << 15, 1], ..RoiPoolParams::default() };
    for device in devices() {
        let mut pooler = RoiPooler::new(&device.stream().unwrap(), &params).unwrap();
        let mut out = pooler.output().unwrap();
        let told = pooler.run(scene, Rows::new(&features, 1 << 20).unwrap(), &mut out).unwrap_err().to_string();
        let expected = "scene: expected a result of fewer than 2305843009213693951 values";
        assert_eq!(told, format!("{expected}, got 2199023255552 rows of 1048576"), "{device}");
    }
}
