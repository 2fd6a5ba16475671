//! LZF, the compression of PCD files: literal bytes, and references to earlier bytes.
//!
//! The only crate for LZF is no longer maintained. This module needs few lines and checks every
//! length and distance.

/// Maximum growth factor: a reference of three bytes unpacks to up to 264 bytes.
pub(super) const MAX_GROWTH: u64 = 264 / 3;

/// Unpacks a stream into exactly `length` bytes, in memory that the caller has allocated. Returns
/// what is wrong with the stream otherwise.
pub(super) fn unpack(mut packed: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), &'static str> {
    const ENDS: &str = "a stream that ends inside an instruction";
    let end = out.len() + length;
    let start = out.len();
    while let Some((&control, rest)) = packed.split_first() {
        let control = usize::from(control);
        if control < 32 {
            // This number of literal bytes, plus one.
            let (bytes, rest) = rest.split_at_checked(control + 1).ok_or(ENDS)?;
            if bytes.len() > end - out.len() {
                return Err("more bytes than declared");
            }
            out.extend_from_slice(bytes);
            packed = rest;
            continue;
        }
        // Three bits of length, where 7 means that one more byte of length follows; thirteen bits
        // of distance.
        let (more, rest) = if control >> 5 == 7 {
            let (&more, rest) = rest.split_first().ok_or(ENDS)?;
            (usize::from(more), rest)
        } else {
            (0, rest)
        };
        let (&low, rest) = rest.split_first().ok_or(ENDS)?;
        let count = (control >> 5) + more + 2;
        let distance = ((control & 31) << 8 | usize::from(low)) + 1;
        if distance > out.len() - start {
            return Err("a reference to before the start");
        }
        if count > end - out.len() {
            return Err("more bytes than declared");
        }
        // A reference may overlap its own output; the bytes then repeat.
        let mut from = out.len() - distance;
        let mut left = count;
        while left > 0 {
            let step = left.min(out.len() - from);
            out.extend_from_within(from..from + step);
            from += step;
            left -= step;
        }
        packed = rest;
    }
    if out.len() < end { Err("fewer bytes than declared") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unpacked(packed: &[u8], length: usize) -> Result<Vec<u8>, &'static str> {
        let mut out = vec![];
        unpack(packed, length, &mut out).map(|()| out)
    }

    #[test]
    fn instructions_do_what_they_say() {
        assert_eq!(unpacked(b"", 0).unwrap(), b"");
        assert_eq!(unpacked(b"\x02abc", 3).unwrap(), b"abc");
        // Three bytes from distance two, so the reference overlaps its own output by one byte.
        assert_eq!(unpacked(b"\x02abc\x20\x01", 6).unwrap(), b"abcbcb");
        assert_eq!(unpacked(b"\x00a\xe0\xff\x00", 265).unwrap(), [b'a'; 265]);
        let mut far = vec![];
        for i in 0..256u16 {
            far.push(31);
            far.extend([i as u8; 32]);
        }
        far.extend(b"\x3f\xff");
        assert_eq!(unpacked(&far, 8195).unwrap()[8192..], [0; 3]);
    }

    #[test]
    fn garbage_is_told() {
        for (packed, length, told) in [
            (&b"\x02ab"[..], 3, "a stream that ends inside an instruction"),
            (b"\x00a\x20", 4, "a stream that ends inside an instruction"),
            (b"\x00a\xe0", 9, "a stream that ends inside an instruction"),
            (b"\x00a\xe0\x00", 9, "a stream that ends inside an instruction"),
            (b"\x00a\x20\x01", 4, "a reference to before the start"),
            (b"\x20\x00", 3, "a reference to before the start"),
            (b"\x02abc", 2, "more bytes than declared"),
            (b"\x00a\x20\x00", 3, "more bytes than declared"),
            (b"\x00a\x00b", 1, "more bytes than declared"),
            (b"\x02abc", 4, "fewer bytes than declared"),
        ] {
            assert_eq!(unpacked(packed, length), Err(told), "{packed:?}");
        }
    }

    proptest! {
        #[test]
        fn random_streams_keep_to_their_length(packed in prop::collection::vec(any::<u8>(), 0..200), length in 0usize..2000) {
            let mut out = Vec::with_capacity(length);
            let done = unpack(&packed, length, &mut out);
            prop_assert!(out.len() <= length && out.len() as u64 <= MAX_GROWTH * packed.len() as u64);
            prop_assert!(done.is_err() || out.len() == length);
        }
    }
}
