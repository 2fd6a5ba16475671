//! The sweeps of a bag: the clouds of a topic, or those of several topics joined by their stamps.

use super::extrinsics::Extrinsics;
use super::found::Topic;
use super::frames::{StaticFrames, plain};
use super::join::{Part, Shape};
use super::pairs::{pairs, period};
use super::reader::{Bag, Cloud};
use crate::error::IoError;
use crate::fault::bail;
use crate::warning::Warning;
use pointmill_core::Pose;

/// The frame of a vehicle.
const VEHICLE: &str = "base_link";
/// What clouds are said to be in that a file of extrinsics moves.
const OF_EXTRINSICS: &str = "extrinsics";
/// The most topics that are joined: the column `sensor` has a byte.
const MOST: usize = 256;

/// Which clouds of a bag are its sweeps; made by [`Bag::sweeps`].
#[derive(Debug)]
pub struct Sweeps {
    /// The places of the topics.
    topics: Vec<usize>,
    len: usize,
    placing: Option<Placing>,
    joined: Option<Joined>,
}

/// Where sensors are.
#[derive(Debug)]
enum Placing {
    /// As `/tf_static` says, in this frame.
    Frames(StaticFrames, String),
    File(Extrinsics),
}

/// Topics that are joined.
#[derive(Debug)]
struct Joined {
    /// For each sweep the number of the cloud of each topic.
    clouds: Vec<Option<u32>>,
    shape: Shape,
    told: Warning,
}

impl Sweeps {
    /// The number of sweeps.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The places of the topics in [`Bag::topics`], in the order of the column `sensor`.
    pub fn topics(&self) -> &[usize] {
        &self.topics
    }

    /// How topics were joined, a [`Warning::Joined`]; `None` of one topic.
    pub fn told(&self) -> Option<&Warning> {
        self.joined.as_ref().map(|joined| &joined.told)
    }
}

/// What is known of a topic before its clouds are read.
#[derive(Default)]
struct Seen {
    stamps: Vec<i64>,
    /// The first cloud with points.
    sample: Option<usize>,
}

impl Bag {
    /// The sweeps of topics: without a name those of the only topic of clouds.
    ///
    /// Of several topics, each cloud of the first makes a sweep, with that cloud of each other topic whose
    /// stamp is nearest to its own, within half the median time from one cloud of the first topic to the
    /// next. The stamp of a message that cannot be read is when it was recorded. Its sweep is an error.
    ///
    /// Clouds are moved to the frame `base_link` if the static frames of the bag ([`Bag::static_frames`])
    /// connect the first topic with it, else to the frame of the first topic's first cloud. With
    /// extrinsics, the poses there move them instead, also the clouds of one topic.
    ///
    /// # Order and determinism
    /// Points come in the order of topics. Behind x, y, z come the columns that the first clouds of all
    /// topics have, in the order of the first topic; `time_s`, the seconds after the stamp of the sweep,
    /// where all have times; and `sensor`, the number of the topic from 0.
    ///
    /// # Limits
    /// 256 topics. All messages are read once for their stamps.
    ///
    /// # Errors
    /// As [`Bag::cloud_topic`]; a topic that is named twice; no chain of transforms from the frame of a
    /// topic; extrinsics without a line for a topic, or with a name that no topic of clouds has.
    ///
    /// ```no_run
    /// use pointmill_io::{Limits, bag::Bag};
    /// let bag = Bag::open("drive.mcap", &Limits::default())?;
    /// let sweeps = bag.sweeps(&["/front", "/rear"], None)?;
    /// let first = bag.sweep(&sweeps, 0)?;
    /// assert_eq!(first.scan.fields.last().unwrap().name, "sensor");
    /// # Ok::<(), pointmill_io::IoError>(())
    /// ```
    pub fn sweeps(&self, topics: &[impl AsRef<str>], extrinsics: Option<&Extrinsics>) -> Result<Sweeps, IoError> {
        let mut chosen = vec![];
        for name in topics.iter().map(|name| Some(name.as_ref())).chain(topics.is_empty().then_some(None)) {
            let wanted = self.cloud_topic(name)?;
            let place = self.topics().iter().position(|topic| topic == wanted).expect("a topic of the bag");
            if chosen.contains(&place) {
                bail!(*self.path(), InvalidArgument, "topic", "each topic once", ("{} twice", wanted.name));
            }
            chosen.push(place);
        }
        if chosen.len() > MOST {
            bail!(*self.path(), InvalidArgument, "topic", "at most {MOST} topics", (chosen.len()));
        }
        let of: Vec<&Topic> = chosen.iter().map(|&place| &self.topics()[place]).collect();
        let len = of[0].messages.len();
        if of.len() == 1 && extrinsics.is_none() {
            return Ok(Sweeps { topics: chosen, len, placing: None, joined: None });
        }
        let placing = self.placing(&of, extrinsics)?;
        let joined = if of.len() > 1 { Some(self.join(&of, &placing)?) } else { None };
        Ok(Sweeps { topics: chosen, len, placing: Some(placing), joined })
    }

