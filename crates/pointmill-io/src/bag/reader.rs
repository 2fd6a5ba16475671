//! A bag: its topics, and its clouds one at a time.

use super::cloud::PointCloud2;
use super::container::Container;
use super::fields::PointField;
use super::file::{File, MessageIndexEntry};
use super::found::{MOST_TOPICS, Topic};
use super::frames::StaticFrames;
use super::held::Held;
use super::index::Index;
use super::kind::CLOUDS;
use super::message::message;
use super::metadata::files_of_folder;
use super::no_clouds::no_clouds;
use super::passes::Chunks;
use super::tf;
use crate::error::{Detail, IoError};
use crate::fault::{bail, fault};
use crate::files::{Place, SameFile};
use crate::format::Format;
use crate::limits::{Bounds, Limits};
use crate::scan::Scan;
use crate::source::ReadSeek;
use crate::times::Times;
use crate::warning::Warning;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

impl PointCloud2<'_> {
    /// The points as a scan, in the order of the message, row after row; `name` stands for it in
    /// errors.
    ///
    /// Columns are x, y, z and then the other fields in their order. Values of other types than
    /// `f32` are cast once; coordinates that this moves are kept as [`Scan::xyz_f64`] too. Bytes
    /// between points and rows are left out.
    ///
    /// # Errors
    /// A message without x, y, z, two fields of one name, [`Limits`].
    pub fn scan(&self, name: impl AsRef<Path>, limits: &Limits) -> Result<Scan, IoError> {
        self.scan_of(name.as_ref(), limits, Format::Mcap)
    }

    /// The points as a scan of a bag in a format.
    fn scan_of(&self, path: &Path, limits: &Limits, format: Format) -> Result<Scan, IoError> {
        let rows = self.rows(path, &Bounds::new(path, None, limits)?)?;
        Ok(Scan::new(rows, path, format)?.0)
    }
}

/// An MCAP file, a bag of ROS 1 or one of ROS 2 in SQLite, opened.
///
/// # Order and determinism
/// Topics come by name. Clouds of a topic come in the order of the times at which they were
/// recorded, those of one time as in the file.
///
/// # Limits
/// [`Limits`] hold for each cloud. All chunks together may unpack to 16 MiB or 64 times the file, whichever is more, or to
/// [`Limits::max_decoded_bytes`]; so may what a pass over the clouds of a topic unpacks, chunks that it needs again included. A bag has at most 4096
/// topics. It holds 40 bytes for each of its clouds, and chunks until their clouds are read: 64 MiB
/// of them, or one. A file is open while it is read from, so that any number of bags may be held.
///
/// ```
/// use pointmill_io::{Limits, bag::Bag};
/// let empty = [&b"\x89MCAP0\r\n"[..], &[2, 20, 0, 0, 0, 0, 0, 0, 0], &[0; 20], b"\x89MCAP0\r\n"].concat();
/// let bag = Bag::new(std::io::Cursor::new(empty), "empty.mcap", &Limits::default())?;
/// assert!(bag.topics().is_empty());
/// let error = bag.cloud_topic(None).unwrap_err();
/// assert_eq!(error.to_string(), "empty.mcap: clouds: expected sensor_msgs/PointCloud2 or Livox's CustomMsg, got a bag without topics");
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub struct Bag {
    path: PathBuf,
    parts: Vec<Part>,
    topics: Vec<Topic>,
    chunks: Chunks,
    limits: Limits,
    data: Mutex<Data>,
}

/// A file of a bag.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    container: Container,
    /// What is missing of a file that was cut.
    cut: Option<Box<Detail>>,
    /// What a salvage left out first.
    damage: Option<Box<Detail>>,
}

/// What is read from, and chunks of it.
struct Data {
    /// Of each file.
    origins: Vec<Origin>,
    held: Held<Arc<Vec<u8>>>,
}

/// Where the bytes are.
enum Origin {
    File(SameFile),
    Reader(Box<dyn ReadSeek + Send>),
}

/// A cloud of a bag.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cloud {
    /// The time of the message's header, in nanoseconds since 1970.
    pub stamp_ns: i64,
    /// When the message was recorded, in nanoseconds since 1970.
    pub log_time_ns: u64,
    /// The frame that x, y, z are in.
    pub frame: String,
    /// The points; [`Scan::times`] returns their times.
    pub scan: Scan,
}

