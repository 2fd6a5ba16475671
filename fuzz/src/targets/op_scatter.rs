//! Rows reduced by an index, and gradients spread by it, against a loop over the values.
use crate::{Draw, canonical};
use pointmill::Error;
use pointmill::interop::{Reduction, RowLists, spread};

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    let how = draw.one(&[Reduction::Sum, Reduction::Mean, Reduction::Min, Reduction::Max]);
    let columns = draw.one(&[1, 2, 3, 16, 17, 32, 0]);
    let rows = draw.usual(&[None, Some(100), Some(120)], &[Some(1), Some(0)]);
    let odd = draw.usual(&[None], &[Some(-2), Some(i64::MIN), Some(i64::MAX), Some(i64::MAX - 9)]);
    let mut index: Vec<i64> = draw.part().cells(1, 60).iter().map(|&row| i64::from(row.min(99)) - 1).collect();
    index.extend(odd);
    let n = index.len();
    let mut values = draw.near_rows(columns.max(1), n, 0..0);
    values.resize(n * columns, 0.25);
    let lists = match RowLists::new(&index, rows) {
        Ok(lists) => lists,
        Err(Error::Argument { argument, .. }) => {
            assert_eq!(argument.as_str(), "index");
            let fits = |&row: &i64| row >= -1 && rows.map_or(row < i64::MAX, |rows| row < rows as i64);
            return assert!(!index.iter().all(fits), "{index:?}");
        }
        Err(e) => return assert!(matches!(e, Error::OutOfMemory { .. }) && odd.is_some(), "{e}"),
    };
    let count = rows.unwrap_or((index.iter().max().map_or(-1, |&most| most) + 1) as usize);
    assert_eq!(lists.rows(), count);

    let (mut wanted, mut wanted_places) = (vec![], vec![]);
    for row in 0..count {
        let list: Vec<usize> = (0..n).filter(|&i| index[i] == row as i64).collect();
        for column in 0..columns {
            let value = |i: usize| values[i * columns + column];
            let sum = list.iter().fold(0.0, |sum, &i| sum + value(i));
            let best = list.iter().copied().filter(|&i| !value(i).is_nan()).reduce(|best, i| {
                let wins = if how == Reduction::Min { value(i) < value(best) } else { value(i) > value(best) };
                if wins { i } else { best }
            });
            let absent = if list.is_empty() { 0.0 } else { f32::NAN };
            wanted.push(match how {
                Reduction::Sum => sum,
                Reduction::Mean if list.is_empty() => 0.0,
                Reduction::Mean => sum / list.len() as f32,
                Reduction::Min | Reduction::Max => best.map_or(absent, value),
            });
            wanted_places.push(best.map_or(-1, |i| i as i64));
        }
    }
    let (mut out, mut places) = (vec![7.0f32; count * columns], vec![7i64; count * columns]);
    let short = lists.reduce(&values, columns, how, &mut vec![0.0; count * columns + 1], &mut []);
    assert!(short.is_err_and(|e| e.to_string().starts_with("out: ")));
    lists.reduce(&values, columns, how, &mut out, &mut places).expect("arrays that fit");
    assert_eq!(canonical(&out), canonical(&wanted));
    if how.picks() {
        assert_eq!(places, wanted_places);
    }
    // Whole numbers wrap around or not, but do not end the process.
    let whole: Vec<i64> = values.iter().map(|&v| v as i64).collect();
    let mut sums = vec![0i64; count * columns];
    lists.reduce(&whole, columns, how, &mut sums, &mut []).expect("arrays that fit");

    let mut back = vec![7.0f32; n * columns];
    let counts: Vec<i64> = (0..count).map(|row| i64::from(lists.count(row))).collect();
    let aux = if how == Reduction::Mean { &counts } else { &places };
    spread(&out, columns, &index, how, aux, &mut back).expect("arrays that fit");
    for (i, back) in back.iter().enumerate() {
        let (i, column) = (i / columns, i % columns);
        let wanted = usize::try_from(index[i]).map_or(0.0, |row| {
            let at = row * columns + column;
            match how {
                Reduction::Sum => out[at],
                Reduction::Mean => out[at] / index.iter().filter(|&&other| other == index[i]).count() as f32,
                Reduction::Min | Reduction::Max if places[at] == i as i64 => out[at],
                Reduction::Min | Reduction::Max => 0.0,
            }
        });
        assert_eq!(canonical(&[*back]), canonical(&[wanted]), "value {i}, column {column}");
    }
}
