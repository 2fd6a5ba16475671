//! Arrays of results taken out, and arrays of others put in.

use super::*;
use crate::testing::{devices, kernel_devices};
use crate::{AnyBuffer, Value};

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
        let taken = voxels.exchange(Arrays::new(&stream)).unwrap();
        assert_eq!((voxels.num_voxels().unwrap(), voxels.report().unwrap()), (0, Report::default()), "{name}");
        assert!(voxels.array(VoxelArray::Coords).is_none(), "{name}");
        let empty = voxels.read().unwrap();
        assert!(empty.coords.is_empty() && empty.point_to_voxel == Some(vec![]), "{name}");
        assert_eq!((empty.row_splits, empty.indices), (Some(vec![0]), Some(vec![])), "{name}");
        let e = scatter(&voxels, Points::new(&[], 3).unwrap(), Reduction::Sum).unwrap_err().to_string();
        let expected = "voxels: expected a result that a call has filled, got one without rows";
        assert_eq!(e, expected, "{name}");
        // Another cloud into the new arrays leaves the old ones as they are.
        voxelizer.run(Points::new(&[3.5, 3.5, 0.5], 3).unwrap(), &mut voxels).unwrap();
        assert_eq!(voxels.read().unwrap().coords, [0, 3, 3], "{name}");
        let read = |array, len| taken.get(array).unwrap().read(len).unwrap();
        assert_eq!(read(VoxelArray::Coords, want.coords.len()), AnyArray::I32(want.coords), "{name}");
        assert_eq!(read(VoxelArray::Voxels, 18), AnyArray::F32(want.voxels.unwrap()), "{name}");
        assert_eq!(read(VoxelArray::PointToVoxel, 5), AnyArray::I32(vec![0, 1, 0, 2, 1]), "{name}");
        assert_eq!(read(VoxelArray::Indices, 5), AnyArray::U32(vec![0, 2, 1, 4, 3]), "{name}");
    }
}

/// The arrays of a result in memory that outlives them, as somebody else's.
fn lent(stream: &Stream, memory: &Arrays<VoxelArray>, rows: usize) -> Arrays<VoxelArray> {
    fn over<T: Value>(stream: &Stream, memory: &Arrays<VoxelArray>, array: VoxelArray, len: usize) -> AnyBuffer
    where
        AnyBuffer: From<Buffer<T>>,
    {
        let memory = memory.get(array).and_then(AnyBuffer::typed::<T>).unwrap();
        assert!(len <= memory.len());
        // SAFETY: the test keeps the memory, which has room.
        unsafe { Buffer::<T>::from_raw_cuda(stream, memory.device_pointer(), len) }.unwrap().into()
    }
    let mut lent = Arrays::new(stream);
    for (array, len) in [(VoxelArray::Coords, rows * 3), (VoxelArray::NumPoints, rows), (VoxelArray::PointToVoxel, 5)] {
        lent.set(array, over::<i32>(stream, memory, array, len));
    }
    for (array, len) in [(VoxelArray::Voxels, rows * 6), (VoxelArray::Mean, rows * 3)] {
        lent.set(array, over::<f32>(stream, memory, array, len));
    }
    for (array, len) in [(VoxelArray::RowSplits, rows + 1), (VoxelArray::Indices, 5)] {
        lent.set(array, over::<u32>(stream, memory, array, len));
    }
    lent
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
        let memory = voxels.exchange(Arrays::new(&stream)).unwrap();
        for _ in 0..2 {
            voxels.exchange(lent(&stream, &memory, 5)).unwrap();
            voxelizer.run(cloud(), &mut voxels).unwrap();
            assert_same(&voxels.read().unwrap(), &want, name);
        }
        assert_eq!(memory.get(VoxelArray::Coords).unwrap().read(9).unwrap(), AnyArray::I32(want.coords), "{name}");
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
    let e = voxels.exchange(Arrays::new(&b)).unwrap_err().to_string();
    assert_eq!(e, "arrays: expected arrays of the stream of the result, got arrays of another one");
    let mut mixed = Arrays::new(&a);
    mixed.set(VoxelArray::Coords, b.upload(&[0i32; 15]).unwrap());
    assert!(voxels.exchange(mixed).is_err());
    // Means of a type that the call does not make: own memory is made anew, lent memory is refused.
    let halves = a.upload(&[f16::ONE; 15]).unwrap();
    // SAFETY: the test keeps the memory.
    let foreign = unsafe { Buffer::<f16>::from_raw_cuda(&a, halves.device_pointer(), 15) }.unwrap();
    let mut voxelizer = Voxelizer::new(&a, &params()).unwrap();
    for (halves, refused) in [(foreign, true), (halves, false)] {
        let mut arrays = Arrays::new(&a);
        arrays.set(VoxelArray::Mean, halves);
        voxels.exchange(arrays).unwrap();
        let told = voxelizer.run(cloud(), &mut voxels).map_err(|e| e.to_string());
        let expected = "buffer: expected memory of type f32, as it is not pointmill's own, got f16";
        assert_eq!(told.err(), refused.then(|| expected.to_owned()));
    }
    assert_eq!(voxels.num_voxels().unwrap(), 3);
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

/// Arrays are asked for once, in the course of the call; where there are none the call fails, the
/// result has no rows, and the next call starts clean though a kernel has run.
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
                let refused = voxelizer.run_into(cloud().into(), splits, &mut voxels, |_| Err(Trouble::Own));
                assert_eq!(refused.unwrap_err(), Trouble::Own, "{name}");
                let mut asked = 0;
                let arrays = |bounds: &[ArraySpec<VoxelArray>]| {
                    asked += 1;
                    // As many rows as points, which are fewer than the cap.
                    let rows =
                        bounds.iter().find(|spec| spec.array == VoxelArray::NumPoints).map(|spec| spec.shape.to_vec());
                    assert_eq!(rows, Some(vec![5]), "{name}");
                    Ok::<_, Trouble>(Arrays::new(&stream))
                };
                let before = voxelizer.run_into(cloud().into(), splits, &mut voxels, arrays).unwrap();
                assert_eq!(asked, 1, "{name}");
                assert_same(&voxels.read().unwrap(), &want, name);
                let coords = before.get(VoxelArray::Coords).unwrap().read(want.coords.len()).unwrap();
                assert_eq!(coords, AnyArray::I32(want.coords.clone()), "{name}");
            }
        }
    }
}

/// A panic in the course of a call leaves a result without rows, on its own stream, and the
/// voxelizer clean.
#[test]
fn a_panic_in_the_course_of_a_call_leaves_an_empty_result() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    for (name, device) in devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let mut voxelizer = Voxelizer::new(&stream, &params()).unwrap();
        let mut voxels = Voxelizer::new(&other, &params()).unwrap().output().unwrap();
        voxelizer.run(cloud(), &mut voxels).unwrap();
        let want = voxels.read().unwrap();
        let panics = |_: &[ArraySpec<VoxelArray>]| -> Result<Arrays<VoxelArray>> { panic!("in the course of a call") };
        catch_unwind(AssertUnwindSafe(|| voxelizer.run_into(cloud().into(), None, &mut voxels, panics))).unwrap_err();
        assert!(voxels.stream().same_queue(&other), "{name}");
        assert_eq!((voxels.num_voxels().unwrap(), voxels.report().unwrap()), (0, Report::default()), "{name}");
        assert!(voxels.read().unwrap().coords.is_empty(), "{name}");
        voxelizer.run(cloud(), &mut voxels).unwrap();
        assert_same(&voxels.read().unwrap(), &want, name);
    }
}
