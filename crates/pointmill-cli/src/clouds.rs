//! Clouds in, clouds out: flags and files of `convert`, `crop`, `downsample` and `merge`.

use crate::batch::prelude::*;
use crate::changes::{ChangeArgs, Changes};
use crate::flags::{FrameArgs, ReadArgs};
use crate::outputs::{has_extension, is_folder};
use crate::see::{See, SeeArgs};
use clap::Args;
use clap::builder::PossibleValuesParser;
use pointmill::{Error, Points};
use pointmill_io::{
    Detail, Format, IoError, Joined, NamedPoints, Scan, Survey, Warning, WriteOptions, escape, prj_of, write,
};
use serde::Serialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Which clouds are read, and where each is written.
#[derive(Debug, Args)]
pub(crate) struct CloudArgs {
    /// Files, folders, patterns in quotes such as 'sweeps/*.bin', or - for the standard input,
    /// which needs --format
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// File to write; its extension decides the format: .npy (f32 [N, C]), .npz (one array
    /// `points`), .ply and .pcd (binary), .las and .laz (1.4), .bin (raw f32 rows of x, y, z,
    /// intensity), .feather, .arrow, .csv and .xyz. With --to: a folder, in which each input NAME.*
    /// gets one file NAME.FORMAT
    #[arg(long, value_name = "OUT.npy|.npz|.ply|.pcd|.las|...|DIR")]
    pub(crate) out: PathBuf,
    /// Format of the files to write into the folder --out; needed for several inputs
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(extensions()))]
    to: Option<String>,
    #[command(flatten)]
    pub(crate) see: SeeArgs,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    changes: ChangeArgs,
    #[command(flatten)]
    frames: FrameArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// Which columns are written.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ColumnArgs {
    /// Write all columns to .bin files, which have no names of columns, and not only x, y, z,
    /// intensity, which every command reads by default. A name ending in .pcd.bin has all columns
    /// always
    #[arg(long)]
    all_columns: bool,
}

/// What is decided before the work.
pub(crate) struct Plan {
    pub(crate) sources: Vec<Source>,
    pub(crate) clouds: Clouds,
    pub(crate) resume_log: Option<ResumeLog>,
}

/// How clouds are read and written.
pub(crate) struct Clouds {
    pub(crate) inputs: Inputs,
    pub(crate) to: Format,
    /// The extension of the files, which for LAS says whether they are compressed.
    pub(crate) extension: String,
    outputs: Outputs,
    all_columns: bool,
    pub(crate) changes: Changes,
    /// The picture.
    pub(crate) see: Option<See>,
}

/// A cloud that was written.
pub(crate) struct Written {
    /// The names of the columns, in order.
    pub(crate) columns: Vec<String>,
    /// The names of columns that are not written.
    pub(crate) left_out: Vec<String>,
    /// What the file loses.
    pub(crate) warnings: Vec<Warning>,
    /// The milliseconds that it took.
    pub(crate) ms: f64,
    /// The file.
    pub(crate) out: String,
}

/// The columns of all files, for the last lines.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// Their number, or 0 where files differ in it.
    number: Option<usize>,
    /// The names of columns that are not written.
    left_out: Vec<String>,
}

/// `begin` of `convert`, `crop` and `merge`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The extension of what is written.
    to: String,
}

/// `summary` of `crop` and `downsample`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Kept {
    /// Points of all inputs that were done.
    points: usize,
    /// Points of all results.
    points_kept: usize,
    #[serde(skip)]
    columns: Columns,
}

impl Kept {
    /// Adds the points of an input and of its result, with the columns of its file.
    pub(crate) fn add(&mut self, [points, kept]: [usize; 2], written: &[String], left_out: Vec<String>) {
        self.points += points;
        self.points_kept += kept;
        self.columns.add(written, left_out);
    }

