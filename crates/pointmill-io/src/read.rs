//! From a path or a stream to a cloud: finds the format, hands the bytes to its reader.

use crate::bag::Extrinsics;
use crate::dataset::Dataset;
use crate::error::IoError;
use crate::fault::{bail, fault};
use crate::files::open_named;
use crate::format::Format;
use crate::formats::{LOOKED_AT, Reader, detect};
use crate::limits::{Bounds, Limits};
use crate::memory::refused;
use crate::prj::with_prj;
use crate::rows::Rows;
use crate::scan::Scan;
use crate::source::Source;
use pointmill_core::LocalOrigin;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

/// How to read a cloud.
///
/// ```
/// use pointmill_io::{Format, ReadOptions};
/// let options = ReadOptions { format: Some(Format::Bin), columns: Some(6), ..ReadOptions::default() };
/// assert_eq!(options.limits.max_points, Some(1 << 30));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// The data set that the files are of, which names the columns of rows, and whose points are
    /// turned up where its
    /// [calibration is off](Dataset::vertical_angle); by default none. A format or a number of columns that the data set does not have is an error.
    pub dataset: Option<Dataset>,
    /// The format; by default found by name, then by content.
    pub format: Option<Format>,
    /// The number of columns. Raw rows are cut by it (default 4, nuScenes 5); arrays must have it
    /// if it is given.
    pub columns: Option<usize>,
    /// The scan of an E57 file, from 0; by default all of them.
    pub scan: Option<usize>,
    /// The topics of a bag; by default its only one of clouds. [`Bag::sweeps`](crate::bag::Bag::sweeps)
    /// joins several; a bag of one cloud has one.
    pub topics: Vec<String>,
    /// Where the sensors of topics are, which moves the clouds of bags; by default static transforms of
    /// the bag move those of several topics.
    pub extrinsics: Option<Extrinsics>,
    /// Whether of a file that was cut or damaged what is whole is read, with a
    /// [`Warning::Salvaged`](crate::Warning::Salvaged); by default a file is read whole or not at
    /// all. Of raw rows, binary PLY and PCD, and LAS these are the points before the cut; of LAZ
    /// and bags the whole chunks. Records of LAS other than points need not be as the header says.
    pub salvage: bool,
    /// The part of the plane whose points are read: smallest x and y, largest x and y in metres,
    /// inclusive; by default all points. Of a COPC file only the nodes that meet it are unpacked.
    /// Points outside, and those that are not finite, are left out with their times.
    pub area: Option<[f64; 4]>,
    /// The origin that the points of the cloud are about, by default none; see [`Scan::about`]. The
    /// command and the Python package ask for
    /// [`LocalOrigin::Auto`].
    pub origin: LocalOrigin,
    /// How much a read may take.
    pub limits: Limits,
}

/// Reads the cloud in a file.
///
/// The format is the one asked for, else the one of the first bytes, else the one of the name. Points
/// keep their order; NaN and infinities stay and are counted in a warning; values of other types
/// than `f32` are cast once, and coordinates that this moves are kept as [`Scan::xyz_f64`] too.
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
    let (mut file, length) = open_named(path)?;
    let scan = match length {
        Some(length) => read_input(path, Input::File(file, length), options),
        None => read_input(path, Input::Stream(&mut file), options),
    };
    Ok(with_prj(scan?, path))
}

/// The scan of rows, as the options ask for it.
fn scan(rows: Rows, path: &Path, format: Format, options: &ReadOptions) -> Result<Scan, IoError> {
    let raised = options.dataset.and_then(Dataset::vertical_angle);
    let (scan, seen) = Scan::new(rows, path, format)?;
    let scan = if let Some(angle) = raised { scan.raised(angle) } else { scan };
    let refused = refused(path, scan.cloud.len(), 6);
    if let Some(area) = options.area {
        return scan.within(area).try_about(options.origin).map_err(refused);
    }
    let origin = match (options.origin, seen.auto_origin().filter(|_| raised.is_none())) {
        (LocalOrigin::Auto, Some(origin)) => LocalOrigin::At(origin),
        (asked, _) => asked,
    };
    scan.try_about(origin).map_err(refused)
}

/// The format that is asked for, by itself or by a data set.
fn asked(path: &Path, options: &ReadOptions) -> Result<Option<Format>, IoError> {
    let of_dataset = options.dataset.map(|dataset| dataset.format(path, options.format)).transpose()?;
    Ok(of_dataset.or(options.format))
}