    /// A sweep by its number, from 0.
    ///
    /// # Errors
    /// As [`Bag::cloud`], of each cloud; a cloud without a column that the first ones have; a frame from
    /// which no chain of transforms leads; more points of all topics than the limit.
    pub fn sweep(&self, sweeps: &Sweeps, number: usize) -> Result<Cloud, IoError> {
        let topic = |k: usize| &self.topics()[sweeps.topics[k]];
        let Some(placing) = &sweeps.placing else { return self.cloud(topic(0), number) };
        let name = self.cloud_name(number);
        let Some(Joined { clouds, shape, .. }) = &sweeps.joined else {
            let mut cloud = self.cloud(topic(0), number)?;
            cloud.scan = cloud.scan.transformed(&placing.pose(topic(0), &cloud.frame)?, false);
            cloud.frame = placing.target().into();
            return Ok(cloud);
        };
        let count = sweeps.topics.len();
        let row = clouds.chunks_exact(count).nth(number).unwrap_or_default();
        let mut parts = vec![];
        for (k, of_topic) in row.iter().enumerate().filter_map(|(k, of_topic)| Some((k, (*of_topic)?))) {
            let mut name = name.clone().into_os_string();
            if k > 0 {
                name.push(format!(" of {}", topic(k).name));
            }
            let cloud = self.cloud_of(topic(k), of_topic as usize, name.as_ref(), false)?;
            let pose = placing.pose(topic(k), &cloud.frame)?;
            parts.push(Part { name: name.into(), cloud, pose, sensor: k as u8 });
        }
        let Some(first) = parts.first() else { return self.cloud(topic(0), number) };
        let (stamp_ns, log_time_ns) = (first.cloud.stamp_ns, first.cloud.log_time_ns);
        let scan = shape.join(parts, stamp_ns, self.limits())?;
        Ok(Cloud { stamp_ns, log_time_ns, frame: placing.target().into(), scan })
    }

    /// Where the sensors of topics are. A topic without a cloud has no frame, and needs none.
    fn placing(&self, of: &[&Topic], extrinsics: Option<&Extrinsics>) -> Result<Placing, IoError> {
        let frame_of = |topic: &Topic| -> Option<String> {
            let bytes = self.message(topic, 0, u64::MAX, false).ok()?;
            Some(topic.read(&bytes, self.path()).ok()?.frame)
        };
        let first = frame_of(of[0]).unwrap_or_default();
        let placing = match extrinsics {
            Some(extrinsics) => {
                let clouds = self.topics().iter().filter(|topic| topic.cloud_encoding().is_some());
                let known: Vec<_> =
                    clouds.map(|topic| (topic.name.clone(), frame_of(topic).unwrap_or_default())).collect();
                extrinsics.check(&known)?;
                Placing::File(extrinsics.clone())
            }
            None => {
                let frames = self.static_frames()?;
                let is_vehicle = frames.connects(VEHICLE, &first);
                let target = if is_vehicle { VEHICLE } else { plain(&first) }.to_owned();
                Placing::Frames(frames, target)
            }
        };
        for topic in of {
            if let Some(frame) = frame_of(topic) {
                placing.pose(topic, &frame)?;
            }
        }
        Ok(placing)
    }

    /// Which clouds of topics go together.
    fn join(&self, of: &[&Topic], placing: &Placing) -> Result<Joined, IoError> {
        let mut order: Vec<(usize, usize)> = vec![];
        for (k, topic) in of.iter().enumerate() {
            order.extend((0..topic.messages.len()).map(|number| (k, number)));
        }
        let place = |(k, number): &(usize, usize)| &of[*k].messages[*number];
        order.sort_by_key(place);
        self.check_pass("stamps of all topics", order.iter().map(place))?;
        let mut seen: Vec<Seen> = of.iter().map(|_| Seen::default()).collect();
        for topic in of.iter().zip(&mut seen) {
            topic.1.stamps = topic.0.messages.iter().map(|place| place.log_time_ns.cast_signed()).collect();
        }
        for &(k, number) in &order {
            let Ok(bytes) = self.message(of[k], number, u64::MAX, false) else { continue };
            let Ok(cloud) = of[k].read(&bytes, self.path()) else { continue };
            seen[k].stamps[number] = cloud.stamp_ns;
            if cloud.points() > 0 && seen[k].sample.is_none_or(|sample| number < sample) {
                seen[k].sample = Some(number);
            }
        }
        let (count, len) = (of.len(), of[0].messages.len());
        let mut clouds = vec![None; count * len];
        let first = period(&seen[0].stamps);
        let mut lacking = vec![];
        for (k, topic) in of.iter().enumerate() {
            let own = |number: usize| u32::try_from(number).ok();
            if k == 0 {
                (0..len).for_each(|i| clouds[i * count] = own(i));
                continue;
            }
            let others = &seen[k].stamps;
            let found = pairs(&seen[0].stamps, others, first.or_else(|| period(others)));
            let paired = found.iter().flatten().count();
            found.iter().enumerate().for_each(|(i, number)| clouds[i * count + k] = number.and_then(own));
            lacking.push((topic.name.clone(), (len - paired) as u64, (others.len() - paired) as u64));
        }
        let places = (0..count * len).filter_map(|i| Some(&of[i % count].messages[clouds[i]? as usize]));
        self.check_pass("joined sweeps", places)?;
        let sample = |(topic, seen): (&&Topic, &Seen)| {
            Some(self.cloud_of(topic, seen.sample?, &self.cloud_name(seen.sample?), false))
        };
        let samples: Vec<Cloud> = of.iter().zip(&seen).filter_map(sample).collect::<Result<_, _>>()?;
        let shape = Shape::of(&samples);
        let told = Warning::Joined {
            topic: of[0].name.clone(),
            frame: placing.target().into(),
            sweeps: len as u64,
            others: lacking,
            left_out: shape.left_out.clone(),
        };
        Ok(Joined { clouds, shape, told })
    }
}

impl Placing {
    fn target(&self) -> &str {
        match self {
            Self::Frames(_, target) => target,
            Self::File(_) => OF_EXTRINSICS,
        }
    }

    /// The pose of the sensor of a topic in the common frame.
    fn pose(&self, topic: &Topic, frame: &str) -> Result<Pose, IoError> {
        match self {
            Self::Frames(frames, target) => frames.pose(target, frame),
            Self::File(extrinsics) => extrinsics.pose(&topic.name, frame),
        }
    }
}
