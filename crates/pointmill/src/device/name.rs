//! Devices by name.

use super::Device;
use crate::{Argument, Error, Result};
use std::str::FromStr;

/// A name as commands and configuration files have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Auto,
    Cpu,
    Cuda(usize),
}

fn parse(name: &str) -> Option<Name> {
    match name {
        "auto" => Some(Name::Auto),
        "cpu" => Some(Name::Cpu),
        "cuda" => Some(Name::Cuda(0)),
        _ => {
            let digits = name.strip_prefix("cuda:")?;
            // A sign is no digit, though numbers may have one.
            digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?.map(Name::Cuda)
        }
    }
}

impl Device {
    /// Checks the name of a device without opening it.
    ///
    /// # Errors
    /// A name that no device has.
    ///
    /// ```
    /// use pointmill::Device;
    /// assert!(Device::check_name("cuda:99").is_ok());
    /// assert!(Device::check_name("gpu").is_err());
    /// ```
    pub fn check_name(name: &str) -> Result<()> {
        parse_name(name).map(drop)
    }
}

fn parse_name(name: &str) -> Result<Name> {
    let got = if name.is_empty() { "nothing" } else { name };
    parse(name).ok_or_else(|| Error::argument(Argument::Device, "auto, cpu, cuda or cuda:N with N = 0, 1, ...", got))
}

/// Opens the device of that name: `auto`, `cpu`, `cuda` for the first GPU, or `cuda:N`.
///
/// ```
/// use pointmill::Device;
/// assert!("cpu".parse::<Device>()?.is_cpu());
/// let refused = "gpu".parse::<Device>().unwrap_err();
/// assert_eq!(refused.to_string(), "device: expected auto, cpu, cuda or cuda:N with N = 0, 1, ..., got gpu");
/// # Ok::<(), pointmill::Error>(())
/// ```
impl FromStr for Device {
    type Err = Error;

    /// # Errors
    /// Another name, or a GPU that does not answer.
    fn from_str(name: &str) -> Result<Self> {
        match parse_name(name)? {
            Name::Auto => Ok(Self::auto()),
            Name::Cpu => Ok(Self::cpu()),
            Name::Cuda(index) => Self::cuda(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_to_the_letter() {
        assert_eq!(parse("cuda"), parse("cuda:0"));
        assert_eq!(parse("cuda:12"), Some(Name::Cuda(12)));
        for bad in ["", "gpu", "CUDA", "cuda:", "cuda:+1", "cuda:-1", "cuda:1 ", "cuda:99999999999999999999999"] {
            assert!(parse(bad).is_none() && bad.parse::<Device>().is_err(), "{bad}");
        }
    }
}
