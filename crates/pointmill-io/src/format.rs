//! The formats of point clouds, in one table, and how a file's format is found.

use crate::e57::scans as e57;
use crate::error::{IoError, excerpt};
use crate::fault::fault;
use crate::files::Place;
use crate::limits::Bounds;
use crate::mcap::single as mcap;
use crate::named_points::NamedPoints;
use crate::read::ReadOptions;
use crate::rows::Rows;
use crate::source::{ReadSeek, Source};
use crate::{bin, feather, las, npy, npz, pcd, ply, text};
use Reader::{Seek, Stream};
use Writer::{F32, F64};
use std::path::Path;

/// How a format is read.
pub(crate) enum Reader {
    /// From the first byte to the last.
    Stream(fn(&mut Source<'_>, &Bounds) -> Result<Rows, IoError>),
    /// Back and forth, so that a stream is held in memory first. Such files may have options of
    /// their own.
    Seek(fn(&Path, &mut dyn ReadSeek, &Bounds, &ReadOptions) -> Result<Rows, IoError>),
}

/// How a format is written.
enum Writer {
    /// With coordinates of `f32`.
    F32(Write),
    /// With the coordinates as `f64` where the cloud has them.
    F64(Write),
}

type Write = fn(Place<'_>, &NamedPoints<'_>) -> Result<(), IoError>;

/// What is known of a format.
struct Entry {
    description: &'static str,
    endings: &'static [&'static str],
    signatures: &'static [&'static [u8]],
    reader: Reader,
    writer: Option<Writer>,
}

/// Makes the enum, its names and its entries of the table.
macro_rules! formats {
    ($($variant:ident = $name:literal, $endings:expr, $signatures:expr, $reader:expr, $writer:expr, $description:literal;)*) => {
        /// A file format of point clouds.
        ///
        /// A format is found by the file's name first (the longer ending wins: `.pcd.bin` before
        /// `.bin`), then by its first bytes.
        ///
        /// ```
        /// use pointmill_io::Format;
        /// assert_eq!(Format::from_name("000001.bin"), Some(Format::Kitti));
        /// assert_eq!(Format::from_name("n015.PCD.BIN"), Some(Format::Nuscenes));
        /// assert_eq!(Format::from_content(b"\x93NUMPY\x01\x00"), Some(Format::Npy));
        /// assert_eq!("npz".parse(), Ok(Format::Npz));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Format {
            $(#[doc = $description] $variant,)*
        }

        pointmill_core::names!(Format { $($variant = $name),* });

        impl Format {
            const fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$variant => const {
                        &Entry {
                            description: $description,
                            endings: $endings,
                            signatures: $signatures,
                            reader: $reader,
                            writer: $writer,
                        }
                    },)*
                }
            }
        }
    };
}

// The name is also the ending of files that are written. Raw rows have no signature.
#[rustfmt::skip]
formats! {
    Kitti    = "kitti",    &[".bin"],         &[],             Stream(bin::read_kitti),    None,
        "Raw little-endian `f32` rows of x, y, z, intensity.";
    Nuscenes = "nuscenes", &[".pcd.bin"],     &[],             Stream(bin::read_nuscenes), None,
        "Raw little-endian `f32` rows of x, y, z, intensity, time.";
    Bin      = "bin",      &[],               &[],             Stream(bin::read_any),      Some(F32(bin::write_points)),
        "Raw little-endian `f32` rows of as many columns as the reader asks for.";
    Npy      = "npy",      &[".npy"],         npy::SIGNATURES, Stream(npy::read_rows),     Some(F32(npy::write_points)),
        "A numpy array of shape `[N, C]`.";
    Npz      = "npz",      &[".npz"],         npz::SIGNATURES, Seek(npz::read_rows),       Some(F64(|to, cloud| npz::write_points_npz(to, cloud))),
        "A zip archive of numpy arrays: `points`, and `xyz_f64` beside it.";
    Ply      = "ply",      &[".ply"],         ply::SIGNATURES, Stream(ply::read_rows),     Some(F64(|to, cloud| ply::write_ply(to, cloud))),
        "Polygon file format: named properties of each `vertex`, as text or binary.";
    Pcd      = "pcd",      &[".pcd"],         pcd::SIGNATURES, Stream(pcd::read_rows),     Some(F64(|to, cloud| pcd::write_pcd(to, cloud))),
        "The Point Cloud Library's format: named fields, as text, binary or compressed.";
    Las      = "las",      &[".las", ".laz"], las::SIGNATURES, Stream(las::read_rows),     Some(F64(las::write_points)),
        "LAS 1.0 to 1.4, written as 1.4; compressed as LAZ, by the name `.laz`, with the feature `laz`.";
    Feather  = "feather", &[".feather"],      &[feather::FILE, feather::FEATHER_1], Stream(feather::read_rows), Some(F64(feather::write_points)),
        "Feather 2, an Arrow IPC file: named columns of a table, compressed or not.";
    Arrow    = "arrow",   &[".arrow"],        &[feather::STREAM], Stream(feather::read_rows), Some(F64(feather::write_points)),
        "Arrow IPC, a file or a stream: named columns of a table, compressed or not.";
    Mcap     = "mcap",    &[".mcap"],         mcap::SIGNATURES, Seek(mcap::read_rows),    None,
        "MCAP: a bag of one cloud; `mcap::Bag` reads the others.";
    E57      = "e57",     &[".e57"],          e57::SIGNATURES, Seek(e57::read_rows),      None,
        "E57: all scans of a file in its frame, or one of them.";
    Csv      = "csv",     &[".csv"],          &[],             Stream(text::read_rows),    Some(F64(text::write_csv)),
        "Lines of numbers separated by commas, after a line of names; read with any separator.";
    Xyz      = "xyz",     &[".xyz", ".txt", ".asc", ".pts"], &[], Stream(text::read_rows), Some(F64(text::write_xyz)),
        "Lines of numbers separated by blanks, without names; read with any separator.";
}

