//! Results in memory of the caller, and padded ones.

use super::serialize::some;
use crate::arrays::{AnyArray, ArrayLender, ArraySpec, Arrays, DeviceArrays};
use crate::boxes::{Candidates, NmsParams, Suppressor};
use crate::sparse::{
    Cells, ConvArray, ConvKind, ConvParams, GridSampleParams, GridSampler, IndexPairs, PoolParams, Pooler,
    SampledArray, SerializeParams, Serializer, SparseCells, StageArray,
};
use crate::testing::{Random, devices, kernel_devices};
use crate::{AnyBuffer, Buffer, Dtype, Result, Rows, Stream};
use std::sync::{Arc, Mutex};

/// Memory for an array that belongs to `own`.
fn foreign(stream: &Stream, own: &AnyBuffer, dtype: Dtype, len: usize) -> AnyBuffer {
    fn of<T: crate::arrays::Value>(stream: &Stream, own: &AnyBuffer, len: usize) -> AnyBuffer
    where
        AnyBuffer: From<Buffer<T>>,
    {
        let address = own.typed::<T>().unwrap().device_pointer();
        // SAFETY: `own` has room for so many values, and outlives the call and its reading.
        unsafe { Buffer::<T>::from_raw_cuda(stream, address, len) }.unwrap().into()
    }
    match dtype {
        Dtype::I32 => of::<i32>(stream, own, len),
        Dtype::U32 => of::<u32>(stream, own, len),
        _ => of::<u64>(stream, own, len),
    }
}

type Owned<K> = Arc<Mutex<Vec<(K, AnyBuffer)>>>;

/// Has a result write to memory that is not its own; that memory.
fn lend<R: DeviceArrays<Array: std::fmt::Debug>>(out: &mut R, stream: &Stream, padded: bool) -> Owned<R::Array> {
    let owned = Owned::<R::Array>::default();
    let (to, of) = (Arc::clone(&owned), stream.clone());
    let lend = move |bounds: &[ArraySpec<R::Array>]| -> Result<Arrays<R::Array>> {
        let (mut arrays, mut to) = (Arrays::new(&of), to.lock().unwrap());
        for spec in bounds {
            let own = AnyBuffer::with_len(&of, spec.dtype, spec.room)?;
            arrays.set(spec.array, foreign(&of, &own, spec.dtype, spec.room));
            to.push((spec.array, own));
        }
        Ok(arrays)
    };
    out.lend(Some(ArrayLender::new(lend)), padded);
    owned
}

/// What the lent memory of an array holds.
fn read<K: PartialEq + Copy>(owned: &Owned<K>, array: K) -> AnyArray {
    let owned = owned.lock().unwrap();
    let (_, buffer) = owned.iter().find(|(one, _)| *one == array).expect("every array was lent");
    buffer.read(buffer.len()).unwrap()
}

