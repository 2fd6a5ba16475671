//! Functions that are made of a worker's lists: signature, documentation, arguments and results.

use crate::args::{along_axes, list, plain_of};
use crate::arrays::{Array, Backend, Data, Dtype, Made, Numbers, Taken, Target};
use crate::cache::Cache;
use crate::errors::{Names, OrRaise, value};
use crate::interrupt::Effort;
use crate::record::{plain, quoted};
use pointmill::params::{Parameter, Params};
use pointmill::record::{Kind, Value};
use pointmill::worker::{Input, InputKind, Inputs, Worker};
use pointmill::{Argument, Error, Stream, UnknownName};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};
use std::ffi::{CStr, CString};

/// Items of a batch beside one for each row at most.
const MAX_ITEMS: usize = 1 << 20;

/// A function of Python that calls a worker.
pub(crate) struct Function<W: Worker> {
    /// The documentation, with `{parameters}` where the arguments go.
    pub(crate) doc: &'static str,
    /// Arguments that have other names in Python.
    pub(crate) names: Names,
    /// Parameters that may be given by place, behind the inputs.
    pub(crate) by_place: &'static [&'static str],
    /// Arguments that the library does not have.
    pub(crate) own: &'static [Own],
    /// So many rows take no longer than a millisecond on the CPU.
    pub(crate) short: usize,
    /// Workers and results that are used again.
    pub(crate) cache: Cache<W::Params, (W::Out, W)>,
    /// Runs the call, and makes the result.
    pub(crate) call: fn(&mut Call<'_, W>) -> PyResult<Py<PyAny>>,
}

