//! The front end of sparse detectors.

use crate::{Measurement, Sweep, time};
use pointmill::sparse::{
    GridOrigin, GridSampleParams, GridSampler, Order, PoolParams, Pooler, SerializeParams, Serializer,
};
use pointmill::{Aabb, Result, Rows, Stream};

/// Half the length of the grid along x and y, and its bottom and top, in metres.
const RANGE: [f32; 6] = [-54.0, -54.0, -5.0, 54.0, 54.0, 3.0];
/// Bits of a coordinate of a cell: a detector knows its grid.
const DEPTH: u32 = 11;

/// Samples a cloud that lies on the device, orders its cells along two and four curves, and makes
/// larger cells; no call waits.
///
/// # Errors
/// Out of memory, or a lost device.
pub fn sparse(stream: &Stream, sweep: &Sweep, rounds: usize, copy_rate: f64) -> Result<Vec<Measurement>> {
    let (n, columns) = (sweep.cloud.len(), sweep.cloud.columns());
    let buffer = stream.upload(sweep.cloud.data())?;
    let points = Rows::on_device(&buffer, n, columns)?;
    let range = Aabb::new([RANGE[0], RANGE[1], RANGE[2]], [RANGE[3], RANGE[4], RANGE[5]]);
    let params = GridSampleParams { origin: GridOrigin::Range(range), ..GridSampleParams::new(sweep.voxel_size) };
    let whole = GridSampler::new(stream, &params)?;
    let mut sampled = whole.output()?;
    let mut sampler = whole;
    sampler.run(points, None, &mut sampled)?;
    let cells = sampled.read()?.rows.len();
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
    Ok(measured)
}
