//! Numpy arrays: `.npy` files, and the members of `.npz` archives.

mod dtype;
mod header;
mod record;
mod text;

pub(crate) use header::Header;
pub(crate) use text::MAX_AXES;

use crate::array::{Array, ArrayData, check_shape};
use crate::column_guess::USUAL_COLUMNS;
use crate::error::IoError;
use crate::fault::{bail, fault};
use crate::field::{Field, XYZ};
use crate::files::open_named;
use crate::files::write_to;
use crate::files::{Destination, Place};
use crate::limits::{Bounds, Limits};
use crate::named_points::NamedPoints;
use crate::records::{Columns, Entry, Order, Table, records};
use crate::rows::Rows;
use crate::source::Source;
use crate::values::write_values;
use crate::warning::Warning;
use crate::window::Window;
use dtype::descr;
use pointmill_core::array::{ArrayView, Dtype, Values};
use record::Record;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// How every `.npy` file starts.
pub(crate) const SIGNATURES: &[&[u8]] = &[header::MAGIC];

/// Reads an array from an `.npy` file, within [`Limits::default`].
///
/// Arrays in Fortran order are transposed and big-endian values swapped: what comes back is in C
/// order. Bytes after the data are ignored, as numpy does.
///
/// # Errors
/// Anything but an array of booleans, integers or floats; a file shorter than its header says,
/// before any memory is taken.
///
/// ```
/// use pointmill_io::{ArrayView, read_npy, write_npy};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}.npy", std::process::id()));
/// write_npy(&path, &ArrayView::i32(&[2, 2], &[1, 2, 3, 4]))?;
/// assert_eq!(read_npy(&path)?.into_i32()?, [1, 2, 3, 4]);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn read_npy(path: impl AsRef<Path>) -> Result<Array, IoError> {
    read_npy_within(path, &Limits::default())
}

/// Reads an array from an `.npy` file as [`read_npy`] does, within limits of the caller's; of them
/// [`Limits::max_memory`] counts.
///
/// # Errors
/// As [`read_npy`].
///
/// ```
/// use pointmill_io::{ArrayView, Limits, read_npy_within, write_npy};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-within.npy", std::process::id()));
/// write_npy(&path, &ArrayView::i32(&[2, 2], &[1, 2, 3, 4]))?;
/// let limits = Limits { max_memory: Some(15), ..Limits::default() };
/// assert_eq!(read_npy_within(&path, &limits).unwrap_err().class(), "LimitExceeded");
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn read_npy_within(path: impl AsRef<Path>, limits: &Limits) -> Result<Array, IoError> {
    let path = path.as_ref();
    let (mut file, length) = open_named(path)?;
    let mut source = Source::new(path, &mut file, length).within(limits.max_memory);
    Ok(read_array(&mut source)?.named(path.into(), None))
}

/// Writes an array as an `.npy` file, whole or not at all (see
/// [`write_whole`](crate::write_whole)).
///
/// # Errors
/// A shape that does not hold the values; what the system refuses.
pub fn write_npy(to: impl Destination, array: &ArrayView<'_>) -> Result<(), IoError> {
    let path = to.path();
    check_view(path, "", array)?;
    write_to(&to, |out| write_array(out, array))
}

/// Writes the points of a cloud as an `.npy` file of `f32`, of shape `[N, C]`.
pub(crate) fn write_points(to: Place<'_>, cloud: &NamedPoints<'_>) -> Result<(), IoError> {
    let points = cloud.points;
    write_npy(to, &ArrayView::f32(&[points.len(), points.columns()], points.data()))
}

