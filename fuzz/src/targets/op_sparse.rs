//! The front end of sparse detectors, on all devices.
use crate::{Draw, Named, everywhere};
use pointmill::sparse::{
    Cells, ConvKind, ConvParams, Densifier, GridOrigin, GridSampleParams, GridSampler, IndexPairs, Order, Patches,
    Pick, PillarEncoder, PillarParams, PillarPoints, PoolParams, Pooler, SerializeParams, Serializer, SparseCells,
};
use pointmill::{Aabb, Pose, Rows};
use std::collections::{BTreeSet, HashSet};

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    [sample, serialize, pairs, densify, pillars, patches][draw.below(6)](draw);
}

fn sample(mut draw: Draw<'_>) {
    let range = Aabb::new(std::array::from_fn(|_| -draw.value().abs()), std::array::from_fn(|_| draw.value().abs()));
    let params = GridSampleParams {
        origin: draw.one(&[GridOrigin::Min, GridOrigin::Range(range)]),
        pick: draw.one(&[Pick::First, Pick::Nearest, Pick::Nth(0), Pick::Nth(u32::MAX), Pick::Random { seed: 3 }]),
        capacity: draw.usual(&[None, None, Some(1), Some(7), Some(200)], &[Some(0), Some(usize::MAX)]),
        ..GridSampleParams::new(draw.sizes())
    };
    let columns = 3 + draw.below(2);
    let input = |mut draw: Draw<'_>| {
        let mut tail = draw.part();
        let points = draw.near_rows(columns, 120, 0..0);
        (tail.splits(points.len() / columns), points)
    };
    let inputs = [input(draw.part()), input(draw)];
    let make = |stream: &_| {
        let mut worker = GridSampler::new(stream, &params)?;
        Ok((worker.output()?, move |(splits, points): &(Option<Vec<usize>>, Vec<f32>), out: &mut _| {
            worker.run(Rows::new(&points[..], columns)?, splits.as_deref(), out)
        }))
    };
    everywhere(inputs.each_ref(), false, make, |out| Ok(vec![out.read()?]));
}

/// Orders of curves, and the larger cells that are made of them.
fn serialize(mut draw: Draw<'_>) {
    let pooling = draw.below(2) == 0;
    let orders =
        Order::ALL.iter().copied().cycle().skip(draw.below(4)).take(draw.usual(&[1, 2, 3, 4], &[0, 5])).collect();
    let params =
        SerializeParams { depth: draw.usual(&[None, Some(6), Some(16)], &[Some(1), Some(0), Some(17)]), orders };
    let strides: Vec<u32> = (0..draw.below(5)).map(|_| draw.usual(&[2, 2, 4, 8, 1, 1 << 31], &[3, 0])).collect();
    let room = [1, 5, 40, 200];
    let capacities = (draw.below(2) == 0).then(|| strides.iter().map(|_| draw.usual(&room, &[0])).collect());
    let pool = PoolParams { strides, capacities };
    let items = draw.usual(&[33, 40, 32_768], &[1, (1 << 31) - 1, 0, usize::MAX]);
    let input = |mut draw: Draw<'_>| {
        let rows = draw.cells(4, 100);
        let (batch, cells): (Vec<_>, Vec<_>) = rows.chunks_exact(4).map(|r| (r[0], [r[1], r[2], r[3]])).unzip();
        (cells, batch)
    };
    let inputs = [input(draw.part()), input(draw)];
    type Input = (Vec<[i32; 3]>, Vec<i32>);
    if !pooling {
        let make = |stream: &_| {
            let mut worker = Serializer::new(stream, &params)?;
            Ok((worker.output()?, move |(cells, batch): &Input, out: &mut _| {
                worker.run(Cells::new(&cells[..])?.batch(&batch[..], items)?, out)
            }))
        };
        return everywhere(inputs.each_ref(), false, make, |out| Ok(vec![out.read()?]));
    }
    let make = |stream: &_| {
        let (mut worker, mut pooler) = (Serializer::new(stream, &params)?, Pooler::new(stream, &pool)?);
        let mut serialized = worker.output()?;
        Ok((pooler.output()?, move |(cells, batch): &Input, out: &mut _| {
            let cells = Cells::new(&cells[..])?.batch(&batch[..], items)?;
            worker.run(cells, &mut serialized)?;
            pooler.run(cells, &serialized, out)
        }))
    };
    everywhere(inputs.each_ref(), false, make, |out| out.read());
}

