//! The files of a map by blocks, and the rows of its inputs.

use super::folder::{Folder, place_of};
use super::known::KnownRows;
use super::row::BlockRow;
use super::settings::BlockSettings;
use super::store::{Store, is_missing};
use super::{block_name, block_of};
use crate::inputs::sort_naturally;
use crate::json_line::json_line;
use crate::maps::moments::write_synced_moments;
use pointmill_core::ndt::{NdtLattice, NdtMomentsTable};
use pointmill_io::files::open_in_folder;
use pointmill_io::{Detail, IoError, write_whole};
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// The longest file of settings, and the longest row: an input of a million blocks.
const MAX_SETTINGS: u64 = 1 << 16;
const MAX_ROW: u64 = 1 << 24;

/// The file of the settings, whose presence makes a place a map.
const SETTINGS: &str = "map.json";

/// A map by blocks in a [`Store`], which any number of processes may add to at the same time.
///
/// **Order and determinism**: a file's bytes depend on its input and the settings alone; a block's
/// files on the inputs that have rows. Inputs may be put in any order, again, and by several
/// processes at once.
///
/// **Limits**: an input is one name; what is put under the name of another replaces it. A folder is
/// only as safe against lost machines as its file system. In the folder of a map nothing but
/// regular files is read and no link is followed; the folder itself may be one.
///
/// ```
/// use pointmill_core::ndt::{Covariance, Moments, NdtLattice, NdtMomentsTable};
/// use pointmill_data::{BlockMap, BlockSettings};
/// use pointmill_io::Limits;
/// let folder = std::env::temp_dir().join(format!("pointmill-doc-{}-blocks", std::process::id()));
/// let map = BlockMap::create(&folder, &BlockSettings::new(2.0, 128.0, Covariance::Autoware, 6, 0.01)?)?;
/// let cells = vec![([70, -3, 0], Moments::of([1, -2, 3]))];
/// let table = NdtMomentsTable { lattice: NdtLattice::new(2.0)?, points: 1, non_finite: 0, cells };
/// let row = map.put("a.bin", "", &[([1, -1], table)])?;
/// assert_eq!((row.points, &row.blocks[..]), (1, &["1_-1".to_owned()][..]));
/// assert_eq!(map.blocks()?, [[1, -1]]);
/// assert_eq!(map.merge([1, -1], &Limits::default(), &())?.points, 1);
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockMap {
    store: Arc<dyn Store>,
    settings: BlockSettings,
    known: KnownRows,
}

impl BlockMap {
    /// Makes the folder, or opens it if there is a map of the same settings, made by the same
    /// version of the program.
    ///
    /// # Errors
    /// A map of other settings or of another version, as [`IoError::InvalidArgument`]; what the
    /// system refuses.
    pub fn create(folder: impl AsRef<Path>, settings: &BlockSettings) -> Result<Self, IoError> {
        Self::create_in(Arc::new(Folder(folder.as_ref().into())), settings)
    }

    /// The same in any store.
    ///
    /// # Errors
    /// As [`BlockMap::create`].
    pub fn create_in(store: Arc<dyn Store>, settings: &BlockSettings) -> Result<Self, IoError> {
        store.make()?;
        let map = Self { store, settings: settings.clone(), known: KnownRows::default() };
        if !Self::is_in(&*map.store) {
            let bytes = settings.to_bytes().map_err(IoError::io(&map.path(SETTINGS), "write"))?;
            map.store.write_first(SETTINGS, &bytes)?;
        }
        map.check()?;
        Ok(map)
    }

