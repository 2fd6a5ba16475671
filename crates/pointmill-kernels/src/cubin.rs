//! Machine code of kernels for certain GPUs, made by the build: what spares a first call the
//! driver's compiler.
//!
//! With the feature `cubin` the build script assembles each module's PTX where it finds NVIDIA's
//! `ptxas`, and writes one file a module. The file, little-endian, holds the number of codes (a
//! byte), then for each its compute capability (major and minor, a byte each) and its length (32
//! bits), then all codes, one after the other, as one stream of LZMA. Codes of a module are alike:
//! one stream takes 1.6 MB for all modules, where a stream for each code takes 2.4 MB. To read a
//! code, those before it are unpacked too. Without `ptxas` the file is empty.

#[cfg(feature = "cubin")]
use std::io::{self, Read, Write};

/// The GPUs that the build assembles for: T4; A100; RTX 30, A10 and Orin; H100 and H200; B200; RTX
/// 50. RTX 40 and L4 (8.9) run the code for 8.6, since the assembler makes the same instructions
/// for both. Others are served by the PTX.
#[cfg(feature = "cubin")]
pub const CAPABILITIES: [(u8, u8); 6] = [(7, 5), (8, 0), (8, 6), (9, 0), (10, 0), (12, 0)];

/// The code of a module for GPUs of one compute capability, and for those of a higher minor one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cubin<'a> {
    /// The compute capability, major and minor.
    pub capability: (u8, u8),
    /// Bytes before the code in what is packed.
    pub start: usize,
    /// The length of the code.
    pub len: usize,
    /// All codes of the module as LZMA makes them smaller.
    pub packed: &'a [u8],
}

/// A file of codes by their compute capabilities and lengths.
pub fn file(codes: &[((u8, u8), usize)], packed: &[u8]) -> Vec<u8> {
    let mut file = vec![u8::try_from(codes.len()).expect("there are few kinds of GPU")];
    for &((major, minor), len) in codes {
        file.extend([major, minor]);
        file.extend(u32::try_from(len).expect("code is shorter than 4 GiB").to_le_bytes());
    }
    file.extend(packed);
    file
}

/// Bytes as LZMA makes them smaller. Positions modulo 2 to the `alignment` count: 3 for machine
/// code, whose words have 8 bytes, and 0 for text.
#[cfg(feature = "cubin")]
pub fn packed(bytes: &[u8], alignment: u32) -> Vec<u8> {
    let mut options = lzma_rust2::LzmaOptions::with_preset(6);
    // All that came before may come again.
    options.dict_size = u32::try_from(bytes.len()).expect("shorter than 4 GiB").max(lzma_rust2::DICT_SIZE_MIN);
    options.lc = 4;
    options.pb = alignment;
    let pack = || {
        let mut writer = lzma_rust2::LzmaWriter::new_use_header(vec![], &options, Some(bytes.len() as u64))?;
        writer.write_all(bytes)?;
        writer.finish()
    };
    pack().expect("the options are valid, and memory takes all that is written")
}

impl Cubin<'_> {
    /// The code; none where what is packed ends before.
    #[cfg(feature = "cubin")]
    pub fn code(&self) -> Option<Vec<u8>> {
        let mut all = reader(self.packed)?;
        let skipped = io::copy(&mut all.by_ref().take(self.start as u64), &mut io::sink()).ok()?;
        let mut code = Vec::with_capacity(self.len);
        all.take(self.len as u64).read_to_end(&mut code).ok()?;
        (skipped == self.start as u64 && code.len() == self.len).then_some(code)
    }
}

#[cfg(feature = "cubin")]
fn reader(packed: &[u8]) -> Option<lzma_rust2::LzmaReader<&[u8]>> {
    lzma_rust2::LzmaReader::new_mem_limit(packed, u32::MAX, None).ok()
}

/// A text as the build packed it.
#[cfg(feature = "cubin")]
pub(crate) fn text(packed: &[u8]) -> String {
    let mut text = String::new();
    let mut reader = reader(packed).expect("the build packed it");
    reader.read_to_string(&mut text).expect("the build packed a text");
    text
}

/// What a file holds, in its order; nothing where its head is cut.
pub fn list(file: &[u8]) -> impl Iterator<Item = Cubin<'_>> {
    let parts = file.split_first().and_then(|(&count, rest)| rest.split_at_checked(6 * usize::from(count)));
    let (heads, packed) = parts.unwrap_or_default();
    let mut end = 0;
    heads.as_chunks().0.iter().map(move |&[major, minor, ref len @ ..]: &[u8; 6]| {
        let (start, len) = (end, u32::from_le_bytes(*len) as usize);
        end += len;
        Cubin { capability: (major, minor), start, len, packed }
    })
}