/// Reads the array that the source holds.
pub(crate) fn read_array(source: &mut Source<'_>) -> Result<Array, IoError> {
    let header = Header::read(source)?;
    if header.record.is_some() {
        bail!(source, UnsupportedFormat, "descr", "one element type", "a structure with fields");
    }
    check_bytes(source, &header)?;
    let (n, big) = (header.count, header.big_endian);
    /// Reads the values and brings them into C order.
    macro_rules! data {
        ($variant:ident, $read:expr) => {
            ArrayData::$variant({
                let values = $read?;
                c_order(source, values, &header)?
            })
        };
    }
    let data = match header.dtype {
        Dtype::F32 => data!(F32, source.values(n, big)),
        Dtype::F64 => data!(F64, source.values(n, big)),
        Dtype::F16 => data!(F16, source.values(n, big)),
        Dtype::Bf16 => data!(Bf16, source.values(n, big)),
        Dtype::I8 => data!(I8, source.values(n, big)),
        Dtype::I16 => data!(I16, source.values(n, big)),
        Dtype::I32 => data!(I32, source.values(n, big)),
        Dtype::I64 => data!(I64, source.values(n, big)),
        Dtype::U8 => data!(U8, source.values(n, big)),
        Dtype::U16 => data!(U16, source.values(n, big)),
        Dtype::U32 => data!(U32, source.values(n, big)),
        Dtype::U64 => data!(U64, source.values(n, big)),
        Dtype::Bool => data!(Bool, source.values(n, big).map(|v: Vec<u8>| v.into_iter().map(|v| v != 0).collect())),
    };
    Array::new(header.shape, data)
}

/// Whether an array of so many rows and columns has a point in each column: few rows, as many as
/// points have columns, that are far longer than rows of points are. `None` where that is open.
///
/// ```
/// use pointmill_io::is_transposed;
/// assert_eq!(is_transposed(4, 300), Some(true));
/// assert_eq!(is_transposed(300, 4), Some(false));
/// assert_eq!(is_transposed(4, 20), None);
/// ```
pub fn is_transposed(rows: usize, columns: usize) -> Option<bool> {
    const LONG: usize = 64;
    match () {
        () if !USUAL_COLUMNS.contains(&rows) || columns <= *USUAL_COLUMNS.end() => Some(false),
        () if columns >= LONG => Some(true),
        () => None,
    }
}

/// Reads the array that the source holds as the rows of a cloud.
pub(crate) fn read_rows(source: &mut Source<'_>, bounds: &Bounds) -> Result<Rows, IoError> {
    let mut header = Header::read(source)?;
    if let Some(record) = header.record.take() {
        return structures(source, bounds, &Header { record: Some(record.clone()), ..header }, record);
    }
    let turned = turn(&mut header, bounds);
    let mut rows = matrix(source, bounds, &header)?;
    rows.warnings.splice(0..0, turned);
    Ok(rows)
}

/// Makes columns the rows of a header whose array is transposed, and warns of it. The number of
/// columns that is asked for decides first.
fn turn(header: &mut Header, bounds: &Bounds) -> Option<Warning> {
    let [rows, columns] = header.shape[..] else { return None };
    let is_turned = match bounds.columns {
        Some(wanted) if wanted == columns => return None,
        Some(wanted) if wanted == rows => Some(true),
        Some(_) => return None,
        None => is_transposed(rows, columns),
    };
    if is_turned == Some(true) {
        header.shape.reverse();
        header.fortran = !header.fortran;
        return Some(Warning::Transposed { rows, columns });
    }
    is_turned.is_none().then_some(Warning::FewRows { rows, columns })
}

