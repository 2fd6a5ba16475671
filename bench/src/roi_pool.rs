//! RoI-aware pooling and points in boxes.

use crate::{Measurement, RoiCase, Times, time, time_after};
use pointmill::roi_pool::{
    BoxParams, PointsInBoxes, PoolMode, Report, RoiLayout, RoiPoolParams, RoiPooled, RoiPooler, Scene,
};
use pointmill::{AnyBuffer, Dtype, Result, Rows, Stream};

/// A scene on the device.
struct Bench<'a> {
    stream: &'a Stream,
    scene: Scene<'a>,
    features: Rows<'a>,
    channels: usize,
    rounds: usize,
}

/// Pools a scene whose arrays lie on the device, in each layout, forward and backward, and finds
/// points in boxes.
///
/// # Errors
/// Out of memory, or a lost device.
pub fn roi_pool(stream: &Stream, case: &RoiCase, rounds: usize, copy_rate: f64) -> Result<Vec<Measurement>> {
    let (num_boxes, n, channels) = (case.boxes.len() / 7, case.points.len() / 3, case.channels);
    let (boxes, points) = (stream.upload(&case.boxes)?, stream.upload(&case.points)?);
    let features = stream.upload(&case.features)?;
    let scene = Scene::new(Rows::on_device(&boxes, num_boxes, 7)?, Rows::on_device(&points, n, 3)?);
    let bench = Bench { stream, scene, features: Rows::on_device(&features, n, channels)?, channels, rounds };
    let mut measured = Vec::new();
    let mut add = |name: &str, (times, words, voxels): (Times, usize, Option<usize>)| {
        let name = format!("{}: {name}", case.name);
        let m = Measurement::new(&name, stream, (n, channels), times, words as u64 * 4, copy_rate);
        measured.push(Measurement { voxels, ..m });
    };
    use {
        PoolMode::{Max, Mean},
        RoiLayout::{Csr, Dense, Sparse},
    };
    for (name, layout, mode, lists) in [
        ("dense, max", Dense, Max, true),
        ("dense, mean", Dense, Mean, true),
        ("dense, max, no lists", Dense, Max, false),
        ("csr, max", Csr, Max, true),
        ("sparse, max", Sparse, Max, true),
    ] {
        let params = RoiPoolParams { layout, mode, lists, ..RoiPoolParams::default() };
        let mut pooler = RoiPooler::new(stream, &params)?;
        let mut pooled = pooler.output()?;
        add(name, bench.forward(&params, &mut pooler, &mut pooled)?);
        if lists && layout != Csr {
            add(&format!("backward of {name}"), bench.backward(&params, pooler, pooled)?);
        }
    }
    let mut inside = PointsInBoxes::new(stream, BoxParams::default())?;
    let (mut part, mut count) = (stream.alloc(0)?, stream.alloc(0)?);
    let times = time(stream, rounds, || inside.part(scene, &mut part))?;
    add("points in boxes, part", (times, case.boxes.len() + n * 4, None));
    let times = time(stream, rounds, || inside.count(scene, &mut count))?;
    add("points in boxes, count", (times, case.boxes.len() + n * 3 + num_boxes, None));
    Ok(measured)
}

impl Bench<'_> {
    /// Times of a call, the fewest words it must move, and the voxels that hold points.
    fn forward(
        &self,
        params: &RoiPoolParams,
        pooler: &mut RoiPooler,
        pooled: &mut RoiPooled,
    ) -> Result<(Times, usize, Option<usize>)> {
        let times = time(self.stream, self.rounds, || pooler.run(self.scene, self.features, pooled))?;
        let report = pooled.report()?;
        let sparse = params.layout == RoiLayout::Sparse;
        let rows = rows(params, &report);
        let input = report.boxes * 7 + report.points * (3 + self.channels);
        let coords = if sparse { rows * 4 } else { 0 };
        let lists = match (params.lists, params.layout) {
            (false, _) => 0,
            (true, RoiLayout::Dense) => rows * (params.max_points_per_voxel as usize + 1),
            (true, _) => rows * 2 + report.kept,
        };
        Ok((times, input + rows * self.channels * values(params.mode) + coords + lists, Some(report.voxels)))
    }

    /// As [`Bench::forward`], of the gradient of a scene that was not located before: what a
    /// gradient needs to know of one is kept.
    fn backward(
        &self,
        params: &RoiPoolParams,
        pooler: RoiPooler,
        pooled: RoiPooled,
    ) -> Result<(Times, usize, Option<usize>)> {
        let report = pooled.report()?;
        let rows = rows(params, &report);
        let grad = self.stream.upload(&vec![0.5f32; rows * self.channels])?;
        let grad = Rows::on_device(&grad, rows, self.channels)?;
        let mut out = AnyBuffer::new(self.stream, Dtype::F32)?;
        let state = std::cell::RefCell::new((pooler, pooled));
        let forward = || {
            let (pooler, pooled) = &mut *state.borrow_mut();
            pooler.run(self.scene, self.features, pooled)
        };
        let backward = || {
            let (pooler, pooled) = &mut *state.borrow_mut();
            pooler.backward(pooled, grad, &mut out)
        };
        let times = time_after(self.stream, self.rounds, forward, backward)?;
        let of_rows = report.voxels * self.channels * values(params.mode) + report.kept * 2;
        Ok((times, of_rows + report.points * self.channels, Some(report.voxels)))
    }
}

/// Rows of the result.
fn rows(params: &RoiPoolParams, report: &Report) -> usize {
    if params.layout == RoiLayout::Sparse {
        report.voxels
    } else {
        report.boxes * params.out_size.iter().map(|&n| n as usize).product::<usize>()
    }
}

/// Values that a channel of a row has: the largest has an index beside it.
fn values(mode: PoolMode) -> usize {
    if mode == PoolMode::Max { 2 } else { 1 }
}
