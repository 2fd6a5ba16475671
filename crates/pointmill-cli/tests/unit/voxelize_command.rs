//! Tests of `src/voxelize/command.rs`.

use super::*;
use crate::flags::OnOom;
use clap::Parser;
use pointmill::{PointCloud, TwinFault};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: VoxelizeArgs,
}

/// Voxelizes a cloud on the twin, which fails after so many allocations or launches. Returns the
/// frame and the bytes that were written.
fn failing(on_oom: OnOom, fault: (TwinFault, usize)) -> Result<(Frame<Row>, Vec<u8>), InputError> {
    let folder = tempfile::tempdir().unwrap();
    let [input, out] = ["a.bin", "a.npz"].map(|name| folder.path().join(name));
    let points = (0..300).flat_map(|i| [0.1 * i as f32, 0.0, 0.0, 1.0]);
    pointmill_io::write_bin(&input, PointCloud::new(points.collect(), 4).unwrap().points()).unwrap();
    let mut args = Line::parse_from(["voxelize", "--max-voxels", "1000"]).args;
    args.work.on_oom = on_oom;
    let (sources, inputs) = Inputs::find(&[input], args.read.options().unwrap()).unwrap();
    let outputs = Outputs::plan(Some(&out), &sources).unwrap();
    let params = args.params([0.0; 3]).unwrap();
    let command =
        Voxelize { args: &args, params, device: Device::twin(), inputs, sweeps: None, outputs, picture: None };
    let mut slot = command.worker().unwrap();
    Device::fail_twin(Some(fault));
    let done = command.one(&mut slot, 0, &sources[0]);
    Device::fail_twin(None);
    done.map(|frame| (frame, std::fs::read(out).unwrap()))
}

#[test]
fn an_input_for_which_memory_is_short_fails_or_is_done_on_the_cpu() {
    let short = (TwinFault::OutOfMemory, 0);
    let Err(InputError::Input(refused)) = failing(OnOom::Fail, short) else { panic!("no refusal") };
    assert!(format!("{refused:?}").contains("\"OutOfMemory\""), "{refused:?}");
    let (redone, redone_bytes) = failing(OnOom::Cpu, short).unwrap();
    let (whole, whole_bytes) = failing(OnOom::Cpu, (TwinFault::OutOfMemory, 10_000)).unwrap();
    assert_eq!((redone.device.as_deref(), whole.device.as_deref()), (Some("cpu"), Some("twin")));
    assert!(redone_bytes == whole_bytes);
}

#[test]
fn a_lost_device_ends_the_command() {
    let lost = failing(OnOom::Cpu, (TwinFault::Lost, 0)).unwrap_err();
    assert!(matches!(&lost, InputError::Fatal(failure) if failure.exit_code() == 5), "{lost:?}");
}
