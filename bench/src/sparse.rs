//! The front end of sparse detectors.

use crate::{Measurement, Sweep, Times, time};
use pointmill::sparse::{
    CellCoords, ConvKind, ConvParams, Densifier, GridOrigin, GridSampleParams, GridSampler, IndexPairs, Order,
    PillarEncoder, PillarParams, PillarPoints, PoolParams, Pooler, SampledArrays, SerializeParams, Serializer,
    SparseCells,
};
use pointmill::voxelize::{VoxelizeParams, voxelize};
use pointmill::{Aabb, Device, Pose, Result, Rows, Stream};

/// The grid, in metres.
const RANGE: Aabb = Aabb { min: [-54.0, -54.0, -5.0], max: [54.0, 54.0, 3.0] };
/// Bits of a coordinate of a cell: a detector knows its grid.
const DEPTH: u32 = 11;

/// Sweeps that a cloud is cut into, to move them into one frame.
const SWEEPS: usize = 10;
/// The edges of a pillar and its slots.
const PILLAR: ([f32; 3], u32) = ([0.32, 0.32, 8.0], 20);

/// Samples a cloud that lies on the device, orders its cells along two and four curves, makes larger
/// cells, finds the pairs of layers, moves sweeps into one frame and makes features of pillars; no
/// call waits.
///
/// # Errors
/// Out of memory, or a lost device.
pub fn sparse(stream: &Stream, sweep: &Sweep, rounds: usize, copy_rate: f64) -> Result<Vec<Measurement>> {
    let (n, columns) = (sweep.cloud.len(), sweep.cloud.columns());
    let buffer = stream.upload(sweep.cloud.data())?;
    let points = Rows::on_device(&buffer, n, columns)?;
    let params = GridSampleParams { origin: GridOrigin::Range(RANGE), ..GridSampleParams::new(sweep.voxel_size) };
    let mut sampler = GridSampler::new(stream, &params)?;
    let mut sampled = sampler.output()?;
    sampler.run(points, None, &mut sampled)?;
    let found = sampled.read()?;
    let cells = found.rows.len();
    // Room for a tenth more than there are: a caller knows the size of a usual frame.
    let params = GridSampleParams { capacity: Some(cells + cells / 10), ..params };
    let mut sampler = GridSampler::new(stream, &params)?;
    let mut measured = Vec::new();
    let mut add = |name: &str, times, bytes: usize| {
        let name = format!("{name}, {}, {cells} cells", sweep.name);
        measured.push(Measurement::new(&name, stream, (n, columns), times, bytes as u64, copy_rate));
    };
    let times = time(stream, rounds, || sampler.run(points, None, &mut sampled))?;
    let of_sample = n * 4 * (columns + 1) + cells * 20;
    add("grid sample", times, of_sample);
    let two = SerializeParams { depth: Some(DEPTH), orders: vec![Order::Z, Order::Hilbert] };
    let four = SerializeParams { orders: Order::ALL.to_vec(), ..two.clone() };
    for (name, params) in [("2 orders", &two), ("4 orders", &four)] {
        let mut serializer = Serializer::new(stream, params)?;
        let mut ordered = serializer.output()?;
        let times = time(stream, rounds, || serializer.run(sampled.cells()?, &mut ordered))?;
        add(name, times, cells * (12 + 16 * params.orders.len()));
    }
    let mut serializer = Serializer::new(stream, &two)?;
    let mut pooler = Pooler::new(stream, &PoolParams::default())?;
    let (mut ordered, mut stages) = (serializer.output()?, pooler.output()?);
    let times = time(stream, rounds, || {
        sampler.run(points, None, &mut sampled)?;
        serializer.run(sampled.cells()?, &mut ordered)?;
        pooler.run(sampled.cells()?, &ordered, &mut stages)
    })?;
    add("grid sample, 2 orders, 4 stages", times, of_sample + cells * 44);
    for (name, params) in layers(cells) {
        let times = pairs(stream, &found, &params, rounds)?;
        add(name, times, cells * (16 + 4 * 27));
    }
    add("densify 10 sweeps", densify(stream, sweep, rounds)?, n * 4 * (2 * columns + 1));
    let (times, bytes) = pillars(stream, sweep, rounds)?;
    add("pillar features", times, bytes);
    Ok(measured)
}

