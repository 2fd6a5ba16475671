//! Ranges of memory.

use bytemuck::Pod;

/// A range of a machine's memory. Dropping it frees nothing: that takes a stream.
#[derive(Debug)]
pub(super) struct Block {
    address: u64,
    bytes: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Own,
    Foreign,
    Shared(Shared),
}

impl Block {
    /// No memory, which nobody frees.
    pub(super) const NONE: Self = Self { address: 0, bytes: 0, kind: Kind::Own };

    /// Whether there is memory that the machine has allocated.
    pub(super) const fn is_to_be_freed(&self) -> bool {
        !self.is_foreign() && self.address != 0
    }

    /// Memory that the machine has allocated.
    pub(super) const fn own(address: u64, bytes: usize) -> Self {
        Self { address, bytes, kind: Kind::Own }
    }

    /// Memory that somebody else owns.
    pub(super) const fn foreign(address: u64, bytes: usize) -> Self {
        Self { address, bytes, kind: Kind::Foreign }
    }

    /// Memory that the machine has allocated and the host reaches at `host`.
    ///
    /// # Safety
    /// `host` is valid for reads and writes of so many bytes, and aligned to 16, until the block is
    /// freed, which is its last use.
    pub(super) const unsafe fn shared(address: u64, host: usize, bytes: usize) -> Self {
        Self { address, bytes, kind: Kind::Shared(Shared { host, bytes }) }
    }

    /// The address on the device.
    pub(super) const fn address(&self) -> u64 {
        self.address
    }

    /// The size.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the memory is somebody else's.
    pub(super) const fn is_foreign(&self) -> bool {
        matches!(self.kind, Kind::Foreign)
    }

    /// The host's side of shared memory, to be written.
    pub(super) const fn host_mut(&mut self) -> Option<&mut Shared> {
        match &mut self.kind {
            Kind::Shared(shared) => Some(shared),
            _ => None,
        }
    }

    /// The host's side of shared memory.
    pub(super) const fn host(&self) -> Option<&Shared> {
        match &self.kind {
            Kind::Shared(shared) => Some(shared),
            _ => None,
        }
    }
}

/// The host's side of memory that a device uses too. Accesses are volatile, because the device may
/// write at any time.
#[derive(Debug)]
pub(super) struct Shared {
    host: usize,
    bytes: usize,
}

impl Shared {
    /// The address on the host.
    pub(super) const fn address(&self) -> usize {
        self.host
    }

    /// Copies from the front.
    pub(super) fn read(&self, out: &mut [u8]) {
        assert!(out.len() <= self.bytes, "a read past shared memory");
        let from = self.host as *const u8;
        // SAFETY: in bounds of memory that is there until the block is freed, which is its last
        // use.
        out.iter_mut().enumerate().for_each(|(i, o)| *o = unsafe { from.add(i).read_volatile() });
    }

    /// The value at the front, in one access.
    pub(super) fn read_whole<T: Pod>(&self) -> T {
        assert!(size_of::<T>() <= self.bytes && align_of::<T>() <= 16, "a read past shared memory");
        // SAFETY: in bounds and aligned, of memory that is there until the block is freed; any bits
        // are a value.
        unsafe { (self.host as *const T).read_volatile() }
    }

    /// Copies to the front.
    pub(super) fn write(&mut self, data: &[u8]) {
        assert!(data.len() <= self.bytes, "a write past shared memory");
        let to = self.host as *mut u8;
        // SAFETY: in bounds of memory that is there until the block is freed, which is its last
        // use.
        data.iter().enumerate().for_each(|(i, d)| unsafe { to.add(i).write_volatile(*d) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(16))]
    struct Aligned([u8; 16]);

    #[test]
    fn the_host_reads_what_it_wrote() {
        let mut memory = Aligned([0; 16]);
        let host = (&raw mut memory).expose_provenance();
        // SAFETY: the array is alive, as long and aligned, and nobody else uses it.
        let mut block = unsafe { Block::shared(7, host, 16) };
        assert_eq!((block.address(), block.bytes(), block.is_foreign()), (7, 16, false));
        let shared = block.host_mut().unwrap();
        shared.write(&7u64.to_le_bytes());
        let mut front = [0; 2];
        shared.read(&mut front);
        assert_eq!((shared.read_whole::<u64>(), front), (7, [7, 0]));
        assert_eq!(memory.0[..9], [7, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert!(Block::foreign(7, 16).is_foreign() && Block::own(7, 16).host().is_none());
    }

    #[test]
    #[should_panic(expected = "a read past shared memory")]
    fn the_host_reads_no_further() {
        let memory = Aligned([0; 16]);
        // SAFETY: as above; nothing is written.
        let block = unsafe { Block::shared(0, (&raw const memory).expose_provenance(), 16) };
        block.host().unwrap().read(&mut [0; 17]);
    }
}
