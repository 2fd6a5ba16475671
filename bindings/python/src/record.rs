//! Classes of results, made from what the library declares with `record!`.

use crate::arrays::{Backend, OutputArrays};
use crate::errors::{in_python, kind as wrong_type};
use crate::pickle::{Reduced, way_back};
use pointmill::Pose;
use pointmill::interop::ArrayName;
use pointmill::record::{Field, Kind, Record, Value};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyCFunction, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

/// The attributes that are poses.
const POSES: [&str; 3] = ["target_from_source", "world_from_sensor", "map_from_sensor"];

/// A class of results: its name, module and docstring, its attributes, and what `repr` shows.
pub(crate) struct Class {
    name: &'static str,
    module: &'static str,
    doc: &'static str,
    /// A template of `str.format`. Results without one have no arrays: their `repr` shows all
    /// attributes, and those with equal attributes are equal.
    repr: Option<&'static str>,
    attributes: fn() -> Attributes,
    made: PyOnceLock<Py<PyType>>,
}

/// The attributes of a class.
#[derive(Default)]
pub(crate) struct Attributes(Vec<Attribute>);

struct Attribute {
    name: &'static str,
    /// Its type as the stub has it.
    annotation: String,
    doc: String,
}

impl Attributes {
    /// The fields of a record, and of the records in it. Optional records and lists of records are
    /// left out. Arrays are of this type.
    pub(crate) fn record<T: Record>(self, array: &str) -> Self {
        self.fields(T::FIELDS, array)
    }

    /// The same where all may be `None`, because nobody waited for them.
    pub(crate) fn maybe_record<T: Record>(self) -> Self {
        let there = self.0.len();
        let mut all = self.record::<T>("");
        all.0[there..].iter_mut().for_each(|attribute| attribute.annotation += " | Any");
        all
    }

    fn fields(mut self, fields: &[Field], array: &str) -> Self {
        for field in fields {
            if let Kind::Record(inner) = field.kind {
                self = self.fields(inner, array);
            } else if let Some(annotation) = annotation(field.kind, array) {
                self.0.push(Attribute { name: field.name, annotation, doc: doc(field) });
            }
        }
        self
    }

    /// The arrays of a result; those that a call may not make are `None` then.
    pub(crate) fn arrays<K: ArrayName>(self, always: &[K]) -> Self {
        self.arrays_with(always, &[])
    }

    /// The same where some are given in 64 bits.
    pub(crate) fn arrays_with<K: ArrayName>(mut self, always: &[K], wide: &[K]) -> Self {
        for array in K::ALL {
            let annotation = if always.contains(array) { "_Own" } else { "_Own | Any" }.to_owned();
            let doc = in_python(&plain(array.doc())).replace("uint64", "int64");
            let doc = doc.replace("uint32", if wide.contains(array) { "int64" } else { "int32" });
            self.0.push(Attribute { name: array.name(), annotation, doc });
        }
        self
    }

    /// An attribute that no record has.
    pub(crate) fn add(mut self, name: &'static str, annotation: &str, doc: &str) -> Self {
        self.0.push(Attribute { name, annotation: annotation.into(), doc: doc.into() });
        self
    }

    /// All but these.
    pub(crate) fn without(mut self, names: &[&str]) -> Self {
        self.0.retain(|attribute| !names.contains(&attribute.name));
        self
    }
}

/// The type of a field in the stub; none of records that are not there always once.
fn annotation(kind: Kind, array: &str) -> Option<String> {
    Some(match kind {
        Kind::Integer => "int".into(),
        Kind::Float => "float".into(),
        Kind::Bool => "bool".into(),
        Kind::Text => "str".into(),
        Kind::Name(names) => format!("Literal[{}]", quoted(names)),
        Kind::Array(_) => array.into(),
        Kind::List(kind) => format!("list[{}]", annotation(*kind, array)?),
        Kind::Optional(kind) => format!("{} | None", annotation(*kind, array)?),
        Kind::Record(_) => return None,
    })
}

pub(crate) fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// The docstring of a field, with the shape of arrays and the names of enums.
fn doc(field: &Field) -> String {
    let text = plain(field.doc);
    let kind = if let Kind::Optional(kind) = field.kind { *kind } else { field.kind };
    match kind {
        Kind::Array(shape) => {
            let first = text.chars().next().map(|first| first.to_lowercase().to_string()).unwrap_or_default();
            format!("``{shape:?}`` float64: {first}{}", text.get(first.len()..).unwrap_or_default())
        }
        Kind::Name(names) => format!("{text} One of {}.", quoted(names)),
        _ => text,
    }
}

