//! Data sets by name: which formats their sweeps are in, and what their columns are.

use crate::error::{Detail, IoError};
use crate::format::Format;
use std::path::Path;

/// What is known of a data set.
struct Entry {
    description: &'static str,
    /// The columns of files that do not name them.
    columns: &'static [&'static str],
    /// The formats of its sweeps, the first for files whose names tell none.
    formats: &'static [Format],
    range: Option<[f32; 6]>,
    /// Whether the motion of the sensor within a sweep is taken out.
    deskewed: bool,
}

/// Makes the enum, its names and its table.
macro_rules! datasets {
    ($($variant:ident = $name:literal, $columns:expr, $formats:expr, $range:expr, $description:literal $(, $deskewed:ident)?;)*) => {
        /// A public data set: [`ReadOptions::dataset`](crate::ReadOptions::dataset) reads its
        /// sweeps with their columns.
        ///
        /// ```
        /// use pointmill_io::{Dataset, Format};
        /// assert_eq!(Dataset::Nuscenes.columns(Format::Bin), ["x", "y", "z", "intensity", "ring"]);
        /// assert_eq!("scannet".parse(), Ok(Dataset::Scannet));
        /// assert_eq!(Dataset::Kitti.range(), Some([0.0, -40.0, -3.0, 70.4, 40.0, 1.0]));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Dataset {
            $(#[doc = $description] $variant,)*
        }

        pointmill_core::names!(Dataset { $($variant = $name),* });

        impl Dataset {
            const fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$variant => {
                        const MARKS: &[&str] = &[$(stringify!($deskewed))?];
                        const ENTRY: Entry = Entry {
                            description: $description,
                            columns: $columns,
                            formats: $formats,
                            range: $range,
                            deskewed: !MARKS.is_empty(),
                        };
                        &ENTRY
                    },)*
                }
            }
        }
    };
}

/// Rows of `f32`, whatever their file is called, and arrays.
const ROWS: &[Format] = &[Format::Bin, Format::Kitti, Format::Nuscenes, Format::Npy];
/// Whatever the sweeps were put into; without a name that tells, rows.
const ANY: &[Format] = Format::ALL;
/// Tables with names of their own.
const TABLES: &[Format] = &[Format::Feather, Format::Arrow, Format::Csv];

/// Point clouds of the Point Cloud Library, or what these were put into.
const CLOUDS: &[Format] =
    &[Format::Pcd, Format::Ply, Format::Las, Format::Npz, Format::Feather, Format::Arrow, Format::Csv];

const INTENSITY: &[&str] = &["x", "y", "z", "intensity"];
const RING: &[&str] = &["x", "y", "z", "intensity", "ring"];
const WAYMO: &[&str] = &["x", "y", "z", "intensity", "elongation", "timestamp"];
/// The last is whether the point lies in a zone without labels.
const WAYMO_ARRAYS: &[&str] = &["x", "y", "z", "intensity", "elongation", "nlz"];
const COLOUR: &[&str] = &["x", "y", "z", "r", "g", "b"];

#[rustfmt::skip]
datasets! {
    Kitti         = "kitti",         INTENSITY, ROWS, Some([0.0, -40.0, -3.0, 70.4, 40.0, 1.0]),
        "KITTI: rows of x, y, z, intensity.";
    KittiOdometry = "kitti-odometry", INTENSITY, ANY, Some([-50.0, -50.0, -4.0, 50.0, 50.0, 2.0]),
        "KITTI's odometry benchmark: rows of x, y, z, intensity, or these sweeps in any other format. Every point is turned up by 0.205 degrees, by which the calibration of the sensor is off.", deskewed;
    Semantickitti = "semantickitti", INTENSITY, ROWS, Some([-50.0, -50.0, -4.0, 50.0, 50.0, 2.0]),
        "`SemanticKITTI`: rows of x, y, z, intensity.", deskewed;
    Nuscenes      = "nuscenes",      RING,      ROWS, Some([-54.0, -54.0, -5.0, 54.0, 54.0, 3.0]),
        "`nuScenes`: rows of x, y, z, intensity, ring.", deskewed;
    Waymo         = "waymo",         WAYMO,     ROWS, Some([-75.2, -75.2, -2.0, 75.2, 75.2, 4.0]),
        "Waymo as `mmdet3d` (rows) and `OpenPCDet` (`.npy`) write it: x, y, z, intensity, elongation, and a timestamp or whether labels are there.";
    Lyft          = "lyft",          RING,      ROWS, Some([-80.0, -80.0, -5.0, 80.0, 80.0, 3.0]),
        "Lyft level 5: rows of x, y, z, intensity, ring.";
    Once          = "once",          INTENSITY, ROWS, Some([-75.2, -75.2, -5.0, 75.2, 75.2, 3.0]),
        "ONCE: rows of x, y, z, intensity.";
    Argoverse2    = "argoverse2",    &[],       TABLES, Some([-200.0, -200.0, -20.0, 200.0, 200.0, 20.0]),
        "Argoverse 2: Feather tables of x, y, z, intensity, `laser_number`, `offset_ns`.", deskewed;
    Pandaset      = "pandaset",      &[],       TABLES, Some([0.0, -40.0, -3.0, 70.4, 40.0, 1.0]),
        "`PandaSet`, its tables of x, y, z, i, t, d saved as Feather or `.csv`; pickled tables are not read.";
    Apollo        = "apollo",        &[],       CLOUDS, None,
        "Apollo `SouthBay`: PCD files of x, y, z, intensity, timestamp (seconds since 1970), or these in another format. Their names may give another order than their times.", deskewed;
    S3dis         = "s3dis",         COLOUR,    ROWS, None,
        "S3DIS as `mmdet3d` writes it: rows of x, y, z, r, g, b.";
    Scannet       = "scannet",       COLOUR,    ROWS, None,
        "`ScanNet` as `mmdet3d` writes it: rows of x, y, z, r, g, b.";
}

