//! A walk over the topics and the messages of a database.

use super::super::file::{File, MessageIndexEntry};
use super::super::found::Found;
use super::Row;
use super::page::{Cell, Database, Node};
use super::record::Record;
use super::schema::columns;
use crate::error::{IoError, excerpt};
use crate::fault::{At, bail, fault};
use std::collections::BTreeSet;

/// A walk that has come so far.
pub(super) struct Walk<'w, 'a> {
    file: &'w mut File<'a>,
    found: &'w mut Found<'a>,
    database: &'w Database,
    /// Pages that were visited.
    pages: BTreeSet<u32>,
    /// Bytes of the rows so far, where their pages are not visited.
    bytes: u64,
    /// What is missing of a file that was cut.
    cut: Option<IoError>,
}

/// A table: its first page, and which of its columns are which.
#[derive(Clone, Copy)]
struct Table<const N: usize> {
    page: u32,
    columns: [usize; N],
}

/// What is done with a row: by the walk, with its page and its number there.
type Visit<'v, W> = dyn FnMut(&mut W, (u32, u16), &Cell) -> Result<(), IoError> + 'v;

impl<'w, 'a> Walk<'w, 'a> {
    pub(super) fn new(file: &'w mut File<'a>, found: &'w mut Found<'a>, database: &'w Database) -> Self {
        Self { file, found, database, pages: BTreeSet::new(), bytes: 0, cut: None }
    }

    /// Walks to the end; what was found before an error stays.
    pub(super) fn all(&mut self) -> Result<(), IoError> {
        let length = self.database.length;
        if length > self.file.length {
            let at = self.file.at(self.file.length);
            self.cut = Some(fault!(at, Truncated, "pages", "{length} bytes", ("{} bytes", self.file.length)));
        }
        let (mut topics, mut messages) = (None, None);
        self.rows(1, &mut |walk, _, cell| walk.entry(cell, &mut topics, &mut messages))?;
        let (Some(topics), Some(messages)) = (topics, messages) else {
            self.cut.take().map_or(Ok(()), Err)?;
            let missing = if topics.is_none() { "topics" } else { "messages" };
            let wanted = "the tables `topics` and `messages` of rosbag2";
            bail!(self.file.at(0), UnsupportedFormat, "tables", wanted, "no `{missing}`; this is no bag of ROS 2");
        };
        self.rows(topics.page, &mut |walk, _, cell| walk.topic(cell, topics.columns))?;
        self.rows(messages.page, &mut |walk, row, cell| walk.message(row, cell, messages.columns))?;
        self.cut.take().map_or(Ok(()), Err)
    }

    /// Visits the rows of a table in the order of their numbers.
    fn rows(&mut self, root: u32, each: &mut Visit<'_, Self>) -> Result<(), IoError> {
        let (mut last, mut stack) = (None, vec![]);
        self.push(root, &mut stack)?;
        while let Some(page) = stack.pop() {
            match self.database.node(self.file, page) {
                Ok(Node::Nodes { pages }) => {
                    for page in pages.into_iter().rev() {
                        self.push(page, &mut stack).or_else(|e| self.leave_out(e))?;
                    }
                }
                Ok(Node::Rows { cells }) => {
                    for (i, cell) in cells.iter().enumerate() {
                        let visited = self.row(cell, &mut last).and_then(|()| each(self, (page, i as u16), cell));
                        visited.or_else(|e| self.leave_out(e))?;
                    }
                }
                Err(e) => self.leave_out(e)?,
            }
        }
        Ok(())
    }

    fn push(&mut self, page: u32, stack: &mut Vec<u32>) -> Result<(), IoError> {
        visit(&mut self.pages, self.file.at(0), page)?;
        stack.push(page);
        Ok(())
    }

    /// Leaves out what is not there of a file that was cut, and what is damaged in a salvage.
    fn leave_out(&mut self, e: IoError) -> Result<(), IoError> {
        match e {
            IoError::Truncated(_) if !self.found.salvage => {
                self.cut.get_or_insert(e);
                Ok(())
            }
            e => self.found.forgive(e),
        }
    }

    /// Checks the order of a row and the bytes of all, and of a file that may be cut the row's pages.
    fn row(&mut self, cell: &Cell, last: &mut Option<i64>) -> Result<(), IoError> {
        let at = self.file.at(cell.at);
        if let Some(last) = last.filter(|last| *last >= cell.id) {
            bail!(at, BadValue, "number of a row", "a number above {last}", (cell.id));
        }
        *last = Some(cell.id);
        if self.found.salvage || self.cut.is_some() {
            let (pages, database) = (&mut self.pages, self.database);
            return database.check_whole(self.file, cell, |page| visit(pages, at, page));
        }
        self.bytes = self.bytes.saturating_add(cell.length);
        let most = self.file.length;
        if self.bytes > most {
            bail!(at, BadValue, "rows", "at most the {most} bytes of the file", ("{} bytes", self.bytes));
        }
        Ok(())
    }

