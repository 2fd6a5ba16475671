//! Every device gives what plain loops over all places give.

use crate::points::gather::{Gather, GatherWorker, Gathered, gather, gather_gradient, weights_gradient};
use crate::scatter::RowNumber;
use crate::testing::{Random, kernel_devices};
use crate::{Device, Error, bf16, f16};
use bytemuck::Pod;
use pointmill_core::reduction::Number;

/// Features, weights, row numbers and the gradient of the sums.
struct Case<T: Gathered, I> {
    of: Gather,
    features: Vec<T>,
    weights: Option<Vec<T::Wide>>,
    index: Vec<I>,
    grad: Vec<T>,
}

/// Sums, the gradient of the features and that of the weights, as bytes.
type Made = [Vec<u8>; 3];

fn bytes<T: Pod>(values: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(values).to_vec()
}

impl<T: Gathered, I: RowNumber + Pod> Case<T, I> {
    fn new(of: Gather, weighted: bool, of_f32: impl Fn(f32) -> T, row: impl Fn(i64) -> I) -> Self {
        let Gather { items, channels, rows, count, k, .. } = of;
        let mut random = Random(rows as u64 + 7 * k as u64);
        let mut values = |len: usize| -> Vec<T> {
            let mut value = || match random.below(50) {
                0 => f32::NAN,
                1 => -0.0,
                _ => random.between(-2.0, 2.0),
            };
            (0..len).map(|_| of_f32(value())).collect()
        };
        let (features, grad) = (values(items * rows * channels), values(items * count * channels));
        let weights = weighted.then(|| values(items * count * k).iter().map(|w| w.widen()).collect());
        let mut random = Random(count as u64);
        let mut any = |place: usize| match (rows, random.below(4)) {
            (0, _) | (_, 0) => -1,
            // One row of an item is long.
            (_, 1) if place.is_multiple_of(2) => rows as i64 / 2,
            _ => random.below(rows as u64) as i64,
        };
        let index = (0..items * count * k).map(|place| row(any(place))).collect();
        Self { of, features, weights, index, grad }
    }

    /// The definition.
    fn by_loops(&self) -> Made {
        let Gather { items, channels, rows, count, k, channels_last } = self.of;
        let at = |item: usize, c: usize, row: usize, len: usize| {
            if channels_last { (item * len + row) * channels + c } else { (item * channels + c) * len + row }
        };
        let mut sums = vec![T::Wide::ZERO; self.grad.len()];
        let mut of_features = vec![T::Wide::ZERO; self.features.len()];
        let mut of_weights = vec![T::Wide::ZERO; self.index.len()];
        let mut taken = vec![T::narrow(T::Wide::ZERO); self.grad.len()];
        for place in 0..items * count * k {
            let (item, m) = (place / (count * k), place / k % count);
            let Ok(row) = usize::try_from(self.index[place].into()) else { continue };
            for c in 0..channels {
                let (from, to) = (at(item, c, row, rows), at(item, c, m, count));
                let (feature, grad) = (self.features[from].widen(), self.grad[to].widen());
                let weigh = |value: T::Wide| self.weights.as_ref().map_or(value, |w| w[place].times(value));
                taken[to] = self.features[from];
                sums[to] = sums[to].plus(weigh(feature));
                of_features[from] = of_features[from].plus(weigh(grad));
                of_weights[place] = of_weights[place].plus(feature.times(grad));
            }
        }
        let narrow = |wide: Vec<T::Wide>| wide.into_iter().map(|v| T::narrow(v.canonical())).collect::<Vec<_>>();
        let sums = if self.weights.is_some() { narrow(sums) } else { taken };
        let of_weights: Vec<_> = of_weights.into_iter().map(Number::canonical).collect();
        [bytes(&sums), bytes(&narrow(of_features)), bytes(&of_weights)]
    }

    fn on_cpu(&self) -> Made {
        let (mut sums, mut features) = (self.grad.clone(), self.features.clone());
        let mut of_weights = vec![T::Wide::ABSENT; self.index.len()];
        let weights = self.weights.as_deref();
        gather(&self.features, weights, &self.index, self.of, &mut sums).unwrap();
        gather_gradient(&self.grad, weights, &self.index, self.of, &mut features).unwrap();
        weights_gradient(&self.grad, &self.features, &self.index, self.of, &mut of_weights).unwrap();
        [bytes(&sums), bytes(&features), bytes(&of_weights)]
    }