/// An argument of Python alone: its name, its default as Python writes it, its type and its text.
pub(crate) struct Own(pub(crate) [&'static str; 4]);

/// The names of a function's arguments: inputs, parameters, and its own.
struct Signature {
    slots: Vec<&'static str>,
    /// The slots that may be given by place, and the others.
    places: Vec<usize>,
    others: Vec<usize>,
    needed: usize,
}

/// A call with its arguments.
pub(crate) struct Call<'py, W: Worker> {
    function: &'static Function<W>,
    py: Python<'py>,
    given: Vec<Option<Bound<'py, PyAny>>>,
    pub(crate) params: W::Params,
}

/// The inputs of a call while it works.
struct Held {
    rows: Vec<(Argument, Data, usize)>,
    ints: Vec<(Argument, Taken, usize)>,
    splits: Vec<(Argument, Vec<usize>)>,
}

impl<W: Worker> Function<W> {
    fn name_of(&self, argument: Argument) -> &'static str {
        self.names.iter().find(|(of, _)| *of == argument).map_or(argument.as_str(), |(_, name)| name)
    }

    fn signature(&self) -> Signature {
        let inputs = W::INPUTS.iter().map(|input| self.name_of(input.argument));
        let params = W::Params::PARAMETERS.iter().map(|parameter| parameter.name);
        let slots: Vec<_> = inputs.chain(params).chain(self.own.iter().map(|own| own.0[0])).collect();
        let needed = W::INPUTS.iter().filter(|input| !input.optional).count();
        let at = |name: &&str| slots.iter().position(|slot| slot == name);
        let places: Vec<_> = (0..needed).chain(self.by_place.iter().filter_map(at)).collect();
        let others = (0..slots.len()).filter(|at| !places.contains(at)).collect();
        Signature { slots, places, others, needed }
    }

    /// Makes the function, and puts it into the module.
    pub(crate) fn add_to(&'static self, module: &Bound<'_, PyModule>) -> PyResult<()> {
        let (py, signature) = (module.py(), self.signature());
        let doc = format!("{}{}\n--\n\n{}", W::NAME, self.text(py, &signature)?, self.documentation(&signature));
        let [name, doc]: [&'static CStr; 2] =
            [CString::new(W::NAME)?, CString::new(doc)?].map(|text| &*Box::leak(text.into_boxed_c_str()));
        let call =
            move |args: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>| self.called(&signature, args, named);
        let made = PyCFunction::new_closure(py, Some(name), Some(doc), call)?;
        made.setattr("__module__", module.name()?)?;
        module.add(W::NAME, made)
    }

    /// The defaults of the parameters.
    pub(crate) fn defaults<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (all, params) = (PyDict::new(py), W::Params::default());
        for (at, parameter) in W::Params::PARAMETERS.iter().enumerate() {
            all.set_item(parameter.name, given_back(py, &params.get(at))?)?;
        }
        Ok(all)
    }

    /// The signature as Python reads it.
    fn text(&self, py: Python<'_>, signature: &Signature) -> PyResult<String> {
        let params = self.defaults(py)?;
        let shown = |at: usize| {
            let name = signature.slots[at];
            let own = self.own.iter().find(|own| own.0[0] == name).map(|own| own.0[1].to_owned());
            let default = match params.get_item(name)? {
                Some(default) => Some(default.repr()?.to_string().replace('\'', "\"")),
                None => own.or_else(|| (at >= signature.needed).then(|| "None".to_owned())),
            };
            PyResult::Ok(default.map_or_else(|| name.to_owned(), |default| format!("{name}={default}")))
        };
        let by_place = signature.places.iter().map(|&at| shown(at)).collect::<PyResult<Vec<_>>>()?;
        let by_name = signature.others.iter().map(|&at| shown(at)).collect::<PyResult<Vec<_>>>()?;
        Ok(format!("({}, *, {})", by_place.join(", "), by_name.join(", ")))
    }

    /// The documentation with all arguments.
    fn documentation(&self, signature: &Signature) -> String {
        let mut text = "Parameters\n----------\n".to_owned();
        for &at in signature.places.iter().chain(&signature.others) {
            let name = signature.slots[at];
            let (of, doc) = if let Some(input) = W::INPUTS.get(at) {
                (type_of_input(input), input.doc.to_owned())
            } else if let Some(parameter) = W::Params::PARAMETERS.get(at - W::INPUTS.len()) {
                (type_of(parameter.kind), plain(parameter.doc))
            } else {
                let [_, _, of, doc] = self.own[at - W::INPUTS.len() - W::Params::PARAMETERS.len()].0;
                (of.to_owned(), doc.to_owned())
            };
            text += &format!("{name} : {of}\n    {doc}\n");
        }
        self.doc.replace("{parameters}", &text)
    }

    fn called(
        &'static self,
        signature: &Signature,
        args: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let py = args.py();
        let given = signature.given::<W>(args, named)?;
        let mut params = W::Params::default();
        for (at, parameter) in W::Params::PARAMETERS.iter().enumerate() {
            if let Some(object) = &given[W::INPUTS.len() + at] {
                let taken = taken(parameter, object)?;
                if !params.set(at, &taken) {
                    return Err(value(parameter.name, "a number of 32 bits", taken));
                }
            }
        }
        (self.call)(&mut Call { function: self, py, given, params })
    }
}

impl Signature {
    /// The arguments of a call by their slots.
    fn given<'py, W: Worker>(
        &self,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let refused = |text: String| Err(PyTypeError::new_err(format!("{}() {text}", W::NAME)));
        let mut given = vec![None; self.slots.len()];
        if args.len() > self.places.len() {
            let most = self.places.len();
            return refused(format!("takes at most {most} positional arguments but {} were given", args.len()));
        }
        for (&at, object) in self.places.iter().zip(args) {
            given[at] = Some(object);
        }
        for (key, object) in named.into_iter().flatten() {
            let key: &str = &key.extract::<std::borrow::Cow<'_, str>>()?;
            let Some(at) = self.slots.iter().position(|slot| *slot == key) else {
                return refused(format!("got an unexpected keyword argument '{key}'"));
            };
            if given[at].replace(object).is_some() {
                return refused(format!("got multiple values for argument '{key}'"));
            }
        }
        match given[..self.needed].iter().position(Option::is_none) {
            Some(at) => refused(format!("missing 1 required positional argument: '{}'", self.slots[at])),
            None => Ok(given),
        }
    }
}

