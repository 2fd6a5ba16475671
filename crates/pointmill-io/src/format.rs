//! The formats of point clouds, and how a file's format is found.

use crate::error::{Detail, IoError};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A file format of point clouds.
///
/// Found by the file's name first (the longer extension wins: `.pcd.bin` before `.bin`), then by its first bytes.
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
    /// Raw little-endian `f32` rows of x, y, z, intensity; `.bin`.
    Kitti,
    /// Raw little-endian `f32` rows of x, y, z, intensity, time; `.pcd.bin`.
    Nuscenes,
    /// Raw little-endian `f32` rows of a number of columns that the reader is told.
    Bin,
    /// A numpy array of shape `[N, C]`; `.npy`.
    Npy,
    /// A zip archive of numpy arrays; `.npz`.
    Npz,
    /// Polygon file format: named properties of a `vertex` each, as text or binary; `.ply`.
    Ply,
    /// Point cloud data, of the Point Cloud Library: named fields, as text, binary or compressed; `.pcd`.
    Pcd,
    /// LAS, of the versions 1.0 to 1.4, and compressed LAZ with the feature `laz`: scaled whole numbers in records of fixed fields; `.las`,
    /// `.laz`.
    Las,
}

/// The extensions read, in the order in which they are tried: a longer one stands before its own ending.
const EXTENSIONS: [(&str, Format); 8] = [
    (".pcd.bin", Format::Nuscenes),
    (".bin", Format::Kitti),
    (".npy", Format::Npy),
    (".npz", Format::Npz),
    (".ply", Format::Ply),
    (".pcd", Format::Pcd),
    (".las", Format::Las),
    (".laz", Format::Las),
];

impl Format {
    /// Every format.
    pub const ALL: [Self; 8] =
        [Self::Kitti, Self::Nuscenes, Self::Bin, Self::Npy, Self::Npz, Self::Ply, Self::Pcd, Self::Las];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kitti => "kitti",
            Self::Nuscenes => "nuscenes",
            Self::Bin => "bin",
            Self::Npy => "npy",
            Self::Npz => "npz",
            Self::Ply => "ply",
            Self::Pcd => "pcd",
            Self::Las => "las",
        }
    }

    /// The format that a file's name announces, whatever the case of its letters.
    pub fn from_name(path: impl AsRef<Path>) -> Option<Self> {
        let name = path.as_ref().file_name()?.to_string_lossy().to_ascii_lowercase();
        EXTENSIONS.iter().find(|(extension, _)| name.ends_with(extension)).map(|&(_, format)| format)
    }

    /// The format that a file's first bytes announce. Raw rows announce nothing.
    pub fn from_content(first: &[u8]) -> Option<Self> {
        if first.starts_with(crate::npy::MAGIC) {
            Some(Self::Npy)
        } else if first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06") {
            // The second is the end record, with which an archive of no file starts.
            Some(Self::Npz)
        } else if first.starts_with(b"ply\n") || first.starts_with(b"ply\r\n") {
            Some(Self::Ply)
        } else if first.starts_with(b"# .PCD") || first.starts_with(b"VERSION ") {
            Some(Self::Pcd)
        } else if first.starts_with(crate::las::MAGIC) {
            Some(Self::Las)
        } else {
            None
        }
    }

    /// The extensions looked for, as a list for messages.
    pub fn extensions() -> String {
        EXTENSIONS.map(|(extension, _)| extension).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is not a format's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("format: wanted one of {}, found `{}`", Format::ALL.map(Format::name).join(", "), crate::escape(.0))]
pub struct UnknownFormat(
    /// The name given.
    pub String,
);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|f| f.name() == name).ok_or_else(|| UnknownFormat(name.into()))
    }
}

/// The format as asked for, else by name, else by content.
pub(crate) fn detect(asked: Option<Format>, path: &Path, first: &[u8]) -> Result<Format, IoError> {
    asked.or_else(|| Format::from_name(path)).or_else(|| Format::from_content(first)).ok_or_else(|| {
        let wanted =
            format!("a name ending in {} or the first bytes of npy, npz, ply, pcd or las", Format::extensions());
        let found =
            if first.is_empty() { "an empty file".into() } else { format!("content {}", crate::error::excerpt(first)) };
        IoError::UnsupportedFormat(Detail::new(path, "format", wanted, found))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let message = "p\x07ly".parse::<Format>().unwrap_err().to_string();
        assert_eq!(message, r"format: wanted one of kitti, nuscenes, bin, npy, npz, ply, pcd, las, found `p\u{7}ly`");
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
        let e = detect(None, Path::new("a.txt"), b"x\n").unwrap_err();
        assert_eq!(e.class(), "UnsupportedFormat");
        assert!(e.to_string().contains(".pcd.bin, .bin, .npy, .npz, .ply, .pcd, .las, .laz"), "{e}");
        assert!(e.to_string().contains(r"`x\n`"), "{e}");
        assert_eq!(Format::from_name("/a.bin/"), Some(Format::Kitti));
        assert_eq!(Format::from_name(".."), None);
    }
}
