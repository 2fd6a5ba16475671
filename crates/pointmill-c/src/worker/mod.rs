//! Operators whose parameters, inputs and results are lists: one handle for all. Their structs and
//! functions in C, in `include/pointmill_workers.h`, are made of the same lists.

mod params;

use crate::array::{Outcome, View, lent, pointmill_array};
use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{create, destroy, list, some, structs, text};
use crate::stream::{of, pointmill_stream};
use params::{params_at, write_defaults};
use pointmill::boxes::Suppressor;
use pointmill::downsample::Downsampler;
use pointmill::interop::DeviceArrays;
use pointmill::points::{BallQuery, FurthestSampler, Knn};
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
            FurthestSampler::NAME => $function::<FurthestSampler>($($argument),*),
            BallQuery::NAME => $function::<BallQuery>($($argument),*),
            Knn::NAME => $function::<Knn>($($argument),*),
            other => {
                let points = [FurthestSampler::NAME, BallQuery::NAME, Knn::NAME];
                let known = [&[Suppressor::NAME, Downsampler::NAME][..], &points].concat().join(", ");
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
            let inputs = inputs.iter().map(|input| crate::handle::given(input)).collect::<Result<Vec<_>>>()?;
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

#[cfg(test)]
#[path = "../../tests/unit/header.rs"]
mod header;
