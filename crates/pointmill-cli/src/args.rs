//! What the command line takes. Every flag is explained here and nowhere else; those of `ndt` in [`ndt`](crate::ndt), of `icp` in [`icp`](crate::icp).

use crate::batch::{BatchArgs, ResumeArgs};
use crate::config::{Order, Settings};
use crate::device::{self, OnOomArgs};
use crate::icp::IcpArgs;
use crate::ndt::NdtCommand;
use crate::roi_pool::{Inside, Mode, Origin, Output};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use pointmill_io::{Format, Limits, ReadOptions, escape};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

const ABOUT: &str = "LiDAR point-cloud operators on CPU and GPU, with the same bits on both";
const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    input/output or memory: a file cannot be written, memory is not there
  2    usage, found before any work
  3    some inputs failed, the rest is complete
  4    the device asked for by name is not there
  5    the device was lost
  6    the answer is \"no\": two devices differ under --cpu, no alignment converged
  70   a mistake in this program, please report it
  130  interrupted from the keyboard
  143  terminated by a signal (129 where the terminal went away)";

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "pointmill", version, about = ABOUT, long_about = ABOUT, after_help = EXIT_CODES, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Global {
    /// Where to work: auto, cpu, cuda or cuda:I. auto takes the first GPU that answers, else the CPU, and says which on stderr [default: auto]
    #[arg(long, global = true, value_name = "DEVICE", value_parser = device::check_name)]
    pub(crate) device: Option<String>,
    /// Print one JSON object a line instead of a table
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Log to stderr: -v what happens, -vv with details
    #[arg(short = 'v', global = true, action = ArgAction::Count)]
    pub(crate) logs: u8,
    /// Say nothing on stderr but errors, and show no progress (nor is any shown where stderr is no terminal)
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Bin sweeps into voxels; with no input, a built-in synthetic drive of 10 sweeps
    Voxelize(VoxelizeArgs),
    /// Pool features of the points in oriented boxes, or tell which points lie in which; with no input, a built-in street
    RoiPool(RoiPoolArgs),
    /// Make grids of normal distributions of clouds, and match scans with them
    Ndt {
        /// What to do
        #[command(subcommand)]
        command: NdtCommand,
    },
    /// Find the pose that brings one cloud onto another
    Icp(Box<IcpArgs>),
    /// Tell what is in files
    Info(InfoArgs),
    /// Write the points of files in another format
    Convert(ConvertArgs),
    /// List the devices that answer
    Devices,
    /// Write the sweeps of a synthetic drive, or two scans of a figure, to files
    Synth(SynthArgs),
    /// Measure the operators on this machine, beside the CPU and the fewest bytes they must move
    Bench(BenchArgs),
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// What to measure
    #[arg(value_enum, default_value = "voxelize")]
    pub(crate) operator: Operator,
    /// A point cloud instead of the built-in synthetic ones
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<String>,
    /// Of icp: the cloud that the input is brought onto
    #[arg(long, value_name = "FILE", requires = "input")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// Edge lengths of a voxel in metres, one or three [default: 0.2, and 0.075,0.075,0.2 for five columns]
    #[arg(long, value_name = "X[,Y,Z]", value_parser = parse_voxel_size)]
    pub(crate) voxel_size: Option<[f32; 3]>,
    /// Repeat the cloud, each copy moved a little, until it has this many points
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    pub(crate) points: Option<u32>,
    /// Runs that the medians are taken over; a fourth of it on the CPU
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) rounds: u32,
    /// Of soak: sweeps of each pass [default: 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) sweeps: Option<u32>,
}

/// What `bench` can measure.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Operator {
    /// Voxelization, and the sort that it uses
    Voxelize,
    /// Pooling in oriented boxes, its gradient, and points in boxes; on built-in scenes
    RoiPool,
    /// Grids of normal distributions: building, searching, scoring, aligning; on built-in maps
    Ndt,
    /// Clouds onto clouds: searches, normals, whole alignments; on built-in pairs, or --input onto --target
    Icp,
    /// Whether memory stays flat and results stay equal over many sweeps, by one thread and by eight that share the device; exit 6 if not
    Soak,
}

