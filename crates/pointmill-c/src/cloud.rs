//! Clouds as messages have them: fields at offsets in rows of bytes.

use crate::array::{dtype, pointmill_array, pointmill_type, type_number};
use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{choice, defaults, fill, given, structs};
use pointmill::Dtype;
use std::ffi::c_void;

/// Fields of a view at most.
const MAX_FIELDS: usize = 16;

/// Layouts of points that Autoware's nodes take.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum pointmill_layout {
    /// x, y, z, intensity of f32: 16 bytes.
    POINTMILL_XYZI = 0,
    /// x, y, z of f32, intensity and return type of u8, channel of u16: 16 bytes. Its fields are x, y, z,
    /// intensity.
    POINTMILL_XYZIRC = 1,
    /// The same, then azimuth, elevation and distance of f32, and a time stamp of u32: 32 bytes. Its
    /// fields are x, y, z, intensity.
    POINTMILL_XYZIRCAEDT = 2,
}

/// One number of each point.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct pointmill_field {
    /// Bytes from the beginning of the point.
    pub offset: u32,
    /// A pointmill_type; those of sensor_msgs/PointField have the same numbers.
    pub r#type: u32,
}

/// A view of a `sensor_msgs/PointCloud2`, or of what has points in the same way.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_cloud {
    /// sizeof(pointmill_cloud)
    pub struct_size: usize,
    /// The first point.
    pub data: *const c_void,
    /// The number of points: width times height.
    pub points: u64,
    /// Bytes from one point to the next.
    pub point_step: u64,
    /// A pointmill_place.
    pub place: u32,
    /// The number of fields, 3 to 16.
    pub num_fields: u32,
    /// The fields in the order that an operator is to see them, x, y, z first.
    pub fields: [pointmill_field; 16],
}
structs!(pointmill_cloud);

impl pointmill_cloud {
    fn new(layout: u32, data: *const c_void, points: u64, place: u32) -> Result<Self> {
        let f32_ = pointmill_type::POINTMILL_F32 as u32;
        let layouts =
            [(16, f32_), (16, pointmill_type::POINTMILL_U8 as u32), (32, pointmill_type::POINTMILL_U8 as u32)];
        let (point_step, intensity) = choice(&layouts, layout, "layout")?;
        let mut fields = [pointmill_field::default(); 16];
        for (field, offset) in fields.iter_mut().zip([0, 4, 8, 12]) {
            *field = pointmill_field { offset, r#type: if offset < 12 { f32_ } else { intensity } };
        }
        Ok(Self { struct_size: size_of::<Self>(), data, points, point_step, place, num_fields: 4, fields })
    }

    /// The fields, each within the point.
    fn fields(&self) -> Result<Vec<(usize, Dtype)>> {
        let fields = self.fields.get(..self.num_fields as usize).filter(|fields| fields.len() >= 3);
        let expected = format_args!("3 to {MAX_FIELDS}");
        let fields = fields.ok_or_else(|| Fault::new("num_fields", expected, self.num_fields))?;
        let checked = fields.iter().map(|field| {
            let (dtype, offset) = (dtype(field.r#type).map_err(|fault| fault.about("fields"))?, field.offset as usize);
            let fits = offset as u64 + dtype.bytes() as u64 <= self.point_step;
            let got = format_args!("{dtype} at offset {offset}");
            if fits {
                Ok((offset, dtype))
            } else {
                Err(Fault::new("fields", format_args!("fields within {} bytes", self.point_step), got))
            }
        });
        checked.collect()
    }
}

/// A view of points in a pointmill_layout.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_cloud_of_layout(
    cloud: *mut pointmill_cloud,
    layout: u32,
    data: *const c_void,
    points: u64,
    place: u32,
) -> pointmill_status {
    guard(|| {
        let made = pointmill_cloud::new(layout, data, points, place)?;
        let (before, status) = (Fault::failures(), defaults(cloud, || made));
        if status == pointmill_status::POINTMILL_OK { Ok(()) } else { Err(Fault::again(status, before)) }
    })
}

/// The points for an operator that looks at x, y and z alone, without a copy, on the host or a device:
/// rows as wide as a point. x, y, z must be the first three numbers, of f32 or f64.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_cloud_points(
    cloud: *const pointmill_cloud,
    points: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let cloud = given(cloud)?;
        let fields = cloud.fields()?;
        let dtype = fields[0].1;
        let bytes = dtype.bytes();
        let in_place = matches!(dtype, Dtype::F32 | Dtype::F64)
            && (0..3).all(|k| fields[k] == (k * bytes, dtype))
            && cloud.point_step.is_multiple_of(bytes as u64);
        if !in_place {
            let expected = "x, y, z as the first numbers of f32 or f64, in points of whole numbers";
            return Err(Fault::new("fields", expected, format_args!("{:?}", &fields[..3])));
        }
        rows(&cloud, dtype, cloud.point_step / bytes as u64, cloud.data.cast_mut(), points)
    })
}

