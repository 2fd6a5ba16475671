//! Memory that is known before it is taken, memory whose refusal is an error, and the look whether work is still
//! wanted.

use crate::protocol::{DetectionParams, Protocol};
use crate::report::RowFate;
use pointmill_io::detections::Detections;
use pointmill_io::{Detail, IoError};

pub(crate) type Result<T> = std::result::Result<T, IoError>;

/// What is called between parts of work that take some milliseconds at most.
pub(crate) type Watch<'w> = &'w (dyn Fn() + Sync);

/// What a class needs of a box and of a frame while it is evaluated, in bytes, at most.
const AT_WORK: [u64; 2] = [256, 192];
/// The classes and metrics of KITTI, each of which looks at all boxes.
const CASES: u64 = 9;

/// Checks that an evaluation needs no more memory than it may take: it is linear in boxes and frames.
pub(crate) fn check(sides: [&Detections; 2], frames: usize, params: &DetectionParams) -> Result<()> {
    let boxes = sides.iter().map(|side| side.len() as u64).sum::<u64>();
    // Of nuScenes and Argoverse 2 a box has one class, and four distances.
    let (kept, at_work) = match params.protocol {
        Protocol::KittiR40 | Protocol::KittiR11 => (CASES, CASES.min(rayon::current_num_threads() as u64)),
        Protocol::NuScenes | Protocol::Argoverse2 => (4, 1),
    };
    let of = |count: u64, each: u64| count.saturating_mul(each);
    let needed = of(boxes, kept * size_of::<RowFate>() as u64 + at_work * AT_WORK[0])
        .saturating_add(of(frames as u64, at_work * AT_WORK[1]));
    match params.max_memory {
        Some(most) if needed > most => {
            let wanted = format!("at most {most} bytes (the limit `max_memory`, --max-memory)");
            let way = "take the unsure boxes out (boxes.nms of Python), or allow more";
            let frames = if frames == 1 { "1 frame".into() } else { format!("{frames} frames") };
            let got = format!("{needed} bytes for {boxes} boxes in {frames}; {way}");
            Err(IoError::LimitExceeded(Detail::new("detections", "memory", wanted, got)))
        }
        _ => Ok(()),
    }
}

/// The error of memory that the system refuses.
fn refused(bytes: usize) -> IoError {
    IoError::OutOfMemory(Detail::new("detections", "memory", format!("{bytes} bytes"), "a refusal"))
}

/// An empty list with room for so many values.
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| refused(count.saturating_mul(size_of::<T>())))?;
    Ok(room)
}

/// A list of so many equal values.
pub(crate) fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>> {
    let mut list = room(count)?;
    list.resize(count, value);
    Ok(list)
}

pub(crate) fn push<T>(list: &mut Vec<T>, value: T) -> Result<()> {
    list.try_reserve(1).map_err(|_| refused((list.len() + 1).saturating_mul(size_of::<T>())))?;
    list.push(value);
    Ok(())
}

pub(crate) fn collect<T>(values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let values = values.into_iter();
    let mut list = room(values.size_hint().0)?;
    for value in values {
        push(&mut list, value)?;
    }
    Ok(list)
}
