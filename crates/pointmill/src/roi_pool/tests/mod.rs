//! Answers from outside, parity of all paths, gradients against finite differences, and what must
//! be refused.

mod buffers;
mod errors;
mod fixtures;
mod gradient;
mod graphs;
mod large;
mod parity;
mod streams;

use super::*;
use crate::{AnyArray, BoxOrigin, Dtype, ElementType, bf16, f16};

/// One scene and what is asked of it.
#[derive(Clone, Debug)]
struct Case {
    boxes: AnyArray,
    points: AnyArray,
    point_columns: usize,
    features: AnyArray,
    /// `[R, C]`: the gradient of each non-empty voxel.
    grad: Option<AnyArray>,
    channels: usize,
    splits: Option<(Vec<usize>, Vec<usize>)>,
    params: RoiPoolParams,
}

/// All that can be computed of a case, as bits.
#[derive(Clone, Debug, PartialEq, Default)]
struct Answers {
    sparse_max: Vec<u32>,
    sparse_argmax: Vec<i32>,
    sparse_mean: Vec<u32>,
    coords: Vec<i32>,
    sparse_row_splits: Vec<i64>,
    indices: Vec<i32>,
    row_splits: Vec<i64>,
    max: Vec<u32>,
    argmax: Vec<i32>,
    mean: Vec<u32>,
    point_indices: Vec<i32>,
    grad_max: Vec<u32>,
    grad_mean: Vec<u32>,
    report: Report,
    part: Vec<i32>,
    count: Vec<i32>,
    words: Vec<u32>,
    all: (Vec<i64>, Vec<i32>),
    crop: (Vec<i64>, Vec<i32>),
}

fn input(array: &AnyArray, columns: usize) -> Rows<'_> {
    match array {
        AnyArray::F32(v) => Rows::new(v, columns),
        AnyArray::F16(v) => Rows::new(v, columns),
        AnyArray::Bf16(v) => Rows::new(v, columns),
        other => panic!("{other:?}"),
    }
    .unwrap()
}

fn bits(array: &AnyArray) -> Vec<u32> {
    match array {
        AnyArray::F32(v) => v.iter().map(|v| v.to_bits()).collect(),
        AnyArray::F16(v) => v.iter().map(|v| u32::from(v.to_bits())).collect(),
        AnyArray::Bf16(v) => v.iter().map(|v| u32::from(v.to_bits())).collect(),
        other => panic!("{other:?}"),
    }
}

/// Values of any type from `f32`.
fn array(element: ElementType, values: &[f32]) -> AnyArray {
    match element {
        ElementType::F32 => AnyArray::F32(values.to_vec()),
        ElementType::F16 => AnyArray::F16(values.iter().map(|&v| f16::from_f32(v)).collect()),
        ElementType::Bf16 => AnyArray::Bf16(values.iter().map(|&v| bf16::from_f32(v)).collect()),
    }
}