/// The fields as rows of f32. Where they are that already, the array becomes a view of them. Else they
/// are copied from the host to `memory`, which has room for `capacity` values: points times fields.
/// Whole numbers beyond 2^24 and numbers of f64 are rounded to the nearest.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_cloud_rows(
    cloud: *const pointmill_cloud,
    memory: *mut f32,
    capacity: u64,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let cloud = given(cloud)?;
        let fields = cloud.fields()?;
        let columns = fields.len() as u64;
        let in_place = fields.iter().enumerate().all(|(k, &field)| field == (4 * k, Dtype::F32));
        if in_place && cloud.point_step == 4 * columns {
            return rows(&cloud, Dtype::F32, columns, cloud.data.cast_mut(), array);
        }
        if cloud.place != 0 {
            let expected = "fields of f32 without gaps in memory of a device";
            return Err(Fault::new("fields", expected, format_args!("{fields:?} in {} bytes", cloud.point_step)));
        }
        let values = cloud.points.checked_mul(columns).filter(|values| values.checked_mul(4).is_some());
        let room = values.is_some_and(|values| values <= capacity) && (!memory.is_null() && memory.is_aligned());
        if !room {
            let expected = format_args!("aligned memory for {} x {columns} values", cloud.points);
            return Err(Fault::new("memory", expected, format_args!("{capacity} at {memory:?}")));
        }
        if cloud.points > 0 && cloud.data.is_null() {
            return Err(Fault::new("data", "an address of points", "null"));
        }
        for i in 0..cloud.points as usize {
            for (k, &(offset, dtype)) in fields.iter().enumerate() {
                let at = cloud.data.cast::<u8>().wrapping_add(i * cloud.point_step as usize + offset);
                // SAFETY: the caller's promise of so many points, each with its fields.
                let value = unsafe { number(at, dtype) };
                // SAFETY: there is room for all values, and the address is aligned.
                unsafe { memory.add(i * fields.len() + k).write(value) };
            }
        }
        rows(&cloud, Dtype::F32, columns, memory.cast(), array)
    })
}

/// A number of any type as f32.
///
/// # Safety
/// There are as many bytes as the type has.
unsafe fn number(at: *const u8, dtype: Dtype) -> f32 {
    macro_rules! read {
        ($type:ty) => {
            // SAFETY: the caller's promise; the address may be any.
            unsafe { at.cast::<$type>().read_unaligned() }
        };
    }
    match dtype {
        Dtype::Bool | Dtype::U8 => f32::from(read!(u8)),
        Dtype::I8 => f32::from(read!(i8)),
        Dtype::I16 => f32::from(read!(i16)),
        Dtype::U16 => f32::from(read!(u16)),
        Dtype::I32 => read!(i32) as f32,
        Dtype::U32 => read!(u32) as f32,
        Dtype::I64 => read!(i64) as f32,
        Dtype::U64 => read!(u64) as f32,
        Dtype::F32 => read!(f32),
        Dtype::F64 => read!(f64) as f32,
        Dtype::F16 => pointmill::f16::from_bits(read!(u16)).to_f32(),
        Dtype::Bf16 => pointmill::bf16::from_bits(read!(u16)).to_f32(),
    }
}

/// Fills an array that has the points of a cloud.
fn rows(cloud: &pointmill_cloud, of: Dtype, columns: u64, data: *mut c_void, to: *mut pointmill_array) -> Result<()> {
    let array = given(to).map_err(|fault| fault.about("array"))?;
    let stride = columns * of.bytes() as u64;
    fill(
        to,
        pointmill_array {
            data,
            rows: cloud.points,
            columns,
            stride,
            r#type: type_number(of),
            place: cloud.place,
            ..array
        },
    )
}
