//! Points of full cells that stay by chance or by turns.

use super::super::Pick;
use super::Sample;
use crate::{Result, memory};
use pointmill_core::float::same_bits;
use pointmill_core::random::{chance, of_cell};

/// Moves the points of a cell's list that stay to its front, in input order: of more than the cap.
///
/// `values` is memory that calls use again.
pub(super) fn choose(
    (sample, cell): (&Sample<'_>, [u32; 3]),
    pick: Pick,
    list: &mut [u32],
    values: &mut Vec<(u32, u32)>,
) -> Result<()> {
    let (count, most, mut taken) = (list.len() as u32, sample.max_points, 0);
    match pick {
        Pick::First => {}
        Pick::Random { seed } => {
            let state = of_cell(seed, sample.batch_index.unwrap_or(0) as u32, cell);
            for number in 0..count {
                if chance(state, number, count) < most - taken {
                    list[taken as usize] = list[number as usize];
                    taken += 1;
                }
            }
        }
        Pick::RoundRobin { column } => {
            let (data, columns) = (sample.points.data(), sample.points.columns());
            let value = |&i: &u32| (same_bits(data[i as usize * columns + column as usize]), i);
            values.clear();
            memory::extend(values, list.iter().map(value))?;
            values.sort_unstable();
            // From the value of each point to its turn: how many of the same come before it.
            let (mut start, mut of) = (0, None);
            for (at, (value, _)) in values.iter_mut().enumerate() {
                if of != Some(*value) {
                    (start, of) = (at, Some(*value));
                }
                *value = (at - start) as u32;
            }
            values.select_nth_unstable(most as usize - 1);
            for (to, (_, i)) in list.iter_mut().zip(&values[..most as usize]) {
                *to = *i;
            }
            list[..most as usize].sort_unstable();
        }
    }
    Ok(())
}
