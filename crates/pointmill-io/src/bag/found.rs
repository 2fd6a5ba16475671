//! The topics of a bag and their messages, as far as a walk has come.

use super::cloud::PointCloud2;
use super::file::MessageIndexEntry;
use super::kind::{CLOUDS, Kind};
use super::passes::Chunks;
use super::tf;
use super::wire::Encoding;
use crate::error::{Detail, IoError};
use crate::fault::{At, bail, fault};
use crate::limits::Limits;
use std::collections::BTreeMap;
use std::path::Path;

/// A topic of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Topic {
    /// Its name, such as `/points`.
    pub name: String,
    /// The type of its messages, such as `sensor_msgs/msg/PointCloud2`; empty where the bag does
    /// not say.
    pub schema_name: String,
    /// How its messages lie in their bytes: `cdr`, `ros1`, `protobuf`, ...
    pub message_encoding: String,
    /// The number of its messages.
    pub count: u64,
    /// When its first message was recorded, in nanoseconds since 1970; 0 where there is no message.
    pub first_ns: u64,
    /// When its last message was recorded.
    pub last_ns: u64,
    /// The messages of a topic of clouds or of static transforms, in the order of their times.
    pub(super) messages: Vec<MessageIndexEntry>,
}

impl Topic {
    /// How its clouds lie in their bytes; `None` for a topic of something else.
    pub fn cloud_encoding(&self) -> Option<Encoding> {
        self.encoding().filter(|_| self.is_cloud())
    }

    /// How its static transforms lie in their bytes; `None` for a topic of something else.
    pub(super) fn tf_encoding(&self) -> Option<Encoding> {
        self.encoding().filter(|_| tf::is_static(&self.name, &self.schema_name))
    }

    /// How its messages lie in their bytes, if that is known.
    fn encoding(&self) -> Option<Encoding> {
        match &*self.message_encoding {
            "cdr" => Some(Encoding::Cdr),
            "ros1" => Some(Encoding::Ros1),
            _ => None,
        }
    }

    /// Whether its messages are clouds, in whatever bytes.
    pub(super) fn is_cloud(&self) -> bool {
        Kind::of(&self.schema_name).is_some()
    }

    /// Reads one of its messages, which are clouds.
    pub(super) fn read<'a>(&self, bytes: &'a [u8], path: &Path) -> Result<PointCloud2<'a>, IoError> {
        let (Some(kind), Some(encoding)) = (Kind::of(&self.schema_name), self.cloud_encoding()) else {
            return Err(fault!(path, InvalidArgument, "topic", CLOUDS, &*self.schema_name));
        };
        kind.read(bytes, encoding, path)
    }

    /// Adds the topic of the file with a number to those of the files before it.
    pub(super) fn join(mut self, part: u16, topics: &mut BTreeMap<[String; 3], Self>) {
        self.messages.iter_mut().for_each(|place| place.part = part);
        let key = [&self.name, &self.schema_name, &self.message_encoding].map(Clone::clone);
        let Some(known) = topics.get_mut(&key) else {
            topics.insert(key, self);
            return;
        };
        if self.count > 0 {
            let (first, last) = (self.first_ns, self.last_ns);
            (known.first_ns, known.last_ns) = match known.count {
                0 => (first, last),
                _ => (known.first_ns.min(first), known.last_ns.max(last)),
            };
        }
        known.count += self.count;
        known.messages.append(&mut self.messages);
    }

    fn saw(&mut self, time: u64) {
        (self.first_ns, self.last_ns) = match self.count {
            0 => (time, time),
            _ => (self.first_ns.min(time), self.last_ns.max(time)),
        };
        self.count += 1;
    }
}

/// The most topics of a bag, each with up to three names of 1 KiB.
pub(super) const MOST_TOPICS: usize = 4096;

/// What a walk has found so far.
pub(super) struct Found<'a> {
    path: &'a Path,
    pub(super) limits: &'a Limits,
    /// Which topic a channel has.
    channels: BTreeMap<u16, usize>,
    /// The messages of a channel.
    counts: BTreeMap<u16, u64>,
    pub(super) topics: Vec<Topic>,
    /// Which topic has a name, a type and an encoding.
    names: BTreeMap<[String; 3], usize>,
    /// Messages whose places are held.
    pub(super) places: u64,
    /// Bytes that the chunks so far unpack to.
    unpacked: u64,
    pub(super) chunks: Chunks,
    /// Whether what is not whole is left out.
    pub(super) salvage: bool,
    /// The first that was left out.
    pub(super) damage: Option<Box<Detail>>,
}

impl<'a> Found<'a> {
    /// Nothing yet.
    pub(super) const fn new(path: &'a Path, length: u64, limits: &'a Limits, salvage: bool) -> Self {
        Self {
            path,
            limits,
            channels: BTreeMap::new(),
            counts: BTreeMap::new(),
            topics: Vec::new(),
            names: BTreeMap::new(),
            places: 0,
            unpacked: 0,
            chunks: Chunks { length, sizes: BTreeMap::new() },
            salvage,
            damage: None,
        }
    }

