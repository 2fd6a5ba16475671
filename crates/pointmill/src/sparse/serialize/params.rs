//! Parameters of serialization.

use crate::{Argument, Result, ensure};

pub use pointmill_core::sparse::{MAX_DEPTH, Order};

/// The most orders of a call.
pub const MAX_ORDERS: usize = 4;

/// Parameters of serialization.
///
/// ```
/// use pointmill::sparse::{Order, SerializeParams};
/// let params = SerializeParams { depth: Some(11), orders: vec![Order::Z, Order::Hilbert] };
/// assert!(params.validate().is_ok());
/// let refused = SerializeParams { depth: Some(17), ..params }.validate().unwrap_err();
/// assert_eq!(refused.to_string(), "depth: expected 1 to 16 bits a coordinate, got 17");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SerializeParams {
    /// Bits of a coordinate; default as many as the largest coordinate plus 1 has, for which a call
    /// on a GPU waits.
    pub depth: Option<u32>,
    /// The curves, 1 to 4; default all: Z, Z transposed, Hilbert, Hilbert transposed.
    pub orders: Vec<Order>,
}

impl Default for SerializeParams {
    fn default() -> Self {
        Self { depth: None, orders: Order::ALL.to_vec() }
    }
}

impl SerializeParams {
    /// Checks everything that does not depend on the cells.
    ///
    /// # Errors
    /// A depth or a number of orders out of range.
    pub fn validate(&self) -> Result<()> {
        let (expected, orders) = ("1 to 4 orders", self.orders.len());
        ensure((1..=MAX_ORDERS).contains(&orders), Argument::Orders, expected, orders)?;
        self.depth.map_or(Ok(()), check_depth)
    }
}

/// Refuses a depth that no call takes.
fn check_depth(depth: u32) -> Result<()> {
    ensure((1..=MAX_DEPTH).contains(&depth), Argument::Depth, "1 to 16 bits a coordinate", depth)
}

/// The bits of codes, where they fit: three times the depth, and those of the number of items.
pub(super) fn check_bits(depth: u32, items: u32) -> Result<()> {
    let bits = 3 * depth + (u32::BITS - items.leading_zeros());
    let expected = "3 * depth + bits(items) of 63 or less: a smaller depth, or fewer items";
    ensure(bits <= 63, Argument::Depth, expected, format_args!("{bits} (depth {depth}, {items} items)"))
}

/// The depth of cells whose largest coordinate is this.
pub(super) fn depth_for(largest: u32) -> Result<u32> {
    let depth = u64::BITS - (u64::from(largest) + 1).leading_zeros();
    let expected = "coordinates of 0 to 65534 where no depth is given: use a larger grid size";
    ensure(depth <= MAX_DEPTH, Argument::Coords, expected, largest)?;
    Ok(depth)
}
