//! Where the messages of each topic lie, as a walk over a bag finds them.

use super::container::Container;
use super::file::{File, MessageIndexEntry};
use super::found::{Found, Topic};
use super::passes::Chunks;
use super::sqlite;
use crate::error::{Detail, IoError, WHOLE_CHUNKS};
use crate::fault::fault;
use crate::limits::Limits;
use crate::source::{ReadSeek, Source};
use crate::unread::not_read;
use std::path::Path;

/// What a walk found.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) container: Container,
    pub(super) topics: Vec<Topic>,
    pub(super) chunks: Chunks,
    /// What is missing of a file that was cut.
    pub(super) cut: Option<Box<Detail>>,
    /// What a salvage found first that is not as it should be.
    pub(super) damage: Option<Box<Detail>>,
}

impl Index {
    /// Walks over the file. Chunks are passed over where an index of their messages follows them.
    /// If `salvage`, each chunk is unpacked instead, those that are not whole are left out, and the
    /// walk ends where no record is.
    pub(super) fn read(
        path: &Path,
        reader: &mut dyn ReadSeek,
        limits: &Limits,
        salvage: bool,
    ) -> Result<Self, IoError> {
        let mut first = [0; 16];
        let got = Source::new(path, reader, None).fill(&mut first)?;
        reader.rewind().map_err(IoError::io(path, "seek"))?;
        if let Some(error) = not_read(path, &first[..got]) {
            return Err(error);
        }
        let container = Container::of(path, &first[..got]);
        if container == Container::Sqlite {
            sqlite::check_beside(path)?;
        }
        let mut file = File::new(path, reader, limits.max_memory)?;
        let mut found = Found::new(path, file.length, limits, salvage);
        let start = container.start(&mut file);
        let walked = match start {
            Err(e) if salvage => return Err(e),
            start => start.and_then(|at| container.walk(&mut file, &mut found, at)),
        };
        let cut = match walked {
            Ok(()) => None,
            Err(IoError::Truncated(mut detail)) if !salvage => {
                if found.places > 0 {
                    detail.salvageable(WHOLE_CHUNKS);
                }
                Some(detail)
            }
            Err(e) => found.forgive(e).map(|()| None)?,
        };
        found.topics.sort_by(|a, b| (&a.name, &a.schema_name).cmp(&(&b.name, &b.schema_name)));
        for topic in &mut found.topics {
            arrange(path, &mut topic.messages)?;
        }
        // The first cloud of each topic, for the layouts, and all messages of one.
        let topics = &found.topics;
        let clouds = topics.iter().filter(|topic| topic.is_cloud());
        found.check_pass("first clouds of all topics", clouds.filter_map(|topic| topic.messages.first()))?;
        for topic in topics {
            found.check_pass(
                &format!("messages of `{}` in the order of their times", topic.name),
                topic.messages.iter(),
            )?;
        }
        Ok(Self { container, topics: found.topics, chunks: found.chunks, cut, damage: found.damage })
    }
}

/// Sorts places by time, with the room of each and their number in each chunk.
fn arrange(path: &Path, places: &mut [MessageIndexEntry]) -> Result<(), IoError> {
    places.sort_unstable_by_key(|place| (place.chunk, place.at));
    for chunk in places.chunk_by_mut(|a, b| a.chunk == b.chunk).filter(|chunk| chunk[0].chunk > 0) {
        if let Some(twice) = chunk.windows(2).find(|two| two[0].at == two[1].at) {
            let wanted = "each message once";
            let found = format!("byte {} of the chunk at {} twice", twice[0].at, twice[0].chunk);
            return Err(fault!(path, BadValue, "message index", wanted, found).at(Some(twice[0].chunk)));
        }
        for i in 1..chunk.len() {
            chunk[i - 1].room = u32::try_from(chunk[i].at - chunk[i - 1].at).unwrap_or(u32::MAX);
        }
        let together = u16::try_from(chunk.len()).unwrap_or(u16::MAX);
        chunk.iter_mut().for_each(|place| place.together = together);
    }
    places.sort_unstable();
    Ok(())
}
