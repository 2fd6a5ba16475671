//! Arrays in memory of the caller and of results.

use crate::error::{Fault, Result};
use crate::handle::{given, structs, text};
use pointmill::interop::{ArrayName, ArraySpec, DeviceArrays, Lent, RawRows};
use pointmill::{AnyBuffer, Argument, ArrayView, Buffer, Dtype, NamedArrays, Stream, Values};
use std::ffi::{c_char, c_void};

/// The type of values. The first eight are those of `sensor_msgs/PointField`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum pointmill_type {
    POINTMILL_I8 = 1,
    POINTMILL_U8 = 2,
    POINTMILL_I16 = 3,
    POINTMILL_U16 = 4,
    POINTMILL_I32 = 5,
    POINTMILL_U32 = 6,
    POINTMILL_F32 = 7,
    POINTMILL_F64 = 8,
    POINTMILL_F16 = 9,
    POINTMILL_BF16 = 10,
    POINTMILL_I64 = 11,
    POINTMILL_U64 = 12,
    POINTMILL_BOOL = 13,
}

/// The types by number, from 1 on.
pub(crate) const TYPES: [Dtype; 13] = [
    Dtype::I8,
    Dtype::U8,
    Dtype::I16,
    Dtype::U16,
    Dtype::I32,
    Dtype::U32,
    Dtype::F32,
    Dtype::F64,
    Dtype::F16,
    Dtype::Bf16,
    Dtype::I64,
    Dtype::U64,
    Dtype::Bool,
];

pub(crate) fn dtype(number: u32) -> Result<Dtype> {
    let known = TYPES.get((number as usize).wrapping_sub(1)).copied();
    known.ok_or_else(|| Fault::new("type", "a pointmill_type, 1 to 13", number))
}

pub(crate) fn type_number(dtype: Dtype) -> u32 {
    TYPES.iter().position(|one| *one == dtype).map_or(0, |i| i as u32 + 1)
}

/// Where memory is.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum pointmill_place {
    /// Memory of the host.
    POINTMILL_HOST = 0,
    /// Memory of the GPU of the stream that the call works on.
    POINTMILL_DEVICE_MEMORY = 1,
}

/// Rows of values. In an argument they are used where they are; those of the host are copied to a
/// GPU that works on them.
///
/// For a result `data` is memory for `rows` times `columns` values of the type; what the call has
/// written stands in `rows` and `columns` afterwards. Where `data` is null, the array becomes a view
/// of the result's own memory, valid until the handle is used again. A result is that of the last call;
/// before the first call, and after a call that failed, there is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_array {
    /// sizeof(pointmill_array)
    pub struct_size: usize,
    /// The first value.
    pub data: *mut c_void,
    /// The number of rows.
    pub rows: u64,
    /// The number of values in a row.
    pub columns: u64,
    /// Bytes from one row to the next; 0 for rows without gaps.
    pub stride: u64,
    /// A pointmill_type.
    pub r#type: u32,
    /// A pointmill_place.
    pub place: u32,
}
structs!(pointmill_array);

impl pointmill_array {
    /// An array of nothing, to be filled with a view.
    pub const fn new() -> Self {
        Self {
            struct_size: size_of::<Self>(),
            data: std::ptr::null_mut(),
            rows: 0,
            columns: 0,
            stride: 0,
            r#type: 0,
            place: 0,
        }
    }
}

impl Default for pointmill_array {
    fn default() -> Self {
        Self::new()
    }
}

fn on_device(place: u32) -> Result<bool> {
    let known = [false, true].get(place as usize).copied();
    known.ok_or_else(|| Fault::new("place", "a pointmill_place, 0 or 1", place))
}

