//! What holds for every worker, from its lists alone.

use super::{Input, InputKind, Inputs, Worker};
use crate::arrays::{AnyArray, ArrayName, Arrays, DeviceArrays};
use crate::boxes::{NmsMetric, NmsParams, Suppressor};
use crate::downsample::{DownsampleParams, Downsampler, Keep};
use crate::points::{BallParams, BallPick, BallQuery, FurthestParams, FurthestSampler, Knn, KnnParams, Start};
use crate::testing::{Random, devices, kernel_devices};
use crate::{AnyBuffer, Buffer, Error, Ints, Result, Rows, Stream};
use pointmill_core::params::Params;

/// An input of a call on the host.
#[derive(Clone, Debug)]
enum Given {
    Rows(Vec<f32>, usize),
    Ints(Vec<i32>),
    Splits(Vec<usize>),
}

/// The same in memory of a device.
enum Lent {
    Rows(Buffer<f32>, usize, usize),
    Ints(Buffer<i32>, usize),
}

/// Inputs of `n` rows by the list of a worker: what a caller has, with NaN, infinities and copies.
type Make = fn(&mut Random, usize) -> Vec<Given>;

fn on_host<'a, W: Worker>(given: &'a [Given]) -> Inputs<'a> {
    let mut inputs = Inputs::default();
    for (Input { argument, .. }, given) in W::INPUTS.iter().zip(given) {
        match given {
            Given::Rows(values, columns) => inputs.set_rows(*argument, Rows::new(values, *columns).unwrap()),
            Given::Ints(values) => inputs.set_ints(*argument, Ints::from(&values[..])),
            Given::Splits(splits) => inputs.set_splits(*argument, splits),
        }
    }
    inputs
}

fn upload(stream: &Stream, given: &[Given]) -> Vec<Option<Lent>> {
    let lend = |given: &Given| match given {
        Given::Rows(values, columns) => {
            Some(Lent::Rows(stream.upload(values).unwrap(), values.len() / columns, *columns))
        }
        Given::Ints(values) => Some(Lent::Ints(stream.upload(values).unwrap(), values.len())),
        Given::Splits(_) => None,
    };
    given.iter().map(lend).collect()
}

fn on_device<'a, W: Worker>(given: &'a [Given], lent: &'a [Option<Lent>]) -> Inputs<'a> {
    let mut inputs = Inputs::default();
    for ((Input { argument, .. }, given), lent) in W::INPUTS.iter().zip(given).zip(lent) {
        match (given, lent) {
            (_, Some(Lent::Rows(buffer, n, columns))) => {
                inputs.set_rows(*argument, Rows::on_device(buffer, *n, *columns).unwrap());
            }
            (_, Some(Lent::Ints(buffer, n))) => inputs.set_ints(*argument, Ints::on_device(buffer, *n).unwrap()),
            (Given::Splits(splits), None) => inputs.set_splits(*argument, splits),
            _ => unreachable!("rows and numbers are lent"),
        }
    }
    inputs
}

/// The arrays of a result as they are, by name.
fn read<W: Worker>(out: &mut W::Out, stream: &Stream) -> Result<Vec<(&'static str, AnyArray)>> {
    let (bounds, (specs, _)) = (out.bounds(), out.counted()?);
    let mut arrays = out.exchange(Arrays::new(stream))?;
    arrays.cut(&bounds, &specs)?;
    let one = |spec: &crate::arrays::ArraySpec<_>| {
        let array = arrays.get(spec.array).map(|buffer: &AnyBuffer| buffer.read(spec.shape.num_values()));
        Ok((ArrayName::name(spec.array), array.expect("every array is there")?))
    };
    specs.iter().map(one).collect()
}

