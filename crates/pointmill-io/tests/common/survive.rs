//! What holds for every bag, whatever its bytes are.

use pointmill_io::bag::Bag;
use pointmill_io::{IoError, Limits};
use std::io::Cursor;
use std::time::{Duration, Instant};

/// Opens a bag and reads all clouds of all topics; whether nothing was wrong.
pub(crate) fn survives(name: &str, bytes: &[u8]) -> bool {
    let check = |e: &IoError| {
        let told = e.to_string();
        assert!(told.contains("b.mcap") && !told.chars().any(char::is_control), "{name}: {told:?}");
        assert!(!["Io", "OutOfMemory"].contains(&e.class()), "{name}: {told}");
        assert!(e.offset().is_none_or(|at| at <= bytes.len() as u64), "{name}: {told}: {:?}", e.offset());
    };
    let start = Instant::now();
    let mut good = true;
    let used =
        allocation_counter::measure(|| match Bag::new(Cursor::new(bytes.to_vec()), "b.mcap", &Limits::default()) {
            Ok(bag) => {
                for topic in bag.topics().iter().filter(|topic| topic.cloud_encoding().is_some()) {
                    assert!(topic.count <= bytes.len() as u64 / 16, "{name}: {} messages", topic.count);
                    bag.layout(topic).map_err(|e| check(&e)).ok();
                    (0..topic.count as usize).filter_map(|i| bag.cloud(topic, i).err()).for_each(|e| {
                        good = false;
                        check(&e);
                    });
                }
                good &= bag.cut().is_none();
            }
            Err(e) => {
                good = false;
                check(&e);
            }
        });
    // Rows are at most six times their bytes, LZ4 gives 255 times its own, a frame of Zstandard has
    // a window and one of bzip2 a block. Bzip2 gives anything of nothing, up to the limit.
    let has = |magic: &[u8]| bytes.windows(magic.len()).any(|at| at == magic);
    let window = if has(b"\x28\xb5\x2f\xfd") || has(b"BZh") { 9 << 20 } else { 0 };
    let most = (10 << 20) + 1600 * bytes.len() as u64 + window;
    assert!(used.bytes_max < most, "{name}: {} bytes of memory, at most {most}", used.bytes_max);
    assert!(start.elapsed() < Duration::from_secs(5), "{name}: {:?}", start.elapsed());
    good
}
