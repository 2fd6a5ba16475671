//! CPU, twin and GPU give the same bits.

use super::*;
use crate::device::{Buffer, Stream};
use crate::testing::{Random, kernel_devices};
use bytemuck::Pod;

/// A reduction and its gradient as bytes; the numbers beside it.
#[derive(Debug, PartialEq)]
struct Made {
    out: Vec<u8>,
    aux: Vec<i64>,
    grad: Vec<u8>,
}

/// Which values rows have.
#[derive(Clone, Copy, Debug)]
enum Given<'a, I> {
    Index(&'a [I]),
    Splits(&'a [I]),
}

fn bytes<T: Pod>(values: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(values).to_vec()
}

fn on_cpu<T: Scattered, I: RowNumber>(values: &[T], given: Given<'_, I>, scatter: Scatter) -> Made {
    let Scatter { len, columns, rows, how } = scatter;
    let lists = match given {
        Given::Index(index) => RowLists::new(index, Some(rows)),
        Given::Splits(splits) => RowLists::of_splits(splits, len),
    };
    let lists = lists.unwrap();
    let zero = T::narrow(Number::ZERO);
    let (mut out, mut grad) = (vec![zero; rows * columns], vec![zero; len * columns]);
    let mut aux = vec![7; if how.picks() { rows * columns } else { 0 }];
    lists.reduce(values, columns, how, &mut out, &mut aux).unwrap();
    if how == Reduction::Mean {
        aux = (0..rows).map(|row| i64::from(lists.count(row)) * i64::from(columns > 0)).collect();
    }
    match given {
        Given::Index(index) => spread(&out, columns, index, how, &aux, &mut grad),
        Given::Splits(splits) => spread_lists(&out, columns, splits, how, &aux, &mut grad),
    }
    .unwrap();
    Made { out: bytes(&out), aux, grad: bytes(&grad) }
}

/// An array `by` values into memory, so that it is aligned for one value alone; and that memory.
fn aside<T: Pod>(stream: &Stream, values: &[T], by: usize) -> (Buffer<T>, Buffer<T>) {
    let mut all = vec![T::zeroed(); by];
    all.extend_from_slice(values);
    let memory = stream.upload(&all).unwrap();
    let address = memory.device_pointer() + (by * size_of::<T>()) as u64;
    // SAFETY: the caller keeps the memory, which has so many values.
    (unsafe { Buffer::from_raw_cuda(stream, address, values.len()) }.unwrap(), memory)
}

/// The same by kernels, from values that lie `by` values into memory; whether all numbers were rows.
fn on_gpu<T: Scattered, I: RowNumber + Pod>(
    (stream, worker): (&Stream, &mut ScatterWorker),
    (values, by): (&[T], usize),
    given: Given<'_, I>,
    scatter: Scatter,
) -> (Made, [i32; 2]) {
    let Scatter { len, columns, rows, how } = scatter;
    let numbers = match given {
        Given::Index(numbers) | Given::Splits(numbers) => stream.upload(numbers).unwrap(),
    };
    let of = || match given {
        Given::Index(_) => RowsOf::Index(&numbers),
        Given::Splits(_) => RowsOf::Splits(&numbers),
    };
    let of_aux = match how {
        Reduction::Sum => 0,
        Reduction::Mean => rows,
        Reduction::Min | Reduction::Max => rows * columns,
    };
    let (values, _memory) = aside(stream, values, by);
    let [mut out, mut plain] = [0; 2].map(|_| stream.upload(&vec![T::narrow(Number::ABSENT); rows * columns]).unwrap());
    let mut aux = stream.upload(&vec![9i64; of_aux]).unwrap();
    let mut oks = [0; 2].map(|_| stream.upload(&[5]).unwrap());
    worker.reduce(&values, of(), scatter, &mut plain, None, &mut oks[0]).unwrap();
    worker.reduce(&values, of(), scatter, &mut out, Some(&mut aux), &mut oks[0]).unwrap();
    let out = out.read(rows * columns).unwrap();
    // Of numbers that are no rows anything may come.
    if oks[0].read(1).unwrap() == [1] {
        assert_eq!(bytes(&out), bytes(&plain.read(rows * columns).unwrap()));
    }
    let (grad, _memory) = aside(stream, &out, by);
    let mut spread = stream.upload(&vec![T::narrow(Number::ABSENT); len * columns]).unwrap();
    worker.spread(&grad, of(), scatter, Some(&aux), &mut spread, &mut oks[1]).unwrap();
    let (aux, grad) = (aux.read(of_aux).unwrap(), bytes(&spread.read(len * columns).unwrap()));
    (Made { out: bytes(&out), aux, grad }, oks.map(|ok| ok.read(1).unwrap()[0]))
}

/// Rows of no value, of few and of many, and values of no row.
fn index_of(random: &mut Random, len: usize, rows: usize) -> Vec<i32> {
    let long = random.below(rows as u64) as i32;
    let any = |random: &mut Random| random.below(rows as u64 + 1) as i32 - 1;
    (0..len).map(|_| if random.below(3) == 0 { long } else { any(random) }).collect()
}

fn splits_of(random: &mut Random, len: usize, rows: usize) -> Vec<i32> {
    let mut splits: Vec<_> = (0..=rows).map(|_| random.below(len as u64 + 1) as i32).collect();
    splits.sort_unstable();
    splits
}

fn compare<T: Scattered>(of: impl Fn(u64) -> T) {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut worker = ScatterWorker::new(&stream).unwrap();
        let mut random = Random(7);
        let cases =
            [(0, 3, 4), (1, 1, 1), (40, 60, 5), (300, 1, 64), (700, 4, 8), (500, 200, 12), (1300, 2, 3), (9, 4, 0)];
        for (len, rows, columns) in cases {
            let values: Vec<T> = (0..len * columns).map(|_| of(random.next())).collect();
            let (index, splits) = (index_of(&mut random, len, rows), splits_of(&mut random, len, rows));
            let wide: Vec<i64> = index.iter().map(|&row| row.into()).collect();
            for &how in Reduction::ALL {
                let scatter = Scatter { len, columns, rows, how };
                for by in [0, 1] {
                    let same = |want: Made, (got, oks): (Made, [i32; 2])| {
                        assert!(want == got, "{name} {len} {rows} {columns} {how} {by}");
                        assert_eq!(oks, [1; 2]);
                    };
                    let (on, values) = ((&stream, &mut worker), (&values[..], by));
                    same(
                        on_cpu(values.0, Given::Index(&index), scatter),
                        on_gpu(on, values, Given::Index(&index), scatter),
                    );
                    let on = (&stream, &mut worker);
                    same(
                        on_cpu(values.0, Given::Splits(&splits), scatter),
                        on_gpu(on, values, Given::Splits(&splits), scatter),
                    );
                    let on = (&stream, &mut worker);
                    same(
                        on_cpu(values.0, Given::Index(&wide), scatter),
                        on_gpu(on, values, Given::Index(&wide), scatter),
                    );
                }
            }
        }
    }
}

