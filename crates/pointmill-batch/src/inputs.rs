//! Inputs: files, the standard input, or the sweeps of the built-in drive.

use crate::failure::Failure;
use crate::json::Notes;
use crate::say;
use crate::stats::timed;
use crate::text::{shown, tidy};
use pointmill::{Error, Rows};
use pointmill_io::mcap::Bag;
use pointmill_io::{
    Dataset, Detail, Format, IoError, LocalOrigin, ReadOptions, Scan, Warning, find_inputs, is_deskewed, log_stamp_ns,
    read, read_from,
};
use pointmill_synth::{Drive, DriveParams};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The name of the standard input.
pub const STDIN: &str = "-";
/// The format of what is built in.
pub const SYNTHETIC: &str = "synthetic";

/// How inputs are read.
#[derive(Debug)]
pub struct Inputs {
    options: ReadOptions,
    drive: Option<Drive>,
    /// Whether the user gave the origin, so that places that flags give are relative to it.
    is_given: bool,
    /// The input that was read to find the origin, by its name, until it is its turn.
    early: Mutex<Option<(String, Opened)>>,
}

/// A scan, and the nanoseconds of the stamp of a bag's cloud or of a sweep of Argoverse 2.
pub type Stamped = (Scan, Option<i64>);
/// A cloud that was read, and the milliseconds that it took.
type Opened = Result<(Stamped, f64), IoError>;

/// One input.
#[derive(Debug)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// The standard input.
    Stdin,
    /// A cloud of a bag.
    Cloud(BagCloud),
    /// A sweep of the built-in drive.
    Sweep(usize),
    /// The built-in street.
    Street,
    /// An input that fails in its turn: a folder without a cloud, a pattern without a match, something in a folder that is no regular file, or a bag of several topics.
    Nothing(IoError),
}

/// A cloud of a bag.
#[derive(Clone, Debug)]
pub struct BagCloud {
    /// The bag, which is open.
    pub bag: Arc<Bag>,
    /// The place of its topic.
    topic: usize,
    /// Its number in the topic.
    number: usize,
}

impl Inputs {
    /// Finds the inputs that the arguments name, each cloud of a bag as one; without an argument these are the sweeps of the built-in drive. An argument that can be no input is an error; an input that cannot be read fails in its turn.
    pub fn find(args: &[PathBuf], options: ReadOptions) -> Result<(Vec<Source>, Self), Failure> {
        let (files, inputs) = Self::find_files(args, options)?;
        let mut sources = Vec::new();
        let only = files.len() == 1;
        for source in files {
            match source {
                Source::File(path) => match clouds(path, &inputs.options) {
                    Ok(found) => sources.extend(found),
                    Err(e) if only => return Err(e.into()),
                    Err(e) => sources.push(Source::Nothing(e)),
                },
                other => sources.push(other),
            }
        }
        let inputs = inputs.settle_origin(&sources);
        Ok((sources, inputs))
    }

    /// The same with a bag as one input.
    pub fn find_files(args: &[PathBuf], options: ReadOptions) -> Result<(Vec<Source>, Self), Failure> {
        let mut sources = Vec::new();
        for arg in args {
            if !is_stdin(arg) {
                sources.extend(files(arg)?);
            } else if sources.iter().any(|s| matches!(s, Source::Stdin)) {
                return Err(Failure::Usage("-: can be used for one input only".into()));
            } else {
                require_format(&options)?;
                sources.push(Source::Stdin);
            }
        }
        let drive = args.is_empty().then(|| Drive::new(DriveParams::default()));
        sources.extend(drive.iter().flat_map(|drive| (0..drive.len()).map(Source::Sweep)));
        Ok((sources, Self { options, drive, is_given: false, early: Mutex::default() }))
    }

    /// Inputs that are known: only their origin is found.
    pub fn of(sources: &[Source], options: ReadOptions) -> Self {
        Self { options, drive: None, is_given: false, early: Mutex::default() }.settle_origin(sources)
    }

