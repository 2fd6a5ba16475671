//! Flags of commands that read clouds.

use super::parse::{names, parse_bytes};
use clap::Args;
use pointmill_io::{Dataset, Format, Limits, ReadOptions};

/// How inputs are read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// Data set of the inputs, which names format and columns. A --format or --columns that it does not have is an error
    #[arg(long, value_parser = names::<Dataset>(Dataset::NAMES))]
    pub(crate) dataset: Option<Dataset>,
    /// Format of the inputs. By default the name decides (.bin kitti, .pcd.bin nuscenes, others by their extension), then the content
    #[arg(long, value_parser = names::<Format>(Format::NAMES))]
    pub(crate) format: Option<Format>,
    /// Values per point in raw f32 files [default: 4, nuscenes 5]. Arrays must have this many columns if it is given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=1024))]
    pub(crate) columns: Option<u32>,
    /// Scan of an E57 file, from 0 [default: all of them]
    #[arg(long, value_name = "N")]
    pub(crate) scan_number: Option<usize>,
    /// Topic of a bag [default: its only one with clouds]
    #[arg(long, value_name = "NAME")]
    pub(crate) topic: Option<String>,
    /// Most bytes that a compressed input may unpack to [default: npz 256 MiB or 100 times the file, a chunk of mcap alike, laz and compressed Arrow 16 MiB or 64 times, pcd 88 times]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) max_decoded_bytes: Option<u64>,
    /// Most points of an input [default: 1073741824]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) max_input_points: Option<u64>,
    /// Most bytes of memory for reading one input; K, M and G count in 1024s [default: 16G]
    #[arg(long, value_name = "N[K|M|G]", value_parser = parse_bytes)]
    pub(crate) max_memory: Option<u64>,
}

impl ReadArgs {
    /// The options of the library.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            dataset: self.dataset,
            format: self.format,
            columns: self.columns.map(|n| n as usize),
            scan: self.scan_number,
            topic: self.topic.clone(),
            limits: self.limits(),
        }
    }

    /// The limits of the library.
    pub(crate) fn limits(&self) -> Limits {
        let &Self { max_decoded_bytes, max_input_points, max_memory, .. } = self;
        let default = Limits::default();
        Limits {
            max_points: max_input_points.or(default.max_points),
            max_memory: max_memory.or(default.max_memory),
            max_decoded_bytes,
        }
    }
}
