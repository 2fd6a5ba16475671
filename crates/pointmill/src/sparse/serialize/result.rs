//! The result of serialization.

use super::Order;
use crate::arrays::outputs;
use crate::sparse::cells::{refused_cell, refused_item};
use crate::{Buffer, Result};
use pointmill_kernels::sparse::NONE;

outputs! {
    /// Cells in order, on the device that ordered them. Nothing of it waits but [`Serialized::read`].
    pub struct Serialized of SerializedArray by SerializedSizes { orders, cells } reports () {
        /// The code of each cell, by row.
        Codes = codes: u64 [orders, cells],
        /// The rows of cells, in order.
        Order = order: u32 [orders, cells],
        /// The place of each row in the order.
        Inverse = inverse: u32 [orders, cells],
    }
    words {
        /// The first row that is no cell, and the first of an item that is not there.
        faults = [NONE; 2],
        num_cells = [0],
    }
    state {
        orders: Vec<Order> = Vec::new(),
        depth: u32 = 1,
        items: u32 = 1,
    }
    /// Cells in order, on the host. Its vectors are its named arrays, each `[k, V]`.
    #[derive(Eq)]
    pub struct SerializedArrays {
        /// The curves.
        orders: Vec<Order>,
        /// Bits of a coordinate.
        depth: u32,
    }
}

impl Serialized {
    /// How many cells there are at most: the length of a row of each array.
    pub const fn capacity(&self) -> usize {
        self.sizes.cells
    }

    /// Bits of a coordinate.
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// The curves.
    pub fn orders(&self) -> &[Order] {
        &self.orders
    }

    /// `[1]`: how many cells there are.
    pub const fn num_cells(&self) -> &Buffer<u32> {
        &self.num_cells
    }

    fn count(&self) -> Result<(SerializedSizes, ())> {
        if let [cell, item] = self.faults.read(2)?[..] {
            if cell != NONE {
                return Err(refused_cell(self.depth, format_args!("row {cell}")));
            }
            if item != NONE {
                return Err(refused_item(self.items, format_args!("row {item}")));
            }
        }
        let cells = self.num_cells.read(1)?.first().map_or(0, |&rows| rows as usize);
        Ok((SerializedSizes { cells, ..self.sizes }, ()))
    }

    /// Waits, and copies the arrays to the host without what is behind the cells.
    ///
    /// # Errors
    /// A row in memory of a GPU that is no cell; whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<SerializedArrays> {
        self.host(self.count()?.0, self.orders.clone(), self.depth)
    }

    /// Makes room for the cells of a call.
    pub(super) fn begin(&mut self, cells: usize, depth: u32, items: u32, orders: &[Order]) -> Result<()> {
        self.reserve(SerializedSizes { orders: orders.len(), cells })?;
        if self.orders != orders {
            self.orders = orders.to_vec();
        }
        (self.depth, self.items) = (depth, items);
        Ok(())
    }
}
