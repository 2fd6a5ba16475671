//! Sweeps in one frame, and features of pillars.

use crate::array::{Outcome, View, lent, pointmill_array};
use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{create, defaults, destroy, given_or, list, some, structs};
use crate::registration::{pointmill_pose, pose};
use crate::stream::{of, pointmill_stream};
use pointmill::sparse::{Densifier, PillarEncoder, PillarParams, PillarPoints};
use pointmill::{Argument, Buffer, Stream};
use std::ffi::c_char;

/// Moves points of several sweeps into one frame, call after call.
#[derive(Debug)]
pub struct pointmill_densifier {
    stream: Stream,
    worker: Densifier,
    points: Buffer<f32>,
    shape: [usize; 2],
    outcome: Outcome,
}

/// A densifier whose work goes to the stream.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_densifier_create(
    stream: Option<&pointmill_stream>,
    densifier: Option<&mut *mut pointmill_densifier>,
) -> pointmill_status {
    guard(|| {
        create(densifier, || {
            let stream = of(stream)?.clone();
            let (worker, points) = (Densifier::new(&stream)?, stream.alloc(0)?);
            let outcome = Outcome::none("pointmill_densifier_run");
            Ok(pointmill_densifier { stream, worker, points, shape: [0; 2], outcome })
        })
    })
}

/// Joins `num_sweeps` sweeps [N, C] of f32. `transforms` takes points of each to the common frame;
/// `time_lags`, in seconds, becomes the last column.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_densifier_run(
    densifier: Option<&mut pointmill_densifier>,
    sweeps: *const pointmill_array,
    transforms: *const pointmill_pose,
    time_lags: *const f32,
    num_sweeps: u64,
) -> pointmill_status {
    guard(|| {
        let pointmill_densifier { stream, worker, points, shape, outcome } = some(densifier, "densifier")?;
        outcome.of(|| {
            let sweeps = list(sweeps, num_sweeps, "sweeps")?;
            let lent = sweeps.iter().map(|sweep| lent(sweep, Argument::Sweeps, stream)).collect::<Result<Vec<_>>>()?;
            let rows = lent.iter().map(|lent| Ok(lent.rows()?)).collect::<Result<Vec<_>>>()?;
            let transforms =
                list(transforms, num_sweeps, "transforms")?.iter().map(pose).collect::<Result<Vec<_>>>()?;
            worker.run(&rows, &transforms, list(time_lags, num_sweeps, "time_lags")?, points)?;
            *shape = [rows.iter().map(pointmill::Rows::len).sum(), rows[0].columns() + 1];
            Ok(())
        })
    })
}

/// The array of the last call: "points" [sum of N, C + 1] of f32.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_densifier_array(
    densifier: Option<&pointmill_densifier>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_densifier { stream, points, shape: [rows, columns], outcome, .. } = some(densifier, "densifier")?;
        outcome.give(|| Ok(vec![("points", View::new(points, *rows, *columns)?)]), name, stream, array)
    })
}

/// Destroys the densifier and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_densifier_destroy(densifier: Option<Box<pointmill_densifier>>) {
    destroy(densifier);
}

/// Parameters of features of pillars.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_pillar_params {
    /// sizeof(pointmill_pillar_params)
    pub struct_size: usize,
    /// Features of a point: 5 more than it has columns, or 6 more, with z less the centre; default 9.
    pub features: u32,
    /// Edges of a pillar along x, y, z in metres; default 0.16, 0.16, 4.
    pub voxel_size: [f32; 3],
    /// The least corner of the range; default 0, -39.68, -3.
    pub origin: [f32; 3],
}
structs!(pointmill_pillar_params);

impl pointmill_pillar_params {
    fn new() -> Self {
        let PillarParams { features, voxel_size, origin } = PillarParams::default();
        Self { struct_size: size_of::<Self>(), features, voxel_size, origin }
    }

    fn params(&self) -> PillarParams {
        PillarParams { features: self.features, voxel_size: self.voxel_size, origin: self.origin }
    }
}

