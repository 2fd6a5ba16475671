//! Where the numbers of a line are: as TUM or EuRoC has them, or as a header says.

/// Seconds above which a time counts something else: the year 5138 from 1970 on, 100 s in
/// nanoseconds.
pub(super) const LATEST: f64 = 1e11;
/// The least time of 18 digits: the year 1973 in nanoseconds.
const LEAST_NANOSECONDS: f64 = 1e17;

/// What a time counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unit {
    /// So many to a second, as the format or the header says.
    PerSecond(f64),
    /// Nanoseconds as in EuRoC, whose headers name no unit, or seconds if there are fractions.
    Euroc,
    /// Nanoseconds if all times have 18 or 19 digits, else seconds.
    ByDigits,
}

/// Which numbers of a line are what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Columns {
    /// The numbers of a line.
    pub(super) numbers: usize,
    /// The place of the time, and of nanoseconds that are added to it.
    pub(super) time: Option<usize>,
    pub(super) nanoseconds: Option<usize>,
    /// The places of x, y, z.
    pub(super) position: [usize; 3],
    /// The places of the quaternion x, y, z, w.
    pub(super) rotation: Option<[usize; 4]>,
    pub(super) unit: Unit,
}

impl Columns {
    /// TUM's.
    pub(super) const TUM: Self = Self {
        numbers: 8,
        time: Some(0),
        nanoseconds: None,
        position: [1, 2, 3],
        rotation: Some([4, 5, 6, 7]),
        unit: Unit::PerSecond(1.0),
    };

    /// Positions without rotations, with a time before them if a line has four numbers.
    pub(super) const fn positions(numbers: usize) -> Self {
        let has_time = numbers == 4;
        let time = if has_time { Some(0) } else { None };
        let position = if has_time { [1, 2, 3] } else { [0, 1, 2] };
        Self { numbers, time, nanoseconds: None, position, rotation: None, unit: Unit::ByDigits }
    }

    /// EuRoC's without a header, of a first line of so many numbers: all 17, or the first 8.
    pub(super) const fn euroc(numbers: usize) -> Self {
        let numbers = if numbers == 8 { 8 } else { 17 };
        Self { numbers, rotation: Some([5, 6, 7, 4]), unit: Unit::Euroc, ..Self::TUM }
    }

    /// Whether the columns come in the order of TUM, perhaps with others around them.
    pub(super) fn has_order_of_tum(&self) -> bool {
        let Some(rotation) = self.rotation else { return false };
        let places = self.time.into_iter().chain(self.position).chain(rotation);
        places.zip(self.time.unwrap_or_default()..).all(|(place, wanted)| place == wanted)
            && self.time.is_some()
            && self.nanoseconds.is_none()
    }

    /// What is wanted instead of a time that is not of the unit; `None` if it may be.
    pub(super) fn wanted_instead_of(&self, time: f64) -> Option<String> {
        match self.unit {
            Unit::PerSecond(1.0) if time.abs() > LATEST => {
                let way = "name the columns in a header line such as #timestamp [ns],x,y,z,qx,qy,qz,qw, \
                    or pass the format tum (qx first) or euroc (qw first)";
                Some(format!("a time of at most {LATEST:e} seconds; for nanoseconds {way}"))
            }
            Unit::PerSecond(1e9) if time.fract() != 0.0 => {
                Some("whole nanoseconds, or [s] behind the time in the header".into())
            }
            _ => None,
        }
    }

    /// How many of the unit of these times a second has; where that was decided by the times, what
    /// it is. The error is the place of a time that fits no unit.
    pub(super) fn per_second(&self, told: &[f64]) -> Result<(f64, Option<super::PoseWarning>), usize> {
        let beyond = told.iter().position(|time| time.abs() > LATEST);
        match self.unit {
            Unit::PerSecond(unit) => Ok((unit, None)),
            Unit::Euroc if told.iter().all(|time| time.fract() == 0.0) => Ok((1e9, None)),
            Unit::Euroc => beyond.map_or(Ok((1.0, Some(super::PoseWarning::Seconds))), Err),
            Unit::ByDigits => match beyond {
                None => Ok((1.0, None)),
                Some(_) => match told.iter().position(|time| !(LEAST_NANOSECONDS..1e19).contains(&time.abs())) {
                    None => Ok((1e9, Some(super::PoseWarning::Nanoseconds))),
                    Some(short) => Err(short),
                },
            },
        }
    }
}