    /// The same inputs about another origin: of `auto` the one of the first of `sources` that can be read.
    #[must_use]
    pub fn about<'a>(mut self, origin: LocalOrigin, sources: impl IntoIterator<Item = &'a Source>) -> Self {
        self.options.origin = origin;
        self.settle_origin(sources)
    }

    /// Fixes the origin of all inputs: of `auto` the one of the first input that can be read.
    fn settle_origin<'a>(mut self, sources: impl IntoIterator<Item = &'a Source>) -> Self {
        let mut origin = None;
        self.is_given = matches!(self.options.origin, LocalOrigin::At(_));
        if self.options.origin == LocalOrigin::Auto {
            for source in sources {
                if !self.may_be_far(source) {
                    break;
                }
                let read = timed(|| self.open(source));
                let found = read.as_ref().ok().map(|((scan, _), _)| scan.cloud.origin());
                // A file that cannot be read fails again in its turn; a stream is read once.
                if found.is_some() || matches!(source, Source::Stdin) {
                    self.early = Mutex::new(Some((source.name(), read)));
                }
                if let Some(found) = found {
                    origin = Some(found).filter(|found| *found != [0.0; 3]);
                    break;
                }
            }
            self.options.origin = origin.map_or(LocalOrigin::None, LocalOrigin::At);
        }
        self
    }

    /// Tells the origin, in a run whose results are relative to it.
    pub fn tell_origin(&self) {
        if let LocalOrigin::At([x, y, z]) = self.options.origin {
            let [x, y, z] = [x, y, z].map(tidy);
            say::note(format_args!("large coordinates: results are relative to {x}, {y}, {z} (--local-origin)"));
        }
    }

    /// Whether coordinates of an input can move when they become `f32`: not those of raw rows, which have that type.
    fn may_be_far(&self, source: &Source) -> bool {
        let raw = |format| matches!(format, Format::Kitti | Format::Nuscenes | Format::Bin);
        match source {
            Source::File(path) => !self.options.format.or_else(|| Format::from_name(path)).is_some_and(raw),
            Source::Stdin => !self.options.format.is_some_and(raw),
            Source::Cloud(_) | Source::Nothing(_) => true,
            Source::Sweep(_) | Source::Street => false,
        }
    }

    /// How the inputs are read, with the origin that all of them have.
    pub const fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// What is subtracted from places that flags give: the origin, unless the user gave it too.
    pub const fn shift(&self) -> [f64; 3] {
        if self.is_given { [0.0; 3] } else { self.origin() }
    }

    /// The origin of all inputs.
    pub const fn origin(&self) -> [f64; 3] {
        match self.options.origin {
            LocalOrigin::At(origin) => origin,
            LocalOrigin::Auto | LocalOrigin::None => [0.0; 3],
        }
    }

    /// Reads the input, or makes the sweep in the frame of its sensor. Returns the milliseconds that it took, too.
    pub fn read(&self, source: &Source) -> Result<(Scan, f64), IoError> {
        self.read_stamped(source).map(|((scan, _), ms)| (scan, ms))
    }

    /// The same with the stamp.
    pub fn read_stamped(&self, source: &Source) -> Opened {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, read)) = early.take_if(|(name, _)| *name == source.name()) {
            return read;
        }
        drop(early);
        timed(|| self.open(source))
    }

    fn open(&self, source: &Source) -> Result<Stamped, IoError> {
        let origin = self.options.origin;
        let scan = match source {
            Source::File(path) => return Ok((read(path, &self.options)?, source.stamp_ns())),
            Source::Stdin => read_stdin(&self.options)?,
            Source::Cloud(BagCloud { bag, topic, number }) => {
                let cloud = bag.cloud(&bag.topics()[*topic], *number)?;
                let angle = self.options.dataset.and_then(Dataset::vertical_angle);
                let scan = if let Some(angle) = angle { cloud.scan.raised(angle) } else { cloud.scan };
                let scan = if let Some(area) = self.options.area { scan.within(area) } else { scan };
                return Ok((scan.about(origin), Some(cloud.stamp_ns)));
            }
            Source::Nothing(e) => return Err(again(e)),
            Source::Sweep(i) => Scan::from(self.drive().sweep(*i)).about(origin),
            Source::Street => unreachable!("the street is no cloud"),
        };
        Ok((scan, None))
    }

    /// Reads the input for a map, and returns how many zeros it dropped if it is to drop them. A sweep of the drive is moved to the frame of its world, in `f64`.
    pub fn read_for_map(&self, source: &Source, drop_zeros: bool) -> Result<(Scan, usize, f64), IoError> {
        self.read_at(source, drop_zeros, None::<fn(&Scan, Option<f64>) -> Result<Vec<f64>, IoError>>)
    }

    /// The same with the coordinates that `moved` returns for the input and its stamp, if there is such a function.
    pub fn read_at(
        &self,
        source: &Source,
        drop_zeros: bool,
        moved: Option<impl FnOnce(&Scan, Option<f64>) -> Result<Vec<f64>, IoError>>,
    ) -> Result<(Scan, usize, f64), IoError> {
        let ((mut scan, stamp), ms) = self.read_stamped(source)?;
        if let (Source::Sweep(i), None) = (source, &moved) {
            let [x, y, z, _] = self.drive().world_from_sensor(*i);
            let along = |row: [f64; 4], p: [f64; 3]| row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3];
            scan.xyz_f64 = Some(scan.iter_xyz().flat_map(|p| [x, y, z].map(|row| along(row, p))).collect());
        }
        let (mut scan, zeros) = if drop_zeros { scan.without_zeros() } else { (scan, 0) };
        if let Some(moved) = moved {
            scan.xyz_f64 = Some(moved(&scan, stamp.map(|ns| ns as f64 / 1e9))?);
        }
        Ok((scan, zeros, ms))
    }

    /// Whether an input was published without the motion of the sensor within it.
    pub fn is_deskewed(&self, source: &Source) -> bool {
        is_deskewed(source.path().unwrap_or(Path::new("")), self.options.dataset)
    }

    fn drive(&self) -> &Drive {
        self.drive.as_ref().expect("sweeps come with the drive")
    }
}

