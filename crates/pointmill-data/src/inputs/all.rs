//! All inputs of a run, about one origin.

use super::ahead::Ahead;
use super::arguments::{
    cloud_of_bag, clouds, clouds_of_file, files, is_bag, is_stdin, read_stdin, require_format, stdin_twice,
};
use super::frames::Frames;
use super::in_time;
use super::source::{BagCloud, Opened, Source, Stamped};
use crate::poses::is_deskewed;
use crate::{DataError, Observer};
use pointmill::{Error, Rows};
use pointmill_io::bag::Bag;
use pointmill_io::{Dataset, Format, IoError, LocalOrigin, ReadOptions, Scan, read, read_from};
use pointmill_synth::{Drive, DriveParams};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use web_time::Instant;

/// How inputs are read.
#[derive(Debug)]
pub struct Inputs {
    options: ReadOptions,
    drive: Option<Drive>,
    /// Whether the user gave the origin, so that places that flags give are relative to it.
    is_given: bool,
    /// Inputs that were read before their turn, such as the one that the origin was found in.
    pub(super) ahead: Ahead,
}

/// An input that was read for a map.
#[derive(Debug)]
pub struct ReadInput {
    /// The points, where they are in the map.
    pub scan: Scan,
    /// Points at (0, 0, 0) that were left out.
    pub zeros: usize,
    /// The nanoseconds of its stamp, if it is a cloud of a bag or a sweep of Argoverse 2.
    pub stamp_ns: Option<i64>,
    /// Milliseconds that it took to read it.
    pub ms: f64,
}

impl Inputs {
    /// Finds the inputs that the arguments name, each cloud of a bag as one; without an argument
    /// these are the sweeps of the built-in drive. An argument that can be no input is an error; an
    /// input that cannot be read fails in its turn.
    pub fn find(args: &[PathBuf], options: ReadOptions) -> Result<(Vec<Source>, Self), DataError> {
        Self::find_frames(args, options, &Frames::default())
    }

    /// The same with some of the inputs. The origin is that of the first of these.
    pub fn find_frames(
        args: &[PathBuf],
        options: ReadOptions,
        frames: &Frames,
    ) -> Result<(Vec<Source>, Self), DataError> {
        if args.iter().any(|arg| is_stdin(arg)) {
            require_format(&options)?;
        }
        let (groups, inputs) = Self::find_groups(args, options, &|_| false)?;
        inputs.clouds_of(groups.into_iter().flatten().collect(), frames)
    }

    /// The same of the sweeps of a drive: those of a folder or a pattern in the order of the times of
    /// their points, where these count from a moment that all share, such as 1970. The observer hears
    /// where names say otherwise. Files that arguments name stay in the order of the arguments.
    pub fn find_drive(
        args: &[PathBuf],
        options: ReadOptions,
        frames: &Frames,
        observer: &dyn Observer,
    ) -> Result<(Vec<Source>, Self), DataError> {
        if args.iter().any(|arg| is_stdin(arg)) {
            require_format(&options)?;
        }
        let (mut groups, inputs) = Self::find_groups(args, options, &|_| false)?;
        in_time::settle(args, &mut groups, &inputs.options, observer)?;
        inputs.clouds_of(groups.into_iter().flatten().collect(), frames)
    }

    /// Each cloud of files as an input, those that are asked for, about one origin.
    fn clouds_of(self, files: Vec<Source>, frames: &Frames) -> Result<(Vec<Source>, Self), DataError> {
        let inputs = self;
        let mut sources = Vec::new();
        let only = files.len() == 1;
        for source in files {
            match source {
                Source::File(path) => match clouds_of_file(path, &inputs.options) {
                    Ok(found) => sources.extend(found),
                    Err(e) if only => return Err(e.into()),
                    Err(e) => sources.push(Source::Nothing(e)),
                },
                other => sources.push(other),
            }
        }
        let mut sources = frames.of(sources)?;
        tell_once(&mut sources);
        let inputs = inputs.settle_origin(&sources);
        Ok((sources, inputs))
    }

