//! A device with a clock that does the task.

use super::answer::Answer;
use super::files::Loaded;
use super::task::{Inside, Task};
use crate::stats::milliseconds;
use pointmill::roi_pool::{BoxLists, PointsInBoxes, RoiPooled, RoiPooler};
use pointmill::{Buffer, Device, Error, Stream};
use std::time::Instant;

/// A device and the memory of its calls.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) device: Device,
    stream: Stream,
    work: Work,
    /// Whether a call that is not timed comes before the first.
    cold: bool,
}

#[derive(Debug)]
enum Work {
    Pool { pooler: RoiPooler, pooled: Box<RoiPooled> },
    Inside { tester: PointsInBoxes, found: Found },
}

/// What is found out about boxes and points.
#[derive(Debug)]
enum Found {
    Part(Buffer<i32>),
    All(Buffer<u32>),
    Count(Buffer<i32>),
    Crop(BoxLists),
}

impl Lane {
    /// Checks the task's parameters. With `compared` its times stand beside those of another device, and the first is not that of a start.
    pub(crate) fn new(device: Device, task: &Task, compared: bool) -> Result<Self, Error> {
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
        Ok(Self { device, stream, work, cold: compared })
    }

    /// Does the task; the milliseconds from the host's arrays to the end of the work.
    pub(crate) fn run(&mut self, input: &Loaded) -> Result<f64, Error> {
        if self.cold {
            // The first call takes memory and wakes threads or the GPU, which says nothing about the next thousand.
            self.call(input)?;
            self.cold = false;
        }
        let start = Instant::now();
        self.call(input)?;
        Ok(milliseconds(start.elapsed()))
    }

    fn call(&mut self, input: &Loaded) -> Result<(), Error> {
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

    /// What came of it. The arrays of a pooling can be many times its inputs, and are read only if they are wanted.
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

#[cfg(test)]
mod tests {
    use super::*;
    use pointmill::roi_pool::BoxParams;
    use pointmill::{PointCloud, TwinFault};

    #[test]
    fn the_first_scene_is_worked_on_twice_only_where_times_are_compared() {
        let points = PointCloud::new(vec![1.0, 2.0, 0.5, 3.0, 4.0, 0.5], 3).unwrap();
        let boxes = vec![0.0, 0.0, 0.0, 4.0, 4.0, 2.0, 0.0];
        let input = Loaded { boxes, points, features: None, warnings: vec![] };
        let task = Task::Inside(Inside::Part, BoxParams::default());
        let launches = |compared| {
            let least = (0..100).find(|&n| {
                Device::fail_twin(Some((TwinFault::Lost, n)));
                Lane::new(Device::twin(), &task, compared).and_then(|mut lane| lane.run(&input)).is_ok()
            });
            Device::fail_twin(None);
            least.unwrap()
        };
        assert!(launches(false) > 0);
        assert_eq!(launches(true), 2 * launches(false));
    }
}