/// How the clouds of a topic lie in their messages, as its first one says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Layout {
    /// The frame that x, y, z are in.
    pub frame: String,
    /// Rows of an organized cloud, else 1.
    pub height: u32,
    /// Points of a row.
    pub width: u32,
    /// The fields, in the order of the message.
    pub fields: Vec<PointField>,
    /// Whether numbers have their highest byte first.
    pub big_endian: bool,
    /// Bytes of a point.
    pub point_step: u32,
    /// The times of its points.
    pub times: Option<Times>,
    /// What is odd about the message.
    pub warnings: Vec<Warning>,
}

/// What times of points are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeOrigin {
    /// The stamp of the cloud.
    Stamp,
    /// The start of 1970.
    Epoch,
}

pointmill_core::names!(TimeOrigin { Stamp = "stamp", Epoch = "epoch" });

impl TimeOrigin {
    /// Seconds from a stamp beyond which times of points that count from 1970 are of a clock of their own.
    pub const FARTHEST: f64 = 2.0;

    /// What the times of a cloud are counted from: times that start in 2001 or later count
    /// from 1970.
    pub fn of(times: &Times) -> Self {
        Self::of_time(times.start)
    }

    /// What a time in seconds is counted from.
    pub fn of_time(seconds: f64) -> Self {
        if seconds >= 1e9 { Self::Epoch } else { Self::Stamp }
    }
}

impl Bag {
    /// Opens a file and finds the places of its messages; of a folder with the `metadata.yaml` of rosbag2
    /// all files that it lists, as one bag. The clouds of a topic come in the order of their times.
    ///
    /// A file that was cut opens too: [`Bag::cut`] says what is missing, and [`Bag::clouds`] ends
    /// with this error.
    ///
    /// # Errors
    /// A file that is no bag, or is damaged in another way: a record that is not valid, a chunk
    /// without an index that does not unpack, a number of messages that is not the one of the
    /// statistics.
    pub fn open(path: impl AsRef<Path>, limits: &Limits) -> Result<Self, IoError> {
        Self::of_file(path.as_ref(), limits, false)
    }

    /// Opens a file that may be damaged, and leaves out what is not whole: chunks that do not
    /// unpack, and all behind the last whole record.
    ///
    /// [`Bag::damage`] says what was left out first. The clouds of such a bag have a [`Warning::Salvaged`]. Each chunk is unpacked to find the whole
    /// ones.
    ///
    /// # Errors
    /// A file that does not begin as a bag does; [`Limits`].
    pub fn salvage(path: impl AsRef<Path>, limits: &Limits) -> Result<Self, IoError> {
        Self::of_file(path.as_ref(), limits, true)
    }

    /// Opens what is no file, such as bytes in memory; `name` stands for it in errors.
    ///
    /// # Errors
    /// As [`Bag::open`].
    pub fn new(
        mut reader: impl Read + Seek + Send + 'static,
        name: impl AsRef<Path>,
        limits: &Limits,
    ) -> Result<Self, IoError> {
        let index = Index::read(name.as_ref(), &mut reader, limits, false)?;
        Self::of(name.as_ref(), vec![(name.as_ref().into(), index, Origin::Reader(Box::new(reader)))], limits)
    }

    fn of_file(path: &Path, limits: &Limits, salvage: bool) -> Result<Self, IoError> {
        let of_folder = files_of_folder(path)?;
        if of_folder.is_none() && path.is_dir() {
            let wanted = "a file, or a folder with the metadata.yaml of rosbag2";
            bail!(path, UnsupportedFormat, "bag", wanted, "a folder without; name the bag in it");
        }
        let follow_links = of_folder.is_none();
        let read = |path: PathBuf| {
            let (same, mut file) = SameFile::first(Place { path: &path, follow_links })?;
            let index = Index::read(&path, &mut file, limits, salvage)?;
            Ok((path, index, Origin::File(same)))
        };
        let files = of_folder.unwrap_or_else(|| vec![path.into()]).into_iter().map(read);
        Self::of(path, files.collect::<Result<_, IoError>>()?, limits)
    }

