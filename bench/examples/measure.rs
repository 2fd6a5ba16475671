//! Prints every measurement of a device: `measure [cpu|cuda] [rounds] [FILE:VOXEL ...]`.
use pointmill::{Device, PointCloud, Stream};
use pointmill_bench::{Sweep, builtin, copy_rate, sort, voxelize};
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let device = match args.first().map(String::as_str) {
        Some("cuda") => Device::cuda(0)?,
        Some("cpu2") => Device::cpu_with_threads(2)?,
        _ => Device::cpu_with_threads(1)?,
    };
    let rounds = args.get(1).map_or(Ok(50), |s| s.parse())?;
    let mut sweeps = if std::env::var_os("FILES_ONLY").is_some() { vec![] } else { builtin() };
    for a in args.iter().skip(2) {
        let (path, rest) = a.split_once(':').unwrap();
        let (columns, voxel) = rest.split_once(':').unwrap();
        let bytes = std::fs::read(path)?;
        let data: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        let v: f32 = voxel.parse()?;
        let size = if v < 0.1 { [v, v, 0.2] } else { [v; 3] };
        sweeps.push(Sweep { name: path.rsplit('/').next().unwrap().into(), cloud: PointCloud::new(data, columns.parse()?)?, voxel_size: size });
    }
    let stream = Stream::new(&device)?;
    let rate = copy_rate(&stream)?;
    println!("copy rate {:.2} TB/s", rate / 1e12);
    let mut all = Vec::new();
    for s in &sweeps { all.extend(voxelize(&stream, s, rounds, rate)?); }
    if !device.is_cpu() { for n in [100_000, 1_000_000, 10_000_000] { all.push(sort(&stream, n, rate)?); } }
    for m in all {
        println!("{:55} {:>9} x {} V {:>8} call {:8.4} p95 {:8.4} device {:8.4} floor {:7.4} ratio {:6.1}", m.case, m.points, m.columns, m.voxels.unwrap_or(0), m.median_ms, m.p95_ms, m.device_ms.unwrap_or(f64::NAN), m.floor_ms, m.ratio);
    }
    Ok(())
}