    /// Takes what the schema says of one of the two tables.
    fn entry(
        &mut self,
        cell: &Cell,
        topics: &mut Option<Table<4>>,
        messages: &mut Option<Table<3>>,
    ) -> Result<(), IoError> {
        let record = Record::read(self.file, self.database, cell)?;
        let Ok(name) = record.text(self.file, 1, "name of a table") else { return Ok(()) };
        let is = |wanted| name.eq_ignore_ascii_case(wanted);
        if !is("topics") && !is("messages") {
            return Ok(());
        }
        let at = self.file.at(cell.at);
        let kind = record.text(self.file, 0, "kind of a table")?;
        let page = record.integer(self.file, 3, "first page of a table")?.and_then(|page| u32::try_from(page).ok());
        let field = format!("`{name}`");
        let Some(page) = page.filter(|&page| page > 1 && kind == "table") else {
            let found = if kind == "table" { "a virtual table".into() } else { format!("a {kind}") };
            bail!(at, UnsupportedFormat, field, "a table of the database", found);
        };
        let sql = record.sql(self.file, 4)?;
        let Some(columns) = columns(&sql) else {
            bail!(at, UnsupportedFormat, field, "a plain `CREATE TABLE` with row ids", excerpt(sql.as_bytes()));
        };
        let find = |column: &str| match columns.iter().position(|name| name == column) {
            Some(place) => Ok(place),
            None => bail!(at, UnsupportedFormat, field, "a column `{column}`", (columns.join(", "))),
        };
        if is("topics") {
            let columns = [find("id")?, find("name")?, find("type")?, find("serialization_format")?];
            *topics = Some(Table { page, columns });
        } else {
            *messages = Some(Table { page, columns: [find("topic_id")?, find("timestamp")?, find("data")?] });
        }
        Ok(())
    }

    fn topic(&mut self, cell: &Cell, [id, name, kind, encoding]: [usize; 4]) -> Result<(), IoError> {
        let record = Record::read(self.file, self.database, cell)?;
        // Of a primary key, the row has no value but its number.
        let id = record.integer(self.file, id, "topics.id")?.unwrap_or(cell.id);
        let Ok(id) = u16::try_from(id) else {
            bail!(
                self.file.at(cell.at),
                LimitExceeded,
                "topics.id",
                "a number below 65536; split the bag by topics",
                id
            );
        };
        let name = record.text(self.file, name, "topics.name")?;
        let kind = record.text(self.file, kind, "topics.type")?;
        let encoding = record.text(self.file, encoding, "topics.serialization_format")?;
        self.found.channel(cell.at, id, &name, &kind, &encoding)
    }

    fn message(
        &mut self,
        (page, index): (u32, u16),
        cell: &Cell,
        [topic, timestamp, data]: [usize; 3],
    ) -> Result<(), IoError> {
        let record = Record::read(self.file, self.database, cell)?;
        let at = self.file.at(cell.at);
        let topic = record.integer(self.file, topic, "messages.topic_id")?.unwrap_or(-1);
        let Some(channel) = u16::try_from(topic).ok().filter(|&id| self.found.knows(id)) else {
            bail!(at, BadValue, "messages.topic_id", "a topic of the table `topics`", topic);
        };
        let time = record.integer(self.file, timestamp, "messages.timestamp")?.unwrap_or(-1);
        let Ok(time) = u64::try_from(time) else {
            bail!(at, BadValue, "messages.timestamp", "nanoseconds since 1970, 0 or more", time);
        };
        let Some(column) = u16::try_from(data).ok().filter(|_| record.has_blob(data)) else {
            bail!(at, BadValue, "messages.data", "bytes", "no bytes");
        };
        let place = Row { page, cell: index, column }.place();
        self.found.saw(MessageIndexEntry::new(time, 0, place, channel))
    }
}

/// Notes a page, which is in one place alone.
fn visit(pages: &mut BTreeSet<u32>, at: At<'_>, page: u32) -> Result<(), IoError> {
    if !pages.insert(page) {
        bail!(at, BadValue, "page", "each page in one place of one table", "page {page} twice");
    }
    Ok(())
}
