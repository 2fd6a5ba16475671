//! All devices against a plain program, and against each other.

mod errors;
mod fixtures;
mod graphs;

use super::output::ConvSizes;
use super::{
    CellCoords, ConvArrays, ConvKind, ConvPairs, ConvParams, ConvReport, IndexPairs, SparseCells, index_pairs,
};
use crate::testing::{Random, devices, kernel_devices};
use std::collections::{BTreeSet, HashMap};

type Cell = [i32; 4];

/// A call: inputs and, for an inverse layer, the outputs.
#[derive(Clone, Debug)]
struct Case {
    cells: Vec<Cell>,
    batch: u32,
    shape: [u32; 3],
    fine: Option<(Vec<Cell>, [u32; 3])>,
    params: ConvParams,
}

impl Case {
    fn cells(&self) -> SparseCells<'_> {
        let cells = SparseCells::new(&self.cells[..], self.batch, self.shape);
        match &self.fine {
            Some((fine, shape)) => cells.outputs(&fine[..], *shape),
            None => cells,
        }
    }

    fn offsets(&self) -> Vec<[i64; 3]> {
        let [z, y, x] = self.params.kernel.map(i64::from);
        (0..z * y * x).map(|k| [k / x / y, k / x % y, k % x]).collect()
    }

    /// The shape of the outputs, by the formulas of dense layers.
    fn out_shape(&self) -> [i64; 3] {
        let p = &self.params;
        [0, 1, 2].map(|a| {
            let [n, k, s] = [self.shape[a], p.kernel[a], p.stride[a]].map(i64::from);
            let [pad, d] = [p.padding[a], p.dilation[a]].map(i64::from);
            match p.kind {
                ConvKind::Submanifold => n,
                ConvKind::Strided => (n + 2 * pad - d * (k - 1) - 1).div_euclid(s) + 1,
                ConvKind::Transposed => (n - 1) * s - 2 * pad + d * (k - 1) + 1,
                ConvKind::Inverse => i64::from(self.fine.as_ref().unwrap().1[a]),
            }
        })
    }

    /// The output that offset `k` pairs with an input.
    fn output(&self, input: Cell, k: [i64; 3]) -> Option<Cell> {
        let (p, shape) = (&self.params, self.out_shape());
        let mut output = [input[0]; 4];
        for a in 0..3 {
            let [s, pad, d] = [p.stride[a], p.padding[a], p.dilation[a]].map(i64::from);
            let (at, k) = (i64::from(input[a + 1]), k[a]);
            let o = match p.kind {
                ConvKind::Submanifold => at - (k - (i64::from(p.kernel[a]) - 1) / 2) * d,
                ConvKind::Strided if (at + pad - k * d).rem_euclid(s) != 0 => return None,
                ConvKind::Strided => (at + pad - k * d).div_euclid(s),
                ConvKind::Transposed | ConvKind::Inverse => at * s - pad + k * d,
            };
            if !(0..shape[a]).contains(&o) {
                return None;
            }
            output[a + 1] = o as i32;
        }
        Some(output)
    }

    /// The answer, pair by pair.
    fn plain(&self) -> ConvArrays {
        let offsets = self.offsets();
        let reached = || self.cells.iter().flat_map(|&cell| offsets.iter().filter_map(move |&k| self.output(cell, k)));
        let mut cells: Vec<Cell> = match (self.params.kind, &self.fine) {
            (ConvKind::Submanifold, _) => self.cells.clone(),
            (ConvKind::Inverse, Some((fine, _))) => fine.clone(),
            _ => reached().collect::<BTreeSet<_>>().into_iter().collect(),
        };
        let kept = cells.len().min(self.params.capacity.map_or(usize::MAX, |capacity| capacity as usize));
        let dropped = cells.len() - kept;
        cells.truncate(kept);
        let rows: HashMap<Cell, usize> = cells.iter().copied().zip(0..).collect();
        let words = if self.params.masks { offsets.len().div_ceil(32) } else { 0 };
        let (mut table, mut counts) = (vec![-1; offsets.len() * kept], vec![0; offsets.len()]);
        let mut masks = vec![0u32; words * kept];
        for (i, &cell) in self.cells.iter().enumerate() {
            for (k, &offset) in offsets.iter().enumerate() {
                if let Some(&row) = self.output(cell, offset).and_then(|output| rows.get(&output)) {
                    assert_eq!(table[k * kept + row], -1);
                    table[k * kept + row] = i as i32;
                    counts[k] += 1;
                    if words > 0 {
                        masks[row * words + k / 32] |= 1 << (k % 32);
                    }
                }
            }
        }
        let sides = if self.params.lists { 2 } else { 0 };
        let mut lists = vec![-1; sides * offsets.len() * self.cells.len()];
        if sides > 0 {
            for k in 0..offsets.len() {
                let of_offset = (0..kept).filter(|&row| table[k * kept + row] >= 0);
                for (i, row) in of_offset.enumerate() {
                    lists[k * self.cells.len() + i] = table[k * kept + row];
                    lists[(offsets.len() + k) * self.cells.len() + i] = row as i32;
                }
            }
        }
        let report = ConvReport { cells: kept, dropped, pairs: counts.iter().map(|&count| count as usize).sum() };
        let sizes = ConvSizes { cells: kept, offsets: offsets.len(), words, inputs: self.cells.len(), sides };
        ConvArrays { cells: cells.concat(), table, counts, masks, lists, report, sizes }
    }

    /// Compares all devices with the plain program, with memory that was used before and with a
    /// buffer of the device too.
    fn check(&self) -> ConvArrays {
        let want = self.plain();
        for (name, device) in devices() {
            let stream = device.stream().unwrap();
            let mut worker = IndexPairs::new(&stream, &self.params).unwrap();
            let mut out = worker.output().unwrap();
            for _ in 0..2 {
                worker.run(self.cells(), &mut out).unwrap();
                assert_eq!(out.read().unwrap(), want, "{name}, {self:?}");
            }
            assert_padded(&out, &want);
            let lent = stream.upload(self.cells.as_flattened()).unwrap();
            let coords = CellCoords::on_device(&lent, self.cells.len()).unwrap();
            let fine = stream.upload(self.fine.as_ref().map_or(&[][..], |(fine, _)| fine.as_flattened())).unwrap();
            let mut cells = SparseCells::new(coords, self.batch, self.shape);
            if let Some((_, shape)) = &self.fine {
                cells = cells.outputs(CellCoords::on_device(&fine, fine.len() / 4).unwrap(), *shape);
            }
            assert_eq!(index_pairs(cells, &self.params, &device).unwrap().read().unwrap(), want, "{name}, lent");
        }
        want
    }
}

