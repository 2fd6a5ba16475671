//! Alignments with a grid.

use super::NdtGrid;
use crate::arrays::Backend;
use crate::errors::{OrRaise, value};
use crate::interrupt::{self, Effort};
use crate::ndt::result::registration;
use crate::ndt::{NAMES, SHORT};
use crate::poses::poses;
use pointmill::ndt::{NdtAlignParams, NdtRegistration};
use pointmill::{Pose, Result};
use pyo3::prelude::*;

/// Poses, and whether there is one alone; the identity where the caller gives none.
pub(super) fn guesses_of(guess: Option<&Bound<'_, PyAny>>, name: &'static str) -> PyResult<(Vec<Pose>, bool)> {
    guess.map_or_else(|| Ok((vec![Pose::IDENTITY], true)), |guess| poses(guess, name))
}

/// The results of a scan: one alone, or a list.
fn found_poses<'py>(
    py: Python<'py>,
    backend: &Backend<'py>,
    found: &[NdtRegistration],
    alone: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if let [one] = found
        && alone
    {
        return registration(backend, one);
    }
    let found: PyResult<Vec<_>> = found.iter().map(|one| registration(backend, one)).collect();
    Ok(found?.into_pyobject(py)?.into_any())
}

impl NdtGrid {
    pub(super) fn align_one<'py>(
        &self,
        py: Python<'py>,
        scan: &Bound<'py, PyAny>,
        guess: Option<&Bound<'py, PyAny>>,
        params: NdtAlignParams,
        origin: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (guesses, alone) = guesses_of(guess, "guess")?;
        let scan = self.scan(scan, "scan", origin)?;
        let times = guesses.len() * params.max_iterations;
        let found = self.run(py, &scan, move |grid, cloud| grid.align(cloud, &guesses, &params), times)?;
        found_poses(py, &scan.array.backend(), &found, alone)
    }

    /// A scan or guess that is refused has its exception in the list.
    pub(super) fn align_all<'py>(
        &self,
        py: Python<'py>,
        scans: &[Bound<'py, PyAny>],
        guesses: Option<&[Bound<'py, PyAny>]>,
        params: NdtAlignParams,
        origin: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        if let Some(guesses) = guesses.filter(|guesses| guesses.len() != scans.len()) {
            return Err(value("guesses", format_args!("{}, one for each scan", scans.len()), guesses.len()));
        }
        let stream = self.place.stream().or_raise(NAMES)?;
        let read = |i: usize, scan: &Bound<'py, PyAny>| -> PyResult<_> {
            let guess = guesses.map(|guesses| &guesses[i]);
            let (guesses, alone) = guesses_of(guess, "guesses")?;
            let scan = self.scan(scan, "scans", origin)?;
            let data = scan.data(&stream)?;
            Ok((scan, data, guesses, alone))
        };
        let (mut held, mut all) = (Vec::new(), Vec::new());
        let mut points = 0usize;
        for (i, scan) in scans.iter().enumerate() {
            all.push(read(i, scan).map(|(scan, data, guesses, alone)| {
                points = points.saturating_add(scan.len().saturating_mul(guesses.len()));
                held.push((data, guesses));
                (scan, alone)
            }));
        }
        let grid = self.grid.clone();
        let effort = Effort::of(self.place, points.saturating_mul(params.max_iterations), SHORT);
        let found = interrupt::run(py, effort, held, move |held| {
            let scans: Result<Vec<_>> = held.iter().map(|(data, guesses)| Ok((data.rows()?, &guesses[..]))).collect();
            grid.align_many(&scans?, &params)
        })?;
        let mut found = found.or_raise(NAMES)?.into_iter();
        all.into_iter()
            .map(|read| {
                let found = read.and_then(|(scan, alone)| {
                    let found = found.next().expect("a result of each scan that was read").or_raise(NAMES)?;
                    found_poses(py, &scan.array.backend(), &found, alone)
                });
                found.or_else(|refused| Ok(refused.into_value(py).into_bound(py).into_any()))
            })
            .collect()
    }
}
