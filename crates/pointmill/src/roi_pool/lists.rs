//! Lists of points in boxes, and of boxes of points.

use crate::arrays::outputs;
use crate::{Result, Stream};

outputs! {
    /// Lists of different lengths. After a call that failed on the way there are none.
    pub struct BoxLists of BoxListArray by BoxListSizes { rows, len } reports () {
        /// Where each row starts.
        RowSplits = row_splits: i64 [rows + 1],
        /// The elements of all rows, ascending in each.
        Indices = indices: i32 [len],
    }
    words {}
    state {}
}

impl BoxLists {
    pub(super) fn new(stream: &Stream) -> Result<Self> {
        let mut lists = Self::empty(stream)?;
        lists.row_splits.put(&[0])?;
        Ok(lists)
    }

    /// The number of rows.
    pub const fn num_rows(&self) -> usize {
        self.sizes.rows
    }

    /// The number of elements of all rows.
    pub const fn num_indices(&self) -> usize {
        self.sizes.len
    }

    /// The stream that the lists belong to.
    pub const fn stream(&self) -> &Stream {
        self.indices.stream()
    }

    /// The call that fills lists has waited for their length.
    const fn count(&self) -> Result<(BoxListSizes, ())> {
        Ok((self.sizes, ()))
    }

    /// Copies both arrays to the host.
    ///
    /// # Errors
    /// Whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<(Vec<i64>, Vec<i32>)> {
        if self.sizes.rows == 0 {
            return Ok((vec![0], Vec::new()));
        }
        Ok((self.row_splits.read(self.sizes.rows + 1)?, self.indices.read(self.sizes.len)?))
    }
}
