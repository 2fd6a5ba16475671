//! Gradients against finite differences, and results against `f64`.

use super::*;
use crate::Argument;
use crate::testing::{Random, devices};

/// A scene whose features differ by more than the step, so that no maximum changes hands.
fn case(mode: PoolMode) -> Case {
    let mut random = Random(29);
    let mut boxes = Vec::new();
    for _ in 0..6 {
        let mut along = || random.between(-2.0, 2.0);
        boxes.extend([along(), along(), -1.0, 3.0, 2.0, 2.0, along()]);
    }
    let points: Vec<f32> = (0..120 * 3).map(|_| random.between(-2.0, 2.0)).collect();
    let features: Vec<f32> = (0..120 * 2).map(|i| ((i * 7919) % 240) as f32 * 0.125 - 15.0).collect();
    Case {
        boxes: AnyArray::F32(boxes),
        points: AnyArray::F32(points),
        features: AnyArray::F32(features),
        point_columns: 3,
        grad: None,
        channels: 2,
        splits: None,
        params: RoiPoolParams { out_size: [3, 2, 2], max_points_per_voxel: 2, mode, ..RoiPoolParams::default() },
    }
}

/// The sum of the pooled values, each times its own weight.
fn loss(case: &Case, features: &[f32], weights: &[f32]) -> f64 {
    let features = Rows::new(features, case.channels).unwrap();
    let pooled = roi_pool(case.scene(), features, &case.params, &Device::cpu()).unwrap().read().unwrap();
    let AnyArray::F32(pooled) = pooled.pooled else { panic!("f32 in, f32 out") };
    pooled.iter().zip(weights).map(|(&p, &w)| f64::from(p) * f64::from(w)).sum()
}

#[test]
fn gradients_equal_finite_differences() {
    const STEP: f32 = 1.0 / 64.0;
    for mode in [PoolMode::Max, PoolMode::Mean] {
        let case = case(mode);
        let AnyArray::F32(features) = &case.features else { unreachable!("made above") };
        let mut random = Random(31);
        let weights: Vec<f32> = (0..6 * 12 * 2).map(|_| random.between(-1.0, 1.0)).collect();
        for (name, device) in devices() {
            let mut pooler = case.pooler(&device, RoiLayout::Dense);
            let mut out = pooler.output().unwrap();
            pooler.run(case.scene(), case.rows(&case.features), &mut out).unwrap();
            assert!(out.report().unwrap().dropped > 0, "the cap must hold");
            let mut gradient = AnyBuffer::new(out.stream(), Dtype::F32).unwrap();
            pooler.backward(&out, Rows::new(&weights, 2).unwrap(), &mut gradient).unwrap();
            let AnyArray::F32(gradient) = gradient.read(features.len()).unwrap() else { panic!("f32") };
            assert!(gradient.iter().filter(|g| **g != 0.0).count() > 40);
            for (i, got) in gradient.iter().enumerate() {
                let at = |step: f32| {
                    let mut moved = features.clone();
                    moved[i] += step;
                    loss(&case, &moved, &weights)
                };
                let want = (at(STEP) - at(-STEP)) / f64::from(2.0 * STEP);
                assert!((f64::from(*got) - want).abs() < 1e-4, "{name} {mode:?} feature {i}: got {got}, want {want}");
            }
        }
    }
}

/// Within the accepted distance of the same pooling in `f64`.
#[test]
fn means_are_near_those_of_f64() {
    for (element, most) in [(ElementType::F32, 1e-5), (ElementType::F16, 1e-3)] {
        let mut case = case(PoolMode::Mean);
        case.params.max_points_per_voxel = 99;
        let mut random = Random(37);
        let values: Vec<f32> = (0..120 * 2).map(|_| random.between(-3.0, 9.0)).collect();
        case.features = array(element, &values);
        for (name, device) in devices() {
            let mut pooler = case.pooler(&device, RoiLayout::Sparse);
            let mut out = pooler.output().unwrap();
            pooler.run(case.scene(), case.rows(&case.features), &mut out).unwrap();
            let got = out.read().unwrap();
            let value = |bits: &u32| f64::from(element.widen(*bits));
            let features: Vec<f64> = bits(&case.features).iter().map(value).collect();
            let pooled: Vec<f64> = bits(&got.pooled).iter().map(value).collect();
            let (splits, indices) = (got.row_splits.unwrap(), got.indices.unwrap());
            let want: Vec<f64> = (0..pooled.len())
                .map(|at| {
                    let list = &indices[splits[at / 2] as usize..splits[at / 2 + 1] as usize];
                    list.iter().map(|&i| features[i as usize * 2 + at % 2]).sum::<f64>() / list.len() as f64
                })
                .collect();
            let pairs = || pooled.iter().zip(&want);
            let diff1 = pairs().map(|(e, b)| (e - b).abs()).sum::<f64>() / want.iter().map(|b| b.abs()).sum::<f64>();
            let squares = want.iter().map(|b| b * b).sum::<f64>();
            let diff2 = (pairs().map(|(e, b)| (e - b) * (e - b)).sum::<f64>() / squares).sqrt();
            assert!(diff1 <= most && diff2 <= most, "{name} {element:?}: {diff1:e} {diff2:e}");
        }
    }
}