fn pairs(mut draw: Draw<'_>) {
    let kind = draw.one(&[ConvKind::Submanifold, ConvKind::Strided, ConvKind::Transposed, ConvKind::Inverse]);
    let mut three = |usual: &[u32], odd: &[u32]| -> [u32; 3] { std::array::from_fn(|_| draw.usual(usual, odd)) };
    let mut params = ConvParams {
        kernel: three(&[3, 3, 3, 1, 1, 2], &[0, 1 << 29, u32::MAX]),
        stride: three(&[1, 1, 2, 2, 3, 1], &[1 << 29, 0]),
        padding: three(&[0, 1, 1, 0, 2], &[1 << 29, u32::MAX]),
        dilation: three(&[1, 1, 1, 2], &[1 << 28, 0, u32::MAX]),
        kind,
        ..ConvParams::default()
    };
    let shape = three(&[33, 33, 33, 40], &[1 << 30, 1, 0, u32::MAX]);
    let odd = three(&[0], &[17, 1 << 30]);
    if kind == ConvKind::Submanifold && draw.below(8) < 7 {
        (params.kernel, params.stride) = ([3, 1, 3], [1; 3]);
    }
    params.capacity = match kind {
        ConvKind::Strided | ConvKind::Transposed => {
            draw.usual(&[None, None, Some(1), Some(9)], &[Some((1 << 30) - 1), Some(0)])
        }
        _ => draw.usual(&[None], &[Some(9)]),
    };
    params.masks = draw.below(2) == 0;
    params.lists = draw.below(2) == 0;
    // What a strided layer makes of the shape, or something else.
    let coarse = [0, 1, 2].map(|k| {
        let [n, window, pad, step] = [shape, params.kernel, params.padding, params.stride].map(|all| i64::from(all[k]));
        let span = i64::from(params.dilation[k]).saturating_mul(window - 1).saturating_add(1);
        if odd[k] > 0 { odd[k] } else { ((n + 2 * pad - span) / step.max(1) + 1).clamp(1, 1 << 30) as u32 }
    });
    let (batch, with_outputs) = (draw.usual(&[33, 33, 40], &[1, 0, u32::MAX]), draw.below(8) == 7);
    let given = with_outputs != (kind == ConvKind::Inverse);
    let twice = draw.below(8) == 7;
    let own = coarse.map(|n| n as i32);
    let input = |mut draw: Draw<'_>| {
        let [outputs, mut cells] = [draw.part(), draw].map(|mut draw| {
            let mut seen = HashSet::new();
            let mut cells = draw.cells(4, 40).as_chunks::<4>().0.to_vec();
            cells.retain(|cell| seen.insert(*cell) || twice);
            cells
        });
        if given {
            let inside = |[item, z, y, x]: [i32; 4]| [item, z % own[0], y % own[1], x % own[2]];
            cells = cells.into_iter().map(inside).collect::<BTreeSet<_>>().into_iter().collect();
        }
        [outputs, cells]
    };
    let inputs = [input(draw.part()), input(draw)];
    let make = |stream: &_| {
        let mut worker = IndexPairs::new(stream, &params)?;
        Ok((worker.output()?, move |[outputs, cells]: &[Vec<[i32; 4]>; 2], out: &mut _| {
            let cells = SparseCells::new(&cells[..], batch, if given { coarse } else { shape });
            worker.run(if given { cells.outputs(&outputs[..], shape) } else { cells }, out)
        }))
    };
    everywhere(inputs.each_ref(), false, make, |out| Ok(vec![out.read()?]));
}

