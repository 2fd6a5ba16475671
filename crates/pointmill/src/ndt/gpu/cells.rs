//! Rows in memory of a device.

use crate::Result;
use crate::device::{Buffer, Stream};
use crate::ndt::{NdtCells, NdtReport};
use pointmill_kernels::ndt::CellArrays;

/// The arrays of [`NdtCells`].
#[derive(Debug)]
pub(super) struct Cells {
    coords: Buffer<[i32; 3]>,
    counts: Buffer<u32>,
    mean_local: Buffer<[f64; 3]>,
    pub(super) mean: Buffer<[f64; 3]>,
    covariance: Buffer<[f64; 6]>,
    pub(super) inverse: Buffer<[f64; 6]>,
    eigenvalues: Buffer<[f64; 3]>,
    normal: Buffer<[f64; 3]>,
}

impl Cells {
    pub(super) fn new(stream: &Stream) -> Result<Self> {
        Self::upload(stream, &NdtCells::default())
    }

    pub(super) fn upload(stream: &Stream, cells: &NdtCells) -> Result<Self> {
        Ok(Self {
            coords: stream.upload(&cells.coords)?,
            counts: stream.upload(&cells.counts)?,
            mean_local: stream.upload(&cells.mean_local)?,
            mean: stream.upload(&cells.mean)?,
            covariance: stream.upload(&cells.covariance)?,
            inverse: stream.upload(&cells.inverse)?,
            eigenvalues: stream.upload(&cells.eigenvalues)?,
            normal: stream.upload(&cells.normal)?,
        })
    }

    /// Makes room for `len` rows.
    pub(super) fn reserve(&mut self, len: usize) -> Result<()> {
        self.coords.reserve(len)?;
        self.counts.reserve(len)?;
        self.mean_local.reserve(len)?;
        self.mean.reserve(len)?;
        self.covariance.reserve(len)?;
        self.inverse.reserve(len)?;
        self.eigenvalues.reserve(len)?;
        self.normal.reserve(len)?;
        Ok(())
    }

    pub(super) fn arrays(&self) -> CellArrays {
        CellArrays {
            coords: self.coords.pointer(),
            counts: self.counts.pointer(),
            mean_local: self.mean_local.pointer(),
            mean: self.mean.pointer(),
            covariance: self.covariance.pointer(),
            inverse: self.inverse.pointer(),
            eigenvalues: self.eigenvalues.pointer(),
            normal: self.normal.pointer(),
        }
    }

    pub(super) fn read(&self, report: NdtReport) -> Result<NdtCells> {
        let len = report.voxels;
        Ok(NdtCells {
            coords: self.coords.read(len)?,
            counts: self.counts.read(len)?,
            mean_local: self.mean_local.read(len)?,
            mean: self.mean.read(len)?,
            covariance: self.covariance.read(len)?,
            inverse: self.inverse.read(len)?,
            eigenvalues: self.eigenvalues.read(len)?,
            normal: self.normal.read(len)?,
            report,
        })
    }
}
