//! Memory of somebody else as arguments of a call.

use crate::device::{Buffer, Stream};
use crate::{Argument, Dtype, Error, Ints, Result, Rows, bf16, ensure, f16, memory};
use bytemuck::Pod;

/// Rows of values somewhere: what a binding knows of an array that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRows {
    /// Where the first value is.
    pub address: usize,
    /// The type of the values.
    pub dtype: Dtype,
    /// The number of rows.
    pub rows: usize,
    /// The number of values in a row.
    pub columns: usize,
    /// Bytes from one row to the next.
    pub stride: usize,
    /// Whether the values are in memory of the GPU of the stream.
    pub on_device: bool,
}

/// Rows that were lent to a call.
#[derive(Debug)]
pub struct Lent {
    memory: Memory,
    dtype: Dtype,
    rows: usize,
    columns: usize,
}

#[derive(Debug)]
enum Memory {
    /// So many values on the host; those of rows with gaps are in `_packed`.
    Host {
        address: usize,
        len: usize,
        _packed: Vec<u64>,
    },
    F16(Buffer<f16>),
    Bf16(Buffer<bf16>),
    F32(Buffer<f32>),
    F64(Buffer<f64>),
    I32(Buffer<i32>),
    I64(Buffer<i64>),
}

impl RawRows {
    /// Rows without gaps between them.
    pub const fn packed(address: usize, dtype: Dtype, rows: usize, columns: usize, on_device: bool) -> Self {
        Self { address, dtype, rows, columns, stride: columns.saturating_mul(dtype.bytes()), on_device }
    }

    /// The values, used in place. Rows of the host with gaps between them are copied once.
    ///
    /// ```
    /// use pointmill::interop::RawRows;
    /// use pointmill::{Argument, Device, Dtype};
    /// let values = [1.0f32, 2.0, 3.0, 9.0, 4.0, 5.0, 6.0, 9.0];
    /// let raw = RawRows { stride: 16, ..RawRows::packed(values.as_ptr() as usize, Dtype::F32, 2, 3, false) };
    /// // SAFETY: the values are there as long as `lent`.
    /// let lent = unsafe { raw.lend(Argument::Points, &Device::cpu().stream()?) }?;
    /// assert_eq!(lent.host::<f32>(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    ///
    /// # Safety
    /// So many values of this type are at the address, for as long as the result lives, and on a
    /// device until the work that is queued with it is done. Nobody writes to them meanwhile, unless
    /// in the order of the stream.
    ///
    /// # Errors
    /// Null where there are values, an address that is not aligned, rows that overlap or do not fit
    /// in memory, rows with gaps on a device, a type that no operator takes there; out of memory.
    pub unsafe fn lend(self, argument: Argument, stream: &Stream) -> Result<Lent> {
        let Self { address, dtype, rows, columns, stride, on_device } = self;
        let row = columns.saturating_mul(dtype.bytes());
        let all = rows.checked_mul(stride.max(row)).filter(|&bytes| isize::try_from(bytes).is_ok());
        let got = format_args!("{rows} rows of {columns}, {stride} bytes apart");
        ensure(all.is_some(), argument, "rows that fit in memory", got)?;
        let len = rows * columns;
        ensure(len == 0 || address != 0, argument, "an address of values", "null")?;
        let gaps = rows > 1 && len > 0 && stride != row;
        ensure(!gaps || stride > row, argument, format_args!("{row} bytes or more from row to row"), stride)?;
        if on_device {
            let expected = "rows without gaps in memory of a device";
            ensure(!gaps, argument, expected, format_args!("{stride} bytes from row to row, of {row}"))?;
        }
        if !gaps || on_device {
            let expected = format_args!("an address that is aligned for {dtype}");
            let aligned = len == 0 || address.is_multiple_of(dtype.bytes());
            ensure(aligned, argument, expected, format_args!("{address:#x}; pass a copy of the values"))?;
        }
        let memory = if on_device {
            let at = address as u64;
            // SAFETY: the caller's promise, of so many aligned values.
            unsafe {
                match dtype {
                    Dtype::F16 => Memory::F16(Buffer::from_raw_cuda(stream, at, len)?),
                    Dtype::Bf16 => Memory::Bf16(Buffer::from_raw_cuda(stream, at, len)?),
                    Dtype::F32 => Memory::F32(Buffer::from_raw_cuda(stream, at, len)?),
                    Dtype::F64 => Memory::F64(Buffer::from_raw_cuda(stream, at, len)?),
                    Dtype::I32 => Memory::I32(Buffer::from_raw_cuda(stream, at, len)?),
                    Dtype::I64 => Memory::I64(Buffer::from_raw_cuda(stream, at, len)?),
                    other => {
                        let expected = "values of type f32, f16, bf16, f64, i32 or i64 on a device";
                        return Err(Error::argument(argument, expected, other));
                    }
                }
            }
        } else if gaps {
            // SAFETY: the caller's promise, of so many rows.
            let packed = unsafe { gathered(address, rows, row, stride) }?;
            Memory::Host { address: packed.as_ptr() as usize, len, _packed: packed }
        } else {
            Memory::Host { address, len, _packed: Vec::new() }
        };
        Ok(Lent { memory, dtype, rows, columns })
    }
}

