//! An operator on a device, on the CPU beside it for `--compare-cpu`, and on the CPU instead of it
//! for `--on-oom cpu`.

use super::input_error::InputError;
use crate::device::cpu_beside;
use crate::failure::Failure;
use crate::flags::{OnOom, WorkArgs};
use crate::json::{Frame, FrameCpu};
use crate::stats::timed;
use crate::{interrupt, stderr};
use pointmill::{Device, Error};
use std::sync::{Arc, Mutex, PoisonError};

/// A device and the memory that an operator keeps on it.
#[derive(Debug)]
struct Place<L> {
    device: Device,
    worker: L,
    /// Whether a call that is not timed comes before the first.
    cold: bool,
}

/// The devices of one job.
#[derive(Debug)]
pub struct OperatorSlot<L> {
    on: Place<L>,
    beside: Option<Place<L>>,
    /// The CPU, once the memory of the device was short.
    spare: Option<Place<L>>,
    on_oom: OnOom,
}

/// What is made once for each device, and shared by the jobs on it.
#[derive(Debug)]
pub struct Shared<T>(Mutex<Vec<Ready<T>>>);

/// The name of a device, its threads, and what was made for it.
type Ready<T> = (String, usize, Arc<T>);

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Shared<T> {
    /// What is ready for the device, or what `make` makes.
    pub fn get<E>(&self, device: &Device, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        let mut ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, threads) = (device.to_string(), device.threads());
        if let Some((_, _, made)) = ready.iter().find(|(n, t, _)| (n, *t) == (&name, threads)) {
            return Ok(Arc::clone(made));
        }
        let made = Arc::new(make()?);
        ready.push((name, threads, Arc::clone(&made)));
        Ok(made)
    }
}

/// A call that has come to its end.
#[derive(Debug)]
pub struct Called<'a, L, R> {
    /// The device that did it.
    pub device: &'a Device,
    /// What holds the result, if it is not in `found`.
    pub worker: &'a mut L,
    /// The result.
    pub found: R,
    /// Milliseconds from the arrays of the host to the end of the work.
    pub ms: f64,
    /// The same on the CPU beside it.
    pub cpu: Option<Box<Called<'a, L, R>>>,
}

impl<L> Place<L> {
    fn call<R>(&mut self, work: impl Fn(&mut L) -> Result<R, Error>) -> Result<Called<'_, L, R>, Error> {
        if self.cold {
            // The first call takes memory and wakes threads or the GPU, which says nothing about
            // the next thousand.
            work(&mut self.worker)?;
            self.cold = false;
        }
        let (found, ms) = timed(|| work(&mut self.worker))?;
        Ok(Called { device: &self.device, worker: &mut self.worker, found, ms, cpu: None })
    }
}

impl<L> OperatorSlot<L> {
    /// Makes a worker on the device, and with `--compare-cpu` one on the CPU. Before times that are
    /// compared comes a call that is not timed, unless calls add to each other.
    pub fn new(
        device: &Device,
        args: &WorkArgs,
        adds: bool,
        make: impl Fn(&Device) -> Result<L, Error>,
    ) -> Result<Self, Failure> {
        let place = |device: Device| -> Result<_, Failure> {
            Ok(Place { worker: make(&device)?, device, cold: args.cpu && !adds })
        };
        let beside = if args.cpu { Some(place(cpu_beside(device)?)?) } else { None };
        Ok(Self { on: place(device.clone())?, beside, spare: None, on_oom: args.on_oom })
    }

    /// Works on the device, on the CPU instead if memory is short and `--on-oom cpu` is given, and
    /// on the CPU beside it.
    ///
    /// `make` makes a worker on another device; `blame` decides who is to blame for an error.
    pub fn call<R>(
        &mut self,
        name: &str,
        blame: impl Fn(Error) -> InputError,
        make: impl Fn(&Device) -> Result<L, Error>,
        work: impl Fn(&mut L) -> Result<R, Error>,
    ) -> Result<Called<'_, L, R>, InputError> {
        interrupt::check()?;
        let Self { on, beside, spare, on_oom } = self;
        let device = on.device.clone();
        let done = match on.call(&work) {
            Err(e) if on_oom.redoes(&e, &device) => {
                stderr::warning(format_args!("{name}: {e}; the CPU processes this input instead"));
                if spare.is_none() {
                    let cpu = Device::cpu();
                    *spare = Some(Place { worker: make(&cpu).map_err(&blame)?, device: cpu, cold: false });
                }
                spare.as_mut().expect("made above").call(&work)
            }
            done => done,
        };
        let mut done = done.map_err(&blame)?;
        if let Some(beside) = beside {
            done.cpu = Some(Box::new(beside.call(&work).map_err(&blame)?));
        }
        interrupt::check()?;
        Ok(done)
    }

    /// The workers of the device and of the CPU instead of it, and the worker of the CPU beside
    /// them.
    pub fn into_workers(self) -> (Vec<L>, Option<L>) {
        let workers = [Some(self.on), self.spare].into_iter().flatten().map(|place| place.worker);
        (workers.collect(), self.beside.map(|place| place.worker))
    }
}

impl<L, R> Called<'_, L, R> {
    /// The frame of the input with the device and its time.
    pub fn on<T>(&self, frame: Frame<T>) -> Frame<T> {
        Frame { device: Some(self.device.to_string()), ms: Some(self.ms), ..frame }
    }

    /// The record of the CPU beside the device, if there is one; `differs` returns the names of
    /// what is not equal.
    pub fn compare<E, N: Into<String>>(
        &self,
        differs: impl FnOnce(&Self) -> Result<Vec<N>, E>,
    ) -> Result<Option<FrameCpu>, E> {
        let Some(cpu) = &self.cpu else { return Ok(None) };
        let differs = differs(cpu)?.into_iter().map(Into::into).collect();
        Ok(Some(FrameCpu::new(cpu.device.threads(), cpu.ms, self.ms, differs)))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/batch_slot.rs"]
mod tests;
