//! The command line: all commands with their flags, and how each is run.

use crate::convert::{self, ConvertArgs};
use crate::crop::{self, CropArgs};
use crate::demo::{self, DemoArgs};
use crate::devices;
use crate::downsample::{self, DownsampleArgs};
use crate::evaluate::{self, EvaluateArgs};
use crate::examples;
use crate::failure::Failure;
use crate::flags::Global;
use crate::icp::{self, IcpArgs};
use crate::info::{self, InfoArgs};
use crate::localize::{self, LocalizeArgs};
use crate::man;
use crate::merge::{self, MergeArgs};
use crate::ndt::{self, NdtCommand};
use crate::odometry::{self, OdometryArgs};
use crate::printer::Printer;
use crate::register::{self, RegisterArgs};
use crate::roi_pool::{self, RoiPoolArgs};
use crate::synth::{self, SynthArgs};
use crate::voxelize::{self, VoxelizeArgs};
use clap::{CommandFactory, Parser, Subcommand};
use pointmill_batch::program::Program;
use std::path::PathBuf;

const ABOUT: &str = "LiDAR point-cloud operators on CPU and GPU. Results are equal bit for bit on both";
const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    input/output or memory: a file cannot be written, memory is not available
  2    usage error: nothing was done
  3    some or all inputs failed; the results of the others are complete
  4    the device given with --device is not available
  5    the device was lost
  6    negative result: with --compare-cpu two results differ, or an alignment did not converge
  70   a bug in this program, please report it
  130  interrupted from the keyboard
  143  terminated by a signal (129 if the terminal was closed)";

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "pointmill", version, about = ABOUT, long_about = ABOUT, after_help = EXIT_CODES, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Command {
    /// Show what the program does, without data: drive through a synthetic street, find the
    /// trajectory, build a map, and write a page and an animation of the drive
    Demo(DemoArgs),
    /// Bin sweeps (LiDAR point clouds) into voxels. Without an input, the command uses 10 built-in
    /// synthetic sweeps
    #[command(after_help = examples::VOXELIZE)]
    Voxelize(VoxelizeArgs),
    /// Pool point features in oriented boxes, or report which points lie in which box. Without an
    /// input, the command uses a built-in synthetic street
    #[command(after_help = examples::ROI_POOL)]
    RoiPool(RoiPoolArgs),
    /// Build NDT maps (grids of normal distributions), score scans against a map, and align scans
    /// with a map
    Ndt {
        /// What to do
        #[command(subcommand)]
        command: NdtCommand,
    },
    /// Find the pose that aligns a source cloud with a target cloud
    #[command(after_help = examples::ICP)]
    Icp(Box<IcpArgs>),
    /// Find the pose that aligns two clouds without a guess, or say that there is no sure answer
    #[command(after_help = examples::REGISTER)]
    Register(Box<RegisterArgs>),
    /// Find the trajectory of a sensor from its sweeps
    #[command(after_help = examples::ODOMETRY)]
    Odometry(Box<OdometryArgs>),
    /// Find where scans are in a map, with and without a guess
    #[command(after_help = examples::LOCALIZE)]
    Localize(Box<LocalizeArgs>),
    /// Compare a trajectory with the truth: absolute and relative errors, drift. `evaluate
    /// detections` compares 3D boxes with the truth
    #[command(after_help = examples::EVALUATE)]
    Evaluate(Box<EvaluateArgs>),
    /// Print the format, columns, bounds and number of points of each file
    #[command(after_help = examples::INFO)]
    Info(InfoArgs),
    /// Convert point-cloud files to another format
    #[command(after_help = examples::CONVERT)]
    Convert(ConvertArgs),
    /// Downsample clouds: keep one point for each voxel, with all columns
    #[command(after_help = examples::DOWNSAMPLE)]
    Downsample(DownsampleArgs),
    /// Crop clouds: keep the points in a box, in a polygon, or within a distance
    #[command(after_help = examples::CROP)]
    Crop(CropArgs),
    /// Merge clouds: write the points of several clouds to one file
    #[command(after_help = examples::MERGE)]
    Merge(MergeArgs),
    /// List the available devices. -v adds the driver, its kernel cache, the embedded kernels, and
    /// advice if no GPU is found
    Devices,
    /// Write synthetic point clouds to files: the sweeps of a drive, or two scans of a figure
    #[command(after_help = examples::SYNTH)]
    Synth(SynthArgs),
    /// Print the manual page of the program, or write a page for each command
    Man {
        /// Folder to write the pages to: pointmill.1, pointmill-voxelize.1 and so on
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `-o` is `--out` of every command. In a command without a `--scan` of its own, that is another name
/// of `--scan-number`.
fn with_scan(command: clap::Command) -> clap::Command {
    let mut command = command.mut_subcommands(with_scan);
    if command.get_arguments().any(|arg| arg.get_id() == "out" && arg.get_long().is_some()) {
        command = command.mut_arg("out", |arg| arg.short('o'));
    }
    let has = |id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
    if has("scan") || !has("scan_number") {
        return command;
    }
    command.mut_arg("scan_number", |arg| arg.visible_alias("scan"))
}

impl Cli {
    /// All commands with their flags.
    pub(crate) fn commands() -> clap::Command {
        with_scan(Self::command())
    }
}

impl Program for Cli {
    const HINTS: &[(&str, &str)] = &[
        ("align", "`pointmill icp`, or `pointmill register` without a guess"),
        ("filter", "`pointmill crop` or `pointmill downsample`"),
        ("map", "`pointmill ndt build`, or `pointmill odometry --map-out`"),
        ("nms", "`pointmill.boxes.nms` of Python"),
        ("odom", "`pointmill odometry`"),
        ("plot", "--visualize of the command that makes the result"),
        ("registration", "`pointmill register`, or `pointmill icp` with a guess"),
        ("serialize", "`pointmill.sparse.grid_sample` and `serialize` of Python"),
        ("slam", "`pointmill odometry`"),
        ("view", "--visualize of the command that makes the result"),
        ("visualize", "--visualize of the command that makes the result"),
    ];

    fn global(&self) -> &Global {
        &self.global
    }

    fn run(&self, printer: &mut Printer) -> Result<(), Failure> {
        let device = &self.global.device;
        match &self.command {
            Command::Demo(args) => demo::run(args, device, printer),
            Command::Voxelize(args) => voxelize::run(args, device, printer),
            Command::RoiPool(args) => roi_pool::run(args, device, printer),
            Command::Ndt { command } => ndt::run(command, device, printer),
            Command::Icp(args) => icp::run(args, device, printer),
            Command::Register(args) => register::run(args, device, printer),
            Command::Odometry(args) => odometry::run(args, device, printer),
            Command::Localize(args) => localize::run(args, device, printer),
            Command::Evaluate(args) => evaluate::run(args, printer),
            Command::Info(args) => info::run(args, printer),
            Command::Convert(args) => convert::run(args, printer),
            Command::Downsample(args) => downsample::run(args, device, printer),
            Command::Crop(args) => crop::run(args, printer),
            Command::Merge(args) => merge::run(args, printer),
            Command::Devices => devices::run(self.global.logs > 0, printer),
            Command::Synth(args) => synth::run(args, printer),
            Command::Man { out } => man::run(Self::commands(), out.as_deref(), printer),
            Command::Completions { shell } => {
                let mut text = Vec::new();
                clap_complete::generate(*shell, &mut Self::commands(), "pointmill", &mut text);
                printer.plain(&text)
            }
        }
    }
}

#[cfg(test)]
#[path = "../tests/unit/cli.rs"]
mod tests;
