//! The formats of point clouds: what they are called and what their files end in.

use std::path::Path;

/// What is known of a format.
struct Entry {
    description: &'static str,
    endings: &'static [&'static str],
}

/// Makes the enum, its names and its table.
macro_rules! formats {
    ($($variant:ident = $name:literal, $endings:expr, $description:literal;)*) => {
        /// A file format of point clouds.
        ///
        /// A format is found by the file's first bytes, then by its name (the longer ending wins:
        /// `.pcd.bin` before `.bin`).
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
                    $(Self::$variant => const { &Entry { description: $description, endings: $endings } },)*
                }
            }
        }
    };
}

// The name is also the ending of files that are written. How files are read and written stands in
// `formats.rs`.
formats! {
    Kitti = "kitti", &[".bin"], "Raw little-endian `f32` rows of x, y, z, intensity.";
    Nuscenes = "nuscenes", &[".pcd.bin"], "Raw little-endian `f32` rows of x, y, z, intensity, time.";
    Bin = "bin", &[], "Raw little-endian `f32` rows of as many columns as the reader asks for.";
    Npy = "npy", &[".npy"], "A numpy array of shape `[N, C]`.";
    Npz = "npz", &[".npz"], "A zip archive of numpy arrays: `points`, and `xyz_f64` beside it.";
    Ply = "ply", &[".ply"], "Polygon file format: named properties of each `vertex`, as text or binary.";
    Pcd = "pcd", &[".pcd"], "The Point Cloud Library's format: named fields, as text, binary or compressed.";
    Las = "las", &[".las", ".laz"], "LAS 1.0 to 1.4, written as 1.4; compressed as LAZ, by the name `.laz`, with the feature `laz`.";
    Feather = "feather", &[".feather"], "Feather 2, an Arrow IPC file: named columns of a table, compressed or not.";
    Arrow = "arrow", &[".arrow"], "Arrow IPC, a file or a stream: named columns of a table, compressed or not.";
    Mcap = "mcap", &[".mcap"], "MCAP: a bag of one cloud; `bag::Bag` reads the others.";
    Rosbag = "bag", &[".bag"], "A bag of ROS 1: as MCAP.";
    Sqlite = "db3", &[".db3"], "A bag of ROS 2 in SQLite: as MCAP.";
    E57 = "e57", &[".e57"], "E57: all scans of a file in its frame, or one of them.";
    Ptx = "ptx", &[".ptx"], "PTX of Leica: scans as text, each with its pose, in the frame of the poses.";
    Csv = "csv", &[".csv"], "Lines of numbers separated by commas, after a line of names; read with any separator.";
    Xyz = "xyz", &[".xyz", ".txt", ".asc", ".pts"], "Lines of numbers separated by blanks, without names; read with any separator.";
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

    /// Whether files of the format are bags: sequences of clouds, which [`Bag`](crate::bag::Bag)
    /// reads.
    pub const fn is_bag(self) -> bool {
        matches!(self, Self::Mcap | Self::Rosbag | Self::Sqlite)
    }

    /// The format that a file's name announces, whatever the case of its letters.
    pub fn from_name(path: impl AsRef<Path>) -> Option<Self> {
        let name = path.as_ref().file_name()?.to_string_lossy().to_ascii_lowercase();
        let length = |format: Self| format.endings().iter().filter(|e| name.ends_with(**e)).map(|e| e.len()).max();
        Self::ALL.iter().copied().filter(|&format| length(format).is_some()).max_by_key(|&format| length(format))
    }

    /// The endings of the files that are read, as a list for messages.
    pub fn extensions() -> String {
        Self::ALL.iter().flat_map(|format| format.endings()).copied().collect::<Vec<_>>().join(", ")
    }
}
