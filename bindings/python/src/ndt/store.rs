//! Where a map by blocks is: a folder of this machine, or an object of Python that knows a file
//! system.

use crate::ending::{attached, let_go};
use pointmill_data::maps::{Folder, OnFile, Store, Version};
use pointmill_io::{IoError, Place, write_whole};
use pyo3::prelude::*;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The files of a map, given as the path of a folder or as an object that knows a file system.
pub(crate) struct MapPlace(pub(crate) Arc<dyn Store>);

impl<'py> FromPyObject<'_, 'py> for MapPlace {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.hasattr("write_first")? {
            return Ok(Self(PyStore::new(&object)?));
        }
        Ok(Self(Arc::new(Folder(object.extract()?))))
    }
}

/// An object with ``path``, which names the map in errors, ``folder``, where copies of its files
/// are for as long as they are needed, and the functions ``list(folder)``, ``size(file)``,
/// ``read(file, copy)``, ``write(file, copy)``, ``write_first(file, copy)`` and ``remove(file)``.
#[derive(Debug)]
pub(crate) struct PyStore {
    /// Let go of with the interpreter's lock.
    object: Option<Py<PyAny>>,
    root: PathBuf,
    copies: PathBuf,
    next: AtomicU64,
}

impl PyStore {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        let (root, copies) = (object.getattr("path")?.extract()?, object.getattr("folder")?.extract()?);
        Ok(Arc::new(Self { object: Some(object.clone().unbind()), root, copies, next: AtomicU64::new(0) }))
    }

    /// Calls a function of the object, and takes what it returns.
    fn call<T>(
        &self,
        method: &'static str,
        file: &str,
        copy: Option<&Path>,
        take: impl FnOnce(Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, IoError> {
        let called = attached(|py| {
            let object = self.object.as_ref().expect("there until it is let go").bind(py);
            let found = match copy {
                Some(copy) => object.call_method1(method, (file, copy)),
                None => object.call_method1(method, (file,)),
            };
            take(found?)
        });
        let action = match method {
            "size" => "find",
            "write_first" => "write",
            other => other,
        };
        called.map_err(|error: PyErr| IoError::io(&self.root.join(file), action)(error.into()))
    }

    /// Works with a copy of a file, which is then removed.
    fn with_copy<T>(&self, file: &str, work: impl FnOnce(&Path) -> Result<T, IoError>) -> Result<T, IoError> {
        let name = file.rsplit('/').next().unwrap_or(file);
        let copy = self.copies.join(format!("{}-{name}", self.next.fetch_add(1, Ordering::Relaxed)));
        let done = work(&copy);
        match std::fs::remove_file(&copy) {
            Err(e) if e.kind() != ErrorKind::NotFound => done.and(Err(IoError::io(&copy, "remove")(e))),
            _ => done,
        }
    }
}

impl Drop for PyStore {
    fn drop(&mut self) {
        let_go(self.object.take());
    }
}

impl Store for PyStore {
    fn root(&self) -> &Path {
        &self.root
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, IoError> {
        self.call("list", folder, None, |found| found.extract())
    }

    fn version(&self, file: &str) -> Result<Option<Version>, IoError> {
        let size: Option<u64> = self.call("size", file, None, |found| found.extract())?;
        Ok(size.map(|bytes| Version { bytes, modified: None, number: 0, is_file: true }))
    }

    fn read(&self, file: &str, read: OnFile<'_>) -> Result<(), IoError> {
        self.with_copy(file, |copy| {
            self.call("read", file, Some(copy), |_| Ok(()))?;
            read(Place { path: copy, follow_links: false })
        })
    }

    fn write(&self, file: &str, write: OnFile<'_>) -> Result<u64, IoError> {
        self.with_copy(file, |copy| {
            write(Place { path: copy, follow_links: false })?;
            let bytes = std::fs::metadata(copy).map_err(IoError::io(copy, "stat"))?.len();
            self.call("write", file, Some(copy), |_| Ok(()))?;
            Ok(bytes)
        })
    }

    fn write_first(&self, file: &str, bytes: &[u8]) -> Result<(), IoError> {
        self.with_copy(file, |copy| {
            write_whole(copy, |out| out.write_all(bytes))?;
            self.call("write_first", file, Some(copy), |_| Ok(()))
        })
    }

    fn remove(&self, file: &str) -> Result<(), IoError> {
        self.call("remove", file, None, |_| Ok(()))
    }
}
