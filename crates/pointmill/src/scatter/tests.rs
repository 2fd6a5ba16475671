use super::*;
use crate::{bf16, f16};

mod devices;

/// Rows with many values, with one and with none; values of no row.
fn case(columns: usize, rows: usize) -> (Vec<f32>, Vec<i32>) {
    let mut state = 1u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let index: Vec<i32> =
        (0..300).map(|_| (next() % (rows as u32 + 1)) as i32 - 1).map(|r| if r == 3 { 2 } else { r }).collect();
    let values =
        (0..300 * columns).map(|i| if i % 29 == 0 { f32::NAN } else { (next() % 16) as f32 / 4.0 - 2.0 }).collect();
    (values, index)
}

/// The definition: value by value.
fn by_loop(values: &[f32], index: &[i32], row: usize, column: usize, columns: usize, how: Reduction) -> (f32, i64) {
    let mine = index
        .iter()
        .enumerate()
        .filter(|(_, r)| **r == row as i32)
        .map(|(i, _)| (i as i64, values[i * columns + column]));
    let count = mine.clone().count();
    if how.picks() {
        let better = |a: f32, b: f32| if how == Reduction::Max { b > a } else { b < a };
        let numbers = mine.filter(|(_, value)| !value.is_nan());
        let best = numbers.reduce(|best, next| if better(best.1, next.1) { next } else { best });
        return best.map_or((if count > 0 { f32::NAN } else { 0.0 }, -1), |(i, value)| (value, i));
    }
    let sum = mine.fold(0.0, |sum, (_, value)| sum + value);
    (if how == Reduction::Mean && count > 0 { sum / count as f32 } else { sum }, -1)
}

#[test]
fn each_value_is_that_of_the_loop() {
    for threads in [1, 3] {
        Device::cpu_with_threads(threads).unwrap().install(compare_with_the_loop);
    }
}

fn compare_with_the_loop() {
    for (columns, rows) in [(5, 23), (32, 4), (1, 100), (16, 70)] {
        let (values, index) = case(columns, rows);
        let lists = RowLists::new(&index, Some(rows)).unwrap();
        assert_eq!(lists.rows(), rows);
        for &how in Reduction::ALL {
            let (mut out, mut places) = (vec![9.0; rows * columns], vec![7; rows * columns]);
            lists.reduce(&values, columns, how, &mut out, &mut places).unwrap();
            let mut again = vec![9.0; rows * columns];
            lists.reduce(&values, columns, how, &mut again, &mut []).unwrap();
            for (i, &got) in out.iter().enumerate() {
                let (want, place) = by_loop(&values, &index, i / columns, i % columns, columns, how);
                assert!(got == want || (got.is_nan() && want.is_nan()), "{how} {i}: {got} {want}");
                assert_eq!(got.to_bits(), again[i].to_bits());
                assert!(!how.picks() || places[i] == place);
                assert!(!got.is_nan() || got.to_bits() == 0x7fc0_0000);
            }
            let wide: Vec<i64> = index.iter().map(|&row| row.into()).collect();
            let mut from_wide = vec![9.0; rows * columns];
            RowLists::new(&wide, Some(rows)).unwrap().reduce(&values, columns, how, &mut from_wide, &mut []).unwrap();
            assert_eq!(bytemuck::cast_slice::<_, u32>(&from_wide), bytemuck::cast_slice::<_, u32>(&out));
        }
    }
}

#[test]
fn the_gradient_is_the_transpose() {
    let (columns, rows) = (5, 23);
    let (mut values, index) = case(columns, rows);
    values.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = 0.5);
    let grad: Vec<f32> = (0..rows * columns).map(|i| (i % 13) as f32 - 6.0).collect();
    let lists = RowLists::new(&index, Some(rows)).unwrap();
    let counts: Vec<i64> = (0..rows).map(|row| i64::from(lists.count(row))).collect();
    for &how in Reduction::ALL {
        let (mut out, mut places) = (vec![0.0; rows * columns], vec![0; rows * columns]);
        lists.reduce(&values, columns, how, &mut out, &mut places).unwrap();
        let mut got = vec![9.0; values.len()];
        let aux = if how == Reduction::Mean { &counts } else { &places };
        spread(&grad, columns, &index, how, aux, &mut got).unwrap();
        for (i, &got) in got.iter().enumerate() {
            let (value, column) = (i / columns, i % columns);
            let Ok(row) = usize::try_from(index[value]) else {
                assert_eq!(got, 0.0);
                continue;
            };
            let (g, place) = (grad[row * columns + column], places[row * columns + column]);
            let want = match how {
                Reduction::Sum => g,
                Reduction::Mean => g / index.iter().filter(|r| **r == row as i32).count() as f32,
                _ => f32::from(place == value as i64) * g,
            };
            assert_eq!(got, want, "{how} {i}");
        }
    }
}