/// The first paragraph of a doc comment in the words and marks of Python: one line, links without
/// their targets, two backticks for one, and `None` for none. What is of Rust or JSON alone belongs
/// into another paragraph.
pub(crate) fn plain(doc: &str) -> String {
    let first = doc.split("\n\n").next().unwrap_or_default();
    let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut text, mut rest) = (String::new(), line.as_str());
    while let Some((before, after)) = rest.split_once('[') {
        let end = after.find(']').unwrap_or(after.len());
        let (label, behind) = after.split_at(end);
        let behind = behind.strip_prefix(']').unwrap_or(behind);
        let target = behind.strip_prefix('(').and_then(|behind| behind.split_once(')'));
        // A shape, such as `[V, 3]`, is no link.
        let is_link = target.is_some() || (label.starts_with('`') && label.ends_with('`'));
        text += before;
        text += &if is_link { label.to_owned() } else { format!("[{label}]") };
        rest = target.map_or(behind, |(_, behind)| behind);
    }
    let text = (text + rest).replace('`', "``");
    text.replace("; none ", "; ``None`` ").replace("; null ", "; ``None`` ")
}

impl Class {
    pub(crate) const fn new(
        (module, name): (&'static str, &'static str),
        doc: &'static str,
        repr: Option<&'static str>,
        attributes: fn() -> Attributes,
    ) -> Self {
        Self { name, module, doc, repr, attributes, made: PyOnceLock::new() }
    }

    /// Makes the class, and puts it into the module.
    pub(crate) fn add_to(&self, module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        let (namespace, types) = (PyDict::new(py), PyDict::new(py));
        let property = py.import("builtins")?.getattr("property")?;
        let Attributes(attributes) = (self.attributes)();
        let all = || attributes.iter().map(|one| format!("{0}={{{0}}}", one.name)).collect::<Vec<_>>().join(", ");
        let repr = self.repr.map_or_else(|| format!("{}({})", self.name, all()), Into::into);
        for Attribute { name, annotation, doc } in attributes {
            let get = PyCFunction::new_closure(py, None, None, move |arguments, _| ResultBase::get(arguments, name))?;
            namespace.set_item(name, property.call1((get, py.None(), py.None(), doc))?)?;
            types.set_item(name, annotation)?;
        }
        let name = self.name;
        let refuse = PyCFunction::new_closure(py, None, None, move |_, _| -> PyResult<()> {
            Err(PyTypeError::new_err(format!("type '{name}' is not an acceptable base type")))
        })?;
        namespace.set_item("__init_subclass__", refuse)?;
        namespace.set_item("__slots__", PyTuple::empty(py))?;
        namespace.set_item("__module__", self.module)?;
        namespace.set_item("__doc__", self.doc)?;
        namespace.set_item("_types", types)?;
        namespace.set_item("_repr", repr)?;
        namespace.set_item("_equal", self.repr.is_none())?;
        let base = py.get_type::<ResultBase>();
        let class = py.get_type::<PyType>().call1((self.name, (base,), namespace))?.cast_into::<PyType>()?;
        module.add(self.name, &class)?;
        self.made.set(py, class.unbind()).map_err(|_| PyTypeError::new_err("the module is there already"))
    }
}

/// What the attributes of a result are to be.
pub(crate) struct Fields<'a, 'py> {
    fields: Bound<'py, PyDict>,
    /// Where arrays go; without one they are lists.
    backend: Option<&'a Backend<'py>>,
}

impl<'a, 'py> Fields<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, backend: Option<&'a Backend<'py>>) -> Self {
        Self { fields: PyDict::new(py), backend }
    }

    pub(crate) fn py(&self) -> Python<'py> {
        self.fields.py()
    }

    /// The fields of a record, and of the records in it.
    pub(crate) fn record<T: Record>(self, record: &T) -> PyResult<Self> {
        self.put(T::FIELDS, record.values())?;
        Ok(self)
    }

    fn put(&self, fields: &[Field], values: Vec<Value<'_>>) -> PyResult<()> {
        for (field, value) in fields.iter().zip(values) {
            match (field.kind, value) {
                (Kind::Record(inner), Value::Record(values)) => self.put(inner, values)?,
                (kind, value) => self.fields.set_item(field.name, self.object(kind, value)?)?,
            }
        }
        Ok(())
    }

    fn object(&self, kind: Kind, value: Value<'_>) -> PyResult<Bound<'py, PyAny>> {
        let py = self.fields.py();
        Ok(match (kind, value) {
            (Kind::Optional(kind), value) if value != Value::None => self.object(*kind, value)?,
            (_, Value::Integer(n)) => n.into_pyobject(py)?.into_any(),
            (_, Value::Float(x)) => PyFloat::new(py, x).into_any(),
            (_, Value::Bool(b)) => PyBool::new(py, b).to_owned().into_any(),
            (_, Value::Text(text)) => PyString::new(py, text).into_any(),
            (Kind::Array(shape), Value::Array(values)) => match (self.backend, shape) {
                (Some(backend), _) => backend.give_values(values, shape)?,
                (None, [_, columns]) => PyList::new(py, values.chunks(*columns))?.into_any(),
                (None, _) => PyList::new(py, values)?.into_any(),
            },
            (Kind::List(kind), Value::List(values)) => {
                let objects: PyResult<Vec<_>> = values.into_iter().map(|value| self.object(*kind, value)).collect();
                PyList::new(py, objects?)?.into_any()
            }
            _ => py.None().into_bound(py),
        })
    }

    /// The arrays of a result.
    pub(crate) fn arrays<K: ArrayName>(self, mut given: OutputArrays<K>) -> PyResult<Self> {
        for array in K::ALL {
            self.fields.set_item(array.name(), given.take(*array))?;
        }
        Ok(self)
    }

    /// [`Fields::record`], or `None` for each field where nobody waited for it.
    pub(crate) fn maybe_record<T: Record>(mut self, record: Option<&T>) -> PyResult<Self> {
        if let Some(record) = record {
            return self.record(record);
        }
        for field in T::FIELDS {
            self = self.set(field.name, None::<()>)?;
        }
        Ok(self)
    }

    /// An attribute that no record has.
    pub(crate) fn set(self, name: &str, value: impl IntoPyObject<'py>) -> PyResult<Self> {
        self.fields.set_item(name, value)?;
        Ok(self)
    }

    /// The result.
    pub(crate) fn of(self, class: &Class) -> PyResult<Bound<'py, PyAny>> {
        let py = self.fields.py();
        let made = class.made.get(py).ok_or_else(|| PyTypeError::new_err("the module is not there yet"))?;
        made.bind(py).call1((self.fields,))
    }
}