    /// The last lines of a run over so many inputs; `how` follows the first.
    pub(crate) fn lines(&self, inputs: usize, how: &str, clouds: &Clouds) -> Vec<String> {
        let (points, kept) = (grouped(self.points), grouped(self.points_kept));
        let line = format!("{}, {kept} of {points} points kept{how}", counted(inputs, "input"));
        std::iter::once(line).chain(self.columns.lines(clouds)).collect()
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let name = escape(&path.to_string_lossy());
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "._-/+,:@%".contains(c));
    if is_plain { name } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

/// At most three of some inputs.
fn few(inputs: &[String]) -> String {
    let (shown, more) = inputs.split_at(inputs.len().min(3));
    format!("{}{}", shown.join(" "), if more.is_empty() { "" } else { " ..." })
}

/// The extensions of the formats that are written.
fn extensions() -> Vec<&'static str> {
    let of = |format: Format| [Some(format.as_str()), (format == Format::Las).then_some("laz")];
    Format::written().flat_map(of).flatten().collect()
}

impl CloudArgs {
    /// Finds the inputs and the file of each. `decides` is what a result depends on beside its
    /// input.
    pub(crate) fn plan(&self, decides: &str, resume: bool) -> Result<Plan, Failure> {
        let out = self.out.as_path();
        let alone = match (&self.inputs[..], &self.to) {
            ([input], None) if is_one_file(input) && !is_folder(out) => Some(input.as_path()),
            (_, Some(_)) => None,
            (_, None) => {
                let formats = extensions().join(", ");
                let mut message = format!(
                    "for several inputs or to write into a folder, add --to with one of {formats}, and give a folder"
                );
                if extensions().iter().any(|extension| has_extension(out, extension)) && !is_folder(out) {
                    let inputs = self.inputs.iter().chain([&self.out]).map(|path| quoted(path)).collect::<Vec<_>>();
                    let (out, inputs) = inputs.split_last().expect("the output is one");
                    message =
                        format!("one file of several inputs: pointmill merge {} --out {out}; {message}", few(inputs));
                }
                return Err(Failure::Usage(format!("--out {}: {message}", out.display())));
            }
        };
        let (sources, inputs) = Inputs::find_frames(&self.inputs, self.read.options()?, &self.frames.frames())?;
        let (to, outputs) = match (alone, self.to.as_deref()) {
            (Some(_), _) if resume => {
                return Err(Failure::Usage("--resume: needs --out with a folder, got a file".into()));
            }
            (Some(input), _) => {
                let inputs = if is_stdin(input) { &[] } else { std::slice::from_ref(&input) };
                (plan_file("--out", out, &extensions(), inputs)?, Outputs::one(Some(out)))
            }
            (None, to) => {
                let to = to.expect("a folder has --to");
                (to, Outputs::folder("--out", out, to, &sources)?)
            }
        };
        let see = Some(self.see.plan(&sources)?);
        let changes = self.changes.changes()?;
        let decide = changes.decide();
        let clouds = Clouds { see, ..Clouds::new(inputs, to, outputs, (out, self.columns), changes)? };
        clouds.spare_prj(sources.len(), &sources)?;
        let decides = format!("{decides} {to} {} {decide} {:?}", self.columns.all_columns, clouds.inputs.options());
        let resume_log = ResumeLog::of(&[&clouds.outputs], &decides, resume)?;
        Ok(Plan { sources, clouds, resume_log })
    }
}

impl Clouds {
    fn new(
        inputs: Inputs,
        to: &str,
        outputs: Outputs,
        (out, columns): (&Path, ColumnArgs),
        changes: Changes,
    ) -> Result<Self, Failure> {
        if columns.all_columns && to != "bin" {
            let message = "--all-columns: can be used with .bin only; other formats have all columns";
            return Err(Failure::Usage(message.into()));
        }
        let extension = to.to_owned();
        let to = Format::for_writing(Path::new("a").with_extension(to)).expect("a format that is written");
        if !to.keeps_f64() {
            tell_origin(&inputs);
        }
        let all_columns = columns.all_columns || Format::from_name(out) == Some(Format::Nuscenes);
        Ok(Self { inputs, to, extension, outputs, all_columns, changes, see: None })
    }

