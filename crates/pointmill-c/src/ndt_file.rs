//! Maps of normal distributions from files and into files.

use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{create, given_or, some, text};
use crate::ndt::{pointmill_ndt_grid, pointmill_ndt_moments, pointmill_ndt_params};
use crate::stream::{of, pointmill_stream};
use pointmill::ndt::{NdtGrid, NdtMoments, NdtParams};
use pointmill::{Argument, Stream};
use pointmill_data::{is_ndt_map, read_moments, read_ndt_map_within, write_ndt_map, write_ndt_moments};
use pointmill_io::{Limits, Place, ReadOptions, read};
use std::ffi::c_char;
use std::path::Path;

/// Metres of a cell of a cloud, as of the command.
const RESOLUTION: f64 = 2.0;

/// The path of an argument.
fn path<'a>(of: *const c_char) -> Result<&'a Path> {
    text(of, "path").map(Path::new)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|of| of.eq_ignore_ascii_case(extension))
}

/// Sums of a file of moments, `.arrow`.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_moments_load(
    path: *const c_char,
    moments: Option<&mut *mut pointmill_ndt_moments>,
) -> pointmill_status {
    guard(|| create(moments, || Ok(pointmill_ndt_moments(read_moments(self::path(path)?, &Limits::default())?))))
}

/// Writes the sums to a file, whole or not at all.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_moments_save(
    moments: Option<&pointmill_ndt_moments>,
    path: *const c_char,
) -> pointmill_status {
    guard(|| {
        let (moments, path) = (some(moments, "moments")?, self::path(path)?);
        Ok(write_ndt_moments(Place::named(path), &moments.0.table()?)?)
    })
}

/// A grid of a file, on the device of the stream: of a map, `.npz`, or made of moments, `.arrow`, or of a
/// cloud in any format. `resolution` is the edge of a cell in metres; 0 is that of the file, and 2 m of a
/// cloud. The parameters do not count for a map, whose cells are built; null is the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_grid_load(
    stream: Option<&pointmill_stream>,
    path: *const c_char,
    resolution: f64,
    params: *const pointmill_ndt_params,
    grid: Option<&mut *mut pointmill_ndt_grid>,
) -> pointmill_status {
    guard(|| {
        create(grid, || {
            let (stream, path) = (of(stream)?.clone(), self::path(path)?);
            let params = given_or(params, pointmill_ndt_params::new)?.params()?;
            Ok(pointmill_ndt_grid::new(load(&stream, path, resolution, &params)?, stream))
        })
    })
}

fn load(stream: &Stream, path: &Path, resolution: f64, params: &NdtParams) -> Result<NdtGrid> {
    let limits = Limits::default();
    // A lattice has edges that are f32 by their inverse.
    let asked = if resolution == 0.0 { None } else { Some(NdtMoments::new(resolution)?.lattice().unit()) };
    let agrees = |found: f64| {
        let expected = format_args!("{found}, the edge of the cells of {}, or 0", path.display());
        let differs = asked.is_some_and(|asked| asked != found);
        if differs { Err(Fault::new(Argument::Resolution, expected, resolution)) } else { Ok(()) }
    };
    if has_extension(path, "npz") && is_ndt_map(path, &limits)? {
        let (cells, lattice) = read_ndt_map_within(Place::named(path), &limits)?;
        agrees(lattice.unit())?;
        return Ok(NdtGrid::from_cells(cells, lattice, stream)?);
    }
    let moments = if has_extension(path, "arrow") {
        let moments = read_moments(path, &limits)?;
        agrees(moments.lattice().unit())?;
        moments
    } else {
        let mut moments = NdtMoments::new(if asked.is_none() { RESOLUTION } else { resolution })?;
        let scan = read(path, &ReadOptions::default())?;
        match &scan.xyz_f64 {
            Some(xyz) => moments.add(xyz.as_chunks::<3>().0)?,
            None => moments.add(&scan.cloud)?,
        }
        moments
    };
    Ok(NdtGrid::from_cells(moments.finish(params)?, *moments.lattice(), stream)?)
}

/// Writes the cells to a file, `.npz`, whole or not at all.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_grid_save(grid: Option<&pointmill_ndt_grid>, path: *const c_char) -> pointmill_status {
    guard(|| {
        let (grid, path) = (&some(grid, "grid")?.grid, self::path(path)?);
        Ok(write_ndt_map(Place::named(path), &grid.read()?, grid.lattice())?)
    })
}
