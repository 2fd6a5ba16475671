//! The secret by which this process spreads the keys of its hash tables, so that nobody can send
//! points whose cells meet in one place.
//!
//! No result depends on it.

use pointmill_core::hash::Seed;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the seed is made of; zero until somebody asks. Not behind a lock: a child of `fork` has no
/// other thread that would give it back.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// The seed of this process, and of the children that it forks. A table keeps the one that it was
/// made with.
pub fn seed() -> Seed {
    #[cfg(test)]
    if let Some(number) = tests::FIXED.get() {
        return Seed::new(number);
    }
    let known = NUMBER.load(Relaxed);
    if known != 0 {
        return Seed::new(known);
    }
    // The keys of std's hash function come from the system, so what is hashed with them does not matter.
    let fresh = RandomState::new().hash_one(()) | 1;
    Seed::new(NUMBER.compare_exchange(0, fresh, Relaxed, Relaxed).err().unwrap_or(fresh))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::Cell;
    use std::process;

    thread_local! {
        /// The seed of tables that are made in this thread, instead of that of the process.
        pub(super) static FIXED: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// Does the work with the seed of this number.
    pub(crate) fn with_seed<R>(number: u64, work: impl FnOnce() -> R) -> R {
        let before = FIXED.replace(Some(number));
        let done = work();
        FIXED.set(before);
        done
    }

    #[test]
    fn a_process_has_one_seed() {
        let here = seed();
        let others: Vec<Seed> = (0..8).map(|_| std::thread::spawn(seed)).map(|t| t.join().unwrap()).collect();
        assert!(others.iter().all(|other| *other == here));
        assert_ne!(NUMBER.load(Relaxed), 0);
        assert_ne!(with_seed(1, seed), with_seed(2, seed));
        assert_eq!(seed(), here);
    }

    /// Two processes have two: this one asks itself what another run of it has.
    #[test]
    fn another_process_has_another() {
        const ASKED: &str = "POINTMILL_TEST_SEED";
        let own = || (seed(), NUMBER.load(Relaxed)).1;
        if std::env::var_os(ASKED).is_some() {
            println!("seed {}", own());
            return;
        }
        let path = std::env::current_exe().unwrap();
        let mut other = process::Command::new(path);
        other.args(["--exact", "seed::tests::another_process_has_another", "--nocapture"]).env(ASKED, "1");
        let said = String::from_utf8(other.output().unwrap().stdout).unwrap();
        let line = said.lines().find_map(|line| line.split_once("seed ")).expect("a seed").1.to_owned();
        let number: u64 = line.split_whitespace().next().unwrap().parse().unwrap();
        assert!(number != 0 && number != own(), "{number}");
    }
}