impl Dataset {
    /// One sentence about the data set.
    pub const fn description(self) -> &'static str {
        self.entry().description
    }

    /// The formats of its files, the usual one first.
    pub const fn formats(self) -> &'static [Format] {
        self.entry().formats
    }

    /// Whether its sweeps are published without the motion of the sensor within them, so that times
    /// of points must not be used to take it out again.
    pub const fn is_deskewed(self) -> bool {
        self.entry().deskewed
    }

    /// The columns of its files of a format; none where its files name them.
    pub const fn columns(self, format: Format) -> &'static [&'static str] {
        match (self, format) {
            (Self::Waymo, Format::Npy) => WAYMO_ARRAYS,
            (_, Format::Bin | Format::Kitti | Format::Nuscenes | Format::Npy) => self.entry().columns,
            _ => &[],
        }
    }

    /// Degrees by which [`ReadOptions::dataset`](crate::ReadOptions::dataset) turns every point
    /// [up](crate::Scan::raised), since the sensor's calibration is off by them.
    ///
    /// KISS-ICP and others take the same angle for KITTI.
    ///
    /// ```
    /// use pointmill_io::Dataset;
    /// assert_eq!((Dataset::KittiOdometry.vertical_angle(), Dataset::Kitti.vertical_angle()), (Some(0.205), None));
    /// ```
    pub const fn vertical_angle(self) -> Option<f64> {
        match self {
            Self::KittiOdometry => Some(0.205),
            _ => None,
        }
    }

    /// The range that detectors usually take, smallest x, y, z and largest, in metres; `None` for
    /// rooms and `apollo`.
    pub const fn range(self) -> Option<[f32; 6]> {
        self.entry().range
    }

    /// The format of a file of the data set: the one asked for, else the one of its name, else the
    /// usual one.
    pub(crate) fn format(self, path: &Path, asked: Option<Format>) -> Result<Format, IoError> {
        let formats = self.formats();
        let format = asked.or_else(|| Format::from_name(path)).unwrap_or(formats[0]);
        if formats.contains(&format) {
            return Ok(format);
        }
        let names: Vec<_> = formats.iter().map(|format| format.as_str()).collect();
        let wanted = format!("{}, as the data set {self} has", names.join(", "));
        Err(IoError::InvalidArgument(Detail::new(path, "format", wanted, format.as_str())))
    }

    /// Checks the number of columns that is asked for beside the data set; the number of its rows.
    pub(crate) fn check_columns(
        self,
        path: &Path,
        format: Format,
        asked: Option<usize>,
    ) -> Result<Option<usize>, IoError> {
        let columns = Some(self.columns(format).len()).filter(|&columns| columns > 0);
        match (columns, asked) {
            (Some(columns), Some(asked)) if columns != asked => {
                let wanted = format!("{columns}, as the data set {self} has");
                Err(IoError::InvalidArgument(Detail::new(path, "columns", wanted, asked.to_string())))
            }
            _ => Ok(columns.or(asked)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NamedPoints, ReadOptions, WriteOptions, read, read_from, write};
    use pointmill_core::Points;
    use pointmill_core::array::Dtype;

    fn scan(dataset: Dataset, name: &str, bytes: &[u8]) -> Result<String, String> {
        let options = ReadOptions { dataset: Some(dataset), ..ReadOptions::default() };
        let scan = read_from(bytes, name, &options).map_err(|e| format!("{}: {e}", e.class()))?;
        Ok(scan.fields.iter().map(|field| &*field.name).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn columns_are_those_of_the_data_set() {
        let bytes = [0; 240];
        for &dataset in Dataset::ALL {
            if dataset.columns(Format::Bin).is_empty() {
                assert_eq!(dataset.format("a.feather".as_ref(), None).unwrap(), Format::Feather);
                continue;
            }
            for name in ["a.bin", "a.pcd.bin", "a"] {
                assert_eq!(scan(dataset, name, &bytes).unwrap(), dataset.columns(Format::Bin).join(" "));
            }
        }
        assert_eq!(
            scan(Dataset::Waymo, "a.bin", &[0; 16]).unwrap_err(),
            "SizeMismatch: a.bin: length: expected a multiple of 24 bytes (6 columns of f32), got 16 bytes (remainder 16); 4 columns would fit"
        );
    }

    #[test]
    fn sweeps_of_apollo_are_clouds_with_names_of_their_own() {
        let text = b"VERSION 0.7\nFIELDS x y z intensity timestamp\nSIZE 4 4 4 1 8\nTYPE F F F U F\nCOUNT 1 1 1 1 1\nWIDTH 2\nHEIGHT 1\nPOINTS 2\nDATA ascii\n1 2 3 7 1500000000.25\n1 2 3 7 1500000000.3\n";
        assert_eq!(scan(Dataset::Apollo, "1.pcd", text).unwrap(), "x y z intensity timestamp");
        let options = ReadOptions { dataset: Some(Dataset::Apollo), ..ReadOptions::default() };
        let times = read_from(&text[..], "1.pcd", &options).unwrap().times().unwrap();
        assert_eq!((times.start, times.seconds.len()), (1_500_000_000.25, 2));
        assert!(Dataset::Apollo.is_deskewed());
        assert!(
            scan(Dataset::Apollo, "a.bin", &[0; 16]).unwrap_err().contains("as the data set apollo has, got kitti")
        );
    }

    #[test]
    fn arrays_have_the_names_too_and_contradictions_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        crate::write_npy(&path, &crate::ArrayView::f32(&[1, 6], &[0.0; 6])).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(scan(Dataset::Waymo, "a.npy", &bytes).unwrap(), "x y z intensity elongation nlz");
        assert_eq!(
            scan(Dataset::Kitti, "a.npy", &bytes).unwrap_err(),
            "ShapeMismatch: a.npy: columns: expected 4, as asked for, got 6"
        );
        assert_eq!(
            scan(Dataset::Kitti, "a.ply", b"ply\n").unwrap_err(),
            "InvalidArgument: a.ply: format: expected bin, kitti, nuscenes, npy, as the data set kitti has, got ply"
        );
        let options = ReadOptions { dataset: Some(Dataset::Lyft), columns: Some(4), ..ReadOptions::default() };
        assert_eq!(
            read_from(&[0; 80][..], "a.bin", &options).unwrap_err().to_string(),
            "a.bin: columns: expected 5, as the data set lyft has, got 4"
        );
    }

    /// The sine and cosine of 0.205 degrees.
    const SINE: f64 = 0.003_577_917_332_764_118;
    const COSINE: f64 = 0.999_993_599_233_295;

    #[test]
    fn sweeps_of_kitti_odometry_are_turned_up_in_any_format() {
        let folder = tempfile::tempdir().unwrap();
        // A point at 50 m ahead, one at 5 m to the side and 2 m below, one straight above, none.
        let data = [50.0, 0.0, 0.0, 0.5, 3.0, -4.0, -2.0, 0.25, 0.0, 0.0, 2.0, 0.75, f32::NAN, 1.0, 1.0, 1.0];
        let along = COSINE + 0.4 * SINE;
        let wanted = [
            [50.0 * COSINE, 0.0, 50.0 * SINE],
            [3.0 * along, -4.0 * along, 5.0 * SINE - 2.0 * COSINE],
            [0.0, 0.0, 2.0],
        ];
        let options = ReadOptions { dataset: Some(Dataset::KittiOdometry), ..ReadOptions::default() };
        for (name, wide) in
            [("a.bin", false), ("a.npy", false), ("a.ply", false), ("b.ply", true), ("a.pcd", true), ("a.csv", true)]
        {
            let mut points = NamedPoints::new(Points::new(&data, 4).unwrap(), &["x", "y", "z", "intensity"]);
            let exact: Vec<f64> = data.chunks(4).flat_map(|row| [row[0], row[1], row[2]].map(f64::from)).collect();
            if wide {
                points.fields.to_mut()[..3].iter_mut().for_each(|field| field.dtype = Dtype::F64);
                points.xyz_f64 = Some(&exact);
            }
            let path = folder.path().join(name);
            write(&path, points, &WriteOptions::default()).unwrap();
            let scan = read(&path, &options).unwrap();
            assert_eq!(scan.xyz_f64.is_some(), wide, "{name}");
            for ((p, row), wanted) in scan.xyz().iter().zip(scan.cloud.data().chunks(4)).zip(wanted) {
                for k in 0..3 {
                    assert!((p[k] - wanted[k]).abs() < if wide { 1e-13 } else { 2e-6 }, "{name}: {p:?} {wanted:?}");
                    assert_eq!(row[k], wanted[k] as f32, "{name}");
                }
            }
            assert!(scan.cloud.data()[12].is_nan() && scan.cloud.data()[13..] == [1.0, 1.0, 1.0], "{name}");
            assert_eq!(scan.cloud.data()[7], 0.25);
            // An area holds what was turned.
            let area = |edge: f64| read(&path, &ReadOptions { area: Some([edge, -9.0, 60.0, 9.0]), ..options.clone() });
            assert_eq!([area(49.9996).unwrap().cloud.len(), area(49.9999).unwrap().cloud.len()], [1, 0], "{name}");
            // Other data sets are what their files say.
            let plain = read(&path, &ReadOptions { columns: None, ..ReadOptions::default() }).unwrap();
            assert_eq!(plain.cloud.data()[..12], data[..12]);
        }
    }
}
