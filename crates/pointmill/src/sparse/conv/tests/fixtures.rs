//! The answers of `fixtures/sparse_pairs`, made by an independent program, and real cells.

use super::{Case, Cell};
use crate::sparse::{ConvKind, ConvParams, index_pairs};
use crate::testing::{devices, gpu, repository};
use crate::{ArrayView, Device, NamedArrays};
use pointmill_io::{Array, read_npz};
use std::collections::BTreeMap;

fn i32s<'a>(arrays: &'a BTreeMap<String, Array>, name: &str) -> &'a [i32] {
    arrays[name].as_i32().unwrap()
}

fn cells(values: &[i32]) -> Vec<Cell> {
    values.chunks(4).map(|cell| cell.try_into().unwrap()).collect()
}

#[test]
fn answers_of_an_independent_program() {
    let mut files = 0;
    for entry in std::fs::read_dir(repository("fixtures/sparse_pairs")).unwrap() {
        let path = entry.unwrap().path();
        let arrays = read_npz(&path).unwrap();
        let three = |name: &str| [0, 1, 2].map(|a| i32s(&arrays, name)[a] as u32);
        let params = ConvParams {
            kernel: three("kernel"),
            stride: three("stride"),
            padding: three("padding"),
            dilation: three("dilation"),
            kind: ConvKind::ALL[i32s(&arrays, "kind")[0] as usize],
            ..ConvParams::default()
        };
        let fine = arrays.get("fine").map(|fine| (cells(fine.as_i32().unwrap()), three("fine_shape")));
        let batch = i32s(&arrays, "batch")[0] as u32;
        let case = Case { cells: cells(i32s(&arrays, "coords")), batch, shape: three("shape"), fine, params };
        for (name, device) in devices() {
            let found = index_pairs(case.cells(), &params, &device).unwrap();
            assert_eq!(found.shape(), three("out_shape"), "{name}, {}", path.display());
            let found = found.read().unwrap();
            let arrays_found = found.arrays();
            assert_eq!(arrays_found.len(), 3);
            for (array, view) in arrays_found {
                let want = &arrays[array];
                let shape: Vec<usize> = want.shape().to_vec();
                assert_eq!(view, ArrayView::i32(&shape, want.as_i32().unwrap()), "{name}, {}, {array}", path.display());
            }
        }
        files += 1;
    }
    assert_eq!(files, 6);
}

/// The cells of a detector's frame, where they are at hand: 79,745 of 41 x 1440 x 1440.
#[test]
fn real_cells_of_a_detector() {
    let data = std::env::var_os("POINTMILL_TEST_DATA").map_or_else(|| repository("../shared/data"), Into::into);
    let path = data.join("sparse/centerpoint_indices.npz");
    if !path.exists() {
        return;
    }
    let arrays = read_npz(&path).unwrap();
    let coords =
        arrays.values().filter(|array| array.shape() == [79_745, 4]).find_map(|array| array.as_i32().ok()).unwrap();
    let shape = [41, 1440, 1440];
    let strided = ConvParams { kind: ConvKind::Strided, stride: [2; 3], padding: [1; 3], ..ConvParams::default() };
    let mut case = Case { cells: cells(coords), batch: 1, shape, fine: None, params: ConvParams::default() };
    for params in [ConvParams::default(), strided, ConvParams { kind: ConvKind::Inverse, ..strided }] {
        if params.kind == ConvKind::Inverse {
            let coarse = index_pairs(case.cells(), &strided, &Device::cpu()).unwrap();
            let coarse_cells = cells(&coarse.read().unwrap().cells);
            case = Case { cells: coarse_cells, shape: coarse.shape(), fine: Some((case.cells, shape)), ..case };
        }
        case.params = params;
        let want = case.plain();
        assert!(want.report.pairs > 79_745);
        for device in
            [Device::cpu_with_threads(1).unwrap(), Device::cpu_with_threads(3).unwrap()].into_iter().chain(gpu())
        {
            let started = std::time::Instant::now();
            let found = index_pairs(case.cells(), &params, &device).unwrap();
            println!("{device}, {}: {:?}", params.kind, started.elapsed());
            assert!(found.read().unwrap() == want, "{device}, {}", params.kind);
        }
    }
}
