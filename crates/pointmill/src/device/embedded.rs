//! What the library carries for GPUs.

use super::processor::Device;
use pointmill_kernels::{MODULES, cubin};

/// The GPU kernels that the library carries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Embedded {
    /// The oldest GPU that the kernels are compiled for, as PTX names it; drivers translate them
    /// for newer ones.
    pub target: &'static str,
    /// The version of PTX.
    pub ptx_version: &'static str,
    /// The compute capabilities, major and minor, for which machine code stands beside the PTX:
    /// GPUs of these, and of a higher minor one, load it and wait for no compiler. Empty where
    /// the build found no assembler.
    pub machine_code: Vec<(u32, u32)>,
    /// The kernels by operator. A GPU loads each when it is launched first.
    pub modules: Vec<EmbeddedModule>,
}

/// The kernels of an operator, or those that operators share.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EmbeddedModule {
    /// The operator; `prim` is what operators share.
    pub name: &'static str,
    /// The number of kernels.
    pub kernels: usize,
    /// Bytes of PTX text, which the driver compiles at the first launch.
    pub bytes: usize,
}

impl Device {
    /// The kernels that the library carries for GPUs, whether there is a GPU or not. Modules come
    /// in the order in which the library lists them.
    ///
    /// ```
    /// let embedded = pointmill::Device::embedded();
    /// assert_eq!((embedded.target, embedded.ptx_version), ("sm_70", "7.8"));
    /// assert!(embedded.modules.iter().any(|module| module.name == "voxelize" && module.bytes > 0));
    /// ```
    pub fn embedded() -> Embedded {
        let of = |directive: &str| {
            let line = MODULES[0].ptx().lines().find_map(|line| line.strip_prefix(directive));
            line.map_or("", str::trim)
        };
        let modules = MODULES.iter().map(|module| EmbeddedModule {
            name: module.folder,
            kernels: module.kernels.len(),
            bytes: module.ptx().len(),
        });
        let capabilities = cubin::list(MODULES[0].cubins).map(|cubin| cubin.capability);
        let machine_code = capabilities.map(|(major, minor)| (major.into(), minor.into())).collect();
        Embedded { machine_code, target: of(".target "), ptx_version: of(".version "), modules: modules.collect() }
    }
}
