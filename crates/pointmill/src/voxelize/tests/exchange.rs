//! Arrays of results taken out, and arrays of others put in.

use super::*;
use crate::testing::{devices, kernel_devices};
use crate::{Buffer, Stream};

const POINTS: [f32; 15] = [0.5, 0.5, 0.5, 2.5, 0.5, 0.5, 0.6, 0.5, 0.5, 3.5, 0.5, 0.5, 2.6, 0.5, 0.5];

fn params() -> VoxelizeParams {
    let range = crate::Aabb::new([0.0; 3], [4.0, 4.0, 1.0]);
    let outputs = Outputs { lists: true, ..Outputs::default() };
    VoxelizeParams { outputs, max_points_per_voxel: Some(2), ..VoxelizeParams::new([1.0; 3], range) }
}

fn cloud() -> Points<'static> {
    Points::new(&POINTS, 3).unwrap()
}

/// What a call made can be taken, and the result goes on with the arrays that came in its place.
#[test]
fn arrays_are_taken_and_made_anew() {
    for (name, device) in devices() {
        let stream = device.stream().unwrap();
        let mut voxelizer = Voxelizer::new(&stream, &params()).unwrap();
        let mut voxels = voxelizer.output().unwrap();
        voxelizer.run(cloud(), &mut voxels).unwrap();
        let want = voxels.read().unwrap();
        let taken = voxels.exchange(VoxelBuffers::new(&stream, &params()).unwrap()).unwrap();
        assert_eq!((voxels.num_voxels().unwrap(), voxels.report().unwrap()), (0, Report::default()), "{name}");
        let empty = voxels.read().unwrap();
        assert!(empty.coords.is_empty() && empty.point_to_voxel == Some(vec![]), "{name}");
        assert_eq!(empty.lists, Some((vec![0], vec![])), "{name}");
        let e = scatter(&voxels, Points::new(&[], 3).unwrap(), ScatterMode::Sum).unwrap_err().to_string();
        let expected = "voxels: expected a result that a call has filled, got one without rows";
        assert_eq!(e, expected, "{name}");
        // Another cloud into the new arrays leaves the old ones as they are.
        voxelizer.run(Points::new(&[3.5, 3.5, 0.5], 3).unwrap(), &mut voxels).unwrap();
        assert_eq!(voxels.read().unwrap().coords, [0, 3, 3], "{name}");
        assert_eq!(taken.coords.read(want.coords.len()).unwrap(), want.coords, "{name}");
        assert_eq!(taken.voxels.unwrap().read(18).unwrap(), want.voxels.unwrap(), "{name}");
        assert_eq!(taken.point_to_voxel.unwrap().read(5).unwrap(), [0, 1, 0, 2, 1], "{name}");
        assert_eq!(taken.lists.unwrap().indices.read(5).unwrap(), [0, 2, 1, 4, 3], "{name}");
    }
}

/// The arrays of a result in memory that outlives them, as somebody else's.
fn lent(stream: &Stream, memory: &VoxelBuffers, rows: usize) -> VoxelBuffers {
    fn over<T: bytemuck::Pod>(stream: &Stream, memory: &Buffer<T>, len: usize) -> Buffer<T> {
        assert!(len <= memory.len());
        // SAFETY: the test keeps the memory, which has room.
        unsafe { Buffer::from_raw_cuda(stream, memory.device_pointer(), len) }.unwrap()
    }
    let Some(Mean::F32(mean)) = &memory.mean else { panic!("means of f32") };
    let lists = memory.lists.as_ref().unwrap();
    VoxelBuffers {
        coords: over(stream, &memory.coords, rows * 3),
        num_points: over(stream, &memory.num_points, rows),
        voxels: memory.voxels.as_ref().map(|b| over(stream, b, rows * 6)),
        mean: Some(Mean::F32(over(stream, mean, rows * 3))),
        point_to_voxel: memory.point_to_voxel.as_ref().map(|b| over(stream, b, 5)),
        lists: Some(Lists {
            row_splits: over(stream, &lists.row_splits, rows + 1),
            indices: over(stream, &lists.indices, 5),
        }),
    }
}