impl Format {
    /// One sentence about the format.
    pub const fn description(self) -> &'static str {
        self.entry().description
    }

    /// The endings of the files that are read in the format; none for a format that must be asked
    /// for.
    pub const fn endings(self) -> &'static [&'static str] {
        self.entry().endings
    }

    /// Whether clouds are written in the format.
    pub const fn is_written(self) -> bool {
        self.entry().writer.is_some()
    }

    /// Whether files that are written in the format keep coordinates of `f64`.
    pub const fn keeps_f64(self) -> bool {
        matches!(self.entry().writer, Some(F64(_)))
    }

    /// The formats in which clouds are written.
    pub fn written() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|format| format.is_written())
    }

    /// The format that a file's name announces, whatever the case of its letters.
    pub fn from_name(path: impl AsRef<Path>) -> Option<Self> {
        let name = path.as_ref().file_name()?.to_string_lossy().to_ascii_lowercase();
        let length = |format: Self| format.endings().iter().filter(|e| name.ends_with(**e)).map(|e| e.len()).max();
        Self::ALL.iter().copied().filter(|&format| length(format).is_some()).max_by_key(|&format| length(format))
    }

    /// The format in which a file of this name is written: the one whose name is the extension,
    /// whatever the case of its letters; of `.laz` it is [`Format::Las`].
    ///
    /// ```
    /// use pointmill_io::Format;
    /// assert_eq!(Format::for_writing("out/a.PLY"), Some(Format::Ply));
    /// assert_eq!(Format::for_writing("sweep.pcd.bin"), Some(Format::Bin));
    /// assert_eq!(Format::for_writing("a.e57"), None);
    /// ```
    pub fn for_writing(path: impl AsRef<Path>) -> Option<Self> {
        let extension = path.as_ref().extension()?;
        let is_of = |format: &Self| {
            extension.eq_ignore_ascii_case(format.as_str())
                || (*format == Self::Las && extension.eq_ignore_ascii_case("laz"))
        };
        Self::written().find(is_of)
    }

    /// The format that a file's first bytes announce. Raw rows announce nothing.
    pub fn from_content(first: &[u8]) -> Option<Self> {
        let announced = |format: &Self| format.entry().signatures.iter().any(|signature| first.starts_with(signature));
        Self::ALL.iter().copied().find(announced)
    }

    /// The endings of the files that are read, as a list for messages.
    pub fn extensions() -> String {
        Self::ALL.iter().flat_map(|format| format.endings()).copied().collect::<Vec<_>>().join(", ")
    }

    /// How the format is read.
    pub(crate) const fn reader(self) -> &'static Reader {
        &self.entry().reader
    }

    /// What writes the format.
    pub(crate) fn writer(self) -> Option<Write> {
        self.entry().writer.as_ref().map(|(F32(write) | F64(write))| *write)
    }
}

/// How bags begin that are not read, and what they are. The tool of MCAP converts them.
const OTHER_BAGS: [(&[u8], &str); 2] = [(b"#ROSBAG", "a ROS 1 bag"), (b"SQLite f", "a rosbag2 database")];

