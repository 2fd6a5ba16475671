//! The values of each row, by kernels.

use crate::Result;
use crate::device::{Buffer, Stream, workspace};
use crate::prim::{Pairs, Sorter, passes_for};
use pointmill_kernels::prim::{BLOCK, Length};
use pointmill_kernels::scatter as kernels;
use pointmill_kernels::scatter::RowNumbers;
use std::ptr::null_mut;

workspace! {
    /// The values of each row, in their order: what [`RowLists`](super::RowLists) has.
    pub(crate) struct Lists(stream) {
        stream: Stream,
        keys: Buffer<u32>,
        sorted_keys: Buffer<u32>,
        /// The values row after row.
        pub(crate) values: Buffer<u32>,
        /// Where those of each row start, and the end.
        pub(crate) splits: Buffer<u32>,
        sorter: Sorter<u32>,
    }
}

impl Lists {
    /// Queues listing the values of each item by rows that count from the first of the item; `ok`
    /// becomes 0 where a number is no row, unless it is null.
    ///
    /// # Safety
    /// There are so many numbers for each item.
    pub(crate) unsafe fn list(
        &mut self,
        index: RowNumbers,
        items: usize,
        values_of_item: usize,
        rows_of_item: usize,
        ok: *mut u32,
    ) -> Result<()> {
        let (n, rows) = ((items * values_of_item) as u32, (items * rows_of_item) as u32);
        let passes = passes_for(u64::from(rows));
        self.keys.reserve(n as usize)?;
        self.sorted_keys.reserve(n as usize)?;
        self.values.reserve(n as usize)?;
        self.splits.reserve(rows as usize + 1)?;
        self.sorter.reserve(n, passes)?;
        let keys = self.keys.pointer();
        let (input, output) = (
            Pairs { keys, values: null_mut() },
            Pairs { keys: self.sorted_keys.pointer(), values: self.values.pointer() },
        );
        let splits = kernels::SplitsOfKeysArgs { keys: output.keys, n, rows, splits: self.splits.pointer() };
        let (values_of_item, rows_of_item) = (values_of_item as u32, rows_of_item as u32);
        // SAFETY: room was made for all values and rows; what a kernel reads is queued before.
        unsafe {
            if n > 0 {
                let args = kernels::KeysArgs { index, keys, rows, n, values_of_item, rows_of_item, ok };
                self.stream.launch::<kernels::Keys>(n.div_ceil(BLOCK), args)?;
                self.sorter.enqueue(input, output, Length::known(n), passes)?;
            }
            self.stream.launch::<kernels::SplitsOfKeys>(rows / BLOCK + 1, splits)
        }
    }
}
