//! Bags and single messages: errors say where.
use pointmill_io::bag::{Bag, Encoding, PointCloud2};
use pointmill_io::{Format, IoError};
use std::io::Cursor;

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    bag(bytes, Format::Mcap);
    // The bytes as a message too: few changes of a bag reach one.
    let limits = crate::limits();
    for encoding in [Encoding::Cdr, Encoding::Ros1] {
        for read in [PointCloud2::read, PointCloud2::read_custom_msg] {
            let cloud = read(bytes, encoding, "message");
            cloud.and_then(|cloud| cloud.scan("message", &limits)).map_err(|e| check(bytes, e)).ok();
        }
    }
}

/// What an error must be.
fn check(bytes: &[u8], e: IoError) {
    assert!(!matches!(e, IoError::Io { .. } | IoError::OutOfMemory(_)), "{e}");
    assert!(e.offset().is_none_or(|at| at <= bytes.len() as u64), "{e}");
}

/// Reads a bag in a format, and its clouds.
pub(super) fn bag(bytes: &[u8], format: Format) {
    let limits = crate::limits();
    let check = |e: IoError| check(bytes, e);
    match Bag::new(Cursor::new(bytes.to_vec()), format!("a.{format}"), &limits) {
        Ok(bag) => {
            for topic in bag.topics().iter().filter(|topic| topic.cloud_encoding().is_some()) {
                bag.layout(topic).map_err(check).ok();
                (0..topic.count as usize).filter_map(|i| bag.cloud(topic, i).err()).for_each(check);
            }
        }
        Err(e) => check(e),
    }
    crate::reader(bytes, format, None);
}