/// The file, or each cloud of a bag. A bag that cannot be opened fails in its turn, one that was cut after its last cloud.
///
/// # Errors
/// A bag of which no topic is meant, or one of several.
fn clouds(path: PathBuf, options: &ReadOptions) -> Result<Vec<Source>, IoError> {
    if !is_bag(&path) {
        return Ok(vec![Source::File(path)]);
    }
    let Ok(bag) = open_bag(&path, options) else { return Ok(vec![Source::File(path)]) };
    if options.topic.is_none() && bag.topics().iter().all(|topic| topic.cloud_encoding().is_none()) {
        return Ok(vec![Source::File(path)]);
    }
    let wanted = bag.cloud_topic(options.topic.as_deref()).map_err(|e| match e {
        IoError::InvalidArgument(detail) => IoError::InvalidArgument(
            Detail { found: format!("{}; choose with --topic", detail.found), ..*detail }.into(),
        ),
        e => e,
    })?;
    let (topic, count) = (bag.topics().iter().position(|topic| topic == wanted), wanted.count as usize);
    let (bag, topic) = (Arc::new(bag), topic.expect("a topic of the bag"));
    let cloud = |number| Source::Cloud(BagCloud { bag: bag.clone(), topic, number });
    let mut sources: Vec<_> = (0..count).map(cloud).collect();
    if bag.cut().is_some() || count == 0 {
        sources.push(Source::File(path));
    }
    Ok(sources)
}

/// Opens a bag, as the options say.
pub fn open_bag(path: &Path, options: &ReadOptions) -> Result<Bag, IoError> {
    let open = if options.salvage { Bag::salvage } else { Bag::open };
    open(path, &options.limits)
}

/// Whether a file is a bag, by its name.
pub fn is_bag(path: &Path) -> bool {
    Format::from_name(path) == Some(Format::Mcap)
}

/// The inputs of an argument that is not `-`: a file, the clouds of a folder, the files that match a pattern. One that cannot be read fails in its turn.
pub fn files(arg: &Path) -> Result<Vec<Source>, Failure> {
    match find_inputs(&[arg]) {
        Ok(found) => Ok(found.into_iter().map(|f| f.map_or_else(Source::Nothing, Source::File)).collect()),
        Err(e @ IoError::InvalidArgument(_)) => Err(e.into()),
        Err(e) => Ok(vec![Source::Nothing(e)]),
    }
}

/// Whether an argument is the standard input.
pub fn is_stdin(arg: &Path) -> bool {
    arg.as_os_str() == STDIN
}

/// The points of a cloud about its origin, with every bit of its file.
pub fn rows(scan: &Scan) -> Result<Rows<'_>, Error> {
    match (&scan.xyz_f64, scan.cloud.origin()) {
        (None, _) => Ok(Rows::from(&scan.cloud)),
        (Some(xyz), [0.0, 0.0, 0.0]) => Rows::f64(xyz, 3),
        (Some(xyz), origin) => Rows::f64(xyz, 3)?.about(origin),
    }
}

/// The warnings for an operator that takes `f32`.
pub fn warnings(scan: &Scan) -> Notes {
    Notes::of(&scan.warnings)
}

/// The warnings for an operator that takes [`rows`]: a cast to `f32` loses nothing there.
pub fn warnings_of_rows(scan: &Scan) -> Notes {
    Notes::of(scan.warnings.iter().filter(|w| !matches!(w, Warning::Cast { .. } | Warning::Rounded { .. })))
}

