//! The CPU path.

mod normals;
mod pairs;
mod search;
mod stage;

pub(super) use normals::normals_of;
#[cfg(test)]
pub(super) use pairs::{Among, Pairs};
#[cfg(test)]
pub(super) use search::{Crowd, Looks};
pub(super) use search::{Entry, Index, Many, Scratch, Several, middle, order};
pub(super) use stage::PreparedTarget;

use super::cloud::CenteredCloud;
use super::params::{IcpParams, Stage};
use super::register::{Frames, Stages, run};
use super::result::Registration;
use crate::{Argument, Result, Rows, memory};
use pointmill_core::rigid::Rigid;
use stage::CpuStage;
use std::slice;
use std::sync::Arc;
use web_time::Instant;

/// A target that is ready for all stages of a schedule.
#[derive(Debug)]
pub(super) struct Target {
    /// The whole cloud without its points and normals.
    whole: CenteredCloud,
    stages: Vec<Arc<PreparedTarget>>,
}

impl Target {
    pub(super) fn new(cloud: &Rows<'_>, normals: Option<&[[f32; 3]]>, params: &IcpParams) -> Result<Self> {
        let mut whole = centered(Argument::Target, cloud, normals, params)?;
        let mut stages = Vec::new();
        for stage in &params.stages() {
            memory::push(&mut stages, PreparedTarget::new(&whole, stage, params)?)?;
        }
        (whole.points, whole.normals) = (Vec::new(), Vec::new());
        Ok(Self { whole, stages })
    }

    pub(super) fn align(&self, source: &Rows<'_>, params: &IcpParams, guess: &Rigid) -> Result<Registration> {
        let start = Instant::now();
        let source = CenteredCloud::new(Argument::Source, source, params.drop_zeros)?;
        align_with(start, &source, &self.whole, From::Stages(self.stages.iter()), params, guess)
    }
}

/// Aligns a source onto a target once.
pub(super) fn align(
    source: &Rows<'_>,
    target: &Rows<'_>,
    normals: Option<&[[f32; 3]]>,
    params: &IcpParams,
    guess: &Rigid,
) -> Result<Registration> {
    let start = Instant::now();
    let source = CenteredCloud::new(Argument::Source, source, params.drop_zeros)?;
    let target = centered(Argument::Target, target, normals, params)?;
    align_with(start, &source, &target, From::Cloud(&target), params, guess)
}

/// A cloud about its centre, with the caller's normals if there are some.
fn centered(
    argument: Argument,
    cloud: &Rows<'_>,
    normals: Option<&[[f32; 3]]>,
    params: &IcpParams,
) -> Result<CenteredCloud> {
    let mut whole = CenteredCloud::new(argument, cloud, params.drop_zeros)?;
    if let Some(normals) = normals {
        whole.take_normals(cloud, normals, params.drop_zeros)?;
    }
    Ok(whole)
}

/// Runs the loop; `target` has at least its centre and the counts of points that were left out.
fn align_with(
    start: Instant,
    source: &CenteredCloud,
    target: &CenteredCloud,
    from: From<'_>,
    params: &IcpParams,
    guess: &Rigid,
) -> Result<Registration> {
    let frames = Frames { source: source.centre, target: target.centre };
    let dropped = [source.dropped, target.dropped];
    run(start, params, frames, guess, dropped, &mut OnHost { source, target: from, params })
}

/// Source and target on the host.
struct OnHost<'a> {
    source: &'a CenteredCloud,
    target: From<'a>,
    params: &'a IcpParams,
}

/// What the target of a stage is made from.
enum From<'a> {
    /// A whole cloud.
    Cloud(&'a CenteredCloud),
    /// Stages that are ready, in their order.
    Stages(slice::Iter<'a, Arc<PreparedTarget>>),
}

impl Stages for OnHost<'_> {
    type Stage<'s>
        = CpuStage
    where
        Self: 's;

    fn prepare(&mut self, stage: &Stage) -> Result<CpuStage> {
        match &mut self.target {
            From::Cloud(target) => {
                let target = *target;
                CpuStage::new(self.source, || PreparedTarget::new(target, stage, self.params), stage, self.params)
            }
            From::Stages(ready) => {
                let ready = ready.next().expect("a target for each stage").clone();
                CpuStage::new(self.source, || Ok(ready), stage, self.params)
            }
        }
    }
}
