//! Parameters of the hierarchy.

use crate::sparse::cells::MAX_ROWS;
use crate::{Argument, Result, ensure};

/// Parameters of the hierarchy.
///
/// ```
/// use pointmill::sparse::PoolParams;
/// let refused = PoolParams { strides: vec![2, 3], ..PoolParams::default() }.validate().unwrap_err();
/// assert_eq!(refused.to_string(), "strides: expected powers of two, got 3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PoolParams {
    /// How many times larger the cells of each stage are, powers of two; default 2, four times. A
    /// stage that halves coordinates more often than they have bits left leaves cells as they are.
    pub strides: Vec<u32>,
    /// Larger cells that each stage has room for; default as many as rows come in.
    pub capacities: Option<Vec<usize>>,
}

impl Default for PoolParams {
    fn default() -> Self {
        Self { strides: vec![2; 4], capacities: None }
    }
}

impl PoolParams {
    /// Checks everything that does not depend on the cells.
    ///
    /// # Errors
    /// A stride that is no power of two; capacities that are 0, or not as many as strides.
    pub fn validate(&self) -> Result<()> {
        for &stride in &self.strides {
            ensure(stride.is_power_of_two(), Argument::Strides, "powers of two", stride)?;
        }
        if let Some(capacities) = &self.capacities {
            let expected = format_args!("{} numbers, as many as strides", self.strides.len());
            ensure(capacities.len() == self.strides.len(), Argument::Capacity, expected, capacities.len())?;
            for &capacity in capacities {
                ensure((1..MAX_ROWS).contains(&capacity), Argument::Capacity, "1 or more, fewer than 2^30", capacity)?;
            }
        }
        Ok(())
    }
}
