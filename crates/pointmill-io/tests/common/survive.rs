//! What holds for every bag, whatever its bytes are.

use super::damage::wounded;
use super::random::Random;
use super::valid::Valid;
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

/// Gives a check bags that are damaged, and counts them and those with which nothing was wrong.
///
/// `POINTMILL_WOUNDS` sets how many bags get random damage, `POINTMILL_SEED` another seed.
pub(crate) struct Damage {
    wounds: usize,
    random: Random,
    pub(crate) seen: u64,
    pub(crate) good: u64,
}

impl Damage {
    /// With so many wounds, unless the variable says another number.
    pub(crate) fn new(wounds: usize) -> Self {
        let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a whole number"));
        let wounds = number("POINTMILL_WOUNDS").map_or(wounds, |wounds| wounds as usize);
        Self { wounds, random: Random::new(number("POINTMILL_SEED").unwrap_or(1)), seen: 0, good: 0 }
    }

    /// Checks a bag, and keeps one that fails.
    pub(crate) fn check(&mut self, valid: &Valid, bytes: &[u8]) {
        let survived = std::panic::catch_unwind(|| survives(&valid.name, bytes));
        if survived.is_err() {
            let kept = format!("pointmill-{}-{}.{}", std::process::id(), valid.name, valid.format);
            let kept = std::env::temp_dir().join(kept);
            std::fs::write(&kept, bytes).unwrap();
            eprintln!("kept as {}", kept.display());
        }
        self.seen += 1;
        self.good += u64::from(survived.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    }

    /// Checks bags with random damage; `also` checks each in another way.
    pub(crate) fn wound(&mut self, valid: &[Valid], also: impl Fn(&[u8])) {
        for _ in 0..self.wounds {
            let (one, other) = (self.random.pick(valid), self.random.pick(valid));
            let bytes = wounded(one, other, &mut self.random);
            self.check(one, &bytes);
            also(&bytes);
        }
        println!("{} bags, {} read", self.seen, self.good);
    }
}