/// The format as asked for, else by name, else by content.
pub(crate) fn detect(asked: Option<Format>, path: &Path, first: &[u8]) -> Result<Format, IoError> {
    asked.or_else(|| Format::from_name(path)).or_else(|| Format::from_content(first)).ok_or_else(|| {
        if let Some((_, bag)) = OTHER_BAGS.iter().find(|(signature, _)| first.starts_with(signature)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let to = path.with_extension("mcap");
            let to = to.file_name().unwrap_or_default().to_string_lossy();
            let found = format!("{bag}; make one with `mcap convert {name} {to}`");
            return fault!(path, UnsupportedFormat, "format", "an MCAP bag", found);
        }
        let known = Format::ALL.iter().filter(|format| !format.entry().signatures.is_empty());
        let known: Vec<_> = known.map(|format| format.as_str()).collect();
        let wanted = format!("a name ending in {} or the first bytes of {}", Format::extensions(), known.join(", "));
        let found = if first.is_empty() { "an empty file".into() } else { format!("content {}", excerpt(first)) };
        fault!(path, UnsupportedFormat, "format", wanted, found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_endings_are_unambiguous() {
        for &format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
            for ending in format.endings() {
                assert_eq!(Format::from_name(format!("a{}", ending.to_uppercase())), Some(format));
            }
            // Eight bytes are looked at.
            assert!(format.entry().signatures.iter().all(|s| s.len() <= 8 && Format::from_content(s) == Some(format)));
            // A file that is written is read again, raw rows with the number of their columns.
            let written = Format::for_writing(format!("a.{format}"));
            assert_eq!(written.is_some(), format.is_written());
            assert!(
                written.is_none_or(|w| w == format && (w == Format::Bin || w.endings().contains(&&*format!(".{w}"))))
            );
        }
        let message = "p\x07ly".parse::<Format>().unwrap_err().to_string();
        assert_eq!(
            message,
            r#"expected kitti, nuscenes, bin, npy, npz, ply, pcd, las, feather, arrow, mcap, e57, csv or xyz, got "p\u{7}ly""#
        );
    }

    #[test]
    fn detection_prefers_asked_then_name_then_content() {
        let npy = b"\x93NUMPY";
        assert_eq!(detect(Some(Format::Bin), Path::new("a.npz"), npy).unwrap(), Format::Bin);
        assert_eq!(detect(None, Path::new("a.npz"), npy).unwrap(), Format::Npz);
        assert_eq!(detect(None, Path::new("a"), npy).unwrap(), Format::Npy);
        assert_eq!(detect(None, Path::new("-"), b"PK\x03\x04").unwrap(), Format::Npz);
        assert_eq!(detect(None, Path::new("a"), b"ply\r\nform").unwrap(), Format::Ply);
        assert_eq!(detect(None, Path::new("a"), b"# .PCD v").unwrap(), Format::Pcd);
        assert_eq!(detect(None, Path::new("a"), b"LASF\0").unwrap(), Format::Las);
        assert_eq!(
            (Format::from_name("a.las"), Format::from_name("a.copc.LAZ")),
            (Some(Format::Las), Some(Format::Las))
        );
        assert_eq!(Format::from_name("a.PCD"), Some(Format::Pcd));
        let e = detect(None, Path::new("a.doc"), b"x\n").unwrap_err();
        assert_eq!(e.class(), "UnsupportedFormat");
        assert!(
            e.to_string().contains(
                ".bin, .pcd.bin, .npy, .npz, .ply, .pcd, .las, .laz, .feather, .arrow, .mcap, .e57, .csv, .xyz, .txt, .asc, .pts"
            ),
            "{e}"
        );
        assert!(
            e.to_string().contains("first bytes of npy, npz, ply, pcd, las, feather, arrow, mcap, e57, got"),
            "{e}"
        );
        assert!(e.to_string().contains(r"`x\n`"), "{e}");
        for (bag, first) in [("drive.bag", "#ROSBAG "), ("drive.db3", "SQLite f")] {
            let message = detect(None, Path::new(bag), first.as_bytes()).unwrap_err().to_string();
            assert!(message.ends_with(&format!("; make one with `mcap convert {bag} drive.mcap`")), "{message}");
        }
        assert_eq!(Format::from_name("/a.bin/"), Some(Format::Kitti));
        assert_eq!(Format::from_name("a.pcd.bin"), Some(Format::Nuscenes));
        assert_eq!(Format::from_name(".."), None);
    }
}
