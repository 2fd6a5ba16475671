//! Kernels by operator: what is loaded together.

#[cfg(not(target_arch = "nvptx64"))]
use crate::{kernel::PREFIXES, properties::Properties};

/// The kernels of an operator, or those that operators share. A GPU loads the machine code of a
/// module when the first of its kernels is launched, and of PTX each kernel when it is launched.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// The folder of the sources.
    pub folder: &'static str,
    text: fn() -> &'static str,
    /// Machine code of the same text for certain GPUs, as the module `cubin` reads it; empty
    /// without the feature `cubin`, and where the build found no assembler.
    pub cubins: &'static [u8],
    /// Each entry of the text.
    pub kernels: &'static [Properties],
}

#[cfg(not(target_arch = "nvptx64"))]
impl Module {
    /// PTX text for compute capability 7.0 and later; the driver translates it for the GPU at hand.
    /// With the feature `cubin` it is embedded packed, and unpacked the first time.
    pub fn ptx(&self) -> &'static str {
        (self.text)()
    }

    /// The PTX text of one kernel: the head of the module's text, and that kernel. The driver
    /// translates it in the time of one kernel, where a first call would wait for all.
    pub fn ptx_of(&self, kernel: &str) -> Option<String> {
        /// The comment before each kernel.
        const BEFORE: &str = "\t// .globl\t";
        let mut parts = self.ptx().split(BEFORE);
        let head = parts.next()?;
        let body = parts.find(|part| part.split_once('\n').is_some_and(|(name, _)| name == kernel))?;
        Some([head, BEFORE, body].concat())
    }

    /// The PTX text of one kernel for a GPU of this compute capability: where the GPU can, it waits
    /// for the one before itself.
    pub fn text_for(&self, kernel: &str, capability: (u8, u8)) -> Option<String> {
        self.ptx_of(kernel).map(|ptx| crate::dependent::text_for(&ptx, capability).into_owned())
    }

    /// Machine code for a GPU of this compute capability; none where none is embedded, or none
    /// fits.
    #[cfg(feature = "cubin")]
    pub fn machine_code(&self, capability: (u8, u8)) -> Option<Vec<u8>> {
        crate::cubin::fitting(self.cubins, capability)?.code()
    }

    /// Nothing: without the feature `cubin` no machine code is embedded.
    #[cfg(not(feature = "cubin"))]
    pub const fn machine_code(&self, _capability: (u8, u8)) -> Option<Vec<u8>> {
        None
    }
}

/// The module of a folder.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! module {
    ($folder:literal, $operator:ident) => {{
        #[cfg(feature = "cubin")]
        fn text() -> &'static str {
            static TEXT: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
                crate::cubin::text(include_bytes!(concat!(env!("OUT_DIR"), "/", $folder, ".ptx.lzma")))
            });
            &TEXT
        }
        #[cfg(not(feature = "cubin"))]
        const fn text() -> &'static str {
            include_str!(concat!($folder, "/kernels.ptx"))
        }
        #[cfg(feature = "cubin")]
        const CUBINS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/", $folder, ".cubins"));
        #[cfg(not(feature = "cubin"))]
        const CUBINS: &[u8] = &[];
        Module { folder: $folder, text, cubins: CUBINS, kernels: crate::$operator::KERNELS }
    }};
}

/// All modules.
#[cfg(not(target_arch = "nvptx64"))]
pub const MODULES: [Module; PREFIXES.len()] = [
    module!("prim", prim),
    module!("voxelize", voxelize),
    module!("roi_pool", roi_pool),
    module!("ndt", ndt),
    module!("icp", icp),
    module!("odometry", odometry),
    module!("boxes", boxes),
    module!("sparse", sparse),
    module!("registration", registration),
    module!("scatter", scatter),
    module!("points", points),
];

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;
    use crate::kernel::module_of;

    /// A kernel that stands in no list would be missing on a GPU only.
    #[test]
    fn lists_name_the_entries_of_the_text() {
        for (index, module) in MODULES.iter().enumerate() {
            let entries =
                module.ptx().lines().filter_map(|line| line.strip_prefix(".visible .entry ")?.split('(').next());
            let mut entries: Vec<_> = entries.collect();
            let mut listed: Vec<_> = module.kernels.iter().map(|k| k.name).collect();
            entries.sort_unstable();
            listed.sort_unstable();
            assert_eq!(entries, listed, "{}", module.folder);
            assert!(listed.iter().all(|name| module_of(name) == index), "{}", module.folder);
        }
    }

    #[test]
    fn texts_are_those_that_are_committed() {
        for module in &MODULES {
            let path = format!("{}/src/{}/kernels.ptx", env!("CARGO_MANIFEST_DIR"), module.folder);
            assert!(std::fs::read_to_string(path).unwrap() == module.ptx(), "{}", module.folder);
        }
    }

    /// A kernel that called a function, or used a variable, of another would not load alone.
    #[test]
    fn each_kernel_is_a_text_by_itself() {
        for module in &MODULES {
            let (head, _) = module.ptx().split_once("\t// .globl").unwrap();
            assert!(!module.ptx().contains(".func"), "{}", module.folder);
            let declares = |line: &str| [".global ", ".const ", ".shared "].iter().any(|kind| line.starts_with(kind));
            let mut whole = head.to_owned();
            for kernel in module.ptx().split("\t// .globl\t").skip(1).map(|part| part.lines().next().unwrap()) {
                let text = module.ptx_of(kernel).unwrap();
                let body = text.strip_prefix(head).unwrap();
                assert_eq!(text.matches(".visible .entry ").count(), 1);
                assert!(
                    body.contains(&format!(".visible .entry {kernel}(")) && !body.lines().any(declares),
                    "{kernel}"
                );
                whole += body;
            }
            assert_eq!(whole, module.ptx());
            assert_eq!(module.ptx_of("voxelize_no_such_kernel"), None);
        }
    }
}
