//! Parameters of the search, and their checks.

use crate::{Argument, Result, ensure};
use std::f64::consts::{PI, TAU};

/// Most points of a source: the sum of their values is below 2^16.
pub(super) const MOST_POINTS: usize = 1024;

/// How a map is prepared: plain values.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelTargetParams {
    /// Metres from place to place, an eighth of the edge of a cell to the edge. Default none: half
    /// of the edge.
    pub step: Option<f64>,
    /// Points of a source up to so many metres from the sensor are used. Default 40.
    pub range: f64,
    /// Where places are: least x and y, then largest, in metres. Default none: the whole map.
    pub region: Option<[f64; 4]>,
    /// Whether places are on the ground of the map. Default true.
    pub ground: bool,
}

impl Default for LevelTargetParams {
    fn default() -> Self {
        Self { step: None, range: 40.0, region: None, ground: true }
    }
}

impl LevelTargetParams {
    /// Checks every parameter, for a map whose cells have edges of `resolution` metres. Returns the
    /// step.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn validate(&self, resolution: f64) -> Result<f64> {
        let step = self.step.unwrap_or(0.5 * resolution);
        let [least, most] = [resolution / 8.0, resolution];
        ensure((least..=most).contains(&step), Argument::Step, format!("{least} to {most} m"), step)?;
        let most = 4096.0 * step;
        ensure(self.range >= step && self.range <= most, Argument::Range, format!("{step} to {most} m"), self.range)?;
        if let Some(region) = self.region {
            let ascending = region.iter().all(|x| x.is_finite()) && region[0] <= region[2] && region[1] <= region[3];
            let expected = "finite metres x0, y0, x1, y1 with x0 <= x1 and y0 <= y1";
            ensure(ascending, Argument::Region, expected, format!("{region:?}"))?;
        }
        Ok(step)
    }
}

/// How a source is searched: plain values.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelParams {
    /// Least and largest yaw in radians. Default a full turn.
    pub yaw_range: [f64; 2],
    /// Radians from yaw to yaw, 0.001 to 1. Default 2 degrees.
    pub turn: f64,
    /// Height of the ground in the frame of the source, in metres. Default none: the height below
    /// which a twentieth of the points within 20 m is.
    pub ground: Option<f64>,
    /// Most points that are used, 1 to 1,024; of more, every k-th. Default 1,024.
    pub max_points: usize,
    /// Most candidates. At least 1; default 10.
    pub candidates: usize,
    /// Candidates are apart by more than so many metres, or
    /// [`apart_radians`](Self::apart_radians) of yaw. Default 1.5.
    pub apart_metres: f64,
    /// See [`apart_metres`](Self::apart_metres). Default 0.15.
    pub apart_radians: f64,
}

impl Default for LevelParams {
    fn default() -> Self {
        Self {
            yaw_range: [-PI, PI],
            turn: 2.0 * PI / 180.0,
            ground: None,
            max_points: MOST_POINTS,
            candidates: 10,
            apart_metres: 1.5,
            apart_radians: 0.15,
        }
    }
}

impl LevelParams {
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn validate(&self) -> Result<()> {
        let [from, to] = self.yaw_range;
        let ascending = from <= to && from.abs() <= 10.0 && to.abs() <= 10.0;
        let got = format!("{:?}", self.yaw_range);
        ensure(ascending, Argument::YawRange, "two ascending angles within 10 rad", got)?;
        ensure((1e-3..=1.0).contains(&self.turn), Argument::Turn, "0.001 to 1 rad", self.turn)?;
        if let Some(ground) = self.ground {
            ensure(ground.is_finite(), Argument::Ground, "finite metres", ground)?;
        }
        let points = format!("1 to {MOST_POINTS}");
        ensure((1..=MOST_POINTS).contains(&self.max_points), Argument::MaxPoints, points, self.max_points)?;
        ensure(self.candidates != 0, Argument::Candidates, "at least 1", 0)?;
        for (argument, x) in [(Argument::ApartMetres, self.apart_metres), (Argument::ApartRadians, self.apart_radians)]
        {
            ensure(x.is_finite() && x >= 0.0, argument, "a finite number >= 0", x)?;
        }
        Ok(())
    }

    /// The yaws: the first, the distance from one to the next, and how many.
    pub(super) fn yaws(&self) -> Yaws {
        let [from, to] = self.yaw_range;
        let span = (to - from).min(TAU);
        let turns = (span / self.turn).round() as usize;
        // A full turn ends where it begins.
        let full = to - from > TAU - 0.5 * self.turn && turns > 0;
        let turn = if turns == 0 { 0.0 } else { span / turns as f64 };
        Yaws { from, turn, count: if full { turns } else { turns + 1 }, full }
    }
}

/// The yaws of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Yaws {
    from: f64,
    turn: f64,
    pub(super) count: usize,
    full: bool,
}

impl Yaws {
    pub(super) fn of(&self, index: u32) -> f64 {
        self.from + self.turn * f64::from(index)
    }

    /// The angle between two of them.
    pub(super) fn between(&self, a: u32, b: u32) -> f64 {
        let steps = a.abs_diff(b);
        let steps = if self.full { steps.min(self.count as u32 - steps) } else { steps };
        self.turn * f64::from(steps)
    }
}