#[test]
fn calls_write_to_memory_that_is_lent() {
    let points: Vec<[f32; 3]> = (0..500).map(|i| [(i % 37) as f32, (i % 11) as f32, 0.0]).collect();
    let (cells, batch) = some(&mut Random(5), 300, 16, 2);
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut sampler = GridSampler::new(&stream, &GridSampleParams::new([2.0; 3])).unwrap();
        let (mut own, mut out) = (sampler.output().unwrap(), sampler.output().unwrap());
        sampler.run(&points[..], None, &mut own).unwrap();
        let want = own.read().unwrap();
        let lent = lend(&mut out, &stream, true);
        sampler.run(&points[..], None, &mut out).unwrap();
        out.lend(None, false);
        assert_eq!(out.counted().unwrap().1, want.report, "{name}");
        out.exchange(Arrays::new(&stream)).unwrap();
        let mut rows = want.rows.clone();
        rows.resize(500, -1);
        assert_eq!(read(&lent, SampledArray::Rows), AnyArray::I32(rows), "{name}");
        let mut counts = want.num_points.clone();
        counts.resize(500, 0);
        assert_eq!(read(&lent, SampledArray::NumPoints), AnyArray::I32(counts), "{name}");
        // The next call has memory of its own again.
        sampler.run(&points[..100], None, &mut out).unwrap();
        assert_eq!(read(&lent, SampledArray::Inverse), AnyArray::I32(want.inverse), "{name}");

        let cells = Cells::new(&cells[..]).unwrap().batch(&batch[..], 2).unwrap();
        let mut serializer = Serializer::new(&stream, &SerializeParams::default()).unwrap();
        let mut serialized = serializer.output().unwrap();
        serializer.run(cells, &mut serialized).unwrap();
        let mut pooler = Pooler::new(&stream, &PoolParams::default()).unwrap();
        let mut stages = pooler.output().unwrap();
        pooler.run(cells, &serialized, &mut stages).unwrap();
        let want = stages.read().unwrap();
        let lent: Vec<_> = stages.stages_mut().iter_mut().map(|stage| lend(stage, &stream, true)).collect();
        pooler.run(cells, &serialized, &mut stages).unwrap();
        for (want, lent) in want.iter().zip(&lent) {
            let AnyArray::U64(codes) = read(lent, StageArray::Codes) else { panic!("codes are u64") };
            let (len, room) = (want.head.len(), codes.len() / 4);
            for k in 0..4 {
                assert_eq!(codes[k * room..][..len], want.codes[k * len..][..len], "{name}");
                assert!(codes[k * room + len..(k + 1) * room].iter().all(|&code| code == u64::MAX), "{name}");
            }
        }
    }
}

/// Arrays that are taken are those of reading, without what is behind the rows that count.
#[test]
fn arrays_are_cut_to_what_counts() {
    let coords: Vec<[i32; 4]> = (0..64).map(|i| [0, i / 16, i / 4 % 4, i % 4]).collect();
    let params = ConvParams { kind: ConvKind::Strided, stride: [2; 3], capacity: Some(50), ..ConvParams::default() };
    for (name, device) in devices() {
        let stream = device.stream().unwrap();
        let mut worker = IndexPairs::new(&stream, &params).unwrap();
        let mut out = worker.output().unwrap();
        worker.run(SparseCells::new(&coords[..], 1, [4; 3]), &mut out).unwrap();
        let want = out.read().unwrap();
        let (bounds, (specs, report)) = (out.bounds(), out.counted().unwrap());
        assert_eq!(report, want.report);
        assert!(specs.iter().all(|spec| spec.array != ConvArray::Masks), "{name}: nobody asked for masks");
        let mut taken = out.exchange(Arrays::new(&stream)).unwrap();
        taken.cut(&bounds, &specs).unwrap();
        for spec in &specs {
            let got = taken.get(spec.array).unwrap().read(spec.shape.num_values()).unwrap();
            let want = match spec.array {
                ConvArray::Cells => &want.cells,
                ConvArray::Table => &want.table,
                _ => &want.counts,
            };
            assert_eq!(got, AnyArray::I32(want.clone()), "{name}: {:?}", spec.array);
        }
        let other = device.stream().unwrap();
        if name == "twin" {
            assert!(out.exchange(Arrays::new(&other)).unwrap_err().to_string().starts_with("arrays: expected "));
        }
        let mut wrong = Arrays::new(&stream);
        wrong.set(ConvArray::Table, stream.upload(&[1.0f32]).unwrap());
        assert_eq!(out.exchange(wrong).unwrap_err().to_string(), "arrays: expected i32, got f32", "{name}");
    }
}

/// A lender that refuses fails the call, and the result has no rows.
#[test]
fn a_lender_may_refuse() {
    let boxes = [[0.0f32, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0]];
    let stream = crate::Device::twin().stream().unwrap();
    let mut suppressor = Suppressor::new(&stream, &NmsParams::default()).unwrap();
    let mut kept = suppressor.output().unwrap();
    kept.lend(Some(ArrayLender::new(|_| Err(crate::Error::Internal { what: "no".into() }))), false);
    let candidates = Candidates::new(&boxes, Rows::new(&[0.5f32], 1).unwrap());
    assert!(suppressor.run(candidates, &mut kept).is_err());
    assert_eq!(kept.num_items(), 0);
    kept.lend(None, false);
    suppressor.run(candidates, &mut kept).unwrap();
    assert_eq!(kept.read().unwrap().rows, [0]);
}