/// Behind the outputs there is -1.
fn assert_padded(out: &ConvPairs, want: &ConvArrays) {
    let (rows, kept) = (out.rows(), want.report.cells);
    assert!(out.cells().read(rows * 4).unwrap()[kept * 4..].iter().all(|&c| c == -1));
    let table = out.table().read(rows * out.offsets()).unwrap();
    assert!((0..out.offsets()).all(|k| table[k * rows..][kept..rows].iter().all(|&row| row == -1)));
    assert!(out.masks().read(rows * out.words()).unwrap()[kept * out.words()..].iter().all(|&mask| mask == 0));
}

/// Some cells of a grid, each once, in no order.
fn some_cells(random: &mut Random, n: usize, batch: u32, shape: [u32; 3]) -> Vec<Cell> {
    let all = u64::from(batch) * shape.map(u64::from).iter().product::<u64>();
    let mut ids = BTreeSet::new();
    while ids.len() < n.min(all as usize) {
        ids.insert(random.below(all));
    }
    let [z, y, x] = shape.map(u64::from);
    let cell = |id: u64| [id / x / y / z, id / x / y % z, id / x % y, id % x].map(|c| c as i32);
    let mut cells: Vec<Cell> = ids.into_iter().map(cell).collect();
    for i in (1..cells.len()).rev() {
        cells.swap(i, random.below(i as u64 + 1) as usize);
    }
    cells
}

