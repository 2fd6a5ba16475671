//! How each format is read and written, in one table, and how a file's format is found.

use crate::bag::single as bag;
use crate::e57::scans as e57;
use crate::error::{IoError, excerpt};
use crate::fault::fault;
use crate::files::Place;
use crate::format::Format;
use crate::limits::Bounds;
use crate::named_points::NamedPoints;
use crate::rows::Rows;
use crate::source::{ReadSeek, Source};
use crate::unread::not_read;
use crate::warning::Warning;
use crate::window::BYTE_ORDER_MARK;
use crate::{bin, feather, las, npy, npz, pcd, ply, text};
use Reader::{Seek, Stream};
use Writer::{F32, F64};
use std::path::Path;

/// How a format is read.
pub(crate) enum Reader {
    /// From the first byte to the last.
    Stream(fn(&mut Source<'_>, &Bounds) -> Result<Rows, IoError>),
    /// Back and forth, so that a stream is held in memory first.
    Seek(fn(&Path, &mut dyn ReadSeek, &Bounds) -> Result<Rows, IoError>),
}

/// How a format is written.
enum Writer {
    /// With coordinates of `f32`.
    F32(Write),
    /// With the coordinates as `f64` where the cloud has them.
    F64(Write),
}

type Write = fn(Place<'_>, &NamedPoints<'_>) -> Result<(), IoError>;

/// How files of a format begin, what reads them, and what writes them.
struct Codec {
    signatures: &'static [&'static [u8]],
    reader: Reader,
    writer: Option<Writer>,
}

/// Makes the table.
macro_rules! codecs {
    ($($variant:ident: $signatures:expr, $reader:expr, $writer:expr;)*) => {
        impl Format {
            const fn codec(self) -> &'static Codec {
                match self {
                    $(Self::$variant => const {
                        &Codec { signatures: $signatures, reader: $reader, writer: $writer }
                    },)*
                }
            }
        }
    };
}

// Raw rows have no signature.
#[rustfmt::skip]
codecs! {
    Kitti:    &[],              Stream(bin::read_kitti), None;
    Nuscenes: &[],              Stream(bin::read_nuscenes), None;
    Bin:      &[],              Stream(bin::read_any),   Some(F32(bin::write_points));
    Npy:      npy::SIGNATURES,  Stream(npy::read_rows),  Some(F32(npy::write_points));
    Npz:      npz::SIGNATURES,  Seek(npz::read_rows),    Some(F64(|to, cloud| npz::write_points_npz(to, cloud)));
    Ply:      ply::SIGNATURES,  Stream(ply::read_rows),  Some(F64(|to, cloud| ply::write_ply(to, cloud)));
    Pcd:      pcd::SIGNATURES,  Stream(pcd::read_rows),  Some(F64(|to, cloud| pcd::write_pcd(to, cloud)));
    Las:      las::SIGNATURES,  Stream(las::read_rows),  Some(F64(las::write_points));
    Feather:  &[feather::FILE, feather::FEATHER_1], Stream(feather::read_rows), Some(F64(feather::write_points));
    Arrow:    &[feather::STREAM], Stream(feather::read_rows), Some(F64(feather::write_points));
    Mcap:     bag::MCAP,        Seek(bag::read_rows),    None;
    Rosbag:   bag::ROSBAG,      Seek(bag::read_rows),    None;
    Sqlite:   bag::SQLITE,      Seek(bag::read_rows),    None;
    E57:      e57::SIGNATURES,  Seek(e57::read_rows),    None;
    Ptx:      &[],              Stream(text::read_ptx),  None;
    Csv:      &[],              Stream(text::read_rows), Some(F64(text::write_csv));
    Xyz:      &[],              Stream(text::read_rows), Some(F64(text::write_xyz));
}

impl Format {
    /// Whether clouds are written in the format.
    pub const fn is_written(self) -> bool {
        self.codec().writer.is_some()
    }

    /// Whether files that are written in the format keep coordinates of `f64`.
    pub const fn keeps_f64(self) -> bool {
        matches!(self.codec().writer, Some(F64(_)))
    }

    /// Whether a coordinate reference system of files of the format stands in `NAME.prj` beside them,
    /// in WKT: that of text and of PLY, which programs of geography read.
    pub const fn has_prj(self) -> bool {
        matches!(self, Self::Ply | Self::Csv | Self::Xyz)
    }

