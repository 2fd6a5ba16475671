//! Calls that are recorded in graphs and replayed.

use super::*;
use crate::testing::{Random, kernel_devices};
use crate::{Buffer, Graph};

const BOXES: usize = 10;
/// More than a block tests point by point in tests, so that all kernels take part.
const POINTS: usize = 800;
const CHANNELS: usize = 3;
const VALUES: usize = BOXES * 8 * CHANNELS;

/// Arrays on a device, a pooler and its result.
struct Rig {
    stream: Stream,
    boxes: Buffer<f32>,
    points: Buffer<f32>,
    features: Buffer<f32>,
    grad: Buffer<f32>,
    pooler: RoiPooler,
    out: RoiPooled,
    gradient: AnyBuffer,
    /// What the arrays hold, but for the points.
    host: [Vec<f32>; 3],
}

fn values(seed: u64, n: usize, spread: f32) -> Vec<f32> {
    let mut random = Random(seed);
    (0..n).map(|_| random.between(-spread, spread)).collect()
}

fn cloud(seed: u64) -> Vec<f32> {
    values(seed, POINTS * 3, 1.5)
}

fn params() -> RoiPoolParams {
    RoiPoolParams { out_size: [2; 3], max_points_per_voxel: 39, origin: BoxOrigin::Center, ..RoiPoolParams::default() }
}

impl Rig {
    /// After a call that has seen as many pairs as there can be.
    fn new(device: &Device) -> Self {
        let stream = device.stream().unwrap();
        let centres = values(1, BOXES * 3, 0.4);
        let boxes: Vec<f32> = centres.chunks_exact(3).flat_map(|c| [c[0], c[1], c[2], 2.0, 1.5, 1.5, c[1]]).collect();
        let host = [boxes, values(2, POINTS * CHANNELS, 1.0), values(3, VALUES, 1.0)];
        let pooler = RoiPooler::new(&stream, &params()).unwrap();
        let mut rig = Self {
            boxes: stream.upload(&host[0]).unwrap(),
            points: stream.upload(&vec![0.0; POINTS * 3]).unwrap(),
            features: stream.upload(&host[1]).unwrap(),
            grad: stream.upload(&host[2]).unwrap(),
            out: pooler.output().unwrap(),
            gradient: AnyBuffer::new(&stream, Dtype::F32).unwrap(),
            pooler,
            stream,
            host,
        };
        rig.run(None).unwrap();
        assert_eq!(rig.out.report().unwrap().inside, BOXES * POINTS);
        rig
    }

    fn run(&mut self, splits: Option<&[[usize; 3]; 2]>) -> Result<()> {
        let scene = Scene::new(Rows::on_device(&self.boxes, BOXES, 7)?, Rows::on_device(&self.points, POINTS, 3)?);
        let scene = match splits {
            Some([boxes, points]) => scene.batch(boxes, points),
            None => scene,
        };
        self.pooler.run(scene, Rows::on_device(&self.features, POINTS, CHANNELS)?, &mut self.out)
    }

    fn backward(&mut self) -> Result<()> {
        let grad = Rows::on_device(&self.grad, BOXES * 8, CHANNELS)?;
        self.pooler.backward(&self.out, grad, &mut self.gradient)
    }