fn params(random: &mut Random, kind: ConvKind) -> ConvParams {
    let mut three = |from: u64, to: u64| [0; 3].map(|_| (from + random.below(to + 1 - from)) as u32);
    let mut params = ConvParams { kind, ..ConvParams::default() };
    if kind == ConvKind::Submanifold {
        params.kernel = three(0, 2).map(|half| 2 * half + 1);
        params.padding = three(0, 1);
    } else {
        (params.kernel, params.stride, params.padding) = (three(1, 4), three(1, 3), three(0, 2));
    }
    params.dilation = three(1, 2);
    (params.masks, params.lists) = (random.below(2) == 0, random.below(2) == 0);
    if matches!(kind, ConvKind::Strided | ConvKind::Transposed) && random.below(2) == 0 {
        params.capacity = Some(1 + random.below(300) as u32);
    }
    params
}

#[test]
fn pairs_are_those_of_a_plain_program_everywhere() {
    let mut random = Random(3);
    let mut pairs = 0;
    for round in 0..32 {
        let kind = ConvKind::ALL[round % 4];
        let batch = 1 + random.below(3) as u32;
        // Room for the kernel: padding may be 0, and a kernel spans up to 7.
        let shape = [7, 8 + random.below(3) as u32, 9 + random.below(9) as u32];
        let n = [0, 1, 40, 300, 5000][random.below(5) as usize];
        let mut case = Case {
            cells: some_cells(&mut random, n, batch, shape),
            batch,
            shape,
            fine: None,
            params: params(&mut random, kind),
        };
        if kind == ConvKind::Inverse {
            let down =
                Case { params: ConvParams { kind: ConvKind::Strided, masks: false, ..case.params }, ..case.clone() };
            let coarse = down.plain().cells;
            let coarse_shape = down.out_shape().map(|n| n as u32);
            case = Case {
                cells: coarse.chunks(4).map(|c| c.try_into().unwrap()).collect(),
                shape: coarse_shape,
                fine: Some((down.cells, down.shape)),
                ..case
            };
        }
        pairs += case.check().report.pairs;
    }
    assert!(pairs > 10_000, "{pairs}");
}

#[test]
fn an_inverse_layer_undoes_a_strided_one() {
    let cells = some_cells(&mut Random(8), 200, 2, [5, 12, 12]);
    let params = ConvParams { kind: ConvKind::Strided, stride: [2; 3], padding: [1; 3], ..ConvParams::default() };
    for (name, device) in devices() {
        let down = index_pairs(SparseCells::new(&cells[..], 2, [5, 12, 12]), &params, &device).unwrap();
        let inverse = ConvParams { kind: ConvKind::Inverse, ..params };
        let up = index_pairs(down.as_cells().outputs(&cells[..], [5, 12, 12]), &inverse, &device).unwrap();
        let (down, up) = (down.read().unwrap(), up.read().unwrap());
        assert_eq!((up.cells, &up.counts), (cells.concat(), &down.counts), "{name}");
        for k in 0..27 {
            for (o, &i) in down.table[k * down.report.cells..][..down.report.cells].iter().enumerate() {
                assert!(i < 0 || up.table[k * cells.len() + i as usize] == o as i32);
            }
        }
    }
}

