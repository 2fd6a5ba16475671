//! Points of an argument, in either precision and about an origin.

use crate::arrays::{Array, Data, Dtype, Place};
use crate::errors::value;
use crate::poses;
use pointmill::{Device, Result, Rows, Stream};
use pyo3::prelude::*;

/// Points `[N, 3 or more]`.
pub(crate) struct Cloud<'py> {
    pub(crate) array: Array<'py>,
    origin: Option<[f64; 3]>,
}

/// The values of a cloud.
pub(crate) struct CloudData {
    data: Data,
    columns: usize,
    origin: Option<[f64; 3]>,
}

impl<'py> Cloud<'py> {
    pub(crate) fn read(
        object: &Bound<'py, PyAny>,
        name: &'static str,
        origin: Option<&Bound<'py, PyAny>>,
        origin_name: &'static str,
    ) -> PyResult<Self> {
        let array = Array::read(object, name)?.without_grad()?.of(&[Dtype::F32, Dtype::F64])?;
        let array = array.shaped(&[None, None], "[N, 3]")?;
        if array.shape()[1] < 3 {
            return Err(value(name, "3 or more columns (x, y, z first)", array.shape()[1]));
        }
        Ok(Self { array, origin: poses::origin(origin, origin_name)? })
    }

    pub(crate) fn len(&self) -> usize {
        self.array.shape()[0]
    }

    pub(crate) fn place(&self) -> Place {
        self.array.place()
    }

    /// Refuses a cloud that lies elsewhere than `what` does.
    pub(crate) fn on(self, place: Place, what: &str, name: &'static str) -> PyResult<Self> {
        let same = match (place, self.place()) {
            (Place::Cuda { index: a, .. }, Place::Cuda { index: b, .. }) => a == b,
            (a, b) => a == b,
        };
        if same {
            return Ok(self);
        }
        let expected = format!("an array on {place}, as {what}");
        Err(value(name, expected, format_args!("one on {}", self.place())))
    }

    /// The values, for work on a stream.
    pub(crate) fn data(&self, stream: &Stream) -> PyResult<CloudData> {
        Ok(CloudData { data: self.array.data(stream)?, columns: self.array.shape()[1], origin: self.origin })
    }
}

impl CloudData {
    pub(crate) fn rows(&self) -> Result<Rows<'_>> {
        let rows = self.data.rows(self.columns)?;
        self.origin.map_or(Ok(rows), |origin| rows.about(origin))
    }
}

/// A stream of an object's own, which may outlive the stream of its points.
pub(crate) fn own_stream(place: Place) -> Result<Stream> {
    match place {
        Place::Cpu => Device::cpu().stream(),
        Place::Cuda { index, .. } => Device::cuda(index)?.stream(),
    }
}