impl<'py, W: Worker> Call<'py, W> {
    pub(crate) const fn py(&self) -> Python<'py> {
        self.py
    }

    /// An input as it was given; an optional one may be `None`.
    pub(crate) fn input(&self, argument: Argument) -> Option<&Bound<'py, PyAny>> {
        let at = W::INPUTS.iter().position(|input| input.argument == argument)?;
        self.given[at].as_ref().filter(|object| !W::INPUTS[at].optional || !object.is_none())
    }

    /// Puts another array in place of an input.
    pub(crate) fn replace(&mut self, argument: Argument, object: Bound<'py, PyAny>) {
        if let Some(at) = W::INPUTS.iter().position(|input| input.argument == argument) {
            self.given[at] = Some(object);
        }
    }

    /// An argument of Python's alone, if it was given.
    pub(crate) fn own(&self, name: &str) -> Option<&Bound<'py, PyAny>> {
        let at = self.function.own.iter().position(|own| own.0[0] == name)?;
        self.given[W::INPUTS.len() + W::Params::PARAMETERS.len() + at].as_ref().filter(|object| !object.is_none())
    }

    /// Runs the worker on the inputs. Padded arrays have all rows that there is room for.
    pub(crate) fn run(&self, padded: bool) -> PyResult<(Backend<'py>, Made<W::Out>)> {
        let target = |backend: &Backend<'_>| Target::new(backend, padded);
        self.work(target, |out, worker, inputs, stream, target| target.fill(out, stream, |out| worker.run(inputs, out)))
    }

    /// Does something with the worker and the inputs. What that needs of the interpreter's objects is
    /// `held`, made of where results go.
    pub(crate) fn work<R: Send + 'static, E, H: Send + Sync + 'static>(
        &self,
        held: impl FnOnce(&Backend<'py>) -> H,
        work: impl FnOnce(&mut W::Out, &mut W, &Inputs<'_>, &Stream, &H) -> Result<R, E> + Send + 'static,
    ) -> PyResult<(Backend<'py>, R)>
    where
        Result<R, E>: OrRaise<R> + Send + 'static,
        E: From<Error>,
    {
        let function = self.function;
        let hint = function.own.iter().any(|own| own.0[0] == "origin").then_some("origin");
        let (mut rows, mut ints, mut splits) = (Vec::new(), Vec::new(), Vec::new());
        for input in W::INPUTS {
            let Some(object) = self.input(input.argument) else { continue };
            let name = function.name_of(input.argument);
            let first = rows.first().map(|(_, array, _): &(_, Array<'_>, _)| array);
            match input.kind {
                InputKind::Rows(columns, dtypes) => {
                    let dtypes: Vec<_> = dtypes.iter().map(|&dtype| Dtype::of_rows(dtype)).collect();
                    let wanted = if columns == Some(1) { vec![None] } else { vec![None, columns] };
                    let array = Array::taken(object, name, &dtypes, hint)?.shaped(&wanted, input.shape)?;
                    let array = if let Some(first) = first { array.beside(first)? } else { array };
                    let columns = array.shape().get(1).copied().unwrap_or(1);
                    rows.push((input.argument, array, columns));
                }
                InputKind::Ints => {
                    let numbers = Numbers::new(object, name, &[None], input.shape)?;
                    ints.push((input.argument, if let Some(first) = first { numbers.beside(first)? } else { numbers }));
                }
                InputKind::Splits => {
                    let most = first.map_or(0, |first| first.shape()[0]).saturating_add(MAX_ITEMS);
                    splits.push((input.argument, list(object, name, "whole numbers", most)?));
                }
            }
        }
        let Some((_, first, _)) = rows.first() else { unreachable!("every worker takes rows") };
        let (place, backend, n) = (first.place(), first.backend(), first.shape()[0]);
        let held = held(&backend);
        let take = |stream: &Stream| {
            let rows = rows.iter().map(|(argument, array, columns)| Ok((*argument, array.data(stream)?, *columns)));
            let ints = ints.iter().map(|(argument, all)| Ok((*argument, all.take(stream)?, all.len())));
            let (rows, ints) = (rows.collect::<PyResult<_>>()?, ints.collect::<PyResult<_>>()?);
            Ok((Held { rows, ints, splits }, held))
        };
        let made = function.cache.call(
            self.py,
            (place, &self.params, function.names),
            |stream| W::new(stream, &self.params).and_then(|worker| Ok((worker.output()?, worker))),
            |_, stream| take(stream),
            Effort::of(place, n, function.short),
            |(out, worker), stream, (inputs, held)| {
                inputs.with(stream, |inputs| work(out, worker, inputs, stream, held))
            },
        )?;
        Ok((backend, made))
    }
}

impl Held {
    fn with<R, E: From<Error>>(&self, stream: &Stream, work: impl FnOnce(&Inputs<'_>) -> Result<R, E>) -> Result<R, E> {
        let buffers = self.ints.iter().map(|(_, numbers, _)| numbers.buffer(stream)).collect::<Result<Vec<_>, _>>()?;
        let mut inputs = Inputs::default();
        for (argument, data, columns) in &self.rows {
            inputs.set_rows(*argument, data.rows(*columns)?);
        }
        for ((argument, _, len), buffer) in self.ints.iter().zip(&buffers) {
            inputs.set_ints(*argument, pointmill::Ints::on_device(buffer, *len)?);
        }
        for (argument, all) in &self.splits {
            inputs.set_splits(*argument, all);
        }
        work(&inputs)
    }
}

/// The value of a parameter.
fn taken(parameter: &Parameter, object: &Bound<'_, PyAny>) -> PyResult<Value<'static>> {
    let name = parameter.name;
    let kind = match parameter.kind {
        Kind::Optional(_) if object.is_none() => return Ok(Value::None),
        Kind::Optional(kind) => *kind,
        kind => kind,
    };
    Ok(match kind {
        Kind::Bool => Value::Bool(plain_of(object, name)?),
        Kind::Integer => Value::Integer(plain_of(object, name)?),
        Kind::Float => Value::Float(plain_of(object, name)?),
        Kind::Array(_) => Value::Array(along_axes(object, name, "numbers")?.to_vec()),
        Kind::Name(expected) => {
            let got: String = plain_of(object, name)?;
            let known = expected.iter().find(|word| **word == got).copied();
            let unknown = || PyValueError::new_err(format!("{name}: {}", UnknownName { expected, got }));
            Value::Text(known.ok_or_else(unknown)?)
        }
        _ => unreachable!("parameters are numbers, names and truths"),
    })
}

/// A value as Python has it.
fn given_back<'py>(py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Integer(number) => number.into_bound_py_any(py),
        Value::Float(number) => number.into_bound_py_any(py),
        Value::Bool(truth) => truth.into_bound_py_any(py),
        Value::Text(text) => text.into_bound_py_any(py),
        Value::Array(numbers) => PyTuple::new(py, numbers).map(Bound::into_any),
        _ => Ok(py.None().into_bound(py)),
    }
}

/// The type of a parameter in words.
fn type_of(kind: Kind) -> String {
    match kind {
        Kind::Optional(kind) => format!("{}, optional", type_of(*kind)),
        Kind::Bool => "bool".into(),
        Kind::Integer => "int".into(),
        Kind::Float => "float".into(),
        Kind::Array(shape) => format!("float or {} floats", shape[0]),
        Kind::Name(names) => format!("{{{}}}", quoted(names)),
        _ => unreachable!("parameters are numbers, names and truths"),
    }
}

/// The type of an input in words.
fn type_of_input(input: &Input) -> String {
    let shape = input.shape.split(" (").next().unwrap_or_default();
    let of = match input.kind {
        InputKind::Rows(..) => "array or list",
        InputKind::Ints => "array of int32 or int64, or list",
        InputKind::Splits => "ints",
    };
    format!("{of}, ``{shape}``{}", if input.optional { ", optional" } else { "" })
}
