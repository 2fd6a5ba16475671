//! Whole numbers of 32 or 64 bits as callers give them.

use super::{Array, Data, Dtype, Place, listed};
use crate::errors::value;
use pointmill::{Buffer, Result, Stream};
use pyo3::prelude::*;

/// Cells, items or counts of 32 or 64 bits.
pub(crate) struct Numbers<'py>(Array<'py>);

/// The same for work without the interpreter's lock.
pub(crate) enum Taken {
    Given(Data),
    Converted(Vec<i32>),
}

impl<'py> Numbers<'py> {
    pub(crate) fn new(
        object: &Bound<'py, PyAny>,
        name: &'static str,
        wanted: &[Option<usize>],
        text: &str,
    ) -> PyResult<Self> {
        let array = Array::read(&listed(object, name, "int64")?, name)?.whole()?.shaped(wanted, text)?;
        if *array.dtype() == Dtype::I64 && array.place() != Place::Cpu {
            // On a GPU the caller's library converts: nothing waits.
            let array = Array::read(&array.object().call_method0("int")?, name)?.of(&[Dtype::I32])?;
            return Ok(Self(array));
        }
        Ok(Self(array))
    }

    /// Refuses numbers that lie elsewhere than another array.
    pub(crate) fn beside(self, other: &Array<'_>) -> PyResult<Self> {
        Ok(Self(self.0.beside(other)?))
    }

    pub(crate) const fn array(&self) -> &Array<'py> {
        &self.0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.shape()[0]
    }

    /// One more than the largest number, 1 at least.
    pub(crate) fn items(&self) -> PyResult<usize> {
        if self.len() == 0 {
            return Ok(1);
        }
        let largest: i64 = self.0.object().call_method0("max")?.call_method0("__int__")?.extract()?;
        Ok(usize::try_from(largest).unwrap_or(0).saturating_add(1))
    }

    pub(crate) fn take(&self, stream: &Stream) -> PyResult<Taken> {
        let data = self.0.data(stream)?;
        if *self.0.dtype() == Dtype::I32 {
            return Ok(Taken::Given(data));
        }
        let columns = self.0.shape().iter().skip(1).product::<usize>().max(1);
        let expected = "numbers of 32 bits";
        let convert = |(i, &number): (usize, &i64)| {
            let got = || value(self.0.name(), expected, format_args!("{number} in row {}", i / columns));
            i32::try_from(number).map_err(|_| got())
        };
        data.on_host().iter().enumerate().map(convert).collect::<PyResult<_>>().map(Taken::Converted)
    }
}

impl Taken {
    pub(crate) fn buffer(&self, stream: &Stream) -> Result<Buffer<i32>> {
        match self {
            Self::Given(data) => data.whole_numbers(stream),
            Self::Converted(numbers) => stream.upload(numbers),
        }
    }
}
