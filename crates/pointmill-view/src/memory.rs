//! Whether there is memory for a picture.

use crate::ViewError;

/// What a picture is drawn in: twice as many pixels each way as the largest has, three bytes of
/// colour and four of depth; and what fonts, palettes and encoders take.
const CANVAS: usize = 3200 * 2000 * 7 + (24 << 20);
/// A frame as it is kept, its indices and its bytes in a file.
const FRAME: usize = 1600 * 1000 * 5;
/// What is kept of a thing to be drawn: where it is, in the picture's frame and on the canvas, and
/// what it is sorted by.
const THING: usize = 128;

/// Asks for the memory that so many frames of so many points, cells and boxes may take while they
/// are drawn and encoded, and gives it back.
///
/// Drawing takes memory in many pieces, and what is refused to one of them ends the process. So a
/// program that shall go on asks here before, in the thread that draws. The answer holds as long as
/// nobody else takes the memory meanwhile.
///
/// # Errors
/// [`ViewError::OutOfMemory`].
///
/// ```
/// pointmill_view::require_memory(1, 100_000)?;
/// assert!(pointmill_view::require_memory(usize::MAX, 0).is_err());
/// # Ok::<(), pointmill_view::ViewError>(())
/// ```
pub fn require_memory(frames: usize, things: usize) -> Result<(), ViewError> {
    let bytes = CANVAS.saturating_add(frames.saturating_mul(FRAME)).saturating_add(things.saturating_mul(THING));
    let mut room = Vec::<u8>::new();
    room.try_reserve_exact(bytes).map_err(|_| ViewError::OutOfMemory { bytes })?;
    // Without the black box the compiler takes the question away.
    drop(std::hint::black_box(room));
    Ok(())
}
