//! Flags of commands that read files.

use super::parse::{names, parse_area, parse_bytes};
use crate::failure::Failure;
use clap::Args;
use pointmill_io::bag::Extrinsics;
use pointmill_io::{Dataset, Format, Limits, LocalOrigin, ReadOptions};
use std::path::PathBuf;

/// How inputs are read.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reading")]
pub struct ReadArgs {
    /// Data set of the inputs, which names format and columns. kitti-odometry takes any format, and
    /// turns every point up by 0.205 degrees, by which KITTI's calibration is off. A --format or
    /// --columns that the data set does not have is an error
    #[arg(long, value_parser = names::<Dataset>(Dataset::NAMES))]
    pub dataset: Option<Dataset>,
    /// Format of the inputs. By default the file name decides: .bin is kitti, .pcd.bin is nuscenes,
    /// other formats have extensions of their own. If the name does not decide, the first bytes of
    /// the file do. bin is raw f32 rows with --columns values each
    #[arg(long, value_parser = names::<Format>(Format::NAMES))]
    pub format: Option<Format>,
    /// Number of values per point in raw f32 files: by default 4, in nuscenes files 5. If given,
    /// .npy and .npz inputs must have this number of columns too
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=1024))]
    pub columns: Option<u32>,
    /// Origin to subtract from the coordinates of all inputs before they become f32. auto: none if
    /// no coordinate of the first input moves by 1 mm or more, else the corner of the square
    /// kilometre in which it begins. Ranges, boxes and other places that flags give are global with
    /// auto, and relative to the origin if X,Y,Z is given. Poses are always global
    #[arg(long, value_name = "auto|none|X,Y,Z", default_value = "auto", allow_hyphen_values = true)]
    pub local_origin: LocalOrigin,
    /// Read only the points with X0 <= x <= X1 and Y0 <= y <= Y1, in global coordinates. Of COPC
    /// only the nodes that meet this part are unpacked
    #[arg(long, value_name = "X0,Y0,X1,Y1", allow_hyphen_values = true, value_parser = parse_area)]
    pub bounds: Option<[f64; 4]>,
    /// Read what is whole of inputs that were cut or damaged: the points before the cut of raw
    /// rows, binary PLY and PCD, and LAS; the whole chunks of LAZ and bags
    #[arg(long)]
    pub salvage: bool,
    /// Scan of an E57 file, from 0 [default: all of them]
    #[arg(long, value_name = "N")]
    pub scan_number: Option<usize>,
    /// Topics of a bag, separated by commas [default: its only one with clouds]. Each sweep of the
    /// first one is joined with the sweep of each other one that is nearest in time, within half a
    /// period. The static transforms of the bag (/tf_static) move them to base_link, or else to the
    /// frame of the first one. The column sensor counts topics from 0
    #[expect(clippy::doc_markdown, reason = "help is shown as it is")]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub topic: Vec<String>,
    /// File with the poses of the sensors of a bag, which counts instead of /tf_static: for each topic a
    /// line NAME X Y Z ROLL PITCH YAW, in metres and radians, of which NAME is a topic or a frame. Angles
    /// are those of URDF: roll, then pitch, then yaw about fixed axes
    #[expect(clippy::doc_markdown, reason = "help is shown as it is")]
    #[arg(long, value_name = "FILE")]
    pub extrinsics: Option<PathBuf>,
    /// Maximum number of bytes that a compressed input may unpack to. By default: npz the larger of
    /// 256 MiB and 100 times the file size; laz, compressed Arrow, all chunks of bags and the
    /// points of e57 the larger of 16 MiB and 64 times; pcd 88 times
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub max_decoded_bytes: Option<u64>,
    /// Maximum number of points of an input. An input with more is an error
    #[arg(long, value_name = "N", default_value = "1073741824", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub max_input_points: u64,
    /// How much memory reading may take.
    #[command(flatten)]
    pub memory: MemoryArgs,
}

/// How much memory reading may take.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Reading")]
pub struct MemoryArgs {
    /// Maximum memory for reading one input, in bytes, or with K, M or G for 1024, 1024^2 or 1024^3
    /// bytes
    #[arg(long, value_name = "N[K|M|G]", default_value = "16G", value_parser = parse_bytes)]
    max_memory: u64,
}

impl ReadArgs {
    /// The options of the library.
    ///
    /// # Errors
    /// A format or a number of columns that the data set does not have; a file of extrinsics that is none.
    pub fn options(&self) -> Result<ReadOptions, Failure> {
        if let Some(dataset) = self.dataset {
            let refuse = |flag: &str, wanted: String, found: String| {
                Err(Failure::Usage(format!("{flag}: expected {wanted}, as the data set {dataset} has, got {found}")))
            };
            let formats = dataset.formats();
            if let Some(format) = self.format.filter(|format| !formats.contains(format)) {
                let names: Vec<_> = formats.iter().map(|format| format.as_str()).collect();
                return refuse("--format", names.join(", "), format.to_string());
            }
            let columns = dataset.columns(Format::Bin).len();
            if let Some(asked) = self.columns.filter(|&asked| columns > 0 && asked as usize != columns) {
                return refuse("--columns", columns.to_string(), asked.to_string());
            }
        }
        let extrinsics = self.extrinsics.as_deref().map(Extrinsics::read).transpose();
        let extrinsics = extrinsics.map_err(|e| Failure::Usage(format!("--extrinsics: {e}")))?;
        Ok(ReadOptions {
            dataset: self.dataset,
            format: self.format,
            columns: self.columns.map(|n| n as usize),
            scan: self.scan_number,
            topics: self.topic.clone(),
            extrinsics,
            salvage: self.salvage,
            area: self.bounds,
            origin: self.local_origin,
            limits: self.limits(),
        })
    }

    /// The limits of the library.
    pub fn limits(&self) -> Limits {
        let &Self { max_decoded_bytes, max_input_points, memory, .. } = self;
        Limits { max_points: Some(max_input_points), max_decoded_bytes, ..memory.limits() }
    }
}

impl MemoryArgs {
    /// The limits of the library.
    pub fn limits(self) -> Limits {
        Limits { max_memory: Some(self.max_memory), ..Limits::default() }
    }
}