/// How inputs are read.
#[derive(Debug, Default, Args)]
pub(crate) struct ReadArgs {
    /// The inputs' format; by default found by name (.bin kitti, .pcd.bin nuscenes, others as they are called), then by content
    #[arg(long, value_parser = PossibleValuesParser::new(Format::NAMES).try_map(|s| s.parse::<Format>()))]
    pub(crate) format: Option<Format>,
    /// Values a point has in raw f32 files [default: 4, nuscenes 5]; arrays must have as many if this is given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=1024))]
    pub(crate) columns: Option<u32>,
    /// Most bytes that a compressed input may unpack to [default: npz 256 MiB or 100 times the file, laz 16 MiB or 64 times, pcd 88 times]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) max_decoded_bytes: Option<u64>,
    /// Most points of an input [default: 1073741824]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) max_input_points: Option<u64>,
    /// Most bytes of memory for what is read of an input; K, M and G count in 1024s [default: 16G]
    #[arg(long, value_name = "N[K|M|G]", value_parser = parse_bytes)]
    pub(crate) max_memory: Option<u64>,
}

impl ReadArgs {
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions { format: self.format, columns: self.columns.map(|n| n as usize), limits: self.limits() }
    }

    /// How much a read may take.
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

/// `pointmill voxelize`
#[derive(Debug, Args)]
pub(crate) struct VoxelizeArgs {
    /// Files, folders, quoted patterns, or - for the standard input (with --format)
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,

    /// Edge of a voxel in metres, one value or x,y,z [default: 0.2]
    #[arg(long, value_name = "A[,B,C]", allow_hyphen_values = true, value_parser = parse_voxel_size)]
    pub(crate) voxel_size: Option<[f32; 3]>,
    /// The range that is cut into voxels, in metres [default: -54,-54,-5,54,54,3]
    #[arg(long, value_name = "X0,Y0,Z0,X1,Y1,Z1", allow_hyphen_values = true, value_parser = parse_numbers::<6>)]
    pub(crate) range: Option<[f32; 6]>,
    /// Most voxels of an input [default: 160000; without limit with --dynamic]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_voxels: Option<u32>,
    /// Most points of a voxel [default: 10]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_points: Option<u32>,
    /// Order of the voxels: by their first point, or by cell id [default: first-seen]
    #[arg(long)]
    pub(crate) order: Option<Order>,
    /// Keep every point of every voxel (dynamic voxelization); no `voxels` array is made
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) dynamic: Option<bool>,
    /// Also ask of points that min <= p < max; it matters where the range is not a whole number of voxels
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) strict_range: Option<bool>,
    /// Element type of the means [default: f32]
    #[arg(long)]
    pub(crate) mean: Option<crate::config::Mean>,
    /// Leave the array `voxels` out
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_voxels: Option<bool>,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    #[command(flatten)]
    pub(crate) batch: BatchArgs,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    #[command(flatten)]
    pub(crate) on_oom: OnOomArgs,

    /// Write the arrays: OUT.npz for one input, else a folder that gets NAME.npz for each input NAME.*
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Write a picture of input and voxel means side by side: .png shows the first input, .gif one frame for each
    #[arg(long, value_name = "PATH")]
    pub(crate) visualize: Option<PathBuf>,
    /// Run the CPU as well (where the device is the CPU: one thread beside all), check that all arrays are equal bit for bit, and compare times
    #[arg(long)]
    pub(crate) cpu: bool,
    /// Print every input's times
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Take settings from this TOML file; flags override it
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config: Option<PathBuf>,
    /// Print the settings in effect as such a file, and do nothing else
    #[arg(long)]
    pub(crate) print_config: bool,
}

impl VoxelizeArgs {
    /// The settings that are given as flags.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            voxel_size: self.voxel_size.map(crate::config::VoxelSize::Each),
            range: self.range,
            max_voxels: self.max_voxels,
            max_points: self.max_points,
            order: self.order,
            dynamic: self.dynamic,
            strict_range: self.strict_range,
            mean: self.mean,
            no_voxels: self.no_voxels,
            format: self.read.format.map(|f| f.as_str().to_owned()),
            columns: self.read.columns,
            max_decoded_bytes: self.read.max_decoded_bytes,
            max_input_points: self.read.max_input_points,
            max_memory: self.read.max_memory,
        }
    }
}