/// Results go to memory of the caller's, which is never replaced.
#[test]
fn results_go_to_memory_of_others() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut voxelizer = Voxelizer::new(&stream, &params()).unwrap();
        let mut voxels = voxelizer.output().unwrap();
        voxelizer.run(cloud(), &mut voxels).unwrap();
        let want = voxels.read().unwrap();
        let memory = voxels.exchange(VoxelBuffers::new(&stream, &params()).unwrap()).unwrap();
        for _ in 0..2 {
            voxels.exchange(lent(&stream, &memory, 5)).unwrap();
            voxelizer.run(cloud(), &mut voxels).unwrap();
            assert_same(&voxels.read().unwrap(), &want, name);
        }
        assert_eq!(memory.coords.read(9).unwrap(), want.coords, "{name}");
        // There may be five rows, and there is room for two.
        voxels.exchange(lent(&stream, &memory, 2)).unwrap();
        let e = voxelizer.run(cloud(), &mut voxels).unwrap_err().to_string();
        assert_eq!(e, "buffer: expected room for 15 elements in memory that is not pointmill's own, got 6", "{name}");
    }
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let (a, b) = (Device::twin().stream().unwrap(), Device::twin().stream().unwrap());
    let mut voxels = Voxelizer::new(&a, &params()).unwrap().output().unwrap();
    let e = voxels.exchange(VoxelBuffers::new(&b, &params()).unwrap()).unwrap_err().to_string();
    assert_eq!(e, "arrays: expected arrays of the stream of the result, got arrays of another one");
    let mut half = params();
    half.outputs.mean = Some(MeanType::F16);
    for other in [VoxelizeParams::dynamic([1.0; 3], params().range), half] {
        let e = voxels.exchange(VoxelBuffers::new(&a, &other).unwrap()).unwrap_err().to_string();
        assert_eq!(e, "arrays: expected the arrays that the parameters ask for, got others");
    }
}

/// An error of the caller's own.
#[derive(Debug, PartialEq)]
enum Trouble {
    Library(String),
    Own,
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Library(error.to_string())
    }
}

/// Arrays are asked for once, in the course of the call; where there are none the call fails, the result has no rows, and the next call starts clean though a kernel has run.
#[test]
fn arrays_may_be_made_in_the_course_of_a_call() {
    let mut batch = params();
    batch.order = RowOrder::Sorted;
    for (name, device) in devices() {
        let stream = device.stream().unwrap();
        for (params, splits) in [(params(), None), (batch.clone(), Some([0, 2, 5].as_slice()))] {
            let mut voxelizer = Voxelizer::new(&stream, &params).unwrap();
            let mut voxels = voxelizer.output().unwrap();
            match splits {
                Some(splits) => voxelizer.run_batch(cloud(), splits, &mut voxels).unwrap(),
                None => voxelizer.run(cloud(), &mut voxels).unwrap(),
            }
            let want = voxels.read().unwrap();
            for _ in 0..2 {
                let refused = voxelizer.run_into(cloud(), splits, &mut voxels, || Err(Trouble::Own));
                assert_eq!(refused.unwrap_err(), Trouble::Own, "{name}");
                let mut asked = 0;
                let arrays = || {
                    asked += 1;
                    Ok::<_, Trouble>(VoxelBuffers::new(&stream, &params)?)
                };
                let before = voxelizer.run_into(cloud(), splits, &mut voxels, arrays).unwrap();
                assert_eq!(asked, 1, "{name}");
                assert_same(&voxels.read().unwrap(), &want, name);
                assert_eq!(before.coords.read(want.coords.len()).unwrap(), want.coords, "{name}");
            }
            let other = VoxelizeParams::dynamic([1.0; 3], params.range);
            let wrong = voxelizer.run_into(cloud(), splits, &mut voxels, || VoxelBuffers::new(&stream, &other));
            let e = wrong.unwrap_err().to_string();
            assert_eq!(e, "arrays: expected the arrays that the parameters ask for, got others", "{name}");
        }
    }
}

/// A panic in the course of a call leaves a result without rows, on its own stream, and the voxelizer clean.
#[test]
fn a_panic_in_the_course_of_a_call_leaves_an_empty_result() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    for (name, device) in devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let mut voxelizer = Voxelizer::new(&stream, &params()).unwrap();
        let mut voxels = Voxelizer::new(&other, &params()).unwrap().output().unwrap();
        voxelizer.run(cloud(), &mut voxels).unwrap();
        let want = voxels.read().unwrap();
        let panics = || -> Result<VoxelBuffers> { panic!("in the course of a call") };
        catch_unwind(AssertUnwindSafe(|| voxelizer.run_into(cloud(), None, &mut voxels, panics))).unwrap_err();
        assert!(voxels.stream().same_queue(&other), "{name}");
        assert_eq!((voxels.num_voxels().unwrap(), voxels.report().unwrap()), (0, Report::default()), "{name}");
        assert!(voxels.read().unwrap().coords.is_empty(), "{name}");
        voxelizer.run(cloud(), &mut voxels).unwrap();
        assert_same(&voxels.read().unwrap(), &want, name);
    }
}
