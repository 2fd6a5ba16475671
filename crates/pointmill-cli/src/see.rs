//! `--visualize` and `--color-by` of commands that read or write clouds: one cloud as it is.

use crate::failure::Failure;
use crate::inputs::Source;
use crate::outputs::{has_extension, plan_file};
use crate::picture::{require_one, save_scene};
use crate::text::{grouped, label};
use crate::units::Units;
use clap::Args;
use pointmill_io::{Dtype, Joined, Place, Scan, Survey, class_name, escape};
use pointmill_view::{CloudColours, class_colour, cloud_scene, require_memory, return_number, shown_points};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What `--color-by` takes beside columns.
const WORDS: [&str; 7] = ["auto", "height", "intensity", "rgb", "class", "return", "time"];
/// The names of columns of colours, of classes and of the numbers of returns.
const RGB: [[&str; 2]; 3] = [["red", "r"], ["green", "g"], ["blue", "b"]];
const PACKED: [&str; 2] = ["rgb", "rgba"];
const CLASS: [&str; 2] = ["classification", "class"];
const RETURN: [&str; 2] = ["return_number", "return"];

/// The picture of a cloud.
#[derive(Clone, Debug, Args)]
pub(crate) struct SeeArgs {
    /// Draw the points of one input, or of `merge` those of all: a picture (.png), one turn around them (.gif), or a page for a
    /// browser (.html). Of more than 1,000,000 points one of each stretch of the file is drawn
    #[arg(long, value_name = "OUT.png|.html|.gif")]
    pub(crate) visualize: Option<PathBuf>,
    /// What colours the picture: auto, height, intensity, rgb, class, return, time, or a column by
    /// its name. auto takes rgb if the points have colours, else class if they have several, else
    /// intensity if it varies, else height
    #[arg(long, value_name = "COLUMN", default_value = "auto", requires = "visualize")]
    color_by: String,
}

/// A picture of one cloud, to be drawn once that is read.
#[derive(Debug)]
pub(crate) struct See {
    path: Option<PathBuf>,
    by: String,
    kept: Mutex<Option<Scan>>,
}

/// What colours the points that are shown.
enum Paint {
    Height,
    Values(String, Vec<f32>),
    Rgb(Vec<[u8; 3]>),
    Kinds(Vec<u8>, fn(u8) -> (String, [u8; 3])),
}

impl SeeArgs {
    /// Checks that there is one input, and the name of the picture, before any work.
    pub(crate) fn plan(&self, sources: &[Source]) -> Result<See, Failure> {
        if sources.len() != 1 {
            require_one("--visualize", self.visualize.as_deref(), "input")?;
        }
        self.plan_joined(sources)
    }

    /// As [`Self::plan`], for a picture of all inputs.
    pub(crate) fn plan_joined(&self, sources: &[Source]) -> Result<See, Failure> {
        if let Some(path) = &self.visualize {
            let inputs: Vec<&Path> = sources.iter().filter_map(Source::path).collect();
            plan_file("--visualize", path, &["png", "html", "gif"], &inputs)?;
        }
        Ok(See { path: self.visualize.clone(), by: self.color_by.clone(), kept: Mutex::new(None) })
    }
}

impl See {
    /// The file of the picture.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Keeps the cloud until it is drawn, if it is.
    pub(crate) fn keep(&self, scan: Scan) {
        if self.path.is_some() {
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(scan);
        }
    }

