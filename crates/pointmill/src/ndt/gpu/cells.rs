//! Rows in memory of a device.

use crate::Result;
use crate::device::{Buffer, Stream};
use crate::ndt::cells::each_array;
use crate::ndt::{NdtCells, NdtReport};
use pointmill_kernels::ndt::CellArrays;

/// Declares the arrays of [`NdtCells`] on a device, and what is done with all of them.
macro_rules! cells {
    ($($array:ident: $type:ty,)+) => {
        /// The arrays of [`NdtCells`].
        #[derive(Debug)]
        pub(super) struct Cells {
            $(pub(super) $array: Buffer<$type>,)+
        }

        impl Cells {
            pub(super) fn upload(stream: &Stream, cells: &NdtCells) -> Result<Self> {
                Ok(Self { $($array: stream.upload(&cells.$array)?,)+ })
            }

            /// Makes room for `len` rows.
            pub(super) fn reserve(&mut self, len: usize) -> Result<()> {
                $(self.$array.reserve(len)?;)+
                Ok(())
            }

            pub(super) fn arrays(&self) -> CellArrays {
                CellArrays { $($array: self.$array.pointer(),)+ }
            }

            pub(super) fn read(&self, report: NdtReport) -> Result<NdtCells> {
                Ok(NdtCells { $($array: self.$array.read(report.voxels)?,)+ report })
            }
        }
    };
}

each_array!(cells);
