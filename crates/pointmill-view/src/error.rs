//! What can go wrong.

use std::path::PathBuf;
use thiserror::Error;

/// Longest side of an image in pixels.
pub const MAX_SIDE: u32 = 16_384;

/// Why there is no picture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// An image with no pixel or with too many.
    #[error("image: expected 1 to {max} pixels a side, got {width} x {height}", max = MAX_SIDE)]
    Size {
        /// The width asked for.
        width: u32,
        /// The height asked for.
        height: u32,
    },
    /// A frame that is not as large as the first one.
    #[error("frame {index}: expected {} x {} pixels as in the first frame, got {} x {}", expected[0], expected[1], got[0], got[1])]
    FrameSize {
        /// The frame's number, from 0.
        index: usize,
        /// Width and height of the first frame.
        expected: [u32; 2],
        /// Width and height of this one.
        got: [u32; 2],
    },
    /// An animation without a frame.
    #[error("animation: expected at least 1 frame, got 0")]
    NoFrames,
    /// Memory for a picture was refused.
    #[error("picture: the system refused {bytes} bytes of memory")]
    OutOfMemory {
        /// The bytes asked for.
        bytes: usize,
    },
    /// The file could not be written. What was there before is untouched.
    #[error("{}: cannot write: {source}", path.display())]
    Write {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