/// Reads an array of one element type, which has a point a row.
fn matrix(source: &mut Source<'_>, bounds: &Bounds, header: &Header) -> Result<Rows, IoError> {
    let columns = match header.shape[..] {
        [_, columns] if columns >= 3 => columns,
        _ => {
            bail!(source, ShapeMismatch, "shape", "[N, C] with C of 3 or more", ("{:?}", header.shape));
        }
    };
    bounds.check_columns(source, columns)?;
    check_bytes(source, header)?;
    bounds.check_points(source, header.shape[0] as u64)?;
    if matches!(header.dtype, Dtype::Bool | Dtype::Bf16) {
        bail!(source, DtypeMismatch, "descr", "a float or integer type", header.dtype.as_str());
    }
    let dtype = header.dtype;
    let fields = Field::of_one_type(bounds.names.unwrap_or(XYZ), columns, dtype);
    if dtype != Dtype::F32 {
        let entry = |(j, field): (usize, Field)| Entry::new(field.name, dtype, 0, j * dtype.bytes());
        let entries = fields.into_iter().enumerate().map(entry).collect();
        return table(source, bounds, header, entries, (columns * dtype.bytes(), header.big_endian));
    }
    let data = source.values(header.count, header.big_endian)?;
    let data = c_order(source, data, header)?;
    let mut rest = [0; 4096];
    let rest = match source.left() {
        Some(left) => left,
        None => source.fill(&mut rest)? as u64,
    };
    let warnings = if rest > 0 { vec![Warning::TrailingBytes { bytes: rest }] } else { vec![] };
    Ok(Rows { warnings, ..Rows::new(fields, data) })
}

/// Reads an array of structures, whose fields are the columns.
fn structures(source: &mut Source<'_>, bounds: &Bounds, header: &Header, record: Record) -> Result<Rows, IoError> {
    let is_list = header.shape.iter().filter(|&&n| n != 1).count() <= 1 && !header.shape.is_empty();
    if !is_list {
        bail!(source, ShapeMismatch, "shape", "[N] of structures", ("{:?}", header.shape));
    }
    check_bytes(source, header)?;
    bounds.check_points(source, header.count as u64)?;
    let orders: Vec<bool> = record.fields.iter().filter(|f| f.dtype.bytes() > 1).map(|f| f.big_endian).collect();
    let big_endian = orders.first().copied().unwrap_or_default();
    if orders.iter().any(|order| *order != big_endian) {
        bail!(source, UnsupportedFormat, "descr", "numbers of one byte order", "both");
    }
    let entries = record.fields.iter().flat_map(|f| Entry::of_field(&f.name, f.dtype, f.count, 0, f.at)).collect();
    let mut rows = table(source, bounds, header, entries, (record.bytes, big_endian))?;
    rows.warnings.splice(0..0, record.warnings);
    Ok(rows)
}

/// Reads rows of so many bytes and a byte order.
fn table(
    source: &mut Source<'_>,
    bounds: &Bounds,
    header: &Header,
    entries: Vec<Entry>,
    (each, big_endian): (usize, bool),
) -> Result<Rows, IoError> {
    let rows = header.bytes() / each as u64;
    let mut window = Window::new(source);
    let mut table = Table::new(Columns::new(&window, bounds, entries, each)?);
    let short = |window: &Window<'_, '_>, found: u64| {
        fault!(window, Truncated, "data", ("{} bytes", header.bytes()), "{found} bytes")
    };
    if header.fortran && header.record.is_none() {
        let mut bytes = vec![];
        let found = window.read_into(&mut bytes, header.bytes())?;
        if found < header.bytes() {
            return Err(short(&window, found));
        }
        table.push(&window, &bytes, rows as usize, Order::Fields, big_endian)?;
    } else {
        records(&mut window, &mut table, rows, each, big_endian, false, short)?;
    }
    Ok(table.into_rows(window.rest()?))
}

/// Checks what the header says against the bytes that can come.
fn check_bytes(source: &Source<'_>, header: &Header) -> Result<(), IoError> {
    match source.at_most() {
        Some(left) if left < header.bytes() => {
            let each = header.record.as_ref().map_or(header.dtype.as_str(), |_| "structures");
            let wanted = format!("{} bytes for {each} {:?}", header.bytes(), header.shape);
            Err(fault!(source, Truncated, "data", wanted, "{left} bytes"))
        }
        _ => Ok(()),
    }
}

