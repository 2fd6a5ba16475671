//! The task on a device.

use super::answer::Answer;
use super::args::{Inside, Task};
use super::files::Loaded;

use pointmill::roi_pool::{BoxLists, PointsInBoxes, RoiPooled, RoiPooler};
use pointmill::{Buffer, Device, Error, Stream};

/// A stream and the memory of its calls.
#[derive(Debug)]
pub(crate) struct Lane {
    stream: Stream,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Pool { pooler: RoiPooler, pooled: Box<RoiPooled> },
    Inside { tester: PointsInBoxes, found: Found },
}

/// The result of `--inside`.
#[derive(Debug)]
enum Found {
    Part(Buffer<i32>),
    All(Buffer<u32>),
    Count(Buffer<i32>),
    Crop(BoxLists),
}

impl Lane {
    /// Checks the parameters of the task.
    pub(crate) fn new(device: &Device, task: &Task) -> Result<Self, Error> {
        let stream = device.stream()?;
        let work = match task {
            Task::Pool(params) => {
                let pooler = RoiPooler::new(&stream, params)?;
                let pooled = Box::new(pooler.output()?);
                Work::Pool { pooler, pooled }
            }
            Task::Inside(inside, params) => {
                let tester = PointsInBoxes::new(&stream, *params)?;
                let found = match inside {
                    Inside::Part => Found::Part(stream.alloc(0)?),
                    Inside::All => Found::All(stream.alloc(0)?),
                    Inside::Count => Found::Count(stream.alloc(0)?),
                    Inside::Crop => Found::Crop(tester.lists()?),
                };
                Work::Inside { tester, found }
            }
        };
        Ok(Self { stream, work })
    }

    /// Does the task, and waits for its end.
    pub(crate) fn run(&mut self, input: &Loaded) -> Result<(), Error> {
        let scene = input.scene()?;
        match &mut self.work {
            Work::Pool { pooler, pooled } => {
                let features = input.features.as_ref().expect("pooling has features").input()?;
                pooler.run(scene, features, pooled)?;
            }
            Work::Inside { tester, found } => match found {
                Found::Part(part) => tester.part(scene, part)?,
                Found::All(bits) => tester.bits(scene, bits)?,
                Found::Count(count) => tester.count(scene, count)?,
                Found::Crop(lists) => tester.crop(scene, lists)?,
            },
        }
        self.stream.synchronize()
    }

    /// The result. The arrays of a pooling can be many times its inputs, and are read back only if they are wanted.
    pub(crate) fn answer(&self, input: &Loaded, arrays: bool) -> Result<Answer, Error> {
        let (boxes, points) = (input.num_boxes(), input.points.len());
        match &self.work {
            Work::Pool { pooled, .. } if arrays => Ok(pooled.read()?.into()),
            Work::Pool { pooled, .. } => Ok(Answer::counted(&pooled.report()?)),
            Work::Inside { found, .. } => match found {
                Found::Part(part) => Ok(Answer::part(boxes, part.read(points)?)),
                Found::All(bits) => Answer::all(boxes, points, &bits.read(points * boxes.div_ceil(32))?),
                Found::Count(count) => Ok(Answer::count(points, count.read(boxes)?)),
                Found::Crop(lists) => Ok(Answer::crop(points, lists.read()?)),
            },
        }
    }
}
