//! Inputs: files, the standard input, or the sweeps of the built-in drive.

use crate::failure::Failure;
use pointmill::PointCloud;
use pointmill_io::mcap::Bag;
use pointmill_io::{Format, IoError, ReadOptions, Scan, Warning, find_inputs, read, read_from};
use pointmill_synth::{Drive, DriveParams};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the standard input.
pub(crate) const STDIN: &str = "-";
/// The format of what is built in.
pub(crate) const SYNTHETIC: &str = "synthetic";

/// All inputs, in order.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) sources: Vec<Source>,
    options: ReadOptions,
    drive: Option<Drive>,
}

/// One input.
#[derive(Debug)]
pub(crate) enum Source {
    File(PathBuf),
    Stdin,
    Cloud(BagCloud),
    /// A sweep of the built-in drive.
    Sweep(usize),
    /// The built-in street.
    Street,
    /// An input that fails in its turn: a folder without a cloud, a pattern without a match, or something in a folder that is no regular file.
    Nothing(IoError),
}

/// A cloud of a bag.
#[derive(Clone, Debug)]
pub(crate) struct BagCloud {
    pub(crate) bag: Arc<Bag>,
    /// The place of its topic.
    topic: usize,
    /// Its number in the topic.
    number: usize,
}

/// A cloud, and where it comes from.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) cloud: PointCloud,
    /// A format's name, or `synthetic`.
    pub(crate) format: String,
    pub(crate) warnings: Vec<String>,
}

/// A cloud with every bit of its coordinates.
#[derive(Debug)]
pub(crate) struct Exact {
    pub(crate) cloud: PointCloud,
    /// x, y, z of every point, where the cloud has lost some of it.
    pub(crate) xyz_f64: Option<Vec<f64>>,
    /// A format's name, or `synthetic`.
    pub(crate) format: String,
    /// What is unusual about the input. A cast is not, since nothing is lost.
    pub(crate) warnings: Vec<String>,
}

impl From<Scan> for Exact {
    fn from(scan: Scan) -> Self {
        let odd = scan.warnings.iter().filter(|w| !matches!(w, Warning::Cast { .. } | Warning::Rounded { .. }));
        let warnings = odd.map(ToString::to_string).collect();
        Self { cloud: scan.cloud, xyz_f64: scan.xyz_f64, format: scan.format.to_string(), warnings }
    }
}

impl Inputs {
    /// Finds the inputs that the arguments name. An argument that can be no input is an error; an input that cannot be read fails in its turn.
    pub(crate) fn find(args: &[String], options: ReadOptions) -> Result<Self, Failure> {
        let mut inputs = Self::find_files(args, options)?;
        let mut sources = Vec::new();
        for source in inputs.sources {
            match source {
                Source::File(path) => sources.extend(clouds(path, &inputs.options)?),
                other => sources.push(other),
            }
        }
        inputs.sources = sources;
        Ok(inputs)
    }

    /// The same with a bag as one input.
    pub(crate) fn find_files(args: &[String], options: ReadOptions) -> Result<Self, Failure> {
        let mut sources = Vec::new();
        for arg in args {
            if arg == STDIN {
                if sources.iter().any(|s| matches!(s, Source::Stdin)) {
                    return Err(Failure::Usage("-: expected once, found twice".into()));
                }
                require_format(&options)?;
                sources.push(Source::Stdin);
                continue;
            }
            match find_inputs(std::slice::from_ref(arg)) {
                Ok(found) => sources.extend(found.into_iter().map(|f| f.map_or_else(Source::Nothing, Source::File))),
                Err(e @ IoError::InvalidArgument(_)) => return Err(e.into()),
                Err(e) => sources.push(Source::Nothing(e)),
            }
        }
        let drive = args.is_empty().then(|| Drive::new(DriveParams::default()));
        if let Some(drive) = &drive {
            sources.extend((0..drive.len()).map(Source::Sweep));
        }
        Ok(Self { sources, options, drive })
    }

    /// Reads the input, or makes the sweep.
    pub(crate) fn load(&self, source: &Source) -> Result<Loaded, IoError> {
        let scan = match source {
            Source::Sweep(i) => {
                return Ok(Loaded { cloud: self.drive().sweep(*i), format: SYNTHETIC.into(), warnings: vec![] });
            }
            other => self.scan(other)?,
        };
        let warnings = scan.warnings.iter().map(ToString::to_string).collect();
        Ok(Loaded { cloud: scan.cloud, format: scan.format.to_string(), warnings })
    }