    /// Draws the cloud that was kept: an input of another kind, such as poses, has none.
    pub(crate) fn draw_kept(&self, name: &str, kind: &str) -> Result<(), Failure> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (&self.path, kept) {
            (Some(_), None) => {
                Err(Failure::Usage(format!("--visualize: expected a cloud, got {}: {kind}", escape(name))))
            }
            (_, kept) => kept.map_or(Ok(()), |scan| self.draw(name, &scan)),
        }
    }

    /// Draws the points of several clouds in one file of this name.
    pub(crate) fn draw_joined(&self, name: &str, joined: &Joined) -> Result<(), Failure> {
        if self.path.is_none() {
            return Ok(());
        }
        let count = joined.points();
        let rows: Vec<usize> = shown_points(count).collect();
        self.draw_of(name, &joined.select(&rows)?, count)
    }

    /// Draws a cloud of this name, and writes the picture.
    pub(crate) fn draw(&self, name: &str, scan: &Scan) -> Result<(), Failure> {
        self.draw_of(name, scan, scan.cloud.len())
    }

    /// As [`Self::draw`], where the points are some of so many.
    fn draw_of(&self, name: &str, scan: &Scan, count: usize) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        let shown: Vec<usize> = shown_points(scan.cloud.len()).collect();
        require_memory(1, shown.len())?;
        let (paint, by) = self.paint(scan, &shown)?;
        let mut next = 0;
        let mut all = scan.iter_xyz();
        let points: Vec<[f64; 3]> =
            shown.iter().filter_map(|i| all.nth(i - std::mem::replace(&mut next, i + 1))).collect();
        let of = if shown.len() < count { format!("{} of ", grouped(shown.len())) } else { String::new() };
        let title = format!("{}: {of}{} points, coloured by {by}", label(name), grouped(count));
        let colours = match &paint {
            Paint::Height => CloudColours::Height,
            Paint::Values(name, values) => CloudColours::Values(name, values),
            Paint::Rgb(rgb) => CloudColours::Rgb(rgb),
            Paint::Kinds(kinds, key) => CloudColours::Kinds(kinds, *key),
        };
        let crs = scan.survey().and_then(Survey::system);
        // The typeface of pictures is ASCII.
        let units = Units::of(crs.as_ref()).symbols().map(|symbol| symbol.replace('°', "deg"));
        let is_turning = has_extension(path, "gif");
        save_scene(
            Place::named(path),
            &cloud_scene(&title, &points, &colours, units.each_ref().map(String::as_str), is_turning),
        )
    }

    /// The colours of the points that are shown, and what they stand for.
    fn paint(&self, scan: &Scan, shown: &[usize]) -> Result<(Paint, String), Failure> {
        let value = |j: usize| move |i: &usize| scan.cloud.points().row(*i)[j];
        let values = |j: usize| shown.iter().map(value(j)).collect::<Vec<f32>>();
        let kinds = |j: usize| shown.iter().map(value(j)).map(|v| v as u8).collect::<Vec<u8>>();
        let column = |names: &[&str]| {
            scan.fields.iter().position(|field| names.iter().any(|name| field.name.eq_ignore_ascii_case(name)))
        };
        let missing = |expected: &str| {
            let names: Vec<&str> = scan.fields.iter().map(|field| &*field.name).collect();
            let got = escape(&names.join(", "));
            Failure::Usage(format!("--color-by {}: expected {expected}, got {got}", escape(&self.by)))
        };
        let class = || Some((kinds(column(&CLASS)?), class_of as fn(u8) -> _));
        let intensity = || scan.intensity().map(values);
        match &*self.by {
            "auto" => {
                if let Some(rgb) = colours(scan, shown).filter(|rgb| varies(rgb)) {
                    return Ok((Paint::Rgb(rgb), "rgb (auto)".into()));
                }
                if let Some((kinds, key)) = class().filter(|(kinds, _)| varies(kinds)) {
                    return Ok((Paint::Kinds(kinds, key), "class (auto)".into()));
                }
                match intensity().filter(|values| varies(values)) {
                    Some(values) => Ok((Paint::Values("intensity".into(), values), "intensity (auto)".into())),
                    None => Ok((Paint::Height, "height (auto)".into())),
                }
            }
            "height" => Ok((Paint::Height, "height".into())),
            "intensity" => {
                let values = intensity().ok_or_else(|| missing("a column intensity or reflectance"))?;
                Ok((Paint::Values("intensity".into(), values), "intensity".into()))
            }
            "rgb" => {
                let rgb = colours(scan, shown).ok_or_else(|| missing("columns red, green and blue, or rgb"))?;
                Ok((Paint::Rgb(rgb), "rgb".into()))
            }
            "class" => {
                let (kinds, key) = class().ok_or_else(|| missing("a column classification or class"))?;
                Ok((Paint::Kinds(kinds, key), "class".into()))
            }
            "return" => {
                let j = column(&RETURN).ok_or_else(|| missing("a column return_number or return"))?;
                Ok((Paint::Kinds(kinds(j), return_number), "return".into()))
            }
            "time" => {
                let times = scan.times().ok_or_else(|| missing("a column of times"))?;
                let seconds = shown.iter().map(|i| times.seconds[*i] as f32).collect();
                Ok((Paint::Values("time, s".into(), seconds), "time".into()))
            }
            name => {
                let j = scan.fields.iter().position(|field| field.name == name);
                let j = j.or_else(|| column(&[name]));
                let j = j.ok_or_else(|| missing(&format!("{} or one of the columns", WORDS.join(", "))))?;
                Ok((Paint::Values(escape(name), values(j)), escape(name)))
            }
        }
    }
}

/// The name and the colour of a class.
fn class_of(class: u8) -> (String, [u8; 3]) {
    (format!("{class} {}", class_name(0, class)), class_colour(class))
}

/// Whether not all are the first.
fn varies<T: PartialEq>(values: &[T]) -> bool {
    values.iter().any(|value| *value != values[0])
}

/// The colours of points; `None` without columns of them.
fn colours(scan: &Scan, shown: &[usize]) -> Option<Vec<[u8; 3]>> {
    let column = |names: &[&str; 2]| {
        scan.fields.iter().position(|field| names.iter().any(|name| field.name.eq_ignore_ascii_case(name)))
    };
    let points = scan.cloud.points();
    if let [Some(r), Some(g), Some(b)] = RGB.each_ref().map(column) {
        let rows = || shown.iter().map(|i| [r, g, b].map(|j| points.row(*i)[j]));
        let most = rows().flatten().filter(|v| v.is_finite()).fold(0.0, f32::max);
        let is_whole = scan.fields[r].dtype != Dtype::F32 && scan.fields[r].dtype != Dtype::F64;
        // Of 16 bits, of 8 bits, or shares.
        let scale = match most {
            255.1.. => 255.0 / 65535.0,
            _ if !is_whole && most <= 1.0 => 255.0,
            _ => 1.0,
        };
        return Some(rows().map(|row| row.map(|v| (v * scale + 0.5) as u8)).collect());
    }
    let j = column(&PACKED)?;
    // PCL keeps the bytes of a colour in the bits of a float.
    let is_bits = scan.fields[j].dtype == Dtype::F32;
    let packed = |v: f32| if is_bits { v.to_bits() } else { v as u32 };
    Some(shown.iter().map(|i| packed(points.row(*i)[j])).map(|c| [c >> 16, c >> 8, c].map(|c| c as u8)).collect())
}