/// `pointmill roi-pool`
#[derive(Debug, Args)]
pub(crate) struct RoiPoolArgs {
    /// Boxes: an .npy array [B, 7] of f32 or f16, cx, cy, cz, dx, dy, dz in metres and the heading about z in radians; of several scenes a folder or a quoted pattern, or one file for all
    #[arg(long, value_name = "B.npy|DIR")]
    pub(crate) boxes: Option<PathBuf>,
    /// Points: a file of any format that `info` knows, or - for the standard input (with --format); x, y, z in metres come first. A folder or a quoted pattern for several scenes, whose files are matched by their names without extension
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) points: Option<String>,
    /// Features: an .npy array [N, C] of f32 or f16, a row for each point; what is pooled has its type. A folder or a quoted pattern where --points is one
    #[arg(long, value_name = "F.npy|DIR", conflicts_with = "inside")]
    pub(crate) features: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    #[command(flatten)]
    pub(crate) on_oom: OnOomArgs,

    /// Voxels of a box along its length, width and height, one value or x,y,z
    #[arg(long, value_name = "A[,B,C]", default_value = "12,12,12", allow_hyphen_values = true, value_parser = parse_out_size)]
    #[arg(conflicts_with = "inside")]
    pub(crate) out_size: [u32; 3],
    /// Most points of a voxel; the dense layout has one place more, for the count
    #[arg(long, value_name = "N", default_value = "127", allow_negative_numbers = true, conflicts_with = "inside")]
    pub(crate) max_points: u32,
    /// What is made of the features of a voxel's points
    #[arg(long, value_enum, default_value = "max", conflicts_with = "inside")]
    pub(crate) mode: Mode,
    /// Which point of a box its cz is
    #[arg(long, value_enum, default_value = "bottom")]
    pub(crate) origin: Origin,
    /// Metres by which a box is longer and wider on each side
    #[arg(long, value_name = "M", default_value = "0", allow_negative_numbers = true)]
    pub(crate) margin: f32,
    /// How the result is laid out
    #[arg(long, value_enum, default_value = "dense", conflicts_with = "inside")]
    pub(crate) output: Output,
    /// Do not pool; tell which points lie in which box
    #[arg(long, value_enum)]
    pub(crate) inside: Option<Inside>,

    /// Write the arrays: OUT.npz for one scene, else a folder that gets NAME.npz for each scene NAME
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Write a picture of the boxes and the voxels of their points
    #[arg(long, value_name = "OUT.png", conflicts_with = "inside")]
    pub(crate) visualize: Option<PathBuf>,
    /// Run the CPU as well (where the device is the CPU: one thread beside all), check that all arrays are equal bit for bit, and compare times
    #[arg(long)]
    pub(crate) cpu: bool,
}

/// `pointmill info`
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Files, folders, quoted patterns, or - for the standard input (with --format)
    #[arg(value_name = "FILE", required = true)]
    pub(crate) inputs: Vec<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
}

/// `pointmill convert`
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Files, folders, quoted patterns, or - for the standard input (with --format)
    #[arg(value_name = "IN", required = true)]
    pub(crate) inputs: Vec<String>,
    /// The file to write, whose name tells the format: .npy f32 [N, C], .npz with the array points, .ply and .pcd binary, .bin raw f32 rows; with --to a folder that gets NAME.* for each input NAME.*
    #[arg(long, value_name = "OUT.npy|.npz|.ply|.pcd|.bin|DIR")]
    pub(crate) out: PathBuf,
    /// The format of the files of a folder
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(crate::convert::EXTENSIONS))]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
}

/// `pointmill synth`
#[derive(Debug, Args)]
pub(crate) struct SynthArgs {
    /// A folder for numbered sweeps and poses.txt; of the rabbit for both scans and the pose between them. Or a file ending in .bin, .npy or .ply for the first sweep alone
    #[arg(long, value_name = "DIR|FILE")]
    pub(crate) out: PathBuf,
    /// What is scanned
    #[arg(long, value_enum, default_value = "drive")]
    pub(crate) shape: SynthShape,
    /// Sweeps of the drive to write [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) sweeps: Option<u16>,
    /// Which street, traffic and noise; that of the built-in drive is 0
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// bin: raw f32 rows, read with --columns 6, of the rabbit 3; npy: an f32 array; ply: binary, with names. By default by the name of the file, else bin, for the rabbit ply
    #[arg(long)]
    pub(crate) format: Option<SynthFormat>,
}