/// Rows of the host without the gaps between them.
///
/// # Safety
/// There are so many rows of so many bytes, so many bytes apart.
unsafe fn gathered(address: usize, rows: usize, row: usize, stride: usize) -> Result<Vec<u64>> {
    let mut packed = memory::filled((rows * row).div_ceil(8), 0u64)?;
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut packed);
    for (i, to) in bytes.chunks_exact_mut(row).take(rows).enumerate() {
        // SAFETY: the caller's promise of row `i`; bytes have no alignment.
        to.copy_from_slice(unsafe { std::slice::from_raw_parts((address + i * stride) as *const u8, row) });
    }
    Ok(packed)
}

impl Lent {
    /// The values of the host; none of a device, and none of another type.
    pub fn host<T: Pod>(&self) -> &[T] {
        match self.memory {
            Memory::Host { address, len, .. } if len > 0 && size_of::<T>() == self.dtype.bytes() => {
                // SAFETY: who lent them promised that so many values are there while this lives;
                // type and alignment were checked.
                unsafe { std::slice::from_raw_parts(address as *const T, len) }
            }
            _ => &[],
        }
    }

    /// A buffer over the values of a device, for as long as they are lent; none of the host, and none
    /// of another size.
    ///
    /// # Errors
    /// A stream of another device.
    pub fn device<T: Pod>(&self, stream: &Stream) -> Result<Option<Buffer<T>>> {
        let (address, len) = match &self.memory {
            Memory::Host { .. } => return Ok(None),
            Memory::F16(b) => (b.device_pointer(), b.len()),
            Memory::Bf16(b) => (b.device_pointer(), b.len()),
            Memory::F32(b) => (b.device_pointer(), b.len()),
            Memory::F64(b) => (b.device_pointer(), b.len()),
            Memory::I32(b) => (b.device_pointer(), b.len()),
            Memory::I64(b) => (b.device_pointer(), b.len()),
        };
        if size_of::<T>() != self.dtype.bytes() {
            return Ok(None);
        }
        // SAFETY: these values, of which the promise is that they are there.
        unsafe { Buffer::from_raw_cuda(stream, address, len) }.map(Some)
    }

