//! Machine code of kernels for certain GPUs, made by the build: what spares a first call the
//! driver's compiler.
//!
//! With the feature `cubin` the build script assembles each module's PTX where it finds NVIDIA's
//! `ptxas`, and writes one file a module. The file, little-endian, holds for each GPU its compute
//! capability (major and minor, a byte each), the lengths of the code and of what it is deflated to
//! (32 bits each), and that. Without `ptxas` it is empty.

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

/// What a file holds, in its order; what is cut off is left out.
pub fn list(file: &[u8]) -> impl Iterator<Item = Cubin<'_>> {
    let mut rest = file;
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

    #[test]
    fn files_hold_code_by_gpu() {
        let mut file = vec![];
        assert!(list(&file).next().is_none());
        let made = [(7, 5, 300, &b"seven"[..]), (8, 0, 70_000, b""), (8, 6, 9, b"eight"), (9, 0, 1, b"n")]
            .map(|(major, minor, len, deflated)| Cubin { capability: (major, minor), len, deflated });
        made.iter().for_each(|cubin| push(&mut file, cubin));
        assert!(list(&file).eq(made));
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
        // A file that was cut holds what is whole.
        assert_eq!((list(&file[..file.len() - 1]).count(), list(&file[..9]).count()), (3, 0));
    }

    /// Where the build found an assembler; `POINTMILL_PTXAS` names one, and then all must be there.
    #[cfg(feature = "cubin")]
    #[test]
    fn code_is_whole_for_each_gpu() {
        let wanted = option_env!("POINTMILL_PTXAS").is_some_and(|path| !path.is_empty());
        for module in &crate::MODULES {
            let gpus: Vec<_> = list(module.cubins).map(|cubin| cubin.capability).collect();
            assert!(!wanted || (gpus.contains(&(8, 0)) && gpus.contains(&(9, 0))), "{}: {gpus:?}", module.folder);
            for gpu in gpus {
                let code = module.machine_code(gpu).unwrap();
                assert!(code.starts_with(b"\x7fELF"), "{} for {gpu:?}", module.folder);
                let named = |kernel: &str| code.windows(kernel.len()).any(|bytes| bytes == kernel.as_bytes());
                assert!(module.kernels.iter().all(|kernel| named(kernel.name)), "{} for {gpu:?}", module.folder);
                let cut = Cubin { len: 100, ..fitting(module.cubins, gpu).unwrap() };
                assert_eq!(cut.code(), None);
            }
            assert_eq!(module.machine_code((7, 0)), None);
        }
    }
}