/// The code that a GPU runs best: of its major compute capability, and of the highest minor one
/// that is not above its own.
pub fn fitting(file: &[u8], (major, minor): (u8, u8)) -> Option<Cubin<'_>> {
    let runs = |cubin: &Cubin<'_>| cubin.capability.0 == major && cubin.capability.1 <= minor;
    list(file).filter(runs).max_by_key(|cubin| cubin.capability.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hold_code_by_gpu() {
        assert!(list(&[]).next().is_none());
        let codes = [((7, 5), 300), ((8, 0), 70_000), ((8, 6), 0), ((9, 0), 1)];
        let file = file(&codes, b"packed");
        let made = [(0, codes[0]), (300, codes[1]), (70_300, codes[2]), (70_300, codes[3])]
            .map(|(start, (capability, len))| Cubin { capability, start, len, packed: b"packed" });
        assert!(list(&file).eq(made));
        for (gpu, wanted) in [
            ((7, 0), None),
            ((7, 5), Some(0)),
            ((8, 0), Some(1)),
            ((8, 2), Some(1)),
            ((8, 7), Some(2)),
            ((8, 9), Some(2)),
            ((9, 0), Some(3)),
            ((10, 0), None),
        ] {
            assert_eq!(fitting(&file, gpu), wanted.map(|i| made[i]), "{gpu:?}");
        }
        // The head is whole without what is packed, and else there is nothing.
        let head = 1 + 6 * codes.len();
        assert_eq!([head, head - 1, 1].map(|end| list(&file[..end]).count()), [4, 0, 0]);
    }

    #[cfg(feature = "cubin")]
    #[test]
    fn codes_are_whole_or_none() {
        // Bytes that LZMA cannot make smaller, then some that stood before.
        let mut state = 1u32;
        let first: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(4000)
        .collect();
        let codes = [&first[..], &[], &first[1000..], b"the last"];
        let lens = [(7, 5), (8, 0), (9, 0), (10, 0)].into_iter().zip(codes.map(<[u8]>::len));
        let packed = packed(&codes.concat(), 3);
        assert!(packed.len() < first.len() + 200, "{}", packed.len());
        let file = file(&lens.collect::<Vec<_>>(), &packed);
        let of = |file: &[u8]| list(file).map(|cubin| cubin.code()).collect::<Vec<_>>();
        assert_eq!(of(&file), codes.map(|code| Some(code.to_vec())));
        // Of a file that was cut the codes that end before are there.
        let whole = |end: usize| of(&file[..end]).iter().map(Option::is_some).collect::<Vec<_>>();
        assert_eq!(whole(file.len() - 8), [true, true, true, false]);
        assert_eq!(whole(2000), [false; 4]);
        assert_eq!(whole(30), [false; 4]);
        // A length beyond the end.
        let last = fitting(&file, (10, 0)).unwrap();
        for wrong in [Cubin { len: last.len + 1, ..last }, Cubin { start: last.start + 1, ..last }] {
            assert_eq!(wrong.code(), None);
        }
        assert_eq!(Cubin { packed: b"not LZMA, and longer than a head", ..last }.code(), None);
    }

    /// Where the build found an assembler; `POINTMILL_PTXAS` names one, and then all must be there.
    #[cfg(feature = "cubin")]
    #[test]
    fn code_is_whole_for_each_gpu() {
        let wanted = option_env!("POINTMILL_PTXAS").is_some_and(|path| !path.is_empty());
        for module in &crate::MODULES {
            let gpus: Vec<_> = list(module.cubins).map(|cubin| cubin.capability).collect();
            assert!(!wanted || gpus == CAPABILITIES, "{}: {gpus:?}", module.folder);
            for gpu in gpus {
                let code = module.machine_code(gpu).unwrap();
                assert!(code.starts_with(b"\x7fELF"), "{} for {gpu:?}", module.folder);
                let named = |kernel: &str| code.windows(kernel.len()).any(|bytes| bytes == kernel.as_bytes());
                assert!(module.kernels.iter().all(|kernel| named(kernel.name)), "{} for {gpu:?}", module.folder);
                let cubin = fitting(module.cubins, gpu).unwrap();
                let cut = Cubin { packed: &cubin.packed[..cubin.packed.len() / 100], ..cubin };
                assert_eq!(cut.code(), None);
            }
            assert_eq!(module.machine_code((7, 0)), None);
        }
    }
}