    /// All inputs, with a bag as one, and each folder that `is_one`. The first bytes of the standard
    /// input tell its format.
    pub fn find_files(
        args: &[PathBuf],
        options: ReadOptions,
        is_one: &dyn Fn(&Path) -> bool,
    ) -> Result<(Vec<Source>, Self), DataError> {
        let (groups, inputs) = Self::find_groups(args, options, is_one)?;
        Ok((groups.into_iter().flatten().collect(), inputs))
    }

    /// The inputs of each argument; without one those of the built-in drive.
    fn find_groups(
        args: &[PathBuf],
        options: ReadOptions,
        is_one: &dyn Fn(&Path) -> bool,
    ) -> Result<(Vec<Vec<Source>>, Self), DataError> {
        let mut groups: Vec<Vec<Source>> = Vec::new();
        for arg in args {
            if let Some(cloud) = cloud_of_bag(arg, &options) {
                let cloud = cloud.or_else(|e| if args.len() == 1 { Err(e) } else { Ok(Source::Nothing(e)) })?;
                groups.push(vec![cloud]);
            } else if is_one(arg) {
                groups.push(vec![Source::File(arg.clone())]);
            } else if !is_stdin(arg) {
                groups.push(files(arg)?);
            } else if groups.iter().flatten().any(|s| matches!(s, Source::Stdin)) {
                return Err(stdin_twice());
            } else {
                groups.push(vec![Source::Stdin]);
            }
        }
        let drive = args.is_empty().then(|| Drive::new(DriveParams::default()));
        groups.extend(drive.iter().map(|drive| (0..drive.len()).map(Source::Sweep).collect()));
        Ok((groups, Self { options, drive, is_given: false, ahead: Ahead::default() }))
    }

    /// The sweeps of a synthetic drive.
    pub fn of_drive(drive: Drive) -> (Vec<Source>, Self) {
        let sources: Vec<_> = (0..drive.len()).map(Source::Sweep).collect();
        let options = ReadOptions::default();
        let inputs = Self { options, drive: Some(drive), is_given: false, ahead: Ahead::default() };
        let inputs = inputs.settle_origin(&sources);
        (sources, inputs)
    }

    /// The clouds in the bytes of a file, of a bag each, without the origin of a run: [`Inputs::of`]
    /// finds it.
    ///
    /// # Errors
    /// A bag of which no topic is meant, or one of several.
    pub fn held(name: PathBuf, bytes: Vec<u8>, options: &ReadOptions) -> Result<Vec<Source>, IoError> {
        let bytes: Arc<[u8]> = bytes.into();
        let bag = is_bag(&name).then(|| Bag::new(Cursor::new(bytes.clone()), &name, &options.limits).ok()).flatten();
        clouds(Source::Held(name, bytes), bag, options)
    }

    /// Inputs that are known: only their origin is found.
    pub fn of(sources: &[Source], options: ReadOptions) -> Self {
        Self { options, drive: None, is_given: false, ahead: Ahead::default() }.settle_origin(sources)
    }