    /// Opens the map in a folder, of any version of the program.
    ///
    /// # Errors
    /// A folder without a map; settings that cannot be read.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, IoError> {
        Self::open_in(Arc::new(Folder(folder.as_ref().into())))
    }

    /// The same in any store.
    ///
    /// # Errors
    /// As [`BlockMap::open`].
    pub fn open_in(store: Arc<dyn Store>) -> Result<Self, IoError> {
        let settings = BlockSettings::parse(&store.root().join(SETTINGS), &bytes(&*store, SETTINGS, MAX_SETTINGS)?)?;
        store.check()?;
        Ok(Self { store, settings, known: KnownRows::default() })
    }

    /// Refuses a map of another version of the program. [`BlockMap::create`] does so; a worker that
    /// opened a map does it before it writes.
    ///
    /// # Errors
    /// As [`BlockMap::create`].
    pub fn check(&self) -> Result<(), IoError> {
        self.settings.check(&self.path(SETTINGS), &bytes(&*self.store, SETTINGS, MAX_SETTINGS)?)
    }

    /// Whether a folder holds a map by blocks. Settings that are a link or no file count, which
    /// [`BlockMap::open`] refuses.
    pub fn is_one(folder: impl AsRef<Path>) -> bool {
        Self::is_in(&Folder(folder.as_ref().into()))
    }

    /// Whether a store holds a map by blocks.
    pub fn is_in(store: &dyn Store) -> bool {
        matches!(store.version(SETTINGS), Ok(Some(_)))
    }

    /// The name of a block: `3_-1`.
    pub fn name_of_block(block: [i32; 2]) -> String {
        block_name(block)
    }

    /// The block of a name, if it is the name of one.
    pub fn block_of(name: &str) -> Option<[i32; 2]> {
        block_of(name)
    }

    /// The map and the block of a folder `MAP/blocks/X_Y`, if it is one.
    pub fn of_folder(path: &Path) -> Option<(PathBuf, [i32; 2])> {
        let block = block_of(path.file_name()?.to_str()?)?;
        let blocks = path.parent().filter(|parent| parent.file_name().is_some_and(|name| name == "blocks"))?;
        let map = blocks.parent().filter(|map| Self::is_one(map))?;
        Some((map.into(), block))
    }

    /// The folder, or the place of the store.
    pub fn folder(&self) -> &Path {
        self.store.root()
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The path of a file of the map, for errors.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.store.root().join(file)
    }

    /// What all workers agree on.
    pub fn settings(&self) -> &BlockSettings {
        &self.settings
    }

    /// The lattice of the cells, about the origin of the map.
    pub fn lattice(&self) -> NdtLattice {
        let lattice = NdtLattice::new(self.settings.resolution).expect("checked when the settings were made or read");
        lattice.about(self.settings.origin)
    }

    /// The name of a file in the map: its path from the folder of the map, so that it is the same
    /// wherever a program runs. A path that cannot be found is its own name, and so is any in a
    /// store that is no folder.
    pub fn name_of(&self, file: impl AsRef<Path>) -> String {
        let file = file.as_ref();
        self.store.name_of(file).unwrap_or_else(|| file.to_string_lossy().into_owned())
    }

    /// The whole path of a file without links: two files with one place have one name in every map.
    /// The file may be missing, its folder may not.
    pub fn place_of(file: impl AsRef<Path>) -> Option<PathBuf> {
        place_of(file.as_ref())
    }

    /// The folder of a block's parts.
    pub fn block_folder(&self, block: [i32; 2]) -> PathBuf {
        self.path(&block_folder(block))
    }

    /// What tells a version of a file from another: its bytes, when it was last changed, and `how`
    /// it was read. Empty for what is no file.
    pub fn state_of(path: impl AsRef<Path>, how: impl std::fmt::Display) -> String {
        let modified = |meta: &fs::Metadata| Some(meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos());
        let meta = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        let state = meta.and_then(|meta| Some(format!("{} bytes of {} ns, {how}", meta.len(), modified(&meta)?)));
        state.unwrap_or_default()
    }

    /// The row of an input that is done, if its files were made from the same `state` and are
    /// there.
    ///
    /// The state is a text of everything that decides the files besides the settings, such as
    /// [`BlockMap::state_of`] with the pose. With an empty one no input is kept.
    ///
    /// # Errors
    /// A row that cannot be read, or that is of an input of another name.
    pub fn keeps(&self, input: &str, state: &str) -> Result<Option<BlockRow>, IoError> {
        let row = self.row(input)?.filter(|row| !state.is_empty() && row.error.is_none() && row.state == state);
        Ok(row.filter(|row| self.missing(row).is_none()))
    }

    /// Writes the sums of an input, split by block, and then its row. An earlier version of the
    /// input is replaced.
    ///
    /// # Errors
    /// As [`write_ndt_moments`](crate::write_ndt_moments), and [`BlockMap::keeps`]; sums of another lattice or about another
    /// origin.
    pub fn put(&self, input: &str, state: &str, parts: &[([i32; 2], NdtMomentsTable)]) -> Result<BlockRow, IoError> {
        let wanted = self.lattice();
        let file = |block: &[i32; 2]| part(input, &block_name(*block));
        if let Some((block, table)) = parts.iter().find(|(_, table)| table.lattice != wanted) {
            let part = self.path(&file(block));
            return Err(IoError::InvalidArgument(other_lattice(&part, &wanted, &table.lattice)));
        }
        let earlier = self.clear_row(input, state)?;
        let mut sizes = Vec::new();
        for (block, table) in parts {
            // The row has the size, so that a file that a crash of the machine cut is found.
            let bytes = self.store.write(&file(block), &mut |place| write_synced_moments(place, false, table))?;
            sizes.push((*block, bytes));
        }
        let points = parts.iter().map(|(_, table)| table.points).sum();
        let row = BlockRow::done(input, state, points, sizes);
        self.replace(&row, earlier)
    }

    /// Notes that an input failed, and removes what there was of it.
    ///
    /// # Errors
    /// As [`BlockMap::put`].
    pub fn refuse(&self, input: &str, error: &str) -> Result<BlockRow, IoError> {
        let earlier = self.clear_row(input, "")?;
        self.replace(&BlockRow::failed(input, error), earlier)
    }

    /// Removes an input: its row and its parts. The blocks that had them are to be merged again.
    /// Returns their names.
    ///
    /// # Errors
    /// An input that has no row; what the system refuses.
    pub fn remove(&self, input: &str) -> Result<Vec<String>, IoError> {
        let row = self.clear_row(input, "")?.ok_or_else(|| {
            let detail = Detail::new(self.folder(), "inputs", format!("`{input}`"), "no row of this name");
            IoError::MissingField(detail)
        })?;
        row.blocks.iter().try_for_each(|block| self.store.remove(&part(input, block)))?;
        Ok(row.blocks)
    }

    /// The rows of all inputs, in the natural order of their names.
    ///
    /// # Errors
    /// A row that cannot be read.
    pub fn rows(&self) -> Result<Vec<BlockRow>, IoError> {
        let mut rows = Vec::new();
        for name in self.names_in("inputs", ".json")? {
            rows.extend(self.read_row(&name)?);
        }
        sort_naturally(&mut rows, |row| Path::new(&row.input));
        Ok(rows)
    }

    /// The blocks that have parts or files, by (y, x).
    ///
    /// # Errors
    /// What the system refuses.
    pub fn blocks(&self) -> Result<Vec<[i32; 2]>, IoError> {
        let found = [self.names_in("blocks", "")?, self.names_in("", ".npz")?].concat();
        let blocks: BTreeSet<_> = found.iter().filter_map(|name| block_of(name)).map(|[x, y]| [y, x]).collect();
        Ok(blocks.into_iter().map(|[y, x]| [x, y]).collect())
    }

    /// The parts of a block that count: those of the inputs that are done, in the order of their
    /// names.
    pub(super) fn parts(&self, block: [i32; 2]) -> Result<Vec<String>, IoError> {
        let (name, folder) = (block_name(block), block_folder(block));
        let mut parts = Vec::new();
        for hash in self.names_in(&folder, ".arrow")? {
            let version = self.store.version(&row_file(&hash))?;
            if self.known.has(&hash, version, &name, || self.read_row(&hash))? {
                parts.push(format!("{folder}/{hash}.arrow"));
            }
        }
        Ok(parts)
    }

    /// Checks that the parts of every row are there, and writes the manifest: a line for each
    /// input, in the order of [`BlockMap::rows`]. Returns the rows.
    ///
    /// # Errors
    /// A part that is missing; as [`BlockMap::rows`].
    pub fn finish(&self) -> Result<Vec<BlockRow>, IoError> {
        ["", "inputs"].iter().try_for_each(|folder| self.store.clear(folder))?;
        let rows = self.rows()?;
        let manifest = "manifest.jsonl";
        let mut lines = Vec::new();
        for row in &rows {
            if let Some(part) = self.missing(row) {
                // What is there and is no file of the map is reported as that.
                let found = self.store.read(&part, &mut |place| open_in_folder(place.path).map(drop));
                found.err().filter(|e| e.class() != "Io").map_or(Ok(()), Err)?;
                let wanted = format!("the file that the row of `{}` names", row.input);
                let found = "none, or one of another size; build this input again";
                return Err(IoError::MissingField(Detail::new(self.path(&part), "part", wanted, found)));
            }
            let row = BlockRow { bytes: Vec::new(), state: String::new(), ..row.clone() };
            lines.extend(json_line(&row).map_err(IoError::io(&self.path(manifest), "write"))?);
        }
        self.write_bytes(manifest, &lines)?;
        Ok(rows)
    }

    /// The first part of a row that is missing or not whole.
    fn missing(&self, row: &BlockRow) -> Option<String> {
        let parts = row.blocks.iter().map(|block| part(&row.input, block)).zip(&row.bytes);
        let is_whole = |part: &str, bytes| {
            self.store.version(part).is_ok_and(|found| found.is_some_and(|v| v.is_file && v.bytes == bytes))
        };
        parts.into_iter().find(|(part, bytes)| !is_whole(part, **bytes)).map(|(part, _)| part)
    }

    /// The row of an input.
    fn row(&self, input: &str) -> Result<Option<BlockRow>, IoError> {
        let row = self.read_row(&BlockRow::hash(input))?;
        if let Some(other) = row.as_ref().filter(|row| row.input != input) {
            let path = self.path(&row_file(&BlockRow::hash(input)));
            let detail =
                Detail::new(&path, "input", format!("`{input}`"), format!("`{}`, another of one hash", other.input));
            return Err(IoError::BadValue(detail));
        }
        Ok(row)
    }

    /// The row in a file; `None` if there is no such file.
    fn read_row(&self, hash: &str) -> Result<Option<BlockRow>, IoError> {
        let (file, path) = (row_file(hash), self.path(&row_file(hash)));
        let bytes = match bytes(&*self.store, &file, MAX_ROW) {
            Err(e) if is_missing(&e) => return Ok(None),
            bytes => bytes?,
        };
        let wrong = |found: String| IoError::BadValue(Detail::new(&path, "row", "a row of an input", found));
        let row: BlockRow = serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))?;
        // Names of blocks become paths.
        match row.blocks.iter().find(|block| block_of(block).is_none()) {
            Some(block) => Err(wrong(format!("the block `{block}`"))),
            None if row.bytes.len() != row.blocks.len() => Err(wrong(format!("{} sizes", row.bytes.len()))),
            None => Ok(Some(row)),
        }
    }

    /// Removes the row of an input unless it is of this state, so that nobody counts the parts that
    /// are replaced. Returns the row.
    fn clear_row(&self, input: &str, state: &str) -> Result<Option<BlockRow>, IoError> {
        let row = self.row(input)?;
        if row.as_ref().is_some_and(|row| state.is_empty() || row.state != state) {
            self.store.remove(&row_file(&BlockRow::hash(input)))?;
        }
        Ok(row)
    }

    /// Removes the parts of an earlier version that the new one does not have, and writes the row.
    fn replace(&self, row: &BlockRow, earlier: Option<BlockRow>) -> Result<BlockRow, IoError> {
        let blocks: HashSet<_> = row.blocks.iter().collect();
        for block in earlier.iter().flat_map(|row| &row.blocks).filter(|block| !blocks.contains(block)) {
            self.store.remove(&part(&row.input, block))?;
        }
        let file = row_file(&BlockRow::hash(&row.input));
        let line = json_line(row).map_err(IoError::io(&self.path(&file), "write"))?;
        self.write_bytes(&file, &line)?;
        Ok(row.clone())
    }

    fn write_bytes(&self, file: &str, bytes: &[u8]) -> Result<(), IoError> {
        self.store.write(file, &mut |place| write_whole(place, |out| out.write_all(bytes))).map(drop)
    }

    /// The names in a folder of the map that end so, without the ending, sorted.
    pub(super) fn names_in(&self, folder: &str, ending: &str) -> Result<Vec<String>, IoError> {
        let names = self.store.list(folder)?;
        let mut names: Vec<_> = names.iter().filter_map(|name| name.strip_suffix(ending)).map(String::from).collect();
        names.sort_unstable();
        Ok(names)
    }
}