/// What all classes of results share. Nothing changes a result.
#[pyclass(frozen, weakref, subclass, generic, name = "_Result", module = "pointmill")]
pub(crate) struct ResultBase(Py<PyDict>);

impl ResultBase {
    fn get<'py>(arguments: &Bound<'py, PyTuple>, name: &str) -> PyResult<Py<PyAny>> {
        let result = arguments.get_item(0)?;
        let fields = result.cast::<Self>()?.get().0.bind(arguments.py());
        Ok(fields.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?.unbind())
    }
}

#[pymethods]
impl ResultBase {
    #[new]
    #[classmethod]
    fn new(class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        let kept = PyDict::new(class.py());
        for (name, annotation) in class.getattr("_types")?.cast::<PyDict>()? {
            let value = fields.get_item(&name)?.ok_or_else(|| PyKeyError::new_err(name.clone().unbind()))?;
            check(name.extract()?, annotation.extract()?, &value)?;
            kept.set_item(name, value)?;
        }
        Ok(Self(kept.unbind()))
    }

    #[classmethod]
    fn _restore<'py>(class: &Bound<'py, PyType>, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        class.call1((fields,))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        way_back(slf, slf.get().0.bind(slf.py()).copy()?)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let fields = slf.get().0.bind(slf.py()).copy()?;
        for name in POSES {
            if let Some(pose) = fields.get_item(name)? {
                fields.set_item("pose", format!("{name}={}", pose_text(&pose)?))?;
            }
        }
        slf.getattr("_repr")?.call_method1("format_map", (fields,))
    }

    fn __eq__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        let (py, other) = (slf.py(), other.cast::<Self>().ok().filter(|other| other.get_type().is(slf.get_type())));
        match other {
            Some(other) if slf.getattr("_equal")?.is_truthy()? => {
                Ok(PyBool::new(py, slf.get().0.bind(py).eq(&other.get().0)?).to_owned().into_any().unbind())
            }
            _ => Ok(py.NotImplemented()),
        }
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        if slf.getattr("_equal")?.is_truthy()? {
            return Err(PyTypeError::new_err(format!("unhashable type: '{}'", slf.get_type().name()?)));
        }
        Ok(slf.as_ptr().addr().cast_signed() >> 4)
    }
}

/// A pose as `repr` shows it: its translation in metres and the angle of its rotation. An array that
/// has no list of its own is shown as it is.
fn pose_text(pose: &Bound<'_, PyAny>) -> PyResult<String> {
    let Ok(m) = pose.call_method0("tolist").and_then(|rows| rows.extract::<[[f64; 4]; 4]>()) else {
        return Ok(pose.repr()?.to_string());
    };
    let [x, y, z] = [m[0][3], m[1][3], m[2][3]];
    let vector = Pose::from_matrix(&m).map_or([f64::NAN; 3], |pose| pose.rotation_vector());
    let angle = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    Ok(format!("[{x:.3}, {y:.3}, {z:.3}] m, {:.2} deg", angle.to_degrees()))
}

/// Refuses a value of another type than the attribute has; arrays are of any.
fn check(name: &str, annotation: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let (of, optional) = annotation.strip_suffix(" | None").map_or((annotation, false), |of| (of, true));
    // What nobody waited for may be of any type.
    let fits = match of.split('[').next().unwrap_or(of) {
        "int" => value.is_instance_of::<PyInt>(),
        "float" => value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>(),
        "bool" => value.is_instance_of::<PyBool>(),
        "str" | "Literal" => value.is_instance_of::<PyString>(),
        _ => true,
    };
    if fits || (optional && value.is_none()) {
        return Ok(());
    }
    Err(wrong_type(name, annotation, value.repr()?))
}
