//! The folder of a map by blocks.

use super::known::KnownRows;
use super::path_from::path_from;
use super::row::BlockRow;
use super::settings::BlockSettings;
use super::{block_name, block_of};
use crate::inputs::natural_order;
use crate::json_line::json_line;
use crate::maps::cells::write_ndt_map;
use crate::maps::moments::{read_ndt_moments_within, write_ndt_moments, write_synced_moments};
use pointmill_core::ndt::{NdtCells, NdtLattice, NdtMomentsTable};
use pointmill_io::Limits;
use pointmill_io::Place;
use pointmill_io::files::{is_own_folder, open_in_folder};
use pointmill_io::remove_abandoned;
use pointmill_io::{Detail, IoError};
use pointmill_io::{files::write_first, write_whole};
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The longest file of settings, and the longest row: an input of a million blocks.
const MAX_SETTINGS: u64 = 1 << 16;
const MAX_ROW: u64 = 1 << 24;

/// The folders in a map.
const INNER: [&str; 2] = ["inputs", "blocks"];

/// A map by blocks in a folder, which any number of processes may add to at the same time.
///
/// **Order and determinism**: a file's bytes depend on its input and the settings alone; a block's files on the inputs that have rows. Inputs
/// may be put in any order, again, and by several processes at once.
///
/// **Limits**: an input is one name; what is put under the name of another replaces it. A folder is only as safe against lost machines as its
/// file system. In the folder of a map nothing but regular files is read and no link is followed; the folder itself may be one.
///
/// ```
/// use pointmill_core::ndt::{Covariance, Moments, NdtLattice, NdtMomentsTable};
/// use pointmill_data::{BlockMap, BlockSettings};
/// let folder = std::env::temp_dir().join(format!("pointmill-doc-{}-blocks", std::process::id()));
/// let map = BlockMap::create(&folder, &BlockSettings::new(2.0, 128.0, Covariance::Autoware, 6, 0.01)?)?;
/// let cells = vec![([70, -3, 0], Moments::of([1, -2, 3]))];
/// let table = NdtMomentsTable { lattice: NdtLattice::new(2.0)?, points: 1, non_finite: 0, cells };
/// let row = map.put("a.bin", "", &[([1, -1], table)])?;
/// assert_eq!((row.points, &row.blocks[..]), (1, &["1_-1".to_owned()][..]));
/// assert_eq!(map.blocks()?, [[1, -1]]);
/// assert_eq!(map.parts([1, -1])?.len(), 1);
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockMap {
    folder: PathBuf,
    settings: BlockSettings,
    known: KnownRows,
}

impl BlockMap {
    /// Makes the folder, or opens it if there is a map of the same settings, made by the same version of the program.
    ///
    /// # Errors
    /// A map of other settings or of another version, as [`IoError::InvalidArgument`]; what the system refuses.
    pub fn create(folder: impl AsRef<Path>, settings: &BlockSettings) -> Result<Self, IoError> {
        let folder = folder.as_ref().to_path_buf();
        fs::create_dir_all(&folder).map_err(IoError::io(&folder, "make the folder"))?;
        for inner in INNER {
            make_folder(&folder.join(inner))?;
        }
        let map = Self { folder, settings: settings.clone(), known: KnownRows::default() };
        let path = map.settings_path();
        if !Self::is_one(&map.folder) {
            let bytes = settings.to_bytes().map_err(IoError::io(&path, "write"))?;
            write_first(&path, &bytes)?;
        }
        map.check()?;
        Ok(map)
    }

