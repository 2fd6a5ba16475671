//! Archives of numpy arrays: `.npz`, a zip file with an `.npy` file for each array, stored or
//! deflated.

mod archive;
mod wide;

use crate::array::Array;
use crate::error::IoError;
use crate::fault::{bail, fault};
use crate::files::write_to;
use crate::files::{Destination, Place};
use crate::files::{open_at, open_named};
use crate::limits::{Bounds, Limits};
use crate::memory::refused;
use crate::named_points::NamedPoints;
use crate::npy;
use crate::rows::Rows;
use crate::source::ReadSeek;
use archive::Archive;
use pointmill_core::array::ArrayView;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader, Cursor, Seek, SeekFrom, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipWriter};

/// The array that holds a cloud's points.
const POINTS: &str = "points";
/// The array beside it that holds x, y, z where `f32` loses some of it.
const XYZ_F64: &str = "xyz_f64";
/// The array beside it that holds the origin of the points, where they are about one.
pub const ORIGIN: &str = "origin";

/// How every `.npz` file starts: with a member, or where it has none with the end record.
pub(crate) const SIGNATURES: &[&[u8]] = &[b"PK\x03\x04", b"PK\x05\x06"];

/// From here on an archive's member needs 64-bit sizes.
const LARGE: u64 = 0xff00_0000;

/// Reads every array of an `.npz` archive, by name, within [`Limits::default`].
///
/// Arrays come in C order, as from [`read_npy`](crate::read_npy). Members that are not `.npy` files
/// are left out.
///
/// # Limits
/// 10,000 members; unpacked, 256 MiB or 100 times the file, whichever is more; [`Limits`]. Memory
/// is taken as bytes come out of the archive, not as its headers claim.
///
/// # Errors
/// Any class of [`IoError`] about files; a member is named.
///
/// ```
/// use pointmill_io::{ArrayView, read_npz, write_npz};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}.npz", std::process::id()));
/// write_npz(&path, &[("coords", ArrayView::i32(&[1, 3], &[7, 8, 9])), ("mean", ArrayView::f32(&[1, 4], &[0.5; 4]))])?;
/// let arrays = read_npz(&path)?;
/// assert_eq!(arrays["coords"].as_i32()?, [7, 8, 9]);
/// assert_eq!(arrays["mean"].shape(), [1, 4]);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn read_npz(path: impl AsRef<Path>) -> Result<BTreeMap<String, Array>, IoError> {
    read_npz_within(path, &Limits::default())
}

/// Reads every array of an `.npz` archive as [`read_npz`] does, within limits of the caller's; of
/// them [`Limits::max_memory`] and
/// [`Limits::max_decoded_bytes`] count.
///
/// # Errors
/// As [`read_npz`].
///
/// ```
/// use pointmill_io::{ArrayView, Limits, read_npz_within, write_npz};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-within.npz", std::process::id()));
/// write_npz(&path, &[("a", ArrayView::u8(&[9], &[0; 9])), ("b", ArrayView::u8(&[9], &[0; 9]))])?;
/// let limits = Limits { max_memory: Some(17), ..Limits::default() };
/// assert_eq!(read_npz_within(&path, &limits).unwrap_err().class(), "LimitExceeded");
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn read_npz_within(path: impl AsRef<Path>, limits: &Limits) -> Result<BTreeMap<String, Array>, IoError> {
    read_some(Place::named(path.as_ref()), limits, |_| true)
}

/// Reads those arrays of an `.npz` archive that have one of the names given, as [`read_npz_within`]
/// does; others are passed over.
///
/// # Limits
/// As [`read_npz_within`]. What all members unpack to is compared with the limit, those that are
/// passed over too.
///
/// # Errors
/// As [`read_npz`]; a name that is not there is none.
///
/// ```
/// use pointmill_io::{ArrayView, Limits, read_npz_only, write_npz};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-only.npz", std::process::id()));
/// write_npz(&path, &[("a", ArrayView::u8(&[9], &[0; 9])), ("b", ArrayView::u8(&[9], &[0; 9]))])?;
/// let arrays = read_npz_only(&path, &["b", "c"], &Limits::default())?;
/// assert_eq!(arrays.keys().collect::<Vec<_>>(), ["b"]);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn read_npz_only(
    from: impl Destination,
    names: &[&str],
    limits: &Limits,
) -> Result<BTreeMap<String, Array>, IoError> {
    read_some(Place::of(&from), limits, |name| names.contains(&name))
}

/// Whether an archive has an array of this name; no array is read.
///
/// # Errors
/// What is no archive that is read; what the system refuses.
pub fn npz_has(path: &Path, name: &str, limits: &Limits) -> Result<bool, IoError> {
    let (file, _) = open_named(path)?;
    let names = Archive::open(path, BufReader::new(file), limits)?.names()?;
    Ok(names.iter().any(|(_, there)| there == name))
}

