//! What calls allocate: a voxelizer that has seen its largest sweep nothing, points in boxes no
//! more than the size of the result.

use allocation_counter::measure;
use pointmill::roi_pool::{BoxParams, PointsInBoxes, Scene};
use pointmill::voxelize::{Outputs, RowOrder, VoxelizeParams, Voxelizer};
use pointmill::{Device, Result, Rows};
use pointmill_synth::{Drive, DriveParams};

/// Counted on this thread, so with one thread: waking others is rayon's business.
#[test]
fn a_warm_voxelizer_allocates_nothing() -> Result<()> {
    let drive = Drive::new(DriveParams::default());
    let sweeps: Vec<_> = (0..3).map(|i| drive.sweep(i)).collect();
    // The current thread is the pool, so that its allocations are the ones that are counted.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().expect("a pool");
    for order in [RowOrder::FirstSeen, RowOrder::Sorted] {
        let outputs = Outputs { lists: true, ..Outputs::default() };
        let params = VoxelizeParams { order, outputs, ..VoxelizeParams::default() };
        let allocations = pool.install(|| -> Result<u64> {
            let mut voxelizer = Voxelizer::new(&Device::cpu().stream()?, &params)?;
            let mut voxels = voxelizer.output()?;
            let cold = measure(|| voxelizer.run(&sweeps[0], &mut voxels).expect("a valid sweep"));
            assert!(cold.count_total > 0, "the counter counts");
            for sweep in &sweeps {
                voxelizer.run(sweep, &mut voxels)?;
            }
            let warm = measure(|| {
                for sweep in &sweeps {
                    voxelizer.run(sweep, &mut voxels).expect("a valid sweep");
                }
            });
            Ok(warm.count_total)
        })?;
        assert_eq!(allocations, 0, "{order:?}");
    }
    Ok(())
}

/// Boxes that all hold all points: memory follows boxes and points, and not the pairs of both.
#[test]
fn points_in_boxes_take_no_memory_for_pairs() -> Result<()> {
    let _pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().expect("a pool");
    let (boxes, points) = (400, 10_000);
    let rows: Vec<f32> = (0..boxes).flat_map(|i| [0.0, 0.0, -2.0, 8.0, 8.0, 4.0, i as f32 * 0.01]).collect();
    let xyz: Vec<f32> = (0..points).flat_map(|i| [(i as f32).sin(), (i as f32).cos(), 0.0]).collect();
    let scene = Scene::new(Rows::new(&rows, 7)?, Rows::new(&xyz, 3)?);
    let stream = Device::cpu().stream()?;
    let mut inside = PointsInBoxes::new(&stream, BoxParams::default())?;
    let (mut part, mut count, mut bits) = (stream.alloc(0)?, stream.alloc(0)?, stream.alloc(0)?);
    let of_part = measure(|| inside.part(scene, &mut part).expect("a valid scene")).bytes_max;
    let of_count = measure(|| inside.count(scene, &mut count).expect("a valid scene")).bytes_max;
    let of_bits = measure(|| inside.bits(scene, &mut bits).expect("a valid scene")).bytes_max;
    assert_eq!(part.read(points)?, vec![0; points]);
    assert_eq!(count.read(boxes)?, vec![points as i32; boxes]);
    // 64 bytes a box and its range, three coordinates and the result a point; a list of pairs would
    // have 16 MB.
    let most = 128 * (boxes + points) as u64;
    assert!(of_part < most && of_count < most, "{of_part} and {of_count} bytes of at most {most}");
    assert!(of_bits < most + (points * boxes.div_ceil(32) * 4) as u64, "{of_bits} bytes");
    Ok(())
}