    /// The same inputs about another origin: of `auto` the one of the first of `sources` that can
    /// be read.
    #[must_use]
    pub fn about<'a>(mut self, origin: LocalOrigin, sources: impl IntoIterator<Item = &'a Source>) -> Self {
        self.options.origin = origin;
        self.settle_origin(sources)
    }

    /// Fixes the origin of all inputs: of `auto` the one of the first input that can be read.
    fn settle_origin<'a>(mut self, sources: impl IntoIterator<Item = &'a Source>) -> Self {
        self.is_given = matches!(self.options.origin, LocalOrigin::At(_));
        if self.options.origin == LocalOrigin::Auto {
            self.options.origin = self.first_origin(sources).unwrap_or(LocalOrigin::None);
        }
        self
    }

    /// The origin that the first of inputs that can be read is read about; `None` if none can be
    /// read.
    pub fn origin_of(sources: &[Source], options: ReadOptions) -> Option<LocalOrigin> {
        Self { options, drive: None, is_given: false, ahead: Ahead::default() }.first_origin(sources)
    }

    fn first_origin<'a>(&self, sources: impl IntoIterator<Item = &'a Source>) -> Option<LocalOrigin> {
        for source in sources {
            if !self.may_be_far(source) {
                return Some(LocalOrigin::None);
            }
            let read = self.open_timed(source);
            let found = read.as_ref().ok().map(|((scan, _), _)| scan.cloud.origin());
            // A file that cannot be read fails again in its turn; a stream is read once.
            if found.is_some() || matches!(source, Source::Stdin) {
                self.ahead.keep(source.name(), read);
            }
            match found {
                Some([0.0, 0.0, 0.0]) => return Some(LocalOrigin::None),
                Some(origin) => return Some(LocalOrigin::At(origin)),
                None => {}
            }
        }
        None
    }

    /// Notes the origin of inputs, in a run whose results are relative to it.
    pub fn note_origin(&self, observer: &dyn Observer) {
        if let LocalOrigin::At(origin) = self.options.origin {
            let [x, y, z] = origin.map(tidy);
            observer.note(&format!("large coordinates: results are relative to {x}, {y}, {z} (--local-origin)"));
        }
    }

    /// Whether coordinates of an input can move when they become `f32`: not those of raw rows,
    /// which have that type.
    fn may_be_far(&self, source: &Source) -> bool {
        let raw = |format| matches!(format, Format::Kitti | Format::Nuscenes | Format::Bin);
        match source {
            Source::File(path) | Source::Held(path, _) => {
                !self.options.format.or_else(|| Format::from_name(path)).is_some_and(raw)
            }
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

    /// Reads the input, or makes the sweep in the frame of its sensor. Returns the milliseconds
    /// that it took, too.
    pub fn read(&self, source: &Source) -> Result<(Scan, f64), IoError> {
        self.read_stamped(source).map(|((scan, _), ms)| (scan, ms))
    }

    /// The same with the stamp.
    pub fn read_stamped(&self, source: &Source) -> Opened {
        self.ahead.take(&source.name()).unwrap_or_else(|| self.open_timed(source))
    }

    /// Does `work`, which reads the inputs one after the other, while so many threads read the next
    /// ones. Inputs that were read and not yet used are at most as many.
    ///
    /// Results and errors are those of reading each input in its turn. With one thread, or where
    /// one input is the standard input, each is read in its turn.
    pub fn reading_ahead<R>(&self, sources: &[Source], threads: usize, work: impl FnOnce() -> R) -> R {
        self.ahead.during(sources, threads, |source| self.open_timed(source), work)
    }

    /// Reads the input now.
    fn open_timed(&self, source: &Source) -> Opened {
        timed(|| self.open(source))
    }

    fn open(&self, source: &Source) -> Result<Stamped, IoError> {
        let origin = self.options.origin;
        let scan = match source {
            Source::File(path) => return Ok((read(path, &self.options)?, source.stamp_ns())),
            Source::Held(path, bytes) => {
                return Ok((read_from(&bytes[..], &path.to_string_lossy(), &self.options)?, source.stamp_ns()));
            }
            Source::Stdin => read_stdin(&self.options)?,
            Source::Cloud(BagCloud { bag, sweeps, number, is_told }) => {
                let mut cloud = bag.sweep(sweeps, *number)?;
                cloud.scan.warnings.extend(sweeps.told().filter(|_| *is_told).cloned());
                let angle = self.options.dataset.and_then(Dataset::vertical_angle);
                let scan = if let Some(angle) = angle { cloud.scan.raised(angle) } else { cloud.scan };
                let scan = if let Some(area) = self.options.area { scan.within(area) } else { scan };
                return Ok((scan.about(origin), Some(cloud.stamp_ns)));
            }
            Source::Nothing(e) => return Err(e.again()),
            Source::Sweep(i) => Scan::from(self.drive().sweep(*i)).about(origin),
            Source::Street => unreachable!("the street is no cloud"),
        };
        Ok((scan, None))
    }

    /// Reads the input for a map, and returns how many zeros it dropped if it is to drop them. A
    /// sweep of the drive is moved to the frame of its world, in `f64`.
    pub fn read_for_map(&self, source: &Source, drop_zeros: bool) -> Result<ReadInput, IoError> {
        self.read_at(source, drop_zeros, None::<fn(&Scan, Option<f64>) -> Result<Vec<f64>, IoError>>)
    }

    /// The same with the coordinates that `moved` returns for the input and its stamp, if there is
    /// such a function.
    pub fn read_at(
        &self,
        source: &Source,
        drop_zeros: bool,
        moved: Option<impl FnOnce(&Scan, Option<f64>) -> Result<Vec<f64>, IoError>>,
    ) -> Result<ReadInput, IoError> {
        let ((mut scan, stamp_ns), ms) = self.read_stamped(source)?;
        if let (Source::Sweep(i), None) = (source, &moved) {
            let [x, y, z, _] = self.drive().world_from_sensor(*i);
            let along = |row: [f64; 4], p: [f64; 3]| row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3];
            scan.xyz_f64 = Some(scan.iter_xyz().flat_map(|p| [x, y, z].map(|row| along(row, p))).collect());
        }
        let (mut scan, zeros) = if drop_zeros { scan.without_zeros() } else { (scan, 0) };
        if let Some(moved) = moved {
            scan.xyz_f64 = Some(moved(&scan, stamp_ns.map(|ns| ns as f64 / 1e9))?);
        }
        Ok(ReadInput { scan, zeros, stamp_ns, ms })
    }

    /// Whether an input was published without the motion of the sensor within it.
    pub fn is_deskewed(&self, source: &Source) -> bool {
        is_deskewed(source.path().unwrap_or(Path::new("")), self.options.dataset)
    }

    fn drive(&self) -> &Drive {
        self.drive.as_ref().expect("sweeps come with the drive")
    }
}

