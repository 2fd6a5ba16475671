//! Where the numbers of a line are that has a time: as TUM has them, as EuRoC has them, or as a
//! header of EuRoC says.

/// Seconds above which a time counts something else: the year 5138 from 1970 on, 100 s in
/// nanoseconds.
const LATEST: f64 = 1e11;

/// Which numbers of a line are what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Columns {
    /// The numbers of a line.
    pub(super) numbers: usize,
    /// The places of the time, the translation and the quaternion x, y, z, w.
    pub(super) places: [usize; 8],
    /// How many of the time's unit a second has.
    pub(super) per_second: f64,
}

impl Columns {
    /// TUM's.
    pub(super) const TUM: Self = Self { numbers: 8, places: [0, 1, 2, 3, 4, 5, 6, 7], per_second: 1.0 };

    /// EuRoC's without a header, of a first line of so many numbers: all 17, or the first 8.
    pub(super) const fn of(numbers: usize) -> Self {
        Self { numbers: if numbers == 8 { 8 } else { 17 }, places: [0, 1, 2, 3, 5, 6, 7, 4], per_second: 1e9 }
    }

    /// Those that a header names, such as `timestamp [ns], p_RS_R_x [m], .., q_RS_w [], ..`; `None`
    /// for another comment.
    pub(super) fn named(header: &str) -> Option<Self> {
        let names: Vec<_> = header.split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
        let names: Vec<_> = names.iter().filter(|name| !name.is_empty()).map(|name| parts(name)).collect();
        let at = |kind: &str, axis: &str| {
            names.iter().position(|(name, _)| name.starts_with(kind) && name.len() > 2 && name.ends_with(axis))
        };
        let time = names.iter().position(|(name, _)| matches!(*name, "timestamp" | "time" | "t"))?;
        let per_second = match names[time].1 {
            "s" | "sec" => 1.0,
            "ms" => 1e3,
            "us" => 1e6,
            // EuRoC's own headers name no unit.
            _ => 1e9,
        };
        let places = [
            time,
            at("p_", "_x")?,
            at("p_", "_y")?,
            at("p_", "_z")?,
            at("q_", "_x")?,
            at("q_", "_y")?,
            at("q_", "_z")?,
            at("q_", "_w")?,
        ];
        Some(Self { numbers: names.len(), places, per_second })
    }

    /// What is wanted instead of a time that is not of the unit; `None` if it may be.
    pub(super) fn wanted_instead_of(&self, time: f64) -> Option<String> {
        if self.per_second == 1.0 && time.is_finite() && time.abs() > LATEST {
            let way = "nanoseconds need the header line of EuRoC (#timestamp, p_RS_R_x [m], ..) or the format euroc";
            return Some(format!("a time of at most {LATEST:e} seconds; {way}"));
        }
        let is_part = self.per_second == 1e9 && time.is_finite() && time.fract() != 0.0;
        is_part.then(|| "whole nanoseconds (euroc), or [s] behind the time in the header".into())
    }
}

/// A name, and the unit in brackets behind it.
fn parts(name: &str) -> (&str, &str) {
    match name.split_once('[') {
        Some((name, unit)) => (name.trim(), unit.trim_end_matches(']').trim()),
        None => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_name_columns_in_any_order() {
        let euroc = "timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z []";
        assert_eq!(Columns::named(euroc), Some(Columns::of(8)));
        let all = format!(
            "{euroc}, v_RS_R_x [m s^-1], v_RS_R_y [m s^-1], v_RS_R_z [m s^-1], b_w_RS_S_x [rad s^-1], \
            b_w_RS_S_y [rad s^-1], b_w_RS_S_z [rad s^-1], b_a_RS_S_x [m s^-2], b_a_RS_S_y [m s^-2], b_a_RS_S_z [m s^-2]"
        );
        assert_eq!(Columns::named(&all), Some(Columns::of(17)));
        let other = "Time [s],q_x,q_y,q_z,q_w,p_WB_z,p_WB_y,p_WB_x,";
        let found = Columns { numbers: 8, places: [0, 7, 6, 5, 1, 2, 3, 4], per_second: 1.0 };
        assert_eq!(Columns::named(other), Some(found));
        for none in ["time x y z qx qy qz qw", "timestamp, tx, ty, tz, qx, qy, qz, qw", "", "timestamp, p_RS_R_x [m]"] {
            assert_eq!(Columns::named(none), None, "{none}");
        }
    }
}
