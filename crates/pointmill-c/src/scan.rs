//! Clouds of files and of messages, as the readers of the library see them.

use crate::array::{View, give, pointmill_array};
use crate::error::{Result, guard, pointmill_status};
use crate::handle::{create, destroy, fill, flag, given, list, some, structs, text};
use pointmill::Device;
use pointmill_io::bag::{CloudParts, FieldParts, PointCloud2, TimeOrigin};
use pointmill_io::{Limits, ReadOptions, Scan, read};
use std::ffi::{CString, c_char, c_void};

/// A field of a `sensor_msgs/PointCloud2`, as the message has it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_message_field {
    /// Its name.
    pub name: *const c_char,
    /// Bytes from the beginning of the point.
    pub offset: u32,
    /// The type of its numbers, as the message has it.
    pub datatype: u32,
    /// How many numbers it has.
    pub count: u32,
}

/// A `sensor_msgs/PointCloud2` in memory of the host, as the message has it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_message {
    /// sizeof(pointmill_message)
    pub struct_size: usize,
    /// The fields.
    pub fields: *const pointmill_message_field,
    /// How many.
    pub num_fields: u64,
    /// The bytes of the points.
    pub data: *const c_void,
    /// How many.
    pub num_bytes: u64,
    /// Rows of an organized cloud, else 1.
    pub height: u32,
    /// Points of a row.
    pub width: u32,
    /// Bytes of a point.
    pub point_step: u32,
    /// Bytes of a row.
    pub row_step: u32,
    /// Whether numbers have their highest byte first.
    pub is_bigendian: u32,
}

/// What a scan has.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_scan_info {
    /// sizeof(pointmill_scan_info)
    pub struct_size: usize,
    /// The number of points.
    pub points: u64,
    /// The number of columns.
    pub columns: u64,
    /// Whether points have times.
    pub has_times: u32,
    /// Whether times count from 1970, and not from the stamp of the message.
    pub times_of_epoch: u32,
    /// The earliest time in seconds; 0 without times.
    pub start: f64,
    /// Seconds from the earliest to the latest time.
    pub span: f64,
}
structs!(pointmill_message, pointmill_scan_info);

/// A cloud of a file or of a message, on the host.
#[derive(Debug)]
pub struct pointmill_scan {
    scan: Scan,
    /// Seconds after the earliest time.
    times: Vec<f64>,
    info: pointmill_scan_info,
    columns: Vec<CString>,
    warnings: Vec<CString>,
}

impl pointmill_scan {
    fn new(scan: Scan) -> Result<Self> {
        let c = |text: String| CString::new(text.replace('\0', " ")).unwrap_or_default();
        let found = scan.times();
        let info = pointmill_scan_info {
            struct_size: size_of::<pointmill_scan_info>(),
            points: scan.cloud.len() as u64,
            columns: scan.cloud.columns() as u64,
            has_times: flag(found.is_some()),
            times_of_epoch: flag(found.as_ref().is_some_and(|times| TimeOrigin::of(times) == TimeOrigin::Epoch)),
            start: found.as_ref().map_or(0.0, |times| times.start),
            span: found.as_ref().map_or(0.0, pointmill_io::Times::span),
        };
        let columns = scan.fields.iter().map(|field| c(field.name.clone())).collect();
        let warnings = scan.warnings.iter().map(|warning| c(warning.to_string())).collect();
        Ok(Self { scan, times: found.map_or_else(Vec::new, |times| times.seconds), info, columns, warnings })
    }
}

/// Reads a file of any format of the library: its first bytes decide which.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_scan_read(path: *const c_char, scan: Option<&mut *mut pointmill_scan>) -> pointmill_status {
    guard(|| create(scan, || pointmill_scan::new(read(text(path, "path")?, &ReadOptions::default())?)))
}

/// Reads a message: fields of any type, in either order of bytes, wherever they are. Sizes that the
/// others and the number of bytes contradict do not count, with a warning.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_scan_of_message(
    message: *const pointmill_message,
    scan: Option<&mut *mut pointmill_scan>,
) -> pointmill_status {
    guard(|| {
        create(scan, || {
            let message = given(message).map_err(|fault| fault.about("message"))?;
            let fields = list(message.fields, message.num_fields, "fields")?;
            let field = |field: &pointmill_message_field| {
                let name = text(field.name, "fields")?;
                // What is no byte is no type either.
                let datatype = u8::try_from(field.datatype).unwrap_or(0);
                Ok(FieldParts { name, offset: field.offset, datatype, count: field.count })
            };
            let parts = CloudParts {
                height: message.height,
                width: message.width,
                fields: fields.iter().map(field).collect::<Result<_>>()?,
                big_endian: message.is_bigendian != 0,
                point_step: message.point_step,
                row_step: message.row_step,
                data: list(message.data.cast::<u8>(), message.num_bytes, "data")?,
            };
            let limits = Limits::default();
            pointmill_scan::new(PointCloud2::of_parts(parts, "message")?.scan("message", &limits)?)
        })
    })
}

/// What the scan has.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_scan_get_info(
    scan: Option<&pointmill_scan>,
    info: *mut pointmill_scan_info,
) -> pointmill_status {
    guard(|| fill(info, some(scan, "scan")?.info))
}

/// An array of the host: "points" [N, C] of f32, x, y, z and then the other columns; "cloud", what operators
/// take: x, y, z of f64 where an f32 loses some of one, else as "points"; "times" [N] of f64, seconds after
/// `start`, NaN of points without, and of no rows where no point has one.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_scan_array(
    scan: Option<&pointmill_scan>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_scan { scan, times, .. } = some(scan, "scan")?;
        let points = View::of_values(scan.cloud.data(), scan.cloud.columns());
        let cloud = scan.xyz_f64.as_ref().map_or(points, |xyz| View::of_values(xyz, 3));
        let views = [("points", points), ("cloud", cloud), ("times", View::of_values(times, 1))];
        give(&views, name, &Device::cpu().stream()?, array)
    })
}

/// The name of a column, or null past the last. The text is the scan's.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_scan_column(scan: Option<&pointmill_scan>, column: u64) -> *const c_char {
    nth(scan.map(|scan| &scan.columns), column)
}

/// What is odd about the cloud, one text after the other, or null past the last. The text is the scan's.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_scan_warning(scan: Option<&pointmill_scan>, index: u64) -> *const c_char {
    nth(scan.map(|scan| &scan.warnings), index)
}

fn nth(texts: Option<&Vec<CString>>, index: u64) -> *const c_char {
    let text = usize::try_from(index).ok().and_then(|index| texts?.get(index));
    text.map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Destroys the scan and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_scan_destroy(scan: Option<Box<pointmill_scan>>) {
    destroy(scan);
}