    /// The formats in which clouds are written.
    pub fn written() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|format| format.is_written())
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
        // An octree is only read.
        let is_octree =
            Path::new(path.as_ref().file_stem()?).extension().is_some_and(|e| e.eq_ignore_ascii_case("copc"));
        if is_octree && extension.eq_ignore_ascii_case("laz") {
            return None;
        }
        let is_of = |format: &Self| {
            extension.eq_ignore_ascii_case(format.as_str())
                || (*format == Self::Las && extension.eq_ignore_ascii_case("laz"))
        };
        Self::written().find(is_of)
    }

    /// The format that a file's first bytes announce, behind a byte order mark too. Raw rows and
    /// lines of numbers announce nothing. A [`Ptx`](Self::Ptx) is known by its first ten lines,
    /// others by eight bytes.
    pub fn from_content(first: &[u8]) -> Option<Self> {
        let first = first.strip_prefix(BYTE_ORDER_MARK).unwrap_or(first);
        if text::is_ptx(first) {
            return Some(Self::Ptx);
        }
        let announced = |format: &Self| format.codec().signatures.iter().any(|signature| first.starts_with(signature));
        Self::ALL.iter().copied().find(announced)
    }

    /// Whether the reader of the format reads files that begin like another. Two names of Arrow have
    /// one reader.
    fn reads(self, content: Self) -> bool {
        let is_arrow = |format| matches!(format, Self::Feather | Self::Arrow);
        self == content || (is_arrow(self) && is_arrow(content))
    }

    /// How the format is read.
    pub(crate) const fn reader(self) -> &'static Reader {
        &self.codec().reader
    }

    /// What writes the format.
    pub(crate) fn writer(self) -> Option<Write> {
        self.codec().writer.as_ref().map(|(F32(write) | F64(write))| *write)
    }
}

/// Bytes of a file that are looked at to find its format: ten lines of a PTX.
pub(crate) const LOOKED_AT: usize = 1024;

/// The format as asked for, else by content, else by name; with a warning if the content has
/// another signature.
pub(crate) fn detect(asked: Option<Format>, path: &Path, first: &[u8]) -> Result<(Format, Option<Warning>), IoError> {
    let (content, named) = (Format::from_content(first), Format::from_name(path));
    let read = asked.or_else(|| content.filter(|content| !named.is_some_and(|named| named.reads(*content)))).or(named);
    let Some(read) = read else {
        if let Some(error) = not_read(path, first) {
            return Err(error);
        }
        let known = Format::ALL.iter().filter(|format| !format.codec().signatures.is_empty());
        let known: Vec<_> = known.map(|format| format.as_str()).collect();
        let wanted = format!("a name ending in {} or the first bytes of {}", Format::extensions(), known.join(", "));
        let found = if first.is_empty() {
            "an empty file".into()
        } else {
            format!("content {}", excerpt(&first[..first.len().min(8)]))
        };
        return Err(fault!(path, UnsupportedFormat, "format", wanted, found));
    };
    if let Some(error) = not_read(path, first).filter(|_| asked.is_none() && content.is_none()) {
        return Err(error);
    }
    let is_said = |content: &Format| {
        if asked.is_some() { !read.reads(*content) } else { named.is_some_and(|named| !named.reads(*content)) }
    };
    Ok((read, content.filter(is_said).map(|content| Warning::OtherContent { content, read })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unread::OTHERS;

    #[test]
    fn names_and_endings_are_unambiguous() {
        for &format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
            for ending in format.endings() {
                assert_eq!(Format::from_name(format!("a{}", ending.to_uppercase())), Some(format));
            }
            // Eight bytes are looked at.
            assert!(format.codec().signatures.iter().all(|s| s.len() <= 8 && Format::from_content(s) == Some(format)));
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
            r#"expected kitti, nuscenes, bin, npy, npz, ply, pcd, las, feather, arrow, mcap, bag, db3, e57, ptx, csv or xyz, got "p\u{7}ly""#
        );
    }

    #[test]
    fn every_signature_wins_against_every_name() {
        for (&format, &name) in Format::ALL.iter().flat_map(|format| Format::ALL.iter().map(move |name| (format, name)))
        {
            for signature in format.codec().signatures {
                for ending in name.endings() {
                    let (found, told) = detect(None, Path::new(&format!("a{ending}")), signature).unwrap();
                    let is_same = name.reads(format);
                    assert_eq!(
                        (found, told.is_some()),
                        (if is_same { name } else { format }, !is_same),
                        "{name} {format}"
                    );
                }
            }
        }
    }

    #[test]
    fn detection_prefers_asked_then_content_then_name() {
        let detect = |asked, path, first: &[u8]| detect(asked, path, first).map(|(format, _)| format);
        let npy = b"\x93NUMPY";
        assert_eq!(detect(Some(Format::Bin), Path::new("a.npz"), npy).unwrap(), Format::Bin);
        assert_eq!(detect(None, Path::new("a.npz"), npy).unwrap(), Format::Npy);
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
                ".bin, .pcd.bin, .npy, .npz, .ply, .pcd, .las, .laz, .feather, .arrow, .mcap, .bag, .db3, .e57, .ptx, .csv, .xyz, .txt, .asc, .pts"
            ),
            "{e}"
        );
        assert!(
            e.to_string().contains("first bytes of npy, npz, ply, pcd, las, feather, arrow, mcap, bag, db3, e57, got"),
            "{e}"
        );
        assert!(e.to_string().contains(r"`x\n`"), "{e}");
        for (signature, what, _) in OTHERS {
            let first = [signature, b"2\0\0\0\0"].concat();
            for name in ["a.bin", "a.txt", "a.pcd.bin", "a.doc", "a"] {
                let message = detect(None, Path::new(name), &first).unwrap_err().to_string();
                assert!(message.contains(&format!("got {what}; ")), "{message}");
            }
        }
        assert_eq!(Format::from_name("/a.bin/"), Some(Format::Kitti));
        assert_eq!(Format::from_name("a.pcd.bin"), Some(Format::Nuscenes));
        assert_eq!(Format::from_name(".."), None);
    }
}