fn densify(mut draw: Draw<'_>) {
    type Sweep = (Vec<f32>, usize, Pose, f32);
    let columns = 3 + draw.below(3);
    let input = |mut draw: Draw<'_>| -> Vec<Sweep> {
        let sweep = |mut draw: Draw<'_>| {
            let columns = columns + usize::from(draw.below(32) == 31);
            let pose = Pose::from_xyzrpy(std::array::from_fn(|_| f64::from(draw.value()))).unwrap_or(Pose::IDENTITY);
            let lag = [draw.value(), 0.1][usize::from(draw.below(32) < 31)];
            (draw.rows(columns, 50), columns, pose, lag)
        };
        (0..draw.below(5)).map(|_| sweep(draw.part())).collect()
    };
    let inputs = [input(draw.part()), input(draw)];
    let make = |stream: &pointmill::Stream| {
        let mut worker = Densifier::new(stream)?;
        Ok(((stream.alloc(0)?, 0), move |sweeps: &Vec<Sweep>, (out, len): &mut (_, usize)| {
            let rows: pointmill::Result<Vec<_>> = sweeps.iter().map(|s| Rows::new(&s.0, s.1)).collect();
            let (poses, lags): (Vec<_>, Vec<_>) = sweeps.iter().map(|s| (s.2, s.3)).unzip();
            worker.run(&rows?, &poses, &lags, out)?;
            *len = sweeps.iter().map(|s| s.0.len() / s.1 * (s.1 + 1)).sum();
            Ok(())
        }))
    };
    everywhere(inputs.each_ref(), false, make, |(out, len)| Ok(vec![Named(vec![("points", out.read(*len)?.into())])]));
}

fn pillars(mut draw: Draw<'_>) {
    let features = draw.one(&[9, 10, 11]);
    let params = PillarParams { features, ..PillarParams::new(draw.sizes(), std::array::from_fn(|_| draw.value())) };
    let (slots, columns) = (draw.usual(&[1, 2, 5, 32], &[0, usize::MAX]), draw.usual(&[4, 5], &[3, 6]));
    let width = draw.one(&[3, 4]);
    let input = |mut draw: Draw<'_>| {
        let mut tail = draw.part();
        let mut voxels = draw.rows(columns, 120);
        if tail.below(16) < 15 && slots < 100 {
            voxels.truncate(voxels.len() / (columns * slots.max(1)) * columns * slots.max(1));
        }
        let rows = voxels.len() / columns / slots.max(1) + usize::from(tail.below(16) == 15);
        let counts: Vec<i32> = (0..rows).map(|_| tail.one(&[1, 2, 5, 40, 0, -1, i32::MAX, i32::MIN])).collect();
        let cells: Vec<i32> = (0..rows * width).map(|_| tail.value() as i32).collect();
        (voxels, counts, cells)
    };
    let inputs = [input(draw.part()), input(draw)];
    let make = |stream: &pointmill::Stream| {
        let mut worker = PillarEncoder::new(stream, &params)?;
        Ok(((stream.alloc(0)?, 0), move |(voxels, counts, cells): &(Vec<f32>, _, _), (out, len): &mut (_, usize)| {
            let counts: &Vec<i32> = counts;
            let cells: &Vec<i32> = cells;
            worker.run(PillarPoints::new(Rows::new(&voxels[..], columns)?, slots, counts, cells)?, out)?;
            *len = voxels.len() / columns * features as usize;
            Ok(())
        }))
    };
    everywhere(inputs.each_ref(), false, make, |(out, len)| {
        Ok(vec![Named(vec![("features", out.read(*len)?.into())])])
    });
}

/// Lists of the host against what they promise.
fn patches(mut draw: Draw<'_>) {
    let size = draw.usual(&[1, 2, 3, 7, 64, 1 << 29], &[0, usize::MAX]);
    let odd = draw.usual(&[None], &[Some(1 << 30), Some(usize::MAX), Some(0)]);
    let mut offsets: Vec<usize> = (0..draw.below(8))
        .scan(0, |end, _| {
            Some(*{
                *end += draw.below(100);
                end
            })
        })
        .collect();
    offsets.extend(odd);
    let good = offsets.is_sorted() && offsets.last().is_none_or(|&end| end < 1 << 30) && (1..1 << 30).contains(&size);
    let Ok(made) = Patches::new(&offsets, size) else { return assert!(!good, "{offsets:?}, {size}") };
    let rows = offsets.last().copied().unwrap_or(0);
    assert!(good && made.unpad.len() == rows);
    for (row, &place) in made.unpad.iter().enumerate() {
        assert_eq!(made.pad[place as usize], row as i32);
    }
    let sizes = made.cu_seqlens.windows(2).map(|span| (span[1] - span[0]) as usize);
    assert!(sizes.clone().all(|n| (1..=size).contains(&n)) && sizes.sum::<usize>() == made.pad.len());
}
