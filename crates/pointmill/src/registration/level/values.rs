//! The values of a target, on the host or on a device.

use super::device_field::DeviceField;
use super::field::{Cubes, Field};
use crate::{Device, Error, Result};
use pointmill_core::ndt::LevelCell;

/// The values of a target.
#[derive(Debug)]
pub(super) enum Values {
    Host(Field),
    Device(DeviceField),
}

impl Values {
    /// On the device of the cells; on the host where that has no memory for them.
    pub(super) fn new(cells: &[LevelCell], cubes: Cubes, device: &Device) -> Result<Self> {
        if !device.is_cpu() {
            match DeviceField::new(&device.stream()?, cells, cubes) {
                Err(Error::OutOfMemory { .. }) => {}
                made => return made.map(Self::Device),
            }
        }
        Field::new(cells, cubes).map(Self::Host)
    }
}
