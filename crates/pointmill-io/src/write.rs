//! From a cloud to a file: finds the format, hands the cloud to its writer.

use crate::error::IoError;
use crate::fault::fault;
use crate::files::{Destination, Place};
use crate::format::Format;
use crate::named_points::NamedPoints;
use crate::prj::write_prj;

/// How to write a cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// The format; by default the one of the name, see [`Format::for_writing`].
    pub format: Option<Format>,
}

/// Writes a cloud, whole or not at all (see [`write_whole`](crate::write_whole)): a
/// [`Scan`](crate::Scan), a
/// [`PointCloud`](pointmill_core::PointCloud), or points with names.
///
/// The points keep their order; the same cloud gives the same bytes. PLY, PCD and Arrow keep the
/// names and the types of columns, these and `.npz` the coordinates as `f64` where the cloud has
/// them. `.npy` and `.bin` hold rows of `f32` only, and `.bin` not even the number of columns: it
/// is read back with [`Format::Bin`] and [`columns`](crate::ReadOptions::columns).
///
/// LAS is version 1.4, compressed if the name ends in `.laz`. A scan of a LAS file keeps scale, offset,
/// point format (without wave packets), coordinate reference system, and the integers of the columns
/// that are read. Else the scale is 0.001 m, or the next finer power of ten that keeps all
/// coordinates, or the finest for which 32 bits suffice, and the point format is the smallest with
/// the columns. Columns that LAS does not know become extra bytes, which other programs read. A
/// coordinate that is not finite, and a value that its field does not hold, is an error.
///
/// Beside .ply, .csv and .xyz the coordinate reference system of a scan is written as `NAME.prj`, if it
/// is in WKT, and [`read()`](crate::read()) takes it from there.
///
/// # Errors
/// A name that ends in no format that is written, or such a format; names of columns that the
/// format cannot hold; what the system refuses.
///
/// ```
/// use pointmill_core::PointCloud;
/// use pointmill_io::{ReadOptions, WriteOptions, read, write};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-write.pcd", std::process::id()));
/// let cloud = PointCloud::new(vec![1.0, 2.0, 3.0, 0.5], 4)?;
/// write(&path, &cloud, &WriteOptions::default())?;
/// let scan = read(&path, &ReadOptions::default())?;
/// assert_eq!((scan.cloud, &*scan.fields[3].name), (cloud, "column3"));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write<'a>(
    to: impl Destination,
    cloud: impl Into<NamedPoints<'a>>,
    options: &WriteOptions,
) -> Result<(), IoError> {
    let path = to.path();
    let listed = |what: fn(Format) -> String| Format::written().map(what).collect::<Vec<_>>().join(", ");
    let format = options.format.or_else(|| Format::for_writing(path)).ok_or_else(|| {
        let found = path.file_name().unwrap_or_default().to_string_lossy();
        let endings = listed(|format| match format {
            Format::Las => ".las, .laz".into(),
            other => format!(".{other}"),
        });
        fault!(path, UnsupportedFormat, "format", "a name ending in {endings}", "`{found}`")
    })?;
    let write = format.writer().ok_or_else(|| {
        let written = listed(|format| format.to_string());
        fault!(path, UnsupportedFormat, "format", "one that is written: {written}", format)
    })?;
    let cloud = cloud.into();
    write(Place::of(&to), &cloud)?;
    write_prj(Place::of(&to), format, cloud.survey.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read};
    use pointmill_core::{LocalOrigin, Points};

    #[test]
    fn every_format_that_is_written_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let exact = [691_764.1, 5_335_880.1, 520.1, 0.0, 1.0, -2.0];
        let rows = [691_764.1, 5_335_880.1, 520.1, 7.0, 0.0, 1.0, -2.0, 0.25];
        let points = Points::new(&rows, 4).unwrap();
        let names = NamedPoints { xyz_f64: Some(&exact), ..NamedPoints::new(points, &["x", "y", "z", "ring"]) };
        // LAS has columns of its own: see tests/las_write.rs.
        for format in Format::written().filter(|&format| format != Format::Las) {
            // By the ending, and by the format that is asked for.
            let by_name = folder.path().join(format!("a.{format}"));
            let asked = folder.path().join(format!("{format}.any"));
            write(&by_name, names.clone(), &WriteOptions::default()).unwrap();
            write(&asked, names.clone(), &WriteOptions { format: Some(format) }).unwrap();
            assert_eq!(std::fs::read(&by_name).unwrap(), std::fs::read(&asked).unwrap());
            let origin = LocalOrigin::None;
            let options = ReadOptions { format: Some(format), columns: Some(4), origin, ..ReadOptions::default() };
            let scan = read(&asked, &options).unwrap();
            assert_eq!(scan.cloud.data(), rows, "{format}");
            assert_eq!(scan.xyz_f64.is_some(), format.keeps_f64(), "{format}");
            // What was read is written to the same bytes.
            write(&asked, &scan, &WriteOptions { format: Some(format) }).unwrap();
            let again = read(&asked, &options).unwrap();
            assert_eq!((again.cloud, again.fields, again.xyz_f64), (scan.cloud, scan.fields, scan.xyz_f64));
        }
    }

    #[test]
    fn other_formats_are_refused_by_name() {
        let points = Points::new(&[0.0; 3], 3).unwrap();
        let refused = |name: &str, format| write(name, points, &WriteOptions { format }).unwrap_err().to_string();
        assert_eq!(
            refused("no/a.e57", None),
            "no/a.e57: format: expected a name ending in .bin, .npy, .npz, .ply, .pcd, .las, .laz, .feather, .arrow, .csv, .xyz, got `a.e57`"
        );
        assert_eq!(
            refused("a.e57", Some(Format::E57)),
            "a.e57: format: expected one that is written: bin, npy, npz, ply, pcd, las, feather, arrow, csv, xyz, got e57"
        );
    }
}