fn read_some(
    from: Place<'_>,
    limits: &Limits,
    wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, Array>, IoError> {
    let (path, (file, _)) = (from.path, open_at(from)?);
    let mut archive = Archive::open(path, BufReader::new(file), limits)?;
    let mut arrays = BTreeMap::new();
    for (index, name) in archive.names()?.into_iter().filter(|(_, name)| wanted(name)) {
        let array = archive.member(index, &name, npy::read_array)?.named(path.into(), Some(&name));
        arrays.insert(name, array);
    }
    Ok(arrays)
}

/// Writes arrays as an `.npz` archive, whole or not at all (see
/// [`write_whole`](crate::write_whole)).
///
/// The arrays are stored without compression, in the order given, and without the time of day: the
/// same arrays give the same bytes. A result that has [`NamedArrays`](crate::NamedArrays) is
/// written by `write_npz(path, &result.arrays())`.
///
/// # Errors
/// An empty name or one given twice; a shape that does not hold its values; values of `bf16`, which
/// numpy does not have; what the system refuses.
pub fn write_npz(to: impl Destination, arrays: &[(&str, ArrayView<'_>)]) -> Result<(), IoError> {
    check_arrays(to.path(), arrays)?;
    write_to(&to, |out| write_archive(out, arrays))
}

/// The bytes of the file that [`write_npz`] writes; `name` stands for it in errors.
///
/// ```
/// use pointmill_io::{ArrayView, npz_bytes};
/// let bytes = npz_bytes("a.npz", &[("count", ArrayView::i32(&[2], &[3, 4]))])?;
/// assert_eq!(bytes[..4], *b"PK\x03\x04");
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
///
/// # Errors
/// As [`write_npz`].
pub fn npz_bytes(name: impl AsRef<Path>, arrays: &[(&str, ArrayView<'_>)]) -> Result<Vec<u8>, IoError> {
    let name = name.as_ref();
    check_arrays(name, arrays)?;
    let mut out = Cursor::new(Vec::new());
    write_archive(&mut out, arrays).map_err(IoError::io(name, "write"))?;
    Ok(out.into_inner())
}

/// Checks the names and the shapes of the arrays of a file.
fn check_arrays(path: &Path, arrays: &[(&str, ArrayView<'_>)]) -> Result<(), IoError> {
    let mut names = BTreeSet::new();
    for (name, array) in arrays {
        if name.is_empty() || name.contains('\0') || !names.insert(name) {
            bail!(path, InvalidArgument, "array name", "names that differ, not empty, without NUL", "`{name}`");
        }
        npy::check_view(path, &format!("array `{name}`: "), array)?;
    }
    Ok(())
}

fn write_archive(out: &mut (impl Write + Seek), arrays: &[(&str, ArrayView<'_>)]) -> io::Result<()> {
    let mut out = UntilError { out, error: None, position: 0 };
    let done = write_members(&mut out, arrays);
    // The archive's writer wraps the system's answer in words of its own.
    out.error.map_or(done, Err)
}

/// Keeps the first error, and takes what comes after it without a word: an archive that is dropped
/// half written would complain on stderr.
struct UntilError<'a, W> {
    out: &'a mut W,
    error: Option<io::Error>,
    /// Where in the archive the next byte goes; after an error, where it would.
    position: u64,
}

impl<W> UntilError<'_, W> {
    fn keep<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|e| {
            let told = e.kind().into();
            self.error = Some(e);
            told
        })
    }
}

impl<W: Write> Write for UntilError<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = if self.error.is_some() { Ok(bytes.len()) } else { self.out.write(bytes) };
        let written = self.keep(done)?;
        self.position += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.error.is_some() {
            return Ok(());
        }
        let done = self.out.flush();
        self.keep(done)
    }
}

impl<W: Seek> Seek for UntilError<'_, W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let done = match to {
            _ if self.error.is_none() => self.out.seek(to),
            SeekFrom::Start(position) => Ok(position),
            SeekFrom::Current(by) | SeekFrom::End(by) => Ok(self.position.saturating_add_signed(by)),
        };
        self.position = self.keep(done)?;
        Ok(self.position)
    }
}

fn write_members(out: &mut UntilError<'_, impl Write + Seek>, arrays: &[(&str, ArrayView<'_>)]) -> io::Result<()> {
    let mut zip = ZipWriter::new(out);
    for (name, array) in arrays {
        let bytes = array.values().len() as u64 * array.dtype().bytes() as u64;
        let options = SimpleFileOptions::DEFAULT
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::DEFAULT)
            .system(System::Unix) // Else the byte that says it depends on the machine.
            .unix_permissions(0o644)
            .large_file(bytes >= LARGE);
        zip.start_file(format!("{name}.npy"), options)?;
        npy::write_array(&mut zip, array)?;
    }
    zip.finish()?;
    Ok(())
}