/// The type and the place of the values of an argument.
fn kind(array: &pointmill_array, argument: &str) -> Result<(Dtype, bool)> {
    let kind = || Ok((dtype(array.r#type)?, on_device(array.place)?));
    kind().map_err(|fault: Fault| fault.about(argument))
}

/// The values of an argument, for the time of the call on this stream.
pub(crate) fn lent(array: *const pointmill_array, argument: Argument, stream: &Stream) -> Result<Lent> {
    let array = given(array).map_err(|fault| fault.about(argument.as_str()))?;
    let (dtype, on_device) = kind(&array, argument.as_str())?;
    let (rows, columns) = (array.rows as usize, array.columns as usize);
    let packed = RawRows::packed(array.data as usize, dtype, rows, columns, on_device);
    let stride = if array.stride == 0 { packed.stride } else { array.stride as usize };
    // SAFETY: the caller's promise of what the array says, until the queued work is done.
    Ok(unsafe { RawRows { stride, ..packed }.lend(argument, stream) }?)
}

/// The same of an argument that may be null.
pub(crate) fn lent_or_none(array: *const pointmill_array, argument: Argument, stream: &Stream) -> Result<Option<Lent>> {
    if array.is_null() { Ok(None) } else { lent(array, argument, stream).map(Some) }
}

/// A number that only the device knows: a buffer of its word. Null is none.
pub(crate) fn counted(count: *const pointmill_array, stream: &Stream) -> Result<Option<Buffer<u32>>> {
    if count.is_null() {
        return Ok(None);
    }
    let array = given(count).map_err(|fault| fault.about("count"))?;
    let (words, (dtype, on_device)) = (array.rows.saturating_mul(array.columns), kind(&array, "count")?);
    if dtype != Dtype::U32 || words == 0 || array.data.is_null() || !array.data.cast::<u32>().is_aligned() {
        return Err(Fault::new("count", "a u32 or more", format_args!("{words} values at {:?}", array.data)));
    }
    if on_device {
        // SAFETY: the caller's promise of a word there.
        return Ok(Some(unsafe { Buffer::from_raw_cuda(stream, array.data as u64, 1) }?));
    }
    // SAFETY: as above.
    Ok(Some(stream.upload(&[unsafe { array.data.cast::<u32>().read() }])?))
}

/// An array with its name.
pub(crate) type Named = (&'static str, View);

/// An array of a result, in its own memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    address: u64,
    dtype: Dtype,
    rows: usize,
    columns: usize,
}

/// A type of arrays of results.
pub(crate) trait Number: bytemuck::Pod {
    const DTYPE: Dtype;
}
impl Number for f32 {
    const DTYPE: Dtype = Dtype::F32;
}
impl Number for f64 {
    const DTYPE: Dtype = Dtype::F64;
}
impl Number for i32 {
    const DTYPE: Dtype = Dtype::I32;
}
impl Number for u32 {
    const DTYPE: Dtype = Dtype::U32;
}
impl Number for i64 {
    const DTYPE: Dtype = Dtype::I64;
}
impl Number for u64 {
    const DTYPE: Dtype = Dtype::U64;
}

impl View {
    /// An array of a buffer, none of more values than the buffer has.
    pub(crate) fn new<T: Number>(buffer: &Buffer<T>, rows: usize, columns: usize) -> Result<Self> {
        fits(rows, columns, buffer.len())?;
        Ok(Self { address: buffer.device_pointer(), dtype: T::DTYPE, rows, columns })
    }

    /// The arrays of a result, and counters beside them.
    pub(crate) fn of<R: DeviceArrays>(result: &R, counters: &[(&'static str, &Buffer<u32>)]) -> Result<Vec<Named>> {
        let view = |spec: &ArraySpec<R::Array>| {
            let [rows, ref rest @ ..] = *spec.shape else { unreachable!("arrays have an axis") };
            let (columns, (address, len)) = (rest.iter().product(), result.memory(spec.array));
            fits(rows, columns, len)?;
            Ok((spec.array.name(), Self { address, dtype: spec.dtype, rows, columns }))
        };
        let counter = |(name, words): &(_, &Buffer<u32>)| Ok((*name, Self::new(words, 1, words.len())?));
        result.bounds().iter().map(view).chain(counters.iter().map(counter)).collect()
    }

    pub(crate) fn any(buffer: &AnyBuffer, shape: &[usize]) -> Result<Self> {
        let [rows, ref rest @ ..] = *shape else { unreachable!("arrays have an axis") };
        let columns = rest.iter().product();
        fits(rows, columns, buffer.len())?;
        Ok(Self { address: buffer.device_pointer(), dtype: buffer.dtype(), rows, columns })
    }

    /// Rows on the host.
    pub(crate) fn rows<T: Number, const C: usize>(rows: &[[T; C]]) -> Self {
        Self::of_values(rows.as_flattened(), C)
    }

    /// Values of rows of so many columns, on the host.
    pub(crate) fn of_values<T: Number>(values: &[T], columns: usize) -> Self {
        Self { address: values.as_ptr() as u64, dtype: T::DTYPE, rows: values.len() / columns.max(1), columns }
    }

    pub(crate) const fn words(address: u64, columns: usize) -> Self {
        Self { address, dtype: Dtype::U32, rows: 1, columns }
    }

    fn host(view: &ArrayView<'_>) -> Self {
        let [rows, rest @ ..] = view.shape() else { unreachable!("arrays have an axis") };
        let address = match view.values() {
            Values::F32(v) => v.as_ptr() as u64,
            Values::F64(v) => v.as_ptr() as u64,
            Values::F16(v) | Values::Bf16(v) | Values::U16(v) => v.as_ptr() as u64,
            Values::I8(v) => v.as_ptr() as u64,
            Values::I16(v) => v.as_ptr() as u64,
            Values::I32(v) => v.as_ptr() as u64,
            Values::I64(v) => v.as_ptr() as u64,
            Values::U8(v) => v.as_ptr() as u64,
            Values::U32(v) => v.as_ptr() as u64,
            Values::U64(v) => v.as_ptr() as u64,
            Values::Bool(v) => v.as_ptr() as u64,
        };
        Self { address, dtype: view.dtype(), rows: *rows, columns: rest.iter().product() }
    }
}

/// Refuses an array that would reach beyond the memory that it is of.
fn fits(rows: usize, columns: usize, len: usize) -> Result<()> {
    if rows.checked_mul(columns).is_some_and(|values| values <= len) {
        return Ok(());
    }
    Err(Fault::new("array", format_args!("a result of at most {len} values"), format_args!("{rows} x {columns}")))
}

/// Whether a handle has a result: that of its last call, unless that call failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// The function that makes results.
    call: &'static str,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    NotCalled,
    Failed,
    There,
}

impl Outcome {
    /// That of a new handle.
    pub(crate) const fn none(call: &'static str) -> Self {
        Self { call, state: State::NotCalled }
    }

    /// Keeps how a call went.
    pub(crate) fn of(&mut self, call: impl FnOnce() -> Result<()>) -> Result<()> {
        // A call that panics has failed too.
        self.state = State::Failed;
        call()?;
        self.state = State::There;
        Ok(())
    }

    /// Hands an array over as [`give`] does, where there is a result.
    pub(crate) fn give(
        &self,
        views: impl FnOnce() -> Result<Vec<Named>>,
        name: *const c_char,
        stream: &Stream,
        out: *mut pointmill_array,
    ) -> Result<()> {
        self.check(name)?;
        give(&views()?, name, stream, out)
    }

    /// Refuses to give an array of this name where there is no result.
    pub(crate) fn check(&self, name: *const c_char) -> Result<()> {
        let got = match self.state {
            State::There => return Ok(()),
            State::NotCalled => format!("none: call {} first", self.call),
            State::Failed => format!("none: the last call of {} failed", self.call),
        };
        let name = Some(text(name, "name")?).filter(|name| !name.is_empty());
        Err(Fault::new(name.unwrap_or("name"), "a result", got))
    }
}

/// The views of a result on the host.
pub(crate) fn host_views(arrays: &impl NamedArrays) -> Vec<Named> {
    arrays.arrays().iter().map(|(name, view)| (*name, View::host(view))).collect()
}

/// Hands an array of a result over: as a view, or copied to memory of the caller. `stream` is that of
/// the result, the CPU's for one on the host.
pub(crate) fn give(views: &[Named], name: *const c_char, stream: &Stream, out: *mut pointmill_array) -> Result<()> {
    let name = text(name, "name")?;
    let Some((_, view)) = views.iter().find(|(one, _)| *one == name) else {
        let names: Vec<_> = views.iter().map(|(name, _)| *name).collect();
        return Err(Fault::new("name", names.join(", "), format_args!("{name:?}")));
    };
    let mut array = given(out).map_err(|fault| fault.about("array"))?;
    let row = view.columns * view.dtype.bytes();
    let bytes = view.rows * row;
    if array.data.is_null() {
        array.data = view.address as *mut c_void;
        array.place = u32::from(!stream.device().is_cpu());
    } else {
        has_room(&array, view).map_err(|fault| fault.about(name))?;
        let on_device = on_device(array.place).map_err(|fault| fault.about(name))?;
        copy(view.address, bytes, array.data, on_device, stream)?;
    }
    array.r#type = type_number(view.dtype);
    (array.rows, array.columns, array.stride) = (view.rows as u64, view.columns as u64, row as u64);
    crate::handle::fill(out, array)
}

/// Refuses memory of the caller that an array does not fit in.
fn has_room(array: &pointmill_array, view: &View) -> Result<()> {
    let &View { dtype: of, rows, columns, .. } = view;
    let given = dtype(array.r#type)?;
    if given != of {
        return Err(Fault::new("array", format_args!("memory of type {of}, as the result has"), given));
    }
    let room = array.rows.saturating_mul(array.columns);
    if room < (rows * columns) as u64 {
        let expected = format_args!("memory for {rows} x {columns} values");
        return Err(Fault::new("array", expected, format_args!("{} x {}", array.rows, array.columns)));
    }
    let packed = array.columns.saturating_mul(of.bytes() as u64);
    if array.rows > 1 && array.stride != 0 && array.stride != packed {
        let expected = format_args!("rows without gaps, {packed} bytes apart, or a stride of 0");
        return Err(Fault::new("array", expected, format_args!("{} bytes", array.stride)));
    }
    if !(array.data as usize).is_multiple_of(of.bytes()) {
        let expected = format_args!("an address that is aligned for {of}");
        return Err(Fault::new("array", expected, format_args!("{:?}", array.data)));
    }
    Ok(())
}

/// Copies bytes of a result in the order of its stream. Only a copy from a GPU to the host waits.
fn copy(from: u64, bytes: usize, to: *mut c_void, to_device: bool, stream: &Stream) -> Result<()> {
    if to_device {
        // SAFETY: the caller's promise of so much memory there, until the copy is done.
        let mut to = unsafe { Buffer::<u8>::from_raw_cuda(stream, to as u64, bytes) }?;
        // SAFETY: the result has so many bytes, and its handle is there.
        let from = unsafe { Buffer::<u8>::from_raw_cuda(stream, from, bytes) }?;
        return Ok(to.copy_from(&from, bytes)?);
    }
    if bytes == 0 {
        return Ok(());
    }
    if stream.device().is_cpu() {
        // SAFETY: the result has so many bytes, and the caller's memory has room for them; it is not
        // the result's own, whose views the caller only reads.
        unsafe { std::ptr::copy(from as *const u8, to.cast(), bytes) };
        return Ok(());
    }
    // SAFETY: the caller's promise of so much memory.
    let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), bytes) };
    // SAFETY: as above.
    Ok(unsafe { Buffer::<u8>::from_raw_cuda(stream, from, bytes) }?.read_into(to)?)
}
