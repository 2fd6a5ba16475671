//! Races in shared memory: two threads at one word, one of them writing, and nothing that says
//! which comes first.
//!
//! A fiber that runs alone between barriers never sees such a race; a GPU does. So each word
//! remembers who touched it last, and when: in which stretch between two barriers of the block, and
//! between two of the warp. Votes and shuffles do not order memory and count as no barrier. Atomic
//! operations do not race with each other, and a value that is written again is no race.

/// Who touched a word, and when.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) thread: u32,
    /// Barriers of the block so far.
    pub(super) block: u32,
    /// Barriers of the thread's warp so far.
    pub(super) warp: u32,
}

/// What a thread does with a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// Read, changed and written at once.
    Atomic,
}

/// What is known of a word.
#[derive(Clone, Copy, Default)]
pub(super) struct History {
    write: Option<(Moment, Access)>,
    read: Option<Moment>,
    /// Threads of several warps have read it since that barrier of the block.
    many_readers: Option<u32>,
}

impl Moment {
    /// Whether everything at `self` is over at `now`.
    fn is_before(&self, now: &Self) -> bool {
        self.thread == now.thread
            || self.block < now.block
            || (self.thread / 32 == now.thread / 32 && self.warp < now.warp)
    }
}

impl History {
    /// Notes an access; the thread it races with, if there is one, and what that did. `same`: the
    /// value that is written is there already.
    pub(super) fn note(&mut self, access: Access, now: Moment, same: bool) -> Option<(u32, Access)> {
        let mut race = None;
        if let Some((then, other)) = self.write
            && !then.is_before(&now)
            && !(access == Access::Atomic && other == Access::Atomic)
            && !(access == Access::Write && same)
        {
            race = Some((then.thread, other));
        }
        if access == Access::Read {
            match self.read {
                Some(then) if then.block == now.block && then.thread / 32 != now.thread / 32 => {
                    self.many_readers = Some(now.block);
                }
                _ => {}
            }
            self.read = Some(now);
        } else {
            if let Some(then) = self.read
                && !same
                && (!then.is_before(&now) || self.many_readers == Some(now.block))
            {
                race = race.or(Some((then.thread, Access::Read)));
            }
            self.write = Some((now, access));
        }
        race
    }
}

#[cfg(test)]
mod tests {
    use super::Access::{Atomic, Read, Write};
    use super::*;

    fn at(thread: u32, block: u32, warp: u32) -> Moment {
        Moment { thread, block, warp }
    }

    /// Whether the last of some accesses races.
    fn races(accesses: &[(Access, Moment)]) -> bool {
        let mut history = History::default();
        let (last, before) = accesses.split_last().unwrap();
        for (access, moment) in before {
            assert_eq!(history.note(*access, *moment, false), None);
        }
        history.note(last.0, last.1, false).is_some()
    }

    #[test]
    fn threads_race_until_a_barrier() {
        for (first, second) in
            [(Write, Read), (Read, Write), (Write, Write), (Atomic, Read), (Read, Atomic), (Write, Atomic)]
        {
            assert!(races(&[(first, at(0, 0, 0)), (second, at(1, 0, 0))]), "{first:?} {second:?}");
            assert!(races(&[(first, at(0, 0, 0)), (second, at(40, 0, 7))]), "{first:?} {second:?}");
            // A barrier of the block, and one of their warp.
            assert!(!races(&[(first, at(0, 0, 0)), (second, at(40, 1, 0))]), "{first:?} {second:?}");
            assert!(!races(&[(first, at(0, 0, 0)), (second, at(1, 0, 1))]), "{first:?} {second:?}");
            assert!(!races(&[(first, at(5, 0, 0)), (second, at(5, 0, 0))]), "{first:?} {second:?}");
        }
        assert!(!races(&[(Read, at(0, 0, 0)), (Read, at(1, 0, 0))]));
        assert!(!races(&[(Atomic, at(0, 0, 0)), (Atomic, at(1, 0, 0))]));
    }

    #[test]
    fn all_readers_count() {
        // The last one is the writer itself, or of its warp before a barrier of it; the first is
        // not.
        assert!(races(&[(Read, at(40, 0, 0)), (Read, at(3, 0, 0)), (Write, at(3, 0, 0))]));
        assert!(races(&[(Read, at(40, 0, 0)), (Read, at(3, 0, 0)), (Write, at(4, 0, 1))]));
        assert!(!races(&[(Read, at(40, 0, 0)), (Read, at(3, 0, 0)), (Write, at(4, 1, 0))]));
    }

    #[test]
    fn the_same_value_twice_is_no_race() {
        let mut history = History::default();
        assert_eq!(history.note(Write, at(0, 0, 0), false), None);
        assert_eq!(history.note(Write, at(1, 0, 0), true), None);
        assert_eq!(history.note(Write, at(2, 0, 0), false), Some((1, Write)));
    }
}
