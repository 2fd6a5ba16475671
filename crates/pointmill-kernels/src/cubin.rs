//! Machine code of kernels for certain GPUs, made ahead of time: what spares a first call the
//! driver's compiler.
//!
//! `cargo xtask cubin` assembles a module's PTX for a few GPUs and writes them into one file,
//! `kernels.cubins`, which the feature `cubin` embeds. The file, little-endian: `pmcubins`, the
//! hash of the kernels' sources that the PTX names too, and for each GPU its compute capability
//! (major and minor, a byte each), the lengths of the code and of what it is deflated to (32 bits
//! each), and that.

/// What each file starts with.
const MAGIC: &[u8; 8] = b"pmcubins";
/// What stands before the hash in the first line of the PTX.
const BEFORE_HASH: usize = "// pointmill kernels, sources ".len();

/// The code of a module for GPUs of one compute capability, and for those of a higher minor one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cubin<'a> {
    /// The compute capability, major and minor.
    pub capability: (u8, u8),
    /// The length of the code.
    pub len: usize,
    /// The code as deflate makes it smaller.
    pub deflated: &'a [u8],
}

/// The start of a file for PTX text of this crate.
pub const fn header(ptx: &str) -> [u8; 16] {
    let mut header = [0; 16];
    let (text, hash) = (ptx.as_bytes(), hash(ptx).to_le_bytes());
    assert!(text.len() > BEFORE_HASH);
    let mut i = 0;
    while i < 8 {
        (header[i], header[8 + i]) = (MAGIC[i], hash[i]);
        i += 1;
    }
    header
}

/// The hash of the sources that the first line of PTX text names in hexadecimal digits.
const fn hash(ptx: &str) -> u64 {
    let (_, rest) = ptx.as_bytes().split_at(BEFORE_HASH);
    let (digits, _) = rest.split_at(16);
    let (mut hash, mut i) = (0, 0);
    while i < 16 {
        let digit = (digits[i] as char).to_digit(16);
        hash = hash << 4 | digit.expect("the first line of the PTX names the hash of the sources") as u64;
        i += 1;
    }
    hash
}

/// Whether a file is of PTX text.
pub const fn is_of(file: &[u8], ptx: &str) -> bool {
    let wanted = header(ptx);
    let mut i = 0;
    while i < wanted.len() && i < file.len() && file[i] == wanted[i] {
        i += 1;
    }
    i == wanted.len()
}

/// Adds code to a file.
pub fn push(file: &mut Vec<u8>, cubin: &Cubin<'_>) {
    let length = |n: usize| u32::try_from(n).expect("code is shorter than 4 GiB").to_le_bytes();
    file.extend([cubin.capability.0, cubin.capability.1]);
    file.extend(length(cubin.len));
    file.extend(length(cubin.deflated.len()));
    file.extend(cubin.deflated);
}

impl Cubin<'_> {
    /// The code; none where it does not inflate to its length.
    #[cfg(feature = "cubin")]
    pub fn code(&self) -> Option<Vec<u8>> {
        let code = miniz_oxide::inflate::decompress_to_vec_with_limit(self.deflated, self.len).ok()?;
        (code.len() == self.len).then_some(code)
    }
}

impl crate::Module {
    /// Machine code for a GPU of this compute capability; none where none is embedded, or none
    /// fits.
    #[cfg(feature = "cubin")]
    pub fn machine_code(&self, capability: (u8, u8)) -> Option<Vec<u8>> {
        fitting(self.cubins, capability)?.code()
    }

    /// Nothing: without the feature `cubin` no machine code is embedded.
    #[cfg(not(feature = "cubin"))]
    pub const fn machine_code(&self, _capability: (u8, u8)) -> Option<Vec<u8>> {
        None
    }
}

/// What a file holds, in its order; what is cut off is left out.
pub fn list(file: &[u8]) -> impl Iterator<Item = Cubin<'_>> {
    let mut rest = file.get(16..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (head, behind) = rest.split_first_chunk::<10>()?;
        let length = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
        let (deflated, next) = behind.split_at_checked(length(6))?;
        rest = next;
        Some(Cubin { capability: (head[0], head[1]), len: length(2), deflated })
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
    use crate::MODULES;

    #[test]
    fn files_hold_code_by_gpu() {
        let ptx = MODULES[0].ptx;
        let mut file = header(ptx).to_vec();
        assert!(is_of(&file, ptx) && list(&file).next().is_none());
        let made = [(7, 5, 300, &b"seven"[..]), (8, 0, 70_000, b""), (8, 6, 9, b"eight"), (9, 0, 1, b"n")]
            .map(|(major, minor, len, deflated)| Cubin { capability: (major, minor), len, deflated });
        made.iter().for_each(|cubin| push(&mut file, cubin));
        assert!(list(&file).eq(made) && is_of(&file, ptx));
        for (gpu, wanted) in [
            ((7, 0), None),
            ((7, 5), Some(0)),
            ((8, 0), Some(1)),
            ((8, 2), Some(1)),
            ((8, 7), Some(2)),
            ((9, 0), Some(3)),
            ((10, 0), None),
        ] {
            assert_eq!(fitting(&file, gpu), wanted.map(|i| made[i]), "{gpu:?}");
        }
        // A file that was cut holds what is whole, and one of other sources is not of this text.
        assert_eq!(list(&file[..file.len() - 1]).count(), 3);
        assert_eq!((list(&file[..20]).count(), list(&[]).count()), (0, 0));
        file[9] ^= 1;
        assert!(!is_of(&file, ptx) && !is_of(&file[..15], ptx));
    }

    #[cfg(feature = "cubin")]
    #[test]
    fn code_is_whole_for_each_gpu() {
        for module in &MODULES {
            let gpus: Vec<_> = list(module.cubins).map(|cubin| cubin.capability).collect();
            assert!(gpus.contains(&(8, 0)) && gpus.contains(&(9, 0)), "{}: {gpus:?}", module.folder);
            for gpu in gpus {
                let code = module.machine_code(gpu).unwrap();
                assert!(code.starts_with(b"\x7fELF"), "{} for {gpu:?}", module.folder);
                let named = |kernel: &str| code.windows(kernel.len()).any(|bytes| bytes == kernel.as_bytes());
                assert!(module.kernels.iter().all(|kernel| named(kernel.name)), "{} for {gpu:?}", module.folder);
            }
            assert_eq!((module.machine_code((7, 0)), module.machine_code((8, 7))), (None, module.machine_code((8, 6))));
            let cut = Cubin { len: 100, ..fitting(module.cubins, (9, 0)).unwrap() };
            assert_eq!(cut.code(), None);
        }
    }
}