/// Layers of 3 x 3 x 3 offsets; the strided one has room for as many outputs as inputs.
fn layers(cells: usize) -> [(&'static str, ConvParams); 2] {
    let (same, kind) = (ConvParams::default(), ConvKind::Strided);
    let strided = ConvParams { kind, stride: [2; 3], padding: [1; 3], capacity: Some(cells as u32), ..same };
    [("submanifold pairs", same), ("strided pairs", strided)]
}

fn pairs(stream: &Stream, found: &SampledArrays, params: &ConvParams, rounds: usize) -> Result<Times> {
    let rows: Vec<i32> = found.grid_coord.chunks_exact(3).flat_map(|c| [0, c[2], c[1], c[0]]).collect();
    let highest = |axis: usize| found.grid_coord.iter().skip(axis).step_by(3).max().map_or(1, |&c| c as u32 + 1);
    let buffer = stream.upload(&rows)?;
    let coords = CellCoords::on_device(&buffer, rows.len() / 4)?;
    let cells = SparseCells::new(coords, 1, [highest(2), highest(1), highest(0)]);
    let mut worker = IndexPairs::new(stream, params)?;
    let mut out = worker.output()?;
    time(stream, rounds, || worker.run(cells, &mut out))
}

fn densify(stream: &Stream, sweep: &Sweep, rounds: usize) -> Result<Times> {
    let (n, columns) = (sweep.cloud.len(), sweep.cloud.columns());
    let parts = sweep.cloud.data().chunks(n.div_ceil(SWEEPS) * columns);
    let buffers = parts.map(|part| stream.upload(part)).collect::<Result<Vec<_>>>()?;
    let rows = buffers.iter().map(|part| Rows::on_device(part, part.len() / columns, columns));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    let poses: Vec<Pose> = (0..rows.len()).map(|i| Pose::from_translation([i as f64, 0.1, 0.0])).collect();
    let lags: Vec<f32> = (0..rows.len()).map(|i| i as f32 * 0.05).collect();
    let mut densifier = Densifier::new(stream)?;
    let mut out = stream.alloc(0)?;
    time(stream, rounds, || densifier.run(&rows, &poses, &lags, &mut out))
}

/// The times of features alone, of pillars that lie on the device, and the bytes that are moved.
fn pillars(stream: &Stream, sweep: &Sweep, rounds: usize) -> Result<(Times, usize)> {
    let (size, slots) = PILLAR;
    let params = VoxelizeParams {
        voxel_size: size,
        range: RANGE,
        max_points_per_voxel: Some(slots),
        ..VoxelizeParams::default()
    };
    let found = voxelize(&sweep.cloud, &params, &Device::cpu())?.read()?;
    let columns = found.columns;
    let voxels = stream.upload(&found.voxels.unwrap_or_default())?;
    let (counts, cells) = (stream.upload(&found.num_points)?, stream.upload(&found.coords)?);
    let rows = Rows::on_device(&voxels, found.num_voxels * slots as usize, columns)?;
    let pillars = PillarPoints::on_device(rows, slots as usize, &counts, &cells, found.coord_columns)?;
    let features = columns as u32 + 5;
    let mut encoder = PillarEncoder::new(stream, &PillarParams { features, ..PillarParams::new(size, RANGE.min) })?;
    let mut out = stream.alloc(0)?;
    let times = time(stream, rounds, || encoder.run(pillars, &mut out))?;
    Ok((times, rows.len() * 4 * (columns + features as usize)))
}
