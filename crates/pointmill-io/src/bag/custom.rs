//! Messages of the type `CustomMsg` of Livox's drivers, as clouds.

use super::cloud::PointCloud2;
use super::fields::PointField;
use super::wire::{Encoding, Wire};
use crate::error::IoError;
use crate::warning::Warning;
use pointmill_core::array::Dtype;
use std::path::Path;

/// The fields of a point in the order of the columns, and where they are in a point.
const FIELDS: [(&str, u32, Dtype); 7] = [
    ("x", 4, Dtype::F32),
    ("y", 8, Dtype::F32),
    ("z", 12, Dtype::F32),
    ("reflectivity", 16, Dtype::U8),
    ("tag", 17, Dtype::U8),
    ("line", 18, Dtype::U8),
    ("offset_time", 0, Dtype::U32),
];

/// Bytes of a point.
const POINT: usize = 19;

impl<'a> PointCloud2<'a> {
    /// Reads a message `CustomMsg` of `livox_ros_driver` or `livox_ros_driver2`; `name` stands for it in
    /// errors.
    ///
    /// Its fields are x, y, z, reflectivity, tag, line and `offset_time`, the nanoseconds since the first
    /// point. The number of points is that of the list; another one beside it is a warning.
    ///
    /// # Errors
    /// A message that ends early.
    ///
    /// ```
    /// use pointmill_io::bag::{Encoding, PointCloud2};
    /// let empty = PointCloud2::read_custom_msg(&[0; 36], Encoding::Ros1, "message")?;
    /// assert_eq!((empty.points(), &*empty.fields[6].name), (0, "offset_time"));
    /// # Ok::<(), pointmill_io::IoError>(())
    /// ```
    pub fn read_custom_msg(bytes: &'a [u8], encoding: Encoding, name: impl AsRef<Path>) -> Result<Self, IoError> {
        let mut wire = Wire::new(name.as_ref(), bytes, encoding)?;
        let (stamp_ns, frame) = wire.header()?;
        wire.u64("timebase")?;
        let said = wire.u32("point_num")?;
        wire.bytes("lidar_id", 4)?; // With three bytes that nothing uses.
        let width = wire.u32("points")?;
        // CDR starts each point at a multiple of four, and has nothing behind the last one. As the
        // byte in front of a point is never one of its own, it stands for the one behind.
        let gap = u32::from(encoding == Encoding::Cdr);
        let step = POINT + gap as usize;
        let start = bytes.len() - wire.left() - gap as usize;
        let count = usize::try_from(width).unwrap_or(usize::MAX).saturating_mul(step);
        wire.bytes("points", count.saturating_sub(gap as usize))?;
        let data = if width == 0 { &[] } else { &bytes[start..start + count] };
        let warnings = (said != width).then(|| Warning::Overruled {
            field: "point_num".into(),
            said: said.to_string(),
            used: format!("{width} (the points of the list)"),
        });
        let field = |(name, offset, dtype): (&str, _, _)| PointField {
            name: name.into(),
            offset: offset + gap,
            dtype,
            count: 1,
        };
        Ok(Self {
            stamp_ns,
            frame: frame.to_owned(),
            height: 1,
            width,
            fields: FIELDS.map(field).into(),
            big_endian: wire.big_endian,
            point_step: step as u32,
            row_step: u32::try_from(count).unwrap_or(u32::MAX),
            dense: false,
            data,
            warnings: warnings.into_iter().collect(),
            rest: wire.left(),
        })
    }
}
