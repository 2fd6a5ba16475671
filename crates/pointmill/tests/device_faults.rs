//! Device memory that is refused, and a device that is lost, on the host twin: each is told as what
//! it is, wherever it comes, and what can be used afterwards gives the same bits as before.

use pointmill::icp::{Aligner, IcpParams, Metric, Registration, Search, Searcher, Stage, Target, Timing};
use pointmill::ndt::{NdtBuilder, NdtParams, NdtReport};
use pointmill::roi_pool::{self, BoxParams, PointsInBoxes, RoiLayout, RoiPoolParams, RoiPooler, Scene};
use pointmill::voxelize::{self, Outputs, Reduction, RowOrder, VoxelizeParams, Voxelizer, scatter};
use pointmill::{Device, Error, PointCloud, Pose, Rows, Stream, TwinFault};
use pointmill_synth::RoiScene;

fn cloud(n: usize) -> PointCloud {
    let point = |i: usize| {
        let at = i as f32 * 0.618;
        [40.0 * at.sin(), 40.0 * (1.7 * at).cos(), -1.0 + (0.3 * at).sin(), 0.5]
    };
    PointCloud::new((0..n).flat_map(point).collect(), 4).unwrap()
}

/// Does the work with each allocation refused once, and with each launch the device's last; how
/// many of each there were.
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
    let params = RoiPoolParams { out_size: [3; 3], max_points_per_voxel: 7, ..RoiPoolParams::default() };
    let counts = each_fails(
        |stream| {
            let pooler = RoiPooler::new(stream, &params)?;
            let pooled = pooler.output()?;
            Ok((pooler, pooled))
        },
        |(pooler, pooled), _| {
            let input = Scene::new(Rows::new(&scene.boxes, 7)?, Rows::new(&scene.points, 3)?);
            pooler.run(input, Rows::new(&features, 4)?, pooled)?;
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
            let mut builder = NdtBuilder::new(stream, 1.0, &params)?;
            builder.add(Rows::f32(first.data(), 4)?)?;
            Ok((builder, false))
        },
        |(builder, added), _| {
            if !*added {
                builder.add(Rows::f32(second.data(), 4)?)?;
                *added = true;
            }
            let grid = builder.finish()?;
            Ok((grid.read()?, builder.moments()?))
        },
    );
    println!("ndt: {counts:?}");
}

fn without_times(mut found: Registration) -> Registration {
    found.fit.prepare_ms = 0.0;
    found.fit.trace.iter_mut().for_each(|look| look.timing = Timing::default());
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
    let counts = each_fails(
        |stream| Aligner::new(stream, &params),
        |aligner, _| {
            let (first, onto) = (Rows::f32(&first, 4)?, Rows::f32(&onto, 4)?);
            aligner.align(first, onto, &Pose::IDENTITY).map(without_times)
        },
    );
    println!("icp: {counts:?}");
    // Of two stages, whose targets are made one after the other.
    let schedule = vec![stage(4.0), stage(0.0)];
    let params = IcpParams { metric: Metric::PointToPlane, search: Search::KdTree, schedule, ..params };
    let counts = each_fails(
        |stream| Target::new(stream, Rows::f32(&onto, 4)?, &params),
        |target, _| {
            let [first, second] = [&first, &second].map(|rows| target.align(Rows::f32(rows, 4)?, &Pose::IDENTITY));
            Ok([without_times(first?), without_times(second?)])
        },
    );
    println!("icp onto a target: {counts:?}");
}

/// Does a call after one that filled the same result, with each allocation and each launch refused
/// in turn; `after` looks at what the failed call left.
fn each_leaves<S>(
    make: impl Fn(&Stream) -> Result<S, Error>,
    fill: impl Fn(&mut S) -> Result<(), Error>,
    call: impl Fn(&mut S) -> Result<(), Error>,
    after: impl Fn(&mut S, &str),
) {
    for fault in [TwinFault::OutOfMemory, TwinFault::Lost] {
        for k in 0.. {
            let mut state = make(&Device::twin().stream().unwrap()).unwrap();
            fill(&mut state).unwrap();
            Device::fail_twin(Some((fault, k)));
            let done = call(&mut state);
            Device::fail_twin(None);
            if done.is_ok() {
                assert!(k > 0, "{fault:?}: there was nothing to fail");
                break;
            }
            after(&mut state, &format!("{fault:?} {k}"));
        }
    }
}