    /// A place in the file, for errors.
    fn at(&self, at: u64) -> At<'a> {
        At { path: self.path, offset: Some(at.min(self.chunks.length)) }
    }

    /// Counts what a chunk unpacks to. One that alone is too large is refused when it is read.
    pub(super) fn count(&mut self, chunk: u64, [size, packed]: [u64; 2]) -> Result<(), IoError> {
        if size <= self.limits.most_unpacked(self.chunks.length) {
            self.unpacked = self.unpacked.saturating_add(size);
            let (at, length) = (self.at(chunk), self.chunks.length);
            self.limits.check_unpacked(&at, "chunks unpacked", self.unpacked, length)?;
            self.chunks.sizes.insert((0, chunk), [size, packed]);
        }
        Ok(())
    }

    /// Checks what reading messages in this order unpacks, chunks that are let go in between again.
    pub(super) fn check_pass<'p>(
        &self,
        field: &str,
        places: impl Iterator<Item = &'p MessageIndexEntry>,
    ) -> Result<(), IoError> {
        self.chunks.check_pass(self.path, self.limits, field, places, true)
    }

    /// Notes what is damaged, if it is to be left out; else, and for what is no damage, returns the
    /// error.
    pub(super) fn forgive(&mut self, e: IoError) -> Result<(), IoError> {
        match e.detail().filter(|_| self.salvage && e.is_damage()) {
            Some(detail) => {
                self.damage.get_or_insert_with(|| detail.clone().into());
                Ok(())
            }
            None => Err(e),
        }
    }

    /// Whether a channel was told.
    pub(super) fn knows(&self, channel: u16) -> bool {
        self.channels.contains_key(&channel)
    }

    /// Takes a channel: of a topic that is known, or of a new one.
    pub(super) fn channel(
        &mut self,
        near: u64,
        id: u16,
        name: &str,
        schema_name: &str,
        encoding: &str,
    ) -> Result<(), IoError> {
        let key = [name, schema_name, encoding].map(str::to_owned);
        if self.topics.len() >= MOST_TOPICS && !self.names.contains_key(&key) {
            let wanted = format!("at most {MOST_TOPICS} topics");
            let found = "one more; split the bag by topics";
            bail!(self.at(near), LimitExceeded, "channel `{name}`", wanted, found);
        }
        let place = *self.names.entry(key).or_insert_with(|| {
            let [name, schema_name, message_encoding] = [name, schema_name, encoding].map(str::to_owned);
            self.topics.push(Topic {
                name,
                schema_name,
                message_encoding,
                count: 0,
                first_ns: 0,
                last_ns: 0,
                messages: vec![],
            });
            self.topics.len() - 1
        });
        if *self.channels.entry(id).or_insert(place) != place {
            bail!(self.at(near), BadValue, "channel {id}", "one topic", "`{name}` too");
        }
        Ok(())
    }

    /// Counts a message, and keeps its place if it will be read.
    pub(super) fn saw(&mut self, place: MessageIndexEntry) -> Result<(), IoError> {
        let Some(&topic) = self.channels.get(&place.channel) else {
            let near = place.chunk.max(place.at * u64::from(place.chunk == 0));
            bail!(self.at(near), BadValue, "message", "a channel that is known", ("channel {}", place.channel));
        };
        *self.counts.entry(place.channel).or_default() += 1;
        let topic = &mut self.topics[topic];
        topic.saw(place.log_time_ns);
        if topic.cloud_encoding().or(topic.tf_encoding()).is_some() {
            self.places += 1;
            // Vectors double.
            let bytes = 2 * self.places * size_of::<MessageIndexEntry>() as u64;
            if let Some(most) = self.limits.max_memory.filter(|&most| bytes > most) {
                let wanted = format!("at most {most} bytes (the limit `max_memory`, --max-memory)");
                bail!(self.at(place.chunk), LimitExceeded, "memory", wanted, "{bytes} bytes or more");
            }
            topic.messages.push(place);
        }
        Ok(())
    }

    /// Compares the messages of each channel with the numbers that the file gives.
    pub(super) fn compare(&self, statistics: &[(u16, u64)], whose: &str, at: u64) -> Result<(), IoError> {
        for (channel, wanted) in statistics {
            let found = self.counts.get(channel).copied().unwrap_or(0);
            if found != *wanted {
                let name = self.channels.get(channel).map_or("", |&topic| &*self.topics[topic].name);
                let wanted = format!("{wanted} messages, as {whose}");
                bail!(self.at(at), SizeMismatch, "channel {channel} `{name}`", wanted, "{found} messages");
            }
        }
        Ok(())
    }
}