    /// Reads the input for a map, with every bit of its coordinates. A sweep of the drive is moved to the frame of its world.
    pub(crate) fn load_exact(&self, source: &Source) -> Result<Exact, IoError> {
        let Source::Sweep(i) = source else { return Ok(self.scan(source)?.into()) };
        let drive = self.drive();
        let (cloud, [x, y, z, _]) = (drive.sweep(*i), drive.world_from_sensor(*i));
        let along = |row: [f64; 4], p: [f64; 3]| row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3];
        let world =
            cloud.points().iter_xyz().map(|p| p.map(f64::from)).flat_map(|p| [x, y, z].map(|row| along(row, p)));
        Ok(Exact { xyz_f64: Some(world.collect()), cloud, format: SYNTHETIC.into(), warnings: vec![] })
    }

    fn drive(&self) -> &Drive {
        self.drive.as_ref().expect("sweeps come with the drive")
    }

    /// Reads what is in a file.
    pub(crate) fn scan(&self, source: &Source) -> Result<Scan, IoError> {
        match source {
            Source::File(path) => read(path, &self.options),
            Source::Stdin => read_stdin(&self.options),
            Source::Cloud(BagCloud { bag, topic, number }) => Ok(bag.cloud(&bag.topics()[*topic], *number)?.scan),
            Source::Nothing(e) => Err(again(e)),
            Source::Sweep(_) | Source::Street => unreachable!("what is built in is not read"),
        }
    }
}

/// The file, or each cloud of a bag. A bag that cannot be opened fails in its turn, one that was cut after its last cloud.
fn clouds(path: PathBuf, options: &ReadOptions) -> Result<Vec<Source>, Failure> {
    if !is_bag(&path) {
        return Ok(vec![Source::File(path)]);
    }
    let Ok(bag) = Bag::open(&path, &options.limits) else { return Ok(vec![Source::File(path)]) };
    if options.topic.is_none() && bag.topics().iter().all(|topic| topic.cloud_encoding().is_none()) {
        return Ok(vec![Source::File(path)]);
    }
    let wanted = bag.cloud_topic(options.topic.as_deref())?;
    let (topic, count) = (bag.topics().iter().position(|topic| topic == wanted), wanted.count as usize);
    let (bag, topic) = (Arc::new(bag), topic.expect("a topic of the bag"));
    let cloud = |number| Source::Cloud(BagCloud { bag: bag.clone(), topic, number });
    let mut sources: Vec<_> = (0..count).map(cloud).collect();
    if bag.cut().is_some() || count == 0 {
        sources.push(Source::File(path));
    }
    Ok(sources)
}

/// Whether a file is a bag, by its name.
pub(crate) fn is_bag(path: &Path) -> bool {
    Format::from_name(path) == Some(Format::Mcap)
}

/// The argument, if there is one and it names a file of one cloud: no folder, no pattern and no bag.
pub(crate) fn one_file(args: &[String]) -> Option<&str> {
    let [arg] = args else { return None };
    let path = Path::new(arg);
    (!path.is_dir() && !is_bag(path) && (path.exists() || !arg.contains(['*', '?', '[']))).then_some(arg)
}

/// Whether the arguments may name any number of files, so that `--out` is a folder however many are found.
///
/// A path that does not exist is taken for a folder unless it has the name of a cloud.
pub(crate) fn may_be_many(args: &[String]) -> bool {
    match one_file(args) {
        Some(STDIN) => false,
        Some(path) => !Path::new(path).exists() && Format::from_name(path).is_none(),
        None => !args.is_empty(),
    }
}

/// Reads a file or the standard input, for which [`require_format`] has checked the format.
pub(crate) fn read_cloud(input: &str, options: &ReadOptions) -> Result<Scan, IoError> {
    if input == STDIN { read_stdin(options) } else { read(input, options) }
}

fn read_stdin(options: &ReadOptions) -> Result<Scan, IoError> {
    read_from(std::io::stdin().lock(), STDIN, options)
}

/// Checks that `--format` is given, since the standard input has no name that tells its format.
pub(crate) fn require_format(options: &ReadOptions) -> Result<(), Failure> {
    match options.format {
        Some(_) => Ok(()),
        None => Err(Failure::Usage("-: expected --format, since the standard input has no name that tells it".into())),
    }
}

/// A copy of the error.
pub(crate) fn again(e: &IoError) -> IoError {
    match e {
        IoError::Io { path, action, source } => IoError::io(path, action)(source.kind().into()),
        IoError::MissingField(detail) => IoError::MissingField(detail.clone()),
        IoError::UnsupportedFormat(detail) => IoError::UnsupportedFormat(detail.clone()),
        other => IoError::io(other.path(), "find")(std::io::Error::other(other.to_string())),
    }
}

impl Source {
    /// The name to show.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => path.to_string_lossy().into_owned(),
            Self::Stdin => STDIN.into(),
            Self::Cloud(cloud) => cloud.bag.cloud_name(cloud.number).to_string_lossy().into_owned(),
            Self::Sweep(i) => format!("sweep_{i:03}"),
            Self::Street => SYNTHETIC.into(),
            Self::Nothing(e) => e.path().to_string_lossy().into_owned(),
        }
    }

    /// The name without folder and extension, for the output file; `None` for an input that has none.
    pub(crate) fn stem(&self) -> Option<OsString> {
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
pub(crate) fn stem(path: &Path) -> OsString {
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