/// Wherever a call fails, its result has no rows: neither those of the call before nor memory that
/// nobody wrote.
#[test]
fn voxels_of_a_call_that_failed_are_none() {
    let (small, large) = (cloud(50), cloud(3000));
    let lists = Outputs { lists: true, ..Outputs::default() };
    let hard = VoxelizeParams { outputs: lists, max_voxels: 4000, ..VoxelizeParams::default() };
    let mut padded = hard.clone();
    padded.outputs.padded = true;
    let dynamic = VoxelizeParams::dynamic([0.5; 3], hard.range);
    for (params, batch) in [(&hard, false), (&padded, false), (&dynamic, false), (&hard, true)] {
        let run = |(voxelizer, voxels): &mut (Voxelizer, voxelize::Voxels), cloud: &PointCloud| {
            if batch { voxelizer.run_batch(cloud, &[0, 20, cloud.len()], voxels) } else { voxelizer.run(cloud, voxels) }
        };
        each_leaves(
            |stream| {
                let voxelizer = Voxelizer::new(stream, params)?;
                let voxels = voxelizer.output()?;
                Ok((voxelizer, voxels))
            },
            |state| run(state, &small),
            |state| run(state, &large),
            |(_, voxels), what| {
                assert_eq!((voxels.num_voxels(), voxels.num_input_points()), (Ok(0), 0), "{what}");
                assert_eq!(voxels.report(), Ok(voxelize::Report::default()), "{what}");
                let read = voxels.read().unwrap();
                assert!(read.coords.is_empty() && read.num_points.is_empty(), "{what}");
                assert_eq!((read.row_splits, read.indices), (Some(vec![0]), Some(vec![])), "{what}");
                assert_eq!(read.voxel_splits, batch.then(|| vec![0]), "{what}");
                for n in [0, 50, 3000] {
                    let features = vec![1.0f32; n * 4];
                    let told = scatter(voxels, Rows::new(&features, 4).unwrap(), Reduction::Sum).unwrap_err();
                    let expected = "voxels: expected a result that a call has filled, got one without rows";
                    assert_eq!(told.to_string(), expected, "{what}");
                }
            },
        );
    }
}