/// Whether an argument names a file of one cloud: no folder, no pattern and no bag.
pub fn is_one_file(arg: &Path) -> bool {
    let is_pattern = || arg.to_str().is_some_and(|text| text.contains(['*', '?', '[']));
    !arg.is_dir() && !is_bag(arg) && (arg.exists() || !is_pattern())
}

/// Whether the arguments may name any number of files, so that `--out` is a folder however many are found.
///
/// A path that does not exist counts as a folder unless it has the name of a cloud.
pub fn may_be_many(args: &[PathBuf]) -> bool {
    match args {
        [] => false,
        [arg] if is_one_file(arg) => !is_stdin(arg) && !arg.exists() && Format::from_name(arg).is_none(),
        _ => true,
    }
}

/// Reads a file or the standard input, for which [`require_format`] has checked the format.
pub fn read_cloud(input: &Path, options: &ReadOptions) -> Result<Scan, IoError> {
    if is_stdin(input) { read_stdin(options) } else { read(input, options) }
}

fn read_stdin(options: &ReadOptions) -> Result<Scan, IoError> {
    read_from(std::io::stdin().lock(), STDIN, options)
}

/// Checks that `--format` is given, since the standard input has no name that tells its format.
pub fn require_format(options: &ReadOptions) -> Result<(), Failure> {
    match options.format {
        Some(_) => Ok(()),
        None => Err(Failure::Usage("-: needs --format, because the standard input has no file name".into())),
    }
}

/// A copy of the error.
pub fn again(e: &IoError) -> IoError {
    match e {
        IoError::Io { path, action, source } => IoError::io(path, action)(source.kind().into()),
        IoError::MissingField(detail) => IoError::MissingField(detail.clone()),
        IoError::UnsupportedFormat(detail) => IoError::UnsupportedFormat(detail.clone()),
        IoError::InvalidArgument(detail) => IoError::InvalidArgument(detail.clone()),
        other => IoError::io(other.path(), "find")(std::io::Error::other(other.to_string())),
    }
}

impl BagCloud {
    /// The name to show.
    pub fn name(&self) -> PathBuf {
        self.bag.cloud_name(self.number)
    }
}

impl Source {
    /// The standard input or a file.
    pub fn named(path: &Path) -> Self {
        if is_stdin(path) { Self::Stdin } else { Self::File(path.into()) }
    }

    /// The name to show.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => shown(path),
            Self::Stdin => STDIN.into(),
            Self::Cloud(cloud) => shown(&cloud.name()),
            Self::Sweep(i) => format!("sweep_{i:03}"),
            Self::Street => SYNTHETIC.into(),
            Self::Nothing(e) => shown(e.path()),
        }
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        if let Self::File(path) = self { Some(path) } else { None }
    }

    /// The nanoseconds of its stamp, as far as its name tells.
    pub fn stamp_ns(&self) -> Option<i64> {
        log_stamp_ns(self.path()?)?.try_into().ok()
    }

    /// The format of a cloud that was read, or `synthetic`.
    pub const fn format(&self, scan: &Scan) -> &'static str {
        if matches!(self, Self::Sweep(_)) { SYNTHETIC } else { scan.format.as_str() }
    }

    /// The name without folder and extension, for the output file; `None` for an input that has none.
    pub fn stem(&self) -> Option<OsString> {
        match self {
            Self::File(path) => Some(stem(path)),
            Self::Stdin => Some("stdin".into()),
            Self::Cloud(cloud) => {
                let mut name = stem(cloud.bag.path());
                name.push(format!("_{:06}", cloud.number));
                Some(name)
            }
            Self::Sweep(_) | Self::Street => Some(self.name().into()),
            Self::Nothing(_) => None,
        }
    }
}

/// A file's name without the extension of its format, or without its last one; byte for byte, so that names that are not UTF-8 differ too.
pub fn stem(path: &Path) -> OsString {
    let name = path.file_name().unwrap_or_default();
    let nuscenes = Format::from_name(path) == Some(Format::Nuscenes);
    let dots = if nuscenes { 2 } else { 1 };
    let mut stem = Path::new(name);
    for _ in 0..dots {
        match stem.file_stem() {
            Some(shorter) if shorter != stem => stem = Path::new(shorter),
            _ => return name.to_owned(),
        }
    }
    stem.as_os_str().to_owned()
}

#[cfg(test)]
#[path = "../tests/unit/inputs.rs"]
mod tests;