impl Case {
    fn scene(&self) -> Scene<'_> {
        let scene = Scene::new(input(&self.boxes, 7), input(&self.points, self.point_columns));
        match &self.splits {
            Some((boxes, points)) => scene.batch(boxes, points),
            None => scene,
        }
    }

    fn num_points(&self) -> usize {
        self.scene().num_points()
    }

    /// The features, or a gradient with the same columns.
    fn rows<'a>(&self, values: &'a AnyArray) -> Rows<'a> {
        input(values, self.channels)
    }

    fn pooler(&self, device: &Device, layout: RoiLayout) -> RoiPooler {
        let params = RoiPoolParams { layout, ..self.params.clone() };
        RoiPooler::new(&device.stream().unwrap(), &params).unwrap()
    }

    /// Everything, by one call for each layout, or by calls for each step.
    fn run(&self, device: &Device, dense: bool) -> Answers {
        let mut a = Answers::default();
        self.sparse(device, &mut a);
        if dense {
            self.dense(device, &mut a);
        }
        self.inside(device, &mut a);
        a
    }

    fn sparse(&self, device: &Device, a: &mut Answers) {
        let mut pooler = self.pooler(device, RoiLayout::Sparse);
        let (mut max, mut mean) = (pooler.output().unwrap(), pooler.output().unwrap());
        // Twice, so that what the first call leaves behind is used.
        for _ in 0..2 {
            pooler.locate(self.scene()).unwrap();
            pooler.pool(self.rows(&self.features), PoolMode::Max, &mut max).unwrap();
            pooler.pool(self.rows(&self.features), PoolMode::Mean, &mut mean).unwrap();
        }
        let (got_max, got_mean) = (max.read().unwrap(), mean.read().unwrap());
        assert_eq!(got_max.report, got_mean.report);
        assert_eq!((&got_max.coords, &got_max.indices), (&got_mean.coords, &got_mean.indices));
        assert_eq!(got_mean.argmax, None);
        if let Some(grad) = &self.grad {
            let mut out = AnyBuffer::new(max.stream(), Dtype::F32).unwrap();
            let values = self.num_points() * self.channels;
            pooler.backward(&max, self.rows(grad), &mut out).unwrap();
            a.grad_max = bits(&out.read(values).unwrap());
            pooler.backward(&mean, self.rows(grad), &mut out).unwrap();
            a.grad_mean = bits(&out.read(values).unwrap());
        }
        a.sparse_max = bits(&got_max.pooled);
        a.sparse_argmax = got_max.argmax.unwrap();
        a.sparse_mean = bits(&got_mean.pooled);
        a.coords = got_max.coords.unwrap();
        a.sparse_row_splits = got_max.row_splits.unwrap();
        a.indices = got_max.indices.unwrap();
        a.report = got_max.report;
    }

    fn dense(&self, device: &Device, a: &mut Answers) {
        let mut pooler = self.pooler(device, RoiLayout::Dense);
        let mut out = pooler.output().unwrap();
        for _ in 0..2 {
            pooler.run(self.scene(), self.rows(&self.features), &mut out).unwrap();
        }
        let got = out.read().unwrap();
        assert_eq!(got.report, a.report, "report of the dense layout");
        (a.max, a.argmax) = (bits(&got.pooled), got.argmax.unwrap());
        a.point_indices = got.point_indices.unwrap();
        if let Some(grad) = &self.grad {
            let dense_grad = self.dense_grad(grad, &a.coords);
            let mut from_dense = AnyBuffer::new(out.stream(), Dtype::F32).unwrap();
            pooler.backward(&out, self.rows(&dense_grad), &mut from_dense).unwrap();
            let got = from_dense.read(self.num_points() * self.channels).unwrap();
            assert_eq!(bits(&got), a.grad_max, "gradient of the dense layout");
        }
        let mut pooler = self.pooler(device, RoiLayout::Csr);
        let mut out = pooler.output().unwrap();
        pooler.locate(self.scene()).unwrap();
        pooler.pool(self.rows(&self.features), PoolMode::Mean, &mut out).unwrap();
        let got = out.read().unwrap();
        assert_eq!(got.report, a.report, "report of the CSR layout");
        assert_eq!(got.indices.as_ref(), Some(&a.indices), "indices of the CSR layout");
        a.mean = bits(&got.pooled);
        a.row_splits = got.row_splits.unwrap();
    }

    /// The gradient of the non-empty voxels among those of all.
    fn dense_grad(&self, grad: &AnyArray, coords: &[i32]) -> AnyArray {
        let [ox, oy, oz] = self.params.out_size.map(|n| n as usize);
        let mut all = vec![f32::NAN; self.scene().num_boxes() * ox * oy * oz * self.channels];
        let wide: Vec<f32> = match grad {
            AnyArray::F32(v) => v.clone(),
            AnyArray::F16(v) => v.iter().map(|v| v.to_f32()).collect(),
            AnyArray::Bf16(v) => v.iter().map(|v| v.to_f32()).collect(),
            other => panic!("{other:?}"),
        };
        for (row, at) in coords.chunks_exact(4).enumerate() {
            let [b, x, y, z] = std::array::from_fn(|k| at[k] as usize);
            let to = (((b * ox + x) * oy + y) * oz + z) * self.channels;
            all[to..to + self.channels].copy_from_slice(&wide[row * self.channels..][..self.channels]);
        }
        array(self.rows(grad).element(), &all)
    }

    fn inside(&self, device: &Device, a: &mut Answers) {
        let stream = device.stream().unwrap();
        let params = BoxParams { origin: self.params.origin, margin: self.params.margin };
        let mut inside = PointsInBoxes::new(&stream, params).unwrap();
        let (n, boxes) = (self.num_points(), self.scene().num_boxes());
        for _ in 0..2 {
            let mut out = stream.alloc(0).unwrap();
            inside.part(self.scene(), &mut out).unwrap();
            a.part = out.read(n).unwrap();
            inside.count(self.scene(), &mut out).unwrap();
            a.count = out.read(boxes).unwrap();
            let mut words = stream.alloc(0).unwrap();
            inside.bits(self.scene(), &mut words).unwrap();
            a.words = words.read(n * boxes.div_ceil(32)).unwrap();
            let mut lists = inside.lists().unwrap();
            inside.all(self.scene(), &mut lists).unwrap();
            assert_eq!((lists.num_rows(), lists.num_indices()), (n, a.report.inside));
            a.all = lists.read().unwrap();
            inside.crop(self.scene(), &mut lists).unwrap();
            a.crop = lists.read().unwrap();
        }
    }
}

/// Panics where two answers differ, naming the array.
fn assert_same(got: &Answers, want: &Answers, what: &str) {
    macro_rules! same {
        ($($field:ident),*) => {
            $(assert!(got.$field == want.$field, "{what}: {}\n got {}\nwant {}", stringify!($field),
                shortened(&got.$field), shortened(&want.$field));)*
        };
    }
    same!(report, coords, sparse_row_splits, indices, sparse_argmax, sparse_max, sparse_mean);
    same!(row_splits, max, argmax, mean, point_indices, grad_max, grad_mean, part, count, words, all, crop);
}

fn shortened(value: &impl std::fmt::Debug) -> String {
    let mut text = format!("{value:?}");
    text.truncate(2000);
    text
}
