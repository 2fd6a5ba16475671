//! The alignments of many pairs on the device: each step of all of them at once.

use super::chosen;
use super::stage::{DeviceStage, Workspace, linearized};
use crate::icp::many::Checked;
use crate::icp::params::{IcpParams, Search};
use crate::icp::register::{Descent, Run, elapsed};
use crate::icp::result::{Dropped, Registration};
use crate::registration::Status;
use crate::{Argument, Result, memory};
use pointmill_core::icp::spread::Spread;
use pointmill_core::icp::termination::Sums;
use web_time::Instant;

/// Most places of the clouds of pairs that are aligned at a time, which bounds the memory: about
/// 340 bytes a place.
const MOST_PLACES: usize = if cfg!(test) { 20_000 } else { 1 << 22 };
/// Most pairs that are aligned at a time: a byte names one.
const MOST_PAIRS: usize = if cfg!(test) { 20 } else { 256 };

impl Workspace {
    /// Aligns pairs whose arguments are checked.
    pub(in crate::icp) fn align_many(
        &mut self,
        pairs: &[Checked<'_>],
        params: &IcpParams,
    ) -> Result<Vec<Result<Registration>>> {
        let mut found = Vec::new();
        memory::room(&mut found, pairs.len())?;
        let mut rest = pairs;
        while !rest.is_empty() {
            let (some, others) = rest.split_at(together(rest, params));
            rest = others;
            if let [pair] = some {
                found.push(self.align(Instant::now(), [pair.source, pair.target], None, params, &pair.guess));
            } else {
                found.extend(self.align_together(some, params)?);
            }
        }
        Ok(found)
    }

    /// Aligns pairs side by side, by one stage without voxels.
    fn align_together(&mut self, pairs: &[Checked<'_>], params: &IcpParams) -> Result<Vec<Result<Registration>>> {
        let start = Instant::now();
        let sources = memory::collect(pairs.iter().map(|pair| pair.source))?;
        let targets = memory::collect(pairs.iter().map(|pair| pair.target))?;
        self.take_clouds([&sources, &targets], params)?;
        self.take_normals(None)?;
        self.forget_targets();
        let mut jobs = memory::collect(pairs.iter().enumerate().map(|(i, pair)| self.job(i, pair, params)))?;
        let has_points = |job: &Result<Job<'_>>| job.as_ref().is_ok_and(|job| job.points > 0);
        if jobs.iter().any(has_points) {
            let guesses =
                jobs.iter().zip(pairs).map(|(job, pair)| job.as_ref().map_or(pair.guess, |job| *job.run.guess()));
            let guesses = memory::collect(guesses)?;
            let stages = params.stages();
            let mut stage = DeviceStage::new(self, &stages[0], 0, params, guesses)?;
            let prepare_ms = elapsed(start);
            let mut spreads = Vec::new();
            while jobs.iter().any(|job| job.as_ref().is_ok_and(Job::runs)) {
                let query =
                    |job: &Result<Job<'_>>| job.as_ref().ok().filter(|job| job.runs()).map(|job| job.descent.query);
                let iterations = stage.batch(&memory::collect(jobs.iter().map(query))?)?;
                if spreads.is_empty() {
                    spreads = stage.work.spread.read(pairs.len())?;
                }
                for ((job, mut iterations), spread) in jobs.iter_mut().zip(iterations).zip(&spreads) {
                    let Ok(job) = job else { continue };
                    job.prepare_ms = prepare_ms;
                    // The device may have gone on where the host ends, such as at a cycle.
                    while job.runs()
                        && let Some(iteration) =
                            iterations.pop_front_if(|iteration| iteration.pose == job.descent.query.pose)
                    {
                        let found = linearized(&iteration, params.metric);
                        let status = job.run.take(&mut job.descent, &found, &spread.0, job.points)?;
                        job.end = status.map(|status| (status, spread.0, found.sums));
                    }
                }
            }
        }
        let mut found = Vec::new();
        memory::room(&mut found, pairs.len())?;
        for (job, pair) in jobs.into_iter().zip(pairs) {
            found.push(match job {
                Err(refused) => Err(refused),
                // A cloud is empty: there is nothing to look at.
                Ok(job) if job.end.is_none() => {
                    self.align(Instant::now(), [pair.source, pair.target], None, params, &pair.guess)
                }
                Ok(job) => Ok(job.registration()),
            });
        }
        Ok(found)
    }

    /// The alignment of a pair whose clouds are known.
    fn job<'a>(&self, i: usize, pair: &Checked<'_>, params: &'a IcpParams) -> Result<Job<'a>> {
        let [source, target] = &self.whole;
        source.check(i, Argument::Source)?;
        target.check(i, Argument::Target)?;
        let (frames, dropped) = self.about(i);
        let run = Run::new(params, frames, &pair.guess);
        let points = if target.len(i) > 0 { source.len(i) } else { 0 };
        Ok(Job { descent: run.descent(0), run, dropped, points, prepare_ms: 0.0, end: None })
    }
}

/// How many of the first pairs are aligned at a time.
fn together(pairs: &[Checked<'_>], params: &IcpParams) -> usize {
    let stages = params.stages();
    if chosen(params.search) != Search::Lbvh || stages.len() > 1 || stages[0].voxel_size > 0.0 {
        return 1;
    }
    let mut largest = 1;
    for (i, pair) in pairs.iter().enumerate() {
        largest = largest.max(pair.source.len()).max(pair.target.len());
        if i == MOST_PAIRS || (i + 1).saturating_mul(largest) > MOST_PLACES {
            return i.max(1);
        }
    }
    pairs.len()
}

/// The alignment of one of many pairs.
struct Job<'a> {
    run: Run<'a>,
    descent: Descent,
    dropped: [Dropped; 2],
    /// Points of the source, none where there is nothing to pair.
    points: usize,
    prepare_ms: f64,
    /// Why it ended, and the spread of the source and the sums there.
    end: Option<(Status, Spread, Sums)>,
}

impl Job<'_> {
    /// Whether there is something to do yet.
    const fn runs(&self) -> bool {
        self.end.is_none() && self.points > 0
    }

    /// The result of an alignment that has ended.
    fn registration(self) -> Registration {
        let (status, spread, sums) = self.end.expect("an alignment that has ended");
        let at = spread.at(*self.run.pose());
        self.run.registration(status, &at, &sums, self.points, self.dropped, self.prepare_ms)
    }
}
