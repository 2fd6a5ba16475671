//! Device memory that is refused, and a device that is lost, on the host twin: each is told as what it is, wherever it comes, and what can be
//! used afterwards gives the same bits as before.

use pointmill::icp::{Aligner, IcpParams, Metric, Registration, Search, Stage, Target, Timing};
use pointmill::ndt::{NdtBuilder, NdtCloud, NdtParams};
use pointmill::roi_pool::{RoiPoolParams, RoiPooler, Scene};
use pointmill::voxelize::{RowOrder, VoxelizeParams, Voxelizer};
use pointmill::{Coordinates, Device, Error, Input, PointCloud, Stream, TwinFault};
use pointmill_synth::RoiScene;

fn cloud(n: usize) -> PointCloud {
    let point = |i: usize| {
        let at = i as f32 * 0.618;
        [40.0 * at.sin(), 40.0 * (1.7 * at).cos(), -1.0 + (0.3 * at).sin(), 0.5]
    };
    PointCloud::new((0..n).flat_map(point).collect(), 4).unwrap()
}

/// Does the work with each allocation refused once, and with each launch the device's last; how many of each there were.
///
/// After a refusal the same state must give what it gives without one.
fn each_fails<S, R: PartialEq>(
    make: impl Fn(&Stream) -> Result<S, Error>,
    work: impl Fn(&mut S, &Stream) -> Result<R, Error>,
) -> [usize; 2] {
    let stream = Device::twin().stream().unwrap();
    let whole = work(&mut make(&stream).unwrap(), &stream).unwrap();
    [TwinFault::OutOfMemory, TwinFault::Lost].map(|fault| {
        for k in 0.. {
            let mut state = make(&stream).unwrap();
            Device::fail_twin(Some((fault, k)));
            let done = work(&mut state, &stream);
            Device::fail_twin(None);
            match (done, fault) {
                (Ok(done), _) => {
                    assert!(done == whole, "{fault:?} {k}");
                    assert!(k > 0, "{fault:?}: there was nothing to fail");
                    return k;
                }
                (Err(Error::OutOfMemory { device, .. }), TwinFault::OutOfMemory) => {
                    assert_eq!(device, "twin");
                    let again = work(&mut state, &stream).unwrap_or_else(|e| panic!("{fault:?} {k}: then {e}"));
                    assert!(again == whole, "{fault:?} {k}: the state is not what it was");
                }
                // Nothing is promised of what was on a device that is lost.
                (Err(Error::DeviceLost { .. }), TwinFault::Lost) => {}
                (Err(e), _) => panic!("{fault:?} {k}: told as {e}"),
            }
        }
        unreachable!("the loop has no end of its own")
    })
}

#[test]
fn voxelize_tells_of_every_fault() {
    let cloud = cloud(3000);
    for order in [RowOrder::FirstSeen, RowOrder::Sorted] {
        let params = VoxelizeParams { order, max_voxels: 4000, ..VoxelizeParams::default() };
        let counts = each_fails(
            |stream| {
                let voxelizer = Voxelizer::new(stream, &params)?;
                let voxels = voxelizer.output()?;
                Ok((voxelizer, voxels))
            },
            |(voxelizer, voxels), _| {
                voxelizer.run(&cloud, voxels)?;
                voxels.read()
            },
        );
        println!("voxelize, {order:?}: {counts:?}");
    }
}

#[test]
fn roi_pool_tells_of_every_fault() {
    let scene = RoiScene::street(12, 1500, 0);
    let features = scene.features(4);
    let params = RoiPoolParams { out_size: [3; 3], max_points_per_voxel: 8, ..RoiPoolParams::default() };
    let counts = each_fails(
        |stream| {
            let pooler = RoiPooler::new(stream, &params)?;
            let pooled = pooler.output()?;
            Ok((pooler, pooled))
        },
        |(pooler, pooled), _| {
            let input = Scene::new(Input::new(&scene.boxes, 7)?, Input::new(&scene.points, 3)?);
            pooler.run(input, Input::new(&features, 4)?, pooled)?;
            pooled.read()
        },
    );
    println!("roi_pool: {counts:?}");
}

/// A map in the making has what was added before, and nothing of what failed.
#[test]
fn ndt_tells_of_every_fault_and_keeps_what_it_had() {
    let (first, second) = (cloud(1000), cloud(6000));
    let params = NdtParams { min_points: 3, ..NdtParams::default() };
    let counts = each_fails(
        |stream| {
            let mut builder = NdtBuilder::new(stream, 1.0)?;
            builder.add(NdtCloud::f32(first.data(), 4)?)?;
            Ok((builder, false))
        },
        |(builder, added), _| {
            if !*added {
                builder.add(NdtCloud::f32(second.data(), 4)?)?;
                *added = true;
            }
            let grid = builder.finish(&params)?;
            Ok((grid.read()?, builder.moments()?))
        },
    );
    println!("ndt: {counts:?}");
}

fn without_times(mut found: Registration) -> Registration {
    found.prepare_ms = 0.0;
    found.trace.iter_mut().for_each(|look| look.timing = Timing::default());
    found
}

/// An aligner and a target that a call failed on align as before.
#[test]
fn icp_tells_of_every_fault() {
    let (first, second, onto) = (cloud(30), cloud(20), cloud(40));
    let rows = |cloud: &PointCloud| cloud.data().to_vec();
    let (first, second, onto) = (rows(&first), rows(&second), rows(&onto));
    let stage = |voxel_size| Stage { voxel_size, max_distance: None };
    let params = IcpParams {
        metric: Metric::Gicp,
        search: Search::Lbvh,
        max_iterations: 0,
        neighbours: 3,
        ..IcpParams::default()
    };
    let counts = each_fails(Aligner::new, |aligner, _| {
        let (first, onto) = (Coordinates::f32(&first, 4)?, Coordinates::f32(&onto, 4)?);
        aligner.align(first, onto, &params).map(without_times)
    });
    println!("icp: {counts:?}");
    // Of two stages, whose targets are made one after the other.
    let schedule = vec![stage(4.0), stage(0.0)];
    let params = IcpParams { metric: Metric::PointToPlane, search: Search::KdTree, schedule, ..params };
    let counts = each_fails(
        |stream| Target::new(stream, Coordinates::f32(&onto, 4)?, &params),
        |target, _| {
            let [first, second] = [&first, &second].map(|rows| target.align(Coordinates::f32(rows, 4)?));
            Ok([without_times(first?), without_times(second?)])
        },
    );
    println!("icp onto a target: {counts:?}");
}