#[test]
fn an_order_of_the_inputs_changes_row_numbers_alone() {
    let mut random = Random(5);
    let shape = [6, 20, 20];
    let cells = some_cells(&mut random, 400, 1, shape);
    let mut sorted = cells.clone();
    sorted.sort_unstable();
    let strided = ConvParams { kind: ConvKind::Strided, stride: [2; 3], padding: [1; 3], ..ConvParams::default() };
    let case = Case { cells, batch: 1, shape, fine: None, params: strided };
    let (a, b) = (case.check(), Case { cells: sorted.clone(), ..case.clone() }.check());
    assert_eq!((a.cells, a.counts), (b.cells, b.counts));
    let cell_of = |rows: &[i32], cells: &[Cell]| -> Vec<_> {
        rows.iter().map(|&row| usize::try_from(row).ok().map(|row| cells[row])).collect()
    };
    assert_eq!(cell_of(&a.table, &case.cells), cell_of(&b.table, &sorted));
}

/// All cells of a grid, a grid of one cell, and grids whose cells no `u32` could number.
#[test]
fn full_and_small_and_large_grids() {
    let all = some_cells(&mut Random(1), usize::MAX, 2, [3, 4, 5]);
    assert_eq!(all.len(), 120);
    let submanifold = ConvParams { masks: true, ..ConvParams::default() };
    let full = Case { cells: all, batch: 2, shape: [3, 4, 5], fine: None, params: submanifold }.check();
    assert_eq!((full.counts[13], full.report.pairs), (120, 2 * 7 * 10 * 13));
    let one = Case { cells: vec![[0; 4]], batch: 1, shape: [1; 3], fine: None, params: submanifold };
    assert_eq!(one.check().masks, [1 << 13]);
    let none = Case { cells: vec![], ..one.clone() };
    assert_eq!(none.check().report, ConvReport::default());
    let same = ConvParams { kind: ConvKind::Strided, padding: [1; 3], ..ConvParams::default() };
    assert_eq!(Case { params: same, ..one }.check().cells, [0; 4]);

    let shape = [1 << 11, 1 << 20, 1 << 30];
    let far = |item: i32, z: i32| [item, (1 << 11) - 1 - z, (1 << 20) - 1, (1 << 30) - 1];
    let large =
        Case { cells: vec![far(1, 0), far(1, 1), far(0, 0), [0; 4]], batch: 2, shape, fine: None, params: submanifold };
    assert_eq!(large.check().counts[13], 4);
    let strided = ConvParams { stride: [2; 3], padding: [1; 3], kind: ConvKind::Strided, ..submanifold };
    assert_eq!(Case { params: strided, ..large }.check().cells[..4], [0; 4]);
}

/// Kernels of more than 32 offsets have several words of bits.
#[test]
fn kernels_of_many_offsets() {
    let shape = [5, 9, 40];
    let cells = some_cells(&mut Random(2), 700, 1, shape);
    for kernel in [[5; 3], [1, 1, 33], [3, 3, 7]] {
        let params = ConvParams { kernel, masks: true, ..ConvParams::default() };
        Case { cells: cells.clone(), batch: 1, shape, fine: None, params }.check();
        let strided =
            ConvParams { kind: ConvKind::Strided, padding: kernel.map(|k| k / 2), stride: [1, 2, 3], ..params };
        Case { cells: cells.clone(), batch: 1, shape, fine: None, params: strided }.check();
    }
}

/// Every result is the same whatever secret spreads the ids.
#[test]
fn the_seed_of_tables_decides_nothing() {
    let shape = [6, 30, 30];
    let cells = some_cells(&mut Random(4), 900, 2, shape);
    let strided = ConvParams { kind: ConvKind::Strided, stride: [2; 3], padding: [1; 3], ..ConvParams::default() };
    for params in [ConvParams::default(), strided] {
        let case = Case { cells: cells.clone(), batch: 2, shape, fine: None, params };
        let want = case.plain();
        for (name, device) in kernel_devices() {
            for number in 0..6 {
                let got = crate::seed::tests::with_seed(number, || index_pairs(case.cells(), &params, &device));
                assert_eq!(got.unwrap().read().unwrap(), want, "{name}, seed {number}");
            }
        }
    }
}
