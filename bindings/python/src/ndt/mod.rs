//! Grids of normal distributions.

mod grid;
mod result;

pub(crate) use grid::NdtGrid;
pub(crate) use result::{NdtFit, NdtRegistration, NdtReport};

use crate::arrays::{Array, Data, Dtype};
use crate::errors::{Names, OrRaise, value};
use pointmill::Rows;
use pointmill::{Argument, Result, Stream};
use pyo3::prelude::*;

const NAMES: Names = &[(Argument::Matrix, "poses"), (Argument::Pose, "poses")];
/// Points of which a sum, or poses times points of which a score, takes a good part of a second on the CPU.
const LONG: usize = 1 << 21;

/// Points `[N, 3 or more]` of an argument, in either precision.
struct Cloud<'py> {
    array: Array<'py>,
    origin: Option<[f64; 3]>,
}

/// The values of a cloud.
struct CloudData {
    data: Data,
    columns: usize,
    origin: Option<[f64; 3]>,
}

impl<'py> Cloud<'py> {
    fn read(object: &Bound<'py, PyAny>, name: &'static str, origin: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        let array = Array::read(object, name)?.without_grad()?.of(&[Dtype::F32, Dtype::F64])?;
        let array = array.shaped(&[None, None], "[N, 3]")?;
        if array.shape()[1] < 3 {
            return Err(value(name, "3 or more columns (x, y, z first)", array.shape()[1]));
        }
        Ok(Self { array, origin: crate::poses::origin(origin)? })
    }

    fn len(&self) -> usize {
        self.array.shape()[0]
    }

    fn data(&self) -> PyResult<CloudData> {
        let stream: Stream = self.array.place().stream().or_raise(NAMES)?;
        Ok(CloudData { data: self.array.data(&stream)?, columns: self.array.shape()[1], origin: self.origin })
    }
}

impl CloudData {
    fn cloud(&self) -> Result<Rows<'_>> {
        let cloud = self.data.coordinates(self.columns)?;
        self.origin.map_or(Ok(cloud), |origin| cloud.about(origin))
    }
}