    /// By kernels, and whether all numbers were rows.
    fn on_gpu(&self, device: &Device) -> (Made, i32) {
        let stream = device.stream().unwrap();
        let mut worker = GatherWorker::new(&stream).unwrap();
        let (features, grad) = (stream.upload(&self.features).unwrap(), stream.upload(&self.grad).unwrap());
        let weights = self.weights.as_ref().map(|weights| stream.upload(weights).unwrap());
        let index = stream.upload(&self.index).unwrap();
        let (mut sums, mut of_features) = (stream.upload(&self.grad).unwrap(), stream.upload(&self.features).unwrap());
        let mut of_weights = stream.upload(&vec![T::Wide::ABSENT; self.index.len()]).unwrap();
        let mut ok = stream.upload(&[5]).unwrap();
        worker.gather(&features, weights.as_ref(), &index, self.of, &mut sums, &mut ok).unwrap();
        worker.gradient(&grad, weights.as_ref(), &index, self.of, &mut of_features).unwrap();
        worker.weights_gradient(&grad, &features, &index, self.of, &mut of_weights).unwrap();
        let made = [
            bytes(&sums.read(sums.len()).unwrap()),
            bytes(&of_features.read(of_features.len()).unwrap()),
            bytes(&of_weights.read(of_weights.len()).unwrap()),
        ];
        (made, ok.read(1).unwrap()[0])
    }
}

fn compare<T: Gathered, I: RowNumber + Pod>(of_f32: impl Fn(f32) -> T + Copy, row: impl Fn(i64) -> I + Copy) {
    let sizes: [([usize; 5], bool); 8] = [
        ([2, 5, 60, 40, 3], true),
        ([1, 3, 7, 500, 1], false),
        ([3, 64, 20, 33, 1], true),
        ([2, 1, 9, 200, 5], true),
        ([1, 4, 1, 300, 1], false),
        ([2, 6, 0, 4, 3], true),
        ([1, 2, 5, 0, 3], true),
        ([0, 2, 5, 4, 1], false),
    ];
    for (([items, channels, rows, count, k], weighted), channels_last) in
        sizes.into_iter().flat_map(|size| [(size, false), (size, true)])
    {
        let of = Gather { items, channels, rows, count, k, channels_last };
        let case = Case::new(of, weighted, of_f32, row);
        let want = case.by_loops();
        for threads in [1, 3] {
            let got = Device::cpu_with_threads(threads).unwrap().install(|| case.on_cpu());
            assert_eq!(got, want, "{of:?}, {threads} threads");
        }
        for (name, device) in kernel_devices() {
            assert_eq!(case.on_gpu(&device), (want.clone(), 1), "{of:?} on {name}");
        }
    }
}

#[test]
fn each_value_is_that_of_the_loops() {
    compare(|value| value, |row| row as i32);
    compare(f64::from, |row| row);
    compare(f16::from_f32, |row| row as i32);
    compare(bf16::from_f32, |row| row);
}

/// A number that is no row is refused on the CPU, told on a GPU, and adds nothing there.
#[test]
fn rows_that_are_none() {
    for k in [1, 3] {
        let of = Gather { items: 2, channels: 2, rows: 5, count: 4, k, channels_last: false };
        let mut case = Case::new(of, k == 3, |value: f32| value, |row| row as i32);
        for outside in [5, -2] {
            case.index[3] = -1;
            let want = case.by_loops();
            case.index[3] = outside;
            let refused = gather(&case.features, case.weights.as_deref(), &case.index, of, &mut case.grad.clone());
            assert!(matches!(refused, Err(Error::Argument { .. })), "{outside}");
            for (name, device) in kernel_devices() {
                assert_eq!(case.on_gpu(&device), (want.clone(), 0), "{outside} on {name}");
            }
        }
    }
    let of = Gather { items: 1, channels: 1, rows: 2, count: 1, k: 2, channels_last: false };
    let refused = gather(&[1.0f32, 2.0], None, &[0, 1], of, &mut [0.0]).unwrap_err().to_string();
    assert_eq!(refused, "weights: expected weights of several neighbours, got None");
}