/// The folder of a block's parts.
pub(super) fn block_folder(block: [i32; 2]) -> String {
    format!("blocks/{}", block_name(block))
}

/// The sums of an input in a block.
fn part(input: &str, block: &str) -> String {
    format!("blocks/{block}/{}.arrow", BlockRow::hash(input))
}

/// The row of an input.
fn row_file(hash: &str) -> String {
    format!("inputs/{hash}.json")
}

/// A file of a block with all inputs.
pub(super) fn merged(block: [i32; 2], ending: &str) -> String {
    format!("{}.{ending}", block_name(block))
}

/// What is wrong with cells of another lattice than that of the map.
pub(super) fn other_lattice(path: &Path, wanted: &NdtLattice, found: &NdtLattice) -> Box<Detail> {
    let [wanted, found] = [wanted, found].map(|of| format!("cells of {} m about {:?}", of.unit(), of.origin()));
    Detail::new(path, "resolution, origin", wanted, found)
}

/// The bytes of a file, if they are few enough.
fn bytes(store: &dyn Store, file: &str, most: u64) -> Result<Vec<u8>, IoError> {
    let mut bytes = Vec::new();
    store.read(file, &mut |place| {
        open_in_folder(place.path)?.take(most + 1).read_to_end(&mut bytes).map_err(IoError::io(place.path, "read"))?;
        Ok(())
    })?;
    if bytes.len() as u64 > most {
        let (wanted, found) = (format!("at most {most} bytes"), format!("more than {most} bytes"));
        return Err(IoError::LimitExceeded(Detail::new(store.root().join(file), "length", wanted, found)));
    }
    Ok(bytes)
}