    /// The rows as operators take them.
    ///
    /// # Errors
    /// A type that rows do not have, no columns.
    pub fn rows(&self) -> Result<Rows<'_>> {
        self.rows_of(self.columns)
    }

    /// The values in rows of so many.
    ///
    /// # Errors
    /// As [`Lent::rows`]; values that are no whole rows.
    pub fn rows_of(&self, columns: usize) -> Result<Rows<'_>> {
        let rows = |len: usize| len / columns.max(1);
        match &self.memory {
            Memory::Host { .. } => match self.dtype {
                Dtype::F16 => Rows::new::<f16>(self.host(), columns),
                Dtype::Bf16 => Rows::new::<bf16>(self.host(), columns),
                Dtype::F32 => Rows::new::<f32>(self.host(), columns),
                Dtype::F64 => Rows::new::<f64>(self.host(), columns),
                other => Err(refused(other)),
            },
            Memory::F16(b) => Rows::on_device(b, rows(b.len()), columns),
            Memory::Bf16(b) => Rows::on_device(b, rows(b.len()), columns),
            Memory::F32(b) => Rows::on_device(b, rows(b.len()), columns),
            Memory::F64(b) => Rows::on_device(b, rows(b.len()), columns),
            Memory::I32(_) | Memory::I64(_) => Err(refused(self.dtype)),
        }
    }

    /// The values as whole numbers, in rows of as many as one of `widths` says. Of no rows the width
    /// does not matter.
    ///
    /// # Errors
    /// Values of another type than `i32`, rows of another width.
    pub fn ints(&self, argument: Argument, widths: &[usize]) -> Result<Ints<'_>> {
        if self.rows > 0 && !widths.contains(&self.columns) {
            let widths: Vec<_> = widths.iter().map(ToString::to_string).collect();
            let expected = format!("rows of {} values", widths.join(" or "));
            return Err(Error::argument(argument, expected, format_args!("shape {} x {}", self.rows, self.columns)));
        }
        self.whole(argument)
    }

    fn whole(&self, argument: Argument) -> Result<Ints<'_>> {
        match &self.memory {
            Memory::I32(buffer) => Ints::on_device(buffer, buffer.len()),
            _ => {
                ensure(self.dtype == Dtype::I32, argument, "values of type i32", self.dtype)?;
                Ok(self.host::<i32>().into())
            }
        }
    }

    /// A buffer of whole numbers: over those of the device, for as long as they are lent, or a copy
    /// of the host's.
    ///
    /// # Errors
    /// As [`Lent::ints`]; out of memory.
    pub fn ints_on(&self, stream: &Stream) -> Result<Buffer<i32>> {
        match &self.memory {
            // SAFETY: these values, of which the promise is that they are there.
            Memory::I32(b) => unsafe { Buffer::from_raw_cuda(stream, b.device_pointer(), b.len()) },
            _ => {
                self.whole(Argument::Values)?;
                stream.upload(self.host())
            }
        }
    }
}

fn refused(dtype: Dtype) -> Error {
    Error::argument(Argument::Values, "values of type f32, f64, f16 or bf16", dtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    fn lend(raw: RawRows) -> Result<Lent> {
        // SAFETY: what is not refused is read while the test holds it.
        unsafe { raw.lend(Argument::Points, &Device::cpu().stream()?) }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let values = [1.0f32, 2.0, 3.0, 4.0];
        let good = RawRows::packed(values.as_ptr() as usize, Dtype::F32, 2, 2, false);
        assert_eq!(lend(good).unwrap().host::<f32>(), values);
        let cases = [
            (RawRows { address: 0, ..good }, "an address of values, got null"),
            (RawRows { address: good.address + 1, ..good }, "aligned for f32"),
            (RawRows { rows: usize::MAX, ..good }, "rows that fit in memory"),
            (RawRows { stride: 4, ..good }, "8 bytes or more from row to row, got 4"),
            (RawRows { on_device: true, stride: 12, ..good }, "rows without gaps in memory of a device"),
            (RawRows { on_device: true, ..good }, "one of a GPU"),
        ];
        for (raw, expected) in cases {
            let said = lend(raw).unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
        assert!(lend(RawRows { address: 0, rows: 0, ..good }).unwrap().rows().unwrap().is_empty());
        assert!(lend(RawRows { dtype: Dtype::U8, ..good }).unwrap().rows().is_err());
        assert!(lend(good).unwrap().ints(Argument::Coords, &[2]).is_err());
        let numbers = RawRows { dtype: Dtype::I32, ..good };
        assert!(lend(numbers).unwrap().ints(Argument::Coords, &[2]).is_ok());
        let said = lend(numbers).unwrap().ints(Argument::Coords, &[3, 4]).unwrap_err().to_string();
        assert_eq!(said, "coords: expected rows of 3 or 4 values, got shape 2 x 2");
        assert!(lend(RawRows { rows: 0, columns: 0, ..numbers }).unwrap().ints(Argument::Coords, &[3]).is_ok());
    }

    #[test]
    fn gaps_are_left_out_whatever_the_alignment() {
        let bytes: Vec<u8> = (0..31).collect();
        let raw = RawRows { stride: 9, ..RawRows::packed(bytes.as_ptr() as usize + 1, Dtype::I32, 3, 2, false) };
        let lent = lend(raw).unwrap();
        let read = bytemuck::cast_slice::<i32, u8>(lent.host::<i32>());
        assert_eq!(read, [&bytes[1..9], &bytes[10..18], &bytes[19..27]].concat());
    }
}
