//! Kernels by operator: what is loaded together.

#[cfg(not(target_arch = "nvptx64"))]
use crate::{kernel::PREFIXES, properties::Properties};

/// The kernels of an operator, or those that operators share. A GPU loads a module when the first of its kernels is launched.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// The folder of the sources.
    pub folder: &'static str,
    /// PTX text for compute capability 7.0 and later; the driver translates it for the GPU at hand.
    pub ptx: &'static str,
    /// Each entry of the text.
    pub kernels: &'static [Properties],
}

/// All modules.
#[cfg(not(target_arch = "nvptx64"))]
pub const MODULES: [Module; PREFIXES.len()] = [
    Module { folder: "prim", ptx: include_str!("prim/kernels.ptx"), kernels: crate::prim::KERNELS },
    Module { folder: "voxelize", ptx: include_str!("voxelize/kernels.ptx"), kernels: crate::voxelize::KERNELS },
    Module { folder: "roi_pool", ptx: include_str!("roi_pool/kernels.ptx"), kernels: crate::roi_pool::KERNELS },
    Module { folder: "ndt", ptx: include_str!("ndt/kernels.ptx"), kernels: crate::ndt::KERNELS },
    Module { folder: "icp", ptx: include_str!("icp/kernels.ptx"), kernels: crate::icp::KERNELS },
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
                module.ptx.lines().filter_map(|line| line.strip_prefix(".visible .entry ")?.split('(').next());
            let mut entries: Vec<_> = entries.collect();
            let mut listed: Vec<_> = module.kernels.iter().map(|k| k.name).collect();
            entries.sort_unstable();
            listed.sort_unstable();
            assert_eq!(entries, listed, "{}", module.folder);
            assert!(listed.iter().all(|name| module_of(name) == index), "{}", module.folder);
        }
    }
}
