//! From a path or a stream to a cloud: finds the format, hands the bytes to its reader.

use crate::error::{Detail, IoError};
use crate::format::{Format, detect};
use crate::limits::{Bounds, Limits};
use crate::scan::{Field, ReadOptions, Scan, Warning, unnamed};
use crate::source::Source;
use crate::{bin, las, npy, npz, pcd, ply};
use pointmill_core::PointCloud;
use pointmill_core::array::Dtype;
use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read, Seek};
use std::path::Path;

/// Reads the cloud in a file.
///
/// The format is the one asked for, else the one of the name, else the one of the content. Points keep their order; NaN and
/// infinities stay and are counted in a warning; values of other types than `f32` are cast once, and coordinates that this
/// moves are kept as [`Scan::xyz_f64`] too.
///
/// # Limits
/// [`Limits`](crate::Limits), and 1024 columns. Sizes are checked against the file's own before memory is taken.
///
/// # Errors
/// Every [`IoError`] but those about arguments and writing; the file is named in it.
///
/// ```
/// use pointmill_io::{ReadOptions, read, write_bin};
/// use pointmill_core::PointCloud;
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}.bin", std::process::id()));
/// let cloud = PointCloud::new(vec![1.0, 2.0, 3.0, 0.5], 4)?;
/// write_bin(&path, cloud.points())?;
/// let scan = read(&path, &ReadOptions::default())?;
/// assert_eq!(scan.cloud, cloud);
/// assert_eq!(scan.fields[3].name, "intensity");
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Scan, IoError> {
    let path = path.as_ref();
    let (mut file, length) = open(path)?;
    if length.is_none() {
        return read_stream(&mut file, path, options);
    }
    let known = options.format.or_else(|| Format::from_name(path));
    let format = match known {
        Some(format) => format,
        None => {
            let mut first = [0; 8];
            let got = Source::new(path, &mut file, None).fill(&mut first)?;
            file.rewind().map_err(IoError::io(path, "seek"))?;
            detect(None, path, &first[..got])?
        }
    };
    let bounds = Bounds::new(path, options)?;
    let rows = match format {
        Format::Npz => npz::read_rows(path, BufReader::new(file), &bounds)?,
        _ => read_plain(&mut Source::new(path, &mut file, length).within(bounds.limits.max_memory), format, &bounds)?,
    };
    rows.into_scan(path, format)
}

/// Reads the cloud in a stream, such as the standard input; `name` stands for the file's name, in finding the format and in
/// messages.
///
/// # Limits
/// As [`read`]. Memory is taken as the bytes come; an `.npz` archive is held in memory, up to 1 MiB and 64 bytes for each
/// point of the limit.
///
/// # Errors
/// As [`read`].
///
/// ```
/// use pointmill_io::{Format, ReadOptions, read_from};
/// let bytes: Vec<u8> = [1f32, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
/// let options = ReadOptions { format: Some(Format::Bin), columns: Some(3), ..ReadOptions::default() };
/// let scan = read_from(&bytes[..], "-", &options)?;
/// assert_eq!(scan.cloud.points().xyz(0), [1.0, 2.0, 3.0]);
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn read_from(mut reader: impl Read, name: &str, options: &ReadOptions) -> Result<Scan, IoError> {
    read_stream(&mut reader, name.as_ref(), options)
}

fn read_stream(reader: &mut dyn Read, path: &Path, options: &ReadOptions) -> Result<Scan, IoError> {
    let bounds = Bounds::new(path, options)?;
    let mut first = [0; 8];
    let got = Source::new(path, reader, None).fill(&mut first)?;
    let format = detect(options.format, path, &first[..got])?;
    let mut whole = (&first[..got]).chain(reader);
    let mut source = Source::new(path, &mut whole, None).within(bounds.limits.max_memory);
    let rows = match format {
        Format::Npz => {
            let most = bounds.limits.max_points.map_or(u64::MAX, |n| n.saturating_mul(64).saturating_add(1 << 20));
            let (bytes, _) = source.until_end::<u8>(most, false)?;
            if bytes.len() as u64 >= most {
                let found = format!("{} or more", bytes.len());
                let wanted = format!("less than {most} bytes (1 MiB, and 64 for each point of the limit)");
                return Err(IoError::LimitExceeded(source.detail("length", wanted, found)));
            }
            // What is held of the stream counts too.
            let left = bounds.limits.max_memory.map(|most| most.saturating_sub(source.taken()));
            let limits = Limits { max_memory: left, ..bounds.limits };
            npz::read_rows(path, Cursor::new(bytes), &Bounds { limits, ..bounds })?
        }
        _ => read_plain(&mut source, format, &bounds)?,
    };
    rows.into_scan(path, format)
}

/// The formats that need no way back in the stream.
fn read_plain(source: &mut Source<'_>, format: Format, bounds: &Bounds) -> Result<Rows, IoError> {
    match format {
        Format::Kitti | Format::Bin => bin::read_rows(source, bounds.columns.unwrap_or(4), bounds),
        Format::Nuscenes => bin::read_rows(source, bounds.columns.unwrap_or(5), bounds),
        Format::Npy | Format::Npz => npy::read_rows(source, bounds),
        Format::Ply => ply::read_rows(source, bounds),
        Format::Pcd => pcd::read_rows(source, bounds),
        Format::Las => las::read_rows(source, bounds),
    }
}

/// Opens a file; its length if it is one that has a length of its own.
pub(crate) fn open(path: &Path) -> Result<(File, Option<u64>), IoError> {
    let file = File::open(path).map_err(IoError::io(path, "open"))?;
    let metadata = file.metadata().map_err(IoError::io(path, "stat"))?;
    if metadata.is_dir() {
        return Err(IoError::io(path, "open")(ErrorKind::IsADirectory.into()));
    }
    // Pipes, devices and the files of /proc give a length of 0, whatever comes out of them.
    Ok((file, Some(metadata.len()).filter(|&n| metadata.is_file() && n > 0)))
}

/// Rows as a format's reader gives them.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) data: Vec<f32>,
    pub(crate) columns: usize,
    /// The type of all values in the file, where there is one for all.
    pub(crate) dtype: Dtype,
    /// The columns, where the file names them.
    pub(crate) fields: Option<Vec<Field>>,
    /// x, y, z of every row, where the file's types hold more than an `f32` does.
    pub(crate) xyz_f64: Option<Vec<f64>>,
    pub(crate) warnings: Vec<Warning>,
}

impl Rows {
    /// No rows; for what a reader has nothing to say about.
    pub(crate) const EMPTY: Self =
        Self { data: vec![], columns: 3, dtype: Dtype::F32, fields: None, xyz_f64: None, warnings: vec![] };

    fn into_scan(self, path: &Path, format: Format) -> Result<Scan, IoError> {
        let cloud = PointCloud::new(self.data, self.columns).map_err(|e| {
            IoError::ShapeMismatch(Detail::new(path, "points", "rows of 3 or more columns", e.to_string()))
        })?;
        let fields = self.fields.unwrap_or_else(|| unnamed(format, self.columns, self.dtype));
        Ok(Scan::new(cloud, format, fields, self.xyz_f64, self.warnings))
    }
}
