//! Operators whose parameters, inputs and results are lists: one handle for all. Their structs and
//! functions in C, in `include/pointmill_workers.h`, are made of the same lists.

use crate::array::{Outcome, View, lent, pointmill_array};
use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{choice, create, destroy, list, some, structs, text};
use crate::stream::{of, pointmill_stream};
use pointmill::boxes::Suppressor;
use pointmill::downsample::Downsampler;
use pointmill::interop::DeviceArrays;
use pointmill::params::{Parameter, Params};
use pointmill::record::{Kind, Value};
use pointmill::worker::{InputKind, Inputs, Worker};
use pointmill::{Argument, Dtype, Stream};
use std::ffi::{c_char, c_void};

/// An input of a worker: its name, and the array.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_input {
    /// sizeof(pointmill_input)
    pub struct_size: usize,
    /// The name.
    pub name: *const c_char,
    /// The array; null where the input is left out.
    pub array: *const pointmill_array,
}
structs!(pointmill_input);

/// An operator that works call after call.
#[allow(missing_debug_implementations, reason = "workers of any kind have none")]
pub struct pointmill_worker(Box<dyn Operator>);

/// What the functions here do with a worker of any kind.
trait Operator: Send {
    fn run(&mut self, inputs: &[pointmill_input]) -> Result<()>;
    fn array(&self, name: *const c_char, array: *mut pointmill_array) -> Result<()>;
    fn check(&self) -> Result<()>;
}

/// A worker and its result.
struct Held<W: Worker> {
    stream: Stream,
    worker: W,
    out: W::Out,
    outcome: Outcome,
}

/// Gives the function for one operator by its name.
macro_rules! of_operator {
    ($name:expr, $function:ident($($argument:expr),*)) => {
        match text($name, "operator")? {
            Suppressor::NAME => $function::<Suppressor>($($argument),*),
            Downsampler::NAME => $function::<Downsampler>($($argument),*),
            other => {
                let known = [Suppressor::NAME, Downsampler::NAME].join(", ");
                Err(Fault::new("operator", known, other))
            }
        }
    };
}

/// Fills the parameters of an operator, a struct of `size` bytes, with the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_worker_defaults(
    operator: *const c_char,
    params: *mut c_void,
    size: usize,
) -> pointmill_status {
    guard(|| of_operator!(operator, write_defaults(params, size)))
}

/// A worker of an operator on the stream. Pass NULL to use the default parameters.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_worker_create(
    operator: *const c_char,
    stream: Option<&pointmill_stream>,
    params: *const c_void,
    worker: Option<&mut *mut pointmill_worker>,
) -> pointmill_status {
    guard(|| create(worker, || Ok(pointmill_worker(of_operator!(operator, made(of(stream)?, params))?))))
}

/// Runs a worker. On a GPU it only queues work, unless the operator says otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_worker_run(
    worker: Option<&mut pointmill_worker>,
    inputs: *const pointmill_input,
    num_inputs: u64,
) -> pointmill_status {
    guard(|| some(worker, "worker")?.0.run(list(inputs, num_inputs, "inputs")?))
}

/// An array of the last call by its name.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_worker_array(
    worker: Option<&pointmill_worker>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| some(worker, "worker")?.0.array(name, array))
}

/// Waits. Fails if inputs of the last call are invalid, which a GPU finds late.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_worker_check(worker: Option<&pointmill_worker>) -> pointmill_status {
    guard(|| some(worker, "worker")?.0.check())
}

/// Destroys the worker and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_worker_destroy(worker: Option<Box<pointmill_worker>>) {
    destroy(worker);
}

fn made<W: Worker>(stream: &Stream, params: *const c_void) -> Result<Box<dyn Operator>> {
    let worker = W::new(stream, &params_at::<W::Params>(params)?)?;
    let (out, stream) = (worker.output()?, stream.clone());
    Ok(Box::new(Held { stream, worker, out, outcome: Outcome::none("pointmill_worker_run") }))
}

impl<W: Worker> Operator for Held<W> {
    fn run(&mut self, inputs: &[pointmill_input]) -> Result<()> {
        let Self { stream, worker, out, outcome } = self;
        outcome.of(|| {
            let (mut arrays, mut splits) = (Vec::new(), Vec::new());
            for given in inputs.iter().filter(|given| !given.array.is_null()) {
                let name = text(given.name, "name")?;
                let known = || W::INPUTS.iter().map(|input| input.argument.as_str()).collect::<Vec<_>>().join(", ");
                let input = W::INPUTS.iter().find(|input| input.argument.as_str() == name);
                let input = input.ok_or_else(|| Fault::new("inputs", known(), name))?;
                match input.kind {
                    InputKind::Splits => splits.push((input.argument, host_splits(given.array, input.argument)?)),
                    kind => arrays.push((input.argument, kind, lent(given.array, input.argument, stream)?)),
                }
            }
            let mut given = Inputs::default();
            for (argument, kind, array) in &arrays {
                match kind {
                    InputKind::Ints => given.set_ints(*argument, array.ints(*argument, &[1])?),
                    _ => given.set_rows(*argument, array.rows()?),
                }
            }
            splits.iter().for_each(|(argument, all)| given.set_splits(*argument, all));
            Ok(worker.run(&given, out)?)
        })
    }

    fn array(&self, name: *const c_char, array: *mut pointmill_array) -> Result<()> {
        self.outcome.give(|| View::of(&self.out, &[]), name, &self.stream, array)
    }

    fn check(&self) -> Result<()> {
        Ok(self.out.counted().map(drop)?)
    }
}

/// Where the items of a batch start: numbers of 64 bits on the host.
fn host_splits(array: *const pointmill_array, argument: Argument) -> Result<Vec<usize>> {
    let array = crate::handle::given(array).map_err(|fault| fault.about(argument.as_str()))?;
    if crate::array::dtype(array.r#type)? != Dtype::U64 || array.place != 0 {
        return Err(Fault::new(argument, "numbers of u64 on the host", format_args!("type {}", array.r#type)));
    }
    let all = list(array.data.cast::<u64>().cast_const(), array.rows.saturating_mul(array.columns), argument.as_str())?;
    Ok(all.iter().map(|&split| split as usize).collect())
}

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

fn write_defaults<W: Worker>(params: *mut c_void, size: usize) -> Result<()> {
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
fn params_at<P: Params>(params: *const c_void) -> Result<P> {
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

#[cfg(test)]
#[path = "../tests/unit/header.rs"]
mod header;