    fn capture(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<Graph> {
        self.stream.clone().capture(|| work(self))
    }

    /// The result and the gradient for these points, by the CPU.
    fn want(&self, points: &[f32], grad: &[f32], splits: Option<&[[usize; 3]; 2]>) -> (RoiArrays, AnyArray) {
        let scene = Scene::new(Rows::new(&self.host[0], 7).unwrap(), Rows::new(points, 3).unwrap());
        let scene = match splits {
            Some([boxes, points]) => scene.batch(boxes, points),
            None => scene,
        };
        let stream = Device::cpu().stream().unwrap();
        let mut pooler = RoiPooler::new(&stream, &params()).unwrap();
        let mut out = pooler.output().unwrap();
        pooler.run(scene, Rows::new(&self.host[1], CHANNELS).unwrap(), &mut out).unwrap();
        let mut gradient = AnyBuffer::new(&stream, Dtype::F32).unwrap();
        pooler.backward(&out, Rows::new(grad, CHANNELS).unwrap(), &mut gradient).unwrap();
        (out.read().unwrap(), gradient.read(POINTS * CHANNELS).unwrap())
    }

    fn assert_gradient(&self, points: &[f32], grad: &[f32], what: &str) {
        let (_, want) = self.want(points, grad, None);
        let got = self.gradient.read(POINTS * CHANNELS).unwrap();
        assert!(bits(&got) == bits(&want), "{what}: the gradient differs");
        assert!(bits(&got).iter().any(|v| *v != 0), "{what}: nothing has a gradient");
    }
}

/// One forward pass, several gradients: a graph of the gradient alone leaves no state behind that
/// its next launch would trip over.
#[test]
fn a_gradient_is_replayed_with_new_values() {
    for (name, device) in kernel_devices() {
        let mut rig = Rig::new(&device);
        rig.backward().unwrap();
        let points = cloud(4);
        rig.points.write(&points).unwrap();
        rig.run(None).unwrap();
        let graph = rig.capture(Rig::backward).unwrap();
        for seed in 5..9 {
            let grad = values(seed, VALUES, 1.0);
            rig.grad.write(&grad).unwrap();
            // SAFETY: what the graph uses is alive, has not grown, and is this test's alone.
            unsafe { graph.launch() }.unwrap();
            rig.assert_gradient(&points, &grad, name);
        }
    }
}

/// A graph of the forward pass makes other lists behind the back of the host, which must not take
/// the gradient's for known.
#[test]
fn a_gradient_follows_a_replayed_call() {
    for (name, device) in kernel_devices() {
        let mut rig = Rig::new(&device);
        let graph = rig.capture(|rig| rig.run(None)).unwrap();
        let grad = rig.host[2].clone();
        for seed in 5..8 {
            let points = cloud(seed);
            rig.points.write(&points).unwrap();
            // SAFETY: what the graph uses is alive, has not grown, and is this test's alone.
            unsafe { graph.launch() }.unwrap();
            rig.backward().unwrap();
            assert_eq!(rig.out.read().unwrap(), rig.want(&points, &grad, None).0, "{name}");
            rig.assert_gradient(&points, &grad, name);
        }
    }
}

/// A graph of the gradient is that of the scene that is located when it is launched.
#[test]
fn a_recorded_gradient_follows_new_points() {
    for (name, device) in kernel_devices() {
        let mut rig = Rig::new(&device);
        rig.backward().unwrap();
        let graph = rig.capture(Rig::backward).unwrap();
        let (points, grad) = (cloud(4), rig.host[2].clone());
        rig.points.write(&points).unwrap();
        rig.run(None).unwrap();
        // SAFETY: what the graph uses is alive, has not grown, and is this test's alone.
        unsafe { graph.launch() }.unwrap();
        rig.assert_gradient(&points, &grad, name);
    }
}

/// What a gradient needs is not made for a graph, which makes it itself, and not taken for made
/// after one.
#[test]
fn a_prepared_gradient_follows_new_points() {
    for (name, device) in kernel_devices() {
        let mut rig = Rig::new(&device);
        rig.pooler.prepare_backward(&rig.out).unwrap();
        rig.backward().unwrap();
        let prepare = |rig: &mut Rig| rig.pooler.prepare_backward(&rig.out);
        let graph = rig
            .capture(|rig| {
                rig.run(None)?;
                prepare(rig)?;
                rig.backward()
            })
            .unwrap();
        let grad = rig.host[2].clone();
        for seed in 4..7 {
            let points = cloud(seed);
            rig.points.write(&points).unwrap();
            // SAFETY: what the graph uses is alive, has not grown, and is this test's alone.
            unsafe { graph.launch() }.unwrap();
            rig.assert_gradient(&points, &grad, name);
            // Without the graph, and behind its back.
            prepare(&mut rig).unwrap();
            let points = cloud(seed + 10);
            rig.points.write(&points).unwrap();
            rig.run(None).unwrap();
            prepare(&mut rig).unwrap();
            rig.backward().unwrap();
            rig.assert_gradient(&points, &grad, name);
        }
    }
}

/// Recording a gradient does not make it known: nothing has run.
#[test]
fn a_recorded_gradient_has_not_run() {
    for (name, device) in kernel_devices() {
        let mut rig = Rig::new(&device);
        rig.backward().unwrap();
        let (points, grad) = (cloud(4), rig.host[2].clone());
        rig.points.write(&points).unwrap();
        rig.run(None).unwrap();
        let _graph = rig.capture(Rig::backward).unwrap();
        rig.backward().unwrap();
        rig.assert_gradient(&points, &grad, name);
    }
}

/// Where samples start is part of what was recorded, and other calls do not change it.
#[test]
fn a_graph_keeps_its_splits() {
    let halves = [[0, 5, 10], [0, 400, 800]];
    let uneven = [[0, 2, 10], [0, 700, 800]];
    for (name, device) in kernel_devices() {
        let mut rig = Rig::new(&device);
        let (points, grad) = (cloud(4), rig.host[2].clone());
        rig.points.write(&points).unwrap();
        rig.run(Some(&halves)).unwrap();
        let want = [&halves, &uneven].map(|splits| rig.want(&points, &grad, Some(splits)).0);
        assert_ne!(want[0], want[1]);
        let graphs =
            [rig.capture(|rig| rig.run(Some(&halves))).unwrap(), rig.capture(|rig| rig.run(Some(&halves))).unwrap()];
        for _ in 0..3 {
            rig.run(Some(&uneven)).unwrap();
            assert_eq!(rig.out.read().unwrap(), want[1], "{name}: after the recording");
            for graph in &graphs {
                // SAFETY: what the graph uses is alive, has not grown, and is this test's alone.
                unsafe { graph.launch() }.unwrap();
                assert_eq!(rig.out.read().unwrap(), want[0], "{name}: replayed");
            }
            rig.run(Some(&halves)).unwrap();
            assert_eq!(rig.out.read().unwrap(), want[0], "{name}");
        }
    }
}

/// Other splits would have to be copied when the graph is launched, from memory that is gone by
/// then; and a refused call leaves nothing behind.
#[test]
fn a_graph_takes_no_new_splits() {
    let halves = [[0, 5, 10], [0, 400, 800]];
    let uneven = [[0, 2, 10], [0, 700, 800]];
    for (name, device) in kernel_devices() {
        let mut rig = Rig::new(&device);
        let (points, grad) = (cloud(4), rig.host[2].clone());
        rig.points.write(&points).unwrap();
        rig.run(Some(&halves)).unwrap();
        let e = rig.capture(|rig| rig.run(Some(&uneven))).unwrap_err().to_string();
        assert_eq!(e, "point_splits: expected those of the call before (the stream records a graph), got others");
        rig.run(Some(&uneven)).unwrap();
        assert_eq!(rig.out.read().unwrap(), rig.want(&points, &grad, Some(&uneven)).0, "{name}");
    }
}

/// A graph would read the slice when it is launched.
#[test]
fn a_graph_takes_no_host_slices() {
    for (name, device) in kernel_devices() {
        let mut rig = Rig::new(&device);
        let points = cloud(4);
        let host = Rows::new(&points, 3).unwrap();
        let (boxes, features) = (rig.host[0].clone(), rig.host[1].clone());
        let expected = "expected memory of the device (the stream records a graph), got a host slice";
        let e = rig.capture(|rig| {
            let scene = Scene::new(Rows::on_device(&rig.boxes, BOXES, 7)?, host);
            rig.pooler.run(scene, Rows::on_device(&rig.features, POINTS, CHANNELS)?, &mut rig.out)
        });
        assert_eq!(e.unwrap_err().to_string(), format!("points: {expected}"), "{name}");
        let e = rig.capture(|rig| {
            let points = Rows::on_device(&rig.points, POINTS, 3)?;
            rig.pooler.locate(Scene::new(Rows::new(&boxes, 7)?, points))
        });
        assert_eq!(e.unwrap_err().to_string(), format!("boxes: {expected}"), "{name}");
        let e = rig.capture(|rig| rig.pooler.pool(Rows::new(&features, CHANNELS)?, PoolMode::Mean, &mut rig.out));
        assert_eq!(e.unwrap_err().to_string(), format!("features: {expected}"), "{name}");
    }
}
