//! The row of an input in a map by blocks.

use super::block_name;
use serde::{Deserialize, Serialize};

/// What became of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockRow {
    /// The name of the input.
    pub input: String,
    /// Points that were added, those that are not finite among them; 0 if the input failed.
    pub points: u64,
    /// The names of the blocks that have points of the input, by y and x.
    pub blocks: Vec<String>,
    /// The sizes of the files in these blocks, in bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bytes: Vec<u64>,
    /// Why the input failed; `None` if it is done.
    pub error: Option<String>,
    /// What the files of the input were made from, besides the settings of the map: see
    /// [`BlockMap::keeps`](super::BlockMap::keeps).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
}

impl BlockRow {
    /// The row of an input that is done.
    pub(super) fn done(input: &str, state: &str, points: u64, parts: Vec<([i32; 2], u64)>) -> Self {
        let (blocks, bytes) = parts.into_iter().map(|(block, bytes)| (block_name(block), bytes)).unzip();
        Self { input: input.into(), points, blocks, bytes, error: None, state: state.into() }
    }

    /// The row of an input that failed.
    pub(super) fn failed(input: &str, error: &str) -> Self {
        let (blocks, bytes, state) = (Vec::new(), Vec::new(), String::new());
        Self { input: input.into(), points: 0, blocks, bytes, error: Some(error.into()), state }
    }

    /// The name of the input's files, without their ending: 128 bits of FNV-1a of the input's name,
    /// in 32 hexadecimal digits.
    pub fn hash(input: &str) -> String {
        let step =
            |hash: u128, byte: u8| (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        format!("{:032x}", input.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_definition() {
        assert_eq!(BlockRow::hash(""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(BlockRow::hash("a"), "d228cb696f1a8caf78912b704e4a8964");
    }
}