    /// The bag of files with their messages.
    fn of(path: &Path, files: Vec<(PathBuf, Index, Origin)>, limits: &Limits) -> Result<Self, IoError> {
        let (mut parts, mut origins, mut chunks) = (vec![], vec![], Chunks::default());
        // By name and type, the order that they have.
        let mut topics = BTreeMap::new();
        let is_one = files.len() == 1;
        for (number, (path, index, origin)) in (0u16..).zip(files) {
            let Index { container, topics: more, chunks: of_file, cut, damage } = index;
            chunks.add(number, of_file);
            for topic in more {
                topic.join(number, &mut topics);
                if topics.len() > MOST_TOPICS {
                    bail!(path, LimitExceeded, "topics", "at most {MOST_TOPICS} of all files", (topics.len()));
                }
            }
            parts.push(Part { path, container, cut, damage });
            origins.push(origin);
        }
        let mut topics: Vec<Topic> = topics.into_values().collect();
        if !is_one {
            for topic in &mut topics {
                topic.messages.sort();
                let field = format!("messages of `{}` in the order of their times", topic.name);
                chunks.check_pass(path, limits, &field, topic.messages.iter(), true)?;
            }
        }
        let data = Mutex::new(Data { origins, held: Held::new(limits.max_memory) });
        Ok(Self { path: path.into(), parts, topics, chunks, limits: limits.clone(), data })
    }

