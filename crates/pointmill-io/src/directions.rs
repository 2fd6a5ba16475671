//! Columns that are directions: normals and velocities, which turn with the points.

use crate::field::Field;
use pointmill_core::Pose;

/// What directions are called, in lower case and without what stands before a colon: before the
/// axis, and behind it.
const NAMES: [&str; 8] = ["n", "normal", "normal_", "v", "vel_", "velocity", "velocity_", "scan_normal_"];
const ENDS: [&str; 2] = ["", "_comp"];

/// The columns of a cloud that are directions: x, y, z of each. Of velocities z may be missing, as
/// that of radar does, and is 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Directions(Vec<([usize; 2], Option<usize>)>);

impl Directions {
    /// Those among columns of these names, of which the first three are x, y, z.
    pub(crate) fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let names: Vec<_> = names.map(str::to_ascii_lowercase).collect();
        // Names of vendors have a prefix: `nor:normalX`.
        let place = |wanted: &str| names.iter().skip(3).position(|name| name.rsplit(':').next() == Some(wanted));
        let all = NAMES.iter().flat_map(|name| ENDS.map(|end| (name, end)));
        let found = all.filter_map(|(name, end)| {
            let [x, y, z] = ["x", "y", "z"].map(|axis| place(&format!("{name}{axis}{end}")).map(|at| at + 3));
            let is_plane = name.starts_with('v');
            (z.is_some() || is_plane).then_some(([x?, y?], z))
        });
        Self(found.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a column is a part of one.
    pub(crate) fn has(&self, column: usize) -> bool {
        self.0.iter().any(|([x, y], z)| [*x, *y].contains(&column) || *z == Some(column))
    }

    /// Turns those of a row: `value` has its values, and `set` takes the new ones.
    pub(crate) fn turn<R>(
        &self,
        pose: &Pose,
        row: &mut R,
        value: impl Fn(&R, usize) -> f64,
        set: impl Fn(&mut R, usize, f64),
    ) {
        for &([x, y], z) in &self.0 {
            let [u, v, w] = pose.rotate([value(row, x), value(row, y), z.map_or(0.0, |z| value(row, z))]);
            set(row, x, u);
            set(row, y, v);
            if let Some(z) = z {
                set(row, z, w);
            }
        }
    }
}

/// Turns the directions among the columns of rows: normals and velocities, as
/// [`Scan::transformed`](crate::Scan::transformed) knows them.
///
/// ```
/// use pointmill_core::Pose;
/// use pointmill_io::{Dtype, Field, turn_directions};
/// let fields = ["x", "y", "z", "nx", "ny", "nz"].map(|name| Field { name: name.into(), dtype: Dtype::F32 });
/// let mut row = [5.0, 0.0, 0.0, 0.0, 0.0, 1.0];
/// turn_directions(&fields, &mut row, 6, &Pose::from_xyzrpy([0.0, 0.0, 0.0, std::f64::consts::PI, 0.0, 0.0])?);
/// assert_eq!((row[0], row[5]), (5.0, -1.0));
/// # Ok::<(), pointmill_core::rigid::NotRigid>(())
/// ```
pub fn turn_directions(fields: &[Field], rows: &mut [f32], columns: usize, pose: &Pose) {
    let directions = Directions::of(fields.iter().map(|field| &*field.name));
    if directions.is_empty() {
        return;
    }
    for row in rows.chunks_exact_mut(columns) {
        directions.turn(pose, &mut &mut *row, |row, j| f64::from(row[j]), |row, j, v| row[j] = v as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_and_velocities_are_known_by_their_names() {
        let found = |names: &str| Directions::of("x y z".split(' ').chain(names.split(' '))).0;
        for names in [
            "nx ny nz",
            "normal_x normal_y normal_z",
            "nor:normalX nor:normalY nor:normalZ",
            "Nx Ny Nz",
            "NormalX NormalY NormalZ",
            "vx vy vz",
            "velocity_x velocity_y velocity_z",
            "vel_x vel_y vel_z",
        ] {
            assert_eq!(found(names), [([3, 4], Some(5))], "{names}");
        }
        assert_eq!(found("vx vy vx_comp vy_comp"), [([3, 4], None), ([5, 6], None)]);
        assert_eq!(found("nx ny"), []);
        assert_eq!(found("nx_1 ny_1 nz_1 vx"), []);
        // A quarter of a turn about z.
        let pose = Pose::from_xyzrpy([5.0, 6.0, 7.0, 0.0, 0.0, std::f64::consts::FRAC_PI_2]).unwrap();
        let directions = Directions::of(["x", "y", "z", "nx", "ny", "nz", "vx", "vy"].into_iter());
        let mut row = [9.0, 9.0, 9.0, 1.0, 0.0, 0.5, 0.0, 2.0];
        directions.turn(&pose, &mut row, |row, j| row[j], |row, j, v| row[j] = v);
        let near = [9.0, 9.0, 9.0, 0.0, 1.0, 0.5, -2.0, 0.0];
        assert!(row.iter().zip(near).all(|(a, b)| (a - b).abs() < 1e-12), "{row:?}");
        assert!(directions.has(3) && directions.has(7) && !directions.has(2));
    }
}