/// Brings values as stored into C order.
fn c_order<T: Copy>(source: &Source<'_>, data: Vec<T>, header: &Header) -> Result<Vec<T>, IoError> {
    let shape = &header.shape;
    // With one axis longer than 1 both orders are the same.
    if !header.fortran || data.is_empty() || shape.iter().filter(|&&n| n > 1).count() < 2 {
        return Ok(data);
    }
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for &n in shape {
        strides.push(stride);
        stride *= n;
    }
    let last = shape.len() - 1;
    let mut out = source.room(data.len())?;
    let mut index = vec![0; last];
    let mut start = 0;
    loop {
        out.extend((0..shape[last]).map(|i| data[start + i * strides[last]]));
        // Count up the indices before the last, as an odometer does.
        let mut axis = last;
        loop {
            if axis == 0 {
                return Ok(out);
            }
            axis -= 1;
            index[axis] += 1;
            start += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            start -= index[axis] * strides[axis];
            index[axis] = 0;
        }
    }
}

/// Checks that a view can be written.
pub(crate) fn check_view(path: &Path, prefix: &str, array: &ArrayView<'_>) -> Result<(), IoError> {
    let axes = array.shape().len();
    if axes > MAX_AXES {
        let [wanted, found] = [MAX_AXES, axes].map(|n| format!("{n} axes"));
        bail!(path, ShapeMismatch, "{prefix}shape", wanted, found);
    }
    if descr(array.dtype()).is_none() {
        bail!(path, DtypeMismatch, "{prefix}element type", "a type of numpy", array.dtype().as_str());
    }
    check_shape(path, prefix, array.shape(), array.values().len())
}

/// Writes the header and the values; the view has been checked.
pub(crate) fn write_array(out: &mut dyn Write, array: &ArrayView<'_>) -> std::io::Result<()> {
    let descr = descr(array.dtype()).ok_or(ErrorKind::InvalidInput)?;
    out.write_all(&Header::bytes_for(&descr, array.shape()))?;
    match array.values() {
        Values::F32(v) => write_values(out, v, f32::to_le_bytes),
        Values::F64(v) => write_values(out, v, f64::to_le_bytes),
        Values::F16(v) | Values::Bf16(v) | Values::U16(v) => write_values(out, v, u16::to_le_bytes),
        Values::I8(v) => write_values(out, v, i8::to_le_bytes),
        Values::I16(v) => write_values(out, v, i16::to_le_bytes),
        Values::I32(v) => write_values(out, v, i32::to_le_bytes),
        Values::I64(v) => write_values(out, v, i64::to_le_bytes),
        Values::U8(v) => out.write_all(v),
        Values::U32(v) => write_values(out, v, u32::to_le_bytes),
        Values::U64(v) => write_values(out, v, u64::to_le_bytes),
        Values::Bool(v) => write_values(out, v, |b| [u8::from(b)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_order_is_transposed() {
        let header = |shape: &[usize]| Header {
            record: None,
            dtype: Dtype::I32,
            big_endian: false,
            fortran: true,
            shape: shape.to_vec(),
            count: shape.iter().product(),
        };
        let mut none = [].as_slice();
        let source = Source::new("a".as_ref(), &mut none, None);
        let ordered = |data: Vec<i32>, shape: &[usize]| c_order(&source, data, &header(shape)).unwrap();
        assert_eq!(ordered(vec![1, 4, 2, 5, 3, 6], &[2, 3]), [1, 2, 3, 4, 5, 6]);
        assert_eq!(ordered(vec![1, 2, 3], &[3, 1]), [1, 2, 3]);
        assert_eq!(ordered(vec![], &[0, 3]), [0; 0]);
        // Entry (i, j, k) of shape [2, 3, 4] is 100 i + 10 j + k.
        let shape = [2, 3, 4];
        let mut stored = vec![];
        for k in 0..4 {
            for j in 0..3 {
                for i in 0..2 {
                    stored.push(100 * i + 10 * j + k);
                }
            }
        }
        let mut wanted = stored.clone();
        wanted.sort_unstable();
        assert_eq!(ordered(stored, &shape), wanted);
    }
}
