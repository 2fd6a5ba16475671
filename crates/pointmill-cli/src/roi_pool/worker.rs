//! The task on a device, and its answer.

use super::args::Task;
use super::files::Loaded;
use super::records::ReportRecord;
use crate::failure::Failure;
use crate::interrupt::undivided;
use pointmill::roi_pool::{BoxArrays, BoxFound, PointsInBoxes, Report, RoiArrays, RoiPooled, RoiPooler};
use pointmill::{ArrayView, Device, Error, NamedArrays, Stream};
use pointmill_data::write_result;
use pointmill_io::{About, Place, write_npz};

/// A stream and the memory of its calls.
#[derive(Debug)]
pub(super) struct Worker {
    stream: Stream,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Pool { pooler: RoiPooler, pooled: Box<RoiPooled> },
    Inside { tester: PointsInBoxes, found: BoxFound },
}

/// The result of a task.
#[derive(Debug)]
pub(super) enum Answer {
    Pool(Box<RoiArrays>),
    /// A pooling whose arrays are not wanted.
    Counted(Report),
    Inside(BoxArrays),
}

impl Worker {
    /// Checks the parameters of the task.
    pub(super) fn new(device: &Device, task: &Task) -> Result<Self, Error> {
        let stream = device.stream()?;
        let work = match task {
            Task::Pool(params) => {
                let pooler = RoiPooler::new(&stream, params)?;
                let pooled = Box::new(pooler.output()?);
                Work::Pool { pooler, pooled }
            }
            Task::Inside(query, params) => {
                let tester = PointsInBoxes::new(&stream, *params)?;
                let found = tester.found(*query)?;
                Work::Inside { tester, found }
            }
        };
        Ok(Self { stream, work })
    }

    /// Does the task, and waits for its end.
    pub(super) fn run(&mut self, input: &Loaded) -> Result<(), Error> {
        let scene = input.scene()?;
        match &mut self.work {
            Work::Pool { pooler, pooled } => {
                let features = input.features.as_ref().expect("pooling has features").input()?;
                pooler.run(scene, features, pooled)?;
            }
            Work::Inside { tester, found } => tester.find(scene, found)?,
        }
        self.stream.synchronize()
    }

    /// The result. The arrays of a pooling can be many times its inputs, and are read back only if
    /// they are wanted.
    pub(super) fn answer(&self, arrays: bool) -> Result<Answer, Error> {
        match &self.work {
            Work::Pool { pooled, .. } if arrays => Ok(Answer::Pool(Box::new(pooled.read()?))),
            Work::Pool { pooled, .. } => Ok(Answer::Counted(pooled.report()?)),
            Work::Inside { found, .. } => Ok(Answer::Inside(found.read()?)),
        }
    }
}

impl NamedArrays for Answer {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        match self {
            Self::Pool(pooled) => pooled.arrays(),
            Self::Counted(_) => vec![],
            Self::Inside(found) => found.arrays(),
        }
    }
}

impl Answer {
    /// What was counted.
    pub(super) fn report(&self) -> ReportRecord {
        match self {
            Self::Pool(pooled) => ReportRecord::Pool(pooled.report),
            Self::Counted(report) => ReportRecord::Pool(*report),
            Self::Inside(found) => ReportRecord::Inside(found.report.clone()),
        }
    }

    /// The names of the arrays that differ in any bit from another answer to the same task.
    pub(super) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let report = (self.report() != other.report()).then_some("report");
        pointmill::differences(self, other).into_iter().chain(report).collect()
    }

    /// Writes the arrays, and of a pooling the report.
    pub(super) fn write(&self, to: Place<'_>, origin: [f64; 3]) -> Result<(), Failure> {
        Ok(undivided(|| match self {
            Self::Pool(pooled) => write_result(to, &About { result: &**pooled, origin }, &pooled.report),
            _ => write_npz(to, &About { result: self, origin }.arrays()),
        })?)
    }
}