/// Makes features of pillars, call after call.
#[derive(Debug)]
pub struct pointmill_pillar_encoder {
    stream: Stream,
    worker: PillarEncoder,
    width: usize,
    features: Buffer<f32>,
    shape: [usize; 2],
    outcome: Outcome,
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_pillar_params_init(params: *mut pointmill_pillar_params) -> pointmill_status {
    defaults(params, pointmill_pillar_params::new)
}

/// An encoder whose work goes to the stream. Pass NULL to use the default parameters.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_pillar_encoder_create(
    stream: Option<&pointmill_stream>,
    params: *const pointmill_pillar_params,
    encoder: Option<&mut *mut pointmill_pillar_encoder>,
) -> pointmill_status {
    guard(|| {
        create(encoder, || {
            let stream = of(stream)?.clone();
            let params = given_or(params, pointmill_pillar_params::new)?.params();
            let (worker, features) = (PillarEncoder::new(&stream, &params)?, stream.alloc(0)?);
            let (width, outcome) = (params.features as usize, Outcome::none("pointmill_pillar_encoder_run"));
            Ok(pointmill_pillar_encoder { stream, worker, width, features, shape: [0; 2], outcome })
        })
    })
}

/// Makes features of pillars as a voxelizer makes them: `voxels` [V, T * C] of f32 with T = `slots`,
/// `num_points` [V] and `coords` [V, 3 or 4] of i32.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_pillar_encoder_run(
    encoder: Option<&mut pointmill_pillar_encoder>,
    voxels: *const pointmill_array,
    slots: u64,
    num_points: *const pointmill_array,
    coords: *const pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_pillar_encoder { stream, worker, width, features, shape, outcome } = some(encoder, "encoder")?;
        outcome.of(|| {
            let whole = crate::handle::given(voxels).map_err(|fault| fault.about("voxels"))?;
            let (slots, row) = (slots as usize, whole.columns as usize);
            if slots == 0 || !row.is_multiple_of(slots) {
                return Err(Fault::new("slots", format_args!("a part of the {row} columns of voxels"), slots));
            }
            let lent_voxels = lent(voxels, Argument::Voxels, stream)?;
            let num_points = lent(num_points, Argument::NumPoints, stream)?;
            let columns = crate::handle::given(coords).map_err(|fault| fault.about("coords"))?.columns as usize;
            let coords = lent(coords, Argument::Coords, stream)?;
            let slotted = lent_voxels.rows_of(row / slots)?;
            let expected = format_args!("{} rows, as voxels has", whole.rows);
            for (argument, ints) in [
                (Argument::NumPoints, num_points.ints(Argument::NumPoints, &[1])?),
                (Argument::Coords, coords.ints(Argument::Coords, &[3, 4])?),
            ] {
                let width = if argument == Argument::Coords { columns.max(1) } else { 1 };
                if ints.len() as u64 != whole.rows.saturating_mul(width as u64) {
                    return Err(Fault::new(argument, expected, ints.len() / width));
                }
            }
            if slotted.stream().is_none() {
                worker.run(PillarPoints::new(slotted, slots, num_points.host(), coords.host())?, features)?;
            } else {
                let (num_points, coords) = (num_points.ints_on(stream)?, coords.ints_on(stream)?);
                worker.run(PillarPoints::on_device(slotted, slots, &num_points, &coords, columns)?, features)?;
            }
            *shape = [whole.rows as usize, slots * *width];
            Ok(())
        })
    })
}

/// The array of the last call: "features" [V, T * F] of f32.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_pillar_encoder_array(
    encoder: Option<&pointmill_pillar_encoder>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_pillar_encoder { stream, features, shape: [rows, columns], outcome, .. } =
            some(encoder, "encoder")?;
        outcome.give(|| Ok(vec![("features", View::new(features, *rows, *columns)?)]), name, stream, array)
    })
}

/// Destroys the encoder and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_pillar_encoder_destroy(encoder: Option<Box<pointmill_pillar_encoder>>) {
    destroy(encoder);
}