#[test]
fn single_precision() {
    compare(|bits| match bits % 16 {
        0 => f32::NAN,
        1 => -0.0,
        2 => 0.0,
        3 => f32::INFINITY,
        _ => (bits >> 40) as f32 / 1024.0 - 4096.0,
    });
}

#[test]
fn double_precision() {
    compare(|bits| if bits.is_multiple_of(9) { -f64::NAN } else { (bits >> 20) as f64 * 1e-6 });
}

#[test]
fn half_precision() {
    compare(|bits| f16::from_bits(bits as u16));
    compare(|bits| bf16::from_bits(bits as u16));
}

#[test]
fn whole_numbers() {
    compare(|bits| if bits.is_multiple_of(5) { i64::MAX - 3 } else { bits as i64 >> 50 });
}

#[test]
fn numbers_that_are_no_rows_are_told() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut worker = ScatterWorker::new(&stream).unwrap();
        let values = vec![1.0f32; 600 * 4];
        let (columns, rows, how) = (4, 3, Reduction::Mean);
        let scatter = Scatter { len: 600, columns, rows, how };
        let mut index = vec![0i64; 600];
        for bad in [-2, 3, i64::MAX, i64::MIN, 1 << 32] {
            index[7] = bad;
            let (_, oks) = on_gpu((&stream, &mut worker), (&values, 0), Given::Index(&index), scatter);
            assert_eq!(oks, [0; 2], "{name} {bad}");
        }
        // Each row would be long, and more than there is room for.
        let scatter = Scatter { rows: 39, ..scatter };
        let again: Vec<i64> = (0..40).map(|row| row % 2 * 600).collect();
        for bad in [&again[..], &[&[0; 39][..], &[601]].concat(), &[&[-1][..], &[0; 39]].concat()] {
            let (_, oks) = on_gpu((&stream, &mut worker), (&values, 0), Given::Splits(bad), scatter);
            assert_eq!(oks, [0; 2], "{name} {bad:?}");
        }
        let short = stream.upload(&[0i32; 5]).unwrap();
        let (values, mut out) = (stream.upload(&values).unwrap(), stream.alloc(39 * 4).unwrap());
        let mut ok = stream.alloc(1).unwrap();
        let refused = worker.reduce(&values, RowsOf::Index(&short), scatter, &mut out, None, &mut ok).unwrap_err();
        assert_eq!(refused.to_string(), "index: expected 600 values, got 5");
    }
}