/// A gradient that comes after another scene: boxes and points are located again, and of the result
/// only the argmax is left.
#[test]
fn gradients_of_results_of_before() {
    for mode in [PoolMode::Max, PoolMode::Mean] {
        let case = case(mode);
        let other =
            Case { points: AnyArray::F32(vec![0.25; 30]), features: AnyArray::F32(vec![1.0; 20]), ..case.clone() };
        let weights: Vec<f32> = (0..6 * 12 * 2).map(|i| i as f32 * 0.25 - 9.0).collect();
        for (name, device) in devices() {
            for layout in [RoiLayout::Dense, RoiLayout::Csr] {
                let mut pooler = case.pooler(&device, layout);
                let mut out = pooler.output().unwrap();
                assert_eq!(pooler.scene(), None);
                assert!(
                    pooler
                        .restore(&mut out, Dtype::F32, 2, mode)
                        .unwrap_err()
                        .to_string()
                        .starts_with("scene: expected a located")
                );
                pooler.run(case.scene(), case.rows(&case.features), &mut out).unwrap();
                let scene = pooler.scene();
                let stream = out.stream().clone();
                let mut want = AnyBuffer::new(&stream, Dtype::F32).unwrap();
                pooler.backward(&out, Rows::new(&weights, 2).unwrap(), &mut want).unwrap();
                let mut taken = out.exchange(Arrays::new(&stream)).unwrap();
                assert_eq!(out.report().unwrap(), Report::default(), "{name}");
                pooler.run(other.scene(), other.rows(&other.features), &mut out).unwrap();
                assert!(pooler.scene() != scene);
                pooler.locate(case.scene()).unwrap();
                let mut none = Arrays::new(&stream);
                if let Some(argmax) = taken.take(RoiArray::Argmax) {
                    none.set(RoiArray::Argmax, argmax);
                }
                out.exchange(none).unwrap();
                pooler.restore(&mut out, Dtype::F32, 2, mode).unwrap();
                let mut got = AnyBuffer::new(&stream, Dtype::F32).unwrap();
                pooler.backward(&out, Rows::new(&weights, 2).unwrap(), &mut got).unwrap();
                assert_eq!(bits(&got.read(240).unwrap()), bits(&want.read(240).unwrap()), "{name} {mode:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_restored_is_refused() {
    let case = case(PoolMode::Max);
    for (name, device) in devices() {
        let mut sparse = case.pooler(&device, RoiLayout::Sparse);
        let mut out = sparse.output().unwrap();
        sparse.locate(case.scene()).unwrap();
        let e = sparse.restore(&mut out, Dtype::F32, 2, PoolMode::Max).unwrap_err().to_string();
        assert_eq!(e, "layout: expected dense or CSR, got sparse", "{name}");
        let mut dense = case.pooler(&device, RoiLayout::Dense);
        dense.locate(case.scene()).unwrap();
        let e = dense.restore(&mut out, Dtype::F32, 2, PoolMode::Max).unwrap_err().to_string();
        assert_eq!(e, "argmax: expected 144 values, got 0", "{name}");
        let e = dense.restore(&mut out, Dtype::F32, 0, PoolMode::Mean).unwrap_err().to_string();
        assert_eq!(e, "channels: expected 1 to 2147483647, got 0", "{name}");
        let other = Device::twin().stream().unwrap();
        let e = out.exchange(Arrays::new(&other)).unwrap_err().to_string();
        assert_eq!(e, "arrays: expected arrays of the stream of the result, got arrays of another one", "{name}");
    }
}

/// What a gradient needs may be made before it is there, and the arrays of the result in the course
/// of the call: all is the same.
#[test]
fn a_gradient_may_be_prepared() {
    for mode in [PoolMode::Max, PoolMode::Mean] {
        let case = case(mode);
        let weights: Vec<f32> = (0..6 * 12 * 2).map(|i| i as f32 * 0.25 - 9.0).collect();
        for (name, device) in devices() {
            let mut pooler = case.pooler(&device, RoiLayout::Dense);
            let mut out = pooler.output().unwrap();
            let e = pooler.prepare_backward(&out).unwrap_err().to_string();
            assert_eq!(
                e,
                "pooled: expected a result pooled from the scene that was located last, got one of another scene"
            );
            pooler.run(case.scene(), case.rows(&case.features), &mut out).unwrap();
            let (stream, want) = (out.stream().clone(), out.read().unwrap());
            let mut gradients = Vec::new();
            for prepare in [false, true, true] {
                let refused = pooler.run_into(case.scene(), case.rows(&case.features), &mut out, |_| {
                    Err(Error::argument(Argument::Arrays, "some", "none"))
                });
                assert_eq!(refused.unwrap_err().to_string(), "arrays: expected some, got none", "{name}");
                assert_eq!(out.report().unwrap(), Report::default(), "{name}: a failed call leaves nothing");
                let arrays = |_: &[ArraySpec<RoiArray>]| Ok::<_, Error>(Arrays::new(&stream));
                pooler.run_into(case.scene(), case.rows(&case.features), &mut out, arrays).unwrap();
                assert_eq!(out.read().unwrap(), want, "{name}");
                if prepare {
                    pooler.prepare_backward(&out).unwrap();
                    pooler.prepare_backward(&out).unwrap();
                }
                let mut gradient = AnyBuffer::new(&stream, Dtype::F32).unwrap();
                pooler.backward(&out, Rows::new(&weights, 2).unwrap(), &mut gradient).unwrap();
                gradients.push(bits(&gradient.read(240).unwrap()));
            }
            assert!(gradients.windows(2).all(|pair| pair[0] == pair[1]), "{name} {mode:?}");
        }
    }
}
