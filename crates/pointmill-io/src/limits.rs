//! How much a reader may take, whatever a file says.

use crate::error::IoError;
use crate::fault::Context;
use crate::fault::{bail, fault};
use crate::source::Source;
use std::path::Path;

/// The most columns a cloud may have. Far above any sensor's, it keeps a lie about them from
/// counting.
pub(crate) const MAX_COLUMNS: usize = 1024;

/// What a compressed file may always unpack to, in bytes, and by which factor it may otherwise
/// grow, all its parts together. Compression shrinks sweeps and tiles to a quarter or a tenth. It
/// shrinks equal points to almost nothing, so without a limit a small file could declare any number
/// of them.
const UNPACKED: (u64, u64) = (16 << 20, 64);

/// What a read may take before it is refused with [`IoError::LimitExceeded`]; `None` takes a limit
/// away.
///
/// They stand beside the comparison with the bytes that are there, which cannot be turned off: a
/// file that says more than it holds is refused before any of these is asked.
///
/// ```
/// use pointmill_io::{Format, Limits, ReadOptions, read_from};
/// let limits = Limits { max_points: Some(1), ..Limits::default() };
/// let options = ReadOptions { format: Some(Format::Bin), limits, ..ReadOptions::default() };
/// let error = read_from(&[0u8; 32][..], "-", &options).unwrap_err();
/// assert_eq!(error.class(), "LimitExceeded");
/// assert_eq!(
///     error.to_string(),
///     "-: points: expected at most 1 (the limit `max_points`, --max-input-points), got 2"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most points of a cloud, default 2^30, which is what an operator takes.
    pub max_points: Option<u64>,
    /// The most bytes of memory for the values that are read and for what is unpacked on the way to
    /// them, default 16 GiB. While a stream of unknown length grows, up to twice as much may be
    /// held.
    pub max_memory: Option<u64>,
    /// The most bytes that compressed data may unpack to. By default what the format's own limit
    /// allows: of `.npz` 256 MiB or 100 times the file, of `.laz`, compressed `.feather`, all
    /// chunks of a bag and the points of `.e57` 16 MiB or 64 times the file, of `.pcd` 88 times
    /// the file, more than which its compression cannot give. A number here takes the place of all
    /// but the last.
    pub max_decoded_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_points: Some(1 << 30), max_memory: Some(16 << 30), max_decoded_bytes: None }
    }
}

impl Limits {
    /// What a file of so many bytes may unpack to.
    pub(crate) fn most_unpacked(&self, file: u64) -> u64 {
        self.max_decoded_bytes.unwrap_or_else(|| UNPACKED.0.max(file.saturating_mul(UNPACKED.1)))
    }

    /// Checks what all compressed data of a file of so many bytes say they unpack to.
    pub(crate) fn check_unpacked(
        &self,
        at: &(impl Context + ?Sized),
        field: &str,
        bytes: u64,
        file: u64,
    ) -> Result<(), IoError> {
        let whose = "16 MiB or 64 times the file; --max-decoded-bytes allows more";
        self.check_decoded(at, field, bytes, self.most_unpacked(file), whose)
    }

    /// Checks what compressed data say they unpack to; without a limit given, against `most`, which
    /// is `whose`.
    pub(crate) fn check_decoded(
        &self,
        at: &(impl Context + ?Sized),
        field: &str,
        bytes: u64,
        most: u64,
        whose: &str,
    ) -> Result<(), IoError> {
        let (most, whose) = match self.max_decoded_bytes {
            Some(limit) => (limit, "the limit `max_decoded_bytes`, --max-decoded-bytes"),
            None => (most, whose),
        };
        if bytes <= most {
            return Ok(());
        }
        bail!(at, LimitExceeded, field, "at most {most} bytes ({whose})", "{bytes} bytes")
    }
}

/// The limits of a read and the number of columns that is asked for, checked.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) columns: Option<usize>,
    /// The names of the columns, of files that have none.
    pub(crate) names: Option<&'static [&'static str]>,
    /// The part of the plane that is wanted; readers may leave out what is outside. Of COPC only
    /// what lies there is unpacked.
    #[cfg_attr(not(feature = "laz"), expect(dead_code))]
    pub(crate) area: Option<[f64; 4]>,
    /// Whether the whole records of a damaged file are read.
    pub(crate) salvage: bool,
    /// The scan of an E57 file that is wanted, and the topic of a bag.
    pub(crate) scan: Option<usize>,
    pub(crate) topic: Option<String>,
    pub(crate) limits: Limits,
}

impl Bounds {
    pub(crate) fn new(path: &Path, columns: Option<usize>, limits: &Limits) -> Result<Self, IoError> {
        if let Some(n) = columns
            && !(3..=MAX_COLUMNS).contains(&n)
        {
            bail!(path, InvalidArgument, "columns", "3 to {MAX_COLUMNS}", n);
        }
        Ok(Self { columns, limits: limits.clone(), ..Self::default() })
    }

    pub(crate) fn check_columns(&self, source: &Source<'_>, columns: usize) -> Result<(), IoError> {
        match self.columns {
            Some(wanted) if wanted != columns => {
                let [wanted, found] = [wanted, columns].map(|n| n.to_string());
                Err(fault!(source, ShapeMismatch, "columns", "{wanted}, as asked for", found))
            }
            None if columns > MAX_COLUMNS => {
                Err(fault!(source, LimitExceeded, "columns", "at most {MAX_COLUMNS}", columns))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn check_points(&self, source: &Source<'_>, points: u64) -> Result<(), IoError> {
        match self.limits.max_points {
            Some(max) if points > max => {
                let wanted = format!("at most {max} (the limit `max_points`, --max-input-points)");
                Err(fault!(source, LimitExceeded, "points", wanted, points))
            }
            _ => Ok(()),
        }
    }
}