#[test]
fn other_types() {
    let lists = RowLists::new(&[0i64, 0, 1, 0], None).unwrap();
    let mut out = [0i64; 2];
    for (how, want) in
        [(Reduction::Sum, [-7, 5]), (Reduction::Mean, [-3, 5]), (Reduction::Min, [-9, 5]), (Reduction::Max, [1, 5])]
    {
        lists.reduce(&[-9i64, 1, 5, 1], 1, how, &mut out, &mut []).unwrap();
        assert_eq!(out, want, "{how}");
    }
    // A sum of half precision is rounded once.
    let (mut half, mut brain) = ([f16::ZERO; 2], [bf16::ZERO; 2]);
    lists.reduce(&[2048.0, 1.0, 3.0, 1.0].map(f16::from_f32), 1, Reduction::Sum, &mut half, &mut []).unwrap();
    lists.reduce(&[256.0, 1.0, 3.0, 1.0].map(bf16::from_f32), 1, Reduction::Sum, &mut brain, &mut []).unwrap();
    assert_eq!((half[0].to_f32(), brain[0].to_f32()), (2050.0, 258.0));
    let mut wide = [0.0f64; 2];
    lists.reduce(&[1e16, 1.0, f64::NAN, 1.0], 1, Reduction::Max, &mut wide, &mut []).unwrap();
    assert!(wide[0] == 1e16 && wide[1].to_bits() == f64::NAN.to_bits());
}

#[test]
fn nothing_and_bad_arguments() {
    assert_eq!(RowLists::new::<i32>(&[], None).unwrap().rows(), 0);
    let none = RowLists::new(&[-1, -1], None).unwrap();
    assert_eq!(none.rows(), 0);
    none.reduce::<f32>(&[1.0, 2.0], 1, Reduction::Max, &mut [], &mut []).unwrap();
    none.reduce::<f32>(&[], 0, Reduction::Max, &mut [], &mut []).unwrap();
    let refused = |error: Error| error.to_string();
    assert_eq!(refused(RowLists::new(&[0, 5], Some(3)).unwrap_err()), "index: expected numbers of -1 to 2, got 5");
    assert_eq!(refused(RowLists::new(&[0, -2], None).unwrap_err()), "index: expected numbers of -1 or more, got -2");
    assert_eq!(
        refused(RowLists::new(&[i64::MAX], None).unwrap_err()),
        format!("index: expected numbers of -1 or more, got {}", i64::MAX)
    );
    assert!(matches!(RowLists::new(&[i64::MAX - 9], None), Err(Error::OutOfMemory { .. })));
    let short = none.reduce(&[1.0f32], 1, Reduction::Sum, &mut [], &mut []).unwrap_err();
    assert_eq!(refused(short), "values: expected 2 x 1 values, got 1");
    let wrong = spread(&[1.0f32], 1, &[1], Reduction::Sum, &[], &mut [0.0]).unwrap_err();
    assert_eq!(refused(wrong), "index: expected numbers of -1 to 0, got 1");
}

#[test]
fn values_that_lie_row_after_row() {
    let (columns, splits) = (3, [1i64, 1, 4, 4, 9]);
    let values: Vec<f32> = (0..10 * columns).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
    let index: Vec<i32> = (0..10)
        .map(|i| {
            if (1..4).contains(&i) {
                1
            } else if (4..9).contains(&i) {
                3
            } else {
                -1
            }
        })
        .collect();
    let (by_splits, by_index) = (RowLists::of_splits(&splits, 10).unwrap(), RowLists::new(&index, Some(4)).unwrap());
    let counts: Vec<i64> = (0..4).map(|row| i64::from(by_splits.count(row))).collect();
    assert_eq!(counts, [0, 3, 0, 5]);
    for &how in Reduction::ALL {
        let [mut a, mut b] = [0; 2].map(|_| (vec![9.0f32; 4 * columns], vec![9i64; 4 * columns]));
        by_splits.reduce(&values, columns, how, &mut a.0, &mut a.1).unwrap();
        by_index.reduce(&values, columns, how, &mut b.0, &mut b.1).unwrap();
        assert_eq!(a, b, "{how}");
        let aux = if how == Reduction::Mean { &counts } else { &a.1 };
        let (grad, mut got, mut want) = (a.0.clone(), vec![9.0; 10 * columns], vec![8.0; 10 * columns]);
        spread_lists(&grad, columns, &splits, how, aux, &mut got).unwrap();
        spread(&grad, columns, &index, how, aux, &mut want).unwrap();
        assert_eq!(got, want, "{how}");
    }
    for (bad, got) in [(&[0, 11][..], "11 at 1"), (&[3, 2], "2 at 1"), (&[-1, 2], "-1 at 0")] {
        let error = RowLists::of_splits(bad, 10).unwrap_err().to_string();
        assert_eq!(error, format!("row_splits: expected ascending numbers from 0 to 10, got {got}"));
    }
    assert_eq!(
        RowLists::of_splits::<i32>(&[], 0).unwrap_err().to_string(),
        "row_splits: expected one number at least, got 0"
    );
}
