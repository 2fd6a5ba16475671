//! A voxelizer that has seen its largest sweep allocates nothing.

use allocation_counter::measure;
use pointmill::voxelize::{Outputs, RowOrder, VoxelizeParams, Voxelizer};
use pointmill::{Device, Result};
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