    pub(crate) fn begin(&self) -> Begin {
        Begin { to: self.extension.clone() }
    }

    /// One file of all inputs. Its name ends in a format that is written.
    pub(crate) fn of_one(
        inputs: Inputs,
        sources: &[Source],
        out: &Path,
        columns: ColumnArgs,
        changes: Changes,
    ) -> Result<Self, Failure> {
        let files: Vec<_> = sources.iter().filter_map(Source::path).collect();
        let to = plan_file("--out", out, &extensions(), &files)?;
        let clouds = Self::new(inputs, to, Outputs::one(Some(out)), (out, columns), changes)?;
        clouds.spare_prj(1, sources).map(|()| clouds)
    }

    /// A folder of tiles of all inputs.
    pub(crate) fn of_tiles(inputs: Inputs, columns: ColumnArgs, changes: Changes) -> Result<Self, Failure> {
        Self::new(inputs, "pcd", Outputs::one(None), (Path::new("tile.pcd"), columns), changes)
    }

    /// Reads an input, with the changes that were asked for, and the milliseconds that it took.
    pub(crate) fn read(&self, source: &Source) -> Result<(Scan, f64), IoError> {
        let (scan, ms) = self.inputs.read(source)?;
        Ok((self.changes.apply(scan, &source.name(), self.to)?, ms))
    }

    /// Writes one file of all inputs, part by part where the format can be.
    pub(crate) fn write_joined(&self, joined: &Joined) -> Result<Written, InputError> {
        if !Joined::is_in_parts(self.to) {
            let all = joined.scan()?;
            return self.write(0, &all, &all);
        }
        interrupt::check()?;
        let to = self.outputs.place(0).expect("one file of all inputs");
        let ((), ms) = timed(|| undivided(|| joined.write(to, self.to))).map_err(at_fault)?;
        self.tell_prj(to.path, joined.survey());
        let columns = joined.fields().iter().map(|field| field.name.clone()).collect();
        Ok(Written { columns, left_out: vec![], warnings: vec![], ms, out: shown(to.path) })
    }

    /// Warns of a `.prj` that readers take for the system of a file that has none.
    fn tell_prj(&self, path: &Path, survey: Option<&Survey>) {
        let Some(prj) = prj_of(path, self.to).filter(|prj| survey.and_then(Survey::wkt).is_none() && prj.exists())
        else {
            return;
        };
        let (prj, path) = (shown(&prj), shown(path));
        stderr::warning(format_args!(
            "{prj} was there before and is not of {path}, but readers take it for its system"
        ));
    }

    /// Refuses `--crs` where it would replace the `.prj` of an input.
    fn spare_prj(&self, files: usize, sources: &[Source]) -> Result<(), Failure> {
        let of = |path: &Path| prj_of(path, self.to).and_then(|prj| prj.canonicalize().ok());
        let read: HashSet<_> = sources.iter().filter_map(Source::path).map(|path| path.with_extension("prj")).collect();
        let read: HashSet<_> = read.iter().flat_map(|prj| prj.canonicalize()).collect();
        let written = (0..files).filter_map(|i| of(self.outputs.place(i)?.path));
        let lost = if self.changes.has_crs() { written.into_iter().find(|prj| read.contains(prj)) } else { None };
        lost.map_or(Ok(()), |prj| {
            let prj = shown(&prj);
            Err(Failure::Usage(format!("--crs: {prj} is also that of an input; choose another name for --out")))
        })
    }