    /// Opens the map in a folder, of any version of the program.
    ///
    /// # Errors
    /// A folder without a map; settings that cannot be read.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, IoError> {
        let folder = folder.as_ref().to_path_buf();
        let path = folder.join("map.json");
        let settings = BlockSettings::parse(&path, &bytes(&path, MAX_SETTINGS)?)?;
        INNER.iter().try_for_each(|inner| is_own_folder(&folder.join(inner)).map(drop))?;
        Ok(Self { folder, settings, known: KnownRows::default() })
    }

    /// Refuses a map of another version of the program. [`BlockMap::create`] does so; a worker that opened a map does it before it writes.
    ///
    /// # Errors
    /// As [`BlockMap::create`].
    pub fn check(&self) -> Result<(), IoError> {
        let path = self.settings_path();
        self.settings.check(&path, &bytes(&path, MAX_SETTINGS)?)
    }

    /// Whether a folder holds a map by blocks. Settings that are a link or no file count, which [`BlockMap::open`] refuses.
    pub fn is_one(folder: impl AsRef<Path>) -> bool {
        fs::symlink_metadata(folder.as_ref().join("map.json")).is_ok()
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

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
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

    /// The name of a file in the map: its path from the folder of the map, so that it is the same wherever a program runs. A path that cannot
    /// be found is its own name.
    pub fn name_of(&self, file: impl AsRef<Path>) -> String {
        let file = file.as_ref();
        let name = || path_from(&self.folder.canonicalize().ok()?, &Self::place_of(file)?);
        name().unwrap_or_else(|| file.to_string_lossy().into_owned())
    }

    /// The whole path of a file without links: two files with one place have one name in every map. The file may be missing, its folder may not.
    pub fn place_of(file: impl AsRef<Path>) -> Option<PathBuf> {
        let file = file.as_ref();
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let found = || Some(parent.canonicalize().ok()?.join(file.file_name()?));
        file.canonicalize().ok().or_else(found)
    }

    /// The folder of a block's parts.
    pub fn block_folder(&self, block: [i32; 2]) -> PathBuf {
        self.folder.join("blocks").join(block_name(block))
    }

    /// What tells a version of a file from another: its bytes, when it was last changed, and `how` it was read. Empty for what is no file.
    pub fn state_of(path: impl AsRef<Path>, how: impl std::fmt::Display) -> String {
        let modified = |meta: &fs::Metadata| Some(meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos());
        let meta = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        let state = meta.and_then(|meta| Some(format!("{} bytes of {} ns, {how}", meta.len(), modified(&meta)?)));
        state.unwrap_or_default()
    }

    /// The row of an input that is done, if its files were made from the same `state` and are there.
    ///
    /// The state is a text of everything that decides the files besides the settings, such as [`BlockMap::state_of`] with the pose. With an
    /// empty one no input is kept.
    ///
    /// # Errors
    /// A row that cannot be read, or that is of an input of another name.
    pub fn keeps(&self, input: &str, state: &str) -> Result<Option<BlockRow>, IoError> {
        let row = self.row(input)?.filter(|row| !state.is_empty() && row.error.is_none() && row.state == state);
        Ok(row.filter(|row| self.missing(row).is_none()))
    }

    /// Writes the sums of an input, split by block, and then its row. An earlier version of the input is replaced.
    ///
    /// # Errors
    /// As [`write_ndt_moments`], and [`BlockMap::keeps`]; sums of another lattice or about another origin.
    pub fn put(&self, input: &str, state: &str, parts: &[([i32; 2], NdtMomentsTable)]) -> Result<BlockRow, IoError> {
        let wanted = self.lattice();
        if let Some((block, table)) = parts.iter().find(|(_, table)| table.lattice != wanted) {
            let part = self.part(input, &block_name(*block));
            return Err(IoError::InvalidArgument(other_lattice(&part, &wanted, &table.lattice)));
        }
        let earlier = self.clear_row(input, state)?;
        let mut sizes = Vec::new();
        for (block, table) in parts {
            let (folder, part) = (self.block_folder(*block), self.part(input, &block_name(*block)));
            make_folder(&folder)?;
            // The row has the size, so that a file that a crash of the machine cut is found.
            write_synced_moments(self.place(&part)?, false, table)?;
            sizes.push((*block, fs::symlink_metadata(&part).map_err(IoError::io(&part, "stat"))?.len()));
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

    /// Removes an input: its row and its parts. The blocks that had them are to be merged again. Returns their names.
    ///
    /// # Errors
    /// An input that has no row; what the system refuses.
    pub fn remove(&self, input: &str) -> Result<Vec<String>, IoError> {
        let row = self.clear_row(input, "")?.ok_or_else(|| {
            let detail = Detail::new(&self.folder, "inputs", format!("`{input}`"), "no row of this name");
            IoError::MissingField(detail)
        })?;
        row.blocks.iter().try_for_each(|block| self.remove_file(&self.part(input, block)))?;
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
        rows.sort_by(|a, b| natural_order(Path::new(&a.input), Path::new(&b.input)));
        Ok(rows)
    }

    /// The blocks that have parts or files, by (y, x).
    ///
    /// # Errors
    /// What the system refuses.
    pub fn blocks(&self) -> Result<Vec<[i32; 2]>, IoError> {
        let found = [self.names_in("blocks", "")?, names(&self.folder, ".npz")?].concat();
        let blocks: BTreeSet<_> = found.iter().filter_map(|name| block_of(name)).map(|[x, y]| [y, x]).collect();
        Ok(blocks.into_iter().map(|[y, x]| [x, y]).collect())
    }

    /// The parts of a block, of the inputs that are done, in the order of their names. Parts of inputs without a row are passed over, and what
    /// killed processes left unfinished is removed.
    ///
    /// # Errors
    /// A row that cannot be read.
    pub fn parts(&self, block: [i32; 2]) -> Result<Vec<PathBuf>, IoError> {
        let folder = self.block_folder(block);
        if is_own_folder(&folder)? {
            remove_abandoned(&folder)?;
        }
        self.counted(block)
    }

    /// The sums of a part, one of [`BlockMap::parts`].
    ///
    /// # Errors
    /// As [`read_ndt_moments_within`](crate::read_ndt_moments_within); a part that is a link or no regular file.
    pub fn read_part(&self, part: impl AsRef<Path>, limits: &Limits) -> Result<NdtMomentsTable, IoError> {
        read_ndt_moments_within(self.place(part.as_ref())?, limits)
    }

    /// The parts of a block that count, in the order of their names.
    pub(super) fn counted(&self, block: [i32; 2]) -> Result<Vec<PathBuf>, IoError> {
        let name = block_name(block);
        let mut parts = Vec::new();
        for hash in self.names_in(&format!("blocks/{name}"), ".arrow")? {
            if self.known.has(&self.row_path(&hash), &name, || self.read_row(&hash))? {
                parts.push(self.block_folder(block).join(format!("{hash}.arrow")));
            }
        }
        Ok(parts)
    }

    /// Writes the sums of a block's parts and its cells; where it has no parts, removes the files of the block.
    ///
    /// # Errors
    /// As [`write_ndt_moments`] and [`write_ndt_map`].
    pub fn write(&self, block: [i32; 2], merged: Option<(&NdtMomentsTable, &NdtCells)>) -> Result<(), IoError> {
        let [moments, cells] = ["arrow", "npz"].map(|ending| self.merged(block, ending));
        match merged {
            Some((table, finished)) => {
                write_ndt_moments(self.place(&moments)?, table)?;
                write_ndt_map(self.place(&cells)?, finished, &table.lattice)
            }
            None => [moments, cells].iter().try_for_each(|path| self.remove_file(path)),
        }
    }

    /// Checks that the parts of every row are there, and writes the manifest: a line for each input, in the order of [`BlockMap::rows`].
    /// Returns the rows.
    ///
    /// # Errors
    /// A part that is missing; as [`BlockMap::rows`].
    pub fn finish(&self) -> Result<Vec<BlockRow>, IoError> {
        remove_abandoned(&self.folder)?;
        remove_abandoned(self.folder.join("inputs"))?;
        let rows = self.rows()?;
        let path = self.folder.join("manifest.jsonl");
        let mut lines = Vec::new();
        for row in &rows {
            if let Some(part) = self.missing(row) {
                // Told first where it is there and is no file of the map.
                let found = open_in_folder(self.place(&part)?.path);
                found.err().filter(|e| e.class() != "Io").map_or(Ok(()), Err)?;
                let wanted = format!("the file that the row of `{}` names", row.input);
                return Err(IoError::MissingField(Detail::new(
                    &part,
                    "part",
                    wanted,
                    "none, or one of another size; build this input again",
                )));
            }
            let row = BlockRow { bytes: Vec::new(), state: String::new(), ..row.clone() };
            lines.extend(json_line(&row).map_err(IoError::io(&path, "write"))?);
        }
        write_whole(self.place(&path)?, |out| out.write_all(&lines))?;
        Ok(rows)
    }

    /// A file of a block with all inputs.
    pub(super) fn merged(&self, block: [i32; 2], ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", block_name(block)))
    }

    fn settings_path(&self) -> PathBuf {
        self.folder.join("map.json")
    }

    fn part(&self, input: &str, block: &str) -> PathBuf {
        self.folder.join("blocks").join(block).join(format!("{}.arrow", BlockRow::hash(input)))
    }

    fn row_path(&self, hash: &str) -> PathBuf {
        self.folder.join("inputs").join(format!("{hash}.json"))
    }

    /// The first part of a row that is missing or not whole.
    fn missing(&self, row: &BlockRow) -> Option<PathBuf> {
        let parts = row.blocks.iter().map(|block| self.part(&row.input, block)).zip(&row.bytes);
        let is_whole = |part: &Path, bytes| fs::symlink_metadata(part).is_ok_and(|m| m.is_file() && m.len() == bytes);
        let whole = |part: &Path, bytes| is_whole(part, bytes) && self.place(part).is_ok();
        parts.into_iter().find(|(part, bytes)| !whole(part, **bytes)).map(|(part, _)| part)
    }

    /// The row of an input.
    fn row(&self, input: &str) -> Result<Option<BlockRow>, IoError> {
        let row = self.read_row(&BlockRow::hash(input))?;
        if let Some(other) = row.as_ref().filter(|row| row.input != input) {
            let path = self.row_path(&BlockRow::hash(input));
            let detail =
                Detail::new(&path, "input", format!("`{input}`"), format!("`{}`, another of one hash", other.input));
            return Err(IoError::BadValue(detail));
        }
        Ok(row)
    }

    /// The row in a file; `None` if there is no such file.
    fn read_row(&self, hash: &str) -> Result<Option<BlockRow>, IoError> {
        let path = self.row_path(hash);
        let bytes = match bytes(self.place(&path)?.path, MAX_ROW) {
            Err(IoError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
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

    /// Removes the row of an input unless it is of this state, so that nobody counts the parts that are replaced. Returns the row.
    fn clear_row(&self, input: &str, state: &str) -> Result<Option<BlockRow>, IoError> {
        let row = self.row(input)?;
        if row.as_ref().is_some_and(|row| state.is_empty() || row.state != state) {
            self.remove_file(&self.row_path(&BlockRow::hash(input)))?;
        }
        Ok(row)
    }

    /// Removes the parts of an earlier version that the new one does not have, and writes the row.
    fn replace(&self, row: &BlockRow, earlier: Option<BlockRow>) -> Result<BlockRow, IoError> {
        let blocks: HashSet<_> = row.blocks.iter().collect();
        for block in earlier.iter().flat_map(|row| &row.blocks).filter(|block| !blocks.contains(block)) {
            self.remove_file(&self.part(&row.input, block))?;
        }
        let path = self.row_path(&BlockRow::hash(&row.input));
        let line = json_line(row).map_err(IoError::io(&path, "write"))?;
        write_whole(self.place(&path)?, |out| out.write_all(&line))?;
        Ok(row.clone())
    }

    /// The one way to the files of the map: no link leads out of it. Folders between the map's and the file are no links, and a link in the
    /// file's place is replaced by a writer and refused by a reader.
    pub(super) fn place<'a>(&self, path: &'a Path) -> Result<Place<'a>, IoError> {
        let mut between = path.ancestors().skip(1).take_while(|folder| *folder != self.folder);
        between.try_for_each(|folder| is_own_folder(folder).map(drop))?;
        Ok(Place { path, follow_links: false })
    }

    /// The names in a folder of the map.
    pub(super) fn names_in(&self, inner: &str, ending: &str) -> Result<Vec<String>, IoError> {
        let folder = self.folder.join(inner);
        self.place(&folder)?;
        if is_own_folder(&folder)? { names(&folder, ending) } else { Ok(Vec::new()) }
    }

    fn remove_file(&self, path: &Path) -> Result<(), IoError> {
        match fs::remove_file(self.place(path)?.path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(IoError::io(path, "remove")(e)),
            _ => Ok(()),
        }
    }
}

/// What is wrong with cells of another lattice than that of the map.
pub(super) fn other_lattice(path: &Path, wanted: &NdtLattice, found: &NdtLattice) -> Box<Detail> {
    let [wanted, found] = [wanted, found].map(|of| format!("cells of {} m about {:?}", of.unit(), of.origin()));
    Detail::new(path, "resolution, origin", wanted, found)
}

/// The bytes of a file, if they are few enough.
fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, IoError> {
    let mut bytes = Vec::new();
    let file = open_in_folder(path)?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(IoError::io(path, "read"))?;
    if bytes.len() as u64 > most {
        let found = format!("more than {most} bytes");
        return Err(IoError::LimitExceeded(Detail::new(path, "length", format!("at most {most} bytes"), found)));
    }
    Ok(bytes)
}

/// Makes a folder of the map, unless there is one.
fn make_folder(path: &Path) -> Result<(), IoError> {
    match fs::create_dir(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => is_own_folder(path).map(drop),
        made => made.map_err(IoError::io(path, "make the folder")),
    }
}

/// The names in a folder that end so, without the ending, sorted; none where there is no folder.
pub(super) fn names(folder: &Path, ending: &str) -> Result<Vec<String>, IoError> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(IoError::io(folder, "open"))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(IoError::io(folder, "read"))?.file_name();
        names.extend(name.to_str().and_then(|name| name.strip_suffix(ending)).map(String::from));
    }
    names.sort_unstable();
    Ok(names)
}
