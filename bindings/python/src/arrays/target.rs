//! Where the arrays of a result go: memory that the caller's library lends, or pointmill's own.

use super::results::BorrowedTensors;
use super::{Backend, Filled, OwnedBackend};
use crate::errors::CallError;
use pointmill::interop::{ArrayLender, ArraySpec, Arrays, DeviceArrays};
use pointmill::{Error, Result, Stream};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the arrays of a call go, and whether they keep the rows that there is room for.
pub(crate) struct Target {
    backend: Option<Arc<OwnedBackend>>,
    padded: bool,
}

/// What a call made: its arrays, and what it counted, unless nobody waited for that.
pub(crate) struct Made<R: DeviceArrays> {
    pub(crate) arrays: Filled<R::Array>,
    pub(crate) report: Option<R::Report>,
}

/// Memory that was lent while a call ran, and what went wrong.
struct Lent<K> {
    tensors: BorrowedTensors<K>,
    refused: Option<PyErr>,
}

/// Memory that a call may ask for.
pub(crate) struct Lending<K>(Option<Arc<Mutex<Lent<K>>>>);

impl Target {
    /// Of the library and on the device of an array that was handed in. Padded arrays have all rows
    /// that there is room for, and nobody waits to learn how many count.
    pub(crate) fn new(backend: &Backend<'_>, padded: bool) -> Self {
        Self { backend: backend.lends_memory().then(|| Arc::new(backend.unbind())), padded }
    }

    /// Fills a result by `run`, and takes its arrays.
    pub(crate) fn fill<R: DeviceArrays>(
        &self,
        out: &mut R,
        stream: &Stream,
        run: impl FnOnce(&mut R) -> Result<()>,
    ) -> Result<Made<R>, CallError> {
        let lending = self.lend(out, stream);
        let ran = run(out);
        self.take(out, stream, lending, ran)
    }

    /// Has the next call of a result write to memory of the caller's library.
    pub(crate) fn lend<R: DeviceArrays>(&self, out: &mut R, stream: &Stream) -> Lending<R::Array> {
        let Some(backend) = self.backend.clone() else {
            out.lend(None, self.padded);
            return Lending(None);
        };
        let lent = Arc::new(Mutex::new(Lent { tensors: Vec::new(), refused: None }));
        let (to, stream) = (Arc::clone(&lent), stream.clone());
        let lend = move |bounds: &[ArraySpec<R::Array>]| {
            let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
            backend.lend_all(&stream, bounds, &mut to.tensors).map_err(|refused| {
                to.refused = Some(refused);
                Error::Internal { what: "no memory was lent".into() }
            })
        };
        out.lend(Some(ArrayLender::new(lend)), self.padded);
        Lending(Some(lent))
    }

    /// The arrays of a call that `ran`. Nothing that was lent stays with the result.
    pub(crate) fn take<R: DeviceArrays>(
        &self,
        out: &mut R,
        stream: &Stream,
        lending: Lending<R::Array>,
        ran: Result<()>,
    ) -> Result<Made<R>, CallError> {
        out.lend(None, false);
        let counted = ran.and_then(|()| {
            let bounds = out.bounds();
            // A graph records no waiting.
            let waits = !self.padded && !stream.is_capturing()?;
            let counted = waits.then(|| out.counted()).transpose()?;
            Ok(match counted {
                Some((specs, report)) => (bounds, specs, Some(report)),
                None => (bounds.clone(), bounds, None),
            })
        });
        let mut own = out.exchange(Arrays::new(stream))?;
        let lent = lending.0.map(|lent| {
            let mut lent = lent.lock().unwrap_or_else(PoisonError::into_inner);
            (std::mem::take(&mut lent.tensors), lent.refused.take())
        });
        let (tensors, refused) = lent.map_or((None, None), |(tensors, refused)| (Some(tensors), refused));
        if let Some(refused) = refused {
            return Err(CallError::Python(refused));
        }
        let (bounds, specs, report) = counted?;
        let arrays = match tensors {
            Some(tensors) => Filled::Borrowed(tensors, specs),
            None => {
                own.cut(&bounds, &specs)?;
                Filled::Own(own, specs)
            }
        };
        Ok(Made { arrays, report })
    }
}
