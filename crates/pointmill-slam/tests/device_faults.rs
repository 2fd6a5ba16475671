//! Device memory that is refused, and a device that is lost, on the host twin: odometry reports
//! each as what it is.

use pointmill::{Device, Error, PointCloud, TwinFault};
use pointmill_slam::odometry::{Odometry, OdometryParams};

/// The floor and two walls of a hall, from a sensor that moved along x: the prediction fits, so that
/// there is no search with its thousands of calls.
fn hall(moved: f32) -> PointCloud {
    let at = |i: usize| ((i % 20) as f32 * 2.0 - 19.0, (i / 20) as f32 * 2.0 - 19.0);
    let planes = |(a, b): (f32, f32)| [[a - moved, b, -1.5], [a - moved, 20.0, b + 18.0], [20.0 - moved, a, b + 18.0]];
    let rows = (0..400).map(at).flat_map(planes).flat_map(|[x, y, z]| [x, y, z, 0.5]);
    PointCloud::new(rows.collect(), 4).unwrap()
}

/// A push that failed before anything was done is done again; after one that failed half-way there
/// is no other.
#[test]
fn odometry_tells_of_every_fault() {
    let (stream, sweeps) = (Device::twin().stream().unwrap(), [hall(0.0), hall(0.1), hall(0.2)]);
    let params =
        OdometryParams { voxel_size: Some(4.0), min_range: 0.5, max_iterations: 2, ..OdometryParams::default() };
    let push =
        |odometry: &mut Odometry, sweep: &PointCloud| odometry.push(sweep, None).map(|step| step.world_from_sensor);
    let mut odometry = Odometry::new(&stream, &params).unwrap();
    let whole = sweeps.each_ref().map(|sweep| push(&mut odometry, sweep).unwrap());
    for fault in [TwinFault::OutOfMemory, TwinFault::Lost] {
        let (mut again, mut refused) = (0, 0);
        for k in 0.. {
            let mut odometry = Odometry::new(&stream, &params).unwrap();
            Device::fail_twin(Some((fault, k)));
            let failed = sweeps.iter().position(|sweep| match (push(&mut odometry, sweep), fault) {
                (Ok(_), _) => false,
                (Err(Error::OutOfMemory { .. }), TwinFault::OutOfMemory) => true,
                (Err(Error::DeviceLost { .. }), TwinFault::Lost) => true,
                (Err(e), _) => panic!("{fault:?} {k}: told as {e}"),
            });
            Device::fail_twin(None);
            let Some(failed) = failed else { break };
            match push(&mut odometry, &sweeps[failed]) {
                Ok(pose) => {
                    assert_eq!(pose, whole[failed], "{fault:?} {k}");
                    again += 1;
                }
                Err(e) => {
                    let wanted = "odometry: expected one whose map is whole, such as a new one, got one that a push failed on half-way";
                    assert_eq!(e.to_string(), wanted);
                    refused += 1;
                }
            }
        }
        println!("odometry, {fault:?}: {again} done again, {refused} refused");
        assert!(again > 3 && refused > 3, "{fault:?}: {again} {refused}");
    }
}