/// Bits, so that a NaN equals itself.
fn bits(arrays: &[(&'static str, AnyArray)]) -> Vec<String> {
    let one = |(name, array): &(&str, AnyArray)| match array {
        AnyArray::F32(values) => {
            format!("{name}: {:?}", values.iter().map(|value| value.to_bits()).collect::<Vec<_>>())
        }
        other => format!("{name}: {other:?}"),
    };
    arrays.iter().map(one).collect()
}

fn called<W: Worker>(stream: &Stream, params: &W::Params, inputs: &Inputs<'_>) -> Result<Vec<String>> {
    let mut worker = W::new(stream, params)?;
    let mut out = worker.output()?;
    worker.run(inputs, &mut out)?;
    Ok(bits(&read::<W>(&mut out, stream)?))
}

/// All that holds for any worker. `records`: calls only queue work, so that a graph can hold them.
fn holds<W: Worker>(params: &[W::Params], make: Make, records: bool) {
    same_bits::<W>(params, make);
    refused_by_name::<W>(&params[0], make);
    if records {
        recorded::<W>(&params[0], make);
    }
}

/// The same bits on every device, with any threads, from host and device, the first call and later
/// ones, of any size and of none.
fn same_bits<W: Worker>(params: &[W::Params], make: Make) {
    let mut random = Random(11);
    for params in params {
        for n in [0, 1, 2, 257, 3000] {
            let given = make(&mut random, n);
            let mut want: Option<Vec<String>> = None;
            for (name, device) in devices() {
                let stream = device.stream().unwrap();
                let lent = upload(&stream, &given);
                for inputs in [on_host::<W>(&given), on_device::<W>(&given, &lent)] {
                    let mut worker = W::new(&stream, params).unwrap();
                    let mut out = worker.output().unwrap();
                    for _ in 0..2 {
                        worker.run(&inputs, &mut out).unwrap();
                        let got = bits(&read::<W>(&mut out, &stream).unwrap());
                        assert!(want.get_or_insert_with(|| got.clone()) == &got, "{} of {n} on {name}", W::NAME);
                    }
                }
            }
        }
    }
}

/// An input that is not there or does not fit is an error with its name, and the next call is good.
fn refused_by_name<W: Worker>(params: &W::Params, make: Make) {
    let mut random = Random(12);
    let given = make(&mut random, 50);
    for (name, device) in devices() {
        let stream = device.stream().unwrap();
        let mut worker = W::new(&stream, params).unwrap();
        let mut out = worker.output().unwrap();
        let want = called::<W>(&stream, params, &on_host::<W>(&given)).unwrap();
        for (at, input) in W::INPUTS.iter().enumerate() {
            let mut bad = Vec::new();
            match (&given[at], input.kind) {
                (Given::Rows(values, columns), InputKind::Rows(wanted, _)) => {
                    let other = if wanted.is_none() { 2 } else { columns + 1 };
                    let len = values.len() / other * other;
                    bad.push(Given::Rows(values[..len].to_vec(), other));
                    if at > 0 {
                        bad.push(Given::Rows(values[..values.len() - columns].to_vec(), *columns));
                    }
                }
                (Given::Ints(values), _) => bad.push(Given::Ints(values[1..].to_vec())),
                (Given::Splits(splits), _) => {
                    bad.push(Given::Splits(splits.iter().map(|split| split + 1).collect()));
                    bad.push(Given::Splits(splits.iter().rev().copied().collect()));
                }
                _ => unreachable!("inputs are of their kinds"),
            }
            for bad in bad {
                let mut given = given.clone();
                given[at] = bad;
                let refused = worker.run(&on_host::<W>(&given), &mut out).unwrap_err();
                let Error::Argument { argument, .. } = &refused else { panic!("{name}: {refused}") };
                // Rows that are left out may be rows that splits miss.
                let of_splits = |other: &Input| other.kind == InputKind::Splits && other.argument == *argument;
                let is_named = *argument == input.argument || W::INPUTS.iter().any(of_splits);
                assert!(is_named, "{name}: {}: {refused}", input.argument);
            }
            if !input.optional {
                let refused = worker.run(&Inputs::default(), &mut out).unwrap_err();
                assert!(matches!(refused, Error::Argument { .. }), "{name}: {refused}");
            }
        }
        worker.run(&on_host::<W>(&given), &mut out).unwrap();
        assert!(bits(&read::<W>(&mut out, &stream).unwrap()) == want, "{name}: a good call after bad ones");
    }
    for parameter in W::Params::PARAMETERS {
        assert!(parameter.name.parse::<crate::Argument>().is_ok(), "{} is no argument", parameter.name);
    }
}

/// What is recorded in a graph gives what calls give, with other inputs too.
fn recorded<W: Worker>(params: &W::Params, make: Make) {
    for (name, device) in kernel_devices() {
        let (stream, mut random) = (device.stream().unwrap(), Random(13));
        let first = make(&mut random, 300);
        let mut lent = upload(&stream, &first);
        let mut worker = W::new(&stream, params).unwrap();
        let mut out = worker.output().unwrap();
        worker.run(&on_device::<W>(&first, &lent), &mut out).unwrap();
        let graph = stream.capture(|| worker.run(&on_device::<W>(&first, &lent), &mut out)).unwrap();
        for _ in 0..3 {
            let next = make(&mut random, 300);
            for (lent, next) in lent.iter_mut().zip(&next) {
                match (lent, next) {
                    (Some(Lent::Rows(buffer, ..)), Given::Rows(values, _)) => buffer.write(values).unwrap(),
                    (Some(Lent::Ints(buffer, _)), Given::Ints(values)) => buffer.write(values).unwrap(),
                    _ => {}
                }
            }
            // SAFETY: all memory of the recorded call is alive.
            unsafe { graph.launch() }.unwrap();
            let (specs, _) = out.counted().unwrap();
            let got: Vec<_> = specs
                .iter()
                .map(|spec| {
                    let (address, len) = out.memory(spec.array);
                    // SAFETY: the result has so many values there, and is alive.
                    let words = unsafe { Buffer::<u32>::from_raw_cuda(&stream, address, len) }.unwrap();
                    words.read(spec.shape.num_values()).unwrap()
                })
                .collect();
            let mut plain = W::new(&stream, params).unwrap();
            let mut want = plain.output().unwrap();
            // The splits of a recorded call are those of the call before.
            let given: Vec<_> = next
                .iter()
                .zip(&first)
                .map(|(next, first)| if let Given::Splits(_) = first { first.clone() } else { next.clone() })
                .collect();
            plain.run(&on_host::<W>(&given), &mut want).unwrap();
            let want = read::<W>(&mut want, &stream).unwrap();
            let words = |array: &AnyArray| match array {
                AnyArray::F32(values) => values.iter().map(|value| value.to_bits()).collect::<Vec<_>>(),
                AnyArray::I32(values) => values.iter().map(|&value| value as u32).collect(),
                AnyArray::U32(values) => values.clone(),
                other => panic!("{other:?} has no words"),
            };
            assert!(got == want.iter().map(|(_, array)| words(array)).collect::<Vec<_>>(), "{} on {name}", W::NAME);
        }
    }
}

/// Numbers that are special now and then.
fn number(random: &mut Random, most: f32) -> f32 {
    match random.below(40) {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => -0.0,
        _ => random.between(-most, most),
    }
}

#[test]
fn suppression_is_a_worker() {
    let make = |random: &mut Random, n: usize| {
        let mut boxes = Vec::new();
        for i in 0..n {
            if i > 0 && random.below(9) == 0 {
                boxes.extend_from_within(7 * (i - 1)..);
                continue;
            }
            boxes.extend([0; 3].map(|_| number(random, 8.0)));
            boxes.extend([0; 3].map(|_| random.between(0.0, 5.0)));
            boxes.push(number(random, 4.0));
        }
        let scores = (0..n).map(|_| number(random, 1.0)).collect();
        let classes = (0..n).map(|_| random.below(3) as i32).collect();
        vec![
            Given::Rows(boxes, 7),
            Given::Rows(scores, 1),
            Given::Ints(classes),
            Given::Splits(vec![0, n / 3, n / 3, n]),
        ]
    };
    let default = NmsParams::default();
    let params = [
        default,
        NmsParams { threshold: 0.1, pre_max: Some(100), post_max: Some(7), score_threshold: Some(0.2), ..default },
        NmsParams { metric: NmsMetric::Circle, threshold: 4.0, ..default },
        NmsParams { metric: NmsMetric::Volume, ..default },
    ];
    holds::<Suppressor>(&params, make, true);
}

#[test]
fn downsampling_is_a_worker() {
    let make = |random: &mut Random, n: usize| {
        let points = (0..n).flat_map(|_| [0; 5].map(|_| number(random, 20.0))).collect();
        vec![Given::Rows(points, 5)]
    };
    let of = |keep| DownsampleParams { keep, seed: 5, ..DownsampleParams::new([1.5; 3]) };
    holds::<Downsampler>(&[Keep::Mean, Keep::First, Keep::Centre, Keep::Random].map(of), make, false);
}

/// Rows of points, special now and then, and often as far from each other.
fn points(random: &mut Random, n: usize) -> Given {
    let coordinate = |random: &mut Random| {
        if random.below(3) == 0 { number(random, 9.0) } else { random.below(19) as f32 - 9.0 }
    };
    Given::Rows((0..4 * n).map(|_| coordinate(random)).collect(), 4)
}

#[test]
fn furthest_sampling_is_a_worker() {
    let make = |random: &mut Random, n: usize| {
        let features = Given::Rows((0..n).map(|_| number(random, 2.0)).collect(), 1);
        let splits = [Given::Splits(vec![0, n / 3, n / 3, n]), Given::Splits(vec![0, 5, 9, 40])];
        let [of_points, of_samples] = splits;
        vec![points(random, n), features, of_points, of_samples]
    };
    let of = |start| FurthestParams { number: 20, start };
    holds::<FurthestSampler>(&[Start::First, Start::NearestToMean].map(of), make, true);
}

/// Points, a third as many queries, and three items of both.
fn points_and_queries(random: &mut Random, n: usize) -> Vec<Given> {
    let of = |n: usize| Given::Splits(vec![0, n / 2, n / 2, n]);
    vec![points(random, n), points(random, n / 3), of(n), of(n / 3)]
}

#[test]
fn ball_queries_are_a_worker() {
    let of = |pick| BallParams { radius: 3.0, min_radius: 0.5, most: 9, pick, ..BallParams::default() };
    holds::<BallQuery>(&[BallPick::First, BallPick::Nearest].map(of), points_and_queries, true);
}

#[test]
fn searches_for_neighbours_are_a_worker() {
    holds::<Knn>(&[1, 40].map(|k| KnnParams { k }), points_and_queries, true);
}
