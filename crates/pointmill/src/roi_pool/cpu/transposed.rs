//! The lists of rows the other way round: the rows that keep each point.

use crate::{Result, memory};

/// The rows that keep each point, in order.
#[derive(Debug, Default)]
pub(super) struct Transposed {
    known: bool,
    /// Where each point's rows start.
    starts: Vec<usize>,
    rows: Vec<u32>,
}

impl Transposed {
    /// The lists are others now.
    pub(super) fn forget(&mut self) {
        self.known = false;
    }

    /// Makes the rows of each point from the list of each row, which are parts of `indices`.
    pub(super) fn make<'a>(
        &mut self,
        indices: &[i32],
        lists: impl DoubleEndedIterator<Item = &'a [i32]> + ExactSizeIterator,
        points: usize,
    ) -> Result<()> {
        if self.known {
            return Ok(());
        }
        let Self { starts, rows, known } = self;
        starts.clear();
        memory::resize(starts, points + 1, 0)?;
        memory::resize(rows, indices.len(), 0)?;
        // First the end of each point's rows; filling from the back moves it to the start.
        indices.iter().for_each(|&i| starts[i as usize] += 1);
        let mut end = 0;
        for start in &mut *starts {
            end += *start;
            *start = end;
        }
        for (r, list) in lists.enumerate().rev() {
            for &i in list.iter().rev() {
                starts[i as usize] -= 1;
                rows[starts[i as usize]] = r as u32;
            }
        }
        *known = true;
        Ok(())
    }

    pub(super) fn of(&self, i: usize) -> &[u32] {
        &self.rows[self.starts[i]..self.starts[i + 1]]
    }
}