/// What `synth` scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthShape {
    /// A street, by a sensor on a car
    Drive,
    /// A small figure from two sides, about 40,000 points each: input of `pointmill icp`
    Rabbit,
}

/// What `synth` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthFormat {
    Bin,
    Npy,
    Ply,
}

impl SynthFormat {
    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Self::Bin => "bin",
            Self::Npy => "npy",
            Self::Ply => "ply",
        }
    }
}

fn parse_voxel_size(text: &str) -> Result<[f32; 3], String> {
    parse_one_or_three(text, "number")
}

fn parse_out_size(text: &str) -> Result<[u32; 3], String> {
    parse_one_or_three(text, "whole number")
}

fn parse_one_or_three<T: FromStr + Copy>(text: &str, kind: &str) -> Result<[T; 3], String> {
    if text.contains(',') { parse_values(text, kind) } else { parse_values(text, kind).map(|[one]| [one; 3]) }
}

/// A number of bytes, the suffixes in 1024s.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift)).filter(|&n| n <= i64::MAX as u64);
    bytes.ok_or_else(|| "expected a whole number of bytes, with K, M or G behind it or nothing".into())
}

fn parse_numbers<const N: usize>(text: &str) -> Result<[f32; N], String> {
    parse_values(text, "number")
}

fn parse_values<T: FromStr, const N: usize>(text: &str, kind: &str) -> Result<[T; N], String> {
    let values: Result<Vec<T>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    let expected = || if N == 1 { format!("a {kind}") } else { format!("{N} {kind}s with commas between") };
    let values = values.map_err(|_| format!("expected {}", expected()))?;
    let count = values.len();
    values.try_into().map_err(|_| format!("expected {}, got {count}", expected()))
}

/// Whether the arguments ask for JSON lines, where they cannot be parsed.
pub(crate) fn ask_for_json() -> bool {
    std::env::args_os().skip(1).take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

/// What is wrong with the arguments, in one line and without the usage that people get too.
pub(crate) fn told(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:")).map(str::trim);
    let told = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    told.strip_prefix("error: ").map_or_else(|| told.clone(), str::to_owned)
}

/// Prints help, or what is wrong with the arguments; control bytes in these stay harmless.
pub(crate) fn explain(error: &clap::Error) -> ExitCode {
    let harmless = std::env::args_os().all(|arg| {
        let arg = arg.to_string_lossy();
        escape(&arg) == arg
    });
    // A pipe that is closed has nobody to tell.
    if harmless {
        let _ = error.print();
    } else {
        // Without colours, and line by line: the message has lines of its own.
        let plain = error.render().to_string();
        let lines: Vec<_> = plain.split('\n').map(escape).collect();
        let _ = std::io::stderr().lock().write_all(lines.join("\n").as_bytes());
    }
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn numbers_are_counted() {
        assert_eq!(parse_voxel_size("0.2"), Ok([0.2; 3]));
        assert_eq!(parse_voxel_size("0.1, 0.2,0.3"), Ok([0.1, 0.2, 0.3]));
        assert_eq!(parse_voxel_size("0.1,0.2"), Err("expected 3 numbers with commas between, got 2".into()));
        assert_eq!(parse_voxel_size("x"), Err("expected a number".into()));
        assert_eq!((parse_out_size("7"), parse_out_size("1,2,3")), (Ok([7; 3]), Ok([1, 2, 3])));
        assert_eq!(parse_out_size("-7"), Err("expected a whole number".into()));
        assert_eq!(parse_out_size("1,2"), Err("expected 3 whole numbers with commas between, got 2".into()));
        assert_eq!((parse_bytes("7"), parse_bytes("3k"), parse_bytes("2G")), (Ok(7), Ok(3 << 10), Ok(2 << 30)));
        assert!(
            ["", "G", "-1", "1T", "1.5G", "9223372036854775808", "18446744073709551615G"]
                .map(parse_bytes)
                .iter()
                .all(Result::is_err)
        );
        assert_eq!(parse_numbers::<6>("-54,-54,-5,54,54,3"), Ok([-54.0, -54.0, -5.0, 54.0, 54.0, 3.0]));
    }
}
