//! Archives with many end records, of which a reader may try each.

/// An end record of so many members, whose list has so many bytes from `offset` on.
pub(crate) fn end(members: u16, size: u32, offset: u32, comment: u16) -> Vec<u8> {
    let [members, comment] = [members, comment].map(u16::to_le_bytes);
    let [size, offset] = [size, offset].map(u32::to_le_bytes);
    [b"PK\x05\x06\0\0\0\0", &members[..], &members, &size, &offset, &comment].concat()
}

/// An archive of `length` bytes of lists, and so many end records: each starts a chain of long
/// headers of its own, through all of the file.
pub(crate) fn many_ends(length: usize, ends: usize) -> Vec<u8> {
    let header = [b"PK\x01\x02\x14\0\x14\0", &[0; 20][..], &[0xff; 2], &[0; 2], &[0xff; 2], &[0; 12]].concat();
    let mut bytes = vec![0; length];
    for i in 0..ends {
        for at in (64 * i..length - header.len()).step_by(46 + 2 * 0xffff) {
            bytes[at..at + header.len()].copy_from_slice(&header);
        }
    }
    for i in 0..ends {
        bytes.extend(end(60_000, (length - 64 * i - 7) as u32, 64 * i as u32, 0));
    }
    bytes
}
