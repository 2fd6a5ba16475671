//! Unpacked chunks that are held until their clouds are read.
//!
//! Clouds come in the order of their times, and chunks may overlap in time. So several are held.
//! Which ones depends on the index alone, so that what a pass over the clouds costs is known before
//! the first is read.

use super::file::MessageIndexEntry;
use std::collections::BTreeMap;

/// A chunk: the number of its file in the bag, and where it starts there.
pub(super) type Place = (u16, u64);

/// The most bytes that are held, and the most chunks. One chunk is held whatever it has.
const MOST: (u64, usize) = (64 << 20, 64);

/// The chunks, the one that was used last at the end.
#[derive(Debug)]
pub(super) struct Held<T> {
    chunks: Vec<Chunk<T>>,
    bytes: u64,
    most: u64,
}

#[derive(Debug)]
struct Chunk<T> {
    /// The number of its file, and where it starts there.
    at: Place,
    bytes: u64,
    /// Clouds that were not read since it was unpacked.
    left: u16,
    content: T,
}

impl<T: Clone> Held<T> {
    pub(super) fn new(max_memory: Option<u64>) -> Self {
        Self { chunks: vec![], bytes: 0, most: max_memory.map_or(MOST.0, |most| most.min(MOST.0)) }
    }

    /// Bytes that are held.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The content of a chunk, if it is held.
    pub(super) fn get(&mut self, at: Place) -> Option<T> {
        let place = self.chunks.iter().rposition(|chunk| chunk.at == at)?;
        let chunk = self.chunks.remove(place);
        let content = chunk.content.clone();
        self.chunks.push(chunk);
        Some(content)
    }

    /// Lets chunks go, those first that were not used for longest, until there is room for one of
    /// so many bytes.
    pub(super) fn make_room(&mut self, bytes: u64) {
        while !self.chunks.is_empty() && (self.bytes.saturating_add(bytes) > self.most || self.chunks.len() >= MOST.1) {
            self.bytes -= self.chunks.remove(0).bytes;
        }
    }

    /// Holds the chunk of a cloud.
    pub(super) fn put(&mut self, place: &MessageIndexEntry, bytes: u64, content: T) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.chunks.push(Chunk { at: place.of_chunk(), bytes, left: place.together, content });
    }

    /// Counts a cloud of a chunk as read, and lets the chunk go with the last one.
    pub(super) fn read(&mut self, at: Place) {
        let Some(place) = self.chunks.iter().rposition(|chunk| chunk.at == at) else { return };
        self.chunks[place].left = self.chunks[place].left.saturating_sub(1);
        if self.chunks[place].left == 0 {
            self.bytes -= self.chunks.remove(place).bytes;
        }
    }
}

/// The bytes that are unpacked if clouds are read in this order, if `is_last` for the last time. `sizes`
/// has the bytes of chunks, unpacked and in the file.
pub(super) fn cost<'a>(
    places: impl Iterator<Item = &'a MessageIndexEntry>,
    sizes: &BTreeMap<Place, [u64; 2]>,
    max_memory: Option<u64>,
    is_last: bool,
) -> u64 {
    let (mut held, mut cost) = (Held::new(max_memory), 0u64);
    for place in places {
        let Some([bytes, packed]) = sizes.get(&place.of_chunk()) else { continue };
        if held.get(place.of_chunk()).is_none() {
            held.make_room(bytes.saturating_add(*packed));
            held.put(place, *bytes, ());
            cost = cost.saturating_add(*bytes);
        }
        if is_last {
            held.read(place.of_chunk());
        }
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(chunk: u64, together: u16) -> MessageIndexEntry {
        MessageIndexEntry { chunk, together, ..MessageIndexEntry::default() }
    }

    #[test]
    fn chunks_that_overlap_are_unpacked_once_while_there_is_room() {
        let sizes = BTreeMap::from([((0, 1), [10 << 20, 100]), ((0, 2), [10 << 20, 100])]);
        let turns: Vec<_> = (0..200).map(|i| place(1 + i % 2, 100)).collect();
        assert_eq!(cost(turns.iter(), &sizes, None, true), 20 << 20);
        // Room for one: each cloud unpacks its chunk.
        assert_eq!(cost(turns.iter(), &sizes, Some(15 << 20), true), 200 * (10 << 20));
        // A chunk of which a topic has one cloud stays for the clouds of another.
        let [one, two] = [true, false].map(|is_last| cost([place(1, 1), place(1, 1)].iter(), &sizes, None, is_last));
        assert_eq!([one, two], [20 << 20, 10 << 20]);
        let large = BTreeMap::from([((0, 1), [40 << 20, 100]), ((0, 2), [40 << 20, 100])]);
        assert_eq!(cost(turns.iter(), &large, None, true), 200 * (40 << 20));
        // Clouds outside of chunks cost nothing.
        assert_eq!(cost([place(0, 1)].iter(), &sizes, None, true), 0);
    }

    #[test]
    fn a_chunk_goes_with_its_last_cloud() {
        let mut held = Held::new(None);
        held.put(&place(1, 2), 30, "a");
        held.put(&place(2, 1), 40, "b");
        assert_eq!(held.get((1, 1)), None);
        assert_eq!((held.get((0, 1)), held.get((0, 3)), held.bytes()), (Some("a"), None, 70));
        held.read((0, 2));
        assert_eq!((held.get((0, 2)), held.bytes()), (None, 30));
        held.read((0, 1));
        held.read((0, 1));
        assert_eq!((held.get((0, 1)), held.bytes()), (None, 0));
        (0..100).for_each(|at| {
            held.make_room(1);
            held.put(&place(at, 9), 1, "c");
        });
        assert_eq!((held.bytes(), held.get((0, 35)), held.get((0, 36))), (64, None, Some("c")));
    }
}