/// The same of pooled features and of lists of points in boxes.
#[test]
fn pooled_features_and_lists_of_a_call_that_failed_are_none() {
    let (small, large) = (RoiScene::street(3, 100, 0), RoiScene::street(12, 1500, 0));
    let scene = |of: &RoiScene| -> Result<_, Error> { Ok((of.boxes.clone(), of.points.clone(), of.features(4))) };
    let (small, large) = (scene(&small).unwrap(), scene(&large).unwrap());
    type Arrays = (Vec<f32>, Vec<f32>, Vec<f32>);
    for layout in [RoiLayout::Dense, RoiLayout::Csr, RoiLayout::Sparse] {
        let params = RoiPoolParams { layout, out_size: [3; 3], max_points_per_voxel: 7, ..RoiPoolParams::default() };
        let run = |(pooler, pooled): &mut (RoiPooler, roi_pool::RoiPooled), (boxes, points, features): &Arrays| {
            let scene = Scene::new(Rows::new(boxes, 7)?, Rows::new(points, 3)?);
            pooler.run(scene, Rows::new(features, 4)?, pooled)
        };
        each_leaves(
            |stream| {
                let pooler = RoiPooler::new(stream, &params)?;
                let pooled = pooler.output()?;
                Ok((pooler, pooled))
            },
            |state| run(state, &small),
            |state| run(state, &large),
            |(_, pooled), what| {
                assert_eq!((pooled.num_voxels(), pooled.report()), (Ok(0), Ok(roi_pool::Report::default())), "{what}");
                assert_eq!(pooled.read().unwrap().boxes, 0, "{what}");
            },
        );
    }
    for by_point in [true, false] {
        let run = |(inside, lists): &mut (PointsInBoxes, roi_pool::BoxLists), (boxes, points, _): &Arrays| {
            let scene = Scene::new(Rows::new(boxes, 7)?, Rows::new(points, 3)?);
            if by_point { inside.all(scene, lists) } else { inside.crop(scene, lists) }
        };
        each_leaves(
            |stream| {
                let inside = PointsInBoxes::new(stream, BoxParams::default())?;
                let lists = inside.lists()?;
                Ok((inside, lists))
            },
            |state| run(state, &small),
            |state| run(state, &large),
            |(inside, lists), what| {
                assert_eq!((lists.num_rows(), lists.num_indices()), (0, 0), "{what}");
                assert_eq!(lists.read().unwrap(), (vec![0], vec![]), "{what}");
                // What calls share is as good as before.
                if what.starts_with("OutOfMemory") {
                    let mut fresh = PointsInBoxes::new(&Device::cpu().stream().unwrap(), BoxParams::default()).unwrap();
                    let mut want = fresh.lists().unwrap();
                    let scene = Scene::new(Rows::new(&large.0, 7).unwrap(), Rows::new(&large.1, 3).unwrap());
                    if by_point { fresh.all(scene, &mut want) } else { fresh.crop(scene, &mut want) }.unwrap();
                    if by_point { inside.all(scene, lists) } else { inside.crop(scene, lists) }.unwrap();
                    assert!(lists.read().unwrap() == want.read().unwrap(), "{what}");
                }
            },
        );
    }
}

/// The same of a grid that was there before, and of the points of a searcher.
#[test]
fn grids_and_searchers_of_a_call_that_failed_are_empty() {
    let (small, large) = (cloud(1000), cloud(6000));
    let params = NdtParams { min_points: 3, ..NdtParams::default() };
    each_leaves(
        |stream| {
            let [few, mut many] = [NdtBuilder::new(stream, 1.0, &params)?, NdtBuilder::new(stream, 1.0, &params)?];
            many.add(Rows::f32(large.data(), 4)?)?;
            let mut few = few;
            few.add(Rows::f32(small.data(), 4)?)?;
            Ok((few.finish()?, many))
        },
        |_| Ok(()),
        |(grid, many)| many.finish_into(grid),
        |(grid, _), what| {
            assert_eq!((grid.len(), grid.report()), (0, &NdtReport::default()), "{what}");
            assert!(grid.read().unwrap().coords.is_empty(), "{what}");
            assert_eq!(grid.lookup(&[[0; 3], [1, 1, -1]]).unwrap(), [-1, -1], "{what}");
        },
    );
    for search in [Search::Lbvh, Search::KdTree, Search::Brute] {
        each_leaves(
            |stream| {
                let [few, many] = [stream.upload(&small.data()[..400])?, stream.upload(&large.data()[..2400])?];
                Ok((Searcher::new(stream, Rows::on_device(&few, 100, 4)?, search)?, many))
            },
            |_| Ok(()),
            |(searcher, many)| searcher.update(Rows::on_device(many, 600, 4)?),
            |(searcher, many), what| {
                assert!(searcher.is_empty(), "{what}");
                assert_eq!(searcher.nearest(&[[0.0; 3]], None).unwrap(), [None], "{what}");
                assert_eq!(searcher.neighbours(&[[0.0; 3]], 2, None).unwrap(), [vec![]], "{what}");
                if what.starts_with("OutOfMemory") {
                    searcher.update(Rows::on_device(many, 600, 4).unwrap()).unwrap();
                    let rows: Vec<[f32; 3]> = large.points().iter_xyz().take(600).collect();
                    let cloud = Rows::f32(rows.as_flattened(), 3).unwrap();
                    let want = Searcher::new(&Device::cpu().stream().unwrap(), cloud, search).unwrap();
                    assert_eq!(searcher.nearest(&rows, None).unwrap(), want.nearest(&rows, None).unwrap(), "{what}");
                }
            },
        );
    }
}
