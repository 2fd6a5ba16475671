//! Values that calls share.

use crate::ending::detached;
use pyo3::Python;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A value that one call at a time works with. A call that failed left it as it was, or is named
/// in its errors.
#[derive(Debug, Default)]
pub(crate) struct Shared<T>(Arc<Mutex<T>>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    /// The value, for work without the interpreter's lock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: Send> Shared<T> {
    /// Works with the value, without the interpreter's lock.
    pub(crate) fn with<R: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut T) -> R + Send) -> R {
        detached(py, || work(&mut self.lock()))
    }
}