    /// Writes what was made of the scan of input `index` to its file.
    pub(crate) fn write(&self, index: usize, cloud: &Scan, read: &Scan) -> Result<Written, InputError> {
        interrupt::check()?;
        let to = self.outputs.place(index).expect("an input that is read has an output");
        let options = WriteOptions { format: Some(self.to) };
        let mut warnings = read.warnings_in(self.to);
        let mut columns: Vec<_> = cloud.fields.iter().map(|f| f.name.clone()).collect();
        let (left_out, rows);
        let mut points = NamedPoints::from(cloud);
        if self.to == Format::Bin && !self.all_columns {
            (rows, left_out) = kitti(cloud)?;
            points = Points::new(&rows, KITTI.len()).map_err(Error::from)?.into();
            columns = KITTI.map(String::from).to_vec();
            // What is not written loses nothing.
            warnings.retain(
                |w| !matches!(w, Warning::Cast { columns, .. } if columns.iter().all(|c| left_out.contains(c))),
            );
        } else {
            left_out = vec![];
        }
        let ((), ms) = timed(|| undivided(|| write(to, points, &options))).map_err(at_fault)?;
        self.tell_prj(to.path, cloud.survey());
        self.see.as_ref().map_or(Ok(()), |see| see.draw(&shown(to.path), cloud))?;
        Ok(Written { columns, left_out, warnings, ms, out: shown(to.path) })
    }
}

/// Of a file that is not written the cloud is at fault, not the arguments.
fn at_fault(e: IoError) -> InputError {
    match e {
        IoError::InvalidArgument(at) => {
            let name = at.field.strip_prefix('`').and_then(|field| field.split_once('`')).map_or("", |(name, _)| name);
            let flag = format!("with --scale-column {name}=FACTOR");
            let wanted =
                at.wanted.replace("scale or round the column first", &format!("scale or round the column {flag}"));
            InputError::from(IoError::InvalidArgument(Box::new(Detail { wanted, ..*at })))
        }
        e => Failure::from(e).into(),
    }
}

/// The columns of `.bin` files.
const KITTI: [&str; 4] = ["x", "y", "z", "intensity"];

/// The rows of a `.bin` file, and the names of the columns that it does not have. The intensity is
/// the column of its name, else the fourth if that has no name of its own, else zero.
fn kitti(scan: &Scan) -> Result<(Vec<f32>, Vec<String>), Failure> {
    let width = scan.cloud.columns();
    let unnamed = |name: &str| matches!(name, "column3" | "c3");
    let fourth = || (width == 4 || scan.fields.get(3).is_some_and(|field| unnamed(&field.name))).then_some(3);
    let intensity = scan.intensity().filter(|&j| j >= 3).or_else(fourth);
    let row = |row: &[f32]| [row[0], row[1], row[2], intensity.map_or(0.0, |j| row[j])];
    let left_out = (3..width).filter(|j| Some(*j) != intensity).map(|j| scan.fields[j].name.clone());
    let (mut rows, bytes) = (Vec::new(), 16 * scan.cloud.len());
    let refused = |_| Failure::OutOfMemory(format!("{bytes} bytes for the rows of a .bin file were refused"));
    rows.try_reserve_exact(4 * scan.cloud.len()).map_err(refused)?;
    rows.extend(scan.cloud.data().chunks_exact(width).flat_map(row));
    Ok((rows, left_out.collect()))
}

impl Columns {
    /// Adds those of a file.
    pub(crate) fn add(&mut self, written: &[String], left_out: Vec<String>) {
        for name in left_out {
            if !self.left_out.contains(&name) {
                self.left_out.push(name);
            }
        }
        // Files may differ in their columns; then no one number reads all.
        let n = written.len();
        self.number = Some(if self.number.is_none_or(|number| number == n) { n } else { 0 });
    }

    /// How the files are read back, and what they lack.
    pub(crate) fn lines(&self, clouds: &Clouds) -> Vec<String> {
        let mut lines = Vec::new();
        if let (Format::Bin, true, Some(columns @ 1..)) = (clouds.to, clouds.all_columns, self.number) {
            lines.push(format!("read with --format bin --columns {columns}"));
        }
        if !self.left_out.is_empty() {
            let names = escape(&self.left_out.join(", "));
            lines.push(format!("left out: {names}; --all-columns keeps them"));
        }
        if let (Some(_), Some(path)) = (self.number, clouds.see.as_ref().and_then(See::path)) {
            lines.extend(written("picture", Some(&shown(path))));
        }
        lines
    }
}