/// Lets the first sweep of each bag tell how its topics were joined.
fn tell_once(sources: &mut [Source]) {
    let mut told: Option<Arc<Bag>> = None;
    for source in sources {
        let Source::Cloud(cloud) = source else { continue };
        cloud.is_told = told.as_ref().is_none_or(|bag| !Arc::ptr_eq(bag, &cloud.bag));
        told = Some(cloud.bag.clone());
    }
}

/// The points of a cloud about its origin, with every bit of its file.
pub fn rows(scan: &Scan) -> Result<Rows<'_>, Error> {
    match (&scan.xyz_f64, scan.cloud.origin()) {
        (None, _) => Ok(Rows::from(&scan.cloud)),
        (Some(xyz), [0.0, 0.0, 0.0]) => Rows::f64(xyz, 3),
        (Some(xyz), origin) => Rows::f64(xyz, 3)?.about(origin),
    }
}

/// A number for people: of 15 digits, which every `f64` has, so without the noise of arithmetic in
/// the last ones.
///
/// ```
/// use pointmill_data::inputs::tidy;
/// assert_eq!((tidy(848_935.200_000_000_1), tidy(0.1 + 0.2), tidy(-1e300)), (848_935.2, 0.3, -1e300));
/// ```
pub fn tidy(v: f64) -> f64 {
    format!("{v:.14e}").parse().unwrap_or(v)
}

/// A step and the milliseconds that it took.
fn timed<T>(step: impl FnOnce() -> Result<T, IoError>) -> Result<(T, f64), IoError> {
    let start = Instant::now();
    step().map(|done| (done, start.elapsed().as_secs_f64() * 1e3))
}