/// Writes a cloud as an `.npz` archive, whole or not at all (see
/// [`write_whole`](crate::write_whole)): the array `points`, `f32` of shape `[N, C]`, and where the
/// cloud has it `xyz_f64`, of shape `[N, 3]`; for each of [`NamedPoints::wide`] an array of shape
/// `[N]`, called by the column's name with `_f64`, `_i64` or `_u64` behind it; and where `points`
/// are about an origin `origin`, `f64 [3]`. [`read`](crate::read) takes them.
///
/// # Errors
/// Parts of the cloud that do not go together; what the system refuses.
pub fn write_points_npz(to: impl Destination, cloud: &NamedPoints<'_>) -> Result<(), IoError> {
    with_arrays(to.path(), cloud, |arrays| write_npz(Place::of(&to), arrays))
}

/// The bytes of the file that [`write_points_npz`] writes; `name` stands for it in errors.
///
/// # Errors
/// As [`write_points_npz`].
pub fn points_npz_bytes(name: impl AsRef<Path>, cloud: &NamedPoints<'_>) -> Result<Vec<u8>, IoError> {
    with_arrays(name.as_ref(), cloud, |arrays| npz_bytes(&name, arrays))
}

/// What is done with the arrays of a cloud.
fn with_arrays<T>(
    path: &Path,
    cloud: &NamedPoints<'_>,
    take: impl FnOnce(&[(&str, ArrayView<'_>)]) -> Result<T, IoError>,
) -> Result<T, IoError> {
    cloud.check(path)?;
    let (n, columns) = (cloud.points.len(), cloud.points.columns());
    let mut arrays = vec![(POINTS, ArrayView::f32(&[n, columns], cloud.points.data()))];
    arrays.extend(cloud.xyz_f64.map(|xyz| (XYZ_F64, ArrayView::f64(&[n, 3], xyz))));
    let wide = wide::arrays(cloud).map_err(refused(path, n, 2))?;
    arrays.extend(wide.iter().map(|(name, array)| (&**name, array.view())));
    arrays.extend((cloud.origin != [0.0; 3]).then(|| (ORIGIN, ArrayView::f64(&[3], &cloud.origin))));
    take(&arrays)
}

/// Reads the cloud of an archive: the array `points`, or the only one of two axes, with `xyz_f64`
/// and `origin` beside it.
pub(crate) fn read_rows(path: &Path, reader: &mut dyn ReadSeek, bounds: &Bounds) -> Result<Rows, IoError> {
    let mut archive = Archive::open(path, reader, &bounds.limits)?;
    let names = archive.names()?;
    let [exact, origin] = [XYZ_F64, ORIGIN].map(|wanted| names.iter().find(|(_, name)| name == wanted).cloned());
    let Some((index, name)) = names.iter().find(|(_, name)| name == POINTS).cloned() else {
        let (index, name) = archive.only_matrix(names, POINTS)?;
        return archive.member(index, &name, |source| npy::read_rows(source, bounds));
    };
    let mut rows = archive.member(index, &name, |source| npy::read_rows(source, bounds))?;
    if let Some((index, name)) = exact {
        let exact = archive.member(index, &name, npy::read_array)?.named(path.into(), Some(&name));
        exact.expect_shape(&[Some(rows.len()), Some(3)])?;
        rows.xyz_f64 = Some(exact.into_f64()?);
    }
    for (index, name) in names.iter().filter(|(_, name)| name != XYZ_F64) {
        let Some(column) = wide::column_of(name) else { continue };
        let array = archive.member(*index, name, npy::read_array)?;
        wide::take(&mut rows, column, &array, bounds.names.is_none());
    }
    rows.wide.sort_by_key(|wide| wide.column);
    if let Some((index, name)) = origin {
        let origin = archive.member(index, &name, npy::read_array)?.named(path.into(), Some(&name));
        origin.expect_shape(&[Some(3)])?;
        let (count, origin) = (rows.len(), finite_origin(path, origin.as_f64()?)?);
        rows.move_to_zero(origin).map_err(refused(path, count, 6))?;
    }
    Ok(rows)
}

/// The origin of a file, if it is finite.
///
/// # Errors
/// Another number than three, or one that is not finite.
pub fn finite_origin(path: &Path, origin: &[f64]) -> Result<[f64; 3], IoError> {
    match *origin {
        [x, y, z] if [x, y, z].iter().all(|v| v.is_finite()) => Ok([x, y, z]),
        _ => Err(fault!(path, BadValue, "array `origin`", "three finite numbers", "{origin:?}")),
    }
}
