//! RoI-aware pooling and points in boxes.

use crate::{Measurement, RoiCase, time, time_after};
use pointmill::roi_pool::{
    BoxParams, FeatureBuffer, PointsInBoxes, PoolMode, RoiLayout, RoiPoolParams, RoiPooler, Scene,
};
use pointmill::{ElementType, Input, Result, Stream};

/// Pools a scene whose arrays lie on the device, in each layout, forward and backward, and finds points in boxes.
///
/// # Errors
/// Out of memory, or a lost device.
pub fn roi_pool(stream: &Stream, case: &RoiCase, rounds: usize, copy_rate: f64) -> Result<Vec<Measurement>> {
    let (num_boxes, n, channels) = (case.boxes.len() / 7, case.points.len() / 3, case.channels);
    let (boxes, points) = (stream.upload(&case.boxes)?, stream.upload(&case.points)?);
    let features = stream.upload(&case.features)?;
    let scene = Scene::new(Input::on_device(&boxes, num_boxes, 7)?, Input::on_device(&points, n, 3)?);
    let features = Input::on_device(&features, n, channels)?;
    let input_bytes = case.boxes.len() + case.points.len() + case.features.len();
    let mut measured = Vec::new();
    let mut add = |name: &str, times, words: usize, voxels: Option<usize>| {
        let name = format!("roi_pool {}: {name}", case.name);
        let m = Measurement::new(&name, stream, (n, channels), times, words as u64 * 4, copy_rate);
        measured.push(Measurement { voxels, ..m });
    };
    use {
        PoolMode::{Max, Mean},
        RoiLayout::{Csr, Dense, Sparse},
    };
    let cases = [
        ("dense, max", Dense, Max, true),
        ("dense, mean", Dense, Mean, true),
        ("dense, max, no lists", Dense, Max, false),
        ("csr, max", Csr, Max, true),
        ("sparse, max", Sparse, Max, true),
    ];
    for (name, layout, mode, lists) in cases {
        let params = RoiPoolParams { layout, mode, lists, ..RoiPoolParams::default() };
        let mut pooler = RoiPooler::new(stream, &params)?;
        let mut pooled = pooler.output()?;
        let times = time(stream, rounds, || pooler.run(scene, features, &mut pooled))?;
        let report = pooled.report()?;
        let all = num_boxes * 12 * 12 * 12;
        let rows = if layout == Sparse { report.voxels } else { all };
        let mut words = input_bytes + rows * channels * if mode == Max { 2 } else { 1 };
        words += if layout == Sparse { rows * 4 } else { 0 };
        words += match (lists, layout) {
            (false, _) => 0,
            (true, Dense) => rows * 128,
            (true, _) => rows * 2 + report.kept,
        };
        add(name, times, words, Some(report.voxels));
        if layout == Csr || !lists {
            continue;
        }
        let grad = vec![0.5f32; rows * channels];
        let grad = stream.upload(&grad)?;
        let grad = Input::on_device(&grad, rows, channels)?;
        let mut out = FeatureBuffer::new(stream, ElementType::F32)?;
        // A located scene keeps what a gradient needs to know of it; a new one each round.
        let pooler = std::cell::RefCell::new((pooler, pooled));
        let forward = || {
            let (pooler, pooled) = &mut *pooler.borrow_mut();
            pooler.run(scene, features, pooled)
        };
        let backward = || {
            let (pooler, pooled) = &mut *pooler.borrow_mut();
            pooler.backward(pooled, grad, &mut out)
        };
        let times = time_after(stream, rounds, forward, backward)?;
        let words = report.voxels * channels * if mode == Max { 2 } else { 1 } + report.kept * 2 + n * channels;
        add(&format!("backward of {name}"), times, words, Some(report.voxels));
    }
    let mut inside = PointsInBoxes::new(stream, BoxParams::default())?;
    let (mut part, mut count) = (stream.alloc(0)?, stream.alloc(0)?);
    let times = time(stream, rounds, || inside.part(scene, &mut part))?;
    add("points in boxes, part", times, case.boxes.len() + n * 4, None);
    let times = time(stream, rounds, || inside.count(scene, &mut count))?;
    add("points in boxes, count", times, case.boxes.len() + n * 3 + num_boxes, None);
    Ok(measured)
}