    /// How much a read may take.
    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Checks what reading messages of several topics in this order unpacks.
    pub(super) fn check_pass<'p>(
        &self,
        field: &str,
        places: impl Iterator<Item = &'p MessageIndexEntry>,
    ) -> Result<(), IoError> {
        self.chunks.check_pass(&self.path, &self.limits, field, places, false)
    }

    /// The file or folder, or the name that it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The format of the bag.
    pub fn format(&self) -> Format {
        self.parts[0].container.format()
    }

    /// The topics, clouds and others.
    pub fn topics(&self) -> &[Topic] {
        &self.topics
    }

    /// What is missing of the first file that was cut.
    pub fn cut(&self) -> Option<IoError> {
        self.parts.iter().find_map(|part| part.cut.clone()).map(IoError::Truncated)
    }

    /// What [`Bag::salvage`] left out first; `None` if the file is whole.
    pub fn damage(&self) -> Option<&Detail> {
        self.parts.iter().find_map(|part| part.damage.as_deref())
    }

    /// The topic of clouds that has this name; without a name, the only one.
    ///
    /// # Errors
    /// No such topic of clouds; without a name, several. The error lists the topics of clouds. Of a file that
    /// was cut and has none, what [`Bag::cut`] says.
    pub fn cloud_topic(&self, name: Option<&str>) -> Result<&Topic, IoError> {
        let clouds: Vec<_> = self.topics().iter().filter(|topic| topic.cloud_encoding().is_some()).collect();
        let named: Vec<_> = clouds.iter().filter(|topic| name.is_none_or(|name| topic.name == name)).collect();
        if let [topic] = named[..] {
            return Ok(topic);
        }
        let list: Vec<_> = clouds.iter().map(|topic| &*topic.name).collect();
        let found = match (&list[..], name) {
            ([], _) => return Err(self.cut().unwrap_or_else(|| no_clouds(&self.path, self.topics()))),
            ([_, ..], None) => format!("{}; choose one with --topic: {}", list.len(), list.join(", ")),
            ([_, ..], Some(_)) => format!("none of this name; choose one with --topic: {}", list.join(", ")),
        };
        let wanted = match name {
            Some(name) => format!("`{name}` of {CLOUDS}"),
            None => format!("one of {CLOUDS}"),
        };
        Err(fault!(self.path, InvalidArgument, "topic", wanted, found))
    }

    /// The clouds of a topic, read as they are asked for.
    ///
    /// A message that cannot be read is an error in its place, and the clouds behind it follow. Of
    /// a file that was cut, every message that lies whole outside of chunks or in a whole chunk
    /// comes, and then [`IoError::Truncated`].
    ///
    /// # Errors
    /// As [`Bag::cloud_topic`].
    pub fn clouds(&self, topic: Option<&str>) -> Result<Clouds<'_>, IoError> {
        Ok(Clouds { bag: self, topic: self.cloud_topic(topic)?, next: 0, cut: self.cut() })
    }

    /// A cloud by its number in the topic, from 0.
    ///
    /// # Errors
    /// A number past the last; a message that is not the one of the index; as [`PointCloud2::read`]
    /// and [`PointCloud2::scan`]. Errors of the message name the file and the number:
    /// `drive.mcap#000012`.
    pub fn cloud(&self, topic: &Topic, number: usize) -> Result<Cloud, IoError> {
        self.cloud_of(topic, number, &self.cloud_name(number), true)
    }

    /// The same under a name for errors. If `is_last`, its chunk goes once all clouds of the topic in it
    /// were read so.
    pub(super) fn cloud_of(&self, topic: &Topic, number: usize, name: &Path, is_last: bool) -> Result<Cloud, IoError> {
        let bytes = self.message(topic, number, u64::MAX, is_last)?;
        let cloud = topic.read(&bytes, name)?;
        let mut scan = cloud.scan_of(name, &self.limits, self.format())?;
        let points = scan.cloud.len() as u64;
        scan.warnings.extend(self.damage().map(|_| Warning::Salvaged { points, declared: None }));
        let (stamp_ns, log_time_ns) = (cloud.stamp_ns, topic.messages[number].log_time_ns);
        Ok(Cloud { stamp_ns, log_time_ns, frame: cloud.frame, scan })
    }

    /// What errors call a cloud: the file, `#`, and the number with six digits or more.
    pub fn cloud_name(&self, number: usize) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!("#{number:06}"));
        name.into()
    }

    /// How the clouds of a topic lie in their messages; `None` for a topic without a message.
    ///
    /// # Errors
    /// As [`Bag::cloud`], of the first message.
    pub fn layout(&self, topic: &Topic) -> Result<Option<Layout>, IoError> {
        if topic.messages.is_empty() {
            return Ok(None);
        }
        let name = self.cloud_name(0);
        let bytes = self.message(topic, 0, u64::MAX, false)?;
        let cloud = topic.read(&bytes, &name)?;
        let scan = cloud.scan_of(&name, &self.limits, self.format())?;
        let (times, warnings) = (scan.times(), scan.warnings);
        let PointCloud2 { frame, height, width, fields, big_endian, point_step, .. } = cloud;
        Ok(Some(Layout { frame, height, width, fields, big_endian, point_step, times, warnings }))
    }

    /// The frames that the messages of `/tf_static` tell, of all topics of that name.
    ///
    /// # Errors
    /// A message that cannot be read or has more than 1 MiB; a transform that is none: numbers that are
    /// not finite, a quaternion of another length than 1; as [`StaticFrames::add`].
    pub fn static_frames(&self) -> Result<StaticFrames, IoError> {
        let mut frames = StaticFrames::new(&self.path);
        for topic in self.topics() {
            let Some(encoding) = topic.tf_encoding() else { continue };
            for number in 0..topic.messages.len() {
                let bytes = self.message(topic, number, tf::MOST, true)?;
                let name = PathBuf::from(format!("{} of {}", self.cloud_name(number).display(), topic.name));
                tf::read(&bytes, encoding, &name, &mut frames)?;
            }
        }
        Ok(frames)
    }

    /// The bytes of a message, at most so many. If `is_last`, its chunk goes once all messages of the topic
    /// in it were read so.
    pub(super) fn message(&self, topic: &Topic, number: usize, most: u64, is_last: bool) -> Result<Vec<u8>, IoError> {
        let Some(place) = topic.messages.get(number) else {
            let wanted = format!("a number below {} of `{}`", topic.messages.len(), topic.name);
            bail!(self.path, InvalidArgument, "cloud", wanted, number);
        };
        // A panic elsewhere leaves nothing half done: chunks that are held are whole.
        let mut data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        let Data { origins, held } = &mut *data;
        let number = usize::from(place.part);
        let Part { path, container, .. } = &self.parts[number];
        let mut opened;
        let reader: &mut dyn ReadSeek = match &mut origins[number] {
            Origin::File(same) => {
                opened = same.again(path)?;
                &mut opened
            }
            Origin::Reader(reader) => &mut **reader,
        };
        let mut file = File::new(path, reader, self.limits.max_memory)?;
        message(*container, &mut file, place, &self.limits, held, most, is_last)
    }
}

impl fmt::Debug for Bag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bag").field("path", &self.path).field("topics", &self.topics).finish_non_exhaustive()
    }
}

/// The clouds of a topic, made by [`Bag::clouds`].
#[derive(Debug)]
pub struct Clouds<'a> {
    bag: &'a Bag,
    topic: &'a Topic,
    next: usize,
    /// The last item.
    cut: Option<IoError>,
}

impl Iterator for Clouds<'_> {
    type Item = Result<Cloud, IoError>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.next;
        if number >= self.topic.messages.len() {
            return self.cut.take().map(Err);
        }
        self.next += 1;
        Some(self.bag.cloud(self.topic, number))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.topic.messages.len() - self.next + usize::from(self.cut.is_some());
        (left, Some(left))
    }
}

impl ExactSizeIterator for Clouds<'_> {}