/// What readers keep to.
fn bounds(path: &Path, options: &ReadOptions, format: Format) -> Result<Bounds, IoError> {
    let refuse = |field: &str, wanted: &str| Err(fault!(path, InvalidArgument, field, wanted, format.as_str()));
    if options.scan.is_some() && format != Format::E57 {
        return refuse("scan", "an E57 file, which alone has scans");
    }
    if let LocalOrigin::At(origin) = options.origin
        && !origin.iter().all(|v| v.is_finite())
    {
        bail!(path, InvalidArgument, "origin", "three finite numbers", "{origin:?}");
    }
    if let Some([x0, y0, x1, y1]) = options.area
        && !(x0 <= x1 && y0 <= y1)
    {
        bail!(path, InvalidArgument, "area", "x0 <= x1 and y0 <= y1", "{x0}, {y0}, {x1}, {y1}");
    }
    if !options.topics.is_empty() && !format.is_bag() {
        return refuse("topic", "a bag, which alone has topics");
    }
    if options.extrinsics.is_some() {
        return refuse("extrinsics", "a bag of sweeps, whose sensors they place");
    }
    if let [_, _, ..] = options.topics[..] {
        bail!(path, InvalidArgument, "topic", "one topic of a bag of one cloud", (options.topics.join(", ")));
    }
    let (columns, names) = match options.dataset {
        None => (options.columns, None),
        Some(dataset) => {
            let names = Some(dataset.columns(format)).filter(|names| !names.is_empty());
            (dataset.check_columns(path, format, options.columns)?, names)
        }
    };
    Ok(Bounds {
        names,
        salvage: options.salvage,
        scan: options.scan,
        topic: options.topics.first().cloned(),
        // Of points that are turned, files do not tell which lie in an area.
        area: options.area.filter(|_| options.dataset.and_then(Dataset::vertical_angle).is_none()),
        ..Bounds::new(path, columns, &options.limits)?
    })
}

/// Reads the cloud in a stream, such as the standard input; `name` stands for the file's name, in
/// finding the format and in messages.
///
/// # Limits
/// As [`read`]. Memory is taken as the bytes come; an `.npz` archive is held in memory, up to 1 MiB
/// and 64 bytes for each point of the limit.
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
    read_input(name.as_ref(), Input::Stream(&mut reader), options)
}

/// Where bytes come from.
enum Input<'r> {
    /// A file, and its length.
    File(File, u64),
    Stream(&'r mut dyn Read),
}

fn read_input(path: &Path, mut input: Input<'_>, options: &ReadOptions) -> Result<Scan, IoError> {
    let reader: &mut dyn Read = match &mut input {
        Input::File(file, _) => file,
        Input::Stream(reader) => reader,
    };
    let mut first = [0; LOOKED_AT];
    let got = Source::new(path, reader, None).fill(&mut first)?;
    let (format, other) = detect(asked(path, options)?, path, &first[..got])?;
    let bounds = bounds(path, options, format)?;
    let mut rows = match input {
        Input::File(mut file, length) => {
            file.rewind().map_err(IoError::io(path, "seek"))?;
            match format.reader() {
                Reader::Stream(read) => {
                    read(&mut Source::new(path, &mut file, Some(length)).within(bounds.limits.max_memory), &bounds)?
                }
                Reader::Seek(read) => read(path, &mut BufReader::new(file), &bounds)?,
            }
        }
        Input::Stream(reader) => {
            let mut whole = (&first[..got]).chain(reader);
            let mut source = Source::new(path, &mut whole, None).within(bounds.limits.max_memory);
            match format.reader() {
                Reader::Stream(read) => read(&mut source, &bounds)?,
                Reader::Seek(read) => {
                    let (bytes, bounds) = hold(&mut source, bounds)?;
                    read(path, &mut Cursor::new(bytes), &bounds)?
                }
            }
        }
    };
    rows.warnings.splice(0..0, other);
    scan(rows, path, format, options)
}

/// All bytes of a stream, and what may still be taken beside them.
fn hold(source: &mut Source<'_>, bounds: Bounds) -> Result<(Vec<u8>, Bounds), IoError> {
    let most = bounds.limits.max_points.map_or(u64::MAX, |n| n.saturating_mul(64).saturating_add(1 << 20));
    let (bytes, _) = source.until_end::<u8>(most, false)?;
    if bytes.len() as u64 >= most {
        let wanted = format!("less than {most} bytes (1 MiB, and 64 for each point of the limit)");
        bail!(source, LimitExceeded, "length", wanted, ("{} or more", bytes.len()));
    }
    let max_memory = bounds.limits.max_memory.map(|most| most.saturating_sub(source.taken()));
    let limits = Limits { max_memory, ..bounds.limits };
    Ok((bytes, Bounds { limits, ..bounds }))
}
