//! The start without a guess: all places of a lattice are scored, the best are aligned, and what is
//! left is judged.
//!
//! No number is random: the lattice is a function of the region, and of equal scores the first of
//! the lattice wins.

use super::fix::{Candidate, Rejection};
use super::judge::{aligned, are_apart, judged, margin, objection, ranked};
use super::map::Near;
use super::params::LocalizerParams;
use super::scan::Scan;
use pointmill::internals::memory;
use pointmill::ndt::NdtAlignParams;
use pointmill::{Argument, Error, Pose, Result, Rows};

/// Places of the lattice are this part of a cell's edge apart, and this many radians.
pub(super) const STEP: f64 = 0.5;
pub(super) const TURN: f64 = 3.0 * std::f64::consts::PI / 180.0;
/// Points of the scan that each round scores, and how many of the best places enter the next.
const ROUNDS: [(usize, usize); 3] = [(64, 1 << 14), (256, 1 << 11), (1024, 1 << 10)];
/// Points up to so many metres from the sensor are scored: a step of the yaw moves them by less
/// than a cell.
pub(super) const RANGE: f64 = 40.0;
/// Places that are aligned, and that are judged.
const ALIGNED: usize = 100;
const JUDGED: usize = 10;
/// Most places of a lattice.
const MOST: usize = 1 << 27;
/// Places that are scored in one call.
const AT_ONCE: usize = 1 << 14;
/// Fewest cells of the map that must be confirmed or seen through.
const FEWEST_SIGHTS: usize = 20;

/// What a search found: places by rank, and why the first is no fix.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) candidates: Vec<Candidate>,
    pub(super) rejection: Option<Rejection>,
}

/// x, y, z and yaw of the places of a lattice.
struct Lattice {
    sites: Vec<[f64; 3]>,
    yaw: f64,
    turn: f64,
    turns: usize,
}

impl Lattice {
    /// The places of a region of the map that have ground, by y, x and yaw.
    fn new(near: &Near, [x0, y0, x1, y1]: [f64; 4], scan: &Scan, params: &LocalizerParams) -> Result<Self> {
        let step = STEP * near.grid.lattice().unit();
        let [from, to] = params.yaw_range;
        let turns = ((to - from).min(std::f64::consts::TAU) / TURN).round() as usize;
        // A full turn ends where it begins.
        let full = to - from > std::f64::consts::TAU - 0.5 * TURN;
        let turn = if turns == 0 { 0.0 } else { (to - from).min(std::f64::consts::TAU) / turns as f64 };
        let turns = if full { turns } else { turns + 1 };
        let along = |from: f64, to: f64| ((to - from) / step).ceil() + 1.0;
        if along(x0, x1) * along(y0, y1) * turns as f64 > MOST as f64 {
            let expected = format!("one of at most {MOST} places, {step} m and {:.1} degrees apart", turn.to_degrees());
            let got = format!("{} x {} m", x1 - x0, y1 - y0);
            return Err(Error::argument(Argument::Region, expected, got));
        }
        let mut sites = Vec::new();
        for j in 0..along(y0, y1) as usize {
            for i in 0..along(x0, x1) as usize {
                let [x, y] = [(x0 + step * i as f64).min(x1), (y0 + step * j as f64).min(y1)];
                if let Some(height) = near.ground.height(x, y) {
                    memory::push(&mut sites, [x, y, height - scan.ground])?;
                }
            }
        }
        Ok(Self { sites, yaw: from, turn, turns })
    }

    const fn len(&self) -> usize {
        self.sites.len() * self.turns
    }

    fn pose(&self, index: usize) -> Result<Pose> {
        let [x, y, z] = self.sites[index / self.turns];
        let yaw = self.yaw + self.turn * (index % self.turns) as f64;
        Ok(Pose::from_xyzrpy([x, y, z, 0.0, 0.0, yaw])?)
    }
}

/// Searches a region of the map for a scan.
pub(super) fn search(near: &Near, region: [f64; 4], scan: &Scan, params: &LocalizerParams) -> Result<Search> {
    let lattice = Lattice::new(near, region, scan, params)?;
    let mut best: Vec<u32> = memory::collect(0..lattice.len() as u32)?;
    for (points, keep) in ROUNDS {
        best = round(near, &lattice, &scan.landmarks(RANGE, points)?, best, keep)?;
    }
    let mut starts: Vec<Pose> = Vec::new();
    for index in best {
        let pose = lattice.pose(index as usize)?;
        if starts.len() < ALIGNED && starts.iter().all(|other| are_apart(other, &pose)) {
            starts.push(pose);
        }
    }
    settled(near, &starts, scan, params)
}

/// Scores places with some points, and returns the best of them: by score, then by index.
fn round(near: &Near, lattice: &Lattice, points: &[[f64; 3]], places: Vec<u32>, keep: usize) -> Result<Vec<u32>> {
    let mut ranked: Vec<(f64, u32)> = Vec::new();
    for some in places.chunks(AT_ONCE) {
        let poses = some.iter().map(|index| lattice.pose(*index as usize)).collect::<Result<Vec<_>>>()?;
        let fits = near.grid.score(Rows::from(points), &poses)?;
        memory::extend(&mut ranked, fits.iter().zip(some).map(|(fit, index)| (fit.nvtl * fit.hits as f64, *index)))?;
        if ranked.len() > 4 * keep.max(AT_ONCE) {
            shorten(&mut ranked, keep);
        }
    }
    shorten(&mut ranked, keep);
    memory::collect(ranked.into_iter().map(|(_, index)| index))
}

/// Keeps the best, in order.
fn shorten(ranked: &mut Vec<(f64, u32)>, keep: usize) {
    ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.truncate(keep);
}

/// Aligns from some places with some points, then from the best of these with all, and judges them.
fn settled(near: &Near, starts: &[Pose], scan: &Scan, params: &LocalizerParams) -> Result<Search> {
    let (few, all) = (scan.landmarks(params.max_range, ROUNDS[2].0)?, Rows::from(&scan.keys[..]));
    // What has not arrived by then goes on with all points.
    let coarse = NdtAlignParams { epsilon: 0.02, max_iterations: params.align.max_iterations.min(30), ..params.align };
    let mut found = near.grid.align(Rows::from(&few[..]), starts, &coarse)?;
    // Stable: of equal ones the first of the lattice.
    found.sort_by(|a, b| (b.fit.nvtl * b.fit.hits as f64).total_cmp(&(a.fit.nvtl * a.fit.hits as f64)));
    let mut guesses: Vec<Pose> = Vec::new();
    for one in &found {
        if guesses.len() < JUDGED && guesses.iter().all(|other| are_apart(other, &one.target_from_source)) {
            guesses.push(one.target_from_source);
        }
    }
    let found = aligned(near, all, &guesses, &params.align)?;
    let kept = ranked(found.into_iter().map(|one| judged(near, scan, one)).collect::<Result<_>>()?);
    let rejection =
        match kept.first() {
            None => Some(Rejection::OutsideMap),
            Some(best) => {
                let few = best.evidence.confirmed + best.evidence.seen_through < FEWEST_SIGHTS;
                objection(best, near.grid.lattice().unit(), params)
                    .or(few.then_some(Rejection::Contradicted))
                    .or(margin(&kept).filter(|margin| *margin < params.min_margin).map(|_| Rejection::Ambiguous))
            }
        };
    Ok(Search { candidates: kept, rejection })
}
