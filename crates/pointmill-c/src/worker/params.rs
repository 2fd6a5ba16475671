//! Structs of parameters as C has them, by the lists of the library.

use crate::error::{Fault, Result};
use crate::handle::choice;
use pointmill::params::{Parameter, Params};
use pointmill::record::{Kind, Value};
use pointmill::worker::Worker;
use std::ffi::c_void;

/// Where each parameter is in its struct, and the size of that: `struct_size`, then the parameters in
/// their order, aligned as in C.
pub(crate) fn layout(parameters: &[Parameter]) -> (Vec<usize>, usize) {
    let mut end = size_of::<usize>();
    let mut place = |parameter: &Parameter| {
        let at = end.next_multiple_of(parameter.bytes);
        end = at + parameter.bytes * numbers(parameter.kind);
        at
    };
    let places = parameters.iter().map(&mut place).collect();
    (places, end.next_multiple_of(align_of::<usize>()))
}

/// How many numbers a parameter has.
pub(crate) fn numbers(kind: Kind) -> usize {
    match kind {
        Kind::Array(shape) => shape.iter().product(),
        Kind::Optional(kind) => numbers(*kind),
        _ => 1,
    }
}

/// Refuses a struct of another size.
fn check_struct<P: Params>(params: *const c_void, size: usize) -> Result<(Vec<usize>, usize)> {
    let (places, wanted) = layout(P::PARAMETERS);
    if !params.cast::<usize>().is_aligned() {
        return Err(Fault::new("params", "an address that is aligned for the struct", format_args!("{params:?}")));
    }
    if size != wanted {
        return Err(Fault::new("params", format_args!("struct_size of {wanted}"), size));
    }
    Ok((places, wanted))
}

pub(super) fn write_defaults<W: Worker>(params: *mut c_void, size: usize) -> Result<()> {
    if params.is_null() {
        return Err(Fault::new("params", "a struct", "null"));
    }
    let (places, size) = check_struct::<W::Params>(params, size)?;
    let (defaults, mut bytes) = (W::Params::default(), vec![0u8; size]);
    bytes[..size_of::<usize>()].copy_from_slice(&size.to_ne_bytes());
    for (at, (parameter, place)) in W::Params::PARAMETERS.iter().zip(places).enumerate() {
        let mut put = |i: usize, number: Number| {
            let number = if parameter.bytes == 4 { number.four().to_vec() } else { number.eight().to_vec() };
            bytes[place + i * parameter.bytes..][..parameter.bytes].copy_from_slice(&number);
        };
        match defaults.get(at) {
            Value::Integer(number) => put(0, Number::Whole(number)),
            Value::Bool(truth) => put(0, Number::Whole(u64::from(truth))),
            Value::Float(number) => put(0, Number::Float(number)),
            Value::Text(name) => {
                let Kind::Name(names) = parameter.kind else { unreachable!("text is the name of a choice") };
                put(0, Number::Whole(names.iter().position(|one| *one == name).unwrap_or(0) as u64));
            }
            Value::Array(numbers) => numbers.iter().enumerate().for_each(|(i, number)| put(i, Number::Float(*number))),
            _ if is_float(parameter.kind) => put(0, Number::Float(f64::NEG_INFINITY)),
            _ => {}
        }
    }
    // SAFETY: the caller's struct is there, aligned, and has as many bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), params.cast(), size) };
    Ok(())
}

/// The parameters of a struct; null stands for the defaults.
pub(super) fn params_at<P: Params>(params: *const c_void) -> Result<P> {
    let mut read = P::default();
    if params.is_null() {
        return Ok(read);
    }
    // SAFETY: a struct that is there begins with its size; an address that is none for that is refused.
    let size = if params.cast::<usize>().is_aligned() { unsafe { params.cast::<usize>().read() } } else { 0 };
    let (places, _) = check_struct::<P>(params, size)?;
    for (at, (parameter, place)) in P::PARAMETERS.iter().zip(places).enumerate() {
        let number = |i: usize| {
            let from = params.wrapping_byte_add(place + i * parameter.bytes);
            // SAFETY: the struct has as many bytes, and each number is aligned in it.
            unsafe {
                if parameter.bytes == 4 {
                    (from.cast::<u32>().read().into(), f64::from(from.cast::<f32>().read()))
                } else {
                    (from.cast::<u64>().read(), from.cast::<f64>().read())
                }
            }
        };
        let value = value_of(parameter, parameter.kind, &number)?;
        if !read.set(at, &value) {
            return Err(Fault::new(parameter.name, "a value of its type", value));
        }
    }
    Ok(read)
}

/// The value of a parameter whose numbers are read as whole ones and as fractions. Without an optional
/// one there is 0, or minus infinity.
fn value_of(parameter: &Parameter, kind: Kind, number: &dyn Fn(usize) -> (u64, f64)) -> Result<Value<'static>> {
    Ok(match kind {
        Kind::Optional(Kind::Float) if number(0).1 == f64::NEG_INFINITY => Value::None,
        Kind::Optional(Kind::Integer) if number(0).0 == 0 => Value::None,
        Kind::Optional(kind) => value_of(parameter, *kind, number)?,
        Kind::Integer => Value::Integer(number(0).0),
        Kind::Bool => Value::Bool(number(0).0 != 0),
        Kind::Float => Value::Float(number(0).1),
        Kind::Array(_) => Value::Array((0..numbers(kind)).map(|i| number(i).1).collect()),
        Kind::Name(names) => Value::Text(choice(names, number(0).0 as u32, parameter.name)?),
        _ => unreachable!("parameters are numbers, names and truths"),
    })
}

fn is_float(kind: Kind) -> bool {
    matches!(kind, Kind::Float | Kind::Optional(Kind::Float))
}

/// A number as its bytes.
#[derive(Clone, Copy)]
enum Number {
    Whole(u64),
    Float(f64),
}

impl Number {
    fn four(self) -> [u8; 4] {
        match self {
            Self::Whole(number) => (number as u32).to_ne_bytes(),
            Self::Float(number) => (number as f32).to_ne_bytes(),
        }
    }

    fn eight(self) -> [u8; 8] {
        match self {
            Self::Whole(number) => number.to_ne_bytes(),
            Self::Float(number) => number.to_ne_bytes(),
        }
    }
}
